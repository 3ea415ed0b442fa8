"""A graph on this computer: the C that a board would run, compiled here and called from Python."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value

from ..generate.arena import lay_out
from ..generate.source import KERNELS, sources, takes_random
from ..graph.check import check
from ..graph.model import Graph
from ..tools import call, version
from .checked import cases, first_broken

Int8 = npt.NDArray[np.int8]
FLAGS = ("-std=c99", "-O3", "-fno-tree-vectorize")
_NAME = "network"


class Network:
    """A network in C, built for this computer.

    Parameters
    ----------
    graph : Graph
        From `tcuq_device.tflite.importing.import_model`, or made by hand.
    compiler : str, default "cc"
        Command of a C compiler.
    flags : sequence of str
        Its options. The default asks for no vectors: gcc 12 for aarch64 breaks a loop of the kernels with
        them.
    seed : int, default 1
        First state of the generator of dropped values, 1 to 2**32 - 1; it goes on from run to run.

    Attributes
    ----------
    arena : int
        Bytes that a run needs, its input among them.

    Raises
    ------
    ValueError
        Where the compiler is missing or fails, or where what it makes of the kernels gives other numbers than
        the vectors that come with them.

    Examples
    --------
    >>> from tcuq_device.graph.model import Tensor
    >>> from tcuq_device.graph.steps import Add
    >>> x, y = Tensor("x", (4,), 1.0, 0), Tensor("y", (4,), 1.0, 0)
    >>> network = Network(Graph("g", {"x": x, "y": y}, [Add("x", "x", "y", 1, 1, 0, 0)], "x", {"y": "y"}))
    >>> network.run(np.array([[1, -2, 100, -100]], np.int8))["y"].tolist()
    [[2, -4, 127, -128]]
    """

    def __init__(
        self, graph: Graph, compiler: str = "cc", flags: Sequence[str] = FLAGS, seed: int = 1
    ) -> None:
        if not 1 <= seed < 2**32:
            raise wrong_value("seed", seed, f"1 to {2**32 - 1}")
        self.graph = check(graph)
        self.arena = lay_out(graph).bytes
        _verified(compiler, tuple(flags))
        self._run = _Run(graph, _library({_NAME: graph}, compiler, tuple(flags)), _NAME, seed)

    def run(self, x: Int8) -> dict[str, Int8]:
        """Return the outputs of a batch of int8 inputs, which are the next ones of a stream.

        Parameters
        ----------
        x : int8 array (n, ...)
            Inputs of the graph's shape.

        Returns
        -------
        dict of str to int8 array (n, ...)
        """
        tensors = self.graph.tensors
        shape = tensors[self.graph.input].shape
        if x.dtype != np.int8 or x.shape[1:] != shape:
            wanted = ", ".join(map(str, shape))
            raise InputError("value", f"x is {x.dtype} {x.shape}, expected int8 (n, {wanted})", "x")
        return self._run(x)

    def reset(self) -> None:
        """Start a stream over: states of the network are as before its first run."""
        self._run.reset()


class _Run:
    """A compiled function of a graph, with memory of its own."""

    def __init__(self, graph: Graph, library: ctypes.CDLL, name: str, seed: int = 1) -> None:
        self._library, self._name, self._graph = library, name, graph
        self._function = library[f"{name}_run"]
        self._function.restype = None
        where = lay_out(graph)
        self._memory = (ctypes.c_uint32 * (where.size // 4 + 1))()
        self._input = ctypes.addressof(self._memory) + where.offsets[graph.input]
        self._outputs = (ctypes.c_void_p * len(graph.outputs))()
        self._random = ctypes.c_uint32(seed)
        self.reset()

    def reset(self) -> None:
        if self._graph.states:
            self._library[f"{self._name}_reset"](self._memory)

    def __call__(self, x: Int8) -> dict[str, Int8]:
        shapes = {purpose: self._graph.tensors[name].shape for purpose, name in self._graph.outputs.items()}
        found = {purpose: np.empty((len(x), *part), np.int8) for purpose, part in shapes.items()}
        extra: list[Any] = [ctypes.byref(self._random)] if takes_random(self._graph) else []
        for row, one in enumerate(np.ascontiguousarray(x)):
            ctypes.memmove(self._input, one.ctypes.data, one.size)
            self._function(self._memory, self._outputs, *extra)
            for at, target in zip(self._outputs, found.values(), strict=True):
                ctypes.memmove(target[row : row + 1].ctypes.data, at, target[row].size)
        return found


def kernel_texts() -> dict[str, str]:
    """Return the files of the kernels, text by name."""
    folder = resources.files(__package__)
    return {file: (folder / file).read_text(encoding="utf-8") for file in KERNELS}


@cache
def _kernels(compiler: str, flags: tuple[str, ...]) -> dict[str, bytes]:
    """Return the kernels, compiled; they are the same for all graphs and take most of the time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = kernel_texts()
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        found = {}
        for file in (each for each in texts if each.endswith(".c")):
            target = folder / f"{Path(file).stem}.o"
            call(compiler, [*flags, "-fPIC", "-c", folder / file, "-o", target])
            found[target.name] = target.read_bytes()
        return found


@cache
def _verified(compiler: str, flags: tuple[str, ...]) -> None:
    """Refuse a compiler that breaks a kernel, before anything is answered with it."""
    graphs = {case.graph.outputs["y"]: case.graph for case in cases()}
    library = _library(graphs, compiler, flags)

    def answers(graph: Graph, x: Int8) -> Int8:
        return _Run(graph, library, graph.outputs["y"])(x)["y"]

    broken = first_broken(answers)
    if broken is not None:
        raise InputError(
            "failed",
            f"{compiler} {' '.join(flags)} ({version(compiler)}) breaks the kernel {broken}, "
            "whose numbers are wrong: use another compiler, or its options -O1 -fno-tree-vectorize",
        )


def _library(graphs: Mapping[str, Graph], compiler: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Return graphs by name, compiled and loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts: dict[str, str] = {}
        for each, graph in graphs.items():
            texts |= sources(graph, each)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "all.c").write_text("".join(f'#include "{each}.c"\n' for each in graphs), encoding="utf-8")
        parts = [folder / "all.c"]
        for file, content in _kernels(compiler, flags).items():
            parts.append(folder / file)
            parts[-1].write_bytes(content)
        call(compiler, [*flags, "-fPIC", "-shared", *parts, "-o", folder / "network.so"])
        # The file may go once it is loaded.
        return ctypes.CDLL(str(folder / "network.so"))
