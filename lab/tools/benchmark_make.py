"""Making a task of the benchmark: what a network says to examples, clean and under each kind of shift.

Development data have the shifts that `tcuq record` has for the kind of input, at two severities; test data
have others. This is the only part that needs a network and its data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq import gauge_names, input_gauges
from tcuq.recording.data import Data
from tcuq.recording.rand import Generators, Numbers
from tcuq.recording.shifts import choose
from tcuq_lab.benchmark.draw import Pool, drawn
from tcuq_lab.benchmark.files import Task, posterior_bytes
from tcuq_lab.corruptions import corrupt, suite_of
from tcuq_lab.corruptions.suite import ATTENUATED, FAULTS, FROZEN
from tcuq_lab.data.parts import load_part
from tcuq_lab.harness.laws import NETWORKS, RECORDED
from tcuq_lab.harness.types import CLEAN
from tcuq_lab.home import versions
from tcuq_lab.zoo.examples import front_end

SEED = 0
TASKS = tuple(NETWORKS)
WIDTH, LEVELS = 32, 127
"""Features of a step, and their largest value as int8 holds it after a ReLU."""
FINER = 16
"""Steps of a gauge in its standard deviation on clean development data."""
SEVERITIES = (0.3, 0.8)
"""Of the shifts of development data."""
WEAK, STRONG, WEAKER = 1, 4, 4
"""Severities of the shifts of test data; so many of them have a weaker form."""
LICENSE = (
    "Outputs of networks, gauges of their inputs, class numbers and names of corruption types, under the "
    "license of the repository (MIT). No pictures, no sound and no signals of the datasets."
)
Examples = npt.NDArray[Any]
Change = Callable[[Examples], Examples]
Said = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32]]


class Sizes(NamedTuple):
    """How many examples a pool has: clean, under each kind, held, and variants of those."""

    clean: int = 1200
    shifted: int = 240
    held: int = 36
    variants: int = 6


FULL, TRIAL = Sizes(), Sizes(300, 60, 10, 4)


class Part(NamedTuple):
    """Examples of development or of test, as shifts take them, and how they are shifted."""

    x: Examples
    y: npt.NDArray[Any]
    runs: npt.NDArray[Any]
    kinds: Mapping[str, Change]


def balanced(y: npt.NDArray[Any], count: int, name: str) -> npt.NDArray[np.int64]:
    """Return places of examples at random, the classes in turn, so that the first of them hold all."""
    order = Numbers(SEED, name).shuffled(len(y))[0]
    rank = np.empty(len(y), np.int64)
    for each in np.unique(y):
        mine = order[y[order] == each]
        rank[mine] = np.arange(len(mine))
    return np.asarray(order[np.argsort(rank[order], kind="stable")][:count])


def bank(family: str, x: Examples) -> tuple[dict[str, Change], Change]:
    """Return the shifts that `tcuq record` has for a family, and what shakes an example that is held."""
    data = Data("examples", lambda size: iter(()), len(x), take=lambda at: x[at])
    chosen = choose(family, data)

    def every(function: Any, name: str, examples: Examples) -> Examples:
        places = Generators(SEED, name)
        return np.stack([function(each, places.at(at)) for at, each in enumerate(examples)])

    def at_severity(kind: Any, severity: float) -> Any:
        return lambda x, rng: kind.apply(x, severity, rng)

    kinds: dict[str, Change] = {
        f"{kind.name}, {severity}": partial(every, at_severity(kind, severity), f"{kind.name} {severity}")
        for kind in chosen.kinds
        if not kind.frozen
        for severity in SEVERITIES
    }
    return kinds, partial(every, chosen.shake, "shaken")


def suite_kinds(task: str) -> dict[str, Change]:
    """Return the kinds of a dataset's suite that development does not see, and those beside a suite.

    A weaker form comes before the kind itself.
    """
    suite, found = suite_of(task), {}
    for number, name in enumerate(suite.unseen):
        levels = suite.severities(name)
        strong = min(STRONG, levels[-1])
        for level in (WEAK, strong) if number < WEAKER and strong > WEAK else (strong,):
            found[f"{name}/{level}"] = (name, level)
    found |= {f"{name}/1": (name, 1) for name in (ATTENUATED, *FAULTS) if name != FROZEN}

    def changed(name: str, level: int, x: Examples) -> Examples:
        return corrupt(x, suite.name, name, level, SEED)

    return {title: partial(changed, *each) for title, each in found.items()}


def weaker(names: Sequence[str]) -> tuple[int, ...]:
    """Return the place of a weaker form of each kind, counted from 1: that of its name just before it."""
    before = ["", *names]
    same = [a.partition("/")[0] == b.partition("/")[0] for a, b in zip(before, names, strict=False)]
    return tuple(place if same[place] else 0 for place in range(len(names)))


def made(
    name: str,
    parts: Sequence[Part],
    shake: Change | None,
    see: Callable[[Examples], Said],
    titles: Sequence[str],
    about: Mapping[str, Any],
    sizes: Sizes = FULL,
) -> Task:
    """Return a task: two parts, dev and test, as a network sees them; recordings are not shaken."""
    names, pools, outputs = [CLEAN], [], []
    errors = {CLEAN: 0.0}
    first = 0
    for part, which in zip(parts, ("dev", "test"), strict=True):
        ordered = shake is None
        at = np.arange(len(part.y)) if ordered else balanced(part.y, sizes.clean, f"{name} {which}")
        x, y, runs = part.x[at], part.y[at].astype(np.int64), part.runs[at]
        count = len(y) if ordered else min(sizes.shifted, len(y))
        held, objects = x[:0], y[:0]
        if shake is not None:
            held, objects = shake(np.repeat(x[: sizes.held], sizes.variants, axis=0)), y[: sizes.held]
        shown = [(CLEAN, x, held)]
        seen = [see(x)]
        for title, change in part.kinds.items():
            both = change(np.concatenate([x[:count], held]))
            shown.append((title, both[:count], both[count:]))
            seen.append(see(both[:count]))
        if len(held):
            seen += [see(each) for _, _, each in shown]
        prefix = "" if which == "test" else "dev "
        kinds = [f"{prefix}{title}" for title in part.kinds]
        pools.append(
            Pool(
                first,
                y,
                runs.astype(np.int64),
                count,
                tuple(len(names) + place for place in range(len(kinds))),
                weaker(kinds) if which == "test" else (0,) * len(kinds),
                objects,
                sizes.variants if len(held) else 0,
            )
        )
        first = pools[-1].last
        names += kinds
        outputs += seen
        if which == "test":
            wrong = [seen[place][0].argmax(axis=1) != y[: len(seen[place][0])] for place in range(len(shown))]
            errors = {CLEAN: float(wrong[0][:count].mean())}
            errors |= {title: float(each.mean()) for title, each in zip(kinds, wrong[1:], strict=True)}
    probs, features, gauges = (np.concatenate(each) for each in zip(*outputs, strict=True))
    dev = slice(0, len(pools[0].labels))
    means = neighbor_means(features)
    scale = feature_scale(means[: pools[0].last])
    usual, unit = gauge_units(gauges[dev])
    classes = probs.shape[1]
    return Task(
        name,
        posterior_bytes(probs),
        feature_bytes(means, scale),
        np.clip(np.rint((gauges - usual) / unit), -(2**15), 2**15 - 1).astype(np.int16),
        scale,
        (tuple(usual.tolist()), tuple(unit.tolist())),
        tuple(titles),
        (*names, FROZEN),
        {title: round(each, 4) for title, each in {**errors, FROZEN: 1 - 1 / classes}.items()},
        drawn(name, pools, shake is None, len(names)),
        {**about, "ordered": shake is None},
        tuple(pools),
    )


def lab_task(task: str, weights: Path, sizes: Sizes = FULL) -> Task:
    """Return the task of a dataset of the lab, with its network of seed 0."""
    from tcuq_lab.zoo.outputs import outputs
    from tcuq_lab.zoo.weights import load_weights

    network, _ = load_weights(weights / f"{NETWORKS[task]}-{SEED}.npz")
    parts = [load_part(task, each) for each in ("dev", "test")]
    sound, motion = parts[0].x.dtype == np.int16, task == "motion"
    coded = Coded(front_end(parts[0].x[:400])) if sound else None
    kind = "spectrum" if sound else "signal" if motion else "picture"

    def see(x: Examples) -> Said:
        inputs = front_end(x) if coded is None else coded(front_end(x))
        said = outputs(network, inputs if coded is None else coded.values(inputs))
        shown = inputs[:, :, 0] if motion else inputs
        return said.probs, said.features, input_gauges(shown, kind)

    family = "sound" if sound else "signals" if motion else "pictures"
    seen_kinds, shake = bank(family, parts[0].x)
    kinds = (seen_kinds, suite_kinds(task))
    shown = [
        Part(each.x, each.y, np.cumsum(np.diff(each.y, prepend=-1) != 0), of)
        for each, of in zip(parts, kinds, strict=True)
    ]
    shape = (1, 1) if sound else parts[0].x.shape[1:]
    titles = gauge_names((49, 10) if sound else (shape[0], 3) if motion else shape, kind)
    about = {"network": f"{NETWORKS[task]}-{SEED}", "data": parts[0].source}
    return made(task, shown, None if task in RECORDED else shake, see, titles, about, sizes)


class Coded:
    """Inputs as an int8 network takes them: all but a few of a thousand values of some fit."""

    def __init__(self, some: Examples) -> None:
        low, high = np.quantile(some, (0.0005, 0.9995))
        self.scale = float(high - low) / 255
        self.zero_point = round(-128 - float(low) / self.scale)

    def __call__(self, x: Examples) -> npt.NDArray[np.int8]:
        """Return values as int8."""
        return np.asarray(np.clip(np.rint(x / self.scale) + self.zero_point, -128, 127), dtype=np.int8)

    def values(self, coded: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return what int8 values stand for."""
        return (coded.astype(np.float32) - self.zero_point) * np.float32(self.scale)


