"""The methods of a task as firmware, from weights and data: int8 networks, fitted monitors, a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.fitting import FitOptions, fit
from tcuq.log.log import Log
from tcuq.monitor.params import Params
from tcuq_device.firmware.decision import Prediction, Rule, Watch
from tcuq_device.firmware.firmware import Firmware, posteriors
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Int8
from tcuq_device.kernels.host import Network

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..metrics import accuracy
from ..zoo.examples import examples, inputs_of
from .graphs import MEMBERS, Say, ShownSizes, TaskGraphs, some_of, stream
from .quantize import input_of
from .rivals import ConformalRule, VoteRule

PASSES = 10
"""Passes with dropout."""


class Lineup(NamedTuple):
    """What is needed to measure a task."""

    firmwares: Mapping[str, Firmware]  # by method
    inputs: Int8  # consecutive steps of a stream with clean and corrupted stretches
    # Share of clean test examples that each method is right on, in the arithmetic of the board
    accuracy: Mapping[str, float]
    examples: int  # of that share


def methods(
    graphs: Mapping[str, Sequence[Graph]], tops: Sequence[int], paper: Params, standard: Params
) -> dict[str, Firmware]:
    """Return the firmware of every method that is compared on boards."""
    plain = list(graphs["plain"])
    if len(plain) != MEMBERS:
        raise ValueError(f"plain has {len(plain)} graphs; {MEMBERS} are needed")
    rules: dict[str, Rule] = {
        "base": Prediction(),
        "conformal": ConformalRule(tuple(tops)),
        "vote": VoteRule(),
        "tcuq_paper": Watch(paper),
        "tcuq": Watch(standard),
    }
    found = {name: Firmware(name, plain[:1], rule=rule) for name, rule in rules.items()}
    found["early_exit"] = Firmware("early_exit", graphs["exits"])
    found["hydra"] = Firmware("hydra", graphs["hydra"])
    found["mc_dropout"] = Firmware("mc_dropout", graphs["dropout"], passes=PASSES)
    found["deep"] = Firmware("deep", plain)
    return found


METHODS = ("base", "conformal", "vote", "tcuq_paper", "tcuq", "early_exit", "hydra", "mc_dropout", "deep")
"""Names of those methods, in their order."""


def line_up(
    task: str,
    weights: str | Path,
    steps: int = 200,
    tested: int = 1000,
    say: Say = print,
    sizes: ShownSizes | None = None,
) -> Lineup:
    """Take the networks of all methods, fit monitors to what they say, and see how often they are right."""
    integer("steps", steps, 1, 100_000)
    networks = TaskGraphs(task, weights, say)
    graphs = {kind: [networks.graph(name) for name in names] for kind, names in networks.names.items()}
    used, base = sizes or ShownSizes(), graphs["plain"][0]
    dev, test = (load_part(task, part) for part in ("dev", "test"))
    network = Network(base)

    def said(x: npt.NDArray[Any]) -> tuple[Int8, Int8]:
        found = network.run(input_of(base, x))
        return found["probs"], found["features"]

    log = development(dev, said, used)
    tops = said(inputs_of(some_of(dev, used.dev_examples)))[0].max(axis=1)
    features = base.tensors[base.outputs["features"]]
    monitors = {name: fitted(name, log, features.scale, features.zero) for name in ("paper", "standard")}
    firmwares = methods(graphs, (tops.astype(int) + 128).tolist(), monitors["paper"], monitors["standard"])
    few = some_of(test, tested)
    x = input_of(base, inputs_of(few))
    rates: dict[str, float] = {}
    for name, each in firmwares.items():
        # Rules on the networks of "base" are right where it is: a rule changes no prediction.
        same = name != "base" and each.graphs == firmwares["base"].graphs
        rates[name] = rates["base"] if same else accuracy(answers(each, x), few.y)
    return Lineup(firmwares, shown_inputs(task, test, base, used, steps), rates, len(few.y))


def development(dev: Dataset, said: Callable[[npt.NDArray[Any]], Any], sizes: ShownSizes) -> Log:
    """Return what a network says to a labeled development stream; `said` gives posteriors and features."""
    few = some_of(dev, sizes.dev_examples)
    learned = stream(few, "dev", suite_of(dev.name).seen, sizes, 1, sizes.dev_steps)
    shows = examples(few, learned.sources, seed=2 * sizes.seed)
    return learned.log({source: said(x) for source, x in shows})


def fitted(profile: Literal["standard", "paper"], log: Log, scale: float | None, zero: int | None) -> Params:
    """Return a monitor of the network's prediction that is fitted to what it says."""
    return fit(
        log,
        profile=profile,
        about="prediction",
        level="budget",
        budget=0.1,
        run_length=1000,
        force=True,
        options=FitOptions(
            use_features=scale is not None, feature_scale=scale, feature_zero_point=zero, explain=False
        ),
    )


def answers(firmware: Firmware, x: Int8) -> npt.NDArray[np.int64]:
    """Return the predictions of a firmware, its members averaged as the board does."""
    sums = np.zeros((len(x), firmware.classes), np.int64)
    for graph in firmware.graphs:
        network = Network(graph)
        for _ in range(firmware.passes):
            said = network.run(x)
            for name in posteriors(graph):
                sums += said[name].astype(np.int64) + 128
    members = firmware.members
    return np.asarray(((sums + members // 2) // members).argmax(axis=1), dtype=np.int64)


def shown_inputs(task: str, test: Dataset, graph: Graph, sizes: ShownSizes, steps: int) -> Int8:
    """Return consecutive inputs of a test stream, a row a step."""
    few = some_of(test, sizes.examples)
    unseen: Sequence[str] = suite_of(task).unseen
    shown = stream(few, "test", unseen[: sizes.kinds], sizes, 2, steps)
    used = [shown.sources[place] for place in sorted(set(shown.source.tolist()))]
    banks = {
        source: input_of(graph, x).reshape(len(x), -1)
        for source, x in examples(few, used, seed=2 * sizes.seed + 1)
    }
    rows = [
        banks[shown.sources[place]][index] for place, index in zip(shown.source, shown.index, strict=True)
    ]
    return np.stack(rows)
