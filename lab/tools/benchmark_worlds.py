"""Make the files of the benchmark: networks of the lab, and small ones that are trained here and not kept.

    python lab/tools/benchmark_worlds.py OUT [NAME ...] [--signs DIR] [--bearings DIR]

`mnist`, `cifar10` and `speech_commands` need TCUQ_DATA; `signs` the folder `Final_Training/Images` of GTSRB
at 32 x 32 pixels; `bearings` the folder `Data` of CWRU as NPZ. `wrist` and `table` are drawn by the
functions below: other people and other days in test than in dev. Minutes on two cores. OUT is what
`tcuq-lab bench` reads. `--weights DIR` has networks of your own for datasets of the lab, `--trial` takes a
quarter of the examples.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from benchmark_make import (
    FULL,
    TASKS,
    TRIAL,
    Change,
    Coded,
    Examples,
    Part,
    Said,
    about,
    bank,
    lab_task,
    made,
    suite_kinds,
)
from torch import Tensor, nn

from tcuq import gauge_names, input_gauges
from tcuq_lab.benchmark.files import LIST, Task, load, save
from tcuq_lab.home import home

OF_LAB = ("mnist", "cifar10", "speech_commands")
DRAWN = ("wrist", "table")
RECORDINGS = ("bearings", "signs")
Array = npt.NDArray[Any]
Group = tuple[Array, Array, Array]  # examples, classes, runs: groups of them are people, machines or days


# ---------------------------------------------------------------------------------------------- what is drawn
def _unit(v: Array) -> Array:
    return np.asarray(v / np.linalg.norm(v))


def wrist(people: Sequence[int], count: int, seed: int) -> Group:
    """Return three axes at 64 times: still, walk, run, stairs, typing, waving; a person has a style."""
    rng, base = np.random.default_rng(seed), np.random.default_rng(7)
    gravity = [_unit(base.normal(0, 1, 3)) for _ in range(6)]
    rate, size = np.array([0.2, 1.8, 2.7, 1.5, 4.5, 2.2]), np.array([0.02, 0.35, 1.0, 0.42, 0.12, 0.6])
    shape, x, y, of = base.normal(0, 1, (6, 3, 3)), [], [], []
    for person in people:
        own = np.random.default_rng([11, person])
        pace, force = own.normal(1, 0.13), np.exp(own.normal(0, 0.3))
        tilt, style, noise = (
            own.normal(0, 0.42, 3),
            own.normal(0, 0.5, (6, 3, 3)),
            0.07 * np.exp(own.normal(0, 0.4)),
        )
        for _ in range(count):
            k, times = rng.integers(6), np.arange(64) / 20 + rng.uniform(0, 10)
            turns, reach = rate[k] * pace * rng.normal(1, 0.06), size[k] * force * np.exp(rng.normal(0, 0.2))
            found = np.tile(_unit(0.8 * gravity[k] + tilt + rng.normal(0, 0.28, 3)), (64, 1))
            phase = rng.uniform(0, 2 * np.pi)
            for h in range(3):
                wave = np.sin(2 * np.pi * turns * (h + 1) * times + phase * (h + 1) + h)
                found = found + 0.7 * reach / (h + 1) * wave[:, None] * (shape[k] + style[k])[h]
            x.append(found + rng.normal(0, noise, found.shape))
            y.append(k)
            of.append(person)
    return np.asarray(x, np.float32), np.array(y), np.array(of)


def table(days: Sequence[int], count: int, seed: int) -> Group:
    """Return sixteen sensors of a process with four states; they drift from day to day."""
    rng, base = np.random.default_rng(seed), np.random.default_rng(17)
    centers, mix, bend = base.normal(0, 1.2, (4, 6)), base.normal(0, 1, (6, 16)), base.normal(0, 1, (6, 16))
    x, y, of = [], [], []
    for day in days:
        own = np.random.default_rng([19, day])
        drift, room, k = own.normal(0, 0.3, 16), own.normal(0, 0.35, 6), rng.integers(0, 4, count)
        z = centers[k] + room + rng.normal(0, 0.85, (count, 6))
        x.append(z @ mix + 0.8 * np.tanh(z @ bend) + drift + rng.normal(0, 0.35, (count, 16)))
        y.append(k)
        of.append(np.full(count, day))
    return np.asarray(np.concatenate(x), np.float32), np.concatenate(y), np.concatenate(of)


# ------------------------------------------------------------------------------------------ what is recorded
WINDOW, HOP = 256, 128
FAULTS = ("B", "IR", "OR@6")


def bearings(folder: Path) -> list[Group]:
    """Return windows of the accelerometer at the drive end, in their order: parts of another load each.

    Classes are the seat of the fault (ball, inner and outer race) and two sizes of it; runs are pieces of 40
    windows, as of a round of inspections that goes from machine to machine.
    """
    found = []
    for loads, taken in ((("1797 RPM", "1772 RPM"), 20), (("1750 RPM",), 6), (("1730 RPM",), 6)):
        pieces: list[tuple[Array, int]] = []
        for turn in loads:
            for number, (fault, size) in enumerate((f, s) for f in FAULTS for s in ("7", "21")):
                [path] = sorted((folder / turn).glob(f"{turn[:4]}_{fault}_{size}_DE12.npz"))
                with np.load(path) as file:
                    samples = np.asarray(file["DE"], np.float64).ravel()
                at = np.arange(0, len(samples) - WINDOW, HOP)[: 40 * taken]
                windows = np.stack([samples[each : each + WINDOW] for each in at])
                pieces += [(windows[each : each + 40], number) for each in range(0, len(windows) - 39, 40)]
        order = np.random.default_rng(taken).permutation(len(pieces))
        x = np.concatenate([pieces[at][0] for at in order])[..., None]
        y = np.repeat([pieces[at][1] for at in order], 40)
        found.append((np.asarray(x, np.float32), y, np.repeat(np.arange(len(order)), 40)))
    return found


def signs(folder: Path) -> list[Group]:
    """Return camera tracks of traffic signs, 43 classes: other tracks in dev and in test."""
    from PIL import Image

    parts: list[list[tuple[Array, int]]] = [[], [], []]
    for label in range(43):
        paths = sorted((folder / f"{label:05d}").glob("*.ppm"))
        tracks: dict[str, list[Path]] = {}
        for path in paths:
            tracks.setdefault(path.name[:5], []).append(path)
        order = np.random.default_rng(label).permutation(sorted(tracks))
        test, dev = max(1, round(0.25 * len(order))), max(1, round(0.2 * len(order)))
        for place, track in enumerate(order):
            part = 2 if place < test else 1 if place < test + dev else 0
            frames = tracks[track][:: 1 if part else 3]
            pixels = []
            for path in frames:
                with Image.open(io.BytesIO(path.read_bytes())) as opened:
                    pixels.append(np.asarray(opened.convert("RGB").resize((32, 32)), np.uint8))
            parts[part].append((np.stack(pixels), label))
    found = []
    for number, tracks_of in enumerate(parts):
        order = np.random.default_rng(number).permutation(len(tracks_of))
        order = order if not number else order[:50]
        x = np.concatenate([tracks_of[at][0] for at in order])
        lengths = [len(tracks_of[at][0]) for at in order]
        y = np.repeat([tracks_of[at][1] for at in order], lengths)
        found.append((x, y, np.repeat(np.arange(len(order)), lengths)))
    return found


# -------------------------------------------------------------------------------- kinds of test, as numbers
def _warped(x: Array, factor: float) -> Array:
    steps = x.shape[1]
    places = np.clip((np.arange(steps) - steps / 2) * factor + steps / 2, 0, steps - 1)
    low = places.astype(int)
    share = (places - low)[None, :, None]
    return np.asarray((1 - share) * x[:, low] + share * x[:, np.minimum(low + 1, steps - 1)])


def _turned(x: Array, degrees: float) -> Array:
    angle, y = np.deg2rad(degrees), x.copy()
    y[..., 0] = np.cos(angle) * x[..., 0] - np.sin(angle) * x[..., 1]
    y[..., 1] = np.sin(angle) * x[..., 0] + np.cos(angle) * x[..., 1]
    return y


def _lost(x: Array, rng: np.random.Generator) -> Array:
    y = x.copy()
    for row, at in zip(y, rng.integers(0, x.shape[1] // 3, len(x)), strict=True):
        row[at : at + int(0.6 * x.shape[1])] = 0
    return y


def _hum(x: Array, size: float, rng: np.random.Generator) -> Array:
    phase = rng.uniform(0, 6, (len(x), 1, 1))
    return np.asarray(x + size * np.sin(2 * np.pi * 0.23 * np.arange(x.shape[1])[None, :, None] + phase))


Kind = Callable[[Array, np.random.Generator], Array]
SIGNALS: Mapping[str, Kind] = {
    "hum/1": lambda x, r: _hum(x, 0.3, r),
    "hum/2": lambda x, r: _hum(x, 1.2, r),
    "rattle/1": lambda x, r: x + r.normal(0, 2, x.shape) * (r.random(x.shape) < 0.03),
    "rattle/2": lambda x, r: x + r.normal(0, 4, x.shape) * (r.random(x.shape) < 0.08),
    "slow/1": lambda x, r: _warped(x, 0.8),
    "slow/2": lambda x, r: _warped(x, 0.5),
    "fast": lambda x, r: _warped(x, 1.6),
    "lost": _lost,
    "mirrored": lambda x, r: x[:, ::-1],
    "negated": lambda x, r: -x,
    "held samples": lambda x, r: np.repeat(x[:, ::8], 8, 1)[:, : x.shape[1]],
    "weak": lambda x, r: 0.3 * x,
    "strong": lambda x, r: 2.2 * x,
    "rounded": lambda x, r: np.round(x / 1.5) * 1.5,
    "attenuated": lambda x, r: 0.97 * x,
    "faint noise": lambda x, r: x + r.normal(0, 0.04, x.shape),
    "dead noise": lambda x, r: r.normal(0, 1, x.shape),
    "dead zero": lambda x, r: 0 * x,
    "at the rail": lambda x, r: 0 * x + 50,
}
AXES: Mapping[str, Kind] = {
    "axes swapped": lambda x, r: np.roll(x, 1, 2),
    "mounted turned": lambda x, r: _turned(x, 50),
    "one axis off": lambda x, r: x + np.array([1.8, 0, 0]),
}
TABLES: Mapping[str, Kind] = {
    "drift/1": lambda x, r: x + 0.3,
    "drift/2": lambda x, r: x + 0.9,
    "noisy/1": lambda x, r: x + r.normal(0, 0.4, x.shape),
    "noisy/2": lambda x, r: x + r.normal(0, 1.2, x.shape),
    "lost/1": lambda x, r: np.where(r.random(x.shape) < 0.1, 0, x),
    "lost/2": lambda x, r: np.where(r.random(x.shape) < 0.4, 0, x),
    "offset": lambda x, r: x + 2 * (np.arange(x.shape[1]) % 4 == 1),
    "pairs swapped": lambda x, r: x.reshape(len(x), -1, 2)[:, :, ::-1].reshape(x.shape),
    "weak": lambda x, r: 0.3 * x,
    "another unit": lambda x, r: np.where(np.arange(x.shape[1]) % 5 == 2, 8 * x + 3, x),
    "negated": lambda x, r: np.where(np.arange(x.shape[1]) % 3 == 1, -x, x),
    "low": lambda x, r: np.where(np.arange(x.shape[1]) % 4 == 2, -4, x),
    "rotated": lambda x, r: np.roll(x, 1, 1),
    "shared": lambda x, r: x + r.normal(0, 1.5, (len(x), 1)),
    "two levels": lambda x, r: np.sign(x),
    "attenuated": lambda x, r: 0.97 * x,
    "faint noise": lambda x, r: x + r.normal(0, 0.05, x.shape),
    "dead noise": lambda x, r: r.normal(0, 1, x.shape),
    "dead zero": lambda x, r: 0 * x,
    "at the rail": lambda x, r: 0 * x + 50,
}


def seeded(kinds: Mapping[str, Kind]) -> dict[str, Change]:
    """Return kinds that draw the same numbers whenever they are asked."""

    def changed(kind: Kind, name: str, x: Examples) -> Examples:
        return np.asarray(kind(x.astype(np.float64), np.random.default_rng([29, *name.encode()])), np.float32)

    return {name: partial(changed, kind, name) for name, kind in kinds.items()}


# ------------------------------------------------------------------------------------------------- networks
class Small(nn.Module):
    """A network of some thousand weights for rows, signals or pictures, with 32 features."""

    def __init__(self, shape: Sequence[int], classes: int) -> None:
        super().__init__()
        self.dims = len(shape)
        if self.dims == 1:
            layers: list[nn.Module] = [nn.Linear(shape[0], 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU()]
        else:
            conv: Any = nn.Conv1d if self.dims == 2 else nn.Conv2d
            pool: Any = nn.MaxPool1d if self.dims == 2 else nn.MaxPool2d
            size = 7 if self.dims == 2 else 3
            widths = [shape[-1], 16, 32, 32, 32]
            layers = []
            for a, b in pairwise(widths):
                layers += [
                    conv(a, b, size, padding=size // 2),
                    nn.BatchNorm1d(b) if self.dims == 2 else nn.BatchNorm2d(b),
                    nn.ReLU(),
                    pool(2),
                ]
        self.body, self.head = nn.Sequential(*layers), nn.Linear(32, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and features."""
        found = self.body(x if self.dims == 1 else x.movedim(-1, 1))
        features = found if self.dims == 1 else found.flatten(2).mean(2)
        return self.head(features), features


