"""The live half of `tcuq run`: each line is answered before the next is read."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import InputError, placed
from ..io.decisions import RowText, decision_columns
from ..io.jsonl import RowParser
from ..io.sources import STANDARD, decode_lines, read_lines, shown
from ..io.values import Shape, refuse
from ..monitor.logits import paired, softmax
from .common import Skipped, logits_given, odd_posteriors
from .edge import Stopped
from .words import worded

if TYPE_CHECKING:
    from ..monitor.monitor import Monitor

ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals by which a supervisor or a closed terminal ends a live run."""

LOOKED_AT = 100
"""Steps after which the posteriors of a stream that may never end are looked at for oddities."""


def answer_lines(
    args: argparse.Namespace, monitor: Monitor, bad: Skipped, save: Callable[[], None]
) -> dict[str, Any]:
    """Answer JSON lines on standard input, one by one."""
    params, where = monitor.params, shown(STANDARD)
    told = logits_given(args)
    apply = (lambda row: softmax(paired(row), told["logits_scale"])) if told["logits"] else None
    parser, segment = RowParser(Shape.of(params), apply), None
    counts = dict.fromkeys(("steps", "flags", "abstentions", "alarm_steps"), 0)
    number, seen, notes = monitor.steps, [], None
    names, text = params.names, None
    before = {ending: signal.signal(ending, _stop) for ending in ENDINGS} if _alone() else {}
    try:
        for line, content in enumerate(decode_lines(read_lines(STANDARD)), 1):
            if not content.strip():
                continue
            try:
                row = parser.parse(content, line)
                if row is None:
                    continue
                if counts["steps"] and row.segment != segment:
                    monitor.reset()
                step = monitor.step(row.probs, row.features if params.features else None)
            except (ValueError, TypeError) as error:
                refuse(worded(placed(error, f"{where}, line {line}")), bad if args.skip_bad else None)
                continue
            if text is None:  # the stream itself may name its classes, before its first step
                names = params.names or parser.names
                text = RowText(decision_columns(None, True, names is not None), "jsonl")
            for name, hit in zip(counts, (True, step.flagged, step.abstain, step.alarm > 0), strict=True):
                counts[name] += hit
            segment = row.segment
            cells: tuple[Any, ...] = (number, step.prediction, step.answer, step.risk, step.threshold)
            cells += (step.uncertainty, step.abstain, step.alarm, step.warming_up, step.reason or "")
            cells += (step.persistence, step.look, step.severity, step.expected_accuracy)
            if names is not None:
                cells += (names[step.answer],)
            _say(text.line((*cells, params.fingerprint)))
            number += 1
            if notes is None:
                seen.append(row.probs)
                if len(seen) == LOOKED_AT:
                    notes = odd_posteriors(args, where, np.array(seen))
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        if counts["steps"]:
            save()
    if not counts["steps"]:
        skipped = f" ({bad})" if bad.count else ""
        raise InputError("missing", f"{where}: holds no steps; at least one line is needed{skipped}")
    return {**counts, "notes": odd_posteriors(args, where, np.array(seen)) if notes is None else notes}


def _alone() -> bool:
    """Tell whether this is the main thread, the only one that may set signal handlers."""
    return threading.current_thread() is threading.main_thread()


def _stop(number: int, frame: Any) -> None:
    raise Stopped(number)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
