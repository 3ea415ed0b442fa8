"""Steps as they come from a device: posteriors that the host judges, or decisions that the device made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value
from tcuq.base.fixed import ONE
from tcuq.io.decision_files import LIMITS
from tcuq.monitor.params import Params
from tcuq.monitor.quantize import quantize_features, quantize_probs
from tcuq.monitor.signals import NUMBER, SIGNALS
from tcuq.monitor.steps import NO_REASON, STEP_DTYPE


@dataclass(frozen=True, eq=False)
class Block:
    """Steps of one kind, in the order in which they came."""

    times: list[float]  # unix seconds of arrival
    boots: list[int | None]
    seqs: list[int | None]
    probs: npt.NDArray[np.int8] | None = None
    features: npt.NDArray[np.int8] | None = None
    segments: list[int | None] = field(default_factory=list)
    labels: list[int | None] = field(default_factory=list)
    steps: npt.NDArray[Any] | None = None  # decisions of the device, in place of posteriors
    again: bool = False  # the steps may have come before (`Chunk.again`)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def by_device(self) -> bool:
        """Whether the device decided."""
        return self.steps is not None

    @property
    def kind(self) -> tuple[bool, bool, bool]:
        """What blocks have in common that can be joined."""
        return self.by_device, self.features is None, self.again

    def at(self, index: list[int]) -> Block:
        """Return some of the steps."""
        if len(index) == len(self):
            return self

        def some(values: list[Any]) -> list[Any]:
            return [values[i] for i in index] if values else values

        def rows(values: Any) -> Any:
            return None if values is None else values[index]

        return Block(
            some(self.times),
            some(self.boots),
            some(self.seqs),
            rows(self.probs),
            rows(self.features),
            some(self.segments),
            some(self.labels),
            rows(self.steps),
            self.again,
        )

    def keys(self) -> list[bytes]:
        """Return what each step holds, as bytes, to tell a repeated one from another."""
        if self.probs is not None:
            if self.features is None:
                return [row.tobytes() for row in self.probs]
            rows = zip(self.probs, self.features, strict=True)
            return [probs.tobytes() + more.tobytes() for probs, more in rows]
        assert self.steps is not None
        # Not the bytes of rows: they have gaps, and there is more than one NaN.
        columns = (
            self.steps[name].tolist() for name in ("risk", "threshold", "answer", "prediction", "alarm")
        )
        return [repr(row).encode() for row in zip(*columns, strict=True)]


def joined(blocks: Sequence[Block]) -> list[Block]:
    """Return fewer, larger blocks: neighbors of one kind as one, because each block has a cost of its own."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and groups[-1][0].kind == block.kind:
            groups[-1].append(block)
        else:
            groups.append([block])
    return [group[0] if len(group) == 1 else _one(group) for group in groups]


def _one(group: list[Block]) -> Block:
    def together(name: str) -> list[Any]:
        return [value for block in group for value in getattr(block, name)]

    def stacked(name: str) -> Any:
        parts = [getattr(block, name) for block in group]
        return None if parts[0] is None else np.concatenate(parts)

    return Block(
        together("times"),
        together("boots"),
        together("seqs"),
        stacked("probs"),
        stacked("features"),
        together("segments"),
        together("labels"),
        stacked("steps"),
        group[0].again,
    )


@dataclass(frozen=True)
class DeviceState:
    """The state of the device's own monitor after a step."""

    boot: int
    seq: int
    state: bytes


