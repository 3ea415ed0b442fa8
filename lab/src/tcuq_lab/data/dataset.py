"""What the datasets are called, where their files lie, and how one is loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

VARIABLE = "TCUQ_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """One split of a dataset, decoded."""

    name: str  # name of the dataset
    split: str  # which split of it
    x: npt.NDArray[Any]  # an example a row: uint8 images, channels last, or int16 sound at 16 kHz
    y: npt.NDArray[np.int64]  # a label a row
    license: str  # under which terms it may be used
    source: str  # where the examples come from, and what was done to them


class Form(NamedTuple):
    """One way in which a split can lie in the data folder."""

    files: tuple[str, ...]
    read: str  # module of this package and its function: from the files to examples and labels
    source: str
    options: Mapping[str, Any] = MappingProxyType({})  # of the function


class Archive(NamedTuple):
    """A file to fetch."""

    url: str
    # Published md5 or sha256 in hexadecimal, told apart by length; without one the file goes unchecked
    digest: str | None = None
    folder: str = ""  # where in the data folder the file goes
    unpacked: str = ""  # folder that it is unpacked to; empty for a file that is used as it is

    @property
    def file(self) -> str:
        """The name of the file, without its folder."""
        return self.url.rpartition("/")[2]

    @property
    def known_hash(self) -> str | None:
        """The digest with its kind."""
        return self.digest and f"{'md5' if len(self.digest) == 32 else 'sha256'}:{self.digest}"


class Entry(NamedTuple):
    """What is known of a dataset without looking at its files, as `datasets.json` has it."""

    license: str
    source: str
    splits: Mapping[str, tuple[Form, ...]]  # ways in which each can lie, in the order they are tried
    archives: tuple[Archive, ...]
    parts: Mapping[str, tuple[str, str]]  # the split that each is cut from, and which rows of it in words


@cache
def _entries() -> Mapping[str, Entry]:
    listed = json.loads(files(__package__).joinpath("datasets.json").read_text(encoding="utf-8"))
    return MappingProxyType({name: _entry(**each) for name, each in listed.items()})


def _entry(splits: Any, archives: Any, parts: Any = MappingProxyType({}), **about: str) -> Entry:
    forms = {
        split: tuple(Form(**{**form, "files": tuple(form["files"])}) for form in every)
        for split, every in splits.items()
    }
    cut = {part: (split, rows) for part, (split, rows) in parts.items()}
    return Entry(**about, splits=forms, archives=tuple(Archive(**each) for each in archives), parts=cut)


def names() -> tuple[str, ...]:
    """Return the names of all datasets."""
    return tuple(_entries())


def entry(name: str) -> Entry:
    """Return what is known of a dataset."""
    return _entries()[known("dataset", name, _entries(), " (tcuq-lab data list shows all)")]


def splits(name: str) -> tuple[str, ...]:
    """Return the splits of a dataset."""
    return tuple(entry(name).splits)


def data_folder(make: bool = False) -> Path:
    """Return the folder of the datasets, which the environment variable TCUQ_DATA names."""
    value = os.environ.get(VARIABLE)
    filled = "that 'tcuq-lab data get NAME' fills, or that holds official or packed files of the datasets"
    if not value:
        raise ValueError(f"{VARIABLE} is not set; set it to a folder {filled}")
    folder = Path(value)
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        raise ValueError(f"{VARIABLE} is {value!r}, which is not a folder; set it to one {filled}")
    return folder


def present(name: str, split: str, folder: Path | None = None) -> Form | None:
    """Return the form in which a split lies in the data folder, official files first; None without one."""
    accepted = splits(name)
    if split not in accepted:
        raise ValueError(f"split {split!r} of {name} is unknown, expected one of {', '.join(accepted)}")
    root = data_folder() if folder is None else folder
    for form in entry(name).splits[split]:
        if all((root / file).exists() for file in form.files):
            return form
    return None


def load(name: str, split: str) -> Dataset:
    """Return one split of a dataset."""
    form, folder = present(name, split), data_folder()
    if form is None:
        wanted = " or ".join(", ".join(form.files) for form in entry(name).splits[split])
        raise ValueError(
            f"{name} {split} is not in {folder}; run 'tcuq-lab data get {name}' or put there {wanted}"
        )
    module, _, function = form.read.partition(".")
    read = getattr(import_module(f".{module}", __package__), function)
    x, y = read(*(folder / file for file in form.files), **form.options)
    known = entry(name)
    return Dataset(name, split, x, y.astype(np.int64), known.license, f"{known.source}; {form.source}")
