# SPDX-License-Identifier: MIT
"""How many examples does `tcuq start` need? It runs on parts of the data, and a long stream tells the truth.

    python tools/start_sizes.py                        four networks trained here; two need TCUQ_DATA
    python tools/start_sizes.py --networks table --sizes 400,1000 --seeds 2
    python tools/start_sizes.py --steps 3000           streams of so many steps, whatever the examples

Networks: rows of 12 sensors and signals of three axes, both generated; small convolutional networks of MNIST
and CIFAR-10. Of each size, the share of harmful stretches that the alarm found is given as `start` says (test
part, and shift types held out in turn) and on 12,000 steps of up to 6,000 examples that no fit has seen,
under the shift types that the fit has not seen.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch

from tcuq.fitting import fit
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.recording.model import RecordOptions
from tcuq.recording.session import open_session
from tcuq.recording.streams import Streams, paces_of
from tcuq.start import run
from tcuq.start.judge import judge
from tcuq_lab.data import load

FRESH, LONG = 6_000, 12_000
"""Examples and steps of the stream that tells the truth."""

LAYERS = torch.nn

SPAN = 4.0
"""What 1 is of generated numbers: inputs of a usual range have gauges, and the alarm sees them."""


def table(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Return standardized rows of 12 sensors that depend on each other, and one of five states."""
    y, fixed = rng.integers(0, 5, count), np.random.default_rng(1)
    means, mixing = fixed.normal(0, 1, (5, 2, 12)), np.eye(12) + fixed.normal(0, 0.4, (12, 12))
    x = (means[y, rng.integers(0, 2, count)] + rng.normal(0, 1, (count, 12))) @ mixing
    return np.clip(x / 1.9 / SPAN, -1, 1).astype(np.float32), y


