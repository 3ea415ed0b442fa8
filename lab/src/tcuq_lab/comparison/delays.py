"""How soon an alarm follows a known change, at equal rates of false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Detection

from ..detectors.run_lengths import Armed, Trials, trials
from ..metrics.drops import GROUPS, Truth
from .records import Record, record


def in_group(found: Trials, truth: Truth, group: str, seen: Iterable[str]) -> Trials:
    """Return the changes whose kind is in a group."""
    kept = np.isin(found.kinds, truth.members(group, seen))
    return found._replace(
        starts=found.starts[kept],
        lengths=found.lengths[kept],
        delays=found.delays[kept],
        kinds=found.kinds[kept],
    )


def pooled(found: Sequence[Trials]) -> Trials:
    """Return the changes of several streams together."""
    none = np.empty(0, dtype=np.int64)

    def joined(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([none, *(getattr(each, name) for each in found)])

    return Trials(
        joined("starts"),
        joined("lengths"),
        np.concatenate([np.empty(0), *(each.delays for each in found)]),
        joined("kinds"),
        sum(each.false for each in found),
        sum(each.clean for each in found),
    )


def _p90(delays: list[float]) -> float:
    """Return the least delay within which at least 90 % of the changes were told; NaN of none."""
    return sorted(delays)[(9 * len(delays) + 9) // 10 - 1] if delays else float("nan")


def delay_records(stream: str, method: str, statistic: str, group: str, found: Trials) -> list[Record]:
    """Return median, 90 % quantile and restricted mean of the delays, and the misses; n counts changes."""
    delays = tuple(None if np.isinf(delay) else int(delay) for delay in found.delays)
    seen = Detection(tuple(found.starts.tolist()), delays, 0, found.false, found.clean)
    mean = float(found.restricted.mean()) if len(found.delays) else float("nan")
    figures = {
        "delay_median": seen.median,
        "delay_p90": _p90(found.delays.tolist()),
        "delay_mean": mean,
        "missed": float(seen.missed),
    }
    return [
        record(stream, method, metric, f"{statistic}/{group}", value, len(delays))
        for metric, value in figures.items()
    ]


def choose(
    armed: Mapping[str, Armed], risks: Sequence[npt.ArrayLike], truths: Sequence[Truth]
) -> tuple[str, float]:
    """Return the statistic with the least restricted mean delay, and that delay; the first one on a tie."""
    costs = {}
    for name, each in armed.items():
        found = pooled([trials(each, risk, truth) for risk, truth in zip(risks, truths, strict=True)])
        if not len(found.delays):
            raise ValueError("the shifted development streams have 0 changes, expected at least 1")
        costs[name] = float(found.restricted.mean())
    best = min(costs, key=lambda name: costs[name])
    return best, costs[best]


def group_records(
    method: str, statistic: str, found: Sequence[Trials], truths: Sequence[Truth], seen: Iterable[str]
) -> list[Record]:
    """Return the records of all streams pooled, for each group that has changes."""
    rows: list[Record] = []
    names = tuple(seen)
    for group in GROUPS:
        part = pooled(
            [in_group(each, truth, group, names) for each, truth in zip(found, truths, strict=True)]
        )
        if group == "all" or len(part.delays):
            rows += delay_records("pooled", method, statistic, group, part)
    return rows
