"""Packing recordings that are kept in their own order, as `tcuq-lab data pack NAME DIR OUT.npz` does.

``signs`` is made from a folder of GTSRB's training images (a folder a class, each with ``GT-*.csv``),
``motion`` from a folder of WHARF's recordings of both wrists (``..._MODEL`` folders, one an activity).

A run is a track of one sign, or a trial of one person. Runs are split as a whole: signs by track, motion by
person. In the file they lie one after the other, and two neighbors differ in their label, so that labels
alone say where a run begins.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import known
from tcuq.recording.rand import Numbers

SIDE, COLUMNS, SHEET = 32, 32, 1024
"""Pixels of a sign, signs in a row of a mosaic, and signs of a mosaic."""
QUALITY = 90
"""Of lossy WebP: all signs fit in 20 MB."""
WINDOW, HOP, EVERY = 64, 8, 2
"""Samples of a window and between two, of every other sample: at 25 Hz."""
PER_UNIT = 6.0
"""Steps of a byte for 1 m/s2, around 128: 21 m/s2 fit."""
TRAIN, DEV, TEST = range(3)
DEV_PEOPLE, TEST_PEOPLE = ("Andrea", "Divya", "Tiago"), ("Emanuele", "Laxman", "Luis", "Razeen")


class Run(NamedTuple):
    """A track or a trial: its examples in their order, its label, and its part."""

    x: npt.NDArray[np.uint8]
    y: int
    part: int


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Return runs of one part in a random order in which neighbors differ in their label.

    The label with most runs left comes next once it is half of them, else a random one.
    """
    numbers = Numbers(0, "pack")
    left = {y: [run for run in runs if run.y == y] for y in sorted({run.y for run in runs})}
    found: list[Run] = []
    while any(left.values()):
        last = found[-1].y if found else -1
        free = [y for y, waiting in left.items() if waiting and y != last]
        if not free:
            break  # the last runs are all of one label: they stay out
        most, total = max(free, key=lambda y: len(left[y])), sum(map(len, left.values()))
        weights = np.cumsum([len(left[y]) for y in free])
        drawn = int(np.searchsorted(weights, int(numbers.below(1, int(weights[-1]))[0]), side="right"))
        found.append(left[most if 2 * len(left[most]) >= total else free[drawn]].pop(0))
    return found


def signs(folder: Path) -> list[Run]:
    """Return the tracks of all classes; of those to train on every other frame, as neighbors are alike."""
    from PIL import Image

    found = []
    for table in sorted(folder.glob("*/GT-*.csv")):
        tracks: dict[str, list[npt.NDArray[np.uint8]]] = {}
        with table.open(newline="", encoding="utf-8") as file:
            rows = sorted(csv.DictReader(file, delimiter=";"), key=lambda row: row["Filename"])
        label = int(rows[0]["ClassId"])
        for row in rows:
            path = table.parent / row["Filename"]
            if not path.exists():
                continue
            box = [int(row[name]) for name in ("Roi.X1", "Roi.Y1", "Roi.X2", "Roi.Y2")]
            with Image.open(path) as opened:
                crop = opened.convert("RGB").crop((box[0], box[1], box[2] + 1, box[3] + 1))
            pixels = np.asarray(crop.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.uint8)
            tracks.setdefault(row["Filename"][:5], []).append(pixels)
        drawn = Numbers(label, "tracks").shuffled(len(tracks))[0].tolist()
        test, dev = max(1, round(0.25 * len(tracks))), max(1, round(0.15 * len(tracks)))
        for place, frames in zip(drawn, tracks.values(), strict=True):
            part = TEST if place < test else DEV if place < test + dev else TRAIN
            found.append(Run(np.stack(frames[:: 2 if part == TRAIN else 1]), label, part))
    return found


def motion(folder: Path) -> list[Run]:
    """Return the trials of the right wrist as windows of acceleration, (n, 64, 1, 3)."""
    found, activities = [], sorted({path.name.split("_", 1)[1] for path in folder.rglob("*_MODEL")})
    for path in sorted(folder.rglob("*_MODEL/*_Right.txt"), key=lambda each: each.name):
        rows = [line.split(";") for line in path.read_text(encoding="utf-8").splitlines()]
        samples = np.array([row[2:5] for row in rows if row[0] == "a" and len(row) >= 5], dtype=np.float64)
        if len(samples) < EVERY * WINDOW:  # the gyroscope's file, or a trial that was broken off
            continue
        coded = np.clip(np.rint(128 + PER_UNIT * samples[::EVERY]), 0, 255).astype(np.uint8)
        windows = np.stack([coded[at : at + WINDOW] for at in range(0, len(coded) - WINDOW + 1, HOP)])
        person = path.stem.split("_")[-2]
        part = DEV if person in DEV_PEOPLE else TEST if person in TEST_PEOPLE else TRAIN
        found.append(Run(windows[:, :, None, :], activities.index(path.parent.name.split("_", 1)[1]), part))
    return found


def mosaics(x: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """Return pictures as `tcuq_lab.data.packed.read_mosaics` reads them, but lossy."""
    from PIL import Image

    sheets = []
    for at in range(0, len(x), SHEET):
        tiles = x[at : at + SHEET]
        rows = -(-len(tiles) // COLUMNS)
        padded = np.zeros((rows * COLUMNS, *x.shape[1:]), np.uint8)
        padded[: len(tiles)] = tiles
        grid = padded.reshape(rows, COLUMNS, SIDE, SIDE, 3).swapaxes(1, 2)
        buffer = io.BytesIO()
        sheet = Image.fromarray(grid.reshape(rows * SIDE, COLUMNS * SIDE, 3))
        sheet.save(buffer, "WEBP", quality=QUALITY, method=6)
        sheets.append(buffer.getvalue())
    return {
        "webp": np.frombuffer(b"".join(sheets), np.uint8),
        "webp_len": np.array([len(sheet) for sheet in sheets], np.int64),
        "shape": np.array(x.shape, np.int64),
        "cols": np.array(COLUMNS),
    }


def pack(name: str, folder: str, out: str) -> str:
    """Write the file, and return what is in it."""
    runs = {"signs": signs, "motion": motion}[known("recording", name, ("signs", "motion"))](Path(folder))
    ordered = [run for part in (TRAIN, DEV, TEST) for run in in_order([r for r in runs if r.part == part])]
    if not ordered:
        raise ValueError(f"{folder} holds no recordings of {name}")
    x = np.concatenate([run.x for run in ordered])
    lengths = [len(run.x) for run in ordered]
    y = np.repeat(np.array([run.y for run in ordered], np.uint8), lengths)
    split = np.repeat(np.array([run.part for run in ordered], np.uint8), lengths)
    held = mosaics(x) if name == "signs" else {"x": x}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **held, y=y, split=split)
    write_whole(out, buffer.getvalue())
    lines = []
    for part, title in enumerate(("train", "dev", "test")):
        counted = [run for run in ordered if run.part == part]
        labels, count = len({run.y for run in counted}), sum(len(run.x) for run in counted)
        lines.append(f"{title}: {len(counted)} runs, {count} examples, {labels} labels")
    lines.append(f"{out}: {len(buffer.getvalue()):,} bytes, {len(runs) - len(ordered)} runs left out")
    return "\n".join(lines)
