"""What a fleet's numbers promise, on real digits: verdicts of healthy and degraded fleets, labels, intervals.

python bench/fleet_numbers.py [--fleets N] [--labeled N] [--devices N] [--json FILE]

Devices watch digits that no fit has seen, through the demo's classifier; degraded ones from the middle of
the run on through one of three corruptions that no fit has seen either. Every fleet is judged at 200 looks,
against the baseline of the fit and against that of its own first half. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import digits as demo

from tcuq import Bank, Params, fit
from tcuq.labels.accuracy import interval
from tcuq.labels.sampler import device_keys
from tcuq_watch.engine.events import Decided
from tcuq_watch.engine.labels import Labels
from tcuq_watch.engine.tallies import MEAN_ONE, Tallies
from tcuq_watch.verdicts.baseline import SPENT, Baseline, adjusted, device_p, from_fit, from_period
from tcuq_watch.verdicts.summary import summarize

START, PERIOD = 1.7e9 // 3600 * 3600, 60.0
HALF, LOOKS, POOL = 420, 200, 50_000
PLACE = np.dtype(
    [(name, "i8") for name in ("boot", "seq", "missing", "late", "duplicates", "reboots", "held")]
)


@dataclass(eq=False)
class Shard:
    """As much of a model as a summary reads."""

    version: str
    devices: list[str]
    tallies: Tallies
    places: npt.NDArray[Any]

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """Nothing is held here."""
        return self.tallies.devices["last_time"]


@dataclass(frozen=True, eq=False)
class World:
    """A classifier, and monitors that were fitted to it."""

    classifier: demo.Classifier
    test: demo.Split
    params: dict[str, Params]


def world(seed: int = 0) -> World:
    """Train, and fit for rare and for frequent false alarms."""
    train, dev, test = demo.load(seed)
    classifier = demo.train(train, seed)
    log = demo.make_log(classifier, dev, demo.DEV_CORRUPTIONS, 40_000, seed + 1)
    fitted = {f"{n:,}": fit(log, run_length=n) for n in (10_000, 100)}
    return World(classifier, test, fitted)


def stream(
    found: World, steps: int, seed: int, corruption: demo.Corruption | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return posteriors, features and digits as `make_log` of the demo, all clean or all corrupted."""
    rng = np.random.default_rng(seed)
    by_digit = [np.flatnonzero(found.test.digits == digit) for digit in range(10)]
    sizes = np.array(list(map(len, by_digit)))
    first, places = np.cumsum(sizes) - sizes, np.concatenate(by_digit)
    changes = rng.random(steps) < 1 / demo.DWELL
    changes[0] = True
    digits = rng.integers(0, 10, int(changes.sum()))[np.cumsum(changes) - 1]
    index = places[first[digits] + (rng.random(steps) * sizes[digits]).astype(np.int64)]
    held = np.arange(steps) >= round((1 - demo.HELD) * steps)
    runs = np.maximum.accumulate(np.where(changes, np.arange(steps), 0))
    index[held] = index[runs[held]]
    images = demo.jitter(found.test.images[index], rng)
    images[held] = demo.shake(images[held], rng)
    if corruption is not None:
        images = corruption(images, rng)
    probs, hidden = found.classifier(images)
    return probs.astype(np.float32), hidden.astype(np.float32), digits


def worse_devices(tallies: Tallies, period: tuple[float, float] | None) -> npt.NDArray[np.int64]:
    """Return the devices that a summary calls worse; naming all of them takes longer than all the rest."""
    series, width = tallies.over_time(), tallies.width
    found = from_fit(tallies.params) if period is None else from_period(series, width, period)
    assert isinstance(found, Baseline)
    rows = tallies.devices
    _, always = device_p(rows["recent_alarm"] / MEAN_ONE, rows["steps"], found)
    return np.flatnonzero(adjusted(always) <= SPENT)


