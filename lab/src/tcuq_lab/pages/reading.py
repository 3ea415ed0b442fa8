"""Reading the inputs that people write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .wording import readable

Kind = TypeVar("Kind")


def read(
    path: str | Path, form: str, needed: Sequence[str], make: Callable[[Mapping[str, Any]], Kind]
) -> Kind:
    """Return what a file of a format holds; its name stands in front of what is wrong with it.

    Parameters
    ----------
    path : path
    form : str
        Its entry `format`.
    needed : sequence of str
        Further entries.
    make : callable
        From the content to what is returned.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise ValueError(f"{path} has another format, expected {form!r}")
    for entry in needed:
        if entry not in content:
            raise ValueError(f"{path} lacks {entry}, expected {', '.join(needed)}")
    try:
        return make(readable(content))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
