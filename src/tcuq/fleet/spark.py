"""A fleet on Spark: events in, decisions out, as a stream that survives kills or as a batch job.

Devices are spread over shards by a hash of their name. A shard is a `Lane`, the same engine as in `Fleet`;
its state is one value in Spark's RocksDB state store. docs/SPARK.md says how to choose the number of shards.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..base.optional import needed
from ..monitor.params import Params
from ..monitor.steps import STEP_DTYPE, step_columns
from .events import Decided, Events

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
"""Of a shard: its lane, or how many rows of a version that nobody knows."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


def decide_stream(
    df: Any,
    params: Params | Mapping[str, Params],
    *,
    shards: int = 64,
    hold: int = 32,
    bridge: int | None = None,
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
    shards : int
        Over how many lanes a version's devices are spread. It cannot change while a checkpoint is in use.
    hold, bridge : int, optional
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
    """
    provider = df.sparkSession.conf.get(PROVIDER, "")
    if "RocksDB" not in provider:
        raise ValueError(
            f"{PROVIDER} is {provider!r}, expected RocksDB; build the session with tcuq.fleet.spark.SETTINGS"
        )
    job = _Job(_versions(params), hold, bridge, by_arrival=True)
    grouped = _prepared(df, job.params, shards).groupBy("version", "shard")
    return grouped.applyInPandasWithState(job.stream, DECISIONS, STATE, "append", "NoTimeout")


def decide_table(
    df: Any,
    params: Params | Mapping[str, Params],
    *,
    shards: int = 64,
    bridge: int | None = None,
) -> Any:
    """Return decisions on a whole table of events.

    Events of a device are taken by (boot, seq), whatever their order in the table. Of rows of the same place
    the first by `arrival` is taken.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        As of `decide_stream`, but not streaming.
    params : Params or mapping of them
    shards : int
        Groups that the devices of a version are split into. Each is one call in the memory of one worker.
    bridge : int, optional
        As of `Fleet`.

    Returns
    -------
    pyspark.sql.DataFrame
        With the columns `DECISIONS`.
    """
    job = _Job(_versions(params), 32, bridge, by_arrival=False)
    return _prepared(df, job.params, shards).groupBy("version", "shard").applyInPandas(job.table, DECISIONS)


def _versions(params: Params | Mapping[str, Params]) -> dict[str, Params]:
    if isinstance(params, Params):
        return {params.fingerprint: params}
    if not isinstance(params, Mapping) or not params:
        raise TypeError(f"params is {type(params).__name__}, expected Params or versions by name")
    return dict(params)


def _prepared(df: Any, params: Mapping[str, Params], shards: int) -> Any:
    """Return the columns that jobs read, of fixed types, and `version` and `shard`."""
    functions = needed("pyspark.sql.functions", "tcuq[spark]", "a fleet on Spark")
    integer("shards", shards, 1, 2**31 - 1)
    there = set(df.columns)
    missing = [name for name in ("device", "boot", "seq", "probs") if name not in there]
    if missing:
        raise ValueError(f"df has no column {missing[0]!r}, expected device, boot, seq and probs")
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
    columns += [functions.col(name).cast("bigint").alias(name) for name in ("boot", "seq")]
    columns += [_rows_column(df, functions, name) for name in ("probs", "features") if name in there]
    # A cast gives seconds for a timestamp as well.
    columns += [functions.col("time").cast("double").alias("time")] if "time" in there else []
    columns += [functions.col("arrival").cast("bigint").alias("arrival")] if "arrival" in there else []
    columns += [functions.col("state").cast("binary").alias("state")] if "state" in there else []
    return df.select(*columns)


def _rows_column(df: Any, functions: Any, name: str) -> Any:
    """Return posteriors or features as they are if they are int8, else as doubles, which loses nothing."""
    kind = df.schema[name].dataType
    element = getattr(getattr(kind, "elementType", None), "typeName", lambda: None)()
    if element is None:
        raise ValueError(f"column {name!r} of df is {kind.simpleString()}, expected a list of numbers")
    column = functions.col(name)
    return column if element == "byte" else column.cast("array<double>").alias(name)


class _Job:
    """What workers do. It travels to them, and holds no state of devices."""

    def __init__(self, params: dict[str, Params], hold: int, bridge: int | None, by_arrival: bool) -> None:
        self.params = params
        self.options = {"hold": hold} | ({} if bridge is None else {"bridge": bridge})
        self.by_arrival = by_arrival

    def stream(self, key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        """Take one shard's rows of a micro-batch."""
        content, unknown = state.get if state.exists else (None, 0)
        lane = self._lane(key[0], None if content is None else bytes(content))
        if lane is None:
            state.update((None, unknown + sum(len(frame) for frame in frames)))
            return
        found = self._run(lane, list(frames))
        state.update((packed(lane.arrays()), 0))
        yield from (_frame(each) for each in found if len(each))

    def table(self, key: tuple[Any, ...], frame: Any) -> Any:
        """Take all of one shard's rows."""
        lane = self._lane(key[0], None)
        found = [] if lane is None else [*self._run(lane, [frame]), lane.flush()]
        return _frame(*found)

    def _lane(self, version: str | None, state: bytes | None) -> Any:
        from .lane import Lane

        if version is None or version not in self.params:
            return None
        if state is None:
            return Lane(version, self.params[version], **self.options)
        return Lane.restored(version, self.params[version], unpacked(state), **self.options)

    def _run(self, lane: Any, frames: list[Any]) -> list[Decided]:
        pandas = needed("pandas", "tcuq[spark]", "a fleet on Spark")
        frame = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
        rows = _Rows(frame, lane)
        order = rows.order(self.by_arrival)
        handed = rows.hands_over[order]
        if not handed.any():
            return [lane.take(rows.events(order))]
        # What a device's own monitor hands over takes effect between two of that device's events; so do
        # rounds with at most one handover a device.
        codes = pandas.factorize(rows.devices[order])[0]
        rounds = pandas.Series(handed.astype(np.int64)).groupby(codes).cumsum().to_numpy() - handed
        found = []
        for number in range(int(rounds.max()) + 1):
            found.append(lane.take(rows.events(order[(rounds == number) & ~handed])))
            for row in order[(rounds == number) & handed]:
                state, boot, seq = bytes(rows.states[row]), int(rows.boots[row]), int(rows.seqs[row])
                # A state that is refused is counted there.
                with suppress(ValueError):
                    found.append(lane.adopt(rows.devices[row], state, boot, seq))
        return found


class _Rows:
    """Rows of a shard as arrays. What no array can hold is counted in `lane.refused` and left out."""

    def __init__(self, frame: Any, lane: Any) -> None:
        count = len(frame)
        self.devices = frame["device"].to_numpy(dtype=object)
        self.boots, self.seqs = (
            frame[each].to_numpy(dtype=np.int64, na_value=-1) for each in ("boot", "seq")
        )
        self.states = frame["state"].to_numpy(dtype=object) if "state" in frame else None
        self.hands_over = (
            np.zeros(count, dtype=bool) if self.states is None else frame["state"].notna().to_numpy()
        )
        self.probs, good = _table(frame["probs"], lane.params.classes)
        self.features = None
        if "features" in frame and lane.params.features:
            self.features, fit = _table(frame["features"], lane.params.features)
            good &= fit
        self.good = good | self.hands_over
        if not self.good.all():
            lane.refused["wrong width"] += int((~self.good).sum())
        self.times = frame["time"].to_numpy(dtype=np.float64, na_value=np.nan) if "time" in frame else None
        self.arrival = frame["arrival"].to_numpy(dtype=np.int64, na_value=-1) if "arrival" in frame else None

    def order(self, by_arrival: bool) -> npt.NDArray[np.int64]:
        """Return the good rows in the order in which a lane is to take them.

        Rows of the same place are told apart by what they hold, so that a batch that is run again gives the
        same, in whatever order Spark hands out its rows.
        """
        arrival = [] if self.arrival is None else [self.arrival]
        place = [self.seqs, self.boots]
        # The last key counts most.
        later = place + arrival if by_arrival else arrival + place
        order = np.lexsort([self._content(), self.hands_over, *later])
        return order[self.good[order]]

    def _content(self) -> npt.NDArray[np.uint64]:
        """Return a number for what each row holds."""
        total = np.zeros(len(self.devices), dtype=np.uint64)
        for table in (self.probs, self.features, None if self.times is None else self.times[:, None]):
            if table is None:
                continue
            bits = np.ascontiguousarray(table, dtype=np.float64).view(np.uint64)
            odd = np.arange(1, bits.shape[1] + 1, dtype=np.uint64) * _MIX | np.uint64(1)
            mixed = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
            total = total * np.uint64(31) ^ mixed
        return total

    def events(self, which: npt.NDArray[np.int64]) -> Events:
        """Return some rows as events."""
        return Events(
            self.devices[which],
            self.boots[which],
            self.seqs[which],
            self.probs[which],
            None if self.features is None else self.features[which],
            None if self.times is None else self.times[which],
        )


def _table(column: Any, width: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return lists as a table, and which of them are as wide as it; others are zeros."""
    lists = column.to_numpy(dtype=object)
    fit = np.fromiter((each is not None and len(each) == width for each in lists), bool, len(lists))
    kept = np.flatnonzero(fit)
    rows = np.concatenate(list(lists[kept])).reshape(-1, width) if len(kept) else np.zeros((0, width))
    if len(kept) == len(lists):
        return rows, fit
    table = np.zeros((len(lists), width), dtype=rows.dtype)
    table[kept] = rows
    return table, fit


def _frame(*found: Decided) -> Any:
    """Return decisions as a pandas data frame of the columns `DECISIONS`."""
    pandas = needed("pandas", "tcuq[spark]", "a fleet on Spark")
    if not found:
        return pandas.DataFrame(columns=[column.partition(" ")[0] for column in DECISIONS.split(", ")])
    frames = [
        pandas.DataFrame(
            {
                "version": np.full(len(each), each.version, dtype=object),
                "device": each.devices,
                "boot": each.boots,
                "seq": each.seqs,
                "time": each.times,
                **step_columns(np.asarray(each.steps)),
            }
        )
        for each in found
    ]
    return frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)


def packed(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return arrays as bytes, without pickle: the length of a JSON header, the header, the arrays.

    Examples
    --------
    >>> unpacked(packed({"a": np.arange(3, dtype="<i4")}))["a"].tolist()
    [0, 1, 2]
    """
    header, parts = [], []
    for name, array in arrays.items():
        header.append([name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)])
        parts.append(np.ascontiguousarray(array).tobytes())
    text = json.dumps(header).encode()
    return b"".join([struct.pack("<I", len(text)), text, *parts])


def unpacked(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that `packed` was given."""
    (length,) = struct.unpack_from("<I", content)
    at, found = 4 + length, {}
    for name, descr, shape in json.loads(content[4:at]):
        dtype = np.lib.format.descr_to_dtype(_tuples(descr))
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(content, dtype, count, at).reshape(shape).copy()
        at += count * dtype.itemsize
    return found


def _tuples(descr: Any) -> Any:
    """Return a description of a type as numpy wants it: JSON knows lists alone."""
    if not isinstance(descr, list):
        return descr
    return [(field[0], _tuples(field[1]), *(tuple(more) for more in field[2:])) for field in descr]
