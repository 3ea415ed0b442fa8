"""ONNX models, by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import InputError
from ..base.limits import read_limited
from ..base.spelling import option
from .model import OWN_OUTPUTS, Array, Features, Model, Outputs, first_line, needed

GRAPH, NODE, OUTPUT = 7, 1, 12  # field numbers: the graph of a model, a node and an output of a graph
DENSE = ("Gemm", "MatMul", "FusedGemm", "FusedMatMul")  # a fully connected layer whose input is float


class Node(NamedTuple):
    """An operator with the names of its tensors."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise InputError("damaged", "number too long")


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield (field number, start, end) of every field that has bytes."""
    at, end = start, len(data) if end is None else end
    while at < end:
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _number(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _number(data, at)
            if at + size > end:
                raise InputError("damaged", "truncated")
            yield tag >> 3, at, at + size
            at += size
        else:
            raise InputError("damaged", f"wire type {kind}")


def nodes(model: bytes) -> list[Node]:
    """Return the operators of the graph of an ONNX file, in the order in which they run."""
    graphs = [(start, end) for number, start, end in fields(model) if number == GRAPH]
    parts = [part for graph in graphs for part in fields(model, *graph)]
    return [_node(model, start, end) for number, start, end in parts if number == NODE]


def _node(model: bytes, start: int, end: int) -> Node:
    texts: dict[int, list[str]] = {1: [], 2: [], 4: [""]}
    for number, first, last in fields(model, start, end):
        if number in texts:
            texts[number].append(model[first:last].decode(errors="replace"))
    return Node(texts[4][-1], tuple(texts[1]), tuple(texts[2]))


def penultimate(found: list[Node]) -> str | None:
    """Return the tensor that the last fully connected layer reads, or None where there is no such layer."""
    dense = [node for node in found if node.kind in DENSE]
    return dense[-1].inputs[0] if dense else None


def _piece(number: int, content: bytes) -> bytes:
    size, prefix = len(content), bytearray([number << 3 | 2])
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes([*prefix, size]) + content


def tail_output(name: str) -> bytes:
    """Return the bytes that, at the end of an ONNX file, make a tensor one more output."""
    return _piece(GRAPH, _piece(OUTPUT, _piece(1, name.encode())))


FLOATS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
TYPES = FLOATS | {f"tensor({name})": name for name in ("uint8", "int8", "int64", "int32")}


class ONNX(Model):
    """An ``.onnx`` file."""

    def __init__(self, path: Path, features: Features, posteriors: str | None) -> None:
        super().__init__(path.name, features)
        self._path, self._ort = path, needed("onnxruntime", "onnxruntime", "an .onnx model")
        content = read_limited(path, "file")
        self._session = self._load(content)
        found = self.only_input(self._session.get_inputs())
        if found.type not in TYPES:
            way = OWN_OUTPUTS if found.type == "tensor(string)" else ""
            raise self.refusal("unsupported", f"its input is {found.type}, expected numbers{way}")
        self._input = found.name
        dims = [each if isinstance(each, int) and each > 0 else None for each in found.shape]
        self.shape, self.input = tuple(dims[1:]), np.dtype(TYPES[found.type])
        self._single = bool(dims) and dims[0] == 1
        outputs = self._session.get_outputs()
        floats = [str(each.name) for each in outputs if each.type in FLOATS]
        if posteriors is None and not floats:
            hint = " (from scikit-learn: convert it with zipmap=False)" if len(outputs) == 2 else ""
            raise self.refusal("missing", f"has no output of floats, such as posteriors or logits{hint}")
        names = [each.name for each in outputs]
        self._probs, self._features = self.output_of(names, floats, posteriors), ""
        if self.wanted:
            self._choose_features(names, content)

    def _load(self, content: bytes) -> Any:
        options = self._ort.SessionOptions()
        options.log_severity_level = 4
        # Weights may lie in files beside the model.
        folder = str(self._path.resolve().parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        try:
            return self._ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its kinds of errors have no common name
            problem = "is no ONNX model that ONNX Runtime can run, or is truncated"
            raise self.refusal("damaged", f"{problem}: {first_line(error)}") from None

    def _choose_features(self, outputs: list[str], content: bytes) -> None:
        try:
            graph = nodes(content)
        except (ValueError, IndexError):
            raise self.refusal("damaged", "is no ONNX model, or is truncated") from None
        made = [output for node in graph for output in node.outputs]
        name = penultimate(graph) if self.asked is None else str(self.asked)
        if name is None:
            way = f"name a tensor with {option('features')}"
            self.without_features(f"the model has no fully connected layer; {way}")
        elif name in made:
            self._features = name
            if name not in outputs:
                self._session = self._load(content + tail_output(name))
        elif self.asked is None:
            self.without_features("the only fully connected layer reads the input itself")
        else:
            last = ", ".join(made[-5:])
            raise self.refusal("unknown", f"has no tensor {name!r}; the last ones are {last}")

    def __call__(self, x: Array) -> Outputs:
        """Run a batch; one input after the other where the model is made for one."""
        names = [self._probs] + [self._features] * bool(self._features)
        parts = [x[n : n + 1] for n in range(len(x))] if self._single else [x]
        try:
            results = [self._session.run(names, {self._input: part}) for part in parts]
        except Exception as error:  # as above
            raise self.cannot_run(x, error) from None
        columns = [np.concatenate(each) for each in zip(*results, strict=True)]
        probs = columns[0].reshape(len(x), -1)
        if not self._features:
            return Outputs(probs)
        features, why = columns[1], None
        if features.dtype.kind != "f":
            why = f"tensor {self._features!r} is {features.dtype} of an unknown scale"
        elif len(features) != len(x):
            why = f"tensor {self._features!r} has {len(features)} rows for {len(x)} inputs"
        if why is not None:
            self.without_features(why + ", expected floats, one row an input" * (self.asked is not None))
        elif not self.too_wide(self._features, features[0].size):
            return Outputs(probs, features.reshape(len(x), -1))
        self._features = ""
        return Outputs(probs)
