"""Windows of judged steps: where they lie, what counts in them, and that no later step is seen."""

from __future__ import annotations

import numpy as np
import pytest

from tcuq_lab.methods.method import Observed
from tcuq_lab.reproduce.field.accuracy_windows import (
    BIAS,
    CLEAN,
    ERROR,
    RANK,
    SHIFTED,
    Judged,
    cut,
    windows_of,
)
from tcuq_lab.reproduce.field.units import Shown

STEPS = 1000


def shown(labels: np.ndarray | None = None, shifted: slice = slice(600, 1000)) -> Shown:
    """Return two stretches of 500 steps."""
    shifts = np.zeros(STEPS, dtype=np.uint8)
    shifts[shifted] = 1
    truth = np.arange(STEPS) % 3 if labels is None else labels
    return Shown(truth, shifts, shifts.astype(np.int64), np.repeat([0, 1], 500), ("clean", "fog/3"), ("fog",))


def test_windows_lie_within_stretches_and_do_not_overlap() -> None:
    """Two windows of 200 of each stretch of 500 steps; the last 100 steps fill none."""
    found = cut(np.ones(STEPS, dtype=bool), np.repeat([0, 1], 500))
    assert found.steps.shape == (4, 200)
    assert found.ends.tolist() == [199, 399, 699, 899]
    assert found.stretches.tolist() == [0, 0, 1, 1]
    assert len(np.unique(found.steps)) == 800


def test_windows_hold_judged_steps_only() -> None:
    """A pause makes a window reach further; a stretch with too few judged steps has none."""
    judged = np.ones(STEPS, dtype=bool)
    judged[100:150] = False
    judged[520:980] = False
    found = cut(judged, np.repeat([0, 1], 500))
    assert found.ends.tolist() == [249, 449]
    assert judged[found.steps].all()


def test_figures_count_what_they_say() -> None:
    """Errors, bias, and errors of shifted and of clean windows, by hand."""
    about = shown(shifted=slice(500, 1000))
    windows = cut(about.judged, about.segments)
    right = np.ones(STEPS, dtype=bool)
    right[500:600] = False  # half of the third window
    estimate = np.array([0.9, 1.0, 0.7, 0.8])
    found = Judged.of(windows, about, estimate, right).figures("made", 0.95)
    values = {column: each.value for column, each in found.items()}
    assert values == pytest.approx(
        {ERROR: 0.5 / 4, BIAS: -0.1 / 4, SHIFTED: 0.4 / 2, CLEAN: 0.1 / 2, RANK: 1.0}
    )


def test_windows_before_a_change_do_not_see_it() -> None:
    """Outputs of a window are those of its own steps."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), STEPS)
    changed = probs.copy()
    changed[400:] = 1 / 3
    steps = cut(np.ones(STEPS, dtype=bool), np.zeros(STEPS, dtype=np.int64)).steps
    before, after = (windows_of(Observed(each), steps) for each in (probs, changed))
    assert np.array_equal(before.probs[:2], after.probs[:2])
    assert np.array_equal(before.logits[:2], after.logits[:2])
    assert not np.array_equal(before.probs[2], after.probs[2])
