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
    joined,
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


def test_a_mixed_window_is_neither_shifted_nor_clean() -> None:
    """Nine tenths of the steps decide; columns without any window are left out."""
    about = shown(shifted=slice(0, 100))
    windows = cut(about.judged, about.segments)
    exact = Judged.of(windows, about, np.ones(4), np.ones(STEPS, dtype=bool))
    assert exact.shifted.tolist() == [0.5, 0, 0, 0]
    assert set(exact.figures("made", 1.0)) == {ERROR, BIAS, CLEAN}


def test_stretches_without_a_window_count_as_stretches() -> None:
    """Draws are those of the stream, so that rows with and without windows there stay paired."""
    labels = np.where(np.arange(STEPS) < 500, 0, -1)
    about = shown(labels)
    windows = cut(about.judged, about.segments)
    found = Judged.of(windows, about, np.array([0.5, 1.0]), labels == 0).figures("made", 1.0)[ERROR]
    assert found.value == 0.25
    drawn = found.replicates
    assert np.isnan(drawn).any() and not np.isnan(drawn).all()


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


def test_streams_are_joined_with_their_stretches_apart() -> None:
    """Nothing but numbers of steps and stretches changes."""
    about = shown()
    windows = cut(about.judged, about.segments)
    one = Judged.of(windows, about, np.array([0.9, 1.0, 0.7, 0.8]), np.ones(STEPS, dtype=bool))
    both = joined([one, one])
    assert np.unique(both.segments).tolist() == [0, 1, 2, 3]
    assert both.ends.tolist() == [*one.ends, *(one.ends + STEPS)]
    assert both.figures("made", 1.0)[ERROR].value == one.figures("made", 1.0)[ERROR].value
