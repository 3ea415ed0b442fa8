"""Where the laboratory's own files lie: experiments, weights, recorded outputs, results."""

from __future__ import annotations

import os
from pathlib import Path

MARK = "experiments/fields.json"
"""A file by which the folder is recognized."""


def home() -> Path:
    """Return the folder `lab` of a checkout.

    That is the folder that the variable TCUQ_LAB names; else the present folder, one above it, or the folder
    `lab` in one of these; else the checkout from which the package was installed with ``pip install -e``.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    """
    given = os.environ.get("TCUQ_LAB")
    if given:
        if not (Path(given) / MARK).exists():
            raise FileNotFoundError(
                f"TCUQ_LAB is {given}, which lacks {MARK}: set it to the folder 'lab' of a checkout"
            )
        return Path(given)
    here = Path.cwd()
    above = [each / part for each in (here, *here.parents) for part in ("lab", ".")]
    for folder in (*above, Path(__file__).parents[2]):
        if (folder / MARK).exists():
            return folder
    raise FileNotFoundError(
        "no checkout of tcuq here, so no experiments, weights or results: run this inside "
        "one, or set TCUQ_LAB to the folder 'lab' of one"
    )


def folder(given: str | None, name: str) -> Path:
    """Return the folder that an option names, or by default the one of that name in `home`.

    Parameters
    ----------
    given : str, optional
    name : str
    """
    return home() / name if given is None else Path(given)
