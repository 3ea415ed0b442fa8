"""What the monitor costs on every board, and tables of methods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...export.softmax import softmax_table
from ...monitor.params import Params
from ...monitor.signals import profile_signals
from ..boards import Board, board, names
from ..firmware.build import Levels
from ..firmware.decision import Conformal, Label, Rule, Vote, Watch
from ..firmware.firmware import Firmware
from ..graph.model import Conv, Dense, Graph, MeanPool, Softmax, Step, Tensor
from .made_stream import made_stream
from .measure import measure, overhead
from .stored import result

STEPS = 1000
CLASSES, FEATURES = 10, 32
LEVELS = ("-Os", "-O2", "-O3")
GOALS = {"flash": 4096, "ram": 512, "instructions": 2500}
"""What the paper's profile may add to a firmware on the Cortex-M4 with 10 classes and 32 features."""
PASSES = 10
"""Passes with dropout."""

Int8 = npt.NDArray[np.int8]
Progress = Callable[[int, int, str], None]


def monitors() -> dict[str, Params]:
    """Return the monitors that are measured, by profile.

    Examples
    --------
    >>> sorted(monitors())
    ['extended', 'paper', 'paper, posteriors alone']
    """
    shapes = {"paper": FEATURES, "extended": FEATURES, "paper, posteriors alone": 0}
    return {
        name: Params(
            classes=CLASSES,
            features=width,
            feature_zero_point=-128,
            signals=profile_signals(name.partition(",")[0], width),
        )
        for name, width in shapes.items()
    }


