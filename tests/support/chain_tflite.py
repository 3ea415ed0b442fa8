"""TFLite models that are a chain of operators without weights, for what is refused or aborts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def write_chain(path: Path, width: int, steps: Sequence[tuple[str, str]], subgraphs: int = 1) -> Path:
    """Write a model of int8 inputs (1, width) through operators, each with the type that it gives."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.operatorCodes = 3, [schema.BufferT()], []
    graph.tensors, graph.operators = [], []
    for number, (code, kind) in enumerate([("", "int8"), *steps]):
        tensor, quantized = schema.TensorT(), schema.QuantizationParametersT()
        tensor.name, tensor.shape = f"t{number}", np.array([1, width], np.int32)
        tensor.type = getattr(schema.TensorType, kind.upper())
        soft = code == "SOFTMAX"
        quantized.scale = np.array([1 / 256 if soft else 0.1], np.float32)
        quantized.zeroPoint = np.array([-128 if soft else 0], np.int64)
        tensor.quantization = quantized if kind == "int8" else None
        graph.tensors.append(tensor)
        if not number:
            continue
        named, step = schema.OperatorCodeT(), schema.OperatorT()
        named.builtinCode = getattr(schema.BuiltinOperator, code)
        named.deprecatedBuiltinCode = min(named.builtinCode, 127)
        step.opcodeIndex = len(model.operatorCodes)
        step.inputs, step.outputs = np.array([number - 1], np.int32), np.array([number], np.int32)
        if soft:
            step.builtinOptions, step.builtinOptionsType = (
                schema.SoftmaxOptionsT(),
                schema.BuiltinOptions.SoftmaxOptions,
            )
            step.builtinOptions.beta = 1.0
        model.operatorCodes.append(named)
        graph.operators.append(step)
    graph.inputs, graph.outputs = np.array([0], np.int32), np.array([len(steps)], np.int32)
    empty = schema.SubGraphT()
    empty.tensors, empty.operators = [], []
    empty.inputs = empty.outputs = np.array([], np.int32)
    model.subgraphs = [graph, *[empty] * (subgraphs - 1)]
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return path
