"""What every method costs on boards: one table of networks, rules and monitors."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq.monitor.params import Params
from tcuq_device.boards import board
from tcuq_device.cost.measure import made_stream, measure, overhead
from tcuq_device.firmware.build import Levels
from tcuq_device.firmware.decision import Prediction, Rule, Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Int8

from .bench import STEPS, Progress, silent
from .rivals import ConformalRule, VoteRule
from .stored import result

PASSES = 10
"""Passes with dropout."""


def methods(
    graphs: Mapping[str, Sequence[Graph]], tops: Sequence[int], paper: Params, standard: Params
) -> dict[str, Firmware]:
    """Return the firmware of every method that is compared on boards."""
    plain = list(graphs["plain"])
    if len(plain) != 5:
        raise ValueError(f"plain has {len(plain)} graphs; 5 are needed")
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


def table(
    tasks: Mapping[str, tuple[Mapping[str, Firmware], Int8]],
    boards: Sequence[str] = ("stm32l432kc", "stm32f767zi"),
    steps: int = STEPS,
    levels: Levels | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Measure every method of every task on boards."""
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