def judged(found: World, name: str, devices: int, degraded: float, seed: int) -> dict[str, Any]:
    """Run a fleet; return the first step after the middle with a verdict, and devices that were found."""
    rng = np.random.default_rng(seed)
    params, bad = found.params[name], np.arange(devices) < round(degraded * devices)
    kinds = [stream(found, 20_000, seed + 1 + k, c) for k, c in enumerate(demo.TEST_CORRUPTIONS)]
    clean, corrupted = (
        stream(found, POOL, seed),
        [np.concatenate(parts) for parts in zip(*kinds, strict=True)],
    )
    # A degraded device stays with its kind of corruption.
    at, kind = rng.integers(0, POOL, devices), rng.integers(0, len(kinds), devices)
    at_bad = rng.integers(0, 20_000, devices)
    bank, tallies = Bank(params, devices), Tallies(params)
    tallies.grow(devices)
    shard = Shard("v", [str(n) for n in range(devices)], tallies, np.zeros(devices, dtype=PLACE))
    slots, every = np.arange(devices), HALF // LOOKS
    calls: dict[str, list[int]] = {"fit": [], "own": []}
    worse: dict[str, set[int]] = {"fit": set(), "own": set()}
    periods = {"fit": None, "own": (START, START + PERIOD * HALF)}
    for step in range(2 * HALF):
        inputs = [part[(at + step) % POOL] for part in clean[:2]]
        if step >= HALF and bad.any():
            where = 20_000 * kind[bad] + (at_bad[bad] + step) % 20_000
            for part, source in zip(inputs, corrupted, strict=False):
                part[bad] = source[where]
        times = np.full(devices, START + PERIOD * step)
        tallies.update(slots, times, bank.run(slots, inputs[0], inputs[1]))
        if step >= HALF and (step - HALF) % every == every - 1:
            for which, period in periods.items():
                summary = summarize([shard], worst=0, baseline=period)
                if summary["alarm"]["unhealthy"]:
                    calls[which].append(step - HALF + 1)
                worse[which] |= set(worse_devices(tallies, period).tolist())
    rows = tallies.devices
    result: dict[str, Any] = {"baseline": {}}
    for which, period in periods.items():
        result["baseline"][which] = summarize([shard], baseline=period)["alarm"]["baseline"]
        result[which] = calls[which][0] if calls[which] else None
        result[f"{which}_worse"] = [int(sum(bad[n] == k for n in worse[which])) for k in (1, 0)]
    result["share"] = float(rows["alarm_steps"][~bad].sum() / rows["steps"][~bad].sum())
    result["onsets"] = int(rows["onsets"][~bad].sum())
    return result


def verdicts(found: World, fleets: int, devices: int) -> dict[str, Any]:
    """Return, by monitor and share of degraded devices, what came out for a number of fleets."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for number in range(fleets):
        for name in found.params:
            for share in (0.0, 0.01, 0.05, 0.2) if number < max(1, fleets // 10) else (0.0,):
                seed = 1000 * number + round(1e6 * share)
                runs.setdefault(f"{name} {share:g}", []).append(judged(found, name, devices, share, seed))
        for key, done in runs.items():
            print(f"{len(done)} fleets, one in {key} degraded", json.dumps(summed(done)), flush=True)
    return {key: summed(done) for key, done in runs.items()}


def summed(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what came out of fleets of one kind."""
    row: dict[str, Any] = {"fleets": len(runs)}
    row["healthy_share"] = float(np.mean([run["share"] for run in runs]))
    for which in ("fit", "own"):
        steps = [run[which] for run in runs]
        row[f"{which}_baseline"] = float(np.median([run["baseline"][which] for run in runs]))
        row[f"{which}_called"] = sum(step is not None for step in steps)
        row[f"{which}_steps"] = float(np.median([np.inf if s is None else s for s in steps]))
        row[f"{which}_worse"] = [sum(run[f"{which}_worse"][k] for run in runs) for k in (0, 1)]
        row[f"{which}_any_false"] = sum(run[f"{which}_worse"][1] > 0 for run in runs)
    return row


def decided(found: World, name: str, devices: int, steps: int, degraded: float, seed: int) -> tuple[Any, Any]:
    """Return steps of a fleet and whether each answer is wrong, as arrays of shape (steps, devices)."""
    rng = np.random.default_rng(seed)
    pools = [stream(found, 100_000, seed)]
    pools += [stream(found, 20_000, seed + 1 + k, c) for k, c in enumerate(demo.TEST_CORRUPTIONS)]
    bad = rng.random(devices) < degraded
    kind = np.where(bad, 1 + rng.integers(0, len(pools) - 1, devices), 0)
    bank, at = Bank(found.params[name], devices), rng.integers(0, 100_000, devices)
    slots = np.arange(devices)
    out, wrong = [], []
    for step in range(steps):
        parts = [
            np.empty((devices, 10), np.float32),
            np.empty((devices, 32), np.float32),
            np.empty(devices, np.int64),
        ]
        for number, pool in enumerate(pools):
            mine = kind == number
            for part, source in zip(parts, pool, strict=True):
                part[mine] = source[(at[mine] + step) % len(source)]
        answers, truth = bank.run(slots, parts[0], parts[1]), parts[2]
        out.append(np.asarray(answers))
        wrong.append(answers["answer"] != truth)
    return np.stack(out), np.stack(wrong)


