"""Decisions as files: exactly once, whatever was killed where."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_stand_in import StandInFleet, places
from refusals import refused

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Decided
from tcuq_watch.fleet import Fleet, store
from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import FileSink, decision_lines, open_sink
from tcuq_watch.fleet.store import Store
from tcuq_watch.sources.files import FileSource


def feed(path: Path, first: int, count: int) -> None:
    with path.open("a") as file:
        for seq in range(first, first + count):
            file.write(json.dumps({"device": "a", "boot": 0, "seq": seq, "probs": [0.25, 0.75]}) + "\n")


def read(out: Path) -> list[tuple[str, int, int]]:
    rows: list[dict[str, Any]] = []
    for path in sorted(each for each in out.iterdir() if not each.name.startswith(".")):
        if path.suffix == ".parquet":
            import pyarrow.parquet as parquet

            rows += parquet.read_table(path).to_pylist()
        else:
            rows += [json.loads(line) for line in path.read_text().splitlines()]
    return [(row["device"], row["boot"], row["seq"]) for row in rows]


class Killed(BaseException):
    pass


class Breaks(FileSink):
    """Dies before, or after, its n-th file is written."""

    def __init__(self, *args: Any, at: int, after: bool) -> None:
        super().__init__(*args)
        self.at, self.after, self.count = at, after, 0

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        self.count += 1
        if self.count == self.at and not self.after:
            raise Killed
        super().write(number, decided)
        if self.count == self.at:
            raise Killed


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_kill_at_any_file_leaves_each_decision_once(
    tmp_path: Path, format: str, after: bool, at: int
) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is missing (extra tables)")
    feed(tmp_path / "e.jsonl", 0, 20)
    folder, out = tmp_path / "fleet", tmp_path / "out"
    with pytest.raises(Killed):
        sink = Breaks(out, folder, format, at=at, after=after)
        run(StandInFleet(folder), FileSource(tmp_path / "e.jsonl"), sink, count=5)
    (out / ".tcuq.half").write_text("what a kill left")
    feed(tmp_path / "e.jsonl", 20, 3)
    fleet = StandInFleet(folder)
    run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, format), count=5)
    assert read(out) == places(fleet) == [("a", 0, seq) for seq in range(23)]
    assert not (out / ".tcuq.half").exists()


def test_files_of_commits_that_did_not_happen_are_removed(tmp_path: Path) -> None:
    feed(tmp_path / "e.jsonl", 0, 4)
    folder, out = tmp_path / "fleet", tmp_path / "out"
    fleet = StandInFleet(folder)
    run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "jsonl"))
    (out / "00000099.jsonl").write_text('{"device": "ghost", "boot": 0, "seq": 0}\n')
    run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "jsonl"))
    assert read(out) == [("a", 0, seq) for seq in range(4)]


def test_a_folder_belongs_to_one_fleet(tmp_path: Path) -> None:
    FileSink(tmp_path / "out", tmp_path / "one", "jsonl").begin(0)
    with refused("conflict"):
        FileSink(tmp_path / "out", tmp_path / "two", "jsonl").begin(0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "00000001.jsonl").write_text("something of the user")
    with refused("exists"):
        FileSink(tmp_path / "mine", tmp_path / "one", "jsonl").begin(0)
    with refused("value"):
        open_sink(str(tmp_path / "out.parquet"), tmp_path, "parquet")
    with refused("conflict"):
        open_sink(str(tmp_path / "one" / "decisions"), tmp_path / "one", "jsonl")
    with refused("value", "format"):
        FileSink(tmp_path / "out", tmp_path / "one", "csv")


def test_lines_hold_all_of_a_step_and_its_exact_fractions() -> None:
    steps = Monitor(Params(classes=3, warmup=0, names=("x", "y", "z"))).run(
        np.random.default_rng(0).dirichlet(np.ones(3), 50)
    )
    times = np.where(np.arange(50) % 2, np.nan, 1.5)
    decided = Decided(
        "v1", np.array(["ä\u2028"] * 50, dtype=object), np.zeros(50, int), np.arange(50), times, steps
    )
    rows = [json.loads(line) for line in decision_lines(decided)]
    assert [round(row["risk"] * 65536) for row in rows] == np.round(steps["risk"] * 65536).astype(
        int
    ).tolist()
    assert [row["answer_name"] for row in rows] == [("x", "y", "z")[answer] for answer in steps["answer"]]
    assert rows[0]["time"] == 1.5 and rows[1]["time"] is None and rows[0]["device"] == "ä\u2028"
    assert set(steps.dtype.names or ()) < set(rows[0])


def test_another_format_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is missing (extra tables)")
    feed(tmp_path / "e.jsonl", 0, 4)
    folder, out = tmp_path / "fleet", tmp_path / "out"
    fleet = StandInFleet(folder)
    run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "jsonl"))
    with refused("conflict"):
        run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "parquet"))
    feed(tmp_path / "e.jsonl", 4, 1)
    run(fleet, FileSource(tmp_path / "e.jsonl"), open_sink(str(out), folder))  # as those that are there
    assert read(out) == [("a", 0, seq) for seq in range(5)]


def test_a_fleet_that_was_begun_anew_leaves_old_decisions_alone(tmp_path: Path) -> None:
    feed(tmp_path / "e.jsonl", 0, 20)
    folder, out = tmp_path / "fleet", tmp_path / "out"
    run(StandInFleet(folder), FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "jsonl"), count=5)
    before = read(out)
    shutil.rmtree(folder)
    fleet = StandInFleet(folder)
    with refused("conflict"):
        run(fleet, FileSource(tmp_path / "e.jsonl"), FileSink(out, folder, "jsonl"))
    assert read(out) == before and len(before) == 20 and fleet.position is None


class Acknowledging(FileSource):
    """Looks at the disk whenever it hears that a batch is committed."""

    def __init__(self, path: Path, folder: Path) -> None:
        super().__init__(path)
        self.folder, self.seen = folder, 0

    def committed(self, arrived: Any) -> None:
        self.seen += arrived.count
        with Fleet.open_read(self.folder) as looked:
            assert sum(len(part) for _, parts in looked.commits() for part in parts) == self.seen
        super().committed(arrived)


def test_a_source_hears_of_a_batch_after_the_disk_has_it(tmp_path: Path, monkeypatch: Any) -> None:
    """A broker that is acknowledged before the commit does not send again what a kill then loses."""
    feed(tmp_path / "e.jsonl", 0, 20)
    with Fleet(Params(classes=2), tmp_path / "fleet") as fleet:
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
    folder, params = tmp_path / "fleet", Params(classes=2)
    with Fleet(params, folder) as fleet:
        run(fleet, FileSource(tmp_path / "e.jsonl"), count=5)
    taken, *_ = sorted((folder / "decisions").iterdir())
    taken.unlink()
    with Fleet.open_read(folder) as looked, refused("missing"):
        list(looked.commits())
