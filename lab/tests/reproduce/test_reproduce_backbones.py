"""Networks beyond a microcontroller: what is trained for them, and what is measured of each."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[all]'")

from kept_recordings import Kept
from places import LAB

from tcuq.metrics import auroc
from tcuq_lab.methods.gather import observed
from tcuq_lab.reproduce import backbones
from tcuq_lab.reproduce.backbones import SETTING, TASK_OF, measure, plan_of, result_text
from tcuq_lab.reproduce.field.plan import StreamSizes
from tcuq_lab.reproduce.field.units import Unit
from tcuq_lab.reproduce.result_files import load_stream_result

SMALL = StreamSizes(stretch=400, dev=3, test=3)


class Shown(Kept):
    """Recordings of the repository; those of unseen types look like a seen one."""

    setting = replace(SETTING, examples=300, dev_examples=300, severities=(3,))

    def sources(self, task: str, part: str) -> list[str]:
        suite = backbones.suite_of(task)
        kinds = suite.seen if part == "dev" else suite.unseen
        return ["clean", *(f"{kind}/{level}" for kind in kinds for level in range(1, 6))]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("backbones_tool", LAB / "tools" / "backbones.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def test_a_network_is_measured_by_its_confidence_and_by_the_monitor(tmp_path: Path) -> None:
    kept: Any = Shown(tmp_path)
    plan = plan_of("vit", SMALL)
    lines, choices = measure(plan, kept)
    found = {(each.stream, each.row, each.column): each for each in lines}
    accuracy = (kept.bank["clean"].probs.argmax(1) == kept.labels).mean()
    assert found["clean", "base", "accuracy"].value == pytest.approx(accuracy)
    unit = Unit(plan, kept)
    for law in ("class 1", "class 16"):
        shown = unit.shown(f"test {law}")
        bank = kept.banks("cifar10", "test", 0, [backbones.Row("x", backbones.Base)], shown.names)["x"]
        probs = np.concatenate([observed(each, bank).probs for each in unit._built(f"test {law}")])
        wrong = probs.argmax(1) != shown.labels
        assert found[law, "base", "errors"].value == pytest.approx(wrong.mean())
        base, ours = (found[law, row, "error AUROC"] for row in ("base", "tcuq"))
        assert base.value == pytest.approx(auroc(1 - probs.max(1), wrong))
        assert base.low <= base.value <= base.high and (base.fit, ours.fit) == ("", "untold")
        gap = found[law, "tcuq - base", "error AUROC"]
        assert gap.value == pytest.approx(ours.value - base.value)
        assert found[law, "base", "errors at 90 %"].value < found[law, "base", "errors"].value
    assert found["class 16", "tcuq", "error AUROC"].value > found["class 1", "tcuq", "error AUROC"].value
    assert choices["task"] == "cifar10" and choices["classes"] == 10
    path = tmp_path / "backbones.json"
    path.write_text(result_text(SETTING, SMALL, lines, {"vit": choices}, ["a note"], {"seconds": 1}))
    about, again = load_stream_result(path)
    assert about["notes"] == ["a note"] and about["setting"]["networks"] == {"vit": "cifar10"}
    assert [each[:5] for each in again.lines] == [each[:5] for each in lines]


def test_features_wider_than_a_monitor_takes_are_projected(tmp_path: Path) -> None:
    kept: Any = Shown(tmp_path)
    mix = np.random.default_rng(0).normal(size=(kept.bank["clean"].features.shape[1], 300))
    kept.bank = {
        name: replace(each, features=each.features.astype(np.float32) @ mix)
        for name, each in kept.bank.items()
    }
    wide = measure(plan_of("vit", SMALL), kept)
    assert wide.choices["projected"] and 0 < wide.choices["features"] <= 32
    assert not measure(plan_of("vit", SMALL), Shown(tmp_path)).choices["projected"]  # type: ignore[arg-type]


def test_a_backbone_that_is_not_watched_is_refused() -> None:
    with pytest.raises(ValueError, match="backbone 'vti' is unknown; did you mean vit"):
        plan_of("vti")


def test_all_networks_of_the_tables_are_trained_once(tool: ModuleType) -> None:
    pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")
    plans = tool.planned(list(TASK_OF), True, True, 0.5)
    names = [f"{plan.name}-{plan.seed}" for plan in plans]
    wanted = set(names)
    assert len(wanted) == len(names)
    for experiment in tool.tables(True):
        for row in experiment.rows:
            assert set(row.networks("tinyimagenet20", 0, str(LAB / "weights"))) <= wanted, row
    assert {f"{name}-0" for name in TASK_OF} <= wanted
    assert {plan.epochs for plan in plans if plan.name == "mobilenetv2"} == {15}
    few = tool.planned(["text"], False, False, 0.01)
    assert [(plan.name, plan.epochs) for plan in few] == [("text", 1)]
    assert not any(row.method.name == "hydra" for each in tool.tables(False) for row in each.rows)


def test_what_was_not_run_is_explained(tool: ModuleType) -> None:
    assert not any("not run" in note for note in tool.notes(1.0, [], True))
    assert any("HYDRA" in note for note in tool.notes(0.7, ["hydra"], True))
    assert "vit was not run" in tool.notes(0.7, ["vit"], True)
    assert "70%" in tool.notes(0.7, [], True)[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--only", "vti"], "backbone 'vti' is unknown; did you mean vit?"),
        (["--share", "0"], "share is 0"),
        (["--skip", "hidra"], "part to skip 'hidra' is unknown; did you mean hydra?"),
        (["--skip", "resnet50"], "--skip leaves out a network of the tables"),
        (["--skip", "text", "--only", "text"], "--skip leaves no backbone"),
        (["--examples", "60", "--write", "x"], "--write stores results of all examples"),
    ],
)
def test_bad_arguments_end_in_one_line(
    tool: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path, more: list[str], message: str
) -> None:
    assert tool.main(["--out", str(tmp_path / "out"), *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {message}") and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_results_are_strict_json(tmp_path: Path) -> None:
    json.loads(result_text(SETTING, SMALL, [], {}, [], {}), parse_constant=pytest.fail)
