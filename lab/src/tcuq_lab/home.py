"""Where the lab's own files are: weights, recorded outputs, results; and libraries that few commands need."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tcuq._version import VERSION

MARK = "results/paper.json"
"""A file by which the folder is recognized."""


class NoCheckout(ValueError):
    """There is no checkout of the repository, which holds experiments, weights and results."""


def home() -> Path:
    """Return the folder `lab` of a checkout.

    In this order: the folder that the variable TCUQ_LAB names; the current folder, a folder above it, or the
    folder `lab` in one of these; the checkout from which the package was installed with ``pip install -e``.
    """
    given = os.environ.get("TCUQ_LAB")
    if given:
        if not (Path(given) / MARK).exists():
            raise NoCheckout(
                f"TCUQ_LAB is {given}, which has no {MARK}: set it to the folder 'lab' of a checkout"
            )
        return Path(given)
    here = Path.cwd()
    above = [each / part for each in (here, *here.parents) for part in ("lab", ".")]
    for folder in (*above, Path(__file__).parents[2]):
        if (folder / MARK).exists():
            return folder.resolve()
    raise NoCheckout(
        "this command needs a checkout of tcuq, which holds weights and results: "
        "run it inside one, or set TCUQ_LAB to its folder 'lab'"
    )


def folder(given: str | None, name: str) -> Path:
    """Return the folder that an option names, or by default the one of that name in `home`."""
    return (home() / name).resolve() if given is None else Path(given)


def library(module: str, what: str) -> Any:
    """Import a library that few commands need, or say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        root = module.partition(".")[0]
        name, package = {"PIL": ("Pillow", "pillow"), "torch": ("PyTorch", "torch")}.get(root, (root, root))
        raise ImportError(f"{name} is needed {what}: pip install {package}") from None


def versions(torch: bool = False) -> dict[str, str]:
    """Return the versions that files of results name; that of PyTorch without the way it was built."""
    found = {"tcuq": VERSION, "numpy": version("numpy"), "python": platform.python_version()}
    return found | {"torch": version("torch").partition("+")[0]} if torch else found
