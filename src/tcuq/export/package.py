"""A monitor as C source: its parameters as constants, the core, and a small host program to try it."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from ..params import Params
from .csource import main_text, params_header, params_source
from .names import check_name

CORE_FILES = ("tcuq.h", "tcuq.c", "tcuq_math.h", "tcuq_tables.h")


def sources(params: Params, name: str = "monitor") -> dict[str, str]:
    """Return the files of an exported monitor, text by file name.

    Parameters
    ----------
    params : Params
    name : str
        Name of the constant, and of its header and source.

    Examples
    --------
    >>> sorted(sources(Params(classes=10)))
    ['main.c', 'monitor.c', 'monitor.h', 'tcuq.c', 'tcuq.h', 'tcuq_math.h', 'tcuq_tables.h']
    """
    check_name(name)
    texts = {
        f"{name}.h": params_header(params, name),
        f"{name}.c": params_source(params, name),
        "main.c": main_text(params, name),
    }
    core = resources.files("tcuq") / "core"
    for file in CORE_FILES:
        texts[file] = (core / file).read_text(encoding="utf-8")
    return texts


def export(params: Params, folder: str | Path, name: str = "monitor", force: bool = False) -> list[Path]:
    """Write a monitor as C source, all files or none.

    Parameters
    ----------
    params : Params
    folder : path
        Made when it does not exist; the folder around it must.
    name : str
        Name of the constant, and of its header and source.
    force : bool
        Replace files that are there already.

    Returns
    -------
    list of Path
        The files, sorted.
    """
    texts = sources(params, name)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{target}: is a file; a folder is needed")
    if not target.parent.is_dir():
        raise ValueError(f"{target}: folder {target.parent} does not exist")
    present = sorted(file for file in texts if (target / file).exists())
    if present and not force:
        raise ValueError(
            f"{target / present[0]}: exists already; name another folder, or replace it with force (--force)"
        )
    try:
        _place(texts, target)
    except OSError as error:
        # The error names a temporary file that the user never asked for.
        raise OSError(error.errno, error.strerror, str(target)) from None
    return sorted(target / file for file in texts)


def _place(texts: dict[str, str], target: Path) -> None:
    """Build everything beside the target, then move it there; put back what was there when a move fails."""
    made = not target.exists()
    build = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    moved: list[str] = []
    try:
        new, old = build / "new", build / "old"
        new.mkdir()
        old.mkdir()
        for file, text in texts.items():
            (new / file).write_text(text, encoding="utf-8")
        if made:
            os.rename(new, target)
            return
        for file in texts:
            if (target / file).exists():
                os.replace(target / file, old / file)
            moved.append(file)
            os.replace(new / file, target / file)
    except BaseException:
        for file in moved:
            if (old / file).exists():
                os.replace(old / file, target / file)
            else:
                (target / file).unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(build, ignore_errors=True)
