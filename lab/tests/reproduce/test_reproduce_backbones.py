"""Networks beyond a microcontroller: what is trained for them, and what is measured of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import Kept
from tcuq_lab.reproduce.result_files import load_stream_result

from tcuq.metrics import auroc
from tcuq_lab.harness.laws import StreamSizes
from tcuq_lab.methods.banks import observed
from tcuq_lab.reproduce import backbones
from tcuq_lab.reproduce.backbones import SETTING, measure, plan_of, result_text
from tcuq_lab.reproduce.units import Unit

SMALL = StreamSizes(stretch=400, dev=3, test=3)


class Shown(Kept):
    """Recordings of the repository; those of unseen types look like a seen one."""

    setting = replace(SETTING, examples=300, dev_examples=300, severities=(3,))

    def sources(self, task: str, part: str) -> list[str]:
        suite = backbones.suite_of(task)
        kinds = suite.seen if part == "dev" else suite.unseen
        return ["clean", *(f"{kind}/{level}" for kind in kinds for level in range(1, 6))]


def test_a_network_is_measured_by_its_confidence_and_by_the_monitor(tmp_path: Path) -> None:
    kept: Any = Shown(tmp_path)
    plan = plan_of("vit", SMALL)
    lines, choices = measure(plan, kept)
    found = {(each.stream, each.row, each.column): each for each in lines}
    accuracy = (kept.bank["clean"].probs.argmax(1) == kept.labels).mean()
    assert found["clean", "base", "accuracy"].value == pytest.approx(accuracy)
    unit = Unit(plan, kept)
    for law in ("class 1", "class 16"):
        shown = unit.truth(f"test {law}")
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
