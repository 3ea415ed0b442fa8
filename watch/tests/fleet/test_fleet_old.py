"""Folders of earlier versions open, and fleets go on in them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from places import ROOT

from tcuq import Monitor, Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.engine.tallies import _OLD_DTYPE
from tcuq_watch.fleet import Events, Fleet

OLD = ROOT / "vectors" / "old" / "0.3"


def test_a_folder_of_0_3_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    """Devices still name the fingerprint that they were built with."""
    params = Params.load(OLD / "paper" / "params.json")
    told = json.loads((OLD / "paper" / "steps.json").read_text())
    rest = slice(told["cut"], len(told["labels"]))
    probs, features = (
        np.frombuffer(bytes.fromhex(told[name]), np.int8).reshape(rest.stop, -1)[rest]
        for name in ("probs", "features")
    )
    for folder in ("states", "decisions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "fleet.sqlite").write_bytes(gzip.decompress((OLD / "fleet.sqlite.gz").read_bytes()))
    seqs = np.arange(rest.start, rest.stop)
    with Fleet(params, tmp_path) as fleet:
        assert fleet.remarks == [] and list(fleet.models) == [params.old_fingerprint]
        for device, version in (("a", params.old_fingerprint), ("b", params.fingerprint)):
            events = Events([device] * len(seqs), 0 * seqs, seqs, probs, features, version=version)
            risk = np.concatenate([part.steps["risk"] for part in fleet.take(events)])
            assert np.round(risk * 65536).tolist() == told["steps"]["risk"][rest]
        assert not fleet.refused


def test_decisions_that_0_3_held_back_are_released() -> None:
    """Their rows are shorter: they say neither an action nor what moved."""
    params = Params(classes=3, warmup=0)
    steps = Monitor(params).run(np.random.default_rng(0).dirichlet(np.ones(3), 8))
    steps["alarm"][6], steps["action"][6] = 1, 2
    model, seqs = ModelVersion("v", params, hold=8), np.arange(8)

    def events(which: slice) -> Events:
        some = seqs[which]
        return Events(["a"] * len(some), 0 * some, some, steps=steps[which])

    model.take(events(slice(0, 2)))
    model.take(events(slice(5, 8)))
    arrays = model.rows(np.arange(1))
    assert arrays["held_rows"].shape == (3, 11 + STEP_DTYPE.itemsize)
    arrays["held_rows"] = arrays["held_rows"][:, : 11 + 72].copy()
    arrays["held_rows"][:, -2:] = 7  # no field of 0.3 lay there
    arrays["devices"] = arrays["devices"].view(_OLD_DTYPE)
    again = ModelVersion.restored("v", params, [arrays], ["a"], hold=8)
    found = np.concatenate(
        [np.asarray(part.steps) for part in (again.take(events(slice(2, 5))), again.flush())]
    )
    for name in ("risk", "abstain", "low_mass", "action", "changed", "moved"):
        assert found[name].tolist() == steps[name][2:].tolist()
