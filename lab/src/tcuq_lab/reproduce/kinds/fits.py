"""Fits that are kept: several experiments, and units at other dwells, use a monitor fitted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import write_whole

from ...methods.method import Labeled, Method

FORMAT = "tcuq fit 1"


def fit_once(method: Method, dev: Labeled, place: Path | None = None) -> None:
    """Fit a method to a development stream, or take up its fit from a file; write one where there is none."""
    if place is None or not method.keeps_fit:
        method.fit(dev)
    elif place.exists():
        try:
            method.restore(dev, _read(place))
        except ValueError as error:
            raise ValueError(f"{place} is not a fit that was kept: {str(error).splitlines()[0]}") from None
    else:
        method.fit(dev)
        content = {"format": FORMAT, **method.fit_record()}
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(content, allow_nan=False) + "\n")


def _read(place: Path) -> dict[str, Any]:
    content = json.loads(place.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"another format, expected {FORMAT!r}")
    return content
