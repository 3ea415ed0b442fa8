"""One table of events, through every way in: the same decisions, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_traffic import Network, traffic
from live_runs import kept
from streams import int8_stream

from tcuq import Params
from tcuq.cli import main
from tcuq_watch import Fleet, watch
from tcuq_watch.engine.events import Events, joined
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.live.session import DEVICE, Session
from tcuq_watch.sources.opening import open_source

PARAMS = Params(classes=4, warmup=0)
MESSY = Network(lost=0.05, repeated=0.05, delayed=0.2, mean_delay=60.0, reboots=0.02)


def table(numbered: str) -> list[dict[str, Any]]:
    """Return what arrives of one device: with boots, with numbers alone, or with neither."""
    probs, _ = int8_stream(400, 4, 0, seed=3)
    events = traffic(probs, devices=1, steps=300, network=MESSY, seed=1).events
    rows = []
    for boot, seq, row in zip(
        events.boots.tolist(), events.seqs.tolist(), events.probs.tolist(), strict=True
    ):
        place = {"boot": {"boot": boot, "seq": seq}, "seq": {"seq": seq}, "neither": {}}[numbered]
        rows.append({"device": DEVICE, "probs": row, **place})
    return rows


def said(decided: Any) -> list[Any]:
    names = ("risk", "threshold", "answer", "abstain", "alarm")
    columns = [decided.boots, decided.seqs, *(decided.steps[name] for name in names)]
    return [each.tolist() for each in columns]


@pytest.mark.parametrize("numbered", ["boot", "seq", "neither"])
def test_every_way_in_decides_alike(numbered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    rows = table(numbered)
    Path("events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = [np.array([row.get(name, -1) for row in rows]) for name in ("boot", "seq")]
    events = Events([DEVICE] * len(rows), *columns, np.array([row["probs"] for row in rows], np.int8))
    model = ModelVersion("v", PARAMS)
    expected = said(joined([model.take(events), model.flush()]))
    assert len(expected[0]) > 200

    assert main(["fleet", "run", "m.json", "events.jsonl", "--folder", "run", "--flush", "--batch", "7"]) == 0
    session = Session(PARAMS, "live", "events.jsonl", hold=8)
    source = open_source("events.jsonl", folder=Path("live"), device=DEVICE)
    session.run(source, lambda: False)
    session.fleet.flush()
    session.close()
    halves = slice(0, 50), slice(50, None)
    ways = {
        "fleet run": kept(Path("run")),
        "live": kept(Path("live")),
        "watch": joined(list(watch(PARAMS, rows, "watched"))),
        "a table": joined(list(watch(PARAMS, [events.some(some) for some in halves], "table"))),
    }
    for name, found in ways.items():
        assert said(found) == expected, name
    with Fleet.open_read("run") as fleet:
        places = fleet.models[PARAMS.fingerprint].places
        assert (int(places["reboots"][0]) > 0) == (numbered != "neither")
