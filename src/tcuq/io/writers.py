"""Writing logs in whatever format they are to have."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import InputError
from ..monitor.log import Log
from .npz import encode_log
from .sources import TABLES, format_of, put
from .tables import encode_table, log_table, package

LOG_ENDINGS = ".npz, .parquet, .arrow or .feather"


def log_format(path: str | Path) -> str:
    """Return the format of a log that is to be written; refuse one that only is read."""
    if Path(path).suffix.lower() not in LOG_ENDINGS.replace(" or", ",").split(", "):
        raise InputError("unsupported", f"{path}: a log is written as {LOG_ENDINGS}")
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
    put(path, encode_table(log_table(log), kind) if kind in TABLES else encode_log(log))
