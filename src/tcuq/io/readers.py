"""Reading logs in whatever format they are."""

from __future__ import annotations

from pathlib import Path

from ..monitor.log import Log
from ..monitor.logits import paired, softmax
from ..monitor.params import Params
from .csv import read_csv
from .jsonl import read_jsonl
from .npz import read_npz
from .sources import MAX_BYTES, TABLES, decode_lines, format_of, read_bytes, read_lines, shown
from .tables import read_table_log
from .values import Bad, Shape


def read_log(
    path: str | Path,
    format: str | None = None,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    logits: bool = False,
    logits_scale: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> Log:
    """Read a log of a classifier's outputs.

    Parameters
    ----------
    path : path
        ``.csv``, ``.npz``, ``.jsonl``, ``.ndjson``, or ``.parquet``, ``.arrow`` and ``.feather``, which need
        pyarrow (``pip install 'tcuq[tables]'``); ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    on_bad : callable, optional
        Called with the message of each bad line of a text format, which is skipped. Without it, the
        first bad line is an error that names the line.
    params : Params, optional
        Of the monitor that will read the log: a log of another shape is refused.
    logits : bool
        What stands for posteriors in the file are logits: softmax is applied.
    logits_scale : float, optional
        What one unit of int8 logits is worth.
    max_bytes : int
        An NPZ, Parquet or Arrow file may take this much memory, 2 GiB by default; headers tell before it is
        unpacked.
        A line of a text format may always have 1 MiB; a longer one is a bad line.

    Returns
    -------
    Log
        In the text formats, the first valid row tells whether posteriors and features are int8
        (written as integers) or float; see `tcuq.io.values.written_int8`.

    Warns
    -----
    InputNote
        Where the file has columns that are not read.
    """
    kind, where = format_of(path, format), shown(path)
    shape = None if params is None else Shape.of(params)
    apply = (lambda table: softmax(paired(table), logits_scale)) if logits else None
    if kind == "npz":
        log = read_npz(read_bytes(path, max_bytes), where, max_bytes, apply)
    elif kind in TABLES:
        log = read_table_log(path, kind, where, max_bytes, apply)
    elif kind == "csv":
        log = read_csv(decode_lines(read_lines(path)), where, on_bad, apply)
    else:
        log = read_jsonl(decode_lines(read_lines(path)), where, on_bad, shape, apply)
    if shape is not None:
        shape.check_log(log, where)
    return log
