"""From data to what a model takes: shape, scale, and integers where the model has an integer input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.inputs import WRONG_SCALE, outside, whole_units
from .model import Array, Format, Info

ODD_SCALE = 0.05
"""Share of values outside the input's range from which on a note is made."""

FEW_STEPS = 2.55
"""Steps of an integer input, 1 % of those of int8, below which data that vary have another scale."""


def quantized(x: Array, format: Format, dtype: Any) -> tuple[Array, float]:
    """Return numbers as integers of a model's input, and the share that lies outside of its range.

    A half is rounded away from zero, as the operator QUANTIZE of TFLite does.

    Parameters
    ----------
    x : array
    format : Format
    dtype : numpy dtype
        Of the integers.

    Examples
    --------
    >>> quantized(np.array([0.0, 0.25, 1.0, 9.0]), Format(0.5, -128), np.int8)[0].tolist()
    [-128, -127, -126, -110]
    """
    limits = np.iinfo(dtype)
    whole = whole_units(x, format.scale, format.zero_point)
    share = outside(whole, limits.min, limits.max)
    return np.clip(whole, limits.min, limits.max).astype(dtype), share


class Preparation:
    """Makes inputs of a model from batches of data.

    Parameters
    ----------
    info : Info
        Of the model; notes are added to it.
    name : str
        Of the data, in messages.
    pixels : bool
        The data are pixels of picture files, 0 to 255.
    scale : float, optional
        What data are multiplied by.
    """

    def __init__(self, info: Info, name: str, pixels: bool, scale: float | None) -> None:
        self._info, self._name, self._pixels, self._scale = info, name, pixels, scale
        self._noted = False
        self._lowest, self._highest = np.inf, -np.inf

    def __call__(self, x: Array) -> Array:
        """Return a batch as the model takes it."""
        if x.dtype.kind not in "iufb":
            raise ValueError(f"{self._name}: x is {x.dtype}, expected numbers")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise ValueError(f"{self._name}: x holds NaN or infinity, expected finite numbers")
        shaped, info = self._shaped(x), self._info
        if info.quantized is not None:
            return self._integers(shaped, info.quantized)
        factor = self._scale if self._scale is not None else 1 / 255 if self._pixels else None
        if info.input is None:
            return shaped if factor is None else shaped.astype(np.float32) * np.float32(factor)
        dtype = np.dtype(info.input)
        if dtype.kind in "iu":
            return self._indices(shaped, dtype)
        if info.inside is not None:
            numbers = shaped.astype(dtype) * dtype.type(1 if factor is None else factor)
            self._fitted(numbers, *info.inside)
            return np.asarray(numbers)
        if factor is not None:
            return np.asarray(shaped.astype(dtype) * dtype.type(factor))
        if shaped.dtype == np.uint8:
            self._note(
                "x is uint8 and goes in as 0 to 255; pass `scale=1/255` if your model was trained on 0 to 1"
            )
        return shaped.astype(dtype)

    def _indices(self, x: Array, dtype: Any) -> Array:
        limits = np.iinfo(dtype)
        if (x != np.floor(x)).any() or x.min() < limits.min or x.max() > limits.max:
            raise ValueError(
                f"{self._name}: x ranges from {x.min():g} to {x.max():g}, the model takes {dtype}"
            )
        return x.astype(dtype)

    def _integers(self, x: Array, format: Format) -> Array:
        dtype = np.dtype(self._info.input)
        if self._scale is None and x.dtype == dtype:
            return x
        if self._scale is None and self._pixels:
            # The range of pixels on the whole range of the input, whatever numbers that stands for.
            return (x.astype(np.int16) + (np.iinfo(dtype).min if dtype == np.int8 else 0)).astype(dtype)
        numbers = x if self._scale is None else x.astype(np.float32) * np.float32(self._scale)
        return self._fitted(numbers, format, dtype)

    def _fitted(self, numbers: Array, format: Format, dtype: Any) -> Array:
        """Return numbers as integers; refuse, or note, those far outside of what the integers stand for."""
        found, share = quantized(numbers, format, dtype)
        self._lowest = min(self._lowest, float(numbers.min()))
        self._highest = max(self._highest, float(numbers.max()))
        if share >= ODD_SCALE:
            much = f"{100 * share:.0f} % of the values"
            said = f"{much} lie outside {_ends(format, dtype)}, which the model takes"
            hint = f"they range from {numbers.min():.4g} to {numbers.max():.4g}; set `scale`"
            if share >= WRONG_SCALE:
                raise ValueError(f"{self._name}: {said}: {hint}")
            self._note(f"{said}: {hint} if that is not meant")
        return found

    def finish(self) -> None:
        """Refuse data that all lie in a tiny part of an integer input's range: they have another scale."""
        info = self._info
        format, dtype = (
            (info.quantized, info.input) if info.quantized is not None else info.inside or (None, 0)
        )
        if format is None or not 0 < (self._highest - self._lowest) / format.scale < FEW_STEPS:
            return
        raise ValueError(
            f"{self._name}: all values lie between {self._lowest:.4g} and {self._highest:.4g}, and "
            f"{info.name} takes {_ends(format, dtype)}: to it they are nearly all the same; set `scale`, or "
            "convert them"
        )

    def _note(self, text: str) -> None:
        if not self._noted:
            self._info.notes.append(text)
            self._noted = True

    def _shaped(self, x: Array) -> Array:
        """Return a batch in the shape of the model's input; lengths of 1 may be missing or too many."""
        shape, given = self._info.shape, x.shape[1:]
        if x.ndim < 2:
            raise ValueError(f"{self._name}: x has {x.ndim} dimensions, expected one row an input")
        if shape is None or _fits(given, shape):
            return x
        found = with_ones(x, shape)
        if found.shape != x.shape:
            return found
        wanted = tuple("any" if each is None else each for each in shape)
        hint = ""
        if len(given) == len(shape) == 3 and sorted(given) == sorted(each or 0 for each in shape):
            hint = "; move the channels with numpy.moveaxis"
        elif None not in shape and np.prod(given) == np.prod([each or 0 for each in shape]):
            hint = f"; x.reshape(-1, {', '.join(map(str, shape))}) if that is what they are"
        shown = f"({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
        raise ValueError(f"{self._name}: an input has shape {given}, {self._info.name} takes {shown}{hint}")


def _ends(format: Format, dtype: Any) -> str:
    limits = np.iinfo(dtype)
    low, high = (format.scale * (each - format.zero_point) for each in (limits.min, limits.max))
    return f"{low:.4g} to {high:.4g}"


def with_ones(x: Array, shape: tuple[int | None, ...] | None) -> Array:
    """Return inputs in the shape that a model takes where only lengths of 1 are missing or too many.

    Examples
    --------
    >>> with_ones(np.zeros((5, 8, 8)), (8, 8, 1)).shape, with_ones(np.zeros((5, 8)), (4, 2)).shape
    ((5, 8, 8, 1), (5, 8))
    """
    if shape is None or None in shape:
        return x
    target = [each for each in shape if each is not None]
    if [each for each in x.shape[1:] if each != 1] != [each for each in target if each != 1]:
        return x
    return x.reshape(len(x), *target)


def _fits(given: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    pairs = zip(given, shape, strict=False)
    return len(given) == len(shape) and all(own is None or own == other for other, own in pairs)
