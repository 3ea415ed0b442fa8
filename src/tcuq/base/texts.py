"""Files beside the code; a wheel has them in one archive (tools/archives.py), which takes a quarter less."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
PACKED = PACKAGE / "texts.bz2"


def text_of(path: str) -> str:
    """Return a file by its path below the package."""
    return _packed()[path] if PACKED.is_file() else (PACKAGE / path).read_text(encoding="utf-8")


def folder() -> Path:
    """Return the folder that has all of them: for programs that cannot read an archive, such as compilers."""
    return _unpacked() if PACKED.is_file() else PACKAGE


@cache
def _packed() -> dict[str, str]:
    """Return the texts of the archive by their paths."""
    import bz2

    texts: dict[str, str] = json.loads(bz2.decompress(PACKED.read_bytes()))
    return texts


@cache
def _unpacked() -> Path:
    """Write the archive's files to a folder that lives as long as the process."""
    place = Path(tempfile.mkdtemp(prefix="tcuq-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for path, text in _packed().items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    return place
