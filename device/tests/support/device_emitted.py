"""Emitted packages for tests: one to share, its programs, and what Python says to the same inputs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np

from tcuq import Monitor, Params
from tcuq.export.selfcheck import taken
from tcuq.monitor.made import STEP_FIELDS
from tcuq_device.boards import board
from tcuq_device.cost.stock import monitors, small_graph
from tcuq_device.emit import feed
from tcuq_device.emit.application import Application
from tcuq_device.emit.package import build_package
from tcuq_device.emit.text import OPTIONS, defines, groups, texts
from tcuq_device.firmware.image import Image
from tcuq_device.firmware.stack import bound_of
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Dense
from tcuq_device.kernels.host import Network

BOARD = board("netduinoplus2")


def lively() -> tuple[Graph, np.ndarray]:
    """Return a small network that answers with many classes, and 200 inputs: some stay, the rest change."""
    graph, draw = small_graph(), np.random.default_rng(3)
    shape = graph.tensors[graph.input].shape
    color = draw.integers(-128, 128, (200, 1, 1, shape[2]))
    x = np.clip(color + draw.integers(-60, 61, (200, *shape)), -128, 127).astype(np.int8)
    x[:100] = np.repeat(x[:13], 8, axis=0)[:100]
    features = Network(graph).run(x)["features"].astype(np.int64)
    steps = list(graph.steps)
    last = next(number for number, step in enumerate(steps) if isinstance(step, Dense))
    dense = steps[last]
    assert isinstance(dense, Dense)
    # Weights of no meaning prefer a class; without what they say on average they do not.
    sums = (features @ dense.weights.astype(np.int64).T).mean(axis=0)
    steps[last] = replace(
        dense, bias=-np.rint(sums).astype(np.int32), multiplier=np.full(len(sums), 1 << 25, np.int32)
    )
    return replace(graph, steps=steps), x


def fitting(graph: Graph, profile: str = "standard") -> Params:
    """Return a stock monitor for the features of a graph; it abstains and alarms soon."""
    params = monitors()[profile].replace(budget=0.3, level=0.3, warmup=5)
    if not params.features:
        return params
    made = graph.tensors[graph.outputs["features"]]
    return params.replace(feature_scale=made.scale, feature_zero_point=made.zero)


def recorded(application: Application, x: np.ndarray) -> list[list[int]]:
    """Return every field of every step of a log of the network, as `Monitor.run` decides."""
    said = Network(application.graph).run(x)
    features = said["features"] if application.features else said["probs"][:, :0]
    return taken(Monitor(application.params), said["probs"], features)[0].tolist()


def written(application: Application, folder: Path, on: bool = True) -> Path:
    """Write the files of a package but the README."""
    for file, text in texts(application, BOARD if on else None).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return folder


def program(application: Application, folder: Path) -> Path:
    """Compile the example of a written package for this computer."""
    files = [file for group, _ in groups(application, None) for file in group]
    options = [*OPTIONS, "-O2", "-fno-tree-vectorize", *defines(application)]
    command = ["cc", *options, *files, "example.c", "-o", "example"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "example"


def image(application: Application, folder: Path) -> Image:
    """Build the image for the board."""
    return build_package(application, texts(application, BOARD), BOARD, folder)


def numbers(line: str) -> list[int]:
    """Return the fields of a printed step, whose names are those of the core in its order."""
    words = line.split()
    assert tuple(words[2::2]) == STEP_FIELDS
    return [int(word) for word in words[3::2]]


def fed(built: Image, machine: str, inputs: Path) -> tuple[list[dict[str, int]], int]:
    """Return the steps of an image in the emulator, and the depth of its stack."""
    link = feed.emulator(built.path, machine)
    try:
        _, size = link.greeted()
        rows = list(feed.replay(link, feed.read_inputs(inputs, size)))
        return rows, int(link.ask(b"TS").split()[1])
    finally:
        link.close()


def agree(made: Application, x: np.ndarray, wanted: list[list[int]], folder: Path) -> None:
    """Hold the package on this computer and the image in the emulator against what Python decided."""
    (folder / "inputs.bin").write_bytes(x.tobytes())
    here = program(made, written(made, folder / "package"))
    done = subprocess.run([here, folder / "inputs.bin"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [numbers(line) for line in done.stdout.splitlines()] == wanted
    built = image(made, folder / "build")
    rows, depth = fed(built, "netduinoplus2", folder / "inputs.bin")
    assert [[row[field] for field in STEP_FIELDS] for row in rows] == wanted
    assert [row["step"] for row in rows] == list(range(len(x)))
    assert 300 < depth <= bound_of(built).bytes <= BOARD.stack_bytes
