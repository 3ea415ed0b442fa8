"""Logs that a fit reads, and their clean steps: those that set means of signals, threshold and alarm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.errors import InputError, InputTypeError, placed
from ..base.spelling import option
from ..log.columns import is_frame
from ..log.log import Log, runs_of
from ..log.logits import softmax
from ..log.quantize import quantize_features, quantize_probs, refuse_logits
from ..monitor.params import Params

if TYPE_CHECKING:
    from typing import Protocol

    class Frame(Protocol):
        """A data frame, as pandas and polars have it, or an Arrow table."""

        @property
        def columns(self) -> Any:
            """Names of the columns."""

        @property
        def shape(self) -> Any:
            """Rows and columns."""

        def __getitem__(self, name: Any, /) -> Any: ...

    class Stream(Protocol):
        """What Arrow can read as a table."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


Source: TypeAlias = "Log | str | Path | Frame | Stream"


def as_log(source: Source, *, logits: bool = False, logits_scale: float | None = None) -> Log:
    """Return the log that someone means: as it is, or read from a file or a data frame."""
    if logits_scale is not None and not logits:
        given = f"{option('logits_scale')} is given without {option('logits', True)}"
        raise InputError("missing", f"{given}; int8 logits need both")
    where = ""
    if isinstance(source, Log):
        log = source
        if logits:
            log = replace(log, probs=softmax(log.probs, logits_scale))
    elif isinstance(source, (str, Path)):
        from ..io import read_log

        log, where = read_log(source, logits=logits, logits_scale=logits_scale), f"{source}"
    elif is_frame(source):
        log = Log.from_frame(source, logits, logits_scale)
    else:
        kind = type(source).__name__
        expected = "a path, a Log, or a data frame with columns p0, p1, ..."
        raise InputTypeError("value", f"the log is of type {kind}, expected {expected}")
    try:
        refuse_logits(log.probs)
        quantize_probs(log.probs)  # names the first float row that the core would refuse
    except ValueError as error:
        raise placed(error, where) from None
    return log


def refuse_one_class(log: Log) -> None:
    """Refuse labels that are all the same: they teach nothing of errors between classes."""
    if log.labels is not None and len(np.unique(log.labels)) == 1:
        way = "use a log that shows several classes, or leave the labels out"
        problem = f"every label is class {log.labels[0]}, so no error can be learned; {way}"
        raise InputError("missing", problem, "labels")


SLOW_MEMORY = 100
"""Steps after which a slow mean at rate 1/32, that of steps a quarter new, has forgotten all but 5 %."""


@dataclass(frozen=True)
class Clean:
    """Clean steps of a log."""

    log: Log
    runs: list[slice]
    marked: int  # steps, also those right after a shift, which runs leave out
    source: str  # "clean log", "log" by its marks, or "all" of a log that marks none


def clean_part(params: Params, log: Log, clean: Log | None) -> Clean:
    """Find the clean steps: those of `clean`, else those that the log does not mark as shifted."""
    chosen = log if clean is None else clean
    runs = rested_stretches(params, chosen)
    if not runs:
        raise InputError("missing", "no clean steps are left; threshold and alarm need some")
    marked = len(chosen) if chosen.shifted is None else int((~chosen.shifted).sum())
    source = "clean log" if clean is not None else "all" if log.shifted is None else "log"
    return Clean(chosen, runs, marked, source)


def refuse_other_shape(log: Log, clean: Log, reads_features: bool) -> None:
    """Refuse a clean log that is not of the same classifier."""
    if clean.classes != log.classes:
        raise InputError("value", f"the clean log has {clean.classes} classes, the log has {log.classes}")
    if reads_features and clean.width != log.width:
        raise InputError("value", f"the clean log has {clean.width} features, the log has {log.width}")
    formats = [(each.feature_scale, each.feature_zero_point) for each in (log, clean)]
    if reads_features and None not in (*formats[0], *formats[1]) and formats[0] != formats[1]:
        own, other = (f"scale {scale:g} and zero point {zero}" for scale, zero in formats)
        raise InputError("conflict", f"the clean log has features of {other}, the log of {own}")


def format_of_both(
    log: Log, clean: Log, scale: float | None, zero_point: int | None
) -> tuple[float | None, int | None]:
    """Return scale and zero point for the features of both logs; refuse what nobody can compare."""
    assert log.features is not None and clean.features is not None
    raw, clean_raw = log.features.dtype == np.int8, clean.features.dtype == np.int8
    if clean_raw and not raw and scale is None and zero_point is None:
        scale, zero_point = clean.feature_scale, clean.feature_zero_point
    if raw != clean_raw and scale is None:
        own, other = ("int8", "float") if raw else ("float", "int8")
        way = f"pass {option('feature_scale')} and {option('feature_zero_point')} of the int8 features"
        raise InputError("missing", f"the log has {own} features and the clean log {other} ones; {way}")
    return scale, zero_point


def in_format(log: Log, params: Params) -> Log:
    """Return a log with its features in int8; the first row that the core would refuse is named here."""
    if log.features is None or not params.features:
        return log
    scale, zero_point = params.feature_scale, params.feature_zero_point
    held = quantize_features(log.features, scale, zero_point)
    return log if held is log.features else replace(log, features=held)


def rested_stretches(params: Params, clean: Log) -> list[slice]:
    """Return the clean stretches on which what a monitor remembers of a shift has waned."""
    return clean_stretches(clean, max(params.depth, 0 if params.instant is None else SLOW_MEMORY))


def clean_stretches(log: Log, memory: int) -> list[slice]:
    """Return clean stretches, less `memory` steps after a shift inside a segment, which remember it."""
    if log.shifted is None:
        return log.pieces()
    first = {piece.start for piece in log.pieces()}
    runs = [run for run in runs_of(log, log.shifted) if not log.shifted[run.start]]
    rested = [run if run.start in first else slice(run.start + memory, run.stop) for run in runs]
    return [run for run in rested if run.start < run.stop]
