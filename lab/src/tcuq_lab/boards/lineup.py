"""The methods of a task as firmware, from weights and data: int8 networks, fitted monitors, a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.fitting import FitOptions, fit
from tcuq.log.log import Log
from tcuq.monitor.params import Params
from tcuq_device.firmware.firmware import Firmware, posteriors
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Int8
from tcuq_device.kernels.host import Network

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..metrics import accuracy
from ..zoo.bank import examples
from ..zoo.examples import inputs_of
from .calibrate import ShownSizes, some_of, stream
from .quantize import input_of
from .stored_graphs import Say, TaskGraphs
from .table import methods


class Lineup(NamedTuple):
    """What is needed to measure a task."""

    firmwares: Mapping[str, Firmware]  # by method
    inputs: Int8  # consecutive steps of a stream with clean and corrupted stretches
    # Share of clean test examples that each method is right on, in the arithmetic of the board
    accuracy: Mapping[str, float]
    examples: int  # of that share


def line_up(task: str, weights: str | Path, steps: int = 200, tested: int = 1000, say: Say = print) -> Lineup:
    """Take the networks of all methods, fit monitors to what they say, and see how often they are right."""
    integer("steps", steps, 1, 100_000)
    networks = TaskGraphs(task, weights, say)
    graphs = {kind: [networks.graph(name) for name in names] for kind, names in networks.names.items()}
    sizes, base = ShownSizes(), graphs["plain"][0]
    dev, test = (load_part(task, part) for part in ("dev", "test"))
    network = Network(base)
    log = development(task, dev, base, network, sizes)
    tops = network.run(input_of(base, inputs_of(some_of(dev, sizes.dev_examples))))["probs"].max(axis=1)
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
    return Lineup(firmwares, shown_inputs(task, test, base, sizes, steps), rates, len(few.y))


def development(task: str, dev: Dataset, graph: Graph, network: Network, sizes: ShownSizes) -> Log:
    """Return what a network says to a labeled development stream."""
    few = some_of(dev, sizes.dev_examples)
    learned = stream(few, "dev", suite_of(task).seen, sizes, 1, sizes.dev_steps)
    bank = {}
    for source, x in examples(few, learned.sources, seed=2 * sizes.seed):
        said = network.run(input_of(graph, x))
        bank[source] = (said["probs"], said["features"])
    return learned.log(bank)


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