def trained(x: Array, y: Array, classes: int, epochs: int) -> Small:
    """Return a network trained by Adam, with a little noise on its inputs."""
    torch.manual_seed(0)
    net, inputs, targets = (
        Small(x.shape[1:], classes),
        torch.from_numpy(np.float32(x)),
        torch.from_numpy(np.int64(y)),
    )
    steps = len(y) // 64
    optimizer = torch.optim.Adam(net.parameters(), 3e-3, weight_decay=1e-4)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=epochs * steps)
    for _ in range(epochs):
        order = torch.randperm(len(y))
        for at in range(steps):
            rows = order[64 * at : 64 * at + 64]
            noisy = inputs[rows] + 0.03 * torch.randn(inputs[rows].shape)
            loss = nn.functional.cross_entropy(net(noisy)[0], targets[rows], label_smoothing=0.02)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
    return net.eval()


class World(NamedTuple):
    """Data of a task and how long its network is trained."""

    family: str
    kind: str
    classes: int
    epochs: int
    source: str


WORLDS = {
    "wrist": World(
        "signals", "signal", 6, 10, "drawn by lab/tools/benchmark_worlds.py: 14, 10 and 10 people"
    ),
    "table": World("tables", "table", 4, 25, "drawn by lab/tools/benchmark_worlds.py: 40, 12 and 12 days"),
    "bearings": World("signals", "signal", 6, 10, "CWRU bearing data, Case Western Reserve University"),
    "signs": World(
        "pictures", "picture", 43, 12, "GTSRB, Institut für Neuroinformatik, Ruhr-Universität Bochum"
    ),
}


