"""A fleet on Spark: events in, decisions out, as a stream that survives kills or as a batch job.

Devices are spread over shards by a hash of their name. A shard is a `ModelVersion`, the same engine as in
`Fleet`; its state is one value in Spark's RocksDB state store. docs/SPARK.md says how to choose the number
of shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, needed, wrong_type
from tcuq.monitor.params import Params
from tcuq.monitor.steps import STEP_DTYPE, Steps, step_columns

from .engine.events import Decided, joined
from .engine.model_version import ModelVersion
from .engine.order import BRIDGE, HOLD
from .engine.packing import pack_arrays, unpack_arrays
from .spark_rows import ShardRows

__all__ = ["DECISIONS", "SETTINGS", "by_device", "decide_stream", "decide_table", "models", "summary"]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"

SETTINGS = {
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # A commit uploads what changed, not every file of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""What a session for `decide_stream` is built with."""

_STEP_TYPES = {"f": "double", "i": "int", "u": "int", "b": "boolean"}

DECISIONS = ", ".join(
    ["version string", "device string", "boot bigint", "seq bigint", "time double"]
    + [
        f"{name} {'string' if name == 'reason' else _STEP_TYPES[STEP_DTYPE[name].kind]}"
        for name in STEP_DTYPE.names or ()
    ]
)
"""Columns of decisions: whose, which, and all that `Monitor.run` says; an unknown accuracy or time is NaN."""

STATE = "lane binary, unknown bigint"
"""Of a shard: its model, or how many rows of a version that nobody knows."""


MADE_WITH = "made_with"
"""Among the arrays of a model: shards and hold, which its content depends on."""


def decide_stream(
    df: Any,
    params: Params | Mapping[str, Params],
    *,
    shards: int = 64,
    hold: int = HOLD,
    bridge: int = BRIDGE,
) -> Any:
    """Return decisions on a stream of events, each at most once, as `Fleet` gives them.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A streaming data frame with the columns `device`, `boot`, `seq` and `probs` (a list a row), and where
        there are any `features` (a list a row), `time` (seconds since 1970, or a timestamp), `version`,
        `arrival` and `state`. A row with a `state` hands over what a device's own monitor saved after (boot,
        seq); its `probs` are not read.
    params : Params or mapping of them
        One set, or several by the name of their version.
    shards : int, default 64
        Over how many models a version's devices are spread. It cannot change while a checkpoint is in use.
    hold : int, default 8
        As of `Fleet`.
    bridge : int, default 16
        As of `Fleet`.

    Returns
    -------
    pyspark.sql.DataFrame
        With the columns `DECISIONS`, to be written in the mode "append".

    Notes
    -----
    Spark does not keep the order of rows. Each micro-batch is put in order here: by `arrival` if there is
    such a column, then by (boot, seq). `arrival` is any integer that grows for each device, such as Kafka's
    offset where the device is the key. The decisions are then those of `Fleet` on events in the order of
    `arrival`, however they fall into micro-batches. Without it, the order inside a micro-batch is (boot,
    seq): what is late within a micro-batch is put right and what is late beyond it is held or dropped, so
    that the decisions depend on where micro-batches begin. In both cases a restart repeats a micro-batch
    exactly.

    Examples
    --------
    >>> decisions = decide_stream(events, Params.load("monitor.json"))  # doctest: +SKIP
    >>> writer = decisions.writeStream.outputMode("append").format("parquet")  # doctest: +SKIP
    >>> query = writer.option("checkpointLocation", "checkpoint").start("decisions")  # doctest: +SKIP
    """
    provider = df.sparkSession.conf.get(PROVIDER, "")
    if "RocksDB" not in provider:
        raise InputError(
            "conflict",
            f"{PROVIDER} is {provider!r}, expected RocksDB; build the session with tcuq_watch.spark.SETTINGS",
        )
    if not df.isStreaming:
        raise InputError("value", "df is a table, expected a stream; decide_table takes tables")
    job = _Job(_versions(params), hold, bridge, shards)
    grouped = _prepared(df, job.params, shards).groupBy("version", "shard")
    return grouped.applyInPandasWithState(job.stream, DECISIONS, STATE, "append", "NoTimeout")


