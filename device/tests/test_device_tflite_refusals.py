# SPDX-License-Identifier: MIT
"""TFLite models whose operators do not fit: each is refused in one line that names the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
SHARES = act((1, 3), 1 / 256, -128)

REFUSED: dict[str, tuple[Callable[[], Model], str]] = {
    "constant input": (
        lambda: model("RELU", [ones((3,))], act((3,))),
        "is a constant and an input of the model",
    ),
    "left out": (lambda: model("ADD", [act((3,)), None], act((3,))), "input 1 is left out"),
    "rank": (lambda: model("MAX_POOL_2D", [act((4, 4))], act((4, 4))), "expected 4 dimensions"),
    "axes": (
        lambda: model("MEAN", [PICTURE, act((1,))], act((1, 2))),
        "not there yet|expected constant int32",
    ),
    "axes of floats": (
        lambda: model("MEAN", [PICTURE, whole([1.0], "float32")], act((1, 2))),
        "the list of axes is float32, constant, expected constant int32",
    ),
    "no axes": (
        lambda: model("MEAN", [PICTURE, whole(np.empty(0))], act((1, 4, 4, 2))),
        "the list of axes is empty, expected at least one",
    ),
    "bias": (
        lambda: model("FULLY_CONNECTED", [act((1, 4)), ones((2, 4)), whole([1, 2, 3])], act((1, 2))),
        r"bias is int32 \(3,\), constant, expected constant int32 \(2,\)",
    ),
    "window": (
        lambda: model("CONV_2D", [PICTURE, ones((1, 5, 5, 2))], act((1, 1, 1, 1))),
        r"a window of \(5, 5\) does not fit a picture of \(4, 4\)",
    ),
    "groups": (
        lambda: model("CONV_2D", [PICTURE, ones((1, 2, 2, 3))], act((1, 3, 3, 1))),
        "2 channels, weights for 3 and 1 outputs do not fit",
    ),
    "depth": (
        lambda: model("DEPTHWISE_CONV_2D", [PICTURE, ones((1, 2, 2, 3))], act((1, 3, 3, 3))),
        "2 channels times 1 and weights of 1 x 3 do not fit",
    ),
    "rows": (
        lambda: model("FULLY_CONNECTED", [act((1, 5)), ones((2, 4))], act((1, 2))),
        r"weights for 4 values do not fit a tensor of shape \(1, 5\)",
    ),
    "shapes": (
        lambda: model("ADD", [act((3,)), ones((2,))], act((3,))),
        r"shapes \(3,\) and \(2,\) do not fit",
    ),
    "scale of a sum": (
        lambda: model("ADD", [act((3,), 1000.0), ones((3,))], act((3,), 1e-6)),
        "the output's scale is 1e-06, too small for its inputs'",
    ),
    "value of a padding": (
        lambda: model("PADV2", [act((2,)), whole([[1, 1]]), ones((2,))], act((4,))),
        r"the value is 't' \(2,\), expected one constant",
    ),
    "scale of a padding": (
        lambda: model(
            "PADV2", [act((2,)), whole([[1, 1]]), act((1,), 0.25, 0, np.ones(1, np.int8))], act((4,))
        ),
        "have scales 0.5 and 0.25",
    ),
    "nothing to join": (
        lambda: model("CONCATENATION", [act((2,)), None], act((2,))),
        "an input is left out",
    ),
    "axis": (
        lambda: model("CONCATENATION", [act((2,))], act((2,)), axis=3),
        "the axis is 3, expected -1 to 0",
    ),
    "fused": (
        lambda: model("CONCATENATION", [act((2,))], act((2,)), activation="RELU"),
        "the fused activation is RELU, expected NONE",
    ),
    "another shape": (
        lambda: model("RESHAPE", [act((4,)), whole([4, 1])], act((2, 2))),
        r"the output has shape \(2, 2\), expected \[4, 1\]",
    ),
    "scale of shares": (
        lambda: model("SOFTMAX", [act((1, 3))], act((1, 3))),
        "the output has scale 0.5 and zero point 0, expected 1/256 and -128",
    ),
    "beta": (
        lambda: model("SOFTMAX", [act((1, 3))], SHARES, beta=1e9),
        r"the input's scale is 0.5 times 1e\+09, expected 2\^-20 to 2\^10",
    ),
    "classes": (
        lambda: model("SOFTMAX", [act((1, 4096))], act((1, 4096), 1 / 256, -128)),
        "expected at most 4095 classes",
    ),
    "made by nobody": (
        lambda: Model([act((2,)), act((2,))], [], (0,), (1,)),
        "output, tensor 1 't': made by no",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operators_that_do_not_fit_are_named(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as error:
        check(make())
    assert "\n" not in str(error.value)


def test_a_padded_picture_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_VALUES", 40)
    wide = model("MAX_POOL_2D", [PICTURE], act((1, 4, 4, 2)), window=(3, 3), padding="SAME")
    with pytest.raises(
        ValueError, match=r"the padded picture has shape \(6, 6\), expected at most 40 values"
    ):
        check(wide)


def test_constants_are_bounded_together_and_what_is_left_out_counts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dense = model("FULLY_CONNECTED", [act((1, 4)), ones((2, 4)), None], act((1, 2)))
    unused = Model([*dense.tensors, ones((1000,))], dense.operators, dense.inputs, dense.outputs)
    monkeypatch.setattr(checks, "MOST_WEIGHTS", 8)
    assert check(unused) is unused  # the last tensor of the file belongs to no operator
    monkeypatch.setattr(checks, "MOST_WEIGHTS", 7)
    with pytest.raises(ValueError, match="constants of all operators together are more than 7 values"):
        check(unused)


def test_a_reshape_without_a_shape_and_a_padding_with_a_value_are_taken() -> None:
    for each in (
        model("RESHAPE", [act((4,))], act((2, 2))),
        model("PADV2", [act((2,)), whole([[1, 1]]), ones((1,))], act((4,))),
    ):
        assert check(each) is each


def test_a_factor_just_below_a_power_of_two_keeps_its_bits() -> None:
    assert multiplier_of(1.0 - 2.0**-40) == multiplier_of(1.0)
