"""Converters may leave a model's inputs and outputs as floats: the steps at its edges that convert them.

An int8 model with floats outside begins with QUANTIZE and ends with DEQUANTIZE. A device does neither: its
input is int8 already, and the monitor takes int8.
"""

from __future__ import annotations

from dataclasses import replace

from .model import Model

OUTSIDE = ("float32", "uint8")


def without_edges(model: Model) -> Model:
    """Return the model between the first QUANTIZE and the last DEQUANTIZE, with int8 inputs and outputs.

    Parameters
    ----------
    model : Model
        As it was read, not checked.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq.device.tflite.model import Operator, Tensor
    >>> one = np.ones(1, np.float32), np.zeros(1, np.int64)
    >>> tensors = [Tensor(kind, (1, 2), kind, *one) for kind in ("float32", "int8", "int8")]
    >>> steps = [Operator("QUANTIZE", (0,), (1,)), Operator("RELU", (1,), (2,))]
    >>> inside = without_edges(Model(tensors, steps, (0,), (2,)))
    >>> inside.inputs, [each.code for each in inside.operators]
    ((1,), ['RELU'])
    """
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
