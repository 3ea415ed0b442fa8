"""`tcuq-lab reproduce --write`: what moved is shown before a result file is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="pip install torch")

from tcuq_lab.cli import main
from tcuq_lab.experiments.paper_metrics import figure
from tcuq_lab.experiments.paper_streams import PaperPlan
from tcuq_lab.experiments.run import Outcome
from tcuq_lab.harness.declare import Key
from tcuq_lab.reproduce.run_size import run_size


def test_figures_that_moved_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value, column = 0.5, "drop_auprc own/smoothed/unseen"

    def run(experiment: Any, *given: object) -> Outcome:
        plan = PaperPlan("cifar10", 16.0, 0, run_size("full"))
        found = {Key("fog", "base", "", column): figure(value), Key("snow", "base", "", column): figure(0.25)}
        return Outcome(experiment.lines({plan: found}), {"seconds": 1})

    monkeypatch.setattr("tcuq_lab.cli.reproduce.run", run)
    out = tmp_path / "out"
    folders = ["--weights", str(tmp_path), "--cache", str(tmp_path)]
    command = ["reproduce", "ablation", "--device", "cpu", *folders, "--write", str(out)]
    assert main(command) == 0
    assert f"{out / 'ablation.json'}: new file" in capsys.readouterr().err
    assert main(command) == 0
    assert f"{out / 'ablation.json'}: no change" in capsys.readouterr().err
    value = 0.75
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "lines cifar10 16.0 base drop AUPRC, unseen kinds streams fog: 0.5 -> 0.75" in said
    assert (
        "lines cifar10 16.0 base drop AUPRC, unseen kinds value: 0.375 -> 0.5" in said
        and " changed, 0 added, 0 removed" in said
    )
    assert json.loads((out / "ablation.json").read_text())["lines"][0]["streams"]["fog"] == 0.75
    assert main([*command, "--task", "cifar10"]) == 2
    assert "--write stores whole experiments: leave out --task, --dwell and --seed" in capsys.readouterr().err


def test_small_tasks_are_measured_where_their_networks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    asked = []

    def run(experiment: Any, recordings: Any, *rest: Any) -> Any:
        asked.append([task for task in experiment.tasks if task not in experiment.absent(recordings)])
        return Outcome([], {})

    monkeypatch.setattr("tcuq_lab.cli.reproduce.run", run)
    for seed in (0, 1):
        (tmp_path / f"resnet8_animals-{seed}.npz").touch()
    (tmp_path / "cnn4_pairs-0.npz").touch()  # and none of seed 1
    command = ["reproduce", "accuracy", "--setting", "reduced", "--weights", str(tmp_path)]
    assert main([*command, "--seed", "0", "--seed", "1"]) == 0
    assert main([*command, "--seed", "0"]) == 0
    main_tasks = ("mnist", "speech_commands", "cifar10")
    assert asked == [[*main_tasks, "cifar10_animals"], [*main_tasks, "cifar10_animals", "mnist_pairs"]]
    assert "left out of accuracy: mnist_pairs" in capsys.readouterr().err