class RowsToBlock:
    """Collect steps of lines until something else comes."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._clear()

    def _clear(self) -> None:
        self._kind: tuple[Any, ...] = ()
        self._places: list[tuple[float, int | None, int | None]] = []
        self._rows: list[Any] = []
        self._features: list[Any] = []
        self._more: list[tuple[int | None, int | None]] = []

    def add_row(self, row: Any, time: float, boot: int | None, seq: int | None) -> Block | None:
        """Take a step of posteriors; return the block that it does not belong to."""
        done = self._change(("row", row.probs.dtype, None if row.features is None else row.features.dtype))
        self._places.append((time, boot, seq))
        self._rows.append(row.probs)
        self._features.append(row.features)
        self._more.append((row.segment, row.label))
        return done

    def add_decision(
        self, values: tuple[Any, ...], time: float, boot: int | None, seq: int | None
    ) -> Block | None:
        """Take a decision; return the block that it does not belong to."""
        done = self._change(("decision",))
        self._places.append((time, boot, seq))
        self._rows.append(values)
        return done

    def done(self) -> Block | None:
        """Return what was collected."""
        if not self._places:
            return None
        times, boots, seqs = map(list, zip(*self._places, strict=True))
        if self._kind[0] == "decision":
            found = Block(times, boots, seqs, steps=np.array(self._rows, dtype=STEP_DTYPE))
        else:
            segments, labels = map(list, zip(*self._more, strict=True))
            found = Block(
                times,
                boots,
                seqs,
                as_probs(np.stack(self._rows)),
                as_features(np.stack(self._features), self._params) if self._has_features() else None,
                segments,
                labels,
            )
        self._clear()
        return found

    def _has_features(self) -> bool:
        return bool(self._params.features) and self._features[0] is not None

    def _change(self, kind: tuple[Any, ...]) -> Block | None:
        done = self.done() if self._kind != kind else None
        self._kind = kind
        return done


def as_probs(rows: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """Return posteriors as the core sees them."""
    return rows if rows.dtype == np.int8 else quantize_probs(rows)


def as_features(rows: npt.NDArray[Any], params: Params) -> npt.NDArray[np.int8]:
    """Return features as the core sees them."""
    return quantize_features(rows, params.feature_scale, params.feature_zero_point)


FIELDS = STEP_DTYPE.names or ()
_FLAGS = ("flagged", "abstain", "warming_up", "low_mass")
_WHOLE = ("prediction", "answer", "alarm")
_WORDS = {True: 1, False: 0, "true": 1, "false": 0, "": 0}


def _reason(value: Any) -> int:
    if value in ("", None, NO_REASON):
        return NO_REASON
    code = NUMBER.get(value, value) if isinstance(value, str) else value
    if type(code) is not int or not 0 <= code < len(SIGNALS):
        raise wrong_value("reason", value, f"empty or one of {', '.join(SIGNALS)}")
    return code


def _flag(name: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        found = _WORDS.get(value, value) if isinstance(value, (bool, str, int)) else value
        if found not in (0, 1):
            raise wrong_value(name, value, "true or false")
        return int(found)

    return read


def _number(name: str, whole: bool) -> Callable[[Any], float]:
    low, high = LIMITS[name]

    def read(value: Any) -> float:
        if type(value) not in (int, float) or not low - 1e-6 <= value <= high + 1e-6:
            raise wrong_value(name, value, f"{low:g} to {high:g}")
        if whole:
            if value != int(value):
                raise wrong_value(name, value, "an integer")
            return int(value)
        return float(round(value * ONE)) / ONE

    return read


def _readers() -> dict[str, Callable[[Any], Any]]:
    found: dict[str, Callable[[Any], Any]] = {"reason": _reason}
    for name in FIELDS:
        if name in _FLAGS:
            found[name] = _flag(name)
        elif name != "reason":
            found[name] = _number(name, name in _WHOLE)
    return found


_READERS = _readers()


def decision_values(content: Mapping[str, Any], classes: int) -> tuple[Any, ...]:
    """Return the decision of one line as a row of `tcuq.STEP_DTYPE`.

    A line needs `risk`, `threshold`, and `answer` or `prediction`; what else it lacks is 0, false or unknown.
    """
    for name in ("risk", "threshold"):
        if name not in content:
            raise InputError("missing", f"key {name!r} is missing, expected risk, threshold and answer")
    if content.get("answer") is None and content.get("prediction") is None:
        raise InputError("missing", "key 'answer' is missing, expected risk, threshold and answer")
    values: dict[str, Any] = dict.fromkeys(FIELDS, 0)
    values |= {"reason": NO_REASON, "expected_accuracy": math.nan}
    for name, read in _READERS.items():
        value = content.get(name)
        if value is not None and not (value == "" and name == "expected_accuracy"):
            values[name] = read(value)
    for name, other in (("answer", "prediction"), ("prediction", "answer")):
        if content.get(name) is None:
            values[name] = values[other]
    for name in ("answer", "prediction"):
        if values[name] >= classes:
            raise wrong_value(name, values[name], f"at most {classes - 1}")
    values["flagged"] = values["risk"] >= values["threshold"]
    return tuple(values[name] for name in FIELDS)


def odd_steps(steps: npt.NDArray[Any], classes: int) -> str | None:
    """Return what of decisions is out of range, as a line of them would be refused; None if nothing is.

    Examples
    --------
    >>> odd_steps(np.array([decision_values({"risk": 0, "threshold": 0, "answer": 7}, 9)], STEP_DTYPE), 4)
    'prediction is 7, expected 0 to 3'
    """
    reasons = steps["reason"]
    odd = reasons[(reasons != NO_REASON) & (reasons >= len(SIGNALS))]
    if len(odd):
        return f"reason is {odd[0]}, expected {NO_REASON} or below {len(SIGNALS)}"
    for name, (low, high) in LIMITS.items():
        if name in FIELDS:
            most = classes - 1 if name in ("answer", "prediction") else high
            values = steps[name].astype(np.float64)
            unknown = np.isnan(values) if name == "expected_accuracy" else np.zeros(len(values), dtype=bool)
            bad = values[~unknown & ~((values >= low - 1e-6) & (values <= most + 1e-6))]
            if len(bad):
                return f"{name} is {bad[0]:g}, expected {low:g} to {most:g}"
    return None
