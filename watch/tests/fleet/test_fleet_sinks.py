"""A run: the disk has a batch before its source and a sink hear of it, and a sink gets what it lacks."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Decided
from tcuq_watch.fleet import Fleet, store
from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import decision_lines
from tcuq_watch.fleet.store import Store
from tcuq_watch.sources.files import FileSource

PARAMS = Params(classes=2)


def feed(path: Path, first: int, count: int) -> None:
    with path.open("a") as file:
        for seq in range(first, first + count):
            file.write(json.dumps({"device": "a", "boot": 0, "seq": seq, "probs": [0.25, 0.75]}) + "\n")


class Killed(BaseException):
    pass


class Breaks:
    """Remembers decisions by commit, as a disk would; dies before, or after, its n-th ones."""

    def __init__(self, kept: dict[int, list[int]], at: int = 0, after: bool = False) -> None:
        self.kept, self.at, self.after, self.count = kept, at, after, 0

    def begin(self, last: int) -> int:
        return max((number for number in self.kept if number <= last), default=0)

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        self.count += 1
        if self.count == self.at and not self.after:
            raise Killed
        self.kept[number] = [seq for part in decided for seq in part.seqs.tolist()]
        if self.count == self.at:
            raise Killed


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 3])
def test_a_kill_at_any_commit_leaves_a_sink_each_decision_once(tmp_path: Path, after: bool, at: int) -> None:
    kept: dict[int, list[int]] = {}
    feed(tmp_path / "e.jsonl", 0, 20)
    with pytest.raises(Killed), Fleet(PARAMS, tmp_path / "fleet") as fleet:
        run(fleet, FileSource(tmp_path / "e.jsonl"), Breaks(kept, at, after), count=5)
    feed(tmp_path / "e.jsonl", 20, 3)
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        run(fleet, FileSource(tmp_path / "e.jsonl"), Breaks(kept), count=5)
    assert [seq for number in sorted(kept) for seq in kept[number]] == list(range(23))


def test_lines_hold_all_of_a_step_and_its_exact_fractions() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    steps = Monitor(Params(classes=3, warmup=0, names=("x", "y", "z"))).run(probs)
    times = np.where(np.arange(50) % 2, np.nan, 1.5)
    names = np.array(["ä\u2028"] * 50, dtype=object)
    decided = Decided("v1", names, np.zeros(50, int), np.arange(50), times, steps)
    rows = [json.loads(line) for line in decision_lines(decided)]
    exact = np.round(steps["risk"] * 65536).astype(int).tolist()
    assert [round(row["risk"] * 65536) for row in rows] == exact
    assert [row["answer_name"] for row in rows] == [("x", "y", "z")[answer] for answer in steps["answer"]]
    assert rows[0]["time"] == 1.5 and rows[1]["time"] is None and rows[0]["device"] == "ä\u2028"
    assert set(steps.dtype.names or ()) < set(rows[0])


class Acknowledging(FileSource):
    """Looks at the disk whenever it hears that a batch is committed."""

    def __init__(self, path: Path, folder: Path) -> None:
        super().__init__(path)
        self.folder, self.seen = folder, 0

    def committed(self, arrived: Any) -> None:
        self.seen += arrived.count
        with Fleet.open_read(self.folder) as looked:
            assert sum(map(len, looked.decisions())) == self.seen
        super().committed(arrived)


def test_a_source_hears_of_a_batch_after_the_disk_has_it(tmp_path: Path, monkeypatch: Any) -> None:
    """A broker that is acknowledged before the commit does not send again what a kill then loses."""
    feed(tmp_path / "e.jsonl", 0, 20)
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        source = Acknowledging(tmp_path / "e.jsonl", tmp_path / "fleet")
        run(fleet, source, count=5)
        assert source.seen == 20
        feed(tmp_path / "e.jsonl", 20, 5)

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Store, "put_head", full)
        with pytest.raises(OSError):
            run(fleet, source, count=5)
        assert source.seen == 20


def test_decisions_that_were_taken_away_are_noticed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(store, "ROLL", 5)
    feed(tmp_path / "e.jsonl", 0, 20)
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        run(fleet, FileSource(tmp_path / "e.jsonl"), count=5)
    taken, *_ = sorted((tmp_path / "fleet" / "decisions").iterdir())
    taken.unlink()
    with Fleet.open_read(tmp_path / "fleet") as looked, refused("missing"):
        list(looked.commits())
