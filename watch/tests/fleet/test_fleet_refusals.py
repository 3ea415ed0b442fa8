# SPDX-License-Identifier: MIT
"""Input and requests that a fleet refuses: each is counted or told in one line, and nothing else is lost."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import folder_in_memory
from refusals import refused

from tcuq import Params
from tcuq_watch.engine import events as fleet_events
from tcuq_watch.fleet import Events, Fleet, requests
from tcuq_watch.fleet.store import exchange

PARAMS = Params(classes=3, warmup=0)


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with folder_in_memory(tmp_path_factory.mktemp("refusals")) as folder:
        yield folder


PROBS = np.full((2, 2), 0.5)


def test_arrays_that_do_not_fit_are_refused() -> None:
    whole: dict[str, Any] = {"devices": ["a", "b"], "boots": [0, 0], "seqs": [0, 0], "probs": PROBS}
    wrong = {"devices": [["a"]], "boots": [0.5, 1], "seqs": [0], "probs": PROBS[:1], "times": [1.0]}
    for name, values in wrong.items():
        with refused("value"):
            Events(**whole | {name: values})
    with refused("missing"):
        Events(**whole | {"probs": None})


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
        assert "--labels-per-day" in told[-1]["error"]
        with refused("missing"):
            fleet.labels(3)
    with refused("missing"):
        requests.ask(folder, {"pick": None})


def test_a_file_system_without_locks_is_not_taken_for_a_second_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", flock)
    with refused("unsupported"):
        Fleet(PARAMS, tmp_path / "f")


@pytest.mark.parametrize("name", ["decisions", "fleet.sqlite", "LOCK"])
def test_a_link_in_the_folder_of_a_fleet_destroys_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    pytest.importorskip("fcntl")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("kept")
    for folder in (tmp_path / "old", tmp_path / "new"):
        folder.mkdir()
        if folder.name == "old":
            Fleet(PARAMS, folder).close()
            place = folder / name
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        (folder / name).symlink_to(outside if name == "decisions" else outside / "theirs")
        with refused("unsupported"):
            Fleet(PARAMS, folder)
        assert [each.name for each in outside.iterdir()] == ["theirs"]
        assert (outside / "theirs").read_text() == "kept"
