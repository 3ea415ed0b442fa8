"""Sets whose files take long to decode, kept decoded, so that many processes load them in no time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...data import Dataset, data_folder, present
from ...data.parts import split_of
from ...methods.banks import arrays_of, put_arrays

SLOW = ("speech_commands",)
"""Tasks whose sets are kept; pictures are read as quickly from their own files."""


def decoded(folder: Path, task: str, part: str, title: str, load: Callable[[], Dataset]) -> Dataset:
    """Return a set, from a file where it is kept, else loaded and then kept."""
    files = _files(task, part) if task in SLOW else None
    if files is None:
        return load()
    digest = hashlib.sha256(json.dumps([title, files]).encode()).hexdigest()[:12]
    path = folder / "decoded" / f"{task}-{part}-{digest}.npz"
    if not path.exists():
        found = load()
        about = np.array([found.name, found.split, found.license, found.source])
        put_arrays(path, {"x": found.x, "y": found.y, "about": about})
        return found
    arrays = arrays_of(path)
    name, split, terms, source = map(str, arrays["about"])
    return Dataset(name, split, arrays["x"], arrays["y"], terms, source)


def first(data: Dataset, most: int) -> Dataset:
    """Return the first examples of a set."""
    return replace(data, x=data.x[:most], y=data.y[:most])


def _files(task: str, part: str) -> list[tuple[str, int]] | None:
    """Return names and sizes of the files of a part; None where there are none, and a load will say so."""
    try:
        form = present(task, split_of(task, part))
    except ValueError:
        return None
    return None if form is None else [(name, (data_folder() / name).stat().st_size) for name in form.files]
