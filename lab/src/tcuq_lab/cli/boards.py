"""`tcuq-lab boards`: stock monitors, int8 graphs of our networks, tables of methods on boards, the page."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcuq.base.checks import integer
from tcuq.cli.common import answer, note, progress
from tcuq.cli.process import UsageError, tell
from tcuq_device.boards import board
from tcuq_device.cli.shared import energy, span
from tcuq_device.cost.agree import first_difference
from tcuq_device.graph.model import Graph
from tcuq_device.graph.storage import load_graph, save_graph

from ..boards import costs
from ..boards.costs import result
from ..changes import put
from ..experiments.boards import BOARDS, SPEC
from ..experiments.run import run
from ..home import folder, library
from ..pages.device import page
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import run_size

HEADROOMS = (1.0, 4.0)


def _say(args: argparse.Namespace) -> Callable[[str], None]:
    return lambda line: note(args, line)


def _weights(args: argparse.Namespace) -> Path:
    return folder(args.weights, "weights")


def _results(args: argparse.Namespace, file: str, part: bool = False) -> Path:
    """Return where figures are stored; what cannot be written is refused before minutes of work."""
    return _writable(args, folder(args.results, "results/device") / file, part)


def _writable(args: argparse.Namespace, path: Path, part: bool) -> Path:
    if args.write and part:
        raise UsageError(f"--write stores all of {path.name}; leave out what chooses a part")
    if args.write and not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a folder; --write needs one that exists")
    return path


def _keep(args: argparse.Namespace, path: Path, found: dict[str, Any], part: bool) -> None:
    """Say how figures differ from the stored ones, and store them when told to."""
    put(path, json.dumps(found, indent=1, allow_nan=False) + "\n", args.write, _say(args), part)


def bench(args: argparse.Namespace) -> int:
    """Measure stock monitors, and compare; store only when told to."""
    for name in args.board or ():
        board(name)  # refused before anything is built
    path = _writable(args, folder(args.stored, "../bench/monitors.json"), bool(args.board))
    if args.check and not path.exists():
        raise UsageError(f"{path} does not exist, so there is nothing to check against: pass --stored FILE")
    stored = costs.load(path) if args.check else None
    with progress(args) as bar:
        found = costs.bench_monitors(args.board, progress=bar)
    found["goals"] = costs.goals(found)
    answer(args, found, _monitors(found))
    said: list[str] = []
    if stored is not None and stored["compiler"] != found["compiler"]:
        note(args, f"not compared: {path} is of {stored['compiler']}, this is {found['compiler']}")
    elif stored is not None:
        said = _stale(stored["measured"], found["measured"])
        for line in said:
            tell(f"{args.program}: stale: {line}")
    if args.write or not args.check:
        _keep(args, path, found, bool(args.board))
    return 1 if said else 0


def _stale(stored: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the monitors whose stored figures are not those just measured."""

    def named(entry: Mapping[str, Any]) -> str:
        return f"{entry['board']}, {entry['name']}, {entry['level']}"

    def figures(entry: Mapping[str, Any]) -> str:
        more, counts = entry["overhead"], entry["step"]["instructions"]
        return f"{more['flash']:,} bytes of flash, {more['ram']:,} of RAM, {counts['mean']:,.1f} instructions"

    known = {named(each): each for each in stored}
    return [
        f"{named(each)}: {figures(known[named(each)])} stored, {figures(each)} now"
        if named(each) in known
        else f"{named(each)}: not stored"
        for each in found
        if known.get(named(each)) != each
    ]


def _monitors(found: Mapping[str, Any]) -> str:
    """Return the figures of monitors as a table for people."""
    lines = [
        f"{found['compiler']}; {found['emulator']}",
        "flash and RAM: what a monitor adds to a firmware with a network; instructions: counted; "
        "cycles and energy: estimates without wait states",
        f"{'board':<12} {'monitor':<27} {'level':<5} {'flash':>6} {'RAM':>5} {'instructions per step':>24} "
        f"{'cycles':>15} {'microjoules':>12}",
    ]
    for entry in found["measured"]:
        more, step = entry["overhead"], entry["step"]
        counts = step["instructions"]
        mean = f"{counts['mean']:,.0f} ({counts['least']:,}-{counts['most']:,})"
        cycles = step["cycles"] or {}
        lines.append(
            f"{entry['board']:<12} {entry['name']:<27} {entry['level']:<5} {more['flash']:>6,} "
            f"{more['ram']:>5,} {mean:>24} {span([cycles.get('least'), cycles.get('most')], ',.0f'):>15} "
            f"{span(*energy(cycles.get('microjoules', [None, None]))):>12}"
        )
    for held in found["goals"]:
        words = [
            f"{name} {value:,.0f} of {most:,}{'' if value <= most else ' MISSED'}"
            for name, (value, most) in ((name, held[name]) for name in ("flash", "ram", "instructions"))
        ]
        lines.append(f"goals of {held['name']} on stm32l432kc at {held['level']}: {', '.join(words)}")
    return "\n".join(lines)


def quantize(args: argparse.Namespace) -> int:
    """Quantize one network, or all of a task, and compare with what is stored."""
    if (args.weights_file is None) == (not args.task):
        raise UsageError("one of WEIGHTS and --task is needed")
    if args.task and args.out:
        raise UsageError("--out is for one file of WEIGHTS; --write stores the graphs of a task")
    if args.write and not args.task:
        raise UsageError("--write stores the graphs of a task; --out names the file of a single one")
    _torch()
    return _quantize_tasks(args) if args.task else _quantize_one(args)


