"""The whole experiment on made recordings: rows, fits and columns that it gives, and what they are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcuq_lab.methods.method import Observed
from tcuq_lab.reproduce.field import accuracy
from tcuq_lab.reproduce.field.accuracy import ANSWER, ATC_DEEP, OURS, RIVALS, measure
from tcuq_lab.reproduce.field.experiment import Key
from tcuq_lab.reproduce.field.plan import fits_of
from tcuq_lab.reproduce.field.units import PLAIN, Shown

CLASSES, STRETCH, STRETCHES = 3, 400, 4


class Plan:
    """Two laws and a corruption type."""

    laws = judged = ("class 1", "class 16")
    types = ("fog",)

    def fitted_on(self, law: str, fit: str) -> str:
        return "dev" if fit == "untold" else f"law {law}"


class Made:
    """A unit of made streams: every role has its own seed."""

    task, seed, plan = "made", 0, Plan()

    def has(self, row: Any) -> bool:
        return True

    def shown(self, role: str) -> Shown:
        steps = STRETCH * STRETCHES
        rng = np.random.default_rng(len(role) + 100 * ord(role[0]))
        labels = np.repeat(rng.integers(0, CLASSES, steps // 8), 8)
        part = np.arange(steps) // 200 % 4  # windows are clean or shifted as a whole
        shifts = np.zeros(steps) if "clean" in role else np.where(part % 2, 1 + part // 2, 0)
        shifts = np.ones(steps) if "type" in role else shifts
        places = shifts.astype(np.int64)
        return Shown(
            labels,
            shifts.astype(np.uint8),
            places,
            np.arange(steps) // STRETCH,
            ("clean", "fog/3", "snow/3"),
            ("fog", "snow"),
        )

    def observed(self, role: str, row: Any = PLAIN) -> Observed:
        about = self.shown(role)
        rng = np.random.default_rng(len(role) + 7 * len(row.label))
        pull = np.where(about.shifts > 0, 1.5, 4.0) + (row.label == "deep")
        logits = rng.normal(0, 1, (len(about), CLASSES)) + pull[:, None] * np.eye(CLASSES)[about.labels]
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return Observed(probs, None, {"logits": logits}, about.segments)

    def log(self, role: str, *, labels: bool = True) -> Any:
        from tcuq.log.log import Log

        about, seen = self.shown(role), self.observed(role)
        if not labels:
            return Log(seen.probs, segments=seen.segments)
        return Log(seen.probs, None, about.labels, seen.segments, about.shifts)

    def clean_log(self, role: str) -> None:
        return None


@pytest.fixture(scope="module")
def found() -> Any:
    return measure(Made())  # type: ignore[arg-type]


def test_every_row_has_a_figure_for_every_law_and_fit(found: Any) -> None:
    """And the network's own confidence one for each law, as it is fitted to nothing."""
    for law in Plan.laws:
        for row in (OURS, ANSWER, *RIVALS):
            fits = ("",) if row == "mean confidence" else fits_of(law)
            for fit in fits:
                assert np.isfinite(found.figures[Key(law, row, fit, "accuracy error")].value), (row, fit)


def test_each_row_is_judged_by_its_own_answers() -> None:
    """Those of the ensemble, of the plain network, or of the monitor, which are better where classes stay."""
    unit: Any = Made()
    found = accuracy.judged(unit, "test class 16", accuracy.fitted(unit, "dev"))
    labels = unit.shown("test class 16").labels
    for row, network in ((ATC_DEEP, accuracy.DEEP), ("ATC", PLAIN)):
        right = unit.observed("test class 16", network).probs.argmax(axis=1) == labels
        assert np.array_equal(found[row].truth, right.reshape(-1, 200).mean(axis=1)), row
    assert found[ANSWER].truth.mean() > found[OURS].truth.mean() + 0.03
    assert abs(found[OURS].truth - found["ATC"].truth).mean() < 0.01


def test_what_comes_later_changes_no_earlier_estimate() -> None:
    """Neither the monitor's, which is told nothing of later steps, nor that of a rule."""

    class Broken(Made):
        def observed(self, role: str, row: Any = PLAIN) -> Observed:
            seen = super().observed(role, row)
            if role != "test class 16":
                return seen
            probs, logits = seen.probs.copy(), seen.extra["logits"].copy()
            late = np.arange(len(probs)) % STRETCH >= 200
            probs[late], logits[late] = 1 / CLASSES, 0.0
            return Observed(probs, None, {"logits": logits}, seen.segments)

    whole, broken = Made(), Broken()
    fits = accuracy.fitted(whole, "dev")  # type: ignore[arg-type]
    one, other = (accuracy.judged(each, "test class 16", fits) for each in (whole, broken))  # type: ignore[arg-type]
    for row, found in one.items():
        early = found.ends % STRETCH < 200
        assert np.array_equal(found.estimate[early], other[row].estimate[early]), row
        if row != "dev accuracy":
            assert not np.array_equal(found.estimate[~early], other[row].estimate[~early]), row
