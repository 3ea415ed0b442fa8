"""`tcuq-lab boards`: int8 graphs of our networks, tables of methods on boards, the page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, note, progress
from tcuq.cli.parser import declare, declare_group
from tcuq.cli.process import UsageError

from . import boards_bench
from .options import options

if TYPE_CHECKING:
    from tcuq.cli.parser import Parser, Subparsers
    from tcuq_device.graph.model import Graph

    from ..boards.lineup import Lineup

TASKS = ("mnist", "speech_commands", "cifar10")
BOARDS = ("stm32l432kc", "stm32f767zi")
HEADROOMS = (1.0, 4.0)
WEIGHTS = ("--weights", "DIR", "folder of networks (default: lab/weights)")
RESULTS = ("--results", "DIR", "folder of results (default: lab/results/device)")


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    actions = declare_group(
        subparsers,
        "boards",
        "quantize our networks and measure methods on emulated boards",
        "tcuq-lab boards replay --task mnist",
        "tcuq-lab boards page",
        about="Figures are those of the stored graphs in weights/int8. Nothing stored changes without "
        "--write.",
    )
    boards_bench.add(actions)
    _declare_quantize(actions)
    for name, about, run, steps in (
        ("table", "measure all methods on both boards", table, 10),
        ("replay", "run network and monitor on both boards and compare every step with Python", replay, 200),
    ):
        example = f"tcuq-lab boards {name} --task mnist"
        parser = declare(actions, name, about, example, run, f"tcuq-lab boards {name} --write")
        chosen = ("--task", "T", f"one of {', '.join(TASKS)} (default: all); may be repeated")
        options(parser, chosen, action="append")
        options(parser, ("--steps", "N", "inferences to run on each board", steps), WEIGHTS, RESULTS)
        _add_write(parser, f"{name}.json")
    parser = declare(
        actions,
        "accuracy",
        "compare int8 with float on whole test sets",
        "tcuq-lab boards accuracy cnn4-0",
        accuracy,
        "tcuq-lab boards table --task mnist",
    )
    networks = ("networks", "NETWORK", "weights without .npz (default: those on boards)")
    options(parser, networks, nargs="*", default=[])
    reach = ("--headroom", "M,M", "how far features and logits reach beyond calibration (default: 1,4)")
    options(parser, reach, default=HEADROOMS)
    options(parser, WEIGHTS, RESULTS)
    _add_write(parser, "accuracy.json")
    parser = declare(
        actions,
        "page",
        "compare docs/DEVICE.md with the result files, or write it",
        "tcuq-lab boards page",
        write_page,
        "tcuq-lab boards page --write",
    )
    options(
        parser,
        ("--monitors", "FILE", "figures of monitors (default: bench/monitors.json)"),
        ("--out", "FILE", "the page (default: docs/DEVICE.md of the checkout)"),
        ("--check", "", "exit 1 when the page differs"),
        RESULTS,
    )
    _add_write(parser, "the page")


def _declare_quantize(actions: Any) -> None:
    made = declare(
        actions,
        "quantize",
        "turn trained weights into an int8 graph and compare it with the stored one",
        "tcuq-lab boards quantize lab/weights/cnn4-0.npz -o cnn4.graph.npz",
        quantize,
        "tcuq device cost cnn4.graph.npz",
    )
    options(made, ("weights_file", "WEIGHTS", "file of weights; its dataset must be at hand"), nargs="?")
    options(made, ("--features", "N", "project wider features to this many", 32))
    made.add_argument("-o", "--out", metavar="FILE", help="graph to write (.npz)")
    options(made, ("--task", "T", f"all networks of a task: {', '.join(TASKS)}"), action="append")
    options(made, WEIGHTS, ("--write", "", "with --task: overwrite the stored graphs"))


def _add_write(parser: Parser, what: str) -> None:
    options(parser, ("--write", "", f"show what changed, then overwrite {what}"))


def _say(args: argparse.Namespace) -> Callable[[str], None]:
    return lambda line: note(args, line)


def _weights(args: argparse.Namespace) -> Path:
    from ..home import folder

    return folder(args.weights, "weights")


def _results(args: argparse.Namespace, file: str, part: bool = False) -> Path:
    """Return where figures are stored; what cannot be written is refused before minutes of work."""
    from ..home import folder

    home = folder(args.results, "results/device")
    if args.write and part:
        raise UsageError(f"--write stores all of {file}; leave out what chooses a part")
    if args.write and not home.is_dir():
        raise UsageError(f"{home} is not a folder; --write needs one that exists, see --results")
    return home / file


def _keep(args: argparse.Namespace, path: Path, found: dict[str, Any], part: bool) -> None:
    """Say how figures differ from the stored ones, and store them when told to."""
    from ..changes import put

    put(path, json.dumps(found, indent=1, allow_nan=False) + "\n", args.write, _say(args), part)


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
    from tcuq.base.checks import integer
    from tcuq_device.graph.storage import save_graph

    from ..boards.calibrate import narrowed, quantize_file
    from ..boards.stored_graphs import stored_path

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
    from tcuq.base.checks import known
    from tcuq_device.graph.storage import save_graph

    from ..boards.stored_graphs import FOLDER, TaskGraphs

    home = _weights(args)
    if args.write and not (home / FOLDER).is_dir():
        raise UsageError(f"{home / FOLDER} is not a folder; --write needs one that exists")
    found: dict[str, Any] = {}
    for task in [known("task on boards", each, TASKS) for each in args.task]:
        networks = TaskGraphs(task, home, _say(args))
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
    from tcuq_device.graph.storage import load_graph

    from ..boards.stored_graphs import difference

    if not path.exists():
        return None, f"no stored graph at {path} to compare with"
    found = difference(graph, load_graph(path))
    if found is None:
        return None, f"{path} has other steps or shapes"
    return found.values, f"{found.values:,} of {found.of:,} values differ from {path}"


def _lineups(args: argparse.Namespace) -> dict[str, Lineup]:
    _torch()
    from tcuq.base.checks import integer, known
    from tcuq_device.tools import version

    from ..boards.lineup import line_up

    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        version(tool)  # refused before minutes of work
    integer("--steps", args.steps, 1, 100_000)
    tasks = [known("task on boards", task, TASKS) for task in args.task or TASKS]
    home = _weights(args)
    found = {}
    with progress(args) as bar:
        for number, task in enumerate(tasks):
            bar(number, len(tasks), f"networks of {task}")
            found[task] = line_up(task, home, args.steps, say=_say(args))
    return found


def table(args: argparse.Namespace) -> int:
    """Measure all methods."""
    from ..boards.table import table as measured

    path = _results(args, "table.json", bool(args.task))
    ups = _lineups(args)
    with progress(args) as bar:
        found = measured({task: (up.firmwares, up.inputs) for task, up in ups.items()}, progress=bar)
    found["accuracy"] = {task: dict(up.accuracy) for task, up in ups.items()}
    found["examples"] = {task: up.examples for task, up in ups.items()}
    answer(args, found, "\n".join(_line(entry) for entry in found["measured"]))
    _keep(args, path, found, bool(args.task))
    return 0


def _line(entry: dict[str, Any]) -> str:
    name = f"{entry['task']:<16} {entry['board']:<12} {entry['firmware']:<11}"
    if "over" in entry:
        return f"{name} does not fit: {entry['said']}"
    count = entry["network"]["instructions"]["mean"]
    flash, ram = entry["flash"]["total"], entry["ram"]["total"]
    return f"{name} flash {flash:>9,}  RAM {ram:>8,}  instructions {count:>14,.0f}"


def replay(args: argparse.Namespace) -> int:
    """Compare boards with Python, step by step; exit 1 where they differ."""
    from tcuq_device.boards import board
    from tcuq_device.cost.agree import first_difference

    from ..boards.stored import result

    path = _results(args, "replay.json", bool(args.task))
    found, differs = [], False
    for task, up in _lineups(args).items():
        for name in BOARDS:
            for monitor in ("tcuq_paper", "tcuq"):
                at = first_difference(up.firmwares[monitor], board(name), up.inputs)
                differs |= at is not None
                found.append(
                    {"task": task, "board": name, "monitor": monitor, "steps": len(up.inputs), "differs": at}
                )
    lines = [
        f"{each['task']:<16} {each['board']:<12} {each['monitor']:<11} {each['steps']} steps: "
        + ("the same as in Python" if each["differs"] is None else f"differs from step {each['differs']} on")
        for each in found
    ]
    answer(args, {"replayed": found}, "\n".join(lines))
    _keep(args, path, result("replay", found), bool(args.task))
    return 1 if differs else 0


def accuracy(args: argparse.Namespace) -> int:
    """Measure what int8 costs; exit 1 where it is more than the bounds allow."""
    _torch()
    from ..boards.accuracy import NETWORKS, line, report
    from ..boards.steps import QuantizeSettings

    part = bool(args.networks) or args.headroom != HEADROOMS
    path = _results(args, "accuracy.json", part)
    settings = [QuantizeSettings(headroom=each) for each in args.headroom]
    found = report(_weights(args), args.networks or NETWORKS, settings=settings, say=_say(args))
    answer(args, found, "\n".join(line(row) for row in found["networks"]))
    if args.headroom == HEADROOMS:
        _keep(args, path, found, part)
    else:
        note(args, f"not compared: {path} is of headrooms {', '.join(f'{each:g}' for each in HEADROOMS)}")
    return 0 if all(row["met"] for row in found["networks"]) else 1


def write_page(args: argparse.Namespace) -> int:
    """Say how the page differs from what the files give, and write it when told to."""
    from ..boards.page import page
    from ..changes import put
    from ..home import folder

    home = folder(args.results, "results/device")
    path = folder(args.out, "../docs/DEVICE.md").resolve()
    text = page(home, folder(args.monitors, "../bench/monitors.json").resolve())
    same = path.exists() and path.read_text(encoding="utf-8") == text
    answer(args, {"same": same}, "the page is what the results give" if same else f"{path} is out of date")
    if not same or args.write:
        put(path, text, args.write, _say(args))
    return 1 if args.check and not same else 0


def _torch() -> None:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError("PyTorch is needed to read networks: pip install torch") from None
