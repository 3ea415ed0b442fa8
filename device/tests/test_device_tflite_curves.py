# SPDX-License-Identifier: MIT
"""Functions of one byte against LiteRT's reference kernels: all 256 inputs, scales of all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from make_tflite_models import answers
from tflite_reference import evaluate

from tcuq_device.tflite.curves import REAL, WHOLE
from tcuq_device.tflite.read import read_model

pytest.importorskip("ai_edge_litert", reason="the test writes its models with ai-edge-litert")
FIXED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
OPTIONS = {"GELU": "Gelu", "LEAKY_RELU": "LeakyRelu"}
OPTION = {"GELU": ("approximate", (True, False)), "LEAKY_RELU": ("alpha", (0.2, -0.7, 1.9, 1e-4))}


def written(code: str, scales: tuple[float, float], zeros: tuple[int, int], option: Any) -> bytes:
    """Return a model of one operator on 256 values."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph, step = schema.ModelT(), schema.SubGraphT(), schema.OperatorT()
    model.version, model.buffers = 3, [schema.BufferT()]
    graph.tensors, graph.operators = [], [step]
    for name, scale, zero in zip("xy", scales, zeros, strict=True):
        tensor, quantized = schema.TensorT(), schema.QuantizationParametersT()
        tensor.name, tensor.shape, tensor.type = name, np.array([1, 256], np.int32), schema.TensorType.INT8
        quantized.scale, quantized.zeroPoint = np.array([scale], np.float32), np.array([zero], np.int64)
        tensor.quantization = quantized
        graph.tensors.append(tensor)
    named = schema.OperatorCodeT()
    named.builtinCode = getattr(schema.BuiltinOperator, code)
    named.deprecatedBuiltinCode = min(named.builtinCode, 127)
    named.version = {"ABS": 2, "LEAKY_RELU": 2}.get(code, 1)
    model.operatorCodes, step.opcodeIndex = [named], 0
    step.inputs, step.outputs = np.array([0], np.int32), np.array([1], np.int32)
    if code in OPTIONS:
        step.builtinOptions = getattr(schema, f"{OPTIONS[code]}OptionsT")()
        setattr(step.builtinOptions, OPTION[code][0], option)
        step.builtinOptionsType = getattr(schema.BuiltinOptions, f"{OPTIONS[code]}Options")
    graph.inputs, graph.outputs = step.inputs, step.outputs
    model.subgraphs = [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("code", sorted([*REAL, *WHOLE]))
def test_every_byte_becomes_what_litert_makes_of_it(code: str) -> None:
    draw = np.random.default_rng(len(code))
    x = np.arange(-128, 128).astype(np.int8)[None]
    seen = set()
    for number in range(60):
        scale = float(2 ** draw.uniform(-9, 1))
        # Outputs about as wide as what comes out of such inputs.
        made = (scale * float(2 ** draw.uniform(-2, 3)), int(draw.integers(-128, 128)))
        zero = int(draw.choice([-128, 0, 127, draw.integers(-128, 128)]))
        options = OPTION.get(code, ("", (None,)))[1]
        target = FIXED.get(code, made)
        content = written(code, (scale, target[0]), (zero, target[1]), options[number % len(options)])
        found = evaluate(read_model(content), [x])[1]
        np.testing.assert_array_equal(found, answers(content, [x])[0][1], err_msg=f"{scale} {zero} {target}")
        seen |= set(found.ravel().tolist())
    assert len(seen) > 100
