"""`tcuq-lab data`: the datasets of the lab: which there are, fetch one, check what is there."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note, progress
from tcuq.cli.process import complain

from ..data.census import READERS, Census
from ..data.dataset import data_folder, entry, load, names, present, splits
from ..data.download import get
from ..data.pack import pack


def pack_one(args: argparse.Namespace) -> int:
    """Pack recordings."""
    said = pack(args.name, args.folder, args.out)
    answer(args, {"file": args.out}, said)
    return 0


def list_all(args: argparse.Namespace) -> int:
    """List the datasets."""
    folder: Path | None = None
    try:
        folder = data_folder()
    except ValueError as error:
        note(args, str(error))
    found, lines = [], []
    for name in names():
        known = entry(name)
        there = {
            split: present(name, split, folder) is not None if folder else None for split in known.splits
        }
        found.append({"name": name, "splits": there, "license": known.license, "source": known.source})
        words = {None: "unknown", True: "present", False: "absent"}
        shown = " ".join(f"{split}:{words[here]}" for split, here in there.items())
        lines.append(f"{name:<19} {shown:<46} {known.source} [{known.license}]")
    answer(args, {"folder": folder and str(folder), "datasets": found}, "\n".join(lines))
    return 0


def get_one(args: argparse.Namespace) -> int:
    """Fetch a dataset."""
    known = entry(args.name)
    folder = data_folder(make=True)
    with progress(args) as bar:
        files = get(args.name, folder, bar)
    for file in files:
        if file["done"] == "fetched" and not file["checked"]:
            note(args, f"{file['path']}: unchecked, no published checksum is known")
    lines = [f"{file['path']}: {file['done']}{', checked' * file['checked']}" for file in files]
    found = {"name": args.name, "license": known.license, "files": files}
    answer(args, found, "\n".join([*lines, f"license: {known.license}"]))
    return 0


def check_all(args: argparse.Namespace) -> int:
    """Decode what is there."""
    folder = data_folder()
    wanted = names() if args.name is None else (args.name,)
    pairs = [(name, split) for name in wanted for split in splits(name) if present(name, split, folder)]
    if not pairs:
        problem = f"{folder} holds no files of {args.name or 'any dataset'} (see tcuq-lab data list)"
        raise InputError("missing", problem)
    results = []
    with progress(args) as bar:
        for index, (name, split) in enumerate(pairs):
            bar(index, len(pairs), f"{name} {split}")
            results.append(_checked(name, split))
    counted = {name: _counted(name, folder) for name, _ in pairs}
    layouts = {name: found for name, found in counted.items() if found}
    lines = [*map(_line, results), *(f"{name}: {found.line}" for name, found in layouts.items())]
    told = {name: found._asdict() for name, found in layouts.items()}
    answer(args, {"folder": str(folder), "checked": results, "layouts": told}, "\n".join(lines))
    for result in results:
        if result["error"]:
            complain(args.program, f"{result['name']} {result['split']}: {result['error']}")
    return int(any(result["error"] for result in results))


def _checked(name: str, split: str) -> dict[str, Any]:
    result: dict[str, Any] = {"name": name, "split": split, "error": None}
    try:
        found = load(name, split)
    except OSError as error:
        return {**result, "error": f"{error.filename}: {error.strerror}"}
    except (ValueError, ImportError) as error:
        return {**result, "error": str(error)}
    counts = np.bincount(found.y).tolist()
    kind = {"shape": list(found.x.shape), "dtype": str(found.x.dtype)}
    return {**result, **kind, "counts": counts, "source": found.source}


def _counted(name: str, folder: Path) -> Census | None:
    """Return what a folder in the official layout holds; what cannot be read was said of its splits."""
    where = [folder / form.files[0] for forms in entry(name).splits.values() for form in forms]
    place = next((path for path in where if path.is_dir()), None)
    if place is None or name not in READERS:
        return None
    try:
        return READERS[name](place)
    except (OSError, ValueError):
        return None


def _line(result: dict[str, Any]) -> str:
    head = f"{result['name']} {result['split']}:"
    if result["error"]:
        return f"{head} cannot be read"
    shape = "x".join(map(str, result["shape"]))
    counts = _counts(result["counts"])
    return f"{head} {result['dtype']} {shape}, examples per class {counts} ({result['source']})"


def _counts(counts: list[int]) -> str:
    return str(counts[0]) if len(set(counts)) == 1 else " ".join(map(str, counts))
