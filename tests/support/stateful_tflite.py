"""TFLite models that keep a state from one input to the next, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 3


def write_stateful(path: Path, resource: bool) -> Path:
    """Write a model whose posteriors are the softmax of all inputs so far, with a state of either kind."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    names = schema.BuiltinOperator
    buffers: list[Any] = [schema.BufferT()]
    codes: list[int] = []

    def tensor(graph: Any, name: str, shape: list[int], values: Any = None, kind: Any = None) -> int:
        made = schema.TensorT()
        made.name, made.shape = name, np.array(shape, np.int32)
        made.type = schema.TensorType.FLOAT32 if kind is None else kind
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.asarray(values, np.float32).tobytes(), np.uint8)
            buffers.append(buffer)
            made.buffer = len(buffers) - 1
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    def operator(graph: Any, code: int, inputs: list[int], outputs: list[int], options: Any = None) -> None:
        if code not in codes:
            codes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex = codes.index(code)
        made.inputs, made.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        if options is not None:
            made.builtinOptions = options
            made.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
        graph.operators.append(made)

    def subgraph(name: str) -> Any:
        made = schema.SubGraphT()
        made.name, made.tensors, made.operators = name, [], []
        made.inputs = made.outputs = np.array([], np.int32)
        return made

    def handle(graph: Any) -> int:
        place = tensor(graph, "handle", [1], kind=schema.TensorType.RESOURCE)
        options = schema.VarHandleOptionsT()
        options.container, options.sharedName = "", "state"
        operator(graph, names.VAR_HANDLE, [], [place], options)
        return place

    main = subgraph("main")
    graphs = [main]
    x = tensor(main, "x", [1, CLASSES])
    total = tensor(main, "total", [1, CLASSES])
    if resource:
        first = subgraph("first")
        graphs.append(first)
        zeros = tensor(first, "zeros", [1, CLASSES], np.zeros(CLASSES))
        operator(first, names.ASSIGN_VARIABLE, [handle(first), zeros], [], schema.AssignVariableOptionsT())
        once = schema.CallOnceOptionsT()
        once.initSubgraphIndex = 1
        operator(main, names.CALL_ONCE, [], [], once)
        state, before = handle(main), tensor(main, "before", [1, CLASSES])
        operator(main, names.READ_VARIABLE, [state], [before], schema.ReadVariableOptionsT())
        operator(main, names.ADD, [before, x], [total], schema.AddOptionsT())
        operator(main, names.ASSIGN_VARIABLE, [state, total], [], schema.AssignVariableOptionsT())
    else:
        weights = tensor(main, "weights", [CLASSES, CLASSES], np.eye(CLASSES))
        times = tensor(main, "times", [CLASSES, 2], np.ones((CLASSES, 2)))
        state = tensor(main, "state", [1, 2 * CLASSES])
        main.tensors[state].isVariable = True
        options = schema.SVDFOptionsT()
        options.rank = 1
        operator(main, names.SVDF, [x, weights, times, -1, state], [total], options)
    probs = tensor(main, "probs", [1, CLASSES])
    softmax = schema.SoftmaxOptionsT()
    softmax.beta = 1.0
    operator(main, names.SOFTMAX, [total], [probs], softmax)
    main.inputs, main.outputs = np.array([x], np.int32), np.array([probs], np.int32)

    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers = 3, graphs, buffers
    model.operatorCodes = []
    for code in codes:
        made = schema.OperatorCodeT()
        made.builtinCode, made.deprecatedBuiltinCode, made.version = code, min(code, 127), 1
        model.operatorCodes.append(made)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path
