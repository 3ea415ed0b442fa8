"""The reference arithmetic of TFLite: every tensor as LiteRT's reference kernels compute it, bit for bit."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from make_tflite_models import FOLDER, MODELS, answers, random_inputs
from refusals import refused
from tflite_reference import evaluate, first_states

from tcuq.base.errors import InputError
from tcuq_device.tflite.flatbuffer import root
from tcuq_device.tflite.model import Model, Operator, Tensor
from tcuq_device.tflite.read import read_model

INT8 = 9
"""Number of the type."""


def compared(content: bytes, shape: tuple[int, ...], expected: list[dict[int, Any]]) -> None:
    """Compare every tensor."""
    model = read_model(content)
    states = first_states(model)
    for x, tensors in zip(random_inputs(shape, len(expected)), expected, strict=True):
        found = evaluate(model, [x], states)
        for number, operator in ((each, step) for step in model.operators for each in step.outputs):
            where = f"operator {operator.number} ({operator.code})"
            np.testing.assert_array_equal(found[number], tensors[number], err_msg=where, strict=True)


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_equals_that_of_litert(name: str) -> None:
    pytest.importorskip("ai_edge_litert")
    content = (FOLDER / f"{name}.tflite").read_bytes()
    shape = MODELS[name][1]
    compared(content, shape, answers(content, random_inputs(shape, 100)))


def rescaled(content: bytes, draw: random.Random) -> bytes:
    """Return a model with other scales and zero points that can be read."""
    while True:
        found = _rescaled(content, draw)
        try:
            read_model(found)
        except InputError as error:
            assert "too small" in str(error) or error.code == "limit"
            continue
        return found


def _rescaled(content: bytes, draw: random.Random) -> bytes:
    """Return a model with other scales and zero points; tensors that had the same ones still do."""
    changed = bytearray(content)
    file = root(content)
    buffers = file.tables(4)
    width = draw.choice([0.5, 2, 6])
    factors: dict[tuple[float, int], float] = {}
    zeros: dict[tuple[float, int], int] = {}
    for tensor in file.tables(2)[0].tables(0):
        table = tensor.table(4)
        if table is None or tensor.number(1, "<i1", 0) != INT8 or not table.has(2):
            continue
        scales, zero = table.numbers(2, "<f4"), table.numbers(3, "<i8")
        if scales[0] in (1 / 256, 1 / 128):
            continue
        kind = (float(scales[0]), int(zero[0]))
        factor = factors.setdefault(kind, 2 ** draw.uniform(-width, width))
        begin, count = table._vector(table._place(2) or 0)
        struct.pack_into(f"<{count}f", changed, begin, *(scales * factor).tolist())
        if len(buffers[tensor.number(2, "<u4", 0)].numbers(0, "<u1")) == 0:
            begin, _ = table._vector(table._place(3) or 0)
            some = draw.choice([-128, 127, 0, draw.randint(-128, 127)])
            struct.pack_into("<q", changed, begin, zeros.setdefault(kind, some))
    return bytes(changed)


@pytest.mark.parametrize("name", MODELS)
def test_models_with_other_scales_equal_litert(name: str) -> None:
    """Factors above one and tiny ones, zero points at both ends: what converters seldom write."""
    pytest.importorskip("ai_edge_litert")
    draw = random.Random(name)
    shape = MODELS[name][1]
    for _ in range(20):
        content = rescaled((FOLDER / f"{name}.tflite").read_bytes(), draw)
        compared(content, shape, answers(content, random_inputs(shape, 4)))


def tensor(shape: tuple[int, ...], scale: float = 0.5, zero: int = 0) -> Tensor:
    return Tensor("t", shape, "int8", np.array([scale], np.float32), np.array([zero]))


def test_inputs_of_another_shape_are_refused() -> None:
    model = Model([tensor((1, 2)), tensor((1, 2))], [Operator("RELU", (0,), (1,))], (0,), (1,))
    with refused("value", "input"):
        evaluate(model, [np.zeros(2, np.int8)])
    with refused("value", "number of inputs"):
        evaluate(model, [])
