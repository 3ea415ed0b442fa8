"""Events a second through a `Fleet`, with commits, and what a device costs: memory, disk, time to open.

Run `python bench/fleet_rates.py DEVICES EVENTS_A_BATCH BATCHES [--messy] [--no-decisions] [--folder F]`.
Rates are per second of CPU time; wall time is beside them. Messy traffic loses 5 % of events, delays 5 % by
3 rounds of the fleet on average and repeats 2 %.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tcuq import Bank
from tcuq_device.cost.stock import monitors
from tcuq_watch.fleet import Events, Fleet


def arrivals(devices: int, count: int, messy: bool, rng: np.random.Generator) -> Any:
    """Return events in the order of arrival; number p is step p // devices of device p % devices."""
    sent = np.arange(count)
    if not messy:
        return sent
    kept = sent[rng.random(count) >= 0.05]
    when = kept + np.where(rng.random(len(kept)) < 0.05, rng.exponential(3.0 * devices, len(kept)), 0)
    again = rng.random(len(kept)) < 0.02
    later = when[again] + rng.exponential(3.0 * devices, int(again.sum()))
    return np.concatenate([kept, kept[again]])[np.argsort(np.concatenate([when, later]), kind="stable")]


def batches(args: argparse.Namespace, classes: int) -> list[Events]:
    """Return what arrives."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(classes, 0.2), 50_000).astype(np.float32)
    names = np.array([f"device-{number:07d}" for number in range(args.devices)], dtype=object)
    found = []
    for part in np.array_split(
        arrivals(args.devices, args.events * args.batches, args.messy, rng), args.batches
    ):
        device, seq = part % args.devices, part // args.devices
        rows = probs[rng.integers(0, len(probs), len(part))]
        found.append(Events(names[device], np.zeros(len(part), np.int64), seq, rows, times=1.7e9 + seq))
    return found


def timed(what: str, work: Any, events: int = 0) -> Any:
    """Do some work; say how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = (
        f", {events / cpu / 1e3:.0f} k events/s of CPU, {events / wall / 1e3:.0f} k/s of wall"
        if events
        else ""
    )
    print(f"{what}: {cpu:.3f} s of CPU, {wall:.3f} s of wall{rate}", flush=True)
    return found


def resident() -> int:
    """Return bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("devices", "events", "batches"):
        parser.add_argument(name, type=int)
    parser.add_argument("--messy", action="store_true")
    parser.add_argument("--no-decisions", action="store_true")
    parser.add_argument("--folder", default=None)
    args = parser.parse_args()
    params = monitors()["standard, posteriors alone"]
    arrived = batches(args, params.classes)
    folder = Path(tempfile.mkdtemp(dir=args.folder)) / "fleet"
    options: dict[str, Any] = {"keep_bytes": 0} if args.no_decisions else {}
    before = resident()
    fleet = Fleet(params, folder, **options)
    timed("first batch, new devices", lambda: fleet.take(arrived[0]), len(arrived[0]))
    known = next((n for n in range(len(arrived)) if (n + 1) * args.events >= args.devices), 0) + 1
    timed("batches with new devices", lambda: [len(fleet.take(each)) for each in arrived[1:known]])
    rest = sum(map(len, arrived[known:]))
    cpu = time.process_time()
    timed("other batches", lambda: [len(fleet.take(each)) for each in arrived[known:]], rest)
    cpu = time.process_time() - cpu
    bank = Bank(params, args.devices)
    slots = [np.array([int(name[7:]) for name in each.devices]) for each in arrived[known:]]
    alone = time.process_time()
    for where, each in zip(slots, arrived[known:], strict=True):
        bank.run(where, each.probs, threads=1)
    alone = time.process_time() - alone
    print(f"its bank alone: {alone:.3f} s of CPU; the fleet takes {cpu / max(alone, 1e-9):.1f} times as much")
    model = next(iter(fleet.models.values()))
    count, places = len(model.devices), model.places
    print(
        f"{count} devices; "
        + ", ".join(f"{n} {places[n].sum()}" for n in ("held", "missing", "late", "duplicates"))
    )
    print(f"memory: {(resident() - before) / count:.0f} bytes a device, of them bank {model.bank.slot_bytes}")
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    print(f"on disk: {sum(sizes) / 1e6:.0f} MB in {len(sizes)} files")
    for number in range(3):
        one = Events(model.devices[number : number + 1], [9], [0], np.zeros((1, params.classes), np.int8))
        timed("a commit of one event", lambda one=one: fleet.take(one))
    fleet.close()
    timed("opening", lambda: Fleet(params, folder, **options).close())
    shutil.rmtree(folder.parent)


if __name__ == "__main__":
    sys.exit(main())
