"""A copy of a TFLite file that gives out its features: a runtime keeps what is an output."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcuq.base.errors import InputError, located
from tcuq.base.spelling import option

from .flatbuffer import Table, root
from .read import quantization
from .schema import (
    IDENTIFIER,
    OPERATORS,
    TYPES,
    CodeField,
    GraphField,
    ModelField,
    OperatorField,
    TensorField,
)

PLANNED = "OfflineMemoryAllocation"
"""Metadata that fix where tensors lie: there the features may share their bytes with others."""


@dataclass(frozen=True)
class WithFeatures:
    """The new file, and the tensor that is its output number `output`; floats have no scale."""

    content: bytes
    output: int
    tensor: int
    name: str
    size: int
    dtype: str
    scale: float | None
    zero_point: int | None


def with_features(content: bytes, features: str | None = None, where: str = "model") -> WithFeatures:
    """Return a model whose features are an output, behind those that it has; no other byte changes.

    Any model will do, also of floats, of unsupported operators or with a state: nothing of it runs here.
    `features` is the name or number of a tensor, by default the input of the last fully connected layer.
    """
    with located(where):
        if content[4:8] != IDENTIFIER:
            raise InputError("damaged", f"not a TFLite file: bytes 4 to 7 are not {IDENTIFIER!r}")
        file = root(content)
        graphs = file.tables(ModelField.SUBGRAPHS)
        if not graphs:
            raise InputError("damaged", "has no subgraph, expected one")
        if any(each.text(0) == PLANNED for each in file.tables(ModelField.METADATA)):
            problem = f"fixes where its tensors lie ({PLANNED}); take the model from before that step"
            raise InputError("unsupported", problem)
        number = _chosen(graphs[0], file.tables(ModelField.CODES), features)
        outputs = graphs[0].numbers(GraphField.OUTPUTS, "<i4").tolist()
        if number not in outputs:
            outputs.append(number)
            content = graphs[0].appended(GraphField.OUTPUTS, outputs)
        tensor = graphs[0].tables(GraphField.TENSORS)[number]
        kind = tensor.number(TensorField.TYPE, "<i1", 0)
        scales, zeros, _ = quantization(tensor.table(TensorField.QUANTIZATION))
        return WithFeatures(
            content,
            outputs.index(number),
            number,
            tensor.text(TensorField.NAME),
            math.prod(tensor.numbers(TensorField.SHAPE, "<i4").tolist()),
            TYPES[kind] if 0 <= kind < len(TYPES) else f"type {kind}",
            *((float(scales[0]), int(zeros[0])) if len(scales) else (None, None)),
        )


def _chosen(graph: Table, codes: list[Table], features: str | None) -> int:
    """Return the number of the tensor; constants and inputs are refused, which no runtime overwrites."""
    operators, tensors = graph.tables(GraphField.OPERATORS), graph.tables(GraphField.TENSORS)
    numbers = [
        max(each.number(CodeField.OLD, "<i1", 0), each.number(CodeField.NEW, "<i4", 0)) for each in codes
    ]
    dense, computed = [-1], set()
    for each in operators:
        computed.update(each.numbers(OperatorField.OUTPUTS, "<i4").tolist())
        entry = each.number(OperatorField.CODE, "<u4", 0)
        if entry < len(numbers) and numbers[entry] == OPERATORS.index("FULLY_CONNECTED"):
            dense += each.numbers(OperatorField.INPUTS, "<i4").tolist()[:1]
    number = dense[-1]
    if features is not None:
        named = [at for at, each in enumerate(tensors) if each.text(TensorField.NAME) == features]
        number = named[0] if named else int(features) if features.isdecimal() else -1
    if number not in computed or not 0 <= number < len(tensors):
        what = "input of a fully connected layer" if features is None else f"tensor {features!a}"
        last = ", ".join(map(str, sorted(computed)[-5:]))
        problem = f"computes no {what}; name a tensor with {option('features')}, the last ones are {last}"
        raise InputError("unknown", problem, "features")
    return number
