# SPDX-License-Identifier: MIT
"""TFLite models whose operators do not fit: each is refused in one line that names the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq_device.tflite import check as checks
from tcuq_device.tflite.check import check
from tcuq_device.tflite.fixed_point import multiplier_of
from tcuq_device.tflite.model import NO_TENSOR, Model, Operator, Options, Tensor


def act(shape: tuple[int, ...], scale: float = 0.5, zero: int = 0, data: Any = None) -> Tensor:
    """Make an int8 tensor; a constant where it has data."""
    return Tensor("t", shape, "int8", np.array([scale], np.float32), np.array([zero]), 0, data)


def whole(values: Any, kind: str = "int32", there: bool = True) -> Tensor:
    data = np.array(values, kind)
    none = np.empty(0, np.float32), np.empty(0, np.int64)
    return Tensor("w", data.shape, kind, *none, 0, data if there else None)


def ones(shape: tuple[int, ...]) -> Tensor:
    return act(shape, data=np.ones(shape, np.int8))


def model(code: str, inputs: list[Tensor | None], target: Tensor, **options: Any) -> Model:
    """Make a model of one operator; the first input is that of the model."""
    tensors = [each for each in inputs if each is not None]
    places = iter(range(len(tensors)))
    numbers = tuple(NO_TENSOR if each is None else next(places) for each in inputs)
    operator = Operator(code, numbers, (len(tensors),), Options(**options), 0)
    return Model([*tensors, target], [operator], (0,), (len(tensors),))


PICTURE = act((1, 4, 4, 2))
ONE = np.ones(1, np.int8)

REFUSED: dict[str, tuple[str, Callable[[], Model]]] = {
    "constant input": ("damaged", lambda: model("RELU", [ones((3,))], act((3,)))),
    "left out": ("missing", lambda: model("ADD", [act((3,)), None], act((3,)))),
    "rank": ("value", lambda: model("MAX_POOL_2D", [act((4, 4))], act((4, 4)))),
    "axes": ("damaged", lambda: model("MEAN", [PICTURE, act((1,))], act((1, 2)))),
    "axes of floats": ("unsupported", lambda: model("MEAN", [PICTURE, whole([1.0], "float32")], act((1, 2)))),
    "no axes": ("missing", lambda: model("MEAN", [PICTURE, whole(np.empty(0))], act((1, 4, 4, 2)))),
    "bias": (
        "value",
        lambda: model("FULLY_CONNECTED", [act((1, 4)), ones((2, 4)), whole([1, 2, 3])], act((1, 2))),
    ),
    "window": ("value", lambda: model("CONV_2D", [PICTURE, ones((1, 5, 5, 2))], act((1, 1, 1, 1)))),
    "groups": ("value", lambda: model("CONV_2D", [PICTURE, ones((1, 2, 2, 3))], act((1, 3, 3, 1)))),
    "depth": ("value", lambda: model("DEPTHWISE_CONV_2D", [PICTURE, ones((1, 2, 2, 3))], act((1, 3, 3, 3)))),
    "rows": ("value", lambda: model("FULLY_CONNECTED", [act((1, 5)), ones((2, 4))], act((1, 2)))),
    "sum": (
        "limit",
        lambda: model("FULLY_CONNECTED", [act((1, 4), 1e5), ones((2, 4))], act((1, 2), 1e-9)),
    ),
    "shapes": ("value", lambda: model("ADD", [act((3,)), ones((2,))], act((3,)))),
    "scale of a sum": ("value", lambda: model("ADD", [act((3,), 1000.0), ones((3,))], act((3,), 1e-6))),
    "value of a padding": (
        "value",
        lambda: model("PADV2", [act((2,)), whole([[1, 1]]), ones((2,))], act((4,))),
    ),
    "scale of a padding": (
        "value",
        lambda: model("PADV2", [act((2,)), whole([[1, 1]]), act((1,), 0.25, 0, ONE)], act((4,))),
    ),
    "nothing to join": ("missing", lambda: model("CONCATENATION", [act((2,)), None], act((2,)))),
    "axis": ("value", lambda: model("CONCATENATION", [act((2,))], act((2,)), axis=3)),
    "fused": ("unsupported", lambda: model("CONCATENATION", [act((2,))], act((2,)), activation="RELU")),
    "another shape": ("value", lambda: model("RESHAPE", [act((4,)), whole([4, 1])], act((2, 2)))),
    "scale of shares": ("value", lambda: model("SOFTMAX", [act((1, 3))], act((1, 3)))),
    "beta": ("value", lambda: model("SOFTMAX", [act((1, 3))], act((1, 3), 1 / 256, -128), beta=1e9)),
    "classes": ("limit", lambda: model("SOFTMAX", [act((1, 4096))], act((1, 4096), 1 / 256, -128))),
    "made by nobody": ("damaged", lambda: Model([act((2,)), act((2,))], [], (0,), (1,))),
    "operator": ("unsupported", lambda: model("DIV", [act((3,)), ones((3,))], act((3,)))),
    "made twice": ("damaged", lambda: Model([act((3,))], [Operator("RELU", (0,), (0,))], (0,), (0,))),
    "two outputs": (
        "unsupported",
        lambda: Model([act((3,))] * 3, [Operator("RELU", (0,), (1, 2))], (0,), (1,)),
    ),
    "three inputs": ("damaged", lambda: model("ADD", [act((3,)), ones((3,)), ones((3,))], act((3,)))),
    "type": ("unsupported", lambda: model("RELU", [act((3,))], whole([1, 2, 3], there=False))),
    "zero point": ("value", lambda: model("RELU", [act((3,))], act((3,), zero=200))),
    "scale": ("value", lambda: model("RELU", [act((3,))], act((3,), 1e9))),
    "nothing": ("value", lambda: model("RELU", [act((3,))], act((0,)))),
    "shape": ("value", lambda: model("RELU", [act((3,))], act((4,)))),
    "weights": (
        "unsupported",
        lambda: model("FULLY_CONNECTED", [act((1, 4)), whole(np.ones((2, 4)))], act((1, 2))),
    ),
    "axis beyond": ("value", lambda: model("MEAN", [PICTURE, whole([7])], act((1, 4, 4)))),
    "padding": ("value", lambda: model("PAD", [act((2,)), whole([[-1, 1]])], act((2,)))),
    "joined": ("value", lambda: model("CONCATENATION", [act((2, 3)), ones((3, 3))], act((2, 6)), axis=1)),
    "values": ("value", lambda: model("RESHAPE", [act((4,))], act((5,)))),
    "ones": ("value", lambda: model("SQUEEZE", [act((2, 2))], act((4,)))),
    "order": ("value", lambda: model("TRANSPOSE", [PICTURE, whole([0, 1])], act((1, 4, 4, 2)))),
    "moved": ("value", lambda: model("TRANSPOSE", [act((1, 4)), whole([1, 0])], act((1, 4)))),
    "moved where": ("unsupported", lambda: model("SLICE", [act((4,)), ones((1,)), whole([1])], act((1,)))),
    "new dimension": (
        "value",
        lambda: model("STRIDED_SLICE", [act((4,)), *[whole([1])] * 3], act((1, 4)), flags=(0, 0, 0, 1, 0)),
    ),
    "step of 0": (
        "value",
        lambda: model("STRIDED_SLICE", [act((4,)), *[whole([0])] * 3], act((4,)), flags=(0, 0, 0, 0, 0)),
    ),
    "repeated": ("value", lambda: model("TILE", [act((4,)), whole([3])], act((8,)))),
    "block": ("value", lambda: model("SPACE_TO_DEPTH", [PICTURE], PICTURE, flags=(0,))),
    "indices": (
        "value",
        lambda: model("GATHER", [act((4,)), whole([1])], act((2,)), flags=(0, 0)),
    ),
    "size": (
        "value",
        lambda: model("RESIZE_NEAREST_NEIGHBOR", [PICTURE, whole([8, 4])], act((1, 8, 8, 2)), flags=(0, 0)),
    ),
    "packed": ("value", lambda: model("PACK", [act((2,)), ones((3,))], act((2, 2)), flags=(2, 0))),
    "nothing to pack": ("missing", lambda: model("PACK", [act((2,)), None], act((2, 2)), flags=(2, 0))),
    "scale of a tanh": ("value", lambda: model("TANH", [act((3,))], act((3,), 1 / 256, 0))),
    "scale of a swish": ("limit", lambda: model("HARD_SWISH", [act((3,), 1.0)], act((3,), 1e-3))),
    "slope": ("limit", lambda: model("LEAKY_RELU", [act((3,))], act((3,)), beta=float("nan"))),
    "scales that are compared": ("value", lambda: model("MAXIMUM", [act((3,)), ones((3,))], act((3,), 0.3))),
    "scale of the largest": (
        "value",
        lambda: model("REDUCE_MAX", [PICTURE, whole([1])], act((1, 4, 2), 0.3)),
    ),
    "stored": (
        "unsupported",
        lambda: Model([act((2,)), act((2,))], [Operator("ASSIGN_VARIABLE", (1, 0), ())], (0,), (0,)),
    ),
    "no outputs": ("damaged", lambda: Model([act((2,))], [], (0,), ())),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operators_that_do_not_fit_are_named(name: str) -> None:
    code, make = REFUSED[name]
    with refused(code) as caught:
        check(make())
    assert caught.value.where or name == "no outputs"
    assert caught.value.name == "DIV" or name != "operator"


def test_a_padded_picture_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_VALUES", 40)
    wide = model("MAX_POOL_2D", [PICTURE], act((1, 4, 4, 2)), window=(3, 3), padding="SAME")
    with refused("limit"):
        check(wide)


def test_constants_are_bounded_together_and_what_is_left_out_counts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dense = model("FULLY_CONNECTED", [act((1, 4)), ones((2, 4)), None], act((1, 2)))
    unused = Model([*dense.tensors, ones((1000,))], dense.operators, dense.inputs, dense.outputs)
    monkeypatch.setattr(checks, "MOST_WEIGHTS", 8)
    assert check(unused) is unused  # the last tensor of the file belongs to no operator
    monkeypatch.setattr(checks, "MOST_WEIGHTS", 7)
    with refused("limit"):
        check(unused)


def test_a_factor_just_below_a_power_of_two_keeps_its_bits() -> None:
    assert multiplier_of(1.0 - 2.0**-40) == multiplier_of(1.0)
