"""Simulated events for a fleet on Spark, and what models say of them without Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_traffic import Network, traffic

from tcuq import Params
from tcuq_watch.engine.events import Decided, Events, joined
from tcuq_watch.engine.model_version import ModelVersion

SHARDS = 8


def need_spark() -> None:
    """Skip a test where Spark cannot run."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    for package in ("pyspark", "pandas", "pyarrow"):
        pytest.importorskip(package, reason=f"{package} is not installed")


def simulated(devices: int = 200, steps: int = 60, seed: int = 1) -> tuple[Params, Events]:
    """Return events with duplicates, late and missing ones and reboots, in the order of arrival."""
    clean = np.random.default_rng(seed).dirichlet(np.full(10, 0.3), 2000).astype(np.float32)
    network = Network(lost=0.03, repeated=0.05, delayed=0.1, mean_delay=120.0, reboots=0.005)
    params = Params(classes=10, warmup=4, reference=0.3, names=[f"class-{each}" for each in range(10)])
    return params, traffic(clean, devices=devices, steps=steps, network=network, seed=seed).events


def table(events: Events, which: Any) -> Any:
    """Return events as an Arrow table with their place in the order of arrival."""
    import pyarrow

    return pyarrow.table(
        {
            "device": events.devices[which].tolist(),
            "boot": events.boots[which],
            "seq": events.seqs[which],
            "time": events.times[which],
            "probs": list(events.probs[which]),
            "arrival": np.arange(len(events))[which],
        }
    )


def write_files(folder: Path, events: Events, count: int, seed: int = 0) -> None:
    """Write files in the order of arrival; inside a file rows are shuffled, as Spark may do."""
    import pyarrow.parquet

    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for number, which in enumerate(np.array_split(np.arange(len(events)), count)):
        path = folder / f"{number:04d}.parquet"
        pyarrow.parquet.write_table(table(events, rng.permutation(which)), path)
        os.utime(path, (1e9 + number, 1e9 + number))  # Spark takes files by their time


def expected(params: Params, events: Events, parts: Iterable[Any]) -> Decided:
    """Return what a model says of events that it takes in some parts."""
    model = ModelVersion(params.fingerprint, params)
    found = [model.take(events.some(part)) for part in parts]
    assert min(model.places[name].sum() for name in ("missing", "late", "duplicates", "reboots", "held")) > 0
    return joined(found)


def same(found: Any, wanted: Decided) -> None:
    """Check that a data frame holds these decisions, to the bit, once each, in any order."""
    from tcuq_watch.spark import _frame

    place = ["version", "device", "boot", "seq"]
    want = _frame(wanted).sort_values(place).reset_index(drop=True)
    got = found.sort_values(place).reset_index(drop=True)
    assert len(got) == len(want) > 0 and list(got.columns) == list(want.columns)
    for name in want.columns:
        left, right = got[name].to_numpy(), want[name].to_numpy()
        if right.dtype.kind == "f":
            left, right = left.view(np.uint64), right.view(np.uint64)
        assert (left == right).all(), name
