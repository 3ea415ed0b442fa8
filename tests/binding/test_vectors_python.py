"""The shared vectors through the Python binding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import vector_files

from tcuq._core import Core
from tcuq.monitor.signals import REASONS


def check_step(core: Core, event: vector_files.Event, horizon: int) -> None:
    features = None if event.features is None else np.frombuffer(event.features, np.int8)
    gauges = None if event.gauges is None else np.array(event.gauges, np.int16)
    step = core.step(np.frombuffer(event.probs, np.int8), features, True, None, gauges)
    assert step.signals is not None
    assert (step.expected_accuracy is None) == (horizon == 0)
    reason = 255 if step.reason is None else REASONS[step.reason]
    got = [
        round(step.threshold * 65536),
        round(step.degradation * 65536),
        step.prediction,
        step.answer,
        round(step.risk * 65536),
        round(step.uncertainty * 65536),
        round(step.persistence * 65536),
        round(step.novelty * 65536),
        round((step.expected_accuracy or 0.0) * 65536),
        int(step.flagged),
        int(step.abstain),
        step.alarm,
        int(step.warming_up),
        reason,
        int(step.low_mass),
        ("act", "ask", "hold").index(step.action),
        int(step.changed),
        step.moved,
        *(round(value * 65536) for value in step.signals),
    ]
    assert got == event.expected, event.where


@pytest.mark.parametrize("path", vector_files.FILES, ids=lambda path: path.stem)
def test_vector(path: Path) -> None:
    case = vector_files.read(path)
    core, saved, steps = Core(case.fields), b"", 0
    assert list(core.sizes()) == [*case.sizes, *case.bounds], path.name
    for event in case.events:
        if event.kind == "step":
            check_step(core, event, case.fields["horizon"])
            steps += 1
        elif event.kind == "reset":
            core.reset()
        elif event.kind == "save":
            saved = core.save()
            assert saved == event.saved, event.where
        elif event.kind == "label":
            assert [core.feedback(*event.label)] == event.expected, event.where
        elif event.kind == "refuse":
            before = core.save()
            assert [core.load(event.saved)] == event.expected, event.where
            assert core.save() == before
        else:
            core = Core(case.fields)
            assert core.load(saved) == 0, event.where
    assert steps > 0
