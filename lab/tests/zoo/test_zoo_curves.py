"""Assistance seen from outside: exits that only watch, losses of single steps, settings over a file's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

import small_trainings  # noqa: E402
from small_trainings import SMALL, refused, small, squares, write  # noqa: E402

from tcuq_lab.cli import main  # noqa: E402
from tcuq_lab.zoo.curves import Curves, curves_of, read_curves, thinned  # noqa: E402
from tcuq_lab.zoo.make import Parts, train_one  # noqa: E402
from tcuq_lab.zoo.plans import found_card  # noqa: E402
from tcuq_lab.zoo.recipes.assisted import Assisted  # noqa: E402
from tcuq_lab.zoo.train import Examples, train  # noqa: E402
from tcuq_lab.zoo.weights import load_weights  # noqa: E402

PROBE = {"recipe": "assisted", "settings": {"probe": 1}}


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    others = two.state_dict()
    return all(torch.equal(value, others[name]) for name, value in one.state_dict().items())


def pictures() -> Examples:
    gray = squares()
    return Examples(gray.x[..., None].expand(-1, -1, -1, 3).contiguous(), gray.y)


@pytest.mark.parametrize("optimizer, rate", [("sgd", 0.05), ("adam", 0.001)])
@pytest.mark.parametrize(
    "backbone", ["cnn4", "dscnn", "resnet8", pytest.param("mobilenetv2", marks=pytest.mark.slow)]
)  # two with dropout
def test_a_probe_leaves_the_backbone_as_plain_training_makes_it(
    backbone: str, optimizer: str, rate: float
) -> None:
    width = 0.1 if backbone == "mobilenetv2" else 4
    about = {"backbone": backbone, "options": {"width": width}, "optimizer": optimizer, "rate": rate}
    examples = pictures() if backbone in ("resnet8", "mobilenetv2") else squares()
    plain, _ = train(small(**about), examples)
    curves = Curves()
    probe, _ = train(small(**about, **PROBE), examples, curves=curves)
    assert type(probe) is type(plain)
    assert same(plain, probe)
    assert "exit_1" in curves.values()
    assisted, _ = train(small(**about, recipe="assisted"), examples)
    assert not same(plain, assisted)


def test_the_exits_of_a_probe_learn_with_their_share_of_the_loss() -> None:
    curves = Curves()
    dark = squares(192)
    bright = (dark.x // 4 + 40 * dark.y[:, None, None]).to(torch.uint8)  # an exit sees no places, only means
    train(small(**PROBE, epochs=8), Examples(bright, dark.y), curves=curves)
    found = {name: np.array(values) for name, values in curves.values().items()}
    assert found["exit_1"][-6:].mean() < 0.9 * found["exit_1"][:6].mean()
    # Over the first tenth the weight grows from half to whole; afterwards it is 3.5 of 4.5.
    np.testing.assert_allclose(
        found["loss"][6:], (found["head"] + 3.5 / 4.5 * found["exit_1"])[6:], rtol=1e-5
    )


def test_a_probe_refuses_to_move_the_head() -> None:
    with pytest.raises(ValueError, match=r"^setting transfer is 0\.1, expected 0 with probe"):
        Assisted({"probe": 1, "transfer": 0.1})
    with pytest.raises(ValueError, match=r"^setting probe is 2"):
        Assisted({"probe": 2})


@pytest.mark.parametrize("name", ["plain", "assisted", "early_exit", "dropout", "godin", "postnet"])
def test_noting_losses_changes_no_weight(name: str) -> None:
    config = small(recipe=name)
    curves = Curves()
    plain, losses = train(config, squares())
    noted, again = train(config, squares(), curves=curves)
    assert same(plain, noted) and losses == again
    found = curves.values()
    means = np.array(found["loss"]).reshape(2, 3).mean(1)
    np.testing.assert_allclose(means, losses, rtol=1e-5)
    exits = ["exit_1"] if name in ("assisted", "early_exit") else []
    assert list(found) == ["loss", "head", *exits]
    if name in ("plain", "dropout", "godin"):
        assert found["head"] == found["loss"]
    if name == "early_exit":
        np.testing.assert_allclose(found["loss"], np.add(found["head"], found["exit_1"]) / 2, rtol=1e-5)


def test_every_nth_step_is_counted_through_all_epochs() -> None:
    all_steps, some = Curves(), Curves(4)
    for curves in (all_steps, some):
        train(small(epochs=3), squares(), curves=curves)  # 9 steps
    assert some.values() == {name: values[::4] for name, values in all_steps.values().items()}
    assert len(some.values()["head"]) == 3
    with pytest.raises(ValueError, match=r"^curves is 0"):
        Curves(0)


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from small_trainings import small, squares
from tcuq_lab.zoo.curves import Curves
from tcuq_lab.zoo.train import train
train(small(epochs=500, recipe="assisted"), squares(), state=Path(sys.argv[2]), curves=Curves(2))
"""


