"""Folders of earlier versions open, and fleets go on in them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from places import ROOT

from tcuq import Params
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
