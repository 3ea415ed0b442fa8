"""Reading and writing logs in whatever format they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.limits import Limits, limits_given
from ..log.log import Log
from ..log.logits import paired, softmax
from ..monitor.params import Params
from .log_rows import CsvRows, JsonRows, LogRows
from .rows import Bad, taken
from .sources import TABLES, Lines, format_of, put, read_bytes, read_lines, shown
from .tables import encode_log, log_table, package, read_npz, table_parts, table_pieces
from .values import Shape


def read_log(
    path: str | Path,
    format: str | None = None,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    logits: bool = False,
    logits_scale: float | None = None,
    limits: Limits | None = None,
    max_bytes: int | None = None,
) -> Log:
    r"""Read a log of a classifier's outputs.

    Parameters
    ----------
    path : path
        ``.csv``, ``.npz``, ``.jsonl``, ``.ndjson``, or ``.parquet``, ``.arrow`` and ``.feather``, which need
        pyarrow (``pip install pyarrow``); ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    on_bad : callable, optional
        Called with the message of each bad line of a text format, which is skipped. Without it, the
        first bad line is an error that names the line.
    params : Params, optional
        Of the monitor that will read the log: a log of another shape is refused.
    logits : bool, default False
        What stands for posteriors in the file are logits: softmax is applied.
    logits_scale : float, optional
        What one unit of int8 logits is worth.
    limits : Limits, optional
        How large the file may be, its arrays when they are unpacked, and a line of it; see `tcuq.io.Limits`.
        A line that is too long is a bad line.
    max_bytes : int, optional
        Stands for the limit `file` alone.

    Returns
    -------
    Log
        In the text formats, the first valid row tells whether posteriors and features are int8
        (written as integers) or float; see `tcuq.io.log_rows.written_int8`.

    Warns
    -----
    InputNote
        Where the file has columns that are not read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "p0,p1,label\n0.9,0.1,0\n0.2,0.8,0\n"
    ...     _ = Path(folder, "dev.csv").write_text(text, encoding="utf-8")
    ...     log = read_log(f"{folder}/dev.csv")
    >>> len(log), log.classes, log.errors().tolist()
    (2, 2, [False, True])
    """
    given = limits_given(limits).but(file=max_bytes)
    options: dict[str, Any] = {"format": format, "logits": logits, "logits_scale": logits_scale}
    return next(read_parts(path, on_bad, params, **options, limits=given, whole=True))


PART = 1 << 14
"""Steps that are read at a time where a log need not be held whole."""


def read_parts(
    path: str | Path,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    format: str | None = None,
    logits: bool = False,
    logits_scale: float | None = None,
    limits: Limits | None = None,
    whole: bool = False,
) -> Iterator[Log]:
    """Read a log some steps at a time, as far as its format allows; an NPZ file is held whole."""
    kind, where, rows = format_of(path, format), shown(path), None if whole else PART
    limits = limits_given(limits)
    shape = None if params is None else Shape.of(params)
    apply = (lambda table: softmax(paired(table), logits_scale)) if logits else None
    parts: Iterator[Log]
    if kind == "npz":
        log = read_npz(read_bytes(path, limits), where, limits, apply)
        step = len(log) if rows is None else rows
        parts = (log.take(slice(at, at + step)) for at in range(0, len(log), step))
    elif kind in TABLES:
        parts = table_parts(path, kind, where, limits, apply, rows is None)
    else:
        lines = read_lines(path, limits, whole=True)
        make = partial(CsvRows, lines) if kind == "csv" else partial(JsonRows, shape)
        parts = _row_parts(lines, partial(make, apply, where, limits), where, on_bad, rows)
    for part in parts:
        if shape is not None:
            shape.check_log(part, where)
        yield part


def _row_parts(
    lines: Lines, make: Callable[[], LogRows], where: str, on_bad: Bad | None, size: int | None
) -> Iterator[Log]:
    """Read a text format, about `size` steps at a time."""
    with closing(lines):
        steps = make()
        for _ in taken(lines, steps, where, on_bad):
            if size is not None and steps.rows >= size:
                yield steps.log(where)
        if not steps.begun:
            raise InputError("missing", f"{where}: holds no steps, expected at least one row")
        if steps.rows:
            yield steps.log(where)


LOG_ENDINGS = (".npz", ".parquet", ".arrow", ".feather")


def log_format(path: str | Path) -> str:
    """Return the format of a log that is to be written; refuse one that only is read."""
    if Path(path).suffix.lower() not in LOG_ENDINGS:
        raise InputError(
            "unsupported", f"{path}: a log is written as {', '.join(LOG_ENDINGS[:-1])} or {LOG_ENDINGS[-1]}"
        )
    kind = format_of(path)
    if kind in TABLES:
        package(kind)  # missing, it is to be missed before the work
    return kind


def write_log(path: str | Path, log: Log) -> None:
    """Write a log, whole or not at all.

    Parameters
    ----------
    path : path
        ``.npz``, or ``.parquet``, ``.arrow`` and ``.feather``, which need pyarrow. In tables posteriors and
        features are columns of lists; names and the scale of features are in the metadata.
    log : Log
        What to write.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq import Log
    >>> from tcuq.io import read_log
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(f"{folder}/dev.npz", Log([[0.9, 0.1]], labels=[0]))
    ...     read_log(f"{folder}/dev.npz").labels.tolist()
    [0]
    """
    kind = log_format(path)
    put(path, table_pieces([log_table(log)], kind) if kind in TABLES else encode_log(log))