def _quantize_one(args: argparse.Namespace) -> int:
    from ..boards.graphs import narrowed, quantize_file, stored_path

    integer("--features", args.features, 1, 32)
    if args.out and not Path(args.out).resolve().parent.is_dir():
        raise UsageError(f"{Path(args.out).parent} is not a folder; -o needs one that exists")
    graph = quantize_file(args.weights_file, projection=narrowed(args.weights_file, args.features))
    count, said = _compared(graph, stored_path(args.weights_file))
    if args.out:
        save_graph(args.out, graph)
    weights = sum(step.weights.size for step in graph.steps if hasattr(step, "weights"))
    found = {"file": args.out, "steps": len(graph.steps), "weights": weights, "outputs": dict(graph.outputs)}
    name = args.out or graph.name
    text = f"{name}: {len(graph.steps)} steps, {weights:,} bytes of weights\n{said}"
    answer(args, {**found, "differs": count}, text)
    return 0


def _quantize_tasks(args: argparse.Namespace) -> int:
    from ..boards.graphs import FOLDER, TaskGraphs

    home = _weights(args)
    if args.write and not (home / FOLDER).is_dir():
        raise UsageError(f"{home / FOLDER} is not a folder; --write needs one that exists")
    found: dict[str, Any] = {}
    for networks in [TaskGraphs(task, home, _say(args)) for task in args.task]:
        for name in (each for names in networks.names.values() for each in names):
            graph = networks.quantized(name)
            found[name], said = _compared(graph, networks.path(name))
            note(args, f"{name}: {said}")
            if args.write:
                save_graph(networks.path(name), graph)
                note(args, f"written: {networks.path(name)}")
    same = sum(count == 0 for count in found.values())
    answer(args, {"differs": found}, f"{same} of {len(found)} graphs are the stored ones to the bit")
    return 0


def _compared(graph: Graph, path: Path) -> tuple[int | None, str]:
    """Return how many values differ from a stored graph, and that in words."""
    from ..boards.graphs import difference

    if not path.exists():
        return None, f"no stored graph at {path} to compare with"
    found = difference(graph, load_graph(path))
    if found is None:
        return None, f"{path} has other steps or shapes"
    return found.values, f"{found.values:,} of {found.of:,} values differ from {path}"


def table(args: argparse.Namespace) -> int:
    """Measure all methods, as `tcuq-lab reproduce boards` does, but everything anew."""
    _torch()
    path = _results(args, "table.json", bool(args.task))
    chosen = replace(SPEC.narrowed(args.task or (), ()), steps=args.steps)
    with tempfile.TemporaryDirectory() as kept, progress(args) as bar:
        outcome = run(chosen, Recordings(str(_weights(args)), kept, run_size("full")), bar)
    rates = {name: outcome.about[name] for name in ("accuracy", "examples")}
    found = {**result("table", outcome.lines), **rates}
    answer(args, found, chosen.shown(outcome))
    _keep(args, path, found, bool(args.task))
    return 0


def replay(args: argparse.Namespace) -> int:
    """Compare boards with Python, step by step; exit 1 where they differ."""
    _torch()
    from ..boards.lineup import line_up

    path, weights = _results(args, "replay.json", bool(args.task)), _weights(args)
    result("replay", [])  # its tools are refused before minutes of work
    tasks, found = SPEC.narrowed(args.task or (), ()).tasks, []
    with progress(args) as bar:
        for number, task in enumerate(tasks):
            bar(number, len(tasks), task)
            up = line_up(task, weights, args.steps, say=_say(args))
            for name in BOARDS:
                for monitor in ("tcuq_paper", "tcuq"):
                    at = first_difference(up.firmwares[monitor], board(name), up.inputs)
                    about = {"task": task, "board": name, "monitor": monitor}
                    found.append({**about, "steps": len(up.inputs), "differs": at})
    lines = [
        f"{each['task']:<16} {each['board']:<12} {each['monitor']:<11} {each['steps']} steps: "
        + ("the same as in Python" if each["differs"] is None else f"differs from step {each['differs']} on")
        for each in found
    ]
    answer(args, {"replayed": found}, "\n".join(lines))
    _keep(args, path, result("replay", found), bool(args.task))
    return int(any(each["differs"] is not None for each in found))


def accuracy(args: argparse.Namespace) -> int:
    """Measure what int8 costs; exit 1 where it is more than the bounds allow."""
    _torch()
    from ..boards.accuracy import NETWORKS, line, report
    from ..boards.steps import QuantizeSettings

    reach = args.headroom or HEADROOMS
    part = bool(args.networks) or reach != HEADROOMS
    path = _results(args, "accuracy.json", part)
    settings = [QuantizeSettings(headroom=each) for each in reach]
    found = report(_weights(args), args.networks or NETWORKS, settings=settings, say=_say(args))
    answer(args, found, "\n".join(line(row) for row in found["networks"]))
    if reach == HEADROOMS:
        _keep(args, path, found, part)
    else:
        note(args, f"not compared: {path} is of headrooms {', '.join(f'{each:g}' for each in HEADROOMS)}")
    return 0 if all(row["met"] for row in found["networks"]) else 1


def write_page(args: argparse.Namespace) -> int:
    """Say how the page differs from what the files give, and write it when told to."""
    home = folder(args.results, "results/device")
    path = folder(args.out, "../docs/DEVICE.md").resolve()
    text = page(home, folder(args.monitors, "../bench/monitors.json").resolve())
    same = path.exists() and path.read_text(encoding="utf-8") == text
    answer(args, {"same": same}, "the page is what the results give" if same else f"{path} is out of date")
    if not same or args.write:
        put(path, text, args.write, _say(args))
    return 1 if args.check and not same else 0


def _torch() -> None:
    library("torch", "to read networks")
