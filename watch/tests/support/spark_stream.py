"""A Spark process of its own, to be killed: decides on a folder of Parquet files and writes a table.

Arguments: params.json, folder of events, folder for output, files a micro-batch, shards; "rates" to measure
as a cluster would run it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

SCHEMA = "device string, boot long, seq long, time double, probs array<float>, arrival long, version string"


def session(folder: Path, **more: str) -> Any:
    """Return a small session that two cores can bear."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from tcuq_watch.spark import SETTINGS

    settings = {
        "spark.driver.memory": "1g",
        # Both: else results are not collected on a machine without a name of its own.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # A short life: the compiler that starts quickly, no threads for garbage.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **SETTINGS,
        **more,
    }
    builder = SparkSession.builder.master("local[2]").appName("tcuq-fleet")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def main(arguments: list[str]) -> None:
    from tcuq import Params
    from tcuq_watch.spark import decide_stream

    params, source, folder = Params.load(arguments[0]), arguments[1], Path(arguments[2])
    rates = "rates" in arguments
    spark = session(folder, **({"spark.driver.extraJavaOptions": ""} if rates else {}))
    events = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", int(arguments[3]))
        .option("latestFirst", "false")
        .parquet(source)
    )
    query = (
        decide_stream(events, params, shards=int(arguments[4]))
        .writeStream.format("parquet")
        .option("path", str(folder / "decisions"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [
        {"batch": each.batchId, "rows": each.numInputRows, "ms": each.batchDuration, "parts": each.durationMs}
        for each in query.recentProgress
    ]
    told: dict[str, Any] = {"batches": progress}
    if rates:
        state = spark.read.format("statestore").load(str(folder / "checkpoint"))
        told["state_bytes"] = state.selectExpr("sum(length(value.groupState.model))").first()[0]
    else:
        spark.read.parquet(str(folder / "decisions")).toPandas().to_parquet(folder / "found.parquet")
    (folder / "progress.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
