"""A fleet on Spark: events in, decisions out, as a stream that survives kills or as a batch job.

Devices are spread over shards by a hash of their name. A shard is a `ModelVersion`, the same engine as in
`Fleet`; its state is one value in Spark's RocksDB state store. docs/SPARK.md says how to choose the number
of shards, and in which order events are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, needed, wrong_type
from tcuq.monitor.params import Params
from tcuq.monitor.steps import STEP_DTYPE, step_columns

from .engine.events import Decided, Events, joined
from .engine.model_version import ModelVersion
from .engine.order import BRIDGE, HOLD
from .engine.packing import pack_arrays, unpack_arrays

__all__ = ["DECISIONS", "SETTINGS", "decide_stream", "decide_table", "models"]

Versions = Params | Mapping[str, Params]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"

SETTINGS = {
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # A commit uploads what changed, not every file of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""What a session for `decide_stream` is built with."""

_TYPES = {"f": "double", "i": "int", "u": "int", "b": "boolean"}

_STEPS = {name: _TYPES[STEP_DTYPE[name].kind] for name in STEP_DTYPE.names or ()} | {"reason": "string"}

DECISIONS = "version string, device string, boot bigint, seq bigint, time double, " + ", ".join(
    f"{name} {kind}" for name, kind in _STEPS.items()
)
"""Columns of decisions: whose, which, and all that `Monitor.run` says; an unknown accuracy or time is NaN."""

STATE = "model binary, unknown bigint"  # of a shard: its model, or the rows of a version that nobody knows
MADE_WITH = "made_with"  # among the arrays of a model: shards and hold, which its content depends on
COLUMNS = {"boot": "bigint", "seq": "bigint", "time": "double", "arrival": "bigint", "state": "binary"}
NO_NUMBER = -2  # in place of a boot or seq that is none: it is refused and counted


def decide_stream(
    df: Any, params: Versions, *, shards: int = 64, hold: int = HOLD, bridge: int = BRIDGE
) -> Any:
    """Return decisions on a stream of events, each at most once, as `Fleet` gives them, to be appended.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A streaming data frame with the columns of docs/SPARK.md: `device`, `boot`, `seq`, `probs` and more.
    params : Params or mapping of them
        One set, or several by the name of their version.
    shards : int, default 64
        Over how many models a version's devices are spread. It cannot change while a checkpoint is in use.
    hold, bridge : int, default 8 and 16
        As of `Fleet`.

    Examples
    --------
    >>> decisions = decide_stream(events, Params.load("monitor.json"))  # doctest: +SKIP
    >>> writer = decisions.writeStream.outputMode("append").format("parquet")  # doctest: +SKIP
    >>> query = writer.option("checkpointLocation", "checkpoint").start("decisions")  # doctest: +SKIP
    """
    provider = df.sparkSession.conf.get(PROVIDER, "")
    if "RocksDB" not in provider:
        problem = f"{PROVIDER} is {provider!r}, expected RocksDB"
        raise InputError("conflict", f"{problem}; build the session with tcuq_watch.spark.SETTINGS")
    if not df.isStreaming:
        raise InputError("value", "df is a table, expected a stream; decide_table takes tables")
    job = _Job(params, shards, hold=hold, bridge=bridge)
    return job.grouped(df).applyInPandasWithState(job.stream, DECISIONS, STATE, "append", "NoTimeout")


def decide_table(df: Any, params: Versions, *, shards: int = 64, bridge: int = BRIDGE) -> Any:
    """Return decisions on a whole table; of rows of the same (boot, seq) the first by `arrival` is taken.

    Parameters
    ----------
    df, params, bridge
        As of `decide_stream`; `df` is not streaming.
    shards : int, default 64
        Groups that the devices of a version are split into. Each is one call in the memory of one worker.

    Examples
    --------
    >>> events = spark.read.parquet("events.parquet")  # doctest: +SKIP
    >>> decide_table(events, Params.load("monitor.json")).write.parquet("decisions")  # doctest: +SKIP
    """
    if df.isStreaming:
        raise InputError("value", "df is a stream, expected a table; decide_stream takes streams")
    job = _Job(params, shards, bridge=bridge)
    # Spark counts the arguments, and a method has one more.
    return job.grouped(df).applyInPandas(lambda key, frame: job.table(key, frame), DECISIONS)


