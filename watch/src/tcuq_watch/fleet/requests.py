"""Labels while a fleet is being run: a small request in its folder, which the running process answers."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError, placed
from tcuq.base.json_text import from_json
from tcuq.base.limits import read_limited

from .store import REQUESTS

WAIT = 30.0
"""Seconds that an answer is waited for; a run answers after its next commit, or within a second."""

KEPT = 3600.0
"""Seconds that an answer is kept for who has asked; nobody waits as long."""

DAY = 86400


def ask(folder: str | Path, request: Mapping[str, Any], wait: float = WAIT) -> dict[str, Any]:
    """Have a request answered: here where nobody runs the fleet, else by the process that does.

    A request is ``{"pick": day or None}`` or ``{"tell": rows}``.
    """
    from .fleet import Fleet

    looked = Fleet.open_read(folder)  # which is enough to pick: steps are drawn when they are decided
    params = {version: model.params for version, model in looked.models.items()}
    try:
        with looked if "pick" in request else Fleet(params, folder) as fleet:
            found = answered(fleet, request)
    except InputError as error:
        if error.code != "busy":
            raise placed(error, str(folder)) from None
        found = _handed_in(Path(folder), request, wait)
    if "error" in found:
        raise InputError("failed", f"{folder}: {found['error']}")
    return found


def _handed_in(folder: Path, request: Mapping[str, Any], wait: float) -> dict[str, Any]:
    name = uuid.uuid4().hex
    place = folder / REQUESTS
    place.mkdir(exist_ok=True)
    asked, told = place / f"{name}.ask.json", place / f"{name}.told.json"
    write_whole(asked, json.dumps(request), links=False)
    until = time.monotonic() + wait
    while time.monotonic() < until:
        if told.exists():
            found: dict[str, Any] = from_json(read_limited(told, "file"))
            told.unlink()
            return found
        time.sleep(0.1)
    with contextlib.suppress(FileNotFoundError):
        asked.unlink()
    raise InputError("busy", f"{folder}: the process that runs this fleet did not answer within {wait:g} s")


def answer_requests(fleet: Any) -> int:
    """Answer what lies in the folder of a fleet that this process runs; return how many there were.

    A request whose process was killed before it read the answer leaves that; it is removed when nobody can
    wait for it any more.
    """
    place = Path(fleet.folder) / REQUESTS
    if place.is_symlink():
        return 0
    try:
        waiting = sorted(place.glob("*.ask.json"))
        left = sorted(place.glob("*.told.json"))
    except OSError:
        return 0
    for path in left:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT:
                path.unlink()
    for path in waiting:
        try:
            request = from_json(read_limited(path, "file"))
            found = answered(fleet, request)
        except FileNotFoundError:
            continue
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            found = {"error": " ".join(str(error).split())}
        write_whole(
            place / path.name.replace(".ask.", ".told."), json.dumps(found, default=_plain), links=False
        )
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return len(waiting)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def answered(fleet: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """Pick steps to label, or take in labels, which the fleet commits."""
    feeds = any(model.params.feedback is not None for model in fleet.models.values())
    if fleet.label_choice is None and not (feeds and "tell" in request):
        raise InputError("missing", "no labels are asked for here; run the fleet with --labels-per-day")
    if "tell" in request:
        found = dict(fleet.tell([_with_number(fleet, row) for row in request["tell"]]))
        return found if fleet.label_choice is None else {**found, "accuracy": fleet.accuracy()}
    day = request["pick"]
    if day is None and fleet.label_choice is not None:
        day = fleet.label_choice.whole_day()
    rows = [{**row, "answer_name": _name(fleet, row)} for row in fleet.labels(day)]
    return {"day": day, "rows": rows}


def _names(fleet: Any, version: str) -> Sequence[str]:
    model = fleet.models.get(version)
    return () if model is None else model.params.names or ()


def _name(fleet: Any, row: Mapping[str, Any]) -> str:
    names = _names(fleet, row["version"])
    return names[row["answer"]] if 0 <= row["answer"] < len(names) else ""


def _with_number(fleet: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose label is a number: that of a class by its name, or as it was written."""
    label = row.get("label")
    if isinstance(label, str):
        names = list(_names(fleet, row["version"]))
        if label in names:
            label = names.index(label)
        else:
            # What is no number stays a text, which is counted as bad.
            with contextlib.suppress(ValueError):
                label = int(label)
    return {**row, "label": label}
