"""Fits that are kept: several experiments, and units at other dwells, use a monitor fitted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tcuq.base.whole_files import write_whole
from tcuq.monitor.params import Params

from ...methods.method import Labeled, Method
from ...methods.temporal.tcuq import Tcuq

FORMAT = "tcuq fit 1"


def fit_once(method: Method, dev: Labeled, place: Path | None = None) -> None:
    """Fit a method to a development stream, or take up its fit from a file; write one where there is none.

    Parameters
    ----------
    method : Method
        Only monitors are kept: their fit takes seconds, that of the others tenths of one.
    dev : Labeled
    place : path, optional
        Whose name must change with anything that decides the fit.
    """
    if place is None or not isinstance(method, Tcuq) or not method.resumes():
        method.fit(dev)
    elif place.exists():
        try:
            content = _read(place)
            method.resume(dev, content["held_out"], Params.from_dict(content["params"]))
        except ValueError as error:
            raise ValueError(f"{place} is no fit that was kept: {str(error).splitlines()[0]}") from None
    else:
        method.fit(dev)
        content = {"format": FORMAT, "held_out": method.held_out, "params": method.params.to_dict()}
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(content, allow_nan=False) + "\n")


def _read(place: Path) -> dict[str, Any]:
    content = json.loads(place.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"the format {FORMAT!r} is accepted")
    for entry in ("held_out", "params"):
        if entry not in content:
            raise ValueError(f"{entry} is missing")
    return content