def signal(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Return 64 samples of three axes: one of six motions of their own pace and size, gravity and noise."""
    y, time = rng.integers(0, 6, count), np.arange(64)[None, :, None] / 32
    pace = np.array([0.5, 1, 1.6, 2.4, 3.4, 4.6])[y] + rng.normal(0, 0.12, count)
    size = np.array([0.5, 1, 1.5, 0.7, 1.8, 1.1])[y] * rng.lognormal(0, 0.25, count)
    down = rng.normal(0, 1, (count, 1, 3))
    down /= np.linalg.norm(down, axis=2, keepdims=True)
    phase, share = rng.uniform(0, 2 * np.pi, (count, 1, 3)), rng.uniform(0.3, 1, (count, 1, 3))
    wave = np.sin(2 * np.pi * pace[:, None, None] * time + phase)
    x = size[:, None, None] * share * wave + down + rng.normal(0, 0.25, (count, 64, 3))
    return np.clip(x / SPAN, -1, 1).astype(np.float32), y


def body(name: str) -> Any:
    """Return the layers of a network up to its features; examples are (n, channels, ...)."""
    conv = LAYERS.Conv1d if name == "signal" else LAYERS.Conv2d
    if name == "table":
        return LAYERS.Sequential(LAYERS.Linear(12, 32), LAYERS.ReLU(), LAYERS.LazyLinear(16), LAYERS.ReLU())
    channels = {"signal": 3, "mnist": 1, "cifar10": 3}[name]
    parts = [conv(channels, 12, 5, stride=2), LAYERS.ReLU(), conv(12, 24, 3, stride=2), LAYERS.ReLU()]
    return LAYERS.Sequential(*parts, LAYERS.Flatten(), LAYERS.LazyLinear(32), LAYERS.ReLU())


def examples(name: str) -> tuple[Any, Any, Any, Any]:
    """Return examples and labels to train, and others."""
    if name in ("mnist", "cifar10"):
        parts = [load(name, part) for part in ("train", "test")]
        shape = (-1, 28, 28, 1) if name == "mnist" else (-1, 32, 32, 3)
        (x, y), (more, labels) = ((each.x.reshape(shape).astype(np.float32) / 255, each.y) for each in parts)
        return x[:12_000], y[:12_000], more, labels
    x, y = (table if name == "table" else signal)(np.random.default_rng(0), 18_000)
    return x[:4_000], y[:4_000], x[4_000:], y[4_000:]


def trained(name: str, x: Any, y: Any, classes: int) -> Callable[[Any], tuple[Any, Any]]:
    """Return a small network as a function that gives posteriors and features."""
    torch.manual_seed(0)
    net, last = body(name), LAYERS.LazyLinear(classes)

    def ready(batch: Any) -> Any:
        values = torch.from_numpy(np.asarray(batch, np.float32))
        values = values * SPAN if name in ("table", "signal") else values
        return values if name == "table" else values.movedim(-1, 1)

    given, truth = ready(x), torch.from_numpy(np.asarray(y))
    last(net(given[:2]))
    step = torch.optim.Adam([*net.parameters(), *last.parameters()], 2e-3)
    for _ in range(6):
        for rows in torch.randperm(len(given)).split(64):
            step.zero_grad()
            torch.nn.functional.cross_entropy(last(net(given[rows])), truth[rows]).backward()
            step.step()

    def model(batch: Any) -> tuple[Any, Any]:
        with torch.no_grad():
            features = net(ready(batch))
            return torch.softmax(last(features), 1).numpy(), features.numpy()

    return model


def truth(model: Any, x: Any, y: Any, params: Any, seen: Any) -> tuple[int, int]:
    """Return how many harmful stretches an alarm finds in a long stream of other shift types, and all."""
    session = open_session(model, x, y, RecordOptions())
    streams = Streams(session.data, session.model, paces_of(True), True, 77)
    kinds = [number for number, each in enumerate(streams.chosen.kinds, 1) if each.name not in seen]
    plan = streams.plan(np.arange(session.data.total), LONG, kinds, "truth", 8)
    log = session.log(streams.arranged(plan))
    steps = run_over(Monitor(params), log)
    return _found(judge(params, log, steps, 0, 16.0))


def _found(figures: dict[str, Any]) -> tuple[int, int]:
    """Return how many harmful stretches were found, and all."""
    return int(figures["harmful_found"]), int(figures["harmful"])


def measured(model: Any, x: Any, y: Any, size: int, seed: int) -> tuple[bool, Any, Any, Any]:
    """Return whether `start` says to rely on the alarm, and what was found: held out, test part, truth."""
    order = np.random.default_rng(1000 + seed).permutation(len(x))
    at, rest, kept = order[:size], order[size:][-FRESH:], {}

    def keep(*args: Any, **options: Any) -> Any:
        kept["params"] = fit(*args, **options)
        return kept["params"]

    nothing = mock.patch.multiple(run, sources=lambda *each: {}, render=lambda *each, **more: "", fit=keep)
    with tempfile.TemporaryDirectory() as folder, nothing:
        found = run.start(model, x[at], folder, y[at], seed=seed)
    out = found["left_out"] or {"found": 0, "kinds": 0}
    real = truth(model, x[rest], y[rest], kept["params"], found["fit_kinds"])
    relied = found["checks"]["alarm"]["state"] in ("OK", "WEAK")
    return relied, (out["found"], out["kinds"]), _found(found), real


def main() -> None:
    """Measure and print a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default="table,signal,mnist,cifar10")
    parser.add_argument("--sizes", default="400,1000,3000,8000")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--steps", type=int)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| network | right | examples | steps | may rely | held out | test part | long stream |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in given.networks.split(","):
        x, y, more, labels = examples(name)
        model = trained(name, x, y, int(y.max()) + 1)
        right = np.mean(np.argmax(model(more)[0], axis=1) == labels)
        for size in [int(each) for each in given.sizes.split(",") if int(each) <= len(more)]:
            steps = given.steps or run.steps_for(size)
            with mock.patch.object(run, "steps_for", lambda total, steps=steps: steps):
                runs = [measured(model, more, labels, size, seed) for seed in range(given.seeds)]
            shares = [sum(a for a, _ in part) / max(1, sum(b for _, b in part))
                      for part in list(zip(*runs, strict=True))[1:]]  # fmt: skip
            cells = [f"{sum(each[0] for each in runs)} of {len(runs)}", *(f"{each:.0%}" for each in shares)]
            print(f"| {name} | {right:.0%} | {size:,} | {steps:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