def decide_table(
    df: Any,
    params: Params | Mapping[str, Params],
    *,
    shards: int = 64,
    bridge: int = BRIDGE,
) -> Any:
    """Return decisions on a whole table of events.

    Events of a device are taken by (boot, seq), whatever their order in the table. Of rows of the same place
    the first by `arrival` is taken.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        As of `decide_stream`, but not streaming.
    params : Params or mapping of them
        One set, or several by the name of their version.
    shards : int, default 64
        Groups that the devices of a version are split into. Each is one call in the memory of one worker.
    bridge : int, default 16
        As of `Fleet`.

    Returns
    -------
    pyspark.sql.DataFrame
        With the columns `DECISIONS`.

    Examples
    --------
    >>> events = spark.read.parquet("events.parquet")  # doctest: +SKIP
    >>> decide_table(events, Params.load("monitor.json")).write.parquet("decisions")  # doctest: +SKIP
    """
    if df.isStreaming:
        raise InputError("value", "df is a stream, expected a table; decide_stream takes streams")
    job = _Job(_versions(params), HOLD, bridge, shards)
    grouped = _prepared(df, job.params, shards).groupBy("version", "shard")
    # Spark counts the arguments, and a method has one more.
    return grouped.applyInPandas(lambda key, frame: job.table(key, frame), DECISIONS)


def models(
    session: Any,
    checkpoint: str,
    params: Params | Mapping[str, Params],
    *,
    hold: int = HOLD,
    bridge: int = BRIDGE,
) -> list[ModelVersion]:
    """Return the models of a stream as its last commit left them, one a version and shard.

    `summarize` takes them as it takes those of a `Fleet`. They are collected into this process: about 300
    bytes a device.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session, or another one that sees the checkpoint.
    checkpoint : str
        Folder that the query has as `checkpointLocation`. The query may run meanwhile.
    params : Params or mapping of them
        As `decide_stream` was given them.
    hold : int, default 8
        As `decide_stream` was given it.
    bridge : int, default 16
        As `decide_stream` was given it.

    Returns
    -------
    list of ModelVersion
        One for each version and shard.

    Examples
    --------
    >>> from tcuq_watch.verdicts.summary import summarize  # doctest: +SKIP
    >>> found = summarize(models(spark, "checkpoint", Params.load("monitor.json")))  # doctest: +SKIP
    """
    job = _Job(_versions(params), hold, bridge, None)
    kept = (
        session.read.format("statestore").load(str(checkpoint)).select("key.version", "value.groupState.lane")
    )
    rows = kept.where("lane is not null").collect()
    found = (job.model(row["version"], bytes(row["lane"])) for row in rows)
    return [model for model in found if model is not None]


def _versions(params: Params | Mapping[str, Params]) -> dict[str, Params]:
    if isinstance(params, Params):
        return {params.fingerprint: params}
    if not isinstance(params, Mapping) or not params:
        raise wrong_type("params", params, "Params or versions by name")
    return dict(params)


def _prepared(df: Any, params: Mapping[str, Params], shards: int) -> Any:
    """Return the columns that jobs read, of fixed types, and `version` and `shard`."""
    functions = needed("pyspark.sql.functions", "tcuq-watch[spark]", "a fleet on Spark")
    integer("shards", shards, 1, 2**31 - 1)
    there = set(df.columns)
    missing = [name for name in ("device", "boot", "seq", "probs") if name not in there]
    if missing:
        raise InputError("missing", f"df has no column {missing[0]!r}, expected device, boot, seq and probs")
    only = next(iter(params)) if len(params) == 1 else None
    version = functions.lit(only).cast("string")
    if "version" in there:
        told = functions.col("version").cast("string")
        # Beside its name, the fingerprint of a version; an unknown one stays as it is, and is counted.
        version = functions.coalesce(told, version)
        for name, each in params.items():
            print_ = each.fingerprint
            if print_ not in params:
                version = functions.when(told == print_, functions.lit(name)).otherwise(version)
    columns = [
        version.alias("version"),
        functions.pmod(functions.xxhash64("device"), functions.lit(shards)).cast("int").alias("shard"),
        functions.col("device").cast("string").alias("device"),
    ]
    # What is no number is null, and counted, instead of an end of the query.
    columns += [functions.col(name).try_cast("bigint").alias(name) for name in ("boot", "seq")]
    columns += [_rows_column(df, functions, name) for name in ("probs", "features") if name in there]
    # A cast gives seconds for a timestamp as well.
    columns += [functions.col("time").try_cast("double").alias("time")] if "time" in there else []
    columns += [functions.col("arrival").try_cast("bigint").alias("arrival")] if "arrival" in there else []
    columns += [functions.col("state").cast("binary").alias("state")] if "state" in there else []
    return df.select(*columns)


