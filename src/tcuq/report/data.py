"""The rows of a report: checked, their signals recomputed, and packed for the script of the page."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, InputTypeError, wrong_type
from ..log.class_names import shift_shown
from ..log.log import Log
from ..monitor.monitor import Monitor, run_over
from ..monitor.params import Params
from ..monitor.signals import MEANING, REASONS, SIGNALS
from ..monitor.steps import STEP_DTYPE

FLAGGED, ASK, RISE, FALL, WARM, LOW_MASS, SHIFTED, BORDER = (1 << bit for bit in range(8))
"""Bits of the flags byte of a step."""

EXACT_STEPS = 120_000
"""Up to here the page carries every step; a longer timeline is kept as min, mean and max of cells."""

EXACT_SIGNAL_STEPS = 20_000
CELLS = 50_000
SIGNAL_CELLS = 8_192

MOST_STRETCHES = 2_000
"""Known shifts up to which the page names each one where it is."""


@dataclass(frozen=True)
class Cells:
    """Equal stretches of a series: where they start, their middles, and min, mean and max of each."""

    starts: npt.NDArray[np.int64]
    middle: npt.NDArray[np.float64]
    low: npt.NDArray[Any]
    mean: npt.NDArray[np.float64]
    high: npt.NDArray[Any]

    @classmethod
    def most(cls, values: npt.NDArray[Any], cells: int) -> Cells:
        """Cut a series into so many cells at most."""
        return cls.of(values, per_cell(len(values), cells))

    @classmethod
    def of(cls, values: npt.NDArray[Any], per: int) -> Cells:
        """Cut a series into cells of `per` steps; the last may be shorter."""
        starts = np.arange(0, len(values), per)
        edges = np.append(starts, len(values)).astype(float)
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        mean = np.add.reduceat(values.astype(np.float64), starts) / np.diff(edges)
        # Clipping removes what rounding adds: a mean is never outside its range.
        return cls(starts, (edges[:-1] + edges[1:]) / 2, low, np.clip(mean, low, high), high)


def per_cell(steps: int, cells: int) -> int:
    """Return how many steps a cell takes so that there are at most so many cells."""
    return max(1, math.ceil(steps / cells))


def base(values: npt.NDArray[Any]) -> str:
    """Return the little-endian bytes of an array in base64."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def words(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """Return real numbers as Q0.16, clipped; exact for the risk of the core."""
    return np.clip(np.rint(values * 65536), 0, 65535).astype(np.uint16)


def flag_bits(decisions: npt.NDArray[Any], log: Log | None) -> npt.NDArray[np.uint8]:
    """Return one byte a step: what was decided, and what is known about the input."""
    bits = np.zeros(len(decisions), dtype=np.uint8)
    for name, bit in (("flagged", FLAGGED), ("warming_up", WARM), ("low_mass", LOW_MASS)):
        bits[decisions[name].astype(bool)] |= bit
    bits[decisions["abstain"].astype(bool) & (decisions["alarm"] == 0)] |= ASK
    bits[(decisions["alarm"] & 1) != 0] |= RISE
    bits[(decisions["alarm"] & 2) != 0] |= FALL
    if log is not None and log.shifted is not None:
        bits[log.shifted] |= SHIFTED
    if log is not None:
        bits[[piece.start for piece in log.pieces()[1:]]] |= BORDER
    return bits


def pack_stretches(log: Log | None) -> list[tuple[int, int, str]]:
    """Return first step, step after the last and kind of each known shift; none where they are too many."""
    if log is None or log.kinds is None:
        return []
    stretches = log.stretches()
    if len(stretches) > MOST_STRETCHES:
        return []
    return [(a.start, a.stop, shift_shown(int(log.kinds[a.start]), log.shift_names)) for a in stretches]


def _shares(hits: npt.NDArray[np.bool_], per: int) -> npt.NDArray[np.uint8]:
    """Return the share of hits in each cell in 1/255, never 0 where there is a hit."""
    mean = Cells.of(hits, per).mean
    return np.maximum(np.rint(mean * 255), mean > 0).astype(np.uint8)


def pack_timeline(
    decisions: npt.NDArray[Any], bits: npt.NDArray[np.uint8], wrong: npt.NDArray[np.bool_] | None
) -> dict[str, Any]:
    """Return the timeline: every step up to `EXACT_STEPS`, cells beyond."""
    steps = len(decisions)
    per = 1 if steps <= EXACT_STEPS else per_cell(steps, CELLS)
    risk, threshold = (Cells.of(words(decisions[name]), per) for name in ("risk", "threshold"))
    packed: dict[str, Any] = {"steps": steps, "per": per, "threshold": base(threshold.high)}
    packed["risk"] = base(np.rint(risk.mean).astype(np.uint16))
    packed["flags"] = base(np.bitwise_or.reduceat(bits, risk.starts))
    if per > 1:
        packed |= {"risk_low": base(risk.low), "risk_high": base(risk.high)}
        packed["threshold_low"] = base(threshold.low)
        shares = {"flagged": (bits & FLAGGED) != 0, "ask": (bits & ASK) != 0, "wrong": wrong}
        problem = {f"{name}_share": hits for name, hits in shares.items() if hits is not None}
        return packed | {name: base(_shares(hits, per)) for name, hits in problem.items()}
    prediction, answer = decisions["prediction"], decisions["answer"]
    wide = min(prediction.min(), answer.min()) < 0 or max(prediction.max(), answer.max()) > 255
    packed |= {"reason": base(reason_places(decisions["reason"])), "class_bytes": 1 + int(wide)}
    kind = np.uint16 if wide else np.uint8
    packed["prediction"] = base(prediction.astype(kind))
    if (answer != prediction).any():
        packed["answer"] = base(answer.astype(kind))
    if wrong is not None:
        packed["wrong"] = base(np.packbits(wrong, bitorder="little"))
    return packed


def pack_signals(signals: npt.NDArray[np.float64], columns: list[int]) -> dict[str, Any]:
    """Return some signals as bytes: every step up to `EXACT_SIGNAL_STEPS`, min, mean and max beyond."""
    steps = len(signals)
    per = 1 if steps <= EXACT_SIGNAL_STEPS else per_cell(steps, SIGNAL_CELLS)
    rows = []
    for column in columns:
        cells = Cells.of(np.clip(np.rint(signals[:, column] * 255), 0, 255).astype(np.uint8), per)
        rows.append({"name": SIGNALS[column], "mean": base(np.rint(cells.mean).astype(np.uint8))})
        if per > 1:
            rows[-1] |= {"low": base(cells.low), "high": base(cells.high)}
    return {"per": per, "rows": rows}


def reasons() -> list[list[str]]:
    """Return name and meaning of each reason, by number; the error limit comes after the signals."""
    return [[name, MEANING[name]] for name in REASONS]


def reason_places(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return where the reasons of steps are in `reasons`."""
    return np.where(codes == REASONS["error_limit"], len(SIGNALS), codes).astype(np.uint8)


