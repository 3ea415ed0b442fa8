"""The tool that asks what temporal assistance does, on a few made-up words."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import assistance
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

from tcuq_lab.zoo.make import load_parts  # noqa: E402
from tcuq_lab.zoo.outputs import outputs  # noqa: E402
from tcuq_lab.zoo.plans import check_config  # noqa: E402
from tcuq_lab.zoo.weights import load_weights  # noqa: E402


@pytest.fixture(autouse=True)
def forget() -> None:
    assistance.parts_of.cache_clear()  # the data folder is another one in every test


def run(folder: Path, *options: str) -> int:
    return assistance.main(
        ["--out", str(folder / "w"), "--backbone", "dscnn", "--epochs", "1", "--device", "cpu", *options]
    )


def results(folder: Path) -> dict[str, dict[str, object]]:
    content = json.loads((folder / "w" / "results.json").read_text())
    assert (content["format"], content["trial"]) == ("tcuq-assistance", False)
    return {row["name"]: row for row in content["networks"]}


@pytest.mark.slow
def test_every_network_is_trained_measured_and_listed(
    words: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8
    rows = results(words)
    pairs = [
        (row["settings"]["first"], row["settings"]["step"])
        for row in rows.values()
        if "weights" in row["ablations"]
    ]
    assert sorted(pairs) == [(2, 0.5), (3, 0), (3, 0.5), (3, 1), (4, 0.5), (5, 0.5)]
    asked = [name for name, row in rows.items() if "assistance" in row["ablations"]]
    assert asked == ["dscnn", "dscnn_assisted", "dscnn_assisted_probe"]
    assert list(rows["dscnn"]["curves"]) == ["epoch", "loss", "head"]
    assert list(rows["dscnn_assisted_probe"]["curves"]) == ["epoch", "loss", "head", "exit_1"]
    for name in ("dev", "test"):  # a probe is a plain network
        assert rows["dscnn"][name] == rows["dscnn_assisted_probe"][name]
    assert rows["dscnn"]["curves"]["head"] == rows["dscnn_assisted_probe"]["curves"]["head"]
    assert rows["dscnn"]["test"] != rows["dscnn_assisted"]["test"]
    test = load_parts("speech_commands").test
    network, card = load_weights(words / "w" / "dscnn_assisted-0.npz")
    probs, y = outputs(network, test.x.numpy()).probs.astype(float), test.y.numpy()
    own = probs[np.arange(len(y)), y]
    row = rows["dscnn_assisted"]
    assert row["test"]["accuracy"] == card["test_accuracy"] == (probs.argmax(1) == y).mean()
    assert row["test"]["nll"] == pytest.approx(-np.log(own).mean(), abs=1e-6)
    wanted = ((probs**2).sum(1) - 2 * own + 1).mean()
    assert row["test"]["brier"] == pytest.approx(wanted, abs=1e-6)
    assert row["examples"] == {"train": 20, "dev": 10, "test": 10}
    assert set(row["test"]) == {"accuracy", "f1", "brier", "nll", "ece"}


@pytest.mark.slow
def test_workers_change_nothing_and_a_second_run_trains_nothing(
    words: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = [each for each in assistance.variants("dscnn") if "assistance" in each.ablations]
    monkeypatch.setattr(assistance, "variants", lambda backbone: few)
    assert run(words, "--workers", "2", "--seeds", "2") == 0
    side = json.loads((words / "w" / "results.json").read_text())["networks"]
    names = ["dscnn", "dscnn_assisted", "dscnn_assisted_probe"]
    assert [(row["name"], row["seed"]) for row in side] == [(name, seed) for name in names for seed in (0, 1)]
    assert side[0]["test"] == side[4]["test"] != side[1]["test"]
    times = {path: path.stat().st_mtime_ns for path in (words / "w").glob("dscnn*")}
    assert run(words, "--seeds", "2") == 0
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert json.loads((words / "w" / "results.json").read_text())["networks"] == side


@pytest.mark.slow
def test_a_trial_is_not_taken_for_an_answer(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    (words / "w" / "results.json").unlink()
    capsys.readouterr()
    for options, said in [
        (("--epochs", "2"), "holds a network of another configuration (epochs differ)"),
        (("--curves", "2"), "curves is 2, expected 1, as in this file"),
        (("--examples", "9"), "examples is 9"),
        (("--backbone", "vit"), "backbone 'vit' is unknown, expected one of "),
    ]:
        assert run(words, *options) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: ") and said in err and err.count("\n") == 1
    assistance.parts_of.cache_clear()
    more = words / "data" / "speech_commands_v0.01" / "yes" / "more.wav"
    with wave.open(str(more), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(np.ones(16000, "<i2").tobytes())
    assert run(words) == 2
    assert "trained on 20 examples; 21 are asked for, another folder is needed" in capsys.readouterr().err
    assert not (words / "w" / "results.json").exists()


@pytest.mark.parametrize("backbone", assistance.BACKBONES)
def test_all_networks_go_together_and_have_names_of_their_own(backbone: str) -> None:
    found = assistance.variants(backbone)
    plans = [
        assistance.config_of(assistance.Job(backbone, each, 0, Path(), "cpu", None, None, 1))
        for each in found
    ]
    for plan in plans:
        check_config(plan)
        assert plan.epochs > 1
    assert len({plan.name for plan in plans}) == len(plans)
    if backbone == "mobilenetv2":
        assert [plan.settings.get("exits") for plan in plans] == [None, 2, 4, 6, 8, 10]


def test_few_examples_are_spread_over_a_part() -> None:
    from tcuq_lab.zoo.train import Examples

    part = Examples(torch.arange(1000), torch.arange(1000) // 100)
    some = assistance.few(part, 100)
    assert len(some.y) == 100 and some.x[-1] == 999
    assert torch.bincount(some.y).tolist() == [10] * 10
    assert assistance.few(part, 2000) is part
