"""The simulated fleet: the same seed gives the same events, and what it says was true is true."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import fleet_simulator
import numpy as np
import pytest
from fleet_play import Plan, play
from fleet_traffic import Network

from tcuq import Log
from tcuq.io import write_log

HARD = ("--lost", "0.1", "--repeated", "0.1", "--delayed", "0.2", "--reboots", "0.02", "--start", "1.7e9")


def _log(sure: float, rows: int = 40) -> Log:
    probs = np.full((rows, 2), [sure, 1 - sure])
    return Log(probs, labels=np.arange(rows) % 2)


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def logs(tmp_path: Path) -> tuple[str, str]:
    write_log(tmp_path / "clean.npz", _log(0.9))
    rows = "".join(f"0.6,0.4,{number % 2}\n" for number in range(40))
    (tmp_path / "dark.csv").write_text("p0,p1,label\n" + rows)
    return str(tmp_path / "clean.npz"), str(tmp_path / "dark.csv")


def test_the_seed_decides_everything(logs: tuple[str, str], tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        out = tmp_path / f"{name}.jsonl"
        assert not fleet_simulator.main(
            [logs[0], "--devices", "9", "--steps", "30", "--seed", seed, "--out", str(out), *HARD]
        )
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2]


def test_truth_is_what_was_sent(logs: tuple[str, str], tmp_path: Path) -> None:
    out, truth = tmp_path / "events.jsonl", tmp_path / "truth"
    command = [logs[0], "--degraded", logs[1], "--devices", "20", "--steps", "50", *HARD]
    command += ["--degraded-share", "0.25", "--second-share", "0.5", "--versions", "v1,v2"]
    assert fleet_simulator.main([*command, "--out", str(out), "--truth", str(truth)]) == 0
    sent, devices, labels = _lines(out), _rows(truth / "devices.csv"), _rows(truth / "labels.csv")
    assert sum(row["degraded"] == "1" for row in devices) == 5
    assert sum(row["version"] == "v2" for row in devices) == 10
    assert len(labels) == 20 * 50
    by_place = {(row["device"], int(row["boot"]), int(row["seq"])): row for row in labels}
    assert len(by_place) == len(labels), "no place comes twice"
    since = {row["device"]: float(row["degraded_from"] or "inf") for row in devices}
    for event in sent:
        row = by_place[event["device"], event["boot"], event["seq"]]
        degraded = event["time"] >= since[event["device"]] - 0.001
        assert (row["degraded"] == "1") == degraded == (event["probs"] == [0.6, 0.4])
        assert row["version"] == event["version"]
    arrived = {(event["device"], event["boot"], event["seq"]) for event in sent}
    assert sum(int(row["lost"]) for row in devices) == len(labels) - len(arrived) > 0
    assert sum(int(row["repeated"]) for row in devices) == len(sent) - len(arrived) > 0
    # A new version comes with a boot of its own.
    boots: dict[tuple[str, int], set[str]] = {}
    for row in labels:
        boots.setdefault((row["device"], int(row["boot"])), set()).add(row["version"])
    assert {len(versions) for versions in boots.values()} == {1} and len(boots) > 30


def test_a_log_with_shifted_steps_is_both_logs() -> None:
    both = Log(np.repeat([[0.9, 0.1], [0.6, 0.4]], 30, axis=0), shifted=np.repeat([0, 1], 30))
    played = play(Plan(devices=8, steps=20, degraded_share=0.5), both)
    assert [log.probs[0].tolist() for log in played.logs[:2]] == [[0.9, 0.1], [0.6, 0.4]]
    turned = played.source.reshape(8, 20)
    assert (turned[:, -1] == 1).sum() == 4 and not turned[:, 0].any()
    assert (np.diff(turned, axis=1) >= 0).all(), "a device does not recover"


def test_arrivals_are_in_order_of_time_and_follow_the_pace() -> None:
    plan = Plan(devices=5, steps=10, period=1.0, network=Network(delayed=0.5, mean_delay=2.0))
    played = play(plan, _log(0.9))
    assert (np.diff(played.when) >= 0).all() and (played.when >= played.times[played.which]).all()
    assert len(np.concatenate(list(played.chunks(0, 7)))) == 50
    quick = list(played.chunks(100, 1000))
    assert np.array_equal(np.concatenate(quick), played.which) and len(quick) > 1


def test_tables_carry_the_order_of_arrival(logs: tuple[str, str], tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    lines, folder = tmp_path / "events.jsonl", tmp_path / "tables"
    command = [logs[0], "--devices", "6", "--steps", "20", "--chunk", "50", *HARD, "--out"]
    assert fleet_simulator.main([*command, str(lines)]) == fleet_simulator.main([*command, str(folder)]) == 0
    files = sorted(folder.iterdir())
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert len(files) > 1 and [row.pop("arrival") for row in rows] == list(range(len(rows)))
    assert rows == _lines(lines)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--degraded-share", "0.5"], "expected --degraded FILE"),
        (["--second-share", "0.5"], "expected two names"),
        (["--versions", "v1"], "expected two names"),
        (["--degraded", "/nonexistent.csv"], "/nonexistent.csv"),
    ],
)
def test_bad_options_are_one_line(
    options: list[str], says: str, logs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fleet_simulator.main([logs[0], "--out", str(tmp_path / "x.jsonl"), *options]) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
