"""From the bytes of a TFLite file to a checked `Model`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located
from tcuq.base.limits import Limits, limits_given, read_limited

from .check import REMEDIES, REMEDY, check
from .edges import without_edges, without_shapes
from .flatbuffer import Table, root
from .model import NO_TENSOR, Model, Operator, Tensor
from .options import options_of
from .schema import (
    IDENTIFIER,
    OPERATORS,
    TYPES,
    BufferField,
    CodeField,
    GraphField,
    ModelField,
    OperatorField,
    QuantizationField,
    TensorField,
)
from .states import with_states

MOST_DIMENSIONS = 6
MOST_INPUTS = 32
"""Of one operator, or of the model."""
SHARED = 16
"""Tensors may share a buffer, but all constants together take at most so many times the file."""
WIDTHS = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "uint8": "<u1", "int64": "<i8", "int8": "<i1"}
"""Types whose constants are read; those of other types are left alone."""
HINT = (
    "an int8 model is needed: convert the float original with TensorFlow 2 (1 made uint8), full integer "
    "quantization, a representative dataset and inference_input_type = inference_output_type = int8"
)


def read_model(content: bytes, where: str = "model", limits: Limits | None = None) -> Model:
    """Return the model of a TFLite file, checked; its constants are views of the file."""
    with located(where):
        given = limits_given(limits)
        if len(content) > given.model:
            raise InputError("limit", f"has {len(content):,} bytes, {given.beyond('model', len(content))}")
        if content[4:8] != IDENTIFIER:
            problem = f"not a TFLite file: bytes 4 to 7 are {content[4:8]!r}, expected {IDENTIFIER!r}"
            raise InputError("damaged", problem)
        return _model(content)


def load_model(path: str | Path, limits: Limits | None = None) -> Model:
    """Return the model of a file on disk, as `read_model` does."""
    return read_model(read_limited(path, "model", limits), str(path), limits)


def _model(content: bytes) -> Model:
    file = root(content)
    graphs = file.tables(ModelField.SUBGRAPHS)
    codes = [_code(each) for each in file.tables(ModelField.CODES)]
    buffers = file.tables(ModelField.BUFFERS)

    def subgraph(number: int) -> Model:
        if not 0 <= number < len(graphs):
            raise InputError("damaged", f"has {len(graphs)} subgraphs, number {number} is needed")
        graph = graphs[number]
        tensors = _tensors(graph, buffers, len(content))
        inputs = _indices(graph, GraphField.INPUTS, len(tensors), "inputs of the model")
        outputs = _indices(graph, GraphField.OUTPUTS, len(tensors), "outputs of the model")
        steps = enumerate(graph.tables(GraphField.OPERATORS))
        operators = [each for at, step in steps for each in _operators(at, step, codes, tensors)]
        return Model(tensors, operators, inputs, outputs)

    model = without_edges(without_shapes(with_states(subgraph(0), subgraph)))
    _quantized(model)
    return check(model)


def _quantized(model: Model) -> None:
    """Refuse models of floats before anything else is said about them.

    A converter leaves operators in float that it has no int8 kernel for, between DEQUANTIZE and QUANTIZE: to
    ask for full integer quantization again would not help.
    """
    floats = ("float32", "float16", "uint8", "int16")
    for operator in model.operators:
        if operator.code in REMEDIES or operator.code.startswith("CUSTOM"):
            advice = REMEDIES.get(operator.code, REMEDY)
            problem = f"operator {operator.number} ({operator.code}) is not supported: {advice}"
            raise InputError("unsupported", problem, operator.code)
    partly = any(model.tensors[number].dtype == "int8" for each in model.operators for number in each.outputs)
    for operator in model.operators if partly else ():
        left = [model.tensors[number].dtype for number in operator.outputs]
        if operator.code != "DEQUANTIZE" and any(each in floats for each in left):
            raise InputError(
                "unsupported",
                f"operator {operator.number} ({operator.code}) computes in {left[0]}: the converter has no "
                f"int8 kernel of it and left it as it was: {REMEDY}",
                operator.code,
            )
    made = [number for operator in model.operators for number in operator.outputs]
    for number in (*model.inputs, *made):
        tensor = model.tensors[number]
        if tensor.dtype in floats:
            raise InputError(
                "unsupported", f"tensor {number} {tensor.title} is {tensor.dtype}; {HINT}", "dtype"
            )


def _tensors(graph: Table, buffers: list[Table], size: int) -> list[Tensor]:
    tensors: list[Tensor] = []
    left = SHARED * size
    for number, table in enumerate(graph.tables(GraphField.TENSORS)):
        name = table.text(TensorField.NAME)
        with located(f"tensor {number} {name[:40]!a}"):
            tensor = _tensor(table, name, buffers)
        left -= 0 if tensor.data is None else tensor.data.nbytes
        if left < 0:
            raise InputError("limit", f"constants up to tensor {number} take {SHARED} times the file")
        tensors.append(tensor)
    return tensors


def _tensor(table: Table, name: str, buffers: list[Table]) -> Tensor:
    shape = table.numbers(TensorField.SHAPE, "<i4")
    if len(shape) > MOST_DIMENSIONS or (len(shape) and shape.min() < 0):
        text = ", ".join(map(str, shape[: MOST_DIMENSIONS + 1]))
        raise InputError(
            "unsupported", f"shape is ({text}), expected at most {MOST_DIMENSIONS} known dimensions"
        )
    if table.has(TensorField.SPARSITY):
        raise InputError("unsupported", "is sparse, which is not supported")
    kind = table.number(TensorField.TYPE, "<i1", 0)
    dtype = TYPES[kind] if 0 <= kind < len(TYPES) else f"type {kind}"
    scales, zeros, axis = quantization(table.table(TensorField.QUANTIZATION))
    sizes = tuple(int(each) for each in shape)
    number = table.number(TensorField.BUFFER, "<u4", 0)
    if number >= len(buffers):
        raise InputError("damaged", f"buffer is {number}, the file has {len(buffers)}")
    return Tensor(name, sizes, dtype, scales, zeros, axis, _constant(buffers[number], sizes, dtype))


def quantization(table: Table | None) -> tuple[npt.NDArray[Any], npt.NDArray[Any], int]:
    """Return scales, zero points and their axis."""
    if table is None:
        return np.empty(0, np.float32), np.empty(0, np.int64), 0
    scales = table.numbers(QuantizationField.SCALE, "<f4")
    zeros = table.numbers(QuantizationField.ZERO, "<i8")
    if len(zeros) != len(scales):
        if len(zeros) > 1:
            raise InputError(
                "damaged", f"{len(scales)} scales and {len(zeros)} zero points, expected as many"
            )
        zeros = np.broadcast_to(zeros if len(zeros) else np.zeros(1, np.int64), len(scales))
    return scales, zeros, table.number(QuantizationField.AXIS, "<i4", 0)


def _constant(buffer: Table, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any] | None:
    """Return the values of a constant; an empty buffer belongs to what is computed."""
    if buffer.number(BufferField.OFFSET, "<u8", 0) > 1:
        raise InputError("unsupported", "values lie outside the flatbuffer, which is not supported")
    found = buffer.numbers(BufferField.DATA, "<u1")
    if not len(found) or dtype not in WIDTHS:
        return None
    needed = math.prod(shape) * np.dtype(WIDTHS[dtype]).itemsize
    if len(found) != needed:
        raise InputError("damaged", f"has {len(found)} bytes of values, expected {needed}")
    return found.view(WIDTHS[dtype]).reshape(shape)


def _indices(table: Table, field: int, count: int, what: str, least: int = 0) -> tuple[int, ...]:
    found = table.numbers(field, "<i4")
    if len(found) > MOST_INPUTS:
        raise InputError("limit", f"{len(found)} {what}, expected at most {MOST_INPUTS}")
    numbers: list[int] = found.tolist()
    for each in numbers:
        if not least <= each < count:
            raise InputError("damaged", f"{what} name tensor {each}, the model has {count}")
    return tuple(numbers)


def _code(table: Table) -> str:
    # Old files have one byte for the number; new ones have both, and the larger one holds.
    number = max(table.number(CodeField.OLD, "<i1", 0), table.number(CodeField.NEW, "<i4", 0))
    if 0 <= number < len(OPERATORS):
        custom = table.text(CodeField.CUSTOM)
        return f"CUSTOM {custom[:40]!a}" if OPERATORS[number] == "CUSTOM" else OPERATORS[number]
    return f"number {number}"


def _operators(number: int, table: Table, codes: list[str], tensors: list[Tensor]) -> list[Operator]:
    """Return an operator, once for each of its outputs."""
    at = table.number(OperatorField.CODE, "<u4", 0)
    code = codes[at] if at < len(codes) else "unknown"
    with located(f"operator {number} ({code})"):
        if at >= len(codes):
            raise InputError("damaged", f"its code is entry {at}, the file has {len(codes)}")
        inputs = _indices(table, OperatorField.INPUTS, len(tensors), "inputs", NO_TENSOR)
        outputs = _indices(table, OperatorField.OUTPUTS, len(tensors), "outputs")
        kind = table.number(OperatorField.OPTIONS_TYPE, "<u1", 0)
        options = options_of(code, kind, table.table(OperatorField.OPTIONS))
        if code == "SPLIT":
            # The tensor first, as in all others.
            inputs = inputs[::-1]
        if code not in ("SPLIT", "SPLIT_V", "UNPACK"):
            return [Operator(code, inputs, outputs, options, number)]
        each = [replace(options, part=part, parts=len(outputs)) for part in range(len(outputs))]
        return [Operator(code, inputs, (outputs[at],), each[at], number) for at in range(len(outputs))]
