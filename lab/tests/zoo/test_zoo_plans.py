"""Plans of trainings: errors come before anything is made, teachers come first, workers end together."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

from small_trainings import PLAIN, SMALL, refused, write  # noqa: E402

from tcuq_lab.cli import main  # noqa: E402
from tcuq_lab.zoo.config import config_from, load_config  # noqa: E402
from tcuq_lab.zoo.make import find_config, load_parts, train_all  # noqa: E402
from tcuq_lab.zoo.matrix import shipped  # noqa: E402
from tcuq_lab.zoo.plans import check_config, in_turns  # noqa: E402
from tcuq_lab.zoo.weights import load_weights  # noqa: E402


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"options": {"widht": 4}}, "t: option of dscnn 'widht' is unknown; did you mean width?"),
        ({"options": {"width": "wide"}}, "option width of dscnn is 'wide', not an integer"),
        ({"options": {"width": True}}, "option width of dscnn is True"),
        ({"options": {"name": 1}}, "option of dscnn 'name' is unknown, expected one of "),
        ({"options": {"classes": 4}}, "option classes is 4, expected 10 or more"),
        (
            {"options": {"channels": 3}},
            "dscnn cannot take speech_commands: input is (1, 49, 10), expected (n, height,",
        ),
        ({"backbone": "vit", "options": {"heads": 5}}, "width is 64, expected a multiple of the 5 heads"),
        ({"backbone": "mobilenetv2", "options": {"width": "1"}}, "option width of mobilenetv2 is '1', not a"),
        ({"recipe": "assited"}, "recipe 'assited' is unknown; did you mean assisted?"),
        (
            {"recipe": "assisted", "settings": {"exits": "two"}},
            "setting exits is 'two', not an integer, expected 1 to",
        ),
        ({"recipe": "assisted", "settings": {"exits": 9}}, "9 exits, expected 1 to 3"),
        (
            {"recipe": "assisted", "settings": {"first": [3]}},
            "setting first is [3], not a number",
        ),
        ({"recipe": "assisted", "settings": {"transfer": 2}}, "setting transfer is 2"),
        ({"recipe": "dropout", "settings": {"rat": 0.1}}, "setting 'rat' is unknown; did you mean rate?"),
        (
            {"recipe": "dropout", "settings": {"rate": "10 %"}},
            "setting rate is '10 %', not a number",
        ),
        (
            {"recipe": "early_exit", "settings": {"hidden": 1.5}},
            "setting hidden is 1.5, not an integer, expected 0 to",
        ),
        ({"recipe": "postnet", "settings": {"regular": -1}}, "setting regular is -1"),
        ({"recipe": "hydra", "settings": {"teacher": 3}}, "setting teacher is 3, expected text"),
        ({"recipe": "hydra"}, "setting 'teacher' is missing"),
        ({"recipe": "godin", "settings": {"rate": 1}}, "setting 'rate' is unknown; this recipe takes none"),
        (
            {"backbone": "cnn4", "dataset": "text"},
            "cnn4 cannot take text: input is (1, 64), expected (n, height, width, 1)",
        ),
        ({"backbone": "text", "dataset": "mnist"}, "text cannot take mnist: input is torch.uint8 of shape"),
        (
            {"backbone": "resnet8", "dataset": "mnist"},
            "resnet8 cannot take mnist: input is (1, 28, 28), expected (n, ",
        ),
        (
            {"backbone": "vit", "dataset": "tinyimagenet20"},
            "vit cannot take tinyimagenet20: picture is 64 x 64, expected",
        ),
        (
            {"backbone": "text", "dataset": "text", "augment": {"flip": True}},
            "expected none for the symbols of text",
        ),
    ],
)
def test_a_bad_configuration_is_one_line_before_data_is_looked_for(
    changes: dict[str, object],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TCUQ_DATA", raising=False)  # looking for data would be another error
    write(tmp_path, "good", **{**SMALL, "name": "good"})
    write(tmp_path, "bad", **{**PLAIN, **changes})
    assert said in refused(tmp_path, capsys, "good", "bad")


def test_the_matrix_gives_the_configurations_that_the_weights_were_trained_by() -> None:
    later = {"mobilenetv2_hydra_t1", "cnn4_pairs", "resnet8_animals"}  # made after the files were replaced
    names = sorted(set(shipped()) - later)
    content = json.dumps({name: find_config(name).to_dict() for name in names}, sort_keys=True)
    assert len(names) == 52
    # Of the 52 files that the matrix replaced; stored checkpoints name these configurations.
    digest = "b4ae8281b1745ac9af553eee78b654a41185d258f256fcded4e088ca4665be05"
    assert hashlib.sha256(content.encode()).hexdigest() == digest


def test_the_matrix_gives_no_caller_its_own_content() -> None:
    shipped()["cnn4"]["rate"] = 1.0
    assert find_config("cnn4").rate == 0.3


def test_a_file_may_change_a_configuration_that_comes_along(tmp_path: Path) -> None:
    write(tmp_path, "mine", base="cnn4_dropout_05", name="mine", epochs=1)
    found = load_config(tmp_path / "mine.json")
    assert found == find_config("cnn4_dropout_05").with_(name="mine", epochs=1)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_configuration_that_comes_along_goes_together(name: str) -> None:
    state = torch.random.get_rng_state()
    check_config(find_config(name))
    assert torch.equal(state, torch.random.get_rng_state())  # or a check would change what is trained


def test_bases_that_lead_nowhere_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a", base="b", name="a")
    write(tmp_path, "b", base="a", name="b")
    assert refused(tmp_path, capsys, "a").endswith("a.json: bases form a ring: a > b > a")
    write(tmp_path, "own", base="own")
    assert refused(tmp_path, capsys, "own").endswith("bases form a ring: own > own")
    write(tmp_path, "c", base="bb")
    assert "c.json: base 'bb' is unknown; did you mean b?" in refused(tmp_path, capsys, "c")
    write(tmp_path, "d", base="../a")
    assert "d.json: base is '../a', expected the name of a configuration beside it" in refused(
        tmp_path, capsys, "d"
    )
    write(tmp_path, "e", base="a", epoch=3)
    assert "e.json: field 'epoch' is unknown; did you mean epochs?" in refused(tmp_path, capsys, "e")
    (tmp_path / "f.json").write_text("[" * 100_000)
    assert "f.json: " in refused(tmp_path, capsys, "f")


def test_bases_may_be_eight_deep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "n0", **SMALL)
    for depth in range(1, 10):
        write(tmp_path, f"n{depth}", base=f"n{depth - 1}", seed=depth)
    config = load_config(tmp_path / "n8.json")
    assert (config.seed, config.options, config.name) == (8, {"width": 4}, "t")
    assert "n9.json: 9 bases in a row, expected up to 8" in refused(tmp_path, capsys, "n9")


def test_missing_data_is_one_line_and_no_folder_is_made(
    words: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(words, "there", **SMALL)
    write(words, "missing", **{**SMALL, "name": "m", "dataset": "mnist", "backbone": "cnn4"})
    for workers in "12":
        said = refused(words, capsys, "there", "missing", options=("--workers", workers))
        assert said.startswith(f"mnist train is not in {words / 'data'}; run 'tcuq-lab data get mnist'")
    monkeypatch.delenv("TCUQ_DATA")
    assert refused(words, capsys, "there").startswith("TCUQ_DATA is not set; ")


def test_a_target_that_is_no_folder_is_one_line(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(words, "t", **SMALL)
    (words / "file").write_text("mine")
    assert main(["train", str(words / "t.json"), "--out", str(words / "file")]) == 2
    assert capsys.readouterr().err == f"tcuq-lab: {words / 'file'}: Not a directory\n"
    assert (words / "file").read_text() == "mine"


def test_training_without_pytorch_is_one_line(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; from tcuq_lab.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "train", "cnn4", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tcuq-lab: PyTorch is needed for training: pip install 'tcuq-lab[zoo]'\n"
    assert not (tmp_path / "out").exists()


def hydra(**changes: object) -> dict[str, object]:
    settings = {"teacher": "t", "heads": 2}
    return {**SMALL, "name": "h", "recipe": "hydra", "settings": settings, **changes}


def test_missing_teachers_are_named_before_any_training(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(words, "t", **SMALL)
    write(words, "h", **hydra())
    target = words / "out" / "weights"
    said = refused(words, capsys, "h")
    assert said == f"h-0.npz learns from t-0.npz, t-1.npz, neither in {target} nor asked for"
    assert refused(words, capsys, "h", "t").startswith("h-0.npz learns from t-1.npz, neither in ")


def test_teachers_are_of_the_same_data_set(tmp_path: Path) -> None:
    plans = [config_from(hydra(dataset="mnist")), config_from(SMALL), config_from({**SMALL, "seed": 1})]
    with pytest.raises(ValueError, match=r"^h-0\.npz is of mnist; its teacher t-0\.npz is of speech"):
        in_turns(plans, tmp_path)


def test_networks_that_learn_from_each_other_are_refused(tmp_path: Path) -> None:
    plans = []
    for name, other in ("ab", "ba"):
        plans.append(config_from(hydra(name=name, settings={"teacher": other, "heads": 2})))
        plans.append(config_from({**SMALL, "name": name, "seed": 1}))
    with pytest.raises(ValueError, match=r"^a-0\.npz, b-0\.npz learn from each other$"):
        in_turns(plans, tmp_path)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_teachers_are_trained_first(workers: int, words: Path) -> None:
    configs = [config_from(hydra()), config_from(SMALL)]
    plans = [configs[0], configs[1], configs[1].with_(seed=1)]
    cards = train_all(plans, words / "w", device="cpu", workers=workers)
    assert [card["file"] for card in cards] == ["h-0.npz", "t-0.npz", "t-1.npz"]
    times = [(words / "w" / card["file"]).stat().st_mtime_ns for card in cards]
    assert times[0] > max(times[1:])
    again = train_all(plans, words / "w", device="cpu")
    assert [card["seconds"] for card in again] == [card["seconds"] for card in cards]  # not trained again
    (words / "w" / "t-1.npz").unlink()
    assert train_all(plans[:1], words / "w", device="cpu") == again[:1]  # needs its teachers no more


@pytest.mark.slow
def test_the_first_failure_ends_all_workers(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(words, "endless", **{**SMALL, "name": "endless", "epochs": 100_000})
    write(
        words, "lost", **{**SMALL, "name": "lost", "rate": 100.0, "warmup": 0.0, "epochs": 50, "decay": 1.0}
    )
    began = time.monotonic()
    files = [str(words / f"{name}.json") for name in ("endless", "lost")]
    assert main(["train", *files, "--out", str(words / "w"), "--device", "cpu", "--workers", "2"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tcuq-lab: the loss of epoch ") and err.count("\n") == 1
    assert time.monotonic() - began < 240  # the other would take far longer, also on a busy machine
    assert multiprocessing.active_children() == []
    assert not list((words / "w").glob("*.npz"))


def test_a_card_says_what_was_trained_on_and_a_network_takes_nothing_else(words: Path) -> None:
    from tcuq_lab.zoo.outputs import outputs

    (card,) = train_all([config_from(SMALL)], words / "w", device="cpu")
    assert card["input"] == (1, 49, 10) and card["examples"] == 20
    network, again = load_weights(words / "w" / "t-0.npz")
    assert again["input"] == [1, 49, 10]
    assert outputs(network, load_parts("speech_commands").dev.x.numpy()).probs.shape == (10, 10)
    with pytest.raises(ValueError, match=r"^input is \(2, 49, 12\), expected \(n, 49, 10, 1\), without"):
        outputs(network, np.zeros((2, 49, 12), np.float32))
