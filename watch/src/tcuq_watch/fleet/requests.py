"""Labels while a fleet is being run: a request in its database, which the running process answers."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq.base.errors import InputError, one_line, placed
from tcuq.base.json_text import from_json

from .store import exchange

WAIT = 30.0
"""Seconds that an answer is waited for; a run answers after its next commit, or within a second."""

KEPT = 3600.0
"""Seconds that an answer is kept for who has asked; nobody waits as long."""


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
    with contextlib.closing(exchange(folder)) as sql:
        asked = (name, time.time(), json.dumps(request))
        sql.execute("INSERT INTO request (id, time, asked) VALUES (?, ?, ?)", asked)
        until = time.monotonic() + wait
        answer = None
        while answer is None and time.monotonic() < until:
            [answer] = sql.execute("SELECT answer FROM request WHERE id = ?", (name,)).fetchone()
            time.sleep(0.1 if answer is None else 0)
        sql.execute("DELETE FROM request WHERE id = ?", (name,))
    if answer is None:
        said = f"{folder}: the process that runs this fleet did not answer within {wait:g} s"
        raise InputError("busy", said)
    return dict(from_json(answer))


def answer_requests(fleet: Any) -> int:
    """Answer what others ask of a fleet that this process runs; return how many there were."""
    waiting = fleet.store.requests()
    for name, asked in waiting:
        try:
            found = answered(fleet, from_json(asked))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            found = {"error": one_line(str(error))}
        fleet.store.answer(name, json.dumps(found, default=_plain), time.time() - KEPT)
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
