"""Decisions of a monitor that sees its input: what to do and what moved, in every format."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frame_writing import encode_decisions
from streams import SEEN, same_steps, seeing_params, seen_log

from tcuq import Monitor, Steps, moved_name, step_columns
from tcuq.cli import main
from tcuq.io import Decisions, read_decisions, write_decisions, write_log
from tcuq.io.binary_frames import DecisionsFrame, Decoder

PARAMS = seeing_params()
LOG = seen_log(PARAMS)
BELOW = "sharpness far below the clean log"


@pytest.fixture(scope="module")
def steps() -> Steps:
    found: Steps = Monitor(PARAMS).run(LOG)
    assert {"act", "ask", "hold"} == {*step_columns(found)["action"].tolist()}
    return found


def test_what_moved_is_said_in_words(steps: Steps) -> None:
    table = steps.to_pandas()
    assert table["moved_name"].iloc[-1] == BELOW == moved_name(129, PARAMS.sight)
    assert (table["moved_name"] == "").equals(table["moved"] == 255)
    names = [moved_name(code, PARAMS.sight) for code in (0, 2, 130, 3, 254, 255)]
    assert names[0] == "brightness far above the clean log" and names[4:] == ["frozen input", ""]
    assert names[1].startswith("outputs") and names[2].startswith("outputs") and "input" in names[3]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz", "parquet"])
def test_every_format_keeps_action_and_what_moved(kind: str, steps: Steps, tmp_path: Path) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"d.{kind}"
    write_decisions(path, Decisions(steps, sight=PARAMS.sight))
    assert same_steps(read_decisions(path).steps, steps)
    if kind in ("csv", "jsonl"):
        assert BELOW in path.read_text() and "hold" in path.read_text()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
def test_files_of_0_3_tell_no_action_and_load(kind: str, steps: Steps, tmp_path: Path) -> None:
    path, gone = tmp_path / f"d.{kind}", {"action", "changed", "moved"}
    write_decisions(path, Decisions(steps))
    if kind == "npz":
        with np.load(path) as arrays:
            np.savez(path, **{name: arrays[name] for name in arrays if name not in gone})
    elif kind == "jsonl":
        rows = map(json.loads, path.read_text().splitlines())
        path.write_text("\n".join(json.dumps({k: v for k, v in r.items() if k not in gone}) for r in rows))
    else:
        lines = [line.split(",") for line in path.read_text().splitlines()]
        kept = [place for place, name in enumerate(lines[0]) if name not in gone]
        path.write_text("\n".join(",".join(line[place] for place in kept) for line in lines))
    found = read_decisions(path).steps
    assert found["action"].tolist() == steps["action"].tolist()
    assert not found["changed"].any() and (found["moved"] == 255).all()


def test_frames_of_a_device_bring_what_moved(steps: Steps) -> None:
    encoded = encode_decisions(7, 1, 0, np.asarray(steps), 4, 0, sight=True)
    found = Decoder().push(encoded)
    assert all(isinstance(frame, DecisionsFrame) for frame in found)
    assert same_steps(np.concatenate([frame.steps for frame in found]), steps)  # type: ignore[union-attr]
    plain = encode_decisions(7, 1, 0, np.asarray(steps), 4, 0)
    blind = np.concatenate([frame.steps for frame in Decoder().push(plain)])  # type: ignore[union-attr]
    assert blind["action"].tolist() == steps["action"].tolist() and (blind["moved"] == 255).all()
    assert len(encoded) - len(plain) < 0.3 * len(steps), "a bit a calm step, two a changed one"


def live(monkeypatch: Any, capsys: Any, place: Path, lines: list[Any]) -> tuple[list[Any], str]:
    text = "\n".join(map(json.dumps, lines)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["run", str(place / "m.json"), "-"]) == 0
    out, err = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def test_run_reads_gauges_of_files_and_of_live_rows(
    steps: Steps, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    PARAMS.save(tmp_path / "m.json")
    turned = replace(LOG, gauges=LOG.gauges[:, ::-1], gauge_names=SEEN[::-1])  # by name, in any order
    write_log(tmp_path / "in.npz", turned)
    out = tmp_path / "d.csv"
    assert main(["run", str(tmp_path / "m.json"), str(tmp_path / "in.npz"), "-o", str(out), "--quiet"]) == 0
    assert same_steps(read_decisions(out).steps, steps) and BELOW in out.read_text()
    assert capsys.readouterr().err == ""
    rows = [
        {"probs": probs.tolist(), "gauges": gauges.astype(float).tolist()}
        for probs, gauges in zip(turned.probs, turned.gauges, strict=True)
    ]
    found, said = live(monkeypatch, capsys, tmp_path, [{"gauge_names": SEEN[::-1]}, *rows])
    names = step_columns(steps, None, PARAMS.sight)
    for key in ("action", "changed", "moved", "moved_name"):
        assert [row[key] for row in found] == names[key].tolist()
    assert said == ""
    blind, said = live(monkeypatch, capsys, tmp_path, [{"probs": row["probs"]} for row in rows])
    assert len(blind) == 400 and "sees the outputs alone" in said
