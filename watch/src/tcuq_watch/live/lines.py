"""Steps as lines of the two logs, and as columns for a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.io.decisions import Decisions, RowText
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import reason_names

from .blocks import Block


def _word(value: int | None) -> str:
    return "null" if value is None else str(value)


def received_lines(first: int, block: Block, segments: Sequence[int], at: int | None) -> str:
    """Return what was received as lines of a log that `tcuq run`, `tcuq report` and `tcuq fit` read.

    `segments` change where the monitor forgets the past; `at` is the place in the file after the last step.
    """
    assert block.probs is not None
    features = [None] * len(block) if block.features is None else block.features.tolist()
    lines = []
    rows = zip(
        block.probs.tolist(),
        features,
        segments,
        block.times,
        block.boots,
        block.seqs,
        block.labels,
        block.segments,
        strict=True,
    )
    for step, (probs, more, segment, time, boot, seq, label, told) in enumerate(rows, first):
        own = "" if more is None else f', "features": {more}'
        true = "" if label is None else f', "given_label": {label}'
        true += "" if told is None else f', "given_segment": {told}'
        lines.append(
            f'{{"step": {step}, "probs": {probs}{own}, "segment": {segment}, "time": {time:.3f}, '
            f'"boot": {_word(boot)}, "seq": {_word(seq)}{true}}}\n'
        )
    return _placed(lines, at)


class DecisionLines:
    """Write decisions as lines that `tcuq report` and `tcuq audit` read."""

    def __init__(self, params: Params, names: Sequence[str] | None) -> None:
        self._fingerprint = params.fingerprint
        self._names = None if names is None else tuple(names)
        self._text: RowText | None = None

    def lines(
        self,
        first: int,
        steps: npt.NDArray[Any],
        times: Sequence[float],
        boots: Sequence[int | None],
        seqs: Sequence[int | None],
        at: int | None = None,
    ) -> str:
        """Return the lines of steps from number `first` on; `at` as of `received_lines`."""
        decisions = Decisions(steps, first, fingerprint=self._fingerprint, names=self._names)
        if self._text is None:
            self._text = RowText(decisions.columns, "jsonl")
        line = self._text.line
        found = [
            f'{line(row)[:-2]}, "time": {time:.3f}, "boot": {_word(boot)}, "seq": {_word(seq)}}}\n'
            for row, time, boot, seq in zip(decisions.rows(), times, boots, seqs, strict=True)
        ]
        return _placed(found, at)


def _placed(lines: list[str], at: int | None) -> str:
    if at is not None:
        lines[-1] = f'{lines[-1][:-2]}, "at": {at}}}\n'
    return "".join(lines)


_CLASSES, _FLAGS = ("prediction", "answer"), ("flagged", "abstain", "alarm", "warming_up")
_SHOWN = ("risk", "threshold", "uncertainty", *_CLASSES, *_FLAGS)
_LEARNED = ("persistence", "look", "severity")


def feed_columns(
    steps: npt.NDArray[Any],
    times: Sequence[float],
    used: Sequence[str] = (),
    signals: npt.NDArray[np.float64] | None = None,
) -> dict[str, list[Any]]:
    """Return steps as a `Feed` takes them."""
    columns: dict[str, list[Any]] = {"time": [round(time, 3) for time in times]}
    for name in _SHOWN:
        columns[name] = steps[name].tolist()
    columns["reason"] = reason_names(steps["reason"])
    for name in _LEARNED:
        columns[name] = steps[name].tolist()
    columns["expected_accuracy"] = [
        None if math.isnan(value) else value for value in steps["expected_accuracy"].tolist()
    ]
    if signals is not None:
        places = [NUMBER[name] for name in used]
        told: list[Any] = [None] * len(steps)
        for row in np.flatnonzero(steps["flagged"]).tolist():
            told[row] = dict(zip(used, signals[row, places].tolist(), strict=True))
        columns["signals"] = told
    return columns
