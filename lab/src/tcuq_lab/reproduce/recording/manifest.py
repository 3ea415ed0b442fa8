"""Checksums of recordings, so that files that are copied can be told from damaged or other ones."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..run_size import RunSize
from ..versions import RECORDING

FORMAT = "tcuq recordings 1"
NAME = "recordings.json"


def checksums(folder: Path, jobs: int = 4) -> dict[str, dict[str, list[Any]]]:
    """Return bytes and SHA-256 of every recording, by folder and file.

    Parameters
    ----------
    folder : path
    jobs : int
        Files that are read at the same time.
    """
    home = folder / f"recording-{RECORDING}"
    paths = sorted(path for path in home.glob("*/*/*.npz") if not path.name.startswith("."))
    found: dict[str, dict[str, list[Any]]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for path, entry in zip(paths, pool.map(_entry, paths), strict=True):
            found.setdefault(str(path.parent.relative_to(folder).as_posix()), {})[path.name] = entry
    return found


def _entry(path: Path) -> list[Any]:
    content = path.read_bytes()
    return [len(content), hashlib.sha256(content).hexdigest()]


def manifest(found: Mapping[str, Mapping[str, Any]], setting: RunSize, about: Mapping[str, Any]) -> str:
    """Return the text of a manifest.

    Parameters
    ----------
    found : mapping
        What `checksums` returns.
    setting : RunSize
    about : mapping
        What else is known: device, seconds.
    """
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
    return f'{head},\n "files": {{\n{rows}\n}}}}\n'


def differing(found: Mapping[str, Mapping[str, Any]], path: Path) -> list[str]:
    """Return a line for each file of a manifest that is missing, or has other bytes; others may be there.

    Parameters
    ----------
    found : mapping
        What `checksums` returns.
    path : path
        Of the manifest.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        files = content["files"] if content["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        files = None
    if not isinstance(files, dict):
        raise ValueError(f"{path}: no manifest of recordings, expected one that 'tcuq-lab record' wrote")
    lines = []
    for folder, wanted in files.items():
        for name, entry in wanted.items():
            given = found.get(folder, {}).get(name)
            if given is None:
                lines.append(f"{folder}/{name} is missing")
            elif list(given) != list(entry):
                lines.append(f"{folder}/{name} has other bytes")
    return lines
