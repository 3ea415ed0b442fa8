"""`tcuq device cost`: a monitor or a network on an emulated board, and what it takes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, need_files
from tcuq.cli.parser import declare

from .shared import energy, estimate, expect_graph

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

    from ..boards import Board

LEVELS = ("Os", "O2", "O3")
MOST_STEPS = 100_000
MONITOR_STEPS, NETWORK_STEPS = 1000, 2
"""Counted by default. A network takes about as many instructions for one input as for another."""


def add(actions: Subparsers) -> None:
    """Declare the action."""
    parser = declare(
        actions,
        "cost",
        "count the bytes and instructions of a monitor or a network on a board",
        "tcuq device cost monitor.json\ntcuq device cost model.npz --params monitor.json",
        command,
        "tcuq export monitor.json firmware/ --name door",
    )
    option = parser.add_argument
    option(
        "file",
        metavar="FILE",
        help="parameter file of a monitor, or int8 graph (.npz), from tcuq device import",
    )
    option("--params", metavar="PARAMS", help="parameter file of a monitor behind the network")
    option("--board", default="stm32l432kc", metavar="BOARD", help="board (default: stm32l432kc)")
    option(
        "--level",
        default="O2",
        choices=LEVELS,
        help="optimization level of the monitor (default: O2); networks are built with O3",
    )
    option(
        "--steps",
        type=int,
        metavar="N",
        help=f"steps to count (default: {MONITOR_STEPS}; {NETWORK_STEPS} with a network)",
    )


def command(args: argparse.Namespace) -> int:
    """Measure on one board."""
    from tcuq.base.checks import integer
    from tcuq.cli.process import UsageError

    from ..boards import board

    need_files(args, "FILE", "--params")
    on = board(args.board)
    if args.steps is not None:
        integer("--steps", args.steps, 1, MOST_STEPS)
    if Path(args.file).suffix.lower() != ".json":
        expect_graph(args.file)
    if Path(args.file).suffix.lower() == ".npz":
        return network_cost(args, on)
    if args.params is not None:
        raise UsageError(f"--params goes with a network, and {args.file} is not a graph (.npz); leave it out")
    return monitor_cost(args, on)


def monitor_cost(args: argparse.Namespace, on: Board) -> int:
    """Measure a monitor alone."""
    from tcuq.monitor.params import Params

    from ..cost.measure import made_stream, measure, overhead
    from ..firmware.build import Levels
    from ..firmware.decision import Watch
    from ..firmware.firmware import Firmware

    levels = Levels(rule=f"-{args.level}")
    params = Params.load(args.file)
    shape = (params.classes, params.features)
    rows = made_stream(*shape, args.steps or MONITOR_STEPS, sight=params.sight)
    found, _ = measure(Firmware(args.file, rule=Watch(params), shape=shape), on, rows, levels)
    found.pop("gauges", None)  # they are in the rows here: nothing to count
    if "over" in found:
        raise InputError("limit", found["said"])
    bare, _ = measure(Firmware("prediction", shape=shape), on, rows[:1, : sum(shape)], levels)
    found["overhead"] = overhead(found, bare)
    lines = [
        f"{args.file} on {on.title} at -{args.level}, added to a firmware without a monitor:",
        f"  flash         {found['overhead']['flash']:,} bytes (less if your firmware links the C library)",
        f"  RAM           {found['overhead']['ram']:,} bytes, stack included",
        *_stack(found),
        *_counts(found["rule"], "a step"),
    ]
    answer(args, found, "\n".join(lines))
    return 0


def network_cost(args: argparse.Namespace, on: Board) -> int:
    """Measure a network, with its monitor where there is one."""
    from tcuq.monitor.params import Params

    from ..cost.measure import measure
    from ..emit.application import made_inputs
    from ..firmware.build import Levels
    from ..firmware.decision import Prediction, Rule, Watch
    from ..firmware.firmware import Firmware
    from ..graph.model import products
    from ..graph.storage import load_graph

    graph = load_graph(args.file)
    rule: Rule = Prediction() if args.params is None else Watch(Params.load(args.params))
    rows = made_inputs(graph, args.steps or NETWORK_STEPS)
    found, _ = measure(Firmware(graph.name, [graph], rule=rule), on, rows, Levels(rule=f"-{args.level}"))
    if "over" in found:
        raise InputError("limit", found["said"])
    found["macs"] = products(graph)
    each = found["network"]["instructions"]["mean"] / max(1, found["macs"])
    lines = [
        f"{args.file} on {on.title}, the network at -O3:",
        f"  flash         {found['flash']['total']:,} of {on.flash_bytes:,} bytes",
        f"  RAM           {found['ram']['total']:,} of {on.ram_bytes:,} bytes, stack included "
        f"(arena {found['among']['arena']:,})",
        *_stack(found),
        *_counts(found["network"], "an inference"),
        f"  per MAC       {each:.2f} instructions, {found['macs']:,} MACs",
    ]
    if args.params is not None:
        lines.append(f"and the monitor {args.params} at -{args.level}:")
        lines += _counts(found["rule"], "a step")
        if "gauges" in found:
            lines += ["and the gauges of the input:", *_counts(found["gauges"], "a step")]
    answer(args, found, "\n".join(lines))
    return 0


def _stack(found: dict[str, Any]) -> list[str]:
    ram = found["ram"]
    return [
        f"  stack         at most {ram['stack_bound']:,} bytes (static bound), {ram['stack']:,} measured; "
        "all of the firmware's"
    ]


def _counts(region: dict[str, Any], unit: str) -> list[str]:
    counts, cycles = region["instructions"], region["cycles"] or {}
    spans, joules = [cycles.get("least"), cycles.get("most")], cycles.get("microjoules", [None, None])
    return [
        f"  instructions  {counts['mean']:,.0f} {unit} ({counts['least']:,} to {counts['most']:,}), counted",
        f"  cycles        {estimate(spans, ',.0f', unit)}",
        f"  energy        {estimate(*energy(joules), f'microjoules {unit}')}",
    ]
