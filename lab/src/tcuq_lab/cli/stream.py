"""`tcuq-lab stream`: streams of the lab: describe one, show what it is like, check that it can be rebuilt."""

from __future__ import annotations

import argparse
from typing import Any

from tcuq.base.errors import InputError, placed
from tcuq.cli.common import answer, given, need_files, note
from tcuq.cli.process import UsageError, complain

from ..corruptions import suite_of
from ..data.ood import ood_name
from ..data.parts import split_of
from ..streams.description import Description, Ood, Shift
from ..streams.dwell import LAWS
from ..streams.fields import chosen
from ..streams.held import Held
from ..streams.layout import LAYOUTS
from ..streams.playback import check_media, known_kinds, labels_for
from ..streams.sliding import Sliding
from ..streams.stream import Mismatch, Stream, build, overview, seal

_LAYOUT = ("mean", "minimum", "first", "length", "gap", "reversed", "down", "onset", "gradual", "shifted")


def make_one(args: argparse.Namespace) -> int:
    """Write a description with digests."""
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