def data_of(name: str, folders: Mapping[str, str]) -> list[Group]:
    """Return what to train on, dev and test."""
    if name in RECORDINGS:
        return {"bearings": bearings, "signs": signs}[name](Path(folders[name]))
    draw: Any = {"wrist": wrist, "table": table}[name]
    groups, count = {"wrist": ((14, 10, 10), 250), "table": ((40, 12, 12), 208)}[name]
    ends = np.cumsum((0, *groups))
    return [draw(range(a, b), count, seed) for seed, (a, b) in enumerate(pairwise(ends), 1)]


def world(name: str, folders: Mapping[str, str]) -> Task:
    """Return the task of data that are drawn or recorded, with a network trained on other groups."""
    about_it, (train, dev, test) = WORLDS[name], data_of(name, folders)
    pictures = about_it.family == "pictures"
    x, parts = train[0], [dev, test]
    if not pictures:
        axes = tuple(range(x.ndim - 1))
        mean, spread = x.mean(axes), x.std(axes)
        x = (x - mean) / spread
        parts = [(np.asarray((each[0] - mean) / spread, np.float32), *each[1:]) for each in parts]
    coded = Coded(np.array([-5.0, 5.0]))
    network = trained(x / 255 if pictures else x, train[1], about_it.classes, about_it.epochs)

    def see(x: Examples) -> Said:
        inputs = x if pictures else coded(x)
        with torch.inference_mode():
            given = torch.from_numpy(np.float32(x / 255) if pictures else coded.values(inputs))
            logits, features = network(given)
            probs = torch.softmax(logits, 1)
        return probs.numpy(), features.numpy(), input_gauges(inputs, about_it.kind)

    seen, shake = bank(about_it.family, parts[0][0])
    if pictures:
        kinds = suite_kinds("signs")
    else:
        signals = {**SIGNALS, **AXES} if x.shape[-1] == 3 else SIGNALS
        kinds = seeded(TABLES if about_it.family == "tables" else signals)
    titles = gauge_names(parts[0][0].shape[1:], about_it.kind)
    if name in RECORDINGS:  # every example under every kind: half of them, so that files stay small
        seen = {each: change for place, (each, change) in enumerate(seen.items()) if place % 4 in (1, 2)}
        kinds = {
            each: change for place, (each, change) in enumerate(kinds.items()) if place % 2 or "/" not in each
        }
    shown = [Part(each[0], each[1], each[2], of) for each, of in zip(parts, (seen, kinds), strict=True)]
    told = {"network": "trained for this, not kept", "data": about_it.source}
    return made(name, shown, None if name in RECORDINGS else shake, see, titles, told)


def main() -> None:
    """Make all tasks, or some, and write them beside those that are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=[*OF_LAB, *DRAWN, *RECORDINGS])
    parser.add_argument("--signs")
    parser.add_argument("--bearings")
    parser.add_argument("--weights", type=Path, default=home() / "weights")
    parser.add_argument("--trial", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tasks = {}
    if (args.out / LIST).exists():
        tasks = {task.name: task for task in load(args.out).tasks}
    for name in args.names:
        if name in WORLDS:
            tasks[name] = world(name, vars(args))
        else:
            tasks[name] = lab_task(name, args.weights, TRIAL if args.trial else FULL)
        task = tasks[name]
        costs = ", ".join(f"{each} {task.errors[each] - task.errors['clean']:.2f}" for each in task.errors)
        print(f"{name}: {len(task.probs):,} rows, error {task.errors['clean']:.3f}; {costs}", flush=True)
        order = [each for each in (*OF_LAB, *DRAWN, *RECORDINGS, *TASKS) if each in tasks]
        found = [tasks[each] for each in dict.fromkeys(order)]
        save(args.out, found, about(found, "python lab/tools/benchmark_worlds.py lab/benchmark"))


if __name__ == "__main__":
    main()
