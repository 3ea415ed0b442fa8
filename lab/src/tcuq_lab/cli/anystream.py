"""`tcuq-lab anystream`: one monitor per network on streams of every pace."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, comma_list, declare, note, progress
from tcuq.cli.edge import UsageError

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "anystream",
        "fit one monitor per network and judge it on streams of every pace",
        "tcuq-lab anystream --task cifar10 --seeds 0",
        anystream,
    )
    option = parser.add_argument
    option("--task", action="append", metavar="T", help="only this dataset; may be repeated")
    option("--seeds", type=comma_list(int), metavar="N,N", help="networks (default: 0,1,2)")
    option("--dev", default="changing", metavar="D", help="development stream: changing (default) or mixed")
    option("--cache", metavar="DIR", help="network outputs (default: out/anystream of the checkout)")
    option("--weights", metavar="DIR", help="folder of checkpoints (default: lab/weights of the checkout)")
    option("--device", default="cpu", metavar="D", help="cpu (default), cuda or auto")
    option("--results", metavar="DIR", help="folder of the result (default: lab/results of the checkout)")
    option("--docs", metavar="DIR", help="folder of ANY_STREAM.md (default: docs of the checkout)")
    option("--write", action="store_true", help="write result and page, after showing what changes")
    option("--fill", action="store_true", help="only run the networks, and keep their outputs")
    option("--page", action="store_true", help="only compare the page with the stored result, or write it")
    option("--check", action="store_true", help="with --page: exit with 1 if the page is out of date")


def anystream(args: argparse.Namespace) -> int:
    """Run the experiment, or make its page."""
    from tcuq.base.checks import known

    from ..home import folder
    from ..reproduce.any_stream.plan import BACKBONES, DEVELOPMENTS

    if args.page:
        return _page(args)
    if args.check:
        raise UsageError("--check goes with --page")
    if args.write and (args.task or args.seeds):
        raise UsageError("--write stores the whole experiment: leave out --task and --seeds")
    tasks = [known("task", task, BACKBONES) for task in args.task or BACKBONES]
    development = known("dev", args.dev, DEVELOPMENTS)
    try:
        from ..zoo.make import find_device
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("PyTorch is needed to run networks: pip install 'tcuq-lab[all]'") from None
    from ..changes import update
    from ..pages.any_stream import summary
    from ..reproduce.any_stream.lines import Found, entries
    from ..reproduce.any_stream.plan import UnitPlan
    from ..reproduce.any_stream.run import NAME, SEEDS, fill, result_text, run
    from ..reproduce.stream_logs import StreamLogs
    from ..reproduce.table import plain

    seeds = tuple(dict.fromkeys(args.seeds or SEEDS))
    cache = folder(args.cache, "../out/anystream")
    logs = StreamLogs(cache, args.weights, find_device(args.device))
    with progress(args) as bar:
        if args.fill:
            fill([UnitPlan(t, s, development=development) for s in seeds for t in tasks], logs, bar)
            answer(args, {"cache": str(cache)}, f"the outputs are in {cache}")
            return 0
        lines = run(tuple(dict.fromkeys(tasks)), seeds, logs, development=development, progress=bar)
    answer(args, {"lines": plain(entries(lines))}, summary(Found(lines)))
    path = folder(args.results, "results") / f"{NAME}.json"
    if not args.task and not args.seeds:
        found = update(path, result_text(lines, seeds, development))
        for text in found.lines():
            note(args, text)
        if args.write:
            found.write()
            return _page(args)
        if found.state != "same":
            note(args, "nothing written; --write writes")
    return 0


def _page(args: argparse.Namespace) -> int:
    from ..changes import update
    from ..home import folder
    from ..pages.any_stream import page
    from ..reproduce.any_stream.run import NAME

    if args.write and args.check:
        raise UsageError("--write and --check exclude each other: --check writes nothing")
    text = page(folder(args.results, "results") / f"{NAME}.json")
    found = update(folder(args.docs, "../docs") / "ANY_STREAM.md", text)
    for each in found.lines():
        note(args, each)
    if args.write:
        found.write()
    return int(args.check and found.state != "same")
