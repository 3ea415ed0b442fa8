"""Labels while a fleet is being run: a request in its database, which the running process answers."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcuq.base.errors import InputError, one_line, placed
from tcuq.base.json_text import from_json

from .fleet import Fleet
from .store import exchange

WAIT = 30.0  # seconds for an answer: a run gives it after its next commit, or within a second
KEPT = 3600.0  # seconds that an answer is kept for who has asked; nobody waits as long


def ask(folder: str | Path, request: Mapping[str, Any], wait: float = WAIT) -> dict[str, Any]:
    """Have ``{"pick": day or None}`` or ``{"tell": rows}`` answered: here, or by who runs the fleet."""
    looked = Fleet.open_read(folder)  # which is enough to pick: steps are drawn when they are decided
    params = {version: model.params for version, model in looked.models.items()}
    keeps = bool(looked.about.get("keep_events"))
    try:
        with looked if "pick" in request else Fleet(params, folder, keep_events=keeps) as fleet:
            return answered(fleet, request)
    except InputError as error:
        if error.code != "busy":
            raise placed(error, str(folder)) from None
    name, until = uuid.uuid4().hex, time.monotonic() + wait
    with contextlib.closing(exchange(Path(folder))) as sql:
        asked = (name, time.time(), json.dumps(request))
        sql.execute("INSERT INTO request (id, time, asked) VALUES (?, ?, ?)", asked)
        answer = None
        while answer is None and time.monotonic() < until:
            time.sleep(0.1)
            [answer] = sql.execute("SELECT answer FROM request WHERE id = ?", (name,)).fetchone()
        sql.execute("DELETE FROM request WHERE id = ?", (name,))
    if answer is None:
        raise InputError("busy", f"{folder}: the process that runs this fleet did not answer in {wait:g} s")
    found = dict(from_json(answer))
    if "error" in found:
        raise InputError("failed", f"{folder}: {found['error']}")
    return found


def answer_requests(fleet: Fleet) -> int:
    """Answer what others ask of a fleet that this process runs; return how many there were."""
    waiting = fleet.store.requests()
    for name, asked in waiting:
        try:
            answer = answered(fleet, from_json(asked))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            answer = {"error": one_line(str(error))}
        fleet.store.answer(name, json.dumps(answer), time.time() - KEPT)
    return len(waiting)


def answered(fleet: Fleet, request: Mapping[str, Any]) -> dict[str, Any]:
    """Take in labels, which the fleet commits, or pick steps to label."""
    if "tell" in request:
        counts: dict[str, Any] = fleet.tell(request["tell"])
        accuracy = {} if fleet.label_choice is None else {"accuracy": fleet.accuracy()}
        promises = [row for model in fleet.models.values() if (row := model.promise.summary())]
        return {**counts, **accuracy, **({"promises": promises} if promises else {})}
    day = request["pick"]
    if day is None and fleet.label_choice is not None:
        day = fleet.label_choice.whole_day()
    return {"day": day, "rows": fleet.labels(day)}
