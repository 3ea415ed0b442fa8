"""How fast Spark takes micro-batches of a fleet on this machine, and what a restart costs.

    python bench/spark_rates.py --rows 40000 160000 --shards 16

One process takes some micro-batches of each size. Wall seconds depend on what else the machine does; seconds
of the processor, over Java and its Python workers, hardly do. Then a process starts again with the checkpoint
and one file more. `Fleet` takes the same events beside. Needs Java and pyspark; some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "watch" / "tests" / "support")]

from spark_events import table  # noqa: E402

from tcuq import Params  # noqa: E402
from tcuq_watch.engine.packing import pack_arrays, unpack_arrays  # noqa: E402
from tcuq_watch.fleet import Events, Fleet, ModelVersion  # noqa: E402

WARM = 2
"""Micro-batches of a size that are not counted: they compile and fill caches."""

TICKS = os.sysconf("SC_CLK_TCK")


def events_of(devices: int, count: int) -> tuple[Params, Events]:
    """Return events in order, all devices in turn."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.3), 4096).astype(np.float32)
    number = np.arange(count)
    names = np.array([f"device-{each:07d}" for each in range(devices)], dtype=object)
    zeros = np.zeros(len(number), dtype=np.int64)
    device = number % devices
    events = Events(
        names[device], zeros, number // devices, probs[number % 4096], times=1.7e9 + number / devices
    )
    return Params(classes=10, warmup=0, reference=0.3), events


def fleet_rates(params: Params, events: Events, ends: list[int], folder: Path) -> list[tuple[float, float]]:
    """Return wall and processor seconds of each batch in one process that commits as often."""
    found = []
    with Fleet(params, folder) as fleet:
        for first, last in pairwise([0, *ends]):
            part = events.some(slice(first, last))
            began = time.perf_counter(), time.process_time()
            fleet.take(part)
            found.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return found


def model_seconds(params: Params, events: Events, devices: int) -> float:
    """Return processor seconds to restore and save the model of a shard with that many devices."""
    model = ModelVersion("v", params)
    model.take(events.some(slice(devices)))
    began = time.process_time()
    for _ in range(10):
        model = ModelVersion.restored("v", params, [unpack_arrays(pack_arrays(model.arrays()))])
    return (time.process_time() - began) / 10


def processor_seconds(session: int) -> float:
    """Return what the living processes of a session have used."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
    return total / TICKS


def spark_run(
    folder: Path, shards: int, first: int, count: int
) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """Run over all files; return what it tells, and wall and processor seconds at each commit."""
    program = ROOT / "watch" / "tests" / "support" / "spark_stream.py"
    words = [folder / "params.json", folder / "in", folder / "run", 1, shards, "rates"]
    began, moments = time.time(), []
    process = subprocess.Popen(
        [sys.executable, str(program), *map(str, words)], stderr=subprocess.DEVNULL, start_new_session=True
    )
    for number in range(first, first + count):
        commit = folder / "run" / "checkpoint" / "commits" / str(number)
        while not commit.exists():
            if process.poll() is not None:
                raise SystemExit("Spark has ended early; run watch/tests/support/spark_stream.py to see why")
            time.sleep(0.01)
        moments.append((time.time() - began, processor_seconds(process.pid)))
    if process.wait():
        raise SystemExit("Spark has failed")
    return json.loads((folder / "run" / "progress.json").read_text()), moments


def measure(devices: int, sizes: list[int], shards: int, batches: int) -> None:
    """Measure and print a JSON line a size, and one for the restart."""
    import pyarrow.parquet

    rows = np.repeat([*sizes, sizes[0]], [batches] * len(sizes) + [1])
    ends = np.cumsum(rows).tolist()
    params, events = events_of(devices, ends[-1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        params.save(folder / "params.json")

        def write(number: int) -> None:
            part = table(events, slice([0, *ends][number], ends[number]))
            path = folder / "in" / f"{number:04d}.parquet"
            pyarrow.parquet.write_table(part, path)
            os.utime(path, (1e9 + number, 1e9 + number))

        for number in range(len(ends) - 1):
            write(number)
        _, moments = spark_run(folder, shards, 0, len(ends) - 1)
        beside = fleet_rates(params, events, ends, folder / "fleet")
        for place, size in enumerate(sizes):
            which = range(place * batches + WARM, (place + 1) * batches)
            spent = np.median([np.subtract(moments[each], moments[each - 1]) for each in which], axis=0)
            fleet = np.median([beside[each] for each in which], axis=0)
            told = {"devices": devices, "shards": shards, "rows": size}
            for prefix, (wall, cpu) in (("spark", spent), ("fleet", fleet)):
                told |= {f"{prefix}_wall_s": round(wall, 3), f"{prefix}_cpu_s": round(cpu, 3)}
            print(json.dumps(told), flush=True)
        write(len(ends) - 1)
        told, again = spark_run(folder, shards, len(ends) - 1, 1)
        start = {"first_commit_wall_s": moments[0][0], "first_commit_cpu_s": moments[0][1]}
        start |= {"restart_wall_s": again[0][0], "restart_cpu_s": again[0][1]}
        start["lane_us_a_device"] = 1e6 * model_seconds(params, events, 2000) / 2000
        start["state_bytes_a_device"] = told["state_bytes"] / devices
        print(json.dumps({name: round(value, 1) for name, value in start.items()}), flush=True)


def main() -> None:
    """Measure all that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--rows", type=int, nargs="+", default=[40_000, 160_000], help="of a micro-batch")
    parser.add_argument("--shards", type=int, nargs="+", default=[16])
    parser.add_argument("--batches", type=int, default=5, help="of each size")
    arguments = parser.parse_args()
    for shards in arguments.shards:
        measure(arguments.devices, arguments.rows, shards, arguments.batches)


if __name__ == "__main__":
    main()
