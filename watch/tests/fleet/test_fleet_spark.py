"""A fleet on Spark gives what a fleet in one process gives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from spark_events import SHARDS, need_spark, same, simulated, write_files
from spark_stream import SCHEMA
from spark_stream import session as make_session

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Events, joined
from tcuq_watch.fleet import Fleet, ModelVersion
from tcuq_watch.spark import PROVIDER, decide_stream, decide_table, models

# PySpark and Py4J warn of their own affairs.
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

FILES = 6


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    need_spark()
    made = make_session(tmp_path_factory.mktemp("spark"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Params, Events, Path]:
    params, events = simulated(devices=60, steps=50)
    folder = tmp_path_factory.mktemp("events") / "in"
    write_files(folder, events, FILES)
    return params, events, folder


def streamed(spark: Any, source: Path, out: Path, params: Any, files: int = 1, **options: Any) -> Any:
    """Return decisions on a folder of files as a pandas data frame."""
    schema = options.pop("schema", SCHEMA)
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(source))
    decisions = decide_stream(events, params, **options)
    writer = decisions.writeStream.format("parquet").option("path", str(out / "decisions"))
    writer = writer.option("checkpointLocation", str(out / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return spark.read.parquet(str(out / "decisions")).toPandas()


@pytest.mark.parametrize(("files", "shards"), [(1, SHARDS), (FILES, 3)])
def test_a_stream_is_a_fleet_however_it_is_batched(
    files: int, shards: int, spark: Any, simulation: tuple[Params, Events, Path], tmp_path: Path
) -> None:
    params, events, source = simulation
    with Fleet(params, tmp_path / "fleet") as fleet:
        wanted = [
            decided
            for part in np.array_split(np.arange(len(events)), 4)
            for decided in fleet.take(events.some(part))
        ]
        same(streamed(spark, source, tmp_path, params, files, shards=shards), joined(wanted))
        kept = models(spark, str(tmp_path / "checkpoint"), params)
        assert len(kept) == shards
        for name in ("received", "missing", "late", "duplicates", "reboots", "held"):
            there = sum(model.places[name].sum() for model in kept)
            assert there == sum(model.places[name].sum() for model in fleet.models.values()) > 0


def test_a_table_is_taken_by_place_to_its_end(
    spark: Any, simulation: tuple[Params, Events, Path], tmp_path: Path
) -> None:
    params, events, source = simulation
    found = decide_table(spark.read.parquet(str(source)), params, shards=5).toPandas()
    order = np.lexsort([np.arange(len(events)), events.seqs, events.boots])
    model = ModelVersion(params.fingerprint, params)
    wanted = joined([model.take(events.some(order)), model.flush()])
    same(found, wanted)
    places = {*zip(events.devices.tolist(), events.boots.tolist(), events.seqs.tolist(), strict=True)}
    assert len(found) == len(places), "each once, none late"


def test_a_checkpoint_of_other_shards_or_hold_is_refused(
    spark: Any, simulation: tuple[Params, Events, Path], tmp_path: Path
) -> None:
    params, events, _ = simulation
    source = tmp_path / "in"
    write_files(source, events.some(slice(200)), 1)
    streamed(spark, source, tmp_path, params, shards=2)
    more = tmp_path / "more"
    write_files(more, events.some(slice(200, 400)), 1)
    os.replace(more / "0000.parquet", source / "0001.parquet")
    from pyspark.errors import StreamingQueryException

    for options in ({"shards": 3}, {"shards": 2, "hold": 16}):
        with pytest.raises(StreamingQueryException, match="expected 2 and 8, with which the checkpoint"):
            streamed(spark, source, tmp_path, params, **options)


def test_versions_bad_rows_and_states(spark: Any, tmp_path: Path) -> None:
    """What cannot be taken is counted and stops nothing; a device's own state replaces the server's."""
    import pyarrow
    import pyarrow.parquet

    params = {name: Params(classes=3, warmup=0, reference=each) for name, each in (("v1", 0.3), ("v2", 0.4))}
    probs = np.random.default_rng(3).dirichlet(np.ones(3), 40)
    ahead = Monitor(params["v1"])
    ahead.run(probs[:6])
    rows: list[dict[str, Any]] = []

    def add(device: str | None, seq: int | None, version: str | None, **more: Any) -> None:
        rows.append(
            {"device": device, "boot": 0, "seq": seq, "version": version, "arrival": len(rows), **more}
        )

    for seq in range(3):
        add("a", seq, "v1", probs=probs[seq].tolist())
        add("a", seq, params["v2"].fingerprint, probs=probs[seq].tolist())
    add("a", 5, "v1", state=ahead.save())
    add("a", 4, "v1", probs=probs[4].tolist())  # late
    add("a", 6, "v1", probs=probs[6].tolist())
    add("a", 6, "v1", state=b"no state")
    add("b", 0, "v3", probs=probs[0].tolist())
    add("b", 0, None, probs=probs[0].tolist())
    add("b", 0, "v1", probs=None)
    add("b", 0, "v1", probs=[0.9, 0.9, 0.9])
    add("b", None, "v1", probs=probs[0].tolist())
    add(None, 0, "v1", probs=probs[0].tolist())
    add("b", 0, "v1", probs=probs[0].tolist())
    types = pyarrow.schema(
        {"device": "string", "version": "string"} | dict.fromkeys(("boot", "seq", "arrival"), "int64")
    )
    types = types.append(pyarrow.field("probs", pyarrow.list_(pyarrow.float64())))
    types = types.append(pyarrow.field("state", "binary"))
    (tmp_path / "in").mkdir()
    for number, part in enumerate((rows[:6], rows[6:])):
        path = tmp_path / "in" / f"{number}.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(part, schema=types), path)
        os.utime(path, (1e9 + number, 1e9 + number))
    schema = (
        "device string, boot long, seq long, version string, arrival long, probs array<double>, state binary"
    )
    found = streamed(spark, tmp_path / "in", tmp_path, params, shards=2, schema=schema)
    found = found.set_index(["version", "device", "seq"]).sort_index()
    places = [("v1", "a", seq) for seq in (0, 1, 2, 6)] + [("v1", "b", 0)]
    assert found.index.tolist() == places + [("v2", "a", seq) for seq in range(3)]
    assert found.loc["v1", "a", 6]["risk"] == ahead.run(probs[6:7])["risk"][0]
    assert found.loc["v2", "a", 2]["risk"] == Monitor(params["v2"]).run(probs[:3])["risk"][2]
    assert found["time"].isna().all()
    kept = models(spark, str(tmp_path / "checkpoint"), params)
    counts = sum((model.refused for model in kept), Counter())
    assert counts == {"wrong width": 1, "bad posterior": 1, "bad number": 1, "bad name": 1, "bad state": 1}
    table = decide_table(spark.read.schema(schema).parquet(str(tmp_path / "in")), params, shards=2).toPandas()
    # By place, the state comes after all that it makes late.
    assert sorted(table["seq"][table["version"] == "v1"]) == [0, 0, 1, 2, 4, 6]
    state = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
    unknown = state.select("key.version", "value.groupState.unknown").where("unknown > 0").collect()
    assert sorted((row["version"] or "", row["unknown"]) for row in unknown) == [("", 1), ("v3", 1)]


def test_bad_use_is_refused(spark: Any, simulation: tuple[Params, Events, Path]) -> None:
    params, _, source = simulation
    frame = spark.read.parquet(str(source))
    stream = spark.readStream.schema(SCHEMA).parquet(str(source))
    for code, act in (
        ("missing", lambda: decide_table(frame.drop("seq"), params)),
        ("value", lambda: decide_table(frame.withColumn("probs", frame["time"]), params)),
        ("value", lambda: decide_stream(frame, params)),
        ("value", lambda: decide_table(stream, params)),
    ):
        with refused(code):
            act()
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with refused("conflict"):
            decide_stream(stream, params)
    finally:
        spark.conf.set(PROVIDER, before)