def neighbor_means(features: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the means of `WIDTH` groups of neighboring features; as they are where there are no more."""
    width = features.shape[1]
    starts = np.arange(min(WIDTH, width)) * width // min(WIDTH, width)
    sums = np.add.reduceat(features.astype(np.float64), starts, axis=1)
    return np.asarray(sums / np.diff([*starts, width]))


def feature_scale(dev: npt.NDArray[Any]) -> float:
    """Return what one of `LEVELS` units is worth: so many are the largest feature of development data."""
    least, largest = float(dev.min()), float(dev.max())
    if least < 0 or largest <= 0:
        raise ValueError(
            f"features reach from {least:g} to {largest:g}, expected from 0 to above it (a ReLU)"
        )
    return largest / LEVELS


def feature_bytes(features: npt.NDArray[Any], scale: float) -> npt.NDArray[np.uint8]:
    """Return features in units of a scale; test features beyond its range stay at its end."""
    return np.clip(np.rint(features / scale), 0, LEVELS).astype(np.uint8)


def gauge_units(clean: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the mean of each gauge on clean development data, and what a step of it is worth."""
    spread = clean.std(axis=0, dtype=np.float64)
    unit = np.maximum(spread / FINER, 1 / 256)
    return np.rint(256 * clean.mean(axis=0, dtype=np.float64)) / 256, np.rint(unit * 4096) / 4096


def about(tasks: Sequence[Task], command: str) -> dict[str, Any]:
    """Return what the list of files says of how they were made."""
    return {
        "license": LICENSE,
        "command": command,
        "networks": {task.name: task.about["network"] for task in tasks},
        "versions": versions(),
    }
