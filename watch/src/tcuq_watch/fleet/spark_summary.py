"""Tables of decisions summed up with Spark alone."""

from __future__ import annotations

from typing import Any

from tcuq.base.optional import needed


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
        and `classes`. Tests for the whole fleet need its lanes: ``summarize(lanes(...))``.

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
