"""Writing logs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ..base.whole_files import write_whole
from ..monitor.log import Log
from .npz import KEYS


def write_log(path: str | Path, log: Log) -> None:
    """Write a log as NPZ, whole or not at all.

    Parameters
    ----------
    path : path
        Should end in ``.npz``.
    log : Log
    """
    columns = {key: getattr(log, "kinds" if key == "shifted" else key) for key in KEYS}
    file = io.BytesIO()
    np.savez_compressed(file, **{k: v for k, v in columns.items() if v is not None})
    write_whole(path, file.getvalue())
