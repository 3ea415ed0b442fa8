# SPDX-License-Identifier: MIT
"""Input and requests that a fleet refuses: each is counted or told in one line, and nothing else is lost."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import folder_in_memory
from refusals import refused
from streams import int8_stream

from tcuq import Params
from tcuq_watch.engine import events as fleet_events
from tcuq_watch.fleet import Events, Fleet, requests
from tcuq_watch.fleet.store import exchange
from tcuq_watch.sources.arrivals import Bad, BatchBuilder, DeviceState

PARAMS = Params(classes=3, warmup=0)
DAY = 86400


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with folder_in_memory(tmp_path_factory.mktemp("refusals")) as folder:
        yield folder


def events(devices: list[str], seqs: list[int], **more: Any) -> Events:
    probs, _ = int8_stream(len(seqs), 3, 0)
    return Events(devices, [0] * len(seqs), seqs, probs, **more)


def row(device: str, seq: int, **more: Any) -> dict[str, Any]:
    return {"device": device, "seq": seq, "probs": [0.25, 0.75], **more}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("devices", [["a", "b"]]),
        ("boots", [0.5, 1]),
        ("seqs", [0]),
        ("probs", [[0.5, 0.5]]),
        ("times", [1.0]),
        ("labels", ["a", "b"]),
    ],
)
def test_columns_that_do_not_fit_are_named(name: str, column: Any) -> None:
    columns: dict[str, Any] = {"devices": ["a", "b"], "boots": [0, 0], "seqs": [0, 1]}
    columns["probs"] = np.full((2, 2), 0.5)
    with refused("value", name):
        Events(**{**columns, name: column})
    with refused("missing"):
        Events(**{**columns, "probs": None})


def test_events_behind_a_state_of_their_device_are_a_part_of_their_own() -> None:
    rows = BatchBuilder(Bad())
    rows.add_state(DeviceState("a", 0, 4, b"state", None))
    rows.add_events(events(["b"], [0]))
    rows.add_events(events([], []))
    rows.add_events(events(["a"], [5]))
    first, second = rows.flush(None).parts
    assert [each.devices.tolist() for each in first.events] == [["b"]] and len(first.states) == 1
    assert [each.devices.tolist() for each in second.events] == [["a"]] and not second.states


def test_a_sum_at_the_edge_of_the_tolerance_costs_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the quick look takes and the core refuses is refused alone."""
    probs = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.2], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])
    monkeypatch.setattr(fleet_events, "odd_sums", lambda rows: np.zeros(len(rows), dtype=bool))
    given = Events(["a"] * 4, [0] * 4, [0, 1, 2, 3], probs)
    good, _, refused = fleet_events.checked(PARAMS, given, math.inf)
    assert good.tolist() == [0, 2, 3] and refused == {"bad posterior": 1}


def answers(fleet: Fleet, asked: list[str]) -> list[Any]:
    """Return what a running fleet answers."""
    with contextlib.closing(exchange(fleet.folder)) as sql:
        rows = [(str(number), time.time(), text) for number, text in enumerate(asked)]
        sql.executemany("INSERT INTO request (id, time, asked) VALUES (?, ?, ?)", rows)
        assert requests.answer_requests(fleet) == len(asked)
        found = sql.execute("SELECT answer FROM request ORDER BY CAST(id AS INTEGER)").fetchall()
        sql.execute("DELETE FROM request")
    return [json.loads(text) for (text,) in found]


def test_requests_that_cannot_be_answered(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    with Fleet(PARAMS, folder) as fleet:
        with refused("busy"):
            requests.ask(folder, {"tell": []}, wait=0.05)
        assert fleet.store.requests() == []  # the question is taken back
        wrong = ["{", "[]", '{"pick": "x"}', '{"tell": 5}', "[" * 100_000, '{"pick": 1e999}', '{"pick": 3}']
        told = answers(fleet, wrong)
        assert all(set(each) == {"error"} and "\n" not in each["error"] for each in told)
        assert told[-1]["error"] == "no labels are asked for here; run the fleet with --labels-per-day"

        def answer() -> None:
            while not requests.answer_requests(fleet):
                time.sleep(0.01)

        thread = threading.Thread(target=answer)
        thread.start()
        with refused("failed"):
            requests.ask(folder, {"tell": []}, wait=10)
        thread.join()
        with refused("value"):
            fleet.labels(3)
    with refused("missing"):
        requests.ask(folder, {"pick": None})


def test_labels_and_hostile_days(tmp_path: Path) -> None:
    with Fleet(PARAMS, tmp_path / "f", labels_per_day=5) as fleet:
        fleet.take([events(["a", "b"], [0, 0], times=[1.7e9, 1.7e9 + DAY])])
        wrong = ['{"pick": 1e999}', '{"pick": "x"}', '{"pick": true}', '{"tell": [{}]}', '{"tell": [5]}']
        for found in answers(fleet, wrong):
            assert "error" in found or found.get("accuracy") is not None, found
