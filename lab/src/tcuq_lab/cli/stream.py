"""`tcuq-lab stream`: streams of the lab: describe one, show what it is like, check that it can be rebuilt."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError, placed
from tcuq.cli.common import answer, given, need_files, note
from tcuq.cli.parser import declare, declare_group
from tcuq.cli.process import UsageError, complain

from .shared import options

if TYPE_CHECKING:
    from tcuq.cli.parser import Parser, Subparsers

    from ..streams.description import Description, Shift
    from ..streams.stream import Stream

LAYOUT_NAMES = "segments, ramp, starts_shifted, bursts, literal, stationary"
_LAYOUT = ("mean", "minimum", "first", "length", "gap", "reversed", "down", "onset", "gradual", "shifted")


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "tcuq-lab stream make --dataset cifar10 --dwell 16 --kind fog --out s.json"
    actions = declare_group(
        subparsers,
        "stream",
        "describe, show and check streams of the lab",
        example,
        "tcuq-lab stream show s.json",
        about="A stream is a small JSON file that says which examples of a dataset come in which order, and "
        "which of them are corrupted. Datasets are in the folder that the variable TCUQ_DATA names.",
    )
    show, check = "tcuq-lab stream show s.json", "tcuq-lab stream check s.json"
    _add_make(declare(actions, "make", "write the description of a stream", example, make_one, show))
    for parser in (
        declare(actions, "show", "summarize a stream", show, show_one, check),
        declare(actions, "check", "rebuild a stream and compare digests", check, check_one, show),
    ):
        options(parser, ("file", "FILE", "description of a stream"))


def _add_make(parser: Parser) -> None:
    options(
        parser,
        ("--out", "FILE", "JSON file to write"),
        ("--dataset", "NAME", "dataset: mnist, cifar10, speech_commands, tinyimagenet20"),
        required=True,
    )
    options(
        parser,
        ("--part", "P", "part of the dataset: train, dev or test", "dev"),
        ("--seed", "N", "seed of the stream", 0),
        ("--steps", "N", "number of steps", 10000),
    )
    options(
        parser.add_argument_group("how long a class stays"),
        ("--dwell", "M", "mean steps of one class (default: 1, shuffled)"),
        ("--heavy-tailed", "", "with --dwell: most runs are short, a few very long (Pareto)"),
        ("--dwells", "M,M", "changing dwell: mean steps of one class in each stretch"),
        ("--stretch", "N", "with --dwells: steps of a stretch (default: 400)"),
        ("--runs", "N,N", "fixed run lengths of one class each, repeated"),
        (
            "--majority",
            "SHARE",
            "with --heavy-tailed: share of the steps that one class has, 0.5 or more (default: all alike)",
        ),
        ("--held", "", "pictures: one picture in each run, shaken at every step"),
        (
            "--held-share",
            "SHARE",
            "with --held: share of the runs that hold one picture; others show new ones (default: all)",
        ),
        ("--sliding", "", "sound: overlapping windows over continuous words"),
        ("--hop", "N", "with --sliding: samples between windows (default: 3200)"),
    )
    corrupted = parser.add_argument_group("what is corrupted, and when")
    kinds = ("--kind", "K", "corruption type; may be repeated (default: none)")
    options(corrupted, kinds, action="append", default=[])
    options(
        corrupted,
        ("--severity", "N,N", "severities (default: all)"),
        ("--ood", "", "also show out-of-distribution (OOD) inputs"),
        ("--layout", "L", f"one of {LAYOUT_NAMES}", "segments"),
        ("--mean", "M", "mean steps of a segment or burst"),
        ("--minimum", "N", "minimum steps of a segment or burst"),
        ("--first", "F", "segments: the first is clean, shifted, or random"),
        ("--reversed", "", "segments: in reverse order"),
        ("--onset", "N", "segments: steps over which the severity rises"),
        ("--gradual", "SHARE", "with --onset: share of the shifts that rise (default: all)"),
        ("--shifted", "N,N", "segments: least and most steps of a shift (default: as clean segments)"),
        ("--length", "N", "ramp: steps at each severity; starts_shifted: shifted steps at first"),
        ("--down", "", "ramp: go down again"),
        ("--gap", "M", "bursts: mean steps between two of them"),
    )


def make_one(args: argparse.Namespace) -> int:
    """Write a description with digests."""
    from ..corruptions import suite_of
    from ..data.ood import ood_name
    from ..data.parts import split_of
    from ..streams.description import Description, Ood
    from ..streams.dwell import LAWS
    from ..streams.fields import chosen
    from ..streams.held import Held
    from ..streams.layout import LAYOUTS
    from ..streams.playback import check_media, labels_for
    from ..streams.sliding import Sliding
    from ..streams.stream import build, seal

    need_files(args, "--out")
    law = _law(args)
    if args.hop is not None and not args.sliding:
        raise UsageError("--hop without --sliding, expected both")
    if args.held_share is not None and not args.held:
        raise UsageError("--held-share without --held, expected both")
    split_of(args.dataset, args.part)  # knows which datasets and parts there are
    layout = {"name": args.layout, **given(args, *_LAYOUT)}
    shifts, spoiled = _shifts(args)
    plain = Description(
        dataset=args.dataset,
        part=args.part,
        seed=args.seed,
        steps=args.steps,
        dwell=chosen("dwell", "law", law, {each.law: each for each in LAWS}),
        layout=chosen("layout", "name", layout, {each.name: each for each in LAYOUTS}),
        shifts=shifts,
        ood=(Ood(ood_name(args.dataset, args.part)),) if args.ood else (),
        held=Held(share=args.held_share) if args.held else None,
        sliding=Sliding(**given(args, "hop")) if args.sliding else None,
    )
    check_media(plain, suite_of(args.dataset).media)
    labels, ood = labels_for(plain)
    sealed = seal(plain, labels, ood)
    sealed.save(args.out)
    for name in spoiled:
        note(args, f"{name} is for tests alone; a {args.part} stream that shows it spoils them")
    found = _found(args.out, sealed, build(sealed, labels, ood))
    answer(args, found, f"{args.out}: {sealed.steps} steps, digest {sealed.digest}")
    return 0


def _law(args: argparse.Namespace) -> dict[str, Any]:
    """Return the law of dwell that was asked for."""
    asked = [name for name in ("dwell", "runs", "dwells") if getattr(args, name) is not None]
    if len(asked) > 1:
        raise UsageError(f"--{asked[0]} and --{asked[1]} are two laws, expected one")
    if args.heavy_tailed and args.dwell is None:
        raise UsageError("--heavy-tailed without --dwell, expected its mean")
    if args.majority is not None and not args.heavy_tailed:
        raise UsageError("--majority without --heavy-tailed, expected both")
    if args.stretch is not None and args.dwells is None:
        raise UsageError("--stretch without --dwells, expected the mean dwells")
    if args.runs is not None:
        return {"law": "trace", "runs": args.runs}
    if args.dwells is not None:
        length = {} if args.stretch is None else {"length": args.stretch}
        return {"law": "changing", "means": args.dwells, **length}
    mean = 1.0 if args.dwell is None else args.dwell
    return {"law": "pareto" if args.heavy_tailed else "geometric", "mean": mean, **given(args, "majority")}


def _shifts(args: argparse.Namespace) -> tuple[tuple[Shift, ...], list[str]]:
    """Return the shifts that were asked for, and those of them that only tests may show."""
    from ..corruptions import suite_of
    from ..streams.description import Shift

    if not args.kind:
        if args.severity is not None:
            raise UsageError("--severity without --kind, expected at least one kind")
        return (), []
    known = suite_of(args.dataset)
    shifts = []
    for name in args.kind:
        every = range(1, len(known.kind(name).settings) + 1)
        severities = tuple(every) if args.severity is None else args.severity
        for severity in severities:
            known.setting(name, severity)
        shifts.append(Shift(name, severities))
    return tuple(shifts), [name for name in args.kind if args.part != "test" and name in known.unseen]


def show_one(args: argparse.Namespace) -> int:
    """Say what a stream is like."""
    description, stream = _rebuilt(args)
    found = _found(args.file, description, stream)
    answer(args, found, "\n".join(_lines(found)))
    return 0


def check_one(args: argparse.Namespace) -> int:
    """Rebuild a stream and compare."""
    from ..streams.stream import Mismatch

    try:
        description, stream = _rebuilt(args)
    except Mismatch as error:
        answer(args, {"file": args.file, "same": False, "error": str(error)}, f"{args.file}: differs")
        complain(args.program, str(error))
        return 1
    if description.digest is None:
        problem = "has no digest to compare with; 'tcuq-lab stream make' writes one"
        raise InputError("missing", problem, where=args.file)
    answer(
        args,
        {"file": args.file, "same": True, "digest": description.digest},
        f"{args.file}: {len(stream)} steps rebuilt, digests agree",
    )
    return 0


def _rebuilt(args: argparse.Namespace) -> tuple[Description, Stream]:
    from ..corruptions import suite_of
    from ..streams.description import Description
    from ..streams.playback import check_media, known_kinds, labels_for
    from ..streams.stream import Mismatch, build

    need_files(args, "FILE")
    description = Description.load(args.file)
    try:
        labels, ood = labels_for(description)
        if description.shifts:
            known_kinds(description, suite_of(description.dataset))
        if description.held is not None or description.sliding is not None:
            check_media(description, suite_of(description.dataset).media)
        return description, build(description, labels, ood)
    except Mismatch as error:
        raise Mismatch(f"{args.file}: {error}") from None
    except ValueError as error:
        raise placed(error, args.file) from None


def _found(path: str, description: Description, stream: Stream) -> dict[str, Any]:
    from ..streams.stream import overview

    content = description.to_dict()
    names = ("dataset", "part", "seed", "dwell", "layout", "held", "sliding", "digest")
    return {"file": path, **{name: content.get(name) for name in names}, **overview(stream)}


def _lines(found: dict[str, Any]) -> list[str]:
    def shown(value: float | None) -> str:
        return "none" if value is None else f"{value:.1f}"

    segments = found["segments"]
    way = "".join(f"{name}, " for name in ("held", "sliding") if found[name])
    lines = [
        f"{found['dataset']} {found['part']}, {way}layout {found['layout']['name']}, seed {found['seed']}",
        f"steps                {found['steps']:,}",
        f"mean run of a class  {shown(found['mean_run'])}",
    ]
    for name in ("clean", "shifted"):
        lines.append(
            f"{name + ' segments':<20} {segments[name]['count']}, mean {shown(segments[name]['mean'])} steps"
        )
    lines.append(f"shifted steps        {found['shifted']:.1%}")
    for name, each in found["sources"].items():
        lines.append(f"{name:<20} {each['steps']:,} steps of {each['examples']:,} examples")
    return lines
