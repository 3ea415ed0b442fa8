"""`tcuq-lab bench`: judge a method on the streams of the benchmark, and make the leaderboard."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note, progress
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from tcuq.cli.parser import Subparsers

    from ..benchmark.results import Result
    from ..experiments.benchmark import Outcome

RESULTS = "results"
"""Folder of the built-in results, beside the streams."""
NEXT = """Judge a method on recorded streams of three networks. Type one of these:
  tcuq-lab bench confidence                      a built-in method: {names}
  tcuq-lab bench your_method.py --out results    yours; writes a result file
  tcuq-lab bench --table results/*.json          the leaderboard: yours and the built-in methods
An example of ten lines:
  tcuq-lab bench {example}
docs/BENCHMARK.md says what a method is given and what it says."""


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "bench",
        "judge a method on the streams of the benchmark",
        "tcuq-lab bench confidence\ntcuq-lab bench your_method.py --out results",
        bench,
        "tcuq-lab bench --table results/*.json",
        about="Reads a method, which is a Python file with a function; docs/BENCHMARK.md says what it is "
        "given and what it returns. Prints its scores, and with --out writes a result file for the "
        "leaderboard.",
    )
    option = parser.add_argument
    option(
        "methods",
        nargs="*",
        metavar="METHOD",
        help="a Python file, the name of a built-in method, or all for all built-in ones",
    )
    option("--streams", metavar="DIR", help="folder of the streams (default: lab/benchmark of the checkout)")
    option("--out", metavar="DIR", help="write a result file for each method there; with --make: the streams")
    option = parser.add_argument_group("leaderboard").add_argument
    option(
        "--table",
        nargs="*",
        metavar="FILE",
        help="print the leaderboard of the built-in methods and of these result files",
    )
    option("--only", action="store_true", help="with --table: leave out the built-in methods")
    option(
        "--page",
        metavar="FILE",
        help="with --table: compare the table in this page with the new one; with all: also the results",
    )
    option("--write", action="store_true", help="with --page or --make: replace what is there")
    option("--check", action="store_true", help="with --page: exit 1 when the page is out of date")
    option = parser.add_argument_group("making the streams again").add_argument
    option("--make", action="store_true", help="make the streams from recorded outputs of networks")
    option(
        "--setting", default="full", metavar="S", help="with --make: size of the recordings (default: full)"
    )
    option("--task", action="append", metavar="T", help="with --make: only this dataset; may be repeated")
    option("--weights", metavar="DIR", help="with --make: checkpoints (default: lab/weights of the checkout)")
    option("--cache", metavar="DIR", help="with --make: recordings (default: out/reproduce of the checkout)")


def bench(args: argparse.Namespace) -> int:
    """Run methods, print the leaderboard, or make the streams."""
    if sum([bool(args.methods), args.table is not None, args.make]) > 1:
        raise UsageError("METHOD, --table and --make exclude each other")
    if args.check and not args.page:
        raise UsageError("--check needs --page FILE")
    if args.write and not (args.page or args.make):
        raise UsageError("--write needs --page FILE or --make")
    if args.page and args.table is None and args.methods != ["all"]:
        raise UsageError("--page needs --table, or all")
    if args.page and args.methods and args.out:
        raise UsageError("--out and --page exclude each other: with --page, results are those of the streams")
    if args.only and not args.table:
        raise UsageError("--only needs --table FILE: a result file of yours")
    if args.table is not None:
        return _table(args)
    if args.make:
        return _make(args)
    if args.methods:
        return _run(args)
    from ..benchmark.entries import BUILT_IN
    from ..home import NoCheckout, home

    try:
        example = str(home() / "examples" / "bench_method.py")
    except NoCheckout:
        example = "lab/examples/bench_method.py"  # within a checkout
    names = list(BUILT_IN)
    answer(args, {"built_in": names}, NEXT.format(names=", ".join(names), example=example))
    return 0


def _folder(given: str | None) -> Path:
    """Return the folder of the streams, or say where to get them."""
    from ..benchmark.files import LIST
    from ..home import NoCheckout, folder

    try:
        found = folder(given, "benchmark")
    except NoCheckout:
        raise InputError(
            "missing",
            "the streams are in the repository: run this command in a checkout, or pass --streams "
            "CHECKOUT/lab/benchmark",
        ) from None
    if not (found / LIST).exists():
        raise InputError(
            "missing",
            f"{found} has no {LIST}, expected the streams of the benchmark: pass --streams DIR, or make them "
            "with tcuq-lab bench --make",
        )
    return found


def _run(args: argparse.Namespace) -> int:
    import json
    from pathlib import Path

    from tcuq.base.atomic_files import write_whole

    from ..benchmark.entries import BUILT_IN, built_in, load_entry
    from ..benchmark.files import load
    from ..benchmark.results import beside, rank_line, result_of, result_text, stored
    from ..experiments.benchmark import run

    names = list(BUILT_IN) if args.methods == ["all"] else list(dict.fromkeys(args.methods))
    stems = [Path(name).stem for name in names]
    for number, name in enumerate(names):
        if name.endswith(".json"):
            raise UsageError(f"{name} is not a method; for a result file type: tcuq-lab bench --table {name}")
        if stems[number] in stems[:number]:
            raise UsageError(f"{name} would have the result file of {names[stems.index(stems[number])]}")
    entries = [load_entry(name) if name.endswith(".py") else built_in(name) for name in names]
    place = _folder(args.streams)
    benchmark = load(place)
    others = stored(place / RESULTS, benchmark.digest)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
    found, shown, texts = {}, [], {}
    with progress(args) as bar:
        for name, entry in zip(names, entries, strict=True):
            outcome = run(entry, benchmark, bar)
            text = result_text(outcome, benchmark.digest, f"tcuq-lab bench {Path(name).name}")
            found[entry.name] = _summary(outcome)
            shown.append(_shown(outcome))
            result = result_of(name, json.loads(text))
            if others and not entry.told:
                shown.append(rank_line(result, beside([result], others)))
            texts[Path(name).stem] = text
            if args.out:
                path = Path(args.out) / f"{Path(name).stem}.json"
                write_whole(path, text)
                note(args, f"wrote {path}")
    if args.page:
        return _renewed(args, place / RESULTS, texts, benchmark.digest)
    if args.out:
        shown.append(f"next: tcuq-lab bench --table {args.out}/*.json")
    answer(args, found, "\n".join(shown))
    return 0


def _renewed(args: argparse.Namespace, place: Path, texts: dict[str, str], digest: str) -> int:
    """Compare new results and their table with what is stored, and replace it if asked to."""
    import json
    from pathlib import Path

    from ..benchmark.results import beside, leaderboard, placed, result_of, same_figures, stored
    from ..changes import update

    results = [result_of(name, json.loads(text)) for name, text in texts.items()]
    page = Path(args.page)
    table = leaderboard([*results, *beside(results, stored(place, digest))])
    changes = [
        update(path, text)
        for path, text in ((place / f"{name}.json", text) for name, text in texts.items())
        if not same_figures(path, text)
    ]
    changes.append(update(page, placed(page.read_text(encoding="utf-8"), table)))
    changes = [each for each in changes if each.state != "same"]
    for each in changes:
        for each_line in each.lines():
            note(args, each_line)
        if args.write:
            each.path.parent.mkdir(parents=True, exist_ok=True)
            each.write()
    answer(args, {"changed": [str(each.path) for each in changes]}, _verdict(len(changes), args.write))
    return int(args.check and bool(changes))


def _verdict(changed: int, written: bool) -> str:
    if not changed:
        return "no change"
    return f"{changed} files {'replaced' if written else 'would change; nothing written; --write writes'}"


def _summary(outcome: Outcome) -> dict[str, object]:
    from ..harness.lines import entries, plain

    head = outcome.interval()
    return {
        "excess" if outcome.entry.told else "relative_errors": {
            "value": head.estimate,
            "low": head.low,
            "high": head.high,
        },
        "fit_seconds": outcome.fit_seconds,
        "step_microseconds": outcome.step_microseconds,
        "lines": plain(entries(outcome.lines)),
    }


def _shown(outcome: Outcome) -> str:
    """Return a screen: the headline, then a line a stream."""
    from ..benchmark.results import LATE_COLUMNS
    from ..harness.types import MAX_ERROR
    from ..metrics.alarms import CLEAN_ON, DELAY, FALSE, FOUND
    from ..metrics.errors import AUROC, ERRORS, NINETY, RELATIVE
    from ..metrics.windows import ERROR

    columns = {
        ERRORS: ".1%",
        NINETY: ".1%",
        RELATIVE: ".2f",
        AUROC: ".3f",
        FOUND: ".0%",
        DELAY: ".0f",
        CLEAN_ON: ".1%",
        FALSE: ".1f",
        ERROR: ".3f",
        **dict.fromkeys(LATE_COLUMNS, ".1%"),
    }
    have = {(each.task, each.stream, each.column): each for each in outcome.lines}
    used = [name for name in columns if any(key[2] == name for key in have)]
    head, track = outcome.interval(), "with labels" if outcome.entry.uses_labels else "without labels"
    what, remark = "relative errors", "1 is confidence, less is better"
    if outcome.entry.told:
        track, what, remark = (
            "late labels",
            "excess",
            f"0 keeps to {MAX_ERROR}; see what is accepted beside it",
        )
    lines = [
        f"{outcome.entry.name} ({track}): {what} {head.estimate:.3f} ({head.low:.3f} to {head.high:.3f}); "
        f"{remark}",
        f"fit {outcome.fit_seconds:.1f} s, {outcome.step_microseconds:.1f} µs a step on this machine",
        f"{'task':16} {'stream':18}" + "".join(f"{name:>{max(10, len(name) + 2)}}" for name in used),
    ]
    for task, stream in dict.fromkeys(key[:2] for key in have):
        cells = []
        for name in used:
            each = have.get((task, stream, name))
            text = "" if each is None or each.value != each.value else format(each.value, columns[name])
            text = text.replace("inf", "never")  # the delay of an alarm that missed most shifts
            cells.append(f"{text:>{max(10, len(name) + 2)}}")
        lines.append(f"{task:16} {stream:18}" + "".join(cells))
    return "\n".join(lines)


def _table(args: argparse.Namespace) -> int:
    from pathlib import Path

    from ..benchmark.results import beside, leaderboard, load_results, placed, ranked, stored
    from ..changes import update
    from ..home import NoCheckout, folder

    results = load_results(args.table)
    if not args.only:
        try:
            place = folder(args.streams, "benchmark") / RESULTS
        except NoCheckout:
            if not results:
                raise
            note(args, "the built-in results are left out: they are in a checkout of tcuq")
        else:
            paths = sorted(place.glob("*.json"))
            others = stored(place, results[0].streams) if results else load_results(paths)
            if paths and not others:
                note(args, "the built-in results are left out: they were made with other streams")
            results += beside(results, others)
    text = leaderboard(results)
    tracks: dict[str, list[Result]] = {}
    for each in results:
        tracks.setdefault(each.track, []).append(each)
    ranks = {
        track: [{"rank": place.rank, "name": place.result.name} for place in ranked(found)]
        for track, found in tracks.items()
    }
    if not args.page:
        answer(args, ranks, text.rstrip())
        return 0
    page = Path(args.page)
    change = update(page, placed(page.read_text(encoding="utf-8"), text))
    for each_line in change.lines():
        note(args, each_line)
    if args.write:
        change.write()
    elif change.state != "same" and not args.check:
        note(args, "nothing written; --write writes")
    return int(args.check and change.state != "same")


def _make(args: argparse.Namespace) -> int:
    from tcuq.base.checks import known

    from ..benchmark.files import arrays_of, content_digest, content_of, save
    from ..benchmark.make import SEED, TASKS, about, made
    from ..data import present
    from ..harness.laws import RECORDED
    from ..home import folder
    from ..reproduce.recordings import Recordings
    from ..reproduce.run_size import run_size
    from ..reproduce.units import PLAIN

    setting = run_size(args.setting)
    asked = [known("task", task, TASKS) for task in args.task or ()]
    if not args.out and (args.task or setting.name != "full"):
        raise UsageError("the benchmark has all tasks at --setting full; pass --out DIR for other streams")
    out = folder(args.out, "benchmark")
    recordings = Recordings(
        str(folder(args.weights, "weights")), str(folder(args.cache, "../out/reproduce")), setting
    )
    tasks = dict.fromkeys(
        asked
        or [
            task
            for task in TASKS
            if task not in RECORDED or present(task, "test") is not None
            if recordings.has(task, SEED, PLAIN)
        ]
    )
    with progress(args) as bar:
        found = [made(task, recordings, bar) for task in tasks]
    before = content_of(out)
    if before == {f"{task.name}.npz": content_digest(arrays_of(task)) for task in found}:
        note(args, f"{out}: no change")
    elif before and not args.write:
        raise UsageError(f"{out} holds other streams; --write replaces them, results are then made again")
    else:
        save(out, found, about(setting.name, found))
    sizes = {task.name: (out / f"{task.name}.npz").stat().st_size for task in found}
    lines = [
        f"{task.name}: {sum(map(len, task.streams.values())):,} steps, {len(task.probs):,} different, "
        f"{sizes[task.name] / 1e6:.1f} MB"
        for task in found
    ]
    answer(args, {"out": str(out), "bytes": sizes}, "\n".join([*lines, f"the streams are in {out}"]))
    return 0
