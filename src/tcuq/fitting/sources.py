"""What `fit` and `tune` read: a path, a `Log` or a data frame, logs that cannot be right, clean stretches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..monitor.frames import is_frame
from ..monitor.log import Log
from ..monitor.logits import softmax
from ..monitor.params import Params
from ..monitor.quantize import quantize_probs, refuse_logits
from ..monitor.signals import BELIEF, SLOW
from .alarms import FEWEST, clean_stretches
from .gain import signals_of

if TYPE_CHECKING:
    from typing import Protocol

    class Frame(Protocol):
        """A data frame, as pandas has it."""

        @property
        def columns(self) -> Any:
            """Names of the columns."""

        @property
        def shape(self) -> Any:
            """Rows and columns."""

        def __getitem__(self, name: Any, /) -> Any: ...


Source: TypeAlias = "Log | str | Path | Frame"


def as_log(source: Source, *, logits: bool = False, logits_scale: float | None = None) -> Log:
    """Return the log that someone means.

    Parameters
    ----------
    source : Log, path or data frame
        A path ends in ``.csv``, ``.npz`` or ``.jsonl``; a data frame has the columns of the CSV format.
    logits : bool
        Its posteriors are logits: softmax is applied.
    logits_scale : float, optional
        What one unit of int8 logits is worth.

    Examples
    --------
    >>> log = as_log(Log([[2.0, 0.0]]), logits=True)
    >>> log.probs.round(3).tolist()
    [[0.881, 0.119]]
    >>> as_log([[0.5, 0.5]])
    Traceback (most recent call last):
    ...
    TypeError: the log is of type list, expected a path, a Log, or a data frame with columns p0, p1, ...
    """
    if logits_scale is not None and not logits:
        raise ValueError("`logits_scale` is given without `logits=True`; pass both for int8 logits")
    where = ""
    if isinstance(source, Log):
        log = source
        if logits:
            probs = softmax(log.probs, logits_scale)
            log = Log(probs, log.features, log.labels, log.segments, log.kinds, log.notes)
    elif isinstance(source, (str, Path)):
        from ..io import read_log

        log, where = read_log(source, logits=logits, logits_scale=logits_scale), f"{source}: "
    elif is_frame(source):
        log = Log.from_frame(source, logits, logits_scale)
    else:
        kind = type(source).__name__
        expected = "a path, a Log, or a data frame with columns p0, p1, ..."
        raise TypeError(f"the log is of type {kind}, expected {expected}")
    try:
        refuse_logits(log.probs)
        quantize_probs(log.probs)  # names the first float row that the core would refuse
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    return log


def refuse_one_class(log: Log) -> None:
    """Refuse labels that are all the same: errors between classes cannot be learned from them."""
    if log.labels is not None and len(np.unique(log.labels)) == 1:
        raise ValueError(
            f"every label is class {log.labels[0]}: nothing can be learned about errors between classes; "
            "use a log that shows several classes, or leave the labels out for a fit without them"
        )


def one_prediction(log: Log) -> list[str]:
    """Return a note when the classifier answers with one class throughout, else nothing."""
    found = np.unique(log.predictions())
    if len(found) > 1:
        return []
    return [
        f"every prediction is class {found[0]}: the log says nothing about the other classes, nor about "
        "changes between them"
    ]


SLOW_MEMORY = 48
"""Steps after which a slow mean at rate 1/16 has forgotten all but 5 % of a shift."""

STRAIN_MEMORY = 192
"""The same at rate 1/64."""


@dataclass(frozen=True)
class Clean:
    """Clean steps that set means, threshold and alarm.

    Parameters
    ----------
    log : Log
        The log that holds them.
    runs : list of slice
        Where they are.
    marked : int
        Clean steps of that log, with those right after a shift, which `runs` leave out.
    """

    log: Log
    runs: list[slice]
    marked: int


def clean_part(params: Params, log: Log, clean: Log | None, warnings: list[str]) -> Clean:
    """Find the clean steps: those of `clean`, else those that the log does not mark as shifted."""
    if clean is not None:
        if clean.classes != log.classes:
            raise ValueError(f"the clean log has {clean.classes} classes, the log has {log.classes}")
        if params.features and clean.width != log.width:
            raise ValueError(f"the clean log has {clean.width} features, the log has {log.width}")
    elif log.shifted is None:
        warnings.append(
            "no steps are marked as clean: the whole log sets threshold and alarm; if it holds degraded "
            "stretches, mark them with `shifted`, or pass a clean log with `clean`"
        )
    chosen = log if clean is None else clean
    runs = rested_stretches(params, chosen)
    if not runs:
        raise ValueError("no clean steps are left; threshold and alarm need some")
    marked = len(chosen) if chosen.shifted is None else int((~chosen.shifted).sum())
    return Clean(chosen, runs, marked)


def rested_stretches(params: Params, clean: Log) -> list[slice]:
    """Return the clean stretches on which what a monitor remembers of a shift has waned.

    Parameters
    ----------
    params : Params
    clean : Log
    """
    memory = max(params.depth, SLOW_MEMORY if set(params.signals) & {*SLOW, *BELIEF} else 0)
    runs = clean_stretches(clean, memory)
    if "strain_slow" in params.signals:
        # A memory that long may leave too little; a strain that still wanes is better than no alarm.
        rested = clean_stretches(clean, STRAIN_MEMORY)
        if sum(run.stop - run.start for run in rested) >= FEWEST:
            return rested
    return runs


def with_clean_means(params: Params, clean: Clean) -> Params:
    """Return the parameters with the mean of each signal over the clean steps."""
    values, settled = signals_of(params, clean.log)
    index = np.concatenate([np.arange(run.start, run.stop) for run in clean.runs])
    with_past = index[settled[index]]
    means = values[with_past if len(with_past) else index].mean(0)
    return params.replace(clean_means=dict(zip(params.signals, means.tolist(), strict=True)))
