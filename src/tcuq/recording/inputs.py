"""From data to what a model takes: shape, scale, and integers where the model has an integer input."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from .model import Array, Format, Info
from .options import Range
from .ranges import moved, range_of, same_range, shown_range

ODD_SCALE = 0.05
"""Share of values outside the input's range from which on a note is made."""

FEW_STEPS = 2.55
"""Steps of an integer input, 1 % of those of int8, below which data that vary have another scale."""


def quantized(x: Array, format: Format, dtype: Any) -> tuple[Array, float]:
    """Return numbers as integers of a model's input, and the share that lies outside of its range.

    A half is rounded away from zero, as the operator QUANTIZE of TFLite does.

    Parameters
    ----------
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
        Of the model.
    name : str
        Of the data, in messages.
    pixels : bool
        The data are pixels of picture files, 0 to 255.
    wanted : pair of float, optional
        The range that data are moved to.
    own : pair of float, optional
        The range that they have; by default that of the first batch.
    """

    def __init__(
        self, info: Info, name: str, pixels: bool, wanted: Range | None = None, own: Range | None = None
    ) -> None:
        self._info, self._name, self._pixels, self._wanted, self._own = info, name, pixels, wanted, own
        self.notes: list[str] = []
        self._lowest, self._highest = np.inf, -np.inf

    def __call__(self, x: Array) -> Array:
        """Return a batch as the model takes it."""
        if x.dtype.kind not in "iufb":
            raise InputError("value", f"{self._name}: x is {x.dtype}, expected numbers")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InputError("value", f"{self._name}: x holds NaN or infinity, expected finite numbers")
        shaped, info = self._shaped(x), self._info
        if info.quantized is not None:
            return self._integers(shaped, info.quantized)
        dtype = None if info.input is None else np.dtype(info.input)
        if dtype is not None and dtype.kind in "iu":
            return self._indices(shaped, dtype)
        wanted = self._wanted or ((0.0, 1.0) if self._pixels else None)
        numbers = shaped if wanted is None else self._moved(shaped, wanted)
        if dtype is None:
            return numbers
        if info.inside is not None:
            self._fitted(numbers.astype(dtype), *info.inside)
        elif wanted is None and x.dtype == np.uint8:
            self._note(
                "x is uint8 and goes in as 0 to 255; pass `input_range=(0, 1)` or `input_range=(-1, 1)` if "
                "your model was trained on that"
            )
        return numbers.astype(dtype)

    def _moved(self, x: Array, wanted: Range) -> Array:
        """Return values in the range that the model was trained on."""
        self._own = self._own or ((0.0, 255.0) if self._pixels else range_of(x))
        if self._own is None:
            raise InputError(
                "value",
                f"{self._name}: values range from {x.min():.4g} to {x.max():.4g}, which is no usual range of "
                f"inputs; convert them to {shown_range(wanted)} and leave out `input_range`",
            )
        return moved(x, self._own, wanted)

    def _indices(self, x: Array, dtype: Any) -> Array:
        limits = np.iinfo(dtype)
        if self._wanted is not None:
            raise InputError(
                "value", f"{self._info.name}: takes {dtype} as they are; leave out `input_range`"
            )
        if (x != np.floor(x)).any() or x.min() < limits.min or x.max() > limits.max:
            raise InputError(
                "value", f"{self._name}: x ranges from {x.min():g} to {x.max():g}, the model takes {dtype}"
            )
        return x.astype(dtype)

    def _integers(self, x: Array, format: Format) -> Array:
        dtype = np.dtype(self._info.input)
        if self._wanted is not None:
            return self._fitted(self._moved(x, self._wanted), format, dtype)
        if x.dtype == dtype:
            return x
        if x.dtype == np.uint8 and dtype == np.int8:
            # The range of pixels on the whole range of the input, whatever numbers that stands for.
            if not self._pixels and not same_range(ends_of(format, dtype), (0.0, 255.0)):
                taken = shown_range(ends_of(format, dtype))
                self._note(f"x is uint8: 0 to 255 goes in as {taken}, all that the model takes")
            return (x.astype(np.int16) - 128).astype(np.int8)
        return self._fitted(x, format, dtype)

    def _fitted(self, numbers: Array, format: Format, dtype: Any) -> Array:
        """Return numbers as integers; refuse, or note, those far outside of what the integers stand for."""
        found, share = quantized(numbers, format, dtype)
        self._lowest = min(self._lowest, float(numbers.min()))
        self._highest = max(self._highest, float(numbers.max()))
        if share >= ODD_SCALE:
            much = f"{100 * share:.0f} % of the values"
            said = f"{much} lie outside {_ends(format, dtype)}, which the model takes"
            hint = f"they range from {numbers.min():.4g} to {numbers.max():.4g}; set `input_range`"
            if share >= WRONG_SCALE:
                raise InputError("value", f"{self._name}: {said}: {hint}")
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
        raise InputError(
            "value",
            f"{self._name}: all values lie between {self._lowest:.4g} and {self._highest:.4g}, and "
            f"{info.name} takes {_ends(format, dtype)}: to it they are nearly all the same; set "
            "`input_range`, or convert them",
        )

    def _note(self, text: str) -> None:
        if not self.notes:
            self.notes.append(text)

    def _shaped(self, x: Array) -> Array:
        """Return a batch in the shape of the model's input; lengths of 1 may be missing or too many."""
        shape, given = self._info.shape, x.shape[1:]
        if x.ndim < 2:
            raise InputError("value", f"{self._name}: x has {x.ndim} dimensions, expected one row an input")
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
        raise InputError(
            "value", f"{self._name}: an input has shape {given}, {self._info.name} takes {shown}{hint}"
        )


def ends_of(format: Format, dtype: Any) -> Range:
    """Return the numbers that the least and the largest integer of an input stand for.

    Examples
    --------
    >>> ends_of(Format(0.5, -128), np.int8)
    (0.0, 127.5)
    """
    limits = np.iinfo(dtype)
    return format.scale * (limits.min - format.zero_point), format.scale * (limits.max - format.zero_point)


def _ends(format: Format, dtype: Any) -> str:
    low, high = ends_of(format, dtype)
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


WRONG_SCALE = 0.5
"""Share of values outside the range of an input from which on data are refused."""


def outside(whole: npt.NDArray[Any], low: int, high: int) -> float:
    """Return the share of units that lie outside a range by more than one.

    >>> outside(np.array([-129.0, 0.0, 300.0, 127.0]), -128, 127)
    0.25
    """
    return float(((whole < low - 1) | (whole > high + 1)).mean()) if whole.size else 0.0


def whole_units(x: npt.NDArray[Any], scale: float, zero: int) -> npt.NDArray[np.float32]:
    """Return numbers in units of an integer input, not confined to its range yet.

    A half is rounded away from zero, as the operator QUANTIZE of TFLite does. `zero` stands for 0.

    >>> whole_units(np.array([0.0, 0.25, -0.25, 9.0]), 0.5, -128).tolist()
    [-128.0, -127.0, -129.0, -110.0]
    """
    units = x.astype(np.float32) / np.float32(scale)
    return np.asarray(np.copysign(np.floor(np.abs(units) + np.float32(0.5)), units) + np.float32(zero))
