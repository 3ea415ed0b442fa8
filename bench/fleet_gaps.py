"""How far a server that misses events is from the device, by `bridge` and by how often it adopts the state.

Run `python bench/fleet_gaps.py`. Streams are made of recorded outputs of three networks (`lab/recorded`):
classes stay for 8 steps on average, stretches of 100 steps are clean or degraded. Compared are steps that
arrived: share with another risk, mean difference of risk, shares with another abstention and another alarm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tcuq import Log, Monitor, Params, fit
from tcuq_watch.fleet import Events, ModelVersion

RECORDED = Path(__file__).resolve().parents[1] / "lab" / "recorded"
NETWORKS = ("cnn4", "dscnn", "resnet8")
BRIDGES = (0, 1, 2, 4, 8, 16, 32, 10**6)
MEAN_LENGTHS = (1, 5, 50)
DEVICES, STEPS = 40, 500


def streams(network: str, count: int, seed: int) -> tuple[Any, Any]:
    """Return posteriors (count, STEPS, L) and labels."""
    about = json.loads((RECORDED / network / "about.json").read_text())
    labels = np.array(about["labels"])
    with np.load(RECORDED / network / "plain.npz") as file:
        sources = np.stack([file[f"{name}|probs"] for name in about["sources"]])
    rng = np.random.default_rng(seed)
    probs, truth = [], []
    for _ in range(count):
        changes = np.r_[True, rng.random(STEPS - 1) < 1 / 8]
        classes = rng.integers(0, labels.max() + 1, changes.sum())[np.cumsum(changes) - 1]
        rows = np.array([rng.choice(np.flatnonzero(labels == label)) for label in classes])
        degraded = rng.integers(1, len(sources), STEPS // 100 + 1)[np.arange(STEPS) // 100]
        which = np.where(np.arange(STEPS) // 100 % 2 == 1, degraded, 0)
        probs.append(sources[which, rows])
        truth.append(classes)
    return np.stack(probs), np.stack(truth)


def lost(length: int, rng: np.random.Generator) -> Any:
    """Return which of a device's steps are lost: 5 %, one by one or in bursts of a mean length."""
    if length == 1:
        return rng.random(STEPS) < 0.05
    gone, state = np.zeros(STEPS, dtype=bool), False
    for step in range(STEPS):
        state = rng.random() >= 1 / length if state else rng.random() < 0.05 / 0.95 / length
        gone[step] = state
    return gone


def compare(params: Params, probs: Any, length: int, bridge: int, adopt: int = 0) -> Any:
    """Return shares of arrived steps on which the server says something else than the device."""
    rng = np.random.default_rng(1)
    total, count = np.zeros(4), 0
    for stream in probs:
        gone = lost(length, rng)
        gone[0] = False
        device, model = Monitor(params), ModelVersion("v", params, hold=1, bridge=bridge)
        own, said, places = [], [], np.flatnonzero(~gone)
        step = adopt or STEPS
        for first in range(0, STEPS, step):
            end = min(STEPS, first + step)
            own.append(np.asarray(device.run(stream[first:end])))
            here = places[(places >= first) & (places < end)]
            said.append(
                model.take(Events(["d"] * len(here), np.zeros(len(here), np.int64), here, stream[here]))
            )
            if adopt:
                model.adopt("d", device.save(), 0, end - 1)
        theirs = np.concatenate(own)[places]
        ours = np.concatenate([np.asarray(each.steps) for each in said])
        difference = np.abs(theirs["risk"] - ours["risk"])
        columns = [difference > 0, difference, *(theirs[name] != ours[name] for name in ("abstain", "alarm"))]
        total += [column.sum() for column in columns]
        count += len(places)
    return total / count


def main() -> None:
    """Print a table for each kind of loss."""
    fitted = {}
    for network in NETWORKS:
        probs, labels = streams(network, 12, seed=0)
        dev = Log(
            probs.reshape(-1, probs.shape[2]), labels=labels.ravel(), segments=np.repeat(np.arange(12), STEPS)
        )
        fitted[network] = (fit(dev), streams(network, DEVICES, seed=1)[0])
    for length in MEAN_LENGTHS:
        print(f"\n5 % lost, {length} at once on average; {DEVICES} devices x {STEPS} steps a network")
        print("| bridge | adopt every | other risk | mean difference | other abstention | other alarm |")
        print("| --- | --- | --- | --- | --- | --- |")
        for bridge, adopt in [*((bridge, 0) for bridge in BRIDGES), (16, 100), (16, 10)]:
            found = np.mean([compare(*fitted[name], length, bridge, adopt) for name in NETWORKS], axis=0)
            cells = (f"{found[0]:.1%}", f"{found[1]:.4f}", f"{found[2]:.2%}", f"{found[3]:.2%}")
            print(
                f"| {'any' if bridge > 1000 else bridge} | {adopt or '-'} |",
                " | ".join(cells),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main()
