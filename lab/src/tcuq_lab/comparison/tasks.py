"""Questions put to a method's score on a stream, and how the answers are measured.

drop
    Drop events against the other steps with a full window, for the score as it is and smoothed.
clean_failure, mixed_failure
    Wrong answers against right ones, on clean steps and on clean and shifted ones.
ood
    Inputs of none of the classes against right answers on clean ones.

Drops and mixed failures are asked for all kinds of shift, for those that development saw, and for those
that it did not see; the others for all alone. Each is asked with the method's own predictions and with those
of a common base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tcuq.metrics import auroc
from tcuq.metrics.inputs import Bools, Floats, Ints

from ..metrics import aurc, average_precision, fpr_at_tpr, precision_lift, prevalence
from ..metrics.drops import GROUPS, Band, Truth, drop_events, reaches, smooth
from .answers import Scores
from .records import Record, record

Measure = Callable[[Floats, Bools], float]

NAN = float("nan")


class Key(NamedTuple):
    """A task and its variant: whose predictions ("own", "base"), "plain" or "smoothed", kinds of shift."""

    task: str
    predictions: str = "own"
    smoothing: str = "plain"
    group: str = "all"

    @property
    def variant(self) -> str:
        """As it stands in a record."""
        return f"{self.predictions}/{self.smoothing}/{self.group}"


class Task(NamedTuple):
    """A score, what is positive, and the steps that are judged; all of the length of the stream."""

    score: Floats
    positive: Bools
    judged: Bools

    def measure(self, measure: Measure) -> float:
        """Return a measure over the judged steps, NaN when there are none."""
        return float(measure(self.score[self.judged], self.positive[self.judged]))


def _aurc(score: Floats, wrong: Bools) -> float:
    return aurc(score, wrong) if len(score) else NAN


_FAILURE: Mapping[str, Measure] = {
    "auroc": auroc,
    "auprc": average_precision,
    "fpr95": fpr_at_tpr,
    "aurc": _aurc,
}
MEASURES: Mapping[str, Mapping[str, Measure]] = MappingProxyType(
    {
        "drop": {"auprc": average_precision, "lift": precision_lift, "auroc": auroc},
        "clean_failure": _FAILURE,
        "mixed_failure": _FAILURE,
        "ood": {"auroc": auroc, "auprc": average_precision, "fpr95": fpr_at_tpr},
    }
)
"""Measures of each task; a metric is called task_measure, such as drop_auprc."""


def split_metric(metric: str) -> tuple[str, Measure]:
    """Return the task and the measure of a metric.

    Examples
    --------
    >>> split_metric("drop_auroc")[0]
    'drop'
    """
    task, _, measure = metric.rpartition("_")
    if measure not in MEASURES.get(task, {}):
        known = ", ".join(f"{name}_{each}" for name, found in MEASURES.items() for each in found)
        raise ValueError(f"metric {metric!r} is unknown, expected one of {known}")
    return task, MEASURES[task][measure]


def split_variant(task: str, variant: str) -> Key:
    """Return the key of a task's variant.

    Examples
    --------
    >>> split_variant("drop", "own/smoothed/all").smoothing
    'smoothed'
    """
    parts = variant.split("/")
    accepted = (("own", "base"), ("plain", "smoothed"), GROUPS)
    if len(parts) != 3 or any(part not in have for part, have in zip(parts, accepted, strict=True)):
        raise ValueError(
            f"variant is {variant!r}, expected own or base / plain or smoothed / all, seen or unseen"
        )
    if task != "drop" and parts[1] == "smoothed":
        raise ValueError(f"variant of {task} is {variant!r}, expected plain alone")
    if task in ("clean_failure", "ood") and parts[2] != "all":
        raise ValueError(f"variant of {task} is {variant!r}, expected all kinds alone")
    return Key(task, *parts)


def allowed_steps(truth: Truth, members: Ints, window: int) -> Bools:
    """Return the steps that belong to a group of kinds: clean ones and those of its kinds.

    Steps whose window of that many steps reaches a step of another group are left out.
    """
    other = (truth.kinds > 0) & ~np.isin(truth.kinds, members)
    return ~reaches(other, window, truth.segments)


def task(
    key: Key, scores: Scores, base: Ints, truth: Truth, bands: Mapping[str, Band], members: Ints
) -> Task:
    """Build one task."""
    right = truth.right(scores.predictions if key.predictions == "own" else base)
    clean = (truth.kinds == 0) & truth.known
    if key.task == "drop":
        band = bands[key.predictions]
        drops = drop_events(right, band, truth.segments, truth.judged)
        judged = drops.judged
        if key.group != "all":
            judged &= allowed_steps(truth, members, band.m)
        score = smooth(scores.risk, band.m, truth.segments) if key.smoothing == "smoothed" else scores.risk
        return Task(score, drops.event, judged)
    if key.task == "ood":
        return Task(scores.risk, ~truth.known, (~truth.known | (clean & right)) & truth.judged)
    judged = clean if key.task == "clean_failure" else clean | (truth.known & np.isin(truth.kinds, members))
    return Task(scores.risk, ~right, judged & truth.judged)


def keys(truth: Truth, seen: Iterable[str]) -> dict[Key, Ints]:
    """Return the tasks that make sense on a stream, with the kinds of each."""
    groups = {group: truth.members(group, seen) for group in GROUPS}
    found: dict[Key, Ints] = {}
    for predictions in ("own", "base"):
        for group, members in groups.items():
            if group == "all" or len(members):
                for smoothing in ("plain", "smoothed"):
                    found[Key("drop", predictions, smoothing, group)] = members
                found[Key("mixed_failure", predictions, "plain", group)] = members
        found[Key("clean_failure", predictions)] = groups["all"]
        if not truth.known.all():
            found[Key("ood", predictions)] = groups["all"]
    return found


def task_records(
    stream: str,
    scores: Scores,
    base: Ints,
    truth: Truth,
    bands: Mapping[str, Band],
    seen: Iterable[str] = (),
) -> list[Record]:
    """Return the records of every task and measure of a method on a stream.

    A record called "warning", whose variant names the metric, follows wherever an AUROC is below 0.5.
    """
    found: list[Record] = []
    done: dict[tuple[Key, tuple[int, ...]], list[Record]] = {}
    for key, members in keys(truth, seen).items():
        # A group that is all there is has the same figures; kinds without classes are in no group but all.
        same = (key._replace(group=""), tuple(members.tolist()))
        if same in done:
            found += [{**row, "variant": key.variant} for row in done[same]]
            continue
        built = task(key, scores, base, truth, bands, members)
        share = prevalence(built.positive[built.judged])
        rows = [
            record(
                stream,
                scores.name,
                f"{key.task}_{name}",
                key.variant,
                built.measure(measure),
                int(built.judged.sum()),
                share,
            )
            for name, measure in MEASURES[key.task].items()
        ]
        done[same] = rows
        found += rows
    return found + warnings_of(found)


def warnings_of(records: Iterable[Record]) -> list[Record]:
    """Return a record called "warning" for each AUROC below 0.5."""
    return [
        {**row, "metric": "warning", "variant": f"{row['metric']} {row['variant']}"}
        for row in records
        if row["metric"].endswith("_auroc") and row["value"] < 0.5
    ]
