"""Checksums of recordings, so that files that are copied can be told from damaged or other ones."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..run_size import RunSize
from ..versions import RECORDING

FORMAT = "tcuq recordings 2"
NAME = "recordings.json"


def checksums(folder: Path, jobs: int = 4) -> dict[str, list[Any]]:
    """Return for every folder of recordings its files, their bytes, and the SHA-256 of their SHA-256 by name.

    One line a folder, not a file: the full setting has some 12,800 files.
    """
    home = folder / f"recording-{RECORDING}"
    paths = sorted(path for path in home.glob("*/*/*.npz") if not path.name.startswith("."))
    found: dict[str, dict[str, tuple[int, str]]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for path, entry in zip(paths, pool.map(_entry, paths), strict=True):
            found.setdefault(str(path.parent.relative_to(folder).as_posix()), {})[path.name] = entry
    return {name: together(files) for name, files in found.items()}


def together(files: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Return how many files there are, their bytes, and one SHA-256 of all."""
    text = "".join(f"{name} {files[name][1]}\n" for name in sorted(files))
    return [len(files), sum(entry[0] for entry in files.values()), hashlib.sha256(text.encode()).hexdigest()]


def _entry(path: Path) -> tuple[int, str]:
    content = path.read_bytes()
    return len(content), hashlib.sha256(content).hexdigest()


def manifest(found: Mapping[str, Sequence[Any]], setting: RunSize, about: Mapping[str, Any]) -> str:
    """Return the text of a manifest."""
    content = {
        "format": FORMAT,
        "command": f"tcuq-lab record --setting {setting.name}",
        "recording": RECORDING,
        "setting": setting.deciding(),
        "machine": platform.machine(),
        "numpy": np.__version__,
        **about,
    }
    head = json.dumps(content, indent=1, allow_nan=False)[:-2]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(files)}" for name, files in found.items())
    return f'{head},\n "folders": {{\n{rows}\n}}}}\n'


def differing(found: Mapping[str, Sequence[Any]], path: Path) -> list[str]:
    """Return a line for each folder of a manifest that is missing, or differs; others may be there."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        files = content["folders"] if content["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        files = None
    if not isinstance(files, dict):
        raise ValueError(f"{path}: no manifest of recordings, expected one that 'tcuq-lab record' wrote")
    lines = []
    for folder, wanted in files.items():
        given = found.get(folder)
        if given is None:
            lines.append(f"{folder} is missing")
        elif list(given) != list(wanted):
            lines.append(
                f"{folder} has {given[0]:,} files of {given[1]:,} bytes that differ from the manifest's"
            )
    return lines
