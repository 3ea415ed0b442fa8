"""The methods of a task as firmware, from weights and data: int8 networks, fitted monitors, a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, known
from tcuq.device.cost.bench import methods
from tcuq.device.firmware.firmware import Firmware, posteriors
from tcuq.device.graph.model import Graph, Int8
from tcuq.device.kernels.host import Network
from tcuq.fitting import fit
from tcuq.metrics import accuracy
from tcuq.monitor.log import Log
from tcuq.monitor.params import Params

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..methods.networks import names_of, suffix_of
from ..methods.registry import method
from ..zoo.bank import examples
from ..zoo.examples import inputs_of
from .calibrate import calibration, narrowed, quantize_file
from .quantize import input_of
from .shown import Sizes, some_of, stream

BACKBONES = {"speech_commands": "dscnn", "cifar10": "resnet8", "mnist": "cnn4"}
SEVERAL = {"exits": "early_exit", "hydra": "hydra", "dropout": "mc_dropout"}
"""Networks of recipes of their own, and the methods that they belong to."""


class Lineup(NamedTuple):
    """What is needed to measure a task.

    Parameters
    ----------
    firmwares : mapping of str to Firmware
        By method.
    inputs : int8 array (steps, bytes)
        Consecutive steps of a stream with clean and corrupted stretches.
    accuracy : mapping of str to float
        Share of clean test examples that each method is right on, in the arithmetic of the board.
    examples : int
        Of that share.
    """

    firmwares: Mapping[str, Firmware]
    inputs: Int8
    accuracy: Mapping[str, float]
    examples: int


def line_up(task: str, weights: str | Path = "weights", steps: int = 200, tested: int = 1000) -> Lineup:
    """Quantize the networks of all methods, fit monitors to what they say, and see how often they are right.

    Parameters
    ----------
    task : str
        "speech_commands", "cifar10" or "mnist"; its data must be at hand.
    weights : path
        Folder.
    steps : int
        Of the stream of inputs.
    tested : int
        Clean test examples for the accuracy, evenly spread.
    """
    backbone, home = BACKBONES[known("task on boards", task, BACKBONES)], Path(weights)
    integer("steps", steps, 1, 100_000)
    sizes = Sizes()
    dev, test = (load_part(task, part) for part in ("dev", "test"))
    given = calibration(task)
    through = narrowed(home / f"{backbone}-0.npz")
    plain = [quantize_file(home / f"{backbone}-0.npz", projection=through, given=given)]
    shared: Any = {"given": given, "entry": _entry(plain[0])}  # members see one input
    plain += [quantize_file(home / f"{backbone}-{seed}.npz", **shared) for seed in range(1, 5)]
    several = {
        name: [quantize_file(home / f"{_name(method_name, backbone, home)}.npz", **shared)]
        for name, method_name in SEVERAL.items()
    }
    network = Network(plain[0])
    log = development(task, dev, plain[0], network, sizes)
    tops = network.run(input_of(plain[0], inputs_of(some_of(dev, sizes.dev_examples))))["probs"].max(axis=1)
    features = plain[0].tensors[plain[0].outputs["features"]]
    monitors = {name: fitted(name, log, features.scale, features.zero) for name in ("paper", "extended")}
    firmwares = methods(
        {"plain": plain, **several},
        (tops.astype(int) + 128).tolist(),
        monitors["paper"],
        monitors["extended"],
    )
    few = some_of(test, tested)
    x = input_of(plain[0], inputs_of(few))
    rates = {name: accuracy(answers(each, x), few.y) for name, each in firmwares.items()}
    return Lineup(firmwares, shown_inputs(task, test, plain[0], sizes, steps), rates, len(few.y))


def _entry(graph: Graph) -> tuple[float, int]:
    tensor = graph.tensors[graph.input]
    return tensor.scale, tensor.zero


def _name(method_name: str, backbone: str, home: Path) -> str:
    kind = method(method_name)
    return names_of(kind, backbone, 0, suffix_of(kind, backbone, home))[0]


def development(task: str, dev: Dataset, graph: Graph, network: Network, sizes: Sizes) -> Log:
    """Return what a network says to a labeled development stream.

    Parameters
    ----------
    task : str
    dev : Dataset
    graph : Graph
    network : Network
    sizes : Sizes
    """
    few = some_of(dev, sizes.dev_examples)
    learned = stream(few, "dev", suite_of(task).seen, sizes, 1, sizes.dev_steps)
    bank = {}
    for source, x in examples(few, learned.sources, seed=2 * sizes.seed):
        said = network.run(input_of(graph, x))
        bank[source] = (said["probs"], said["features"])
    return learned.log(bank)


def fitted(profile: str, log: Log, scale: float, zero: int) -> Params:
    """Return a monitor that is fitted to what a network says.

    Parameters
    ----------
    profile : str
    log : Log
    scale, zero
        Of the features.
    """
    return fit(
        log,
        profile=profile,
        level="budget",
        budget=0.1,
        run_length=1000,
        use_features=True,
        feature_scale=scale,
        feature_zero_point=zero,
        explain=False,
    )


def answers(firmware: Firmware, x: Int8) -> npt.NDArray[np.int64]:
    """Return the labels of a firmware, its members averaged as the board does.

    Parameters
    ----------
    firmware : Firmware
    x : int8 array (n, ...)
        Inputs.
    """
    sums = np.zeros((len(x), firmware.classes), np.int64)
    for graph in firmware.graphs:
        network = Network(graph)
        for _ in range(firmware.passes):
            said = network.run(x)
            for name in posteriors(graph):
                sums += said[name].astype(np.int64) + 128
    members = firmware.members
    return np.asarray(((sums + members // 2) // members).argmax(axis=1), dtype=np.int64)


def shown_inputs(task: str, test: Dataset, graph: Graph, sizes: Sizes, steps: int) -> Int8:
    """Return consecutive inputs of a test stream, a row a step.

    Parameters
    ----------
    task : str
    test : Dataset
    graph : Graph
    sizes : Sizes
    steps : int
    """
    few = some_of(test, sizes.examples)
    unseen: Sequence[str] = suite_of(task).unseen
    plan = stream(few, "test", unseen[: sizes.kinds], sizes, 2, steps)
    used = [plan.sources[place] for place in sorted(set(plan.source.tolist()))]
    banks = {
        source: input_of(graph, x).reshape(len(x), -1)
        for source, x in examples(few, used, seed=2 * sizes.seed + 1)
    }
    rows = [banks[plan.sources[place]][index] for place, index in zip(plan.source, plan.index, strict=True)]
    return np.stack(rows)
