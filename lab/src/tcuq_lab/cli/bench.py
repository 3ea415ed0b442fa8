"""`tcuq-lab bench`: judge a method on the streams of the benchmark, and make the leaderboard."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note, progress
from tcuq.cli.process import UsageError

from ..benchmark.entries import BUILT_IN, built_in, load_entry
from ..benchmark.files import LIST, load
from ..benchmark.recording import recording
from ..benchmark.results import (
    TRACKS,
    Result,
    beside,
    leaderboard,
    load_results,
    nested,
    placed,
    rank_line,
    ranked,
    result_of,
    result_text,
    same_figures,
    screen,
    stored,
)
from ..changes import update
from ..experiments.benchmark import Outcome, run
from ..home import NoCheckout, folder, home

RESULTS = "results"
"""Folder of the built-in results, beside the streams."""
ENDS = ("value", "low", "high")
NEXT = """Judge a method on streams of what eight networks said. Type one of these:
  tcuq-lab bench confidence                      a built-in method: {names}
  tcuq-lab bench your_method.py --out results    yours; writes a result file
  tcuq-lab bench --table results/*.json          the leaderboard: yours and the built-in methods
  tcuq-lab bench all --log mine.csv              all methods on a recording of yours
An example of ten lines:
  tcuq-lab bench {example}
docs/BENCHMARK.md says what a method is given and what it says."""


def bench(args: argparse.Namespace) -> int:
    """Run methods, or print the leaderboard."""
    if args.methods and args.table is not None:
        raise UsageError("METHOD and --table exclude each other")
    if args.check and not args.page:
        raise UsageError("--check needs --page FILE")
    if args.write and not args.page:
        raise UsageError("--write needs --page FILE")
    if args.page and args.table is None and args.methods != ["all"]:
        raise UsageError("--page needs --table, or all")
    if args.page and args.methods and args.out:
        raise UsageError("--out and --page exclude each other: with --page, results are those of the streams")
    if args.log and (args.page or args.streams or not args.methods):
        raise UsageError("--log needs METHOD or all, and goes without --streams and --page")
    if args.only and not args.table:
        raise UsageError("--only needs --table FILE: a result file of yours")
    if args.table is not None:
        return _table(args)
    if args.methods:
        return _run(args)
    try:
        example = str(home() / "examples" / "bench_method.py")
    except NoCheckout:
        example = "lab/examples/bench_method.py"  # within a checkout
    names = list(BUILT_IN)
    answer(args, {"built_in": names}, NEXT.format(names=", ".join(names), example=example))
    return 0


def _folder(given: str | None) -> Path:
    """Return the folder of the streams, or say where to get them."""
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
            "with lab/tools/benchmark_worlds.py",
        )
    return found


def _run(args: argparse.Namespace) -> int:
    names = list(BUILT_IN) if args.methods == ["all"] else list(dict.fromkeys(args.methods))
    stems = [Path(name).stem for name in names]
    for number, name in enumerate(names):
        if name.endswith(".json"):
            raise UsageError(f"{name} is not a method; for a result file type: tcuq-lab bench --table {name}")
        if stems[number] in stems[:number]:
            raise UsageError(f"{name} would have the result file of {names[stems.index(stems[number])]}")
    entries = [load_entry(name) if name.endswith(".py") else built_in(name) for name in names]
    place = Path() if args.log else _folder(args.streams)
    benchmark = recording(args.log) if args.log else load(place)
    others = [] if args.log else stored(place / RESULTS, benchmark.digest)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
    found, shown, texts, results = {}, [], {}, []
    with progress(args) as bar:
        for name, stem, entry in zip(names, stems, entries, strict=True):
            outcome = run(entry, benchmark, bar)
            texts[stem] = result_text(outcome, benchmark.digest, f"tcuq-lab bench {Path(name).name}")
            found[entry.name] = _summary(outcome)
            shown.append(screen(outcome))
            results.append(result_of(name, json.loads(texts[stem])))
            if others and not entry.told and not args.log:
                shown.append(rank_line(results[-1], beside(results[-1:], others)))
            if args.out:
                path = Path(args.out) / f"{stem}.json"
                write_whole(path, texts[stem])
                note(args, f"wrote {path}")
    if args.page:
        paths = {place / RESULTS / f"{stem}.json": text for stem, text in texts.items()}
        new = {path: text for path, text in paths.items() if not same_figures(path, text)}
        return _renewed(args, [*results, *beside(results, others)], new)
    if args.log:
        shown = [leaderboard(results).rstrip()]
    elif args.out:
        streams = f" --streams {shlex.quote(args.streams)}" if args.streams else ""
        shown.append(f"next: tcuq-lab bench --table {args.out}/*.json{streams}")
    answer(args, found, "\n".join(shown))
    return 0


def _renewed(args: argparse.Namespace, results: Sequence[Result], files: Mapping[Path, str]) -> int:
    """Compare new result files and the table of results with what is stored, and replace it if asked to."""
    page = Path(args.page)
    changes = [update(path, text) for path, text in files.items()]
    changes.append(update(page, placed(page.read_text(encoding="utf-8"), leaderboard(results))))
    changes = [each for each in changes if each.state != "same"]
    for each in changes:
        for line in each.lines():
            note(args, line)
        if args.write:
            each.path.parent.mkdir(parents=True, exist_ok=True)
            each.write()
    done = "replaced" if args.write else "would change; nothing written; --write writes"
    verdict = f"{len(changes)} files {done}" if changes else "no change"
    answer(args, {"changed": [str(each.path) for each in changes]}, verdict)
    return int(bool(args.check and changes))


def _summary(outcome: Outcome) -> dict[str, object]:
    head = outcome.interval()
    return {
        "excess" if outcome.entry.told else "relative_errors": dict(zip(ENDS, head, strict=False)),
        "fit_seconds": outcome.fit_seconds,
        "step_microseconds": outcome.step_microseconds,
        "figures": nested(outcome.lines),
    }


def _table(args: argparse.Namespace) -> int:
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
    if args.page:
        return _renewed(args, results, {})
    places = {track: ranked([each for each in results if each.track == track]) for track in TRACKS}
    ranks = {
        track: [{"rank": place.rank, "name": place.result.name} for place in found]
        for track, found in places.items()
        if found
    }
    answer(args, ranks, leaderboard(results).rstrip())
    return 0
