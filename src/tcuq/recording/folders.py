"""A folder of class folders with pictures or sounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..io.sources import shown
from .model import Array
from .pictures import PICTURES, picture_reader
from .sounds import SOUNDS, SoundReader


class Asked(NamedTuple):
    """What a folder is read for."""

    shape: tuple[int | None, ...] | None = None
    names: Sequence[str] | None = None


class Folder(NamedTuple):
    """The files of a folder with their classes, and how one is read."""

    files: list[tuple[Path, int]]
    names: tuple[str, ...]
    read: Callable[[Path], Array]
    pixels: bool
    notes: tuple[str, ...]


def read_folder(path: Path, asked: Asked) -> Folder:
    """Return what lies in a folder; files are read later, one by one."""
    where = shown(path)
    folders = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not folders:
        raise InputError(
            "missing", f"{where}: holds no class folders, expected one folder a class, such as {where}/cat"
        )
    names = tuple(asked.names) if asked.names is not None else tuple(each.name for each in folders)
    unknown = [each.name for each in folders if each.name not in names]
    if unknown:
        some = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
        raise InputError("unknown", f"{where}/{unknown[0]}: is no class, expected one of {some}")
    found = {
        each: sorted(file for file in each.rglob("*") if file.suffix.lower() in (*PICTURES, *SOUNDS))
        for each in folders
    }
    empty = [each for each, files in found.items() if not files]
    if empty:
        raise InputError(
            "missing",
            f"{shown(empty[0])}: holds no pictures ({', '.join(PICTURES)}) and no sounds "
            f"({', '.join(SOUNDS)}); fill or remove it",
        )
    files = [(file, names.index(each.name)) for each, inside in found.items() for file in inside]
    sounds = [file.suffix.lower() in SOUNDS for file, _ in files]
    if any(sounds) and not all(sounds):
        raise InputError("conflict", f"{where}: holds pictures and sounds, expected one kind")
    # Class after class would read as a stream in which a class stays for as long as its folder lasts.
    files = [files[n] for n in np.random.default_rng(0).permutation(len(files))]
    notes = ("files are mixed, as a folder is no stream; pass a stream as NPZ with `segments`",)
    if all(sounds):
        return Folder(files, names, SoundReader(asked.shape, where), False, notes)
    return Folder(files, names, picture_reader(asked.shape, where), True, notes)
