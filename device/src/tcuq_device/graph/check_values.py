"""Checks of single fields of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, wrong_value

from .model import Tensor
from .steps import HIGHEST


def array(what: str, value: Any, kind: Any, shape: tuple[int | None, ...]) -> None:
    """Refuse what is no array of a type and shape; None stands for any length."""
    fits = (
        isinstance(value, np.ndarray)
        and value.dtype == kind
        and value.ndim == len(shape)
        and all(wanted in (None, found) for wanted, found in zip(shape, value.shape, strict=True))
        and value.size > 0
    )
    if not fits:
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        wanted = ", ".join("n" if each is None else str(each) for each in shape)
        raise InputError("value", f"{what} is {found}, expected {np.dtype(kind).name} ({wanted})", what)


def same(what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Refuse a shape that is not the wanted one."""
    if found != wanted:
        raise wrong_value(what, found, wanted)


def pair(what: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no pair (down, across) of numbers within a range."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise wrong_value(what, value, "(down, across)")
    for each in value:
        integer(what, each, least, most)


def sides(value: Any, most: int) -> tuple[int, int, int, int]:
    """Return the padding of a picture, or refuse it."""
    if not isinstance(value, tuple) or len(value) != 4:
        raise wrong_value("padding", value, "(top, left, bottom, right)")
    top, left, bottom, right = (integer("padding", each, 0, most) for each in value)
    return top, left, bottom, right


def picture(tensor: Tensor) -> tuple[int, int, int]:
    """Return the shape of a picture, or refuse a tensor that is none."""
    if len(tensor.shape) != 3:
        raise wrong_value(f"shape of source {tensor.name}", tensor.shape, "(height, width, channels)")
    height, width, channels = tensor.shape
    return height, width, channels


def within(largest: int) -> None:
    """Refuse a sum that can leave 32 bits."""
    if largest > HIGHEST:
        raise InputError("limit", f"a sum can reach {largest}, expected at most {HIGHEST}")


def rescaled(largest: int, multiplier: Any, shift: Any) -> None:
    """Refuse factors that `twice` does not take, and sums that leave 32 bits before or after a shift."""
    integer("multiplier", multiplier, 0, HIGHEST)
    within(largest << max(integer("shift", shift, -31, 30), 0))


def confined(low: Any, high: Any) -> None:
    """Refuse ends that are not in order."""
    integer("low", low, -128, 127)
    integer("high", high, low, 127)


def posteriors(target: Tensor) -> None:
    """Refuse what has not the scale and zero of the monitor's posteriors."""
    if (target.scale, target.zero) != (1 / 256, -128):
        raise wrong_value("target's scale and zero", (target.scale, target.zero), "1/256 and -128")


def alike(source: Tensor, target: Tensor) -> None:
    """Refuse a target with another scale or zero than its source."""
    if (source.scale, source.zero) != (target.scale, target.zero):
        expected = f"{(source.scale, source.zero)}, as of {source.name}"
        raise wrong_value("target's scale and zero", (target.scale, target.zero), expected)
