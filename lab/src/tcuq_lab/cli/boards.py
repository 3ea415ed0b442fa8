"""`tcuq-lab boards`: int8 graphs of our networks, tables of methods on boards, the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, declare, note, progress
from tcuq.cli.edge import UsageError

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers

    from ..boards.lineup import Lineup

RESULTS = "results/device"
PAGE = "docs/DEVICE.md"
TASKS = ("mnist", "speech_commands", "cifar10")
BOARDS = ("stm32l432kc", "stm32f767zi")
HEADROOMS = (1.0, 4.0)


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    group = subparsers.add_parser(
        "boards",
        help="quantize our networks and measure methods on boards",
        description="Quantize our networks, and measure methods with them on emulated boards.",
        epilog="example:\n  tcuq-lab boards replay --task mnist",
    )
    actions = group.add_subparsers(metavar="ACTION", required=True)
    made = declare(
        actions,
        "quantize",
        "turn trained weights into an int8 graph",
        "tcuq-lab boards quantize weights/cnn4-0.npz -o cnn4.graph.npz",
        quantize,
    )
    made.add_argument("weights", metavar="WEIGHTS", help="file of weights; its data set must be at hand")
    made.add_argument(
        "--features",
        type=int,
        default=32,
        metavar="N",
        help="project wider features to so many (32)",
    )
    made.add_argument("-o", "--out", required=True, metavar="FILE", help="graph to write (.npz)")
    _measured(
        actions, "table", "measure all methods on both boards", "tcuq-lab boards table --task mnist", table
    )
    _measured(
        actions,
        "replay",
        "run network and monitor on both boards and compare every step with Python",
        "tcuq-lab boards replay --task mnist --steps 200",
        replay,
    )
    int8 = declare(
        actions,
        "accuracy",
        "hold int8 against float on whole test parts",
        "tcuq-lab boards accuracy",
        accuracy,
    )
    int8.add_argument("--weights", default="weights", metavar="DIR", help="folder of networks")
    int8.add_argument("--results", default=RESULTS, metavar="DIR", help=f"default: {RESULTS}")
    page = declare(
        actions, "page", f"write {PAGE} from the result files", "tcuq-lab boards page --check", write_page
    )
    page.add_argument("--results", default=RESULTS, metavar="DIR", help=f"default: {RESULTS}")
    page.add_argument("--out", default=PAGE, metavar="FILE", help=f"default: {PAGE}")
    page.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page differs")


def _measured(actions: Any, name: str, about: str, example: str, run: Any) -> None:
    parser = declare(actions, name, about, example, run)
    parser.add_argument(
        "--task",
        action="append",
        metavar="T",
        help=f"of {', '.join(TASKS)}; again for more; a part of them is not stored",
    )
    parser.add_argument("--weights", default="weights", metavar="DIR", help="folder of networks")
    parser.add_argument("--results", default=RESULTS, metavar="DIR", help=f"default: {RESULTS}")
    steps = 200 if name == "replay" else 10
    parser.add_argument(
        "--steps", type=int, default=steps, metavar="N", help=f"inferences a firmware (default: {steps})"
    )


def quantize(args: argparse.Namespace) -> int:
    """Write a graph."""
    _torch()
    from tcuq.base.checks import integer
    from tcuq.device.graph.storage import save_graph

    from ..boards.calibrate import narrowed, quantize_file

    integer("--features", args.features, 1, 32)
    if not Path(args.out).resolve().parent.is_dir():
        raise UsageError(f"{Path(args.out).parent} is no folder; -o needs one that exists")
    graph = quantize_file(args.weights, projection=narrowed(args.weights, args.features))
    save_graph(args.out, graph)
    weights = sum(step.weights.size for step in graph.steps if hasattr(step, "weights"))
    found = {"file": args.out, "steps": len(graph.steps), "weights": weights, "outputs": dict(graph.outputs)}
    answer(args, found, f"{args.out}: {len(graph.steps)} steps, {weights:,} bytes of weights")
    return 0


def _lineups(args: argparse.Namespace) -> dict[str, Lineup]:
    _torch()
    from tcuq.base.checks import integer, known
    from tcuq.device.tools import version

    from ..boards.lineup import line_up

    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        version(tool)  # refused before minutes of work
    integer("--steps", args.steps, 1, 100_000)
    tasks = [known("task on boards", task, TASKS) for task in args.task or TASKS]
    found = {}
    with progress(args) as bar:
        for number, task in enumerate(tasks):
            bar(number, len(tasks), f"networks of {task}")
            found[task] = line_up(task, args.weights, args.steps)
    return found


def table(args: argparse.Namespace) -> int:
    """Measure all methods, and store the figures when all tasks were asked for."""
    from tcuq.device.cost.bench import table as measured
    from tcuq.device.cost.stored import save

    whole = not args.task
    if whole:
        Path(args.results).mkdir(parents=True, exist_ok=True)
    ups = _lineups(args)
    with progress(args) as bar:
        found = measured({task: (up.firmwares, up.inputs) for task, up in ups.items()}, progress=bar)
    found["accuracy"] = {task: dict(up.accuracy) for task, up in ups.items()}
    found["examples"] = {task: up.examples for task, up in ups.items()}
    lines = [_line(entry) for entry in found["measured"]]
    answer(args, found, "\n".join(lines))
    if whole:
        save(found, Path(args.results) / "table.json")
        note(args, f"written: {Path(args.results) / 'table.json'}")
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
    from tcuq.device.boards import board
    from tcuq.device.cost.stored import result, save
    from tcuq.device.emulate.agree import first_difference

    whole = not args.task
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
    if whole:
        Path(args.results).mkdir(parents=True, exist_ok=True)
        save(result("replay", found), Path(args.results) / "replay.json")
    return 1 if differs else 0


def accuracy(args: argparse.Namespace) -> int:
    """Measure what int8 costs, and store the figures."""
    _torch()
    import json

    from tcuq.base.whole_files import write_whole

    from ..boards.accuracy import line, report
    from ..boards.steps import Settings

    Path(args.results).mkdir(parents=True, exist_ok=True)
    found = report(args.weights, settings=[Settings(headroom=each) for each in HEADROOMS])
    write_whole(Path(args.results) / "accuracy.json", json.dumps(found, indent=1, allow_nan=False) + "\n")
    answer(args, found, "\n".join(line(row) for row in found["networks"]))
    return 0 if all(row["met"] for row in found["networks"]) else 1


def write_page(args: argparse.Namespace) -> int:
    """Write the page, or say whether it is what the files give."""
    from tcuq.base.whole_files import write_whole

    from ..boards.page import page

    text, path = page(args.results), Path(args.out)
    if args.check:
        same = path.exists() and path.read_text(encoding="utf-8") == text
        answer(
            args, {"same": same}, "the page is what the results give" if same else f"{path} is out of date"
        )
        return 0 if same else 1
    write_whole(path, text)
    answer(args, {"file": str(path)}, f"wrote {path}")
    return 0


def _torch() -> None:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError("PyTorch is needed to read networks: pip install 'tcuq-lab[all]'") from None
