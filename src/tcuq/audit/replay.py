"""Decisions derived from what a log has of each step: risks, answers, signals, novelty and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from ..log.log import Log
from ..log.quantize import quantize_features, quantize_probs
from ..monitor.monitor import Monitor, gauge_rows, run_over
from ..monitor.params import Params
from ..reference import Decider
from ..reference import Monitor as Reference
from ..reference import Params as Numbers
from ..reference.decide import Decision
from ..reference.params import Evidence

Ints = npt.NDArray[np.int64]

MOST = 65536
"""Of a signal in either direction, so that its product with a coefficient fits the core's 32 bits."""


class Known(NamedTuple):
    """What an alarm of evidence goes by at each step."""

    head: Evidence
    signals: Ints
    classes: Ints
    novelty: Ints
    frozen: list[bool]


def rises(decider: Decider, known: Known, risks: list[int]) -> Iterator[int]:
    """Yield what each step adds to the rise side; the decider takes the mean of the evidence along."""
    rows = np.clip(known.signals, -MOST, MOST).tolist()
    columns = (risks, rows, known.classes.tolist(), known.novelty.tolist(), known.frozen)
    for risk, signals, subject, novelty, frozen in zip(*columns, strict=True):
        evidence = decider.add_evidence(known.head, signals, subject, novelty, frozen)
        yield decider.rising(risk, signals, evidence, novelty)


def stood_still(decider: Decider, head: Evidence, values: Ints, starts: Collection[int]) -> list[bool]:
    """Return where the input of a fresh monitor stood still, from what novelty compares."""
    # A reset that is not among `starts` can only make steps appear to stand still that did not.
    frozen = []
    for step, own in enumerate(values.tolist()):
        if step in starts:
            decider.reset()
        frozen.append(decider.novelty(head, own)[1])
    return frozen


def replay(
    decider: Decider,
    units: Mapping[str, Ints],
    answers: Ints,
    known: Known | None,
    labels: Mapping[int, list[Any]],
    sees: bool = False,
    certainties: list[int] | None = None,
) -> tuple[dict[str, Ints], Ints]:
    """Return what the rules say of each step, of the alarm where it is `known`, and debts after labels.

    An alarm that sees the input (`sees`) is not told by a log, nor how sure it makes of an answer.
    """
    p = decider.params
    risks = units["risk"].tolist()
    added: Iterator[int | None] = iter([None] * len(risks))
    if sees:
        decider.alarm = 0  # nobody knows it without the input
    elif p.evidence is None:
        added = (risk - p.rise_reference for risk in risks)
    elif known is not None:
        added = rises(decider, known, risks)
    else:
        decider.alarm = 0
    decided, degradation, debts = [], [], []
    columns = (risks, units["uncertainty"].tolist(), answers.tolist(), added)
    for at, (risk, uncertainty, answer, rising) in enumerate(zip(*columns, strict=True)):
        certainty = None if certainties is None else certainties[at]
        decided.append(decider.decide(risk, uncertainty, answer, rising, certainty=certainty))
        degradation.append(decider.degradation)
        for ago, label in labels.get(at, ()):
            decider.feedback(decider.steps - 1 - ago, label)
        debts.append(decider.error_debt)
    table = dict(zip(decided[0]._fields, np.array(decided, dtype=np.int64).T, strict=True))
    derived = {name: table[name] for name in ("threshold", "flagged", "abstain", "warming_up")}
    if sees:
        return derived, np.array(debts, dtype=np.int64)
    if p.evidence is None or known is not None:
        derived["alarm"] = table["alarm"]
        derived["degradation"] = np.array(degradation, dtype=np.int64) * (p.evidence is not None)
    derived["expected_accuracy"] = table["expected_accuracy"]
    return derived, np.array(debts, dtype=np.int64)


class Witness(Reference):
    """The reference, which notes how likely each answer was right: what a label may lead back by."""

    certainties: list[int]

    def decide(self, *step: Any, **named: Any) -> Decision:
        """Decide a step."""
        decision = super().decide(*step, **named)
        self.certainties.append(step[5])
        return decision


def certainties_of(
    params: Params, log: Log, labels: Mapping[int, list[Any]], state: bytes | None
) -> list[int]:
    """Return how likely each answer was right, by the reference and the input alone."""
    p = Numbers.of(params.integers())
    monitor = Witness(p) if state is None else Witness.load(p, state)
    monitor.certainties = []
    probs, features, gauges = quantize_probs(log.probs).tolist(), None, None
    if params.features and log.features is not None:
        features = quantize_features(log.features, params.feature_scale, params.feature_zero_point).tolist()
    if params.sight is not None:
        gauges = gauge_rows(params, log.gauges_named(params.sight.gauges))
    starts = {piece.start for piece in log.pieces() if piece.start}
    for at, row in enumerate(probs):
        if at in starts:
            monitor.reset()
        seen = None if gauges is None else gauges[at].tolist()
        monitor.step(row, [] if features is None else features[at], seen)
        for ago, label in labels.get(at, ()):
            monitor.feedback(monitor.steps - 1 - ago, label)
    return monitor.certainties


def label_rows(labels: npt.ArrayLike | None, first: int, count: int, classes: int) -> dict[int, list[Any]]:
    """Return labels by the place after which they came: last step, own step, class, -1 none, -2 right."""
    by_place: dict[int, list[Any]] = defaultdict(list)
    rows = np.zeros((0, 3), dtype=np.int64) if labels is None else np.asarray(labels)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise InputError("value", f"labels are {rows.dtype} {rows.shape}, expected rows of three integers")
    for after, step, label in rows.tolist():
        if not (step <= after and first <= after < first + count and -2 <= label < classes):
            raise InputError(
                "value",
                f"label {label} for step {step} after step {after}, expected a class, -1 or -2, for that "
                f"step or one before, and after a step of {first} to {first + count - 1}",
            )
        by_place[after - first].append((after - step, label))
    return by_place


def run_labeled(monitor: Monitor, log: Log, labels: dict[int, list[Any]]) -> tuple[npt.NDArray[Any], ...]:
    """Run a monitor over a log as `run_over` does, with signals, and labels when they came."""
    parts, values = [], []
    for piece in log.pieces():
        if piece.start:
            monitor.reset()
        ends = sorted(at + 1 for at in labels if piece.start <= at < piece.stop)
        for start, stop in zip([piece.start, *ends], [*ends, piece.stop], strict=True):
            if start < stop:
                steps, signals = run_over(monitor, log.take(slice(start, stop)), signals=True)
                parts.append(steps)
                values.append(signals)
            for ago, label in labels.get(stop - 1, []) if stop in ends else []:
                monitor._core.feedback(monitor.steps - 1 - ago, label)
    return np.concatenate(parts), np.concatenate(values)
