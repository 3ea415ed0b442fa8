"""Watch a fleet with Spark: events in, a table of decisions out, with restarts that lose and repeat nothing.

    python spark_fleet.py                                  # makes events of 200 devices, then watches them
    python spark_fleet.py --events in --monitor m.json     # your own folder of Parquet files
    spark-submit spark_fleet.py --keep-running ...         # on a cluster, until it is stopped

Needs Java 17 or later and `pip install .. '../watch[spark]'`, on every executor too. Takes about a minute.
Stop it with Ctrl-C or SIGKILL at any moment and start it again: it goes on from the folder `checkpoint`.
The events are made up: they show how to use the monitor, not how well it works.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tcuq
from tcuq_watch.spark import SETTINGS, decide_stream

EVENTS = "device string, boot long, seq long, time double, probs array<float>, arrival long"


def make_events(folder: Path, monitor: Path) -> None:
    """Stand in for your devices: 200 of them, 100 inferences each, 10 of them degraded in the second half."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    device, seq = (each.ravel() for each in np.meshgrid(np.arange(200), np.arange(100)))
    strength = np.where((device < 10) & (seq >= 50), 1.0, 6.0)[:, None]
    logits = strength * np.eye(4)[rng.integers(0, 4, len(device))] + rng.normal(0, 1, (len(device), 4))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    kept = np.flatnonzero(rng.random(len(device)) > 0.02)  # the network loses some
    log = tcuq.Log(probs[device >= 10])
    tcuq.fit(log, budget=0.1, run_length=1000).save(monitor)
    # The folder gets its name last: stopped before, the next start makes it again.
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    for number, rows in enumerate(np.array_split(kept, 4)):
        table = {
            "device": [f"device-{each:03d}" for each in device[rows]],
            "boot": np.zeros(len(rows), dtype=np.int64),
            "seq": seq[rows],
            "time": 1.7e9 + 60.0 * seq[rows],
            "probs": list(probs[rows].astype(np.float32)),
            "arrival": rows,
        }
        pq.write_table(pa.table(table), making / f"{number}.parquet")
        os.utime(making / f"{number}.parquet", (1e9 + number, 1e9 + number))  # Spark goes by their times
    making.rename(folder)


def start_session(arguments: argparse.Namespace) -> Any:
    """Return a session with the state store that streams of decisions need."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("tcuq-fleet")
    if arguments.master:  # spark-submit says it itself
        builder = builder.master(arguments.master)
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
        builder = builder.config("spark.sql.shuffle.partitions", 2).config(
            "spark.ui.showConsoleProgress", False
        )
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def read_events(session: Any, arguments: argparse.Namespace) -> Any:
    """Return a stream of events.

    From Kafka it reads as follows, with `spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:`
    and your version of Spark. The device is the key of a message, so that all of a device is in one
    partition, where the offset tells the order of arrival. No test runs these lines, for want of a broker::

        from pyspark.sql import functions as F

        lines = session.readStream.format("kafka").option("kafka.bootstrap.servers", "broker:9092")
        lines = lines.option("subscribe", "tcuq").option("maxOffsetsPerTrigger", 200_000).load()
        event = F.from_json(F.col("value").cast("string"), EVENTS)
        events = lines.select(event.alias("event"), F.col("key").cast("string").alias("device"), "offset")
        return events.selectExpr(
            "device", "event.boot", "event.seq", "event.time", "event.probs", "offset as arrival"
        )
    """
    return session.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).parquet(arguments.events)


def main() -> None:
    """Watch the events that are there, or wait for more."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", help="folder of Parquet files, or its address (default: made events)")
    parser.add_argument("--monitor", type=Path, help="from tcuq fit; needed with --events")
    parser.add_argument("--out", default="decisions", help="folder of the table")
    parser.add_argument("--checkpoint", default="checkpoint", help="folder that a restart goes on from")
    parser.add_argument("--shards", type=int, default=8, help="see docs/SPARK.md")
    parser.add_argument("--master", default=None if "SPARK_ENV_LOADED" in os.environ else "local[2]")
    parser.add_argument("--keep-running", action="store_true", help="wait for more events")
    arguments = parser.parse_args()
    if (arguments.events is None) != (arguments.monitor is None):
        parser.error("--events and --monitor go together; leave out both to watch made events")
    if arguments.events is None:
        arguments.events, arguments.monitor = "events", Path("monitor.json")
        if not Path(arguments.events).exists():
            make_events(Path(arguments.events), arguments.monitor)
    for path in (arguments.events, arguments.monitor):
        if "://" not in str(path) and not Path(path).exists():  # Spark itself reads hdfs:// and s3a://
            parser.error(f"{path} does not exist; leave out --events and --monitor to watch made events")
    session = start_session(arguments)
    decisions = decide_stream(
        read_events(session, arguments), tcuq.Params.load(arguments.monitor), shards=arguments.shards
    )
    writer = decisions.writeStream.format("parquet").option("path", arguments.out)
    writer = writer.option("checkpointLocation", arguments.checkpoint)
    pace = {"processingTime": "10 seconds"} if arguments.keep_running else {"availableNow": True}
    writer.trigger(**pace).start().awaitTermination()

    from pyspark.sql.functions import expr

    by_device = session.read.parquet(arguments.out).groupBy("device")
    columns = {
        "steps": "count(*)",
        "mean_risk": "avg(risk)",
        "abstained": "avg(int(abstain))",
        "alarm": "max_by(alarm, struct(boot, seq))",
    }
    devices = by_device.agg(*(expr(text).alias(name) for name, text in columns.items())).cache()
    total, count, in_alarm = devices.selectExpr("sum(steps)", "count(*)", "count_if(alarm > 0)").first()
    print(f"{total:,} decisions of {count} devices, {in_alarm} in alarm")
    for row in devices.orderBy("mean_risk", ascending=False).take(12):
        print(f"{row['device']}  mean risk {row['mean_risk']:.3f}  abstained {row['abstained']:.0%}")
    session.stop()


if __name__ == "__main__":
    main()
