"""`Fleet` and its folder: versions, what is refused, a full disk, readers, a second writer, states."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sqlite3
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import VERSIONS, Arrivals, folder_in_memory, outcome
from naive_fleet import rows_of
from refusals import refused
from streams import int8_stream

from tcuq import Monitor, Params
from tcuq_watch.engine import events as fleet_events
from tcuq_watch.fleet import Events, Fleet, requests, store

PARAMS = Params(classes=3, warmup=0)
STATE = namedtuple("STATE", "device state boot seq version")


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with folder_in_memory(tmp_path_factory.mktemp("fleet")) as folder:
        yield folder


def clean(devices: Any, seqs: Any, version: str | None = None, **options: Any) -> Events:
    probs, _ = int8_stream(500, 3, 0)
    at = (np.asarray(seqs) * 7) % 500
    return Events(devices, np.zeros(len(at), np.int64), seqs, probs[at], version=version, **options)


def small(folder: Path, **options: Any) -> Fleet:
    return Fleet(PARAMS, folder, **options)


def test_rolling_out_and_back(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    with Fleet({"v1": VERSIONS["v1"]}, folder) as fleet:
        fleet.take(clean(["a", "b"], [0, 0]))
    with Fleet(VERSIONS, folder) as fleet:
        assert fleet.remarks == []
        fleet.take([clean(["a"], [0], "v2"), clean(["b"], [1], VERSIONS["v1"].fingerprint)], position=7)
        kept = fleet.models["v2"].arrays()
    with Fleet({"v1": VERSIONS["v1"]}, folder) as fleet:
        assert fleet.remarks == [f"version 'v2' of {folder} is not given: it rests, its state is kept"]
        assert fleet.position == 7 and list(fleet.models) == ["v1"]
        fleet.take(clean(["c"], [0]))
        fleet.take(clean(["a"], [0], "v2"))
        assert fleet.refused == {"unknown version": 1}
    with Fleet(VERSIONS, folder) as fleet:
        found = fleet.models["v2"].arrays()
        assert all(found[name].tobytes() == kept[name].tobytes() for name in kept)
        assert fleet.models["v1"].devices == ["a", "b", "c"]
    assert set(Fleet.open_read(folder).models) == {"v1", "v2"}


def test_other_parameters_are_refused_with_what_to_do(tmp_path: Path) -> None:
    other = PARAMS.replace(budget=0.02)
    small(tmp_path / "f").close()
    with refused("conflict", "versions"):
        Fleet(other, tmp_path / "f")
    with refused("conflict"):
        Fleet({PARAMS.fingerprint: other}, tmp_path / "f")
    Fleet({"v1": PARAMS}, tmp_path / "named").close()
    Fleet(PARAMS, tmp_path / "named").close()
    with refused("conflict"):
        Fleet(PARAMS, tmp_path / "f", hold=16)
    with small(tmp_path / "f") as fleet:  # nothing of this left a lock or a change
        assert fleet.commit_number == 0
        with refused("busy", "folder"):
            small(tmp_path / "f")


def test_bad_arguments(tmp_path: Path) -> None:
    for params, hold in (({"a\n": PARAMS}, 8), ({"a": 3}, 8), (PARAMS, 0)):
        with refused("value"):
            Fleet(params, tmp_path / "f", hold=hold)  # type: ignore[arg-type]
    with refused("missing"):
        Fleet(None, tmp_path / "f")


def test_one_bad_row_loses_that_row_alone(tmp_path: Path) -> None:
    probs = np.full((12, 3), 1 / 3)
    probs[1] = np.nan
    probs[2] = [0.9, 0.9, 0.9]
    names: list[Any] = [f"d{k}" for k in range(12)]
    names[3], names[4], names[5], names[6] = "", "x" * 129, 17, ["list"]
    column = np.empty(12, dtype=object)
    column[:] = names
    boots, seqs = np.zeros(12, np.int64), np.zeros(12, np.int64)
    boots[7], seqs[8] = -2, 2**62
    times = np.full(12, 1.7e9)
    times[9], times[10] = np.inf, 1.7e12
    expected = {"bad number": 2, "bad posterior": 2, "bad name": 4, "bad time": 2}
    with small(tmp_path / "f") as fleet:
        [decided] = fleet.take(Events(column, boots, seqs, probs, times=times))
        assert decided.devices.tolist() == ["d0", "d9", "d10", "d11"]
        assert np.isnan(decided.times).tolist() == [False, True, True, False]
        assert fleet.refused == expected
        assert fleet.take(Events(["a"], [0], [0], [[0.5, 0.5]])) == []
        surrogate = Events(["\ud800"], [0], [0], [[0.5, 0.25, 0.25]])
        assert fleet.take(surrogate) == []
        expected |= {"wrong width": 1, "bad name": 5}
        assert fleet.refused == expected
        fleet.refuse("broken line", 3)
        fleet.commit()
    assert Fleet.open_read(tmp_path / "f").refused == expected | {"broken line": 3}


def test_folders_that_are_no_fleet(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with refused("exists"):
        small(tmp_path)
    with refused("missing"):
        Fleet.open_read(tmp_path)
    with refused("value"):
        small(tmp_path / "mine.txt")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.txt"]


CHANGES = {
    "layout": "PRAGMA user_version = 9",
    "head": "UPDATE head SET content = replace(content, 'commit\": 1', 'commit\": 0')",
    "flipped state": "UPDATE part SET content = CAST(substr(content, 1, 900) || 'X' || substr(content, 902) "
    "AS BLOB)",
    "no table": "DROP TABLE part",
}


@pytest.mark.parametrize("change", [*CHANGES, "short"])
def test_damage_is_refused_in_one_line(change: str, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    with small(folder) as fleet:
        fleet.take(clean(["a"], [0]))
    path = folder / store.DATABASE
    if change in CHANGES:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as sql:
            sql.execute(CHANGES[change])
    else:
        os.truncate(path, path.stat().st_size // 2)
    for opened in (small, Fleet.open_read):
        with pytest.raises((ValueError, OSError)) as caught:
            opened(folder)
        assert len(str(caught.value).splitlines()) == 1


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = Arrivals()
    monkeypatch.setattr(store, "ROLL", 60)  # so that there are files of decisions
    with Fleet(VERSIONS, tmp_path / "whole", hold=8) as whole:
        whole.take(events.some(0, 80), position=80)
        whole.take(events.some(80, 160), position=160)
    expected = outcome(tmp_path / "whole")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full_database(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    for number, what in enumerate(("database", "file", "database")):
        folder = tmp_path / str(number)
        with Fleet(VERSIONS, folder, hold=8) as fleet, monkeypatch.context() as patched:
            fleet.take(events.some(0, 80), position=80)
            if what == "database":
                patched.setattr(store.Store, "put_head", full_database)
            else:
                patched.setattr(store, "write_whole", full)
            with pytest.raises(OSError, match="nothing is lost") as caught:
                fleet.take(events.some(80, 160), position=160)
            assert caught.value.errno == errno.ENOSPC
            with pytest.raises(RuntimeError, match="has a commit that failed"):
                fleet.take(events.some(160, 170))
            with pytest.raises(OSError, match="No space left"):
                fleet.commit()
            patched.undo()
            if number < 2:
                assert fleet.commit() and fleet.position == 160
        if number >= 2:
            with Fleet(VERSIONS, folder, hold=8) as fleet:
                assert fleet.position == 80
                fleet.take(events.some(80, 160), position=160)
        assert outcome(folder) == expected, number


def test_an_error_in_the_middle_of_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small(tmp_path / "f") as fleet:
        fleet.take(clean(["a"], [0]), position=1)
        with refused("value", "position"):
            fleet.take(clean(["a"], [1]), position=object())
        model = fleet.models[PARAMS.fingerprint]
        monkeypatch.setattr(model.tallies, "update", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fleet.take(clean(["a"], [1]), position=2)
        for call in (lambda: fleet.take(clean(["a"], [2])), fleet.commit, fleet.flush):
            with pytest.raises(RuntimeError, match=r"not whole .* open the folder again"):
                call()
    with small(tmp_path / "f") as fleet:
        assert fleet.position == 1
        assert len(fleet.take(clean(["a"], [1]), position=2)[0]) == 1


def test_reading_while_another_process_writes(tmp_path: Path) -> None:
    folder, stop = tmp_path / "f", threading.Event()
    seqs, seen = np.repeat(np.arange(100), 3), []
    with small(folder) as fleet:
        fleet.take(clean(["a", "b", "c"], [0, 0, 0]), position=0)

        def read() -> None:
            while not stop.is_set():
                found = Fleet.open_read(folder)
                model = found.models[PARAMS.fingerprint]
                seen.append((found.position, model.places["seq"].tolist(), sum(map(len, found.decisions()))))

        reader = threading.Thread(target=read)
        reader.start()
        for at in range(1, 60):
            fleet.take(clean(["a", "b", "c"], seqs[3 * at : 3 * at + 3]), position=at)
        stop.set()
        reader.join()
    assert len(seen) > 1
    for position, places, decided in seen:
        assert places == [position] * 3 and decided == 3 * (position + 1)


def test_decisions_are_kept_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ROLL", 2)
    now = 1.7e9
    for keep, expected in (({}, 5), ({"keep_bytes": 0}, 0), ({"keep_days": 1.5}, 2)):
        folder = tmp_path / str(expected)
        with small(folder, clock=lambda: now + 4 * 86400, **keep) as fleet:
            for at in range(5):
                fleet.take(clean(["a", "b"], [at, at], times=[now + at * 86400 + 1] * 2))
            assert len(list(fleet.decisions())) == expected
            assert len(list((folder / "decisions").iterdir())) == expected
    read = pytest.importorskip("pyarrow.parquet").read_table
    [_, _, third, *_] = sorted((tmp_path / "5" / "decisions").iterdir())
    rows = read(third).to_pylist()
    assert [(row["device"], row["seq"], row["commit"]) for row in rows] == [("a", 2, 3), ("b", 2, 3)]
    later = [each.seqs.tolist() for each in Fleet.open_read(tmp_path / "5").decisions(first=4)]
    assert later == [[3, 3], [4, 4]]
    size = third.stat().st_size
    with small(tmp_path / "5", keep_bytes=int(2.5 * size)) as fleet:
        fleet.take(clean(["a", "b"], [5, 5]))
        assert [each.seqs[0] for each in fleet.decisions()] == [4, 5]


def test_decisions_wait_until_there_are_enough_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ROLL", 10)
    with small(tmp_path / "f", keep_events=True) as fleet:
        taken = [fleet.take(clean(["a", "b", "c"], [at] * 3, labels=[at % 3, -1, 2]))[0] for at in range(5)]
        assert len(list((tmp_path / "f" / "decisions").iterdir())) == 1
        kept = list(Fleet.open_read(tmp_path / "f").commits())
    assert [number for number, _ in kept] == [1, 2, 3, 4, 5]
    for one, (_, [other]) in zip(taken, kept, strict=True):
        assert rows_of(one) == rows_of(other)
        assert other.features is None and np.array_equal(one.probs, other.probs)
        assert one.labels.tolist() == other.labels.tolist()


def test_a_commit_costs_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGE", 1 << 30)
    names = [f"device-{k:05d}" for k in range(20_000)]
    with small(tmp_path / "f", keep_bytes=0) as fleet:
        fleet.take(clean(names, np.zeros(20_000, np.int64)))

        def sizes() -> list[int]:
            return [
                size for (size,) in fleet.store._sql.execute("SELECT length(content) FROM part ORDER BY id")
            ]

        [whole], written = sizes(), 0
        for at in range(64):
            fleet.take(clean(names[at : at + 1], [1]))
            written += sizes()[-1]
        assert sizes()[0] == whole and written < 0.2 * whole
        assert len(sizes()) == 65, "events alone, until states are less"
        for _ in range(12):
            fleet.take(clean(names[:64], fleet.models[PARAMS.fingerprint].places["seq"][:64] + 1))
        assert sizes()[0] == whole and len(sizes()) < 12
        monkeypatch.setattr(store, "JOURNALS", 20)
        for at in range(200, 20_000, 200):
            fleet.take(clean(names[at : at + 200], [1] * 200))
            assert len(sizes()) < 32
    with small(tmp_path / "f") as fleet:
        places = fleet.models[PARAMS.fingerprint].places
        assert int(places["seq"].sum()) == 64 * 13 + 20_000 - 200


def device(steps: int, seed: int = 0) -> tuple[Any, Monitor]:
    probs, _ = int8_stream(steps, 3, 0, seed=seed)
    return probs, Monitor(PARAMS)


def test_the_state_of_a_device_is_taken_over(tmp_path: Path) -> None:
    probs, monitor = device(60)
    steps = np.asarray(monitor.run(probs[:40]))
    state = monitor.save()
    rest = np.asarray(monitor.run(probs[40:]))
    with small(tmp_path / "f") as fleet:
        lost = Events(["a"] * 20, [0] * 20, np.arange(20), probs[:20])
        fleet.take(lost)
        fleet.take(Events(["a"] * 3, [0] * 3, [30, 41, 40], probs[[30, 41, 40]]))
        [decided] = fleet.adopt("a", state, 0, 39, position="p")
        assert decided.seqs.tolist() == [30, 40, 41] and fleet.position == "p"
        assert decided.steps["risk"].tolist()[1:] == rest["risk"].tolist()[:2] and len(steps) == 40
        place = fleet.models[PARAMS.fingerprint].places[0]
        assert place["missing"] == 19 and place["seq"] == 41 and place["held"] == 0
        assert fleet.take(Events(["a"], [0], [35], probs[35:36])) == []
        assert fleet.models[PARAMS.fingerprint].places[0]["late"] == 1
        [more] = fleet.take(Events(["a"] * 18, [0] * 18, np.arange(42, 60), probs[42:]))
        assert more.steps["risk"].tolist() == rest["risk"].tolist()[2:]
        bank = fleet.models[PARAMS.fingerprint].bank
        assert bank.save_many([0])[0].tobytes() == monitor.save()
    with small(tmp_path / "f") as fleet:
        assert fleet.models[PARAMS.fingerprint].bank.save_many([0])[0].tobytes() == monitor.save()


def test_states_that_are_refused(tmp_path: Path) -> None:
    probs, monitor = device(20)
    monitor.run(probs)
    good = monitor.save()
    damaged = bytes([*good[:50], good[50] ^ 1, *good[51:]])
    other = Monitor(PARAMS.replace(budget=0.02)).save()
    with small(tmp_path / "f") as fleet:
        fleet.take(Events(["a"] * 20, [0] * 20, np.arange(20), probs))
        model = fleet.models[PARAMS.fingerprint]
        before = {name: array.tobytes() for name, array in model.arrays().items() if name != "refused"}
        for state, seq, version, code in (
            (damaged, 25, None, "damaged"),
            (other, 25, None, "damaged"),
            (good[:-1], 25, None, "value"),
            (good, 18, None, "conflict"),
            (good, 30, "v9", "unknown"),
        ):
            with refused(code):
                fleet.adopt("a", state, 0, seq, version)
        assert {n: a.tobytes() for n, a in model.arrays().items() if n != "refused"} == before
        assert fleet.refused == {"unknown version": 1, "bad state": 3, "old state": 1}
        # In the middle of a batch they stop nothing.
        items = [STATE("a", damaged, 0, 25, None), STATE("b", good, 3, 8, None), STATE("b", good, 3, 8, "v9")]
        [decided] = fleet.take([*items, Events(["b"], [3], [9], probs[:1])], position=1)
        assert decided.seqs.tolist() == [9]
        assert fleet.refused == {"unknown version": 2, "bad state": 4, "old state": 1}


def test_more_devices_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "devices=2")
    state = Monitor(PARAMS).save()
    with small(tmp_path / "f") as fleet:
        fleet.take(clean(["a", "b", "c", "c", "a"], [0, 0, 0, 1, 1]))
        assert fleet.refused == {"too many devices": 2}
        with refused("limit"):
            fleet.adopt("d", state, 0, 3)
        fleet.adopt("a", state, 0, 3)
    assert Fleet.open_read(tmp_path / "f").refused["too many devices"] == 2


def test_a_list_of_devices_holds_for_those_that_are_there(tmp_path: Path) -> None:
    probs, monitor = device(4)
    with small(tmp_path / "f") as fleet:
        fleet.take(Events(["a", "b"], [0, 0], [0, 0], probs[:2]))
    with small(tmp_path / "f", devices=["b"]) as fleet:
        [decided] = fleet.take(Events(["a", "b"], [0, 0], [1, 1], probs[2:4]))
        assert decided.devices.tolist() == ["b"] and fleet.refused == {"unknown device": 1}
        with refused("unknown"):
            fleet.adopt("a", monitor.save(), 0, 5)


def test_decisions_of_devices_are_ordered_counted_and_kept(tmp_path: Path) -> None:
    probs, monitor = device(30)
    steps = np.asarray(monitor.run(probs))
    seqs = np.array([*range(10), *range(11, 30), 10])
    with small(tmp_path / "f") as fleet:
        [decided] = fleet.take(Events(["a"] * 30, [0] * 30, seqs, steps=steps[seqs]), position=1)
        assert decided.seqs.tolist() == [*range(10), *range(11, 30)]
        assert np.array_equal(decided.steps["risk"], steps["risk"][decided.seqs])
        assert fleet.take(clean(["a"], [30])) == []
        assert fleet.refused == {"posteriors among decisions": 1}
        with refused("value"):
            fleet.adopt("a", monitor.save(), 0, 40)
    with small(tmp_path / "f") as fleet:
        model = fleet.models[PARAMS.fingerprint]
        assert model.by_device and model.tallies.devices["steps"].tolist() == [29]
        assert [each.seqs.tolist() for each in fleet.decisions()] == [decided.seqs.tolist()]


def test_arrays_that_do_not_fit_are_refused() -> None:
    halves = np.full((2, 2), 0.5)
    whole: dict[str, Any] = {"devices": ["a", "b"], "boots": [0, 0], "seqs": [0, 0], "probs": halves}
    wrong = {"devices": [["a"]], "boots": [0.5, 1], "seqs": [0], "probs": halves[:1], "times": [1.0]}
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
    with contextlib.closing(store.exchange(fleet.folder)) as sql:
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


def test_a_commit_is_on_the_disk_and_nobody_writes_in_between(tmp_path: Path) -> None:
    with small(tmp_path / "f") as fleet, contextlib.closing(store.exchange(tmp_path / "f")) as other:
        other.execute("PRAGMA busy_timeout = 0")
        for sql in (fleet.store._sql, other):
            assert sql.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: not only after a checkpoint
        with fleet.store.commit():
            fleet.store.marks()  # what was read must still hold when it is written
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("INSERT INTO request (id, time, asked) VALUES ('x', 0, '{}')")
            fleet.store.put_marks([(1, 2, 3.0)])
        assert fleet.store.marks() == {1: 2}


@pytest.mark.parametrize("by_device", [False, True])
def test_events_of_a_commit_give_the_states_again(tmp_path: Path, by_device: bool) -> None:
    """Also of events that are held, of devices that came later, and of decisions that devices made."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 400).astype(np.float32)
    steps = Monitor(PARAMS).run(probs)
    with small(tmp_path / "f", hold=8) as fleet:
        [model] = fleet.models.values()
        for at in range(40):
            names = [f"d{number}" for number in rng.integers(0, 3 + at, 10)]
            seqs = at + rng.integers(0, 4, 10)
            rows = slice(10 * at, 10 * at + 10)
            content = {"steps": steps[rows]} if by_device else {"probs": probs[rows]}
            fleet.take(Events(names, [0] * 10, seqs, times=1.7e9 + seqs, **content))
        parts = [content for (content,) in fleet.store._sql.execute("SELECT content FROM part")]
        assert sum(b'"places", "<i8", [3, 10]' in content for content in parts) > 5
        assert model.places["held"].sum() > 5
        expected = model.arrays()
    with small(tmp_path / "f") as fleet:
        [model] = fleet.models.values()
        found = model.arrays()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(found[name].view(np.uint8), array.view(np.uint8)), name
