"""A monitor as a package for firmware: its text, and its way to the disk, all files or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from ..base.checks import known
from ..monitor.params import Params
from .arduino import library_files
from .contents import Contents
from .csource import monitor_header, monitor_source
from .example import main_text
from .projection import IntegerProjection
from .readme import readme
from .selfcheck import selfcheck_header, selfcheck_source
from .vector import vector

FORMS = ("c", "arduino")


def sources(
    params: Params,
    name: str = "monitor",
    form: str = "c",
    logits_scale: float | None = None,
    projection: IntegerProjection | None = None,
) -> dict[str, str]:
    """Return the files of an exported monitor, text by path inside the package.

    Parameters
    ----------
    params : Params
    name : str
        Name of the constant, and of its header and source.
    form : {"c", "arduino"}
        Plain C files in one folder, or an Arduino library.
    logits_scale : float, optional
        Carry along a softmax for int8 logits of this scale.
    projection : IntegerProjection, optional
        Carry along a projection of wide features.

    Examples
    --------
    >>> [file for file in sorted(sources(Params(classes=10))) if file.startswith("mon")]
    ['monitor.c', 'monitor.h', 'monitor_selfcheck.c', 'monitor_selfcheck.h']
    >>> sorted(sources(Params(classes=10), form="arduino"))[:3]
    ['README.md', 'examples/Watch/Watch.ino', 'keywords.txt']
    """
    known("form", form, FORMS)
    contents = Contents(params, name, logits_scale, projection)
    checked = vector(contents)
    texts = {
        f"{name}.h": monitor_header(contents),
        f"{name}.c": monitor_source(contents),
        f"{name}_selfcheck.h": selfcheck_header(contents, checked),
        f"{name}_selfcheck.c": selfcheck_source(contents, checked),
    }
    package = resources.files("tcuq")
    for file in contents.core_files:
        core, more = package / "core" / file, package / "export" / "c" / file
        texts[file] = (core if core.is_file() else more).read_text(encoding="utf-8")
    if form == "arduino":
        texts = {f"src/{file}": text for file, text in texts.items()} | library_files(contents)
    else:
        texts["main.c"] = main_text(contents)
    texts["README.md"] = readme(contents, checked, form)
    return texts


def export(
    params: Params,
    folder: str | Path,
    name: str = "monitor",
    force: bool = False,
    form: str = "c",
    logits_scale: float | None = None,
    projection: IntegerProjection | None = None,
) -> list[Path]:
    """Write a monitor as a package for firmware, all files or none.

    Parameters
    ----------
    params : Params
    folder : path
        Made when it does not exist; the folder around it must.
    name, form, logits_scale, projection
        As for `sources`.
    force : bool
        Replace files that are there already.

    Returns
    -------
    list of Path
        The files, sorted.
    """
    texts = sources(params, name, form, logits_scale, projection)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{target}: is a file; a folder is needed")
    if not target.parent.is_dir():
        raise ValueError(f"{target}: folder {target.parent} does not exist")
    _refuse_other_kinds(texts, target)
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


def _folders(texts: dict[str, str]) -> list[str]:
    """Return the folders inside a package, outer ones first."""
    inner = {str(parent) for file in texts for parent in Path(file).parents} - {"."}
    return sorted(inner)


def _refuse_other_kinds(texts: dict[str, str], target: Path) -> None:
    """Refuse a folder where a file is to be and the other way round: force must not take those away."""
    for file in sorted(texts):
        if (target / file).is_dir():
            raise ValueError(f"{target / file}: is a folder; a file is to be written there")
    for folder in _folders(texts):
        if (target / folder).exists() and not (target / folder).is_dir():
            raise ValueError(f"{target / folder}: is a file; a folder is needed")


def _place(texts: dict[str, str], target: Path) -> None:
    """Build everything beside the target, then move it there; put back what was there when a move fails."""
    fresh = not target.exists()
    build = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    moved: list[str] = []
    made: list[Path] = []
    try:
        new, old = build / "new", build / "old"
        for folder in (new, old):
            folder.mkdir()
            for inner in _folders(texts):
                (folder / inner).mkdir()
        for file, text in texts.items():
            (new / file).write_text(text, encoding="utf-8")
        if fresh:
            os.rename(new, target)
            return
        for inner in _folders(texts):
            if not (target / inner).exists():
                (target / inner).mkdir()
                made.append(target / inner)
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
        for inner_folder in reversed(made):
            inner_folder.rmdir()
        raise
    finally:
        shutil.rmtree(build, ignore_errors=True)