def labeled(found: World, name: str, fleets: int, per_day: int, degraded: float) -> dict[str, Any]:
    """Simulate fleets for 30 days, drawn from a long run; look after every day, told all labels by then."""
    devices, days = 1000, 30
    steps, wrong = decided(found, name, devices, 300, degraded, 5)
    flat, bad = steps.reshape(-1), wrong.reshape(-1)
    names = np.array([f"d{n}" for n in range(devices)], dtype=object)
    keys = device_keys("v", names)
    rows: list[tuple[float, ...]] = []
    for fleet in range(fleets):
        rng, labels = np.random.default_rng(fleet), Labels(per_day, seed=fleet)
        plain: list[Any] = []
        held, steps_so_far, errors, before = True, 0, 0, 0
        for day in range(days):
            size = int(rng.uniform(0.9, 1.1) * 20_000)
            chosen = rng.choice(len(flat), size, replace=False)
            whose, noon = chosen % devices, np.full(size, day * 86400.0 + 43200)
            place = np.full(size, day), chosen // devices
            labels.offer(Decided("v", names[whose], *place, noon, flat[chosen]), keys[whose])
            told = []
            for row in labels.pick(day):
                at = row["seq"] * devices + int(row["device"][1:])
                told.append({**row, "label": -1 if bad[at] else row["answer"]})
            labels.tell(told)
            mine = chosen[~flat["abstain"][chosen]]
            steps_so_far, errors = steps_so_far + len(mine), errors + int(bad[mine].sum())
            result = labels.accuracy()
            low, high = result["interval"]
            held = held and low <= 1 - errors / steps_so_far <= high
            # As many labels, all at random: without and with the uncertainty of the monitor.
            share = (result["asked"] - before) / size
            before = result["asked"]
            asked = rng.random(size) < share
            plain.append((asked[flat["abstain"][chosen] == 0], np.full(len(mine), share), mine))
            if day + 1 in (1, 7, days):
                drawn, chance, which = (np.concatenate(part) for part in zip(*plain, strict=True))
                lot: list[float] = []
                for guess in (np.zeros(len(which)), flat["uncertainty"][which]):
                    ends = interval(
                        drawn, chance, guess, bad[which] * 1.0, 0.95, lambda v: np.array([v.sum()])
                    )
                    lot.append(float((ends.high - ends.low)[0]))
                rows.append((day + 1, held, result["asked"] / (day + 1), high - low, *lot))
                rows[-1] += (result["errors_found"] / max(1, result["told"]),)
    table = np.array(rows)
    out: dict[str, Any] = {"fleets": fleets, "per_day": per_day, "errors": float(bad.mean())}
    for day in (1, 7, days):
        mean = table[table[:, 0] == day].mean(axis=0)
        keys_of = (
            "held_so_far",
            "asked_a_day",
            "width",
            "width_random",
            "width_random_guess",
            "errors_per_label",
        )
        out[f"after {day}"] = dict(zip(keys_of, mean[1:].tolist(), strict=True))
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fleets", type=int, default=40, help="healthy ones; a tenth of it degraded")
    parser.add_argument("--labeled", type=int, default=200, help="fleets of 30 days that are labeled")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("labels", "verdicts"))
    args = parser.parse_args(arguments)
    begin = time.time()
    found = world()
    result: dict[str, Any] = {"labels": []}
    if args.only != "verdicts":
        for per_day, degraded in ((100, 0.0), (100, 0.015), (1000, 0.015)):
            row = labeled(found, "10,000", args.labeled, per_day, degraded)
            result["labels"].append(row | {"degraded": degraded})
            print(f"degraded {degraded:g}", json.dumps(row), flush=True)
    if args.only != "labels":
        result["verdicts"] = verdicts(found, args.fleets, args.devices)
    result["seconds"] = round(time.time() - begin)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
