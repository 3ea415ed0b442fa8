"""What the alarm finds: kinds of shift that its evidence has not seen, left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..monitor.log import Log
from ..monitor.params import Params
from ..monitor.shift_names import shift_shown
from .alarms import ALLOWANCE_NATS, FEWEST, HOLD, caution_of, choose_evidence_limit, clear_at, walk
from .folds import shift_kinds
from .learn_head import CLIP, Moments, Part, learn_moments, learn_sum, slow_mean, standard_sum
from .signal_table import Flags, Floats

SHORTEST = 30
"""Steps of a stretch below which it says nothing about a delay."""


def find_left_out(
    log: Log, parts: Sequence[Part], params: Params, run_length: int, learned: bool
) -> dict[str, Any] | None:
    """Return how an alarm does on each kind of shift that costs accuracy, without having seen it.

    Evidence and limit are learned again without the kind, in floats. Centers and clean steps stay the same.
    The log comes first, then the log of clean steps if that is another one. Where nothing is learned the
    kinds play no part in the evidence. None with fewer than two kinds.
    """
    if log.kinds is None or sum(part.clean.sum() for part in parts) < FEWEST:
        return None
    degraded = parts[0].degraded
    kinds = [kind for kind in shift_kinds(log) if (degraded & (log.kinds == kind)).any()]
    delays: dict[int, list[float]] = {}
    on_kind: dict[int, Flags] = {}
    on_clean: list[Flags] = []
    for kind in kinds:
        held = degraded & (log.kinds == kind)
        kept = [parts[0].without(held), *parts[1:]]
        if learned and sum(part.teaching.sum() for part in kept) < FEWEST:
            continue
        alarms = _alarms(kept, params, run_length, learned)
        ends = np.flatnonzero(np.diff(np.concatenate([[0], held, [0]])))
        found = [alarms[0][start:stop] for start, stop in zip(ends[::2], ends[1::2], strict=True)]
        delays[kind] = [
            float(np.argmax(each)) if each.any() else np.inf for each in found if len(each) >= SHORTEST
        ]
        on_kind[kind] = alarms[0][held]
        on_clean += [alarm[part.clean] for alarm, part in zip(alarms, parts, strict=True)]
    judged = {kind: each for kind, each in delays.items() if each}
    if len(judged) < 2:
        return None
    every = [delay for each in judged.values() for delay in each]
    return {
        "kinds": len(judged),
        "found": int(sum(np.isfinite(each).mean() >= 0.5 for each in judged.values())),
        "stretches": len(every),
        "stretches_found": int(np.isfinite(every).sum()),
        "delay": float(np.median(every)),
        "on_shifted": float(np.concatenate(list(on_kind.values())).mean()),
        "on_clean": float(np.concatenate(on_clean).mean()),
        "by_kind": {
            shift_shown(kind, log.shift_names): {
                "stretches": len(each),
                "found": int(np.isfinite(each).sum()),
                "delay": float(np.median(each)),
                "on": float(np.mean(on_kind[kind])),
            }
            for kind, each in judged.items()
        },
    }


def _alarms(parts: Sequence[Part], params: Params, run_length: int, learned: bool) -> list[Flags]:
    """Return where the alarm is on, in each part."""
    assert params.evidence is not None
    if learned:
        moments = learn_moments(parts, params.signals, params.classes)
    else:
        names = tuple(name for name in params.evidence.coef if name not in ("severity", "drift"))
        coef = np.array([params.evidence.coef[name] for name in names])
        moments = Moments(names, coef, np.array(params.evidence.offsets))
    columns = [slow_columns(part, moments, params) for part in parts]
    coef, bias = (learn_sum if learned else standard_sum)(parts, columns)
    sums = [
        np.clip(x @ coef + bias, -CLIP, CLIP) * part.looks - ALLOWANCE_NATS
        for x, part in zip(columns, parts, strict=True)
    ]
    clean = [each[run] for each, part in zip(sums, parts, strict=True) for run in part.runs]
    limit = choose_evidence_limit(clean, run_length, caution_of(learned))
    return [walk(each, limit, clear_at(limit), HOLD) for each in sums]


def slow_columns(part: Part, moments: Moments, params: Params) -> Floats:
    """Return severity under some evidence, and drift where it is in use, as signals."""
    severity = 0.5 + slow_mean(moments.of(part), part.looks) / 16
    if "drift" not in params.signals:
        return severity[:, None]
    return np.column_stack([severity, part.table.of(("drift",))[:, 0] / ONE])
