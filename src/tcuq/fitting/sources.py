"""What `fit` reads: a path, a `Log` or a data frame; logs that cannot be right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.errors import InputError, InputTypeError, placed
from ..monitor.data_frames import is_frame
from ..monitor.log import Log
from ..monitor.logits import softmax
from ..monitor.quantize import quantize_probs, refuse_logits

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
        raise InputError("missing", "`logits_scale` is given without `logits=True`; int8 logits need both")
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
    """Refuse labels that are all the same: errors between classes cannot be learned from them."""
    if log.labels is not None and len(np.unique(log.labels)) == 1:
        way = "use a log that shows several classes, or leave the labels out"
        raise InputError(
            "missing", f"every label is class {log.labels[0]}, so no error can be learned; {way}"
        )


def one_prediction(log: Log) -> list[str]:
    """Return a note when the classifier answers with one class throughout, else nothing."""
    seen = np.unique(log.predictions())
    if len(seen) > 1:
        return []
    others = "the log says nothing about the other classes, nor about changes between them"
    return [f"every prediction is class {seen[0]}: {others}"]
