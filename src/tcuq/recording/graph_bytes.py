"""The few fields of an ONNX file that tell where the penultimate tensor is, read from its bytes.

ONNX Runtime gives the outputs that the file names and no others. An ONNX file is a protocol buffer, in which
a message that comes twice is merged. So one more output is a few bytes at the end of the file, and nothing
needs to be installed to write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..base.errors import InputError

GRAPH, NODE, OUTPUT = 7, 1, 12
"""Field numbers: the graph of a model, a node of a graph, an output of a graph."""

DENSE = ("Gemm", "MatMul", "FusedGemm", "FusedMatMul")
"""Operators of a fully connected layer whose input is float."""


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
    """Yield (field number, start, end) of every field that has bytes.

    Examples
    --------
    >>> list(fields(tail_output("h")))
    [(7, 2, 7)]
    """
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
    found = []
    for number, start, end in fields(model):
        if number != GRAPH:
            continue
        for part, first, last in fields(model, start, end):
            if part == NODE:
                found.append(_node(model, first, last))
    return found


def _node(model: bytes, start: int, end: int) -> Node:
    texts: dict[int, list[str]] = {1: [], 2: [], 4: [""]}
    for number, first, last in fields(model, start, end):
        if number in texts:
            texts[number].append(model[first:last].decode(errors="replace"))
    return Node(texts[4][-1], tuple(texts[1]), tuple(texts[2]))


def penultimate(found: list[Node]) -> str | None:
    """Return the tensor that the last fully connected layer reads, or None where there is no such layer.

    Examples
    --------
    >>> penultimate([Node("Gemm", ("x", "w"), ("h",)), Node("Gemm", ("h", "v"), ("y",))])
    'h'
    """
    dense = [node for node in found if node.kind in DENSE]
    return dense[-1].inputs[0] if dense else None


def _piece(number: int, content: bytes) -> bytes:
    size, head = len(content), bytearray([number << 3 | 2])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes([*head, size]) + content


def tail_output(name: str) -> bytes:
    """Return the bytes that, at the end of an ONNX file, make a tensor one more output."""
    return _piece(GRAPH, _piece(OUTPUT, _piece(1, name.encode())))