def small_graph() -> Graph:
    """Return a network of one convolution with weights of no meaning: something to put a monitor beside."""
    side, inputs = 6, 4
    draw = np.random.PCG64(1).random_raw(FEATURES * 9 * inputs + CLASSES * FEATURES) >> np.uint64(56)
    weights = (draw.astype(np.int64) - 128).astype(np.int8)
    kernels = weights[: FEATURES * 9 * inputs].reshape(FEATURES, 3, 3, inputs)
    matrix = weights[FEATURES * 9 * inputs :].reshape(CLASSES, FEATURES)
    tensors = [
        Tensor("input", (side, side, inputs), 1 / 256, -128),
        Tensor("hidden", (side, side, FEATURES), 0.1, -128),
        Tensor("features", (FEATURES,), 0.1, -128),
        Tensor("logits", (CLASSES,), 0.1, 0),
        Tensor("probs", (CLASSES,), 1 / 256, -128),
    ]
    pad = np.full(inputs, -128, np.int8)
    steps: list[Step] = [
        Conv("input", "hidden", kernels, _row(FEATURES, 0), _row(FEATURES, 1 << 23), 1, (1, 1, 1, 1), pad),
        MeanPool("hidden", "features", side * side * 128, 2**32 // (side * side)),
        Dense("features", "logits", matrix, _row(CLASSES, 0), _row(CLASSES, 1 << 24)),
        Softmax("logits", "probs", softmax_table(0.1)),
    ]
    outputs = {"probs": "probs", "features": "features"}
    return Graph("small", {tensor.name: tensor for tensor in tensors}, steps, "input", outputs)


def _row(count: int, value: int) -> npt.NDArray[np.int32]:
    return np.full(count, value, np.int32)


def _silent(done: int, total: int, text: str) -> None:
    pass


def bench_monitors(
    boards: Sequence[str] | None = None,
    steps: int = STEPS,
    levels: Sequence[str] = LEVELS,
    progress: Progress = _silent,
    only: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure every monitor on every board at every level.

    Parameters
    ----------
    boards : sequence of str, optional
        Default: all.
    steps : int
    levels : sequence of str
        How hard the compiler tries with the monitor.
    progress : callable
    only : sequence of str, optional
        Names of `monitors` to measure.

    Returns
    -------
    dict
        A result file's content. `overhead` is what a monitor adds to a firmware with a network, `alone` what
        it adds to one without, where it must bring the library's functions itself.
    """
    wanted = list(boards or names())
    jobs = [(name, level, monitor) for name in wanted for level in levels for monitor in only or monitors()]
    found = []
    with tempfile.TemporaryDirectory() as kept:
        for number, (name, level, monitor) in enumerate(jobs):
            progress(number, len(jobs), f"{name} {level} {monitor}")
            found.append(_bench_monitor(board(name), level, monitor, steps, Path(kept)))
    return result("monitors", found)


def _bench_monitor(on: Board, level: str, name: str, steps: int, kept: Path) -> dict[str, Any]:
    params = monitors()[name]
    tried = Levels(rule=level)
    shape = (params.classes, params.features)
    rows = made_stream(*shape, steps)
    watched, _ = measure(Firmware(name, rule=Watch(params), shape=shape), on, rows, tried, kept)
    bare, _ = measure(Firmware("label", shape=shape), on, rows[:1], tried, kept)
    graph = small_graph()
    pictures = made_stream(2, graph.tensors["input"].size - 2, 4)
    beside, _ = measure(Firmware(name, [graph], rule=Watch(params)), on, pictures, tried, kept)
    network, _ = measure(Firmware("label", [graph]), on, pictures, tried, kept)
    return {
        "name": name,
        "board": on.name,
        "level": level,
        "classes": params.classes,
        "features": params.features,
        "flash": watched["flash"],
        "ram": watched["ram"],
        "among": watched["among"],
        "step": watched["rule"],
        "alone": overhead(watched, bare),
        "overhead": overhead(beside, network),
    }


def goals(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Hold the paper's profile on the Cortex-M4 against its goals, at every level.

    Parameters
    ----------
    found : mapping
        What `bench_monitors` gives.
    """
    held = []
    for entry in found["measured"]:
        if (entry["name"], entry["board"]) != ("paper", "stm32l432kc"):
            continue
        values = {**entry["overhead"], "instructions": entry["step"]["instructions"]["mean"]}
        held.append({"level": entry["level"], **{name: [values[name], most] for name, most in GOALS.items()}})
    return held


def methods(
    graphs: Mapping[str, Sequence[Graph]], tops: Sequence[int], paper: Params, extended: Params
) -> dict[str, Firmware]:
    """Return the firmware of every method that is compared on boards.

    Parameters
    ----------
    graphs : mapping of str to sequence of Graph
        "plain": five networks of one recipe; "exits", "hydra" and "dropout": one each, the first two with an
        output a member, the third with dropout.
    tops : sequence of int
        Largest posteriors of clean examples, 0 to 255, for the conformal rule.
    paper, extended : Params
    """
    plain = list(graphs["plain"])
    if len(plain) != 5:
        raise ValueError(f"plain has {len(plain)} graphs; 5 are needed")
    rules: dict[str, Rule] = {
        "base": Label(),
        "conformal": Conformal(tuple(tops)),
        "vote": Vote(),
        "tcuq_paper": Watch(paper),
        "tcuq": Watch(extended),
    }
    found = {name: Firmware(name, plain[:1], rule=rule) for name, rule in rules.items()}
    found["early_exit"] = Firmware("early_exit", graphs["exits"])
    found["hydra"] = Firmware("hydra", graphs["hydra"])
    found["mc_dropout"] = Firmware("mc_dropout", graphs["dropout"], passes=PASSES)
    found["deep"] = Firmware("deep", plain)
    return found


def table(
    tasks: Mapping[str, tuple[Mapping[str, Firmware], Int8]],
    boards: Sequence[str] = ("stm32l432kc", "stm32f767zi"),
    steps: int = STEPS,
    levels: Levels | None = None,
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Measure every method of every task on boards.

    Parameters
    ----------
    tasks : mapping of str to (firmwares, inputs)
        Inputs are the rows that the networks see, a step each; more of them take longer and change little,
        since a network takes the same instructions for all but dropout.
    boards : sequence of str
    steps : int
        Steps over which the rule alone is counted, on a made-up stream.
    levels : Levels, optional
    progress : callable

    Returns
    -------
    dict
        A result file's content. What does not fit has `over`, the linker's verdict in bytes; a rule on the
        networks of "base" has `overhead`, what it adds to that.
    """
    jobs = [(task, name, on) for task, (firmwares, _) in tasks.items() for on in boards for name in firmwares]
    bases: dict[tuple[str, str], dict[str, Any]] = {}
    found = []
    with tempfile.TemporaryDirectory() as kept:
        for number, (task, name, on) in enumerate(jobs):
            progress(number, len(jobs), f"{task} {name} {on}")
            firmware, inputs = tasks[task][0][name], tasks[task][1]
            entry, ran = measure(firmware, board(on), inputs, levels, Path(kept))
            entry = {"task": task, **entry, "passes": firmware.passes, "members": firmware.members}
            if name == "base":
                bases[task, on] = entry
            if ran is not None:
                shape = (firmware.classes, firmware.features)
                rows = made_stream(*shape, steps)
                alone, _ = measure(
                    Firmware(name, rule=firmware.rule, shape=shape), board(on), rows, levels, Path(kept)
                )
                entry["rule"] = alone["rule"]
                base = bases.get((task, on))
                if (
                    base is not None
                    and "over" not in base
                    and firmware.graphs == tasks[task][0]["base"].graphs
                ):
                    entry["overhead"] = overhead(entry, base)
            found.append(entry)
    return result("table", found)