@pytest.mark.slow
def test_curves_of_a_killed_training_go_on(tmp_path: Path) -> None:
    state, plan = tmp_path / "state", small(epochs=500, recipe="assisted")
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(Path(small_trainings.__file__).parent), str(state)]
    )
    while not state.exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(torch.load(state, weights_only=True)["losses"])
    assert 0 < done < 500

    class Enough(Exception):
        pass

    def stop(epoch: int, epochs: int, text: str) -> None:
        if epoch == done + 2:
            raise Enough

    found = []
    for path in (state, tmp_path / "fresh"):
        found.append(Curves(2))
        with pytest.raises(Enough):
            train(plan, squares(), state=path, progress=stop, curves=found[-1])
    assert found[0].values() == found[1].values()
    assert len(found[0].values()["exit_1"]) == -(-3 * (done + 2) // 2)


def test_epochs_that_were_not_noted_do_not_come_back(tmp_path: Path) -> None:
    state = tmp_path / "state"
    train(small(), squares(), state=state)
    with pytest.raises(ValueError, match=r"state: state of a training without curves; remove it"):
        train(small(), squares(), state=state, curves=Curves())
    state.unlink()
    train(small(), squares(), state=state, curves=Curves(2))
    with pytest.raises(ValueError, match=r"state: curves is 3, expected 2, as in this state$"):
        train(small(), squares(), state=state, curves=Curves(3))
    train(small(), squares(), state=state)  # nobody asks for them


def test_the_file_of_curves_belongs_to_its_weights(tmp_path: Path) -> None:
    parts = Parts(squares(), squares(seed=1), squares(seed=2), "made up")
    config = small(epochs=1, **PROBE)
    train_one(config, tmp_path, "cpu", parts, curves=2)
    path = tmp_path / "t-0.npz"
    assert {each.name for each in tmp_path.iterdir()} == {"t-0.npz", "t-0.curves.json"}
    content = read_curves(curves_of(path))
    assert content["config"] == json.loads(json.dumps(config.to_dict()))
    assert [content[name] for name in ("every", "steps_per_epoch", "steps")] == [2, 3, 3]
    assert {name: len(values) for name, values in content["curves"].items()} == {
        "loss": 2,
        "head": 2,
        "exit_1": 2,
    }
    assert found_card(config, tmp_path, 2) == found_card(config, tmp_path)
    with pytest.raises(ValueError, match=r"curves is 1, expected 2, as in this file$"):
        train_one(config, tmp_path, "cpu", parts, curves=1)
    curves_of(path).write_text(json.dumps({**content, "config": small().to_dict()}))
    with pytest.raises(ValueError, match=r"holds curves of another configuration \(.*settings.* differ\)$"):
        found_card(config, tmp_path, 2)
    for damage in ("{", "[]", json.dumps({**content, "steps": 9}), json.dumps({**content, "config": []})):
        curves_of(path).write_text(damage)
        with pytest.raises(ValueError, match=r"t-0\.curves\.json: no curves of tcuq \(\w+\)$"):
            found_card(config, tmp_path, 2)
    curves_of(path).unlink()
    with pytest.raises(ValueError, match=r"t-0\.npz is there without t-0\.curves\.json; only a new training"):
        train_one(config, tmp_path, "cpu", parts, curves=2)
    train_one(config, tmp_path, "cpu", parts)


def test_thinned_curves_are_means_of_stretches() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=1000)
    content = {"every": 10, "steps_per_epoch": 100, "curves": {"head": noise.tolist()}}
    found = thinned(content, 250)
    np.testing.assert_allclose(found["head"], noise.reshape(250, 4).mean(1), rtol=1e-5)
    np.testing.assert_allclose(found["epoch"], 0.1 * np.arange(1000).reshape(250, 4).mean(1), rtol=1e-5)
    assert len(thinned(content, 300)["head"]) == 300
    assert thinned({**content, "curves": {"head": [2.0, 1.0]}}, 300) == {
        "epoch": [0, 0.1],
        "head": [2.0, 1.0],
    }


def test_settings_are_given_on_the_command_line(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        words, "t", **{**SMALL, "recipe": "assisted", "settings": {"ramp": 0.2, "first": 3}, "note": "Old."}
    )
    options = ["--set", "first=2", "--set", "step=0", "--set", "exits=1", "--name", "other", "--curves", "1"]
    folder = words / "w"
    assert main(["train", str(words / "t.json"), "--out", str(folder), "--device", "cpu", *options]) == 0
    assert "other-0.npz: dev" in capsys.readouterr().out
    _, card = load_weights(folder / "other-0.npz")
    assert card["settings"] == {"ramp": 0.2, "first": 2, "step": 0, "exits": 1}
    assert card["config"]["note"] == "As t, but for first 2, step 0, exits 1."
    found = read_curves(folder / "other-0.curves.json")
    assert list(found["curves"]) == ["loss", "head", "exit_1"]
    assert found["steps"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "frist=2"), "t: setting 'frist' is unknown; did you mean first?"),
        (("--set", "first=many"), "t: setting first is 'many', not a number"),
        (("--set", "first=nan"), "t: setting first is nan"),
        (("--set", "exits=1.5"), "t: setting exits is 1.5, not an integer"),
        (("--set", "exits=4"), "t: 4 exits, expected 1 to 3"),
        (("--set", "first"), "argument --set: 'first', expected NAME=VALUE (see tcuq-lab train --help)"),
        (("--set", "=2"), "argument --set: '=2', expected NAME=VALUE (see tcuq-lab train --help)"),
        (("--set", "first=2", "--set", "first=3"), "a name is given to --set twice, expected once"),
        (("--name", "../x"), "name is '../x', expected letters, digits, _, - and ."),
        (("--curves", "0"), "curves is 0"),
    ],
)
def test_what_is_wrong_with_settings_is_one_line(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "t", **{**SMALL, "recipe": "assisted"})
    assert refused(tmp_path, capsys, "t", options=options).startswith(
        said
    )  # ranges are the words of the product


def test_a_name_is_for_one_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(tmp_path, capsys, "a", "b", options=("--name", "x"))
    assert said == "--name is 'x', expected one configuration with it"
