"""`tcuq-lab corrupt`: corruptions of the datasets: which there are, a sheet of them, corrupted data."""

from __future__ import annotations

import argparse
import io
import json
import os
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError, wrong_value
from tcuq.cli.common import answer, need_files, progress
from tcuq.io.sources import check_target

from ..corruptions import Suite, suite, suite_of, suites
from ..corruptions.official import corrupted
from ..corruptions.sheet import draw, own_picture, png
from ..data import load, splits


def list_all(args: argparse.Namespace) -> int:
    """List suites and their kinds."""
    chosen = [suite(name) for name in ([args.suite] if args.suite else suites())]
    lines = []
    for each in chosen:
        lines.append(f"{each.name}: {each.about}")
        for name, kind in each.kinds.items():
            lines.append(f"  {name:<18} severities {len(kind.settings)}  {_role(each, name)}")
    found = [
        {
            "name": each.name,
            "about": each.about,
            "media": each.media,
            "kinds": [
                {"name": name, "severities": len(kind.settings), "role": _role(each, name)}
                for name, kind in each.kinds.items()
            ],
        }
        for each in chosen
    ]
    answer(args, {"suites": found}, "\n".join(lines))
    return 0


def _role(suite: Suite, name: str) -> str:
    if name in suite.seen:
        return "seen"
    return "unseen" if name in suite.unseen else "clean"


def draw_sheet(args: argparse.Namespace) -> int:
    """Draw a contact sheet."""
    need_files(args, "--out")
    suite = suite_of(args.dataset)
    check_target(args.out)
    if args.picture is None:
        data = load(args.dataset, splits(args.dataset)[-1])
    else:
        need_files(args, "--picture")
        if not args.picture:
            raise wrong_value("--picture", "", "a file name")
        if os.path.realpath(args.picture) == os.path.realpath(args.out):
            raise InputError("conflict", f"--out is {args.out!r}, the picture itself; another file is needed")
        data = own_picture(args.picture, suite)
    with progress(args) as bar:
        sheet = draw(data, suite, args.examples, args.seed, args.scale, bar)
    content = png(sheet)
    write_whole(args.out, content)
    found = {"sheet": args.out, "kinds": list(suite.kinds), "size": list(sheet.size), "bytes": len(content)}
    answer(args, found, f"wrote {args.out}: {len(suite.kinds)} corruption types, {len(content):,} bytes")
    return 0


def make_one(args: argparse.Namespace) -> int:
    """Write a corrupted split."""
    need_files(args, "--out")
    suite = suite_of(args.dataset)
    setting = suite.setting(args.kind, args.severity)
    check_target(args.out)
    split = args.split or splits(args.dataset)[-1]
    with progress(args) as bar:
        made = corrupted(
            args.dataset, split, args.kind, args.severity, args.seed, args.workers, not args.own, bar
        )
    about: dict[str, Any] = {"dataset": args.dataset, "split": split, "suite": suite.name}
    about |= {"kind": args.kind, "severity": args.severity, "official": made.official}
    about |= {} if made.official else {"setting": setting, "seed": args.seed}
    about |= {"source": made.source, "license": made.license}
    file = io.BytesIO()
    np.savez_compressed(file, x=made.x, y=made.y, about=np.array(json.dumps(about)))
    write_whole(args.out, file.getvalue())
    answer(args, {"file": args.out, "examples": len(made.x), **about}, f"wrote {args.out}: {made.source}")
    return 0