def checked(
    decisions: npt.NDArray[Any], params: Params | None, log: Log | None, signals: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    """Return decisions and signals as arrays; refuse what does not fit together."""
    steps = np.asarray(decisions)
    missing = [name for name in STEP_DTYPE.names or () if name not in (steps.dtype.names or ())]
    if missing:
        raise InputTypeError(
            "value", f"decisions lack the field {missing[0]!r}, expected an array as Monitor.run gives it"
        )
    if steps.ndim != 1:
        raise InputError("value", f"decisions have {steps.ndim} dimensions, expected one row per step")
    if not len(steps):
        raise InputError("missing", "decisions are empty, expected at least one step")
    for name in ("risk", "threshold"):
        if not np.isfinite(steps[name]).all():
            raise InputError("value", f"decisions hold a {name} that is not finite")
    if params is not None and not isinstance(params, Params):
        raise wrong_type("params", params, "a Params or None")
    if log is not None and not isinstance(log, Log):
        raise wrong_type("log", log, "a Log or None")
    if log is not None and len(log) != len(steps):
        raise InputError("conflict", f"log has {len(log)} steps, decisions have {len(steps)}")
    if log is not None:
        other = int((np.argmax(log.probs, axis=1) != steps["prediction"]).sum())
        # Rounding to int8 may turn a near tie; a log of another stream differs nearly everywhere, which a few
        # steps cannot show.
        if len(steps) >= 20 and 2 * other > len(steps):
            raise InputError(
                "conflict",
                f"log and decisions name different classes at {other:,} of {len(steps):,} steps, expected "
                "the log that these decisions were made from",
            )
    if signals is None:
        return steps, None
    values = np.asarray(signals, dtype=np.float64)
    if values.shape != (len(steps), len(SIGNALS)):
        raise InputError("value", f"signals have shape {values.shape}, expected {(len(steps), len(SIGNALS))}")
    if not np.isfinite(values).all():
        raise InputError("value", "signals hold a value that is not finite")
    return steps, values


def recomputed(
    decisions: npt.NDArray[Any], params: Params | None, log: Log | None, first: int = 0
) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Return the signals by running the monitor again, or why they are not shown."""
    if params is None or log is None:
        return None, ""
    if first > 0:
        return None, "The signals are not shown: the monitor had run before, and its past is not in this log."
    if log.classes != params.classes or (params.features and log.width != params.features):
        return None, "The signals are not shown: the log does not have the inputs of these parameters."
    again, values = run_over(Monitor(params), log, signals=True)
    if not np.array_equal(again["risk"], decisions["risk"]):
        return None, "The signals are not shown: these parameters over this log do not give this risk."
    return values, ""
