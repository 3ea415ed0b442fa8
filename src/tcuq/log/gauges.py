"""Gauges of a network's input: a few numbers that users know, such as brightness and sharpness."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.checks import integer, number
from ..base.errors import InputError, wrong_value
from ..base.spelling import option

CHANNELS = (1, 3, 4)  # of pictures
SMALLEST = 8  # pixels of a side, from which on two or three dimensions may be a picture
AXES = 6  # of a signal, that have gauges of their own
MOST = 16  # gauges of a step
LARGEST, LONGEST = 8_388_607, 65_535  # values of an input, and of one side

# Made from core/schema.toml by tools/schema.py.
_TABLE = """
picture brightness contrast sharpness vertical_sharpness detail dark bright center_x center_y color
picture tint_1 tint_2
spectrum level contrast sharpness vertical_sharpness detail quiet loud center_x center_y channels
spectrum tint_1 tint_2
signal strength jitter flat lowest highest offset change
table mean spread change jitter lowest highest center
"""

KINDS: dict[str, list[str]] = {}
"""Names of gauges by kind of input, in the order of the core."""
for _line in _TABLE.strip().splitlines():
    _kind, *_names = _line.split()
    KINDS.setdefault(_kind, []).extend(_names)

_CODES = {"picture": 0, "spectrum": 0, "signal": 1, "table": 2}
"""By which function of the core."""


def family_of(shape: tuple[int, ...], dtype: Any) -> str | None:
    """Return what inputs of a shape most likely are; None for shapes that are none of these."""
    long = [each for each in shape if each != 1]
    if len(shape) == 3 and min(long, default=1) > 1 and (shape[2] in CHANNELS or shape[0] in CHANNELS):
        sides = shape[:2] if shape[2] in CHANNELS else shape[1:]
        if min(sides) >= SMALLEST:
            return "pictures"
    if len(shape) == 2 and dtype == np.uint8 and min(shape) >= SMALLEST:
        return "pictures"
    if len(shape) == 1 and long:
        return "tables"
    return "signals" if 1 <= len(long) <= 2 else None


def layout_of(
    shape: tuple[int, ...], kind: str | None, dtype: Any = np.int8
) -> tuple[str, tuple[int, ...], bool]:
    """Return the kind of inputs, their height, width and channels, and whether channels come first."""
    if kind is None:
        kind = (family_of(shape, dtype) or "").removesuffix("s")
    elif kind not in KINDS:
        raise wrong_value("kind", kind, ", ".join(KINDS))
    long = tuple(each for each in shape if each != 1) or (1,)
    if kind == "table":
        return kind, (1, int(np.prod(shape)), 1), False
    if kind == "signal" and len(long) <= 2:
        steps, axes = (*long, 1)[:2]
        first = 1 < steps <= AXES < axes
        return kind, (1, axes, steps) if first else (1, steps, axes), first
    if kind in ("picture", "spectrum") and 2 <= len(shape) <= 3:
        height, width, channels = (*shape, 1)[:3]
        first = channels not in CHANNELS and height in CHANNELS
        return kind, (width, channels, height) if first else (height, width, channels), first
    problem = f"inputs have shape {shape}, which is no {kind or 'picture, signal or row of a table'}"
    way = f"reshape them, channels last, and say what they are with {option('kind')}"
    raise InputError("value", f"{problem}; {way} ({', '.join(KINDS)})")


def gauge_names(shape: tuple[int, ...], kind: str | None = None) -> tuple[str, ...]:
    """Return the names of the gauges of an input.

    Parameters
    ----------
    shape : tuple of int
        Of one input, as the network gets it: height, width and channels of a picture or a spectrum, steps and
        axes of a signal, columns of a table.
    kind : {"picture", "spectrum", "signal", "table"}, optional
        What the input is; found by its shape unless given.

    Examples
    --------
    >>> gauge_names((96, 96, 1))[:6]
    ('brightness', 'contrast', 'sharpness', 'vertical_sharpness', 'detail', 'dark')
    >>> gauge_names((128, 2))
    ('strength', 'jitter', 'flat', 'offset_1', 'offset_2', 'change_1', 'change_2')
    """
    kind, (_, _, channels), _ = layout_of(tuple(shape), kind)
    names = KINDS[kind]
    if kind in ("picture", "spectrum"):
        return tuple(names[: {1: 9, 2: 11}.get(channels, 12)])
    if kind == "table" or channels == 1:
        return tuple(names)
    axes = range(1, min(channels, AXES) + 1)
    return (*names[:3], *(f"{name}_{axis}" for name in names[5:] for axis in axes))


def input_gauges(
    inputs: npt.ArrayLike,
    kind: str | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> npt.NDArray[np.float32]:
    """Return the gauges of inputs of a network: exactly what the C core gives on a device.

    Parameters
    ----------
    inputs : array of shape (T, ...)
        What the network gets, one input a row: int8, uint8 (128 is taken off), or floats. Channels are last;
        those of pictures, and up to six axes of a signal, may come first, which a device must put last.
    kind : {"picture", "spectrum", "signal", "table"}, optional
        What the inputs are; found by their shape unless given.
    scale, zero_point : float, int, optional
        Of the network's int8 input; needed for floats alone.

    Returns
    -------
    array of float32, shape (T, n)
        A column for each name of `gauge_names`.

    Examples
    --------
    >>> pictures = np.zeros((3, 8, 8, 1), np.int8)
    >>> input_gauges(pictures).shape, input_gauges(pictures)[0, :2].tolist()
    ((3, 9), [0.0, 1.0])
    """
    array = np.asarray(inputs)
    if array.ndim < 2:
        raise InputError("value", f"inputs have {array.ndim} dimensions, expected one row an input")
    kind, shape, first = layout_of(array.shape[1:], kind, array.dtype)
    names = gauge_names(array.shape[1:], kind)
    if first:
        array = np.moveaxis(array.reshape(len(array), shape[2], *shape[:2]), 1, -1)
    if not 1 <= np.prod(shape) <= LARGEST or max(shape) > LONGEST:
        expected = f"expected 1 to {LARGEST:,} values, at most {LONGEST:,} a side"
        raise InputError("limit", f"inputs have shape {array.shape[1:]}, {expected}")
    if array.dtype.kind == "f":
        if scale is None or zero_point is None:
            way = f"pass {option('scale')} and {option('zero_point')} of the network's int8 input"
            raise InputError("missing", f"inputs are {array.dtype}; {way}")
        number("scale", scale, 1e-30, 1e30)
        integer("zero_point", zero_point, -128, 127)
        flat = np.ascontiguousarray(array, np.float32).reshape(len(array), -1)
        whole = np.empty(flat.shape, np.int8)
        _core.quantize_features(flat, whole, flat.shape[1], scale, zero_point)
    elif array.dtype == np.uint8:
        whole = (array ^ 128).view(np.int8)
    elif array.dtype == np.int8:
        whole = array
    else:
        raise InputError("value", f"inputs are {array.dtype}, expected int8, uint8 or floats")
    out = np.empty((len(array), MOST), np.int16)
    _core.input_gauges(np.ascontiguousarray(whole), out, _CODES[kind], *shape)
    return np.asarray(out[:, : len(names)] / np.float32(256), np.float32)
