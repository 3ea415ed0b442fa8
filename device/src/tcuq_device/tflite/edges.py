"""Steps of a model that a device does not run: floats at its edges, shapes known in advance.

An int8 model with floats outside begins with QUANTIZE and ends with DEQUANTIZE. A device does neither: its
input is int8 already, and the monitor takes int8. A model for any batch computes the shape of a RESHAPE (by
SHAPE, STRIDED_SLICE, PACK); the batch is one, and the file says what comes out.
"""

from __future__ import annotations

from dataclasses import replace

from .model import Model

OUTSIDE = ("float32", "uint8")
WHOLE = ("int32", "int64")


def without_edges(model: Model) -> Model:
    """Return the model between the first QUANTIZE and the last DEQUANTIZE, with int8 inputs and outputs."""
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    kept = []
    for operator in model.operators:
        if operator.code in ("QUANTIZE", "DEQUANTIZE") and len(operator.inputs) == len(operator.outputs) == 1:
            (source,), (target,) = operator.inputs, operator.outputs
            kinds = model.tensors[source].dtype, model.tensors[target].dtype
            if source in model.inputs and source not in begins and kinds in [(k, "int8") for k in OUTSIDE]:
                begins[source] = target
                continue
            if target in model.outputs and target not in ends and kinds in [("int8", k) for k in OUTSIDE]:
                ends[target] = source
                continue
        kept.append(operator)
    return replace(
        model,
        operators=kept,
        inputs=tuple(begins.get(each, each) for each in model.inputs),
        outputs=tuple(ends.get(each, each) for each in model.outputs),
    )


def without_shapes(model: Model) -> Model:
    """Return the model without steps whose whole numbers serve nothing but the shape of a RESHAPE."""
    dropped = {
        at
        for at, operator in enumerate(model.operators)
        if operator.outputs and all(model.tensors[each].dtype in WHOLE for each in operator.outputs)
    }
    needed = set(model.outputs)
    # From the last step to the first: whoever needs a number comes after the one that makes it.
    for at in range(len(model.operators) - 1, -1, -1):
        operator = model.operators[at]
        if at in dropped and not needed.isdisjoint(operator.outputs):
            dropped.remove(at)
        if at not in dropped:
            needed.update(operator.inputs[:1] if operator.code == "RESHAPE" else operator.inputs)
    gone = {number for at in dropped for number in model.operators[at].outputs}
    return replace(
        model,
        operators=[
            replace(each, inputs=each.inputs[:1])
            if each.code == "RESHAPE" and not gone.isdisjoint(each.inputs[1:])
            else each
            for at, each in enumerate(model.operators)
            if at not in dropped
        ],
    )
