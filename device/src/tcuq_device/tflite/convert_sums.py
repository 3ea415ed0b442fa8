"""From TFLite's sums, products, means and pools to steps of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tcuq.base.errors import InputError

from ..graph import steps
from .check import axes_of
from .fixed_point import multiplier_of, rescaled_twice
from .geometry import spread
from .made import Made, limits
from .model import Operator, Tensor


def _add(made: Made, operator: Operator) -> None:
    (first, a), (second, b) = made.source(operator), made.source(operator, 1)
    target = made.target(operator)
    double = 2 * max(float(a.scale), float(b.scale))
    left, right = (_table(each, double) for each in (a, b))
    factor = multiplier_of(double / (2**20 * float(target.scale)))
    ends = limits(operator.options.activation, target)
    made.steps.append(
        steps.TableAdd(first, second, made.add(operator.outputs[0]), left, right, *factor, *ends)
    )


def _table(tensor: Tensor, scale: float) -> steps.Int32:
    """Return every byte of a tensor times 2**20, at another scale."""
    values = (np.arange(-128, 128) - tensor.zero) << 20
    return rescaled_twice(values, *multiplier_of(float(tensor.scale) / scale)).astype(np.int32)


def _mul(made: Made, operator: Operator) -> None:
    (first, a), (second, b) = made.source(operator), made.source(operator, 1)
    target = made.target(operator)
    # In single precision, as TFLite has it.
    factor = multiplier_of(float(a.scale * b.scale / target.scale))
    ends = limits(operator.options.activation, target)
    made.steps.append(steps.Mul(first, second, made.add(operator.outputs[0]), *factor, *ends))


def _mean(made: Made, operator: Operator) -> None:
    name, source = made.source(operator)
    target = made.target(operator)
    data = made.model.tensors[operator.inputs[1]].data
    assert data is not None
    axes = axes_of(data, len(source.shape))
    outer, count, _, tail = _parts(source.shape, axes)
    total = count * tail
    multiplier, shift = multiplier_of(float(source.scale) / float(target.scale))
    # The count is divided out of the multiplier, with as many bits as there is room for.
    more = min(total.bit_length() - 1, 32, 31 + shift)
    factor = (multiplier << more) // total, shift - more
    made.steps.append(
        steps.MeanPool(
            name, made.add(operator.outputs[0]), -source.zero * total, *factor, outer=outer, tail=tail
        )
    )


def _parts(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return a shape as (outer, count, inner, tail), where a mean is taken over count and tail.

    Examples
    --------
    >>> _parts((1, 6, 7, 4), (1, 2)), _parts((1, 6, 7, 4), (2,)), _parts((1, 6, 7, 4), (1, 3))
    ((1, 42, 4, 1), (6, 7, 4, 1), (1, 6, 7, 4))
    """
    found = [1]
    for at, length in enumerate(shape):
        if length == 1:
            continue
        # Kept dimensions are at even places of the list, the others at odd ones.
        if len(found) % 2 == int(at in axes):
            found.append(1)
        found[-1] *= length
    if len(found) > 4:
        raise InputError(
            "limit", f"a mean over dimensions {axes} of {shape} has gaps, expected one gap at most"
        )
    outer, count, inner, tail = found + [1] * (4 - len(found))
    return outer, count, inner, tail


def _pool(kind: str) -> Callable[[Made, Operator], None]:
    def pool(made: Made, operator: Operator) -> None:
        name, source = made.source(operator)
        options = operator.options
        if len(made.tensors[name].shape) != 3:
            raise InputError(
                "value", f"input has shape {source.shape}, expected (1, height, width, channels)"
            )
        sides = [
            spread(source.shape[1 + at], options.window[at], options.stride[at], 1, options.padding)
            for at in (0, 1)
        ]
        padding = sides[0][1], sides[1][1], sides[0][2], sides[1][2]
        ends = limits(options.activation, made.target(operator))
        target = made.add(operator.outputs[0])
        made.steps.append(steps.Pool(name, target, kind, options.window, options.stride, padding, *ends))

    return pool


SUMS: dict[str, Callable[[Made, Operator], None]] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _pool("mean"),
    "MAX_POOL_2D": _pool("max"),
    "MEAN": _mean,
    "MUL": _mul,
}
"""By operator."""