def models(session: Any, checkpoint: str, params: Versions) -> list[ModelVersion]:
    """Return the models of a stream as its last commit left them, for `summarize`, about 300 bytes a device.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session, or another one that sees the checkpoint.
    checkpoint, params
        Folder that the query has as `checkpointLocation`, and what `decide_stream` was given.

    Examples
    --------
    >>> summarize(models(spark, "checkpoint", Params.load("monitor.json")))  # doctest: +SKIP
    """
    job = _Job(params)
    state = session.read.format("statestore").load(str(checkpoint))
    rows = state.select("key.version", "value.groupState.model").where("model is not null").collect()
    restored = (job.model(row["version"], bytes(row["model"])) for row in rows)
    return [model for model in restored if model is not None]


def _needed(module: str) -> Any:
    return needed(module, "pyspark 'pandas<3'", "a fleet on Spark")


class _Job:
    """What workers do. It travels to them, and holds no state of devices."""

    def __init__(self, params: Versions, shards: int | None = None, **options: int):
        if not isinstance(params, Params) and (not isinstance(params, Mapping) or not params):
            raise wrong_type("params", params, "Params or versions by name")
        self.params = {params.fingerprint: params} if isinstance(params, Params) else dict(params)
        self.options: dict[str, Any] = options
        self.shards = None if shards is None else integer("shards", shards, 1, 2**31 - 1)

    def grouped(self, df: Any) -> Any:
        """Return the columns that are read, of fixed types, by version and shard."""
        sql = _needed("pyspark.sql.functions")
        if missing := {"device", "boot", "seq", "probs"}.difference(df.columns):
            expected = "expected device, boot, seq and probs"
            raise InputError("missing", f"df has no column {min(missing)!r}, {expected}")
        version = sql.lit(next(iter(self.params)) if len(self.params) == 1 else None).cast("string")
        if "version" in df.columns:
            named = sql.col("version").cast("string")
            # Beside its name, the fingerprint of a version; an unknown one stays as it is, and is counted.
            version = sql.coalesce(named, version)
            for name, params in self.params.items():
                if params.fingerprint not in self.params:
                    version = sql.when(named == params.fingerprint, sql.lit(name)).otherwise(version)
        shard = sql.pmod(sql.xxhash64("device"), sql.lit(self.shards)).cast("int")
        held = [name for name in ("probs", "features", "gauges", "time") if name in df.columns]
        columns = {"version": version, "shard": shard, "device": sql.col("device").cast("string")}
        # What is no number is null, and counted, instead of an end of the query.
        columns |= {name: sql.col(name).try_cast(COLUMNS[name]) for name in COLUMNS if name in df.columns}
        columns |= {name: _numbers(df, name) for name in held if name != "time"}
        columns |= {"content": sql.xxhash64(*held)}
        return df.select(*(column.alias(name) for name, column in columns.items())).groupBy(
            "version", "shard"
        )

    def stream(self, key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        """Take one shard's rows of a micro-batch."""
        content, unknown = state.get if state.exists else (None, 0)
        model = self.model(key[0], None if content is None else bytes(content))
        if model is None:
            state.update((None, unknown + sum(len(frame) for frame in frames)))
            return
        decided = run_rows(model, _needed("pandas").concat(list(frames), ignore_index=True), by_arrival=True)
        made_with = np.array([self.shards, self.options["hold"]])
        state.update((pack_arrays(model.arrays() | {MADE_WITH: made_with}), 0))
        if len(decided):
            yield _frame(decided)

    def table(self, key: tuple[Any, ...], frame: Any) -> Any:
        """Take all of one shard's rows."""
        model = self.model(key[0], None)
        if model is None:
            return _needed("pandas").DataFrame()
        return _frame(joined([run_rows(model, frame, by_arrival=False), model.flush()]))

    def model(self, version: str | None, state: bytes | None) -> ModelVersion | None:
        """Return a shard's model, None for a version that nobody knows."""
        if version is None or version not in self.params:
            return None
        if state is None:
            return ModelVersion(version, self.params[version], **self.options)
        arrays = unpack_arrays(state)
        shards, hold = arrays.pop(MADE_WITH).tolist()
        options = {"hold": hold} | self.options
        if self.shards not in (shards, None) or options["hold"] != hold:
            problem = f"shards={self.shards}, hold={options['hold']}, expected {shards} and {hold}"
            raise InputError("conflict", f"{problem}, with which the checkpoint was made")
        return ModelVersion.restored(version, self.params[version], [arrays], **options)


def _numbers(df: Any, name: str) -> Any:
    """Return posteriors or features as they are if they are int8, else as doubles, which loses nothing."""
    sql, kind = _needed("pyspark.sql.functions"), df.schema[name].dataType.simpleString()
    if not kind.startswith("array<"):
        raise InputError("value", f"column {name!r} of df is {kind}, expected a list of numbers")
    if kind != "array<tinyint>":
        return sql.col(name).try_cast("array<double>")
    # A list that lacks a number would turn all of them into floats.
    return sql.when(~sql.exists(sql.col(name), lambda number: number.isNull()), sql.col(name))


def run_rows(model: ModelVersion, frame: Any, by_arrival: bool) -> Decided:
    """Take rows of a shard; what no array can hold is counted in `model.refused` and left out."""
    seqs, boots, arrival = (
        frame[name].to_numpy(dtype=np.int64, na_value=missing) if name in frame else np.zeros(len(frame))
        for name, missing in (("seq", NO_NUMBER), ("boot", NO_NUMBER), ("arrival", -1))
    )
    devices = frame["device"].to_numpy(dtype=object)
    hands_over = frame["state"].notna().to_numpy() if "state" in frame else np.zeros(len(frame), dtype=bool)
    probs, good = _table(frame["probs"], model.params.classes)
    more: dict[str, Any] = {}
    gauges, seen, bad = None, np.zeros(len(good), dtype=bool), np.zeros(len(good), dtype=bool)
    if "features" in frame and model.params.features:
        more["features"], fit = _table(frame["features"], model.params.features)
        good &= fit
    sight = model.params.sight
    if "gauges" in frame and sight is not None and sight.gauges:
        gauges, seen = _table(frame["gauges"], len(sight.gauges))
        bad = good & ~seen & frame["gauges"].notna().to_numpy()
        model.refused["bad gauges"] += int(bad.sum())
    if "time" in frame:
        more["times"] = frame["time"].to_numpy(dtype=np.float64, na_value=np.nan)
    good |= hands_over
    model.refused["wrong width"] += int((~good).sum())
    good &= hands_over | ~bad
    # The last key counts most. Rows of the same place are told apart by what they hold, so that a batch that
    # is run again gives the same, in whatever order Spark hands out its rows.
    keys = (seqs, boots, arrival) if by_arrival else (arrival, seqs, boots)
    order = np.lexsort([frame["content"].to_numpy(), hands_over, *keys])
    order = order[good[order]]

    def take(which: npt.NDArray[np.int64]) -> Decided:
        # An input has all gauges or none: rows of each kind go in together.
        runs = np.split(which, np.flatnonzero(np.diff(seen[which])) + 1)
        parts = []
        for run in runs:
            some = {name: column[run] for name, column in more.items()}
            if gauges is not None and seen[run].any():
                some["gauges"] = gauges[run]
            parts.append(model.take(Events(devices[run], boots[run], seqs[run], probs[run], **some)))
        return joined(parts)

    # What a device's own monitor hands over takes effect between two events.
    parts, start = [], 0
    for stop in np.flatnonzero(hands_over[order]).tolist():
        row = order[stop]
        parts.append(take(order[start:stop]))
        with suppress(ValueError):  # a state that is refused is counted there
            state = bytes(frame["state"].iloc[row])
            parts.append(model.adopt(devices[row], state, int(boots[row]), int(seqs[row])))
        start = stop + 1
    return joined([*parts, take(order[start:])])


def _table(column: Any, width: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return lists as a table, and which of them are as wide as it; others are zeros."""
    lists = column.to_numpy(dtype=object)
    fit = np.fromiter((row is not None and len(row) == width for row in lists), bool, len(lists))
    rows = np.concatenate([*lists[fit], np.zeros(0, np.int8)]).reshape(-1, width)
    table = np.zeros((len(lists), width), dtype=rows.dtype)
    table[fit] = rows
    return table, fit


def _frame(decided: Decided) -> Any:
    """Return decisions as a pandas data frame of the columns `DECISIONS`."""
    columns: dict[str, Any] = {
        "version": np.full(len(decided), decided.version, dtype=object),
        "device": decided.devices,
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": decided.times,
        **step_columns(np.asarray(decided.steps)),
    }
    texts = ("version", "device", "reason")  # Spark cannot send all that pandas makes of them
    return _needed("pandas").DataFrame(columns).astype(dict.fromkeys(texts, object))