def _rows_column(df: Any, functions: Any, name: str) -> Any:
    """Return posteriors or features as they are if they are int8, else as doubles, which loses nothing."""
    kind = df.schema[name].dataType
    element = getattr(getattr(kind, "elementType", None), "typeName", lambda: None)()
    if element is None:
        raise InputError(
            "value", f"column {name!r} of df is {kind.simpleString()}, expected a list of numbers"
        )
    column = functions.col(name)
    if element != "byte":
        return column.try_cast("array<double>").alias(name)
    # A list that lacks a number would turn all of them into floats.
    return functions.when(~functions.exists(column, lambda each: each.isNull()), column).alias(name)


class _Job:
    """What workers do. It travels to them, and holds no state of devices."""

    def __init__(self, params: dict[str, Params], hold: int, bridge: int, shards: int | None) -> None:
        self.params = params
        self.options: dict[str, Any] = {"hold": hold, "bridge": bridge}
        self.shards = shards

    def stream(self, key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        """Take one shard's rows of a micro-batch."""
        content, unknown = state.get if state.exists else (None, 0)
        model = self.model(key[0], None if content is None else bytes(content))
        if model is None:
            state.update((None, unknown + sum(len(frame) for frame in frames)))
            return
        found = self._run(model, list(frames), by_arrival=True)
        state.update((pack_arrays(model.arrays() | {MADE_WITH: np.array([self.shards, model.hold])}), 0))
        decided = joined(found)
        if len(decided):
            yield _frame(decided)

    def table(self, key: tuple[Any, ...], frame: Any) -> Any:
        """Take all of one shard's rows."""
        model = self.model(key[0], None)
        return _frame(
            _nothing()
            if model is None
            else joined([*self._run(model, [frame], by_arrival=False), model.flush()])
        )

    def model(self, version: str | None, state: bytes | None) -> ModelVersion | None:
        """Return a shard's model, None for a version that nobody knows."""
        if version is None or version not in self.params:
            return None
        if state is None:
            return ModelVersion(version, self.params[version], **self.options)
        arrays = unpack_arrays(state)
        shards, hold = arrays.pop(MADE_WITH).tolist()
        if hold != self.options["hold"] or self.shards not in (shards, None):
            raise InputError(
                "conflict",
                f"shards={self.shards}, hold={self.options['hold']}, expected {shards} and {hold}, "
                "with which the checkpoint was made",
            )
        return ModelVersion.restored(version, self.params[version], [arrays], **self.options)

    def _run(self, model: ModelVersion, frames: list[Any], by_arrival: bool) -> list[Decided]:
        pandas = needed("pandas", "tcuq-watch[spark]", "a fleet on Spark")
        frame = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
        rows = ShardRows(frame, model)
        order = rows.order(by_arrival)
        handed = rows.hands_over[order]
        if not handed.any():
            return [model.take(rows.events(order))]
        # What a device's own monitor hands over takes effect between two of that device's events; so do
        # rounds with at most one handover a device.
        codes = pandas.factorize(rows.devices[order])[0]
        rounds = pandas.Series(handed.astype(np.int64)).groupby(codes).cumsum().to_numpy() - handed
        found = []
        for number in range(int(rounds.max()) + 1):
            found.append(model.take(rows.events(order[(rounds == number) & ~handed])))
            for row in order[(rounds == number) & handed]:
                state, boot, seq = bytes(rows.states[row]), int(rows.boots[row]), int(rows.seqs[row])
                # A state that is refused is counted there.
                with suppress(ValueError):
                    found.append(model.adopt(rows.devices[row], state, boot, seq))
        return found


def _frame(decided: Decided) -> Any:
    """Return decisions as a pandas data frame of the columns `DECISIONS`.

    Texts are plain objects: Spark cannot send all that pandas makes of texts.
    """
    pandas = needed("pandas", "tcuq-watch[spark]", "a fleet on Spark")
    columns: dict[str, Any] = {
        "version": np.full(len(decided), decided.version, dtype=object),
        "device": decided.devices,
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": decided.times,
        **step_columns(np.asarray(decided.steps)),
    }
    for name in ("version", "device", "reason"):
        columns[name] = pandas.Series(columns[name], dtype=object)
    return pandas.DataFrame(columns)


def _nothing() -> Decided:
    empty = np.zeros(0, dtype=STEP_DTYPE)
    numbers = np.zeros(0, dtype=np.int64)
    return Decided("", np.zeros(0, dtype=object), numbers, numbers, np.zeros(0), Steps.of(empty))


def by_device(decisions: Any) -> Any:
    """Return a row for each device and version of a table of decisions.

    Parameters
    ----------
    decisions : pyspark.sql.DataFrame
        With the columns `DECISIONS`.

    Returns
    -------
    pyspark.sql.DataFrame
        `alarm`, `severity`, `boot` and `seq` are of the last step, means over all of them.

    Examples
    --------
    >>> by_device(spark.read.parquet("decisions")).orderBy("severity").show()  # doctest: +SKIP
    """
    functions = needed("pyspark.sql.functions", "tcuq-watch[spark]", "a fleet on Spark")
    place = functions.struct("boot", "seq")
    last = [functions.max_by(name, place).alias(name) for name in ("alarm", "severity", "boot", "seq")]
    # Risks are multiples of 1/65536: their sum is exact in any order.
    return decisions.groupBy("version", "device").agg(
        *_means(functions),
        *last,
        functions.max(functions.nanvl("time", functions.lit(None))).alias("last_time"),
    )


def _means(functions: Any) -> list[Any]:
    count = functions.count("*")
    return [
        count.alias("steps"),
        (functions.sum("risk") / count).alias("mean_risk"),
        functions.avg(functions.col("abstain").cast("int")).alias("abstained"),
        functions.avg(functions.col("flagged").cast("int")).alias("flagged"),
    ]


def summary(decisions: Any, worst: int = 20) -> dict[str, Any]:
    """Sum up a table of decisions with Spark alone, for fleets that no single process holds.

    Parameters
    ----------
    decisions : pyspark.sql.DataFrame
        With the columns `DECISIONS`.
    worst : int, default 20
        Devices to list, by their mean risk.

    Returns
    -------
    dict
        Those entries of `Fleet.summary` that decisions tell: `devices`, `steps`, `alarm`, `versions`, `worst`
        and `classes`. Tests for the whole fleet need its models: ``summarize(models(...))``.

    Examples
    --------
    >>> found = summary(spark.read.parquet("decisions"))  # doctest: +SKIP
    """
    functions = needed("pyspark.sql.functions", "tcuq-watch[spark]", "a fleet on Spark")
    devices = by_device(decisions)
    in_alarm = functions.sum((functions.col("alarm") > 0).cast("int")).alias("in_alarm")
    total = functions.sum("steps")
    means = [
        (functions.sum(functions.col(name) * functions.col("steps")) / total).alias(name)
        for name in ("mean_risk", "abstained", "flagged")
    ]
    counted = functions.count("*").alias("devices")
    versions = devices.groupBy("version").agg(counted, total.alias("steps"), in_alarm, *means)
    found = [row.asDict() for row in versions.orderBy("version").collect()]
    for row in found:
        row["alarm"] = _alarm(row.pop("in_alarm"), row["devices"])
    # A device that moved to another version is one device, in alarm if its last version is.
    newest = functions.struct("last_time", "boot", "seq", "version")
    moved = devices.groupBy("device").agg(functions.max_by("alarm", newest).alias("alarm"))
    whole = moved.agg(counted, in_alarm).first()
    first = devices.orderBy(functions.desc("mean_risk"), "version", "device").limit(worst)
    classes = decisions.groupBy("version", functions.col("prediction").alias("class")).agg(*_means(functions))
    return {
        "devices": whole["devices"],
        "steps": sum(row["steps"] for row in found),
        "alarm": _alarm(whole["in_alarm"] or 0, whole["devices"]),
        "versions": found,
        "worst": [row.asDict() for row in first.collect()],
        "classes": [row.asDict() for row in classes.orderBy("version", "class").collect()],
    }


def _alarm(in_alarm: int, devices: int) -> dict[str, Any]:
    return {"devices": in_alarm, "share": in_alarm / devices if devices else None}
