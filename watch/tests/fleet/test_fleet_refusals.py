# SPDX-License-Identifier: MIT
"""Input and requests that a fleet refuses: each is counted or told in one line, and nothing else is lost."""

from __future__ import annotations

import contextlib
import io
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import folder_in_memory
from refusals import refused
from streams import int8_stream

from tcuq import Params
from tcuq.io import Limits
from tcuq_watch.engine import events as fleet_events
from tcuq_watch.engine.events import joined
from tcuq_watch.fleet import Events, Fleet, requests
from tcuq_watch.fleet.store import exchange
from tcuq_watch.sources.arrivals import Bad, BatchBuilder, seconds
from tcuq_watch.sources.event_lines import StandardInput
from tcuq_watch.sources.files import FileSource, open_source

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


PROBS = np.full((2, 2), 0.5)
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "devices": (
        lambda: Events([["a"]], [0], [0], PROBS[:1]),
        ValueError,
        "devices have 2 dimensions, expected a list of names",
    ),
    "boots": (
        lambda: Events(["a", "b"], [0.5, 1], [0, 0], PROBS),
        ValueError,
        r"boots are float64 \(2,\), expected 2 integers",
    ),
    "seqs": (
        lambda: Events(["a", "b"], [0, 1], [0], PROBS),
        ValueError,
        r"seqs are int64 \(1,\), expected 2",
    ),
    "probs": (
        lambda: Events(["a"], [0], [0], PROBS),
        ValueError,
        "probs have 2 rows, expected 1, one an event",
    ),
    "times": (
        lambda: Events(["a", "b"], [0, 0], [0, 1], PROBS, times=[1.0]),
        ValueError,
        r"times have the shape \(1,\), expected \(2,\)",
    ),
    "nothing": (lambda: joined([]), ValueError, "nothing to join"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_do_not_fit_are_named(name: str) -> None:
    act, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        act()


def test_what_a_line_may_hold_and_what_not() -> None:
    rows = BatchBuilder(Bad(), "test")
    rows.add_json(row("a", 0, features=[0.5, 1.5]))
    for kind in ("state", "state of a number"):
        rows.add_line(
            json.dumps({"device": "a", "seq": 1, "state": 5 if "number" in kind else "?"}).encode(), kind
        )
    [part] = rows.flush(None).parts
    assert part.events[0].features is not None and part.events[0].features.tolist() == [[0.5, 1.5]]
    assert rows.bad.counts == {"state": 2}
    assert math.isnan(seconds(10**400)) and seconds(7) == 7.0


def test_events_behind_a_state_of_their_device_are_a_part_of_their_own() -> None:
    rows = BatchBuilder(Bad(), "test")
    rows.add_json({"device": "a", "seq": 4, "state": "c3RhdGU="})
    rows.add_events(events(["b"], [0]))
    rows.add_events(events([], []))
    rows.add_events(events(["a"], [5]))
    first, second = rows.flush(None).parts
    assert [each.devices.tolist() for each in first.events] == [["b"]] and len(first.states) == 1
    assert [each.devices.tolist() for each in second.events] == [["a"]] and not second.states


class Feed(io.RawIOBase):
    """A standard input that gives one part after another, and then waits or breaks."""

    def __init__(self, parts: list[bytes], end: Callable[[], bytes]) -> None:
        self.parts, self.end = parts, end

    def read(self, most: int = -1) -> bytes:
        return self.parts.pop(0) if self.parts else self.end()


def test_standard_input_that_is_slow_long_or_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = threading.Event()

    def broken() -> bytes:
        wait.wait(10)
        raise OSError(5, "Input/output error")

    lines = [json.dumps(row("a", seq)).encode() + b"\n" for seq in range(3)]
    source = StandardInput(Feed([lines[0], b"x" * (Limits().line + 2) + b"\n", *lines[1:]], broken))  # type: ignore[arg-type]
    seen = []
    for arrived in source.batches(None, 100, 0.02):
        seen.append(arrived)
        if None in seen:
            wait.set()  # nothing came for a while, which is told too
    assert sum(each.count for each in seen if each is not None) == 3
    assert source.ended and source.bad.counts == {"long line": 1}
    monkeypatch.setattr("sys.stdin", None)
    with refused("missing"):
        open_source("-", Path("unused"), False)


def test_a_sum_at_the_edge_of_the_tolerance_costs_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the quick look takes and the core refuses is refused alone."""
    probs = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.2], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])
    monkeypatch.setattr(fleet_events, "odd_sums", lambda rows: np.zeros(len(rows), dtype=bool))
    given = Events(["a"] * 4, [0] * 4, [0, 1, 2, 3], probs)
    good, _, refused = fleet_events.checked(PARAMS, given, math.inf)
    assert good.tolist() == [0, 2, 3] and refused == {"bad posterior": 1}


def test_lists_of_a_table_in_every_form(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def read(name: str, **columns: Any) -> tuple[Any, Bad]:
        base = {"device": ["a", "b", "c"], "seq": [0, 1, 2], **columns}
        parquet.write_table(arrow.table(base), tmp_path / f"{name}.parquet")
        source = FileSource(tmp_path / f"{name}.parquet")
        arrived = [each for each in source.batches(None, 10, 0.05) if each is not None]
        return [each for one in arrived for part in one.parts for each in part.events], source.bad

    int8 = arrow.array([[-128, 127], [0, 0], [127, -128]], arrow.list_(arrow.int8(), 2))
    [found], bad = read("fixed", probs=int8)
    assert found.probs.dtype == np.int8 and found.probs.tolist()[0] == [-128, 127] and not bad.counts
    ragged = arrow.array([[-128, 127], [0, 1], [-128, -128, 127]], arrow.list_(arrow.int64()))
    found, bad = read("ragged", probs=ragged)
    assert [(each.probs.dtype.kind, each.probs.tolist()) for each in found] == [
        ("i", [[-128, 127]]),
        ("f", [[0.0, 1.0]]),  # a one-hot row is certain, and no int8
        ("i", [[-128, -128, 127]]),
    ]
    wide = arrow.array([[1, 2], [3, 4], [500, 6]], arrow.list_(arrow.int64()))
    found, _ = read("features", probs=int8, features=wide)
    assert [each.features.dtype.kind for each in found] == ["i", "f"]
    dates = arrow.array([0, 86_400_000, None], arrow.date64())
    found, _ = read("dates", probs=int8, time=dates)
    assert [each.times is None or each.times.tolist() for each in found] == [[0.0, 86400.0], True]
    found, bad = read("text", probs=int8, boot=["x", "y", "z"])
    assert not found and bad.counts == {"boot": 3}
    found, bad = read("no probs", label=[0, 0, 0])
    assert not found and "column 'probs' is missing, expected a list a row" in bad.first["unreadable file"]
    found, bad = read("a gap", p0=[0.5] * 3, p2=[0.5] * 3)
    assert not found and list(bad.counts) == ["unreadable file"]
    devices = arrow.array(["a", "b", "a"]).dictionary_encode()
    parquet.write_table(
        arrow.table({"device": devices, "seq": [0, 0, 1], "probs": int8}), tmp_path / "coded.parquet"
    )
    [one] = [each for each in FileSource(tmp_path / "coded.parquet").batches(None, 10, 0.05) if each]
    assert one.parts[0].events[0].devices.tolist() == ["a", "b", "a"]


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
