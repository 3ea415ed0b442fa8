"""What inputs are by their shape, the range that they have, and the one that a model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.spelling import option
from ..log.gauges import family_of, gauge_names, input_gauges
from .model import Array, Format, Model, Range

COMMON: tuple[Range, ...] = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))
"""Ranges that models of pictures are usually trained on."""

USUAL: tuple[Range, ...] = (*COMMON, (-128.0, 127.0))
"""Ranges that pictures usually have; the first that holds all values is taken."""

TRIED = 200  # examples on which ranges are compared, and from which on their values are judged
FEWEST = 50  # examples from which on ranges are compared
GAIN = 0.1  # share of the answers that another range must put right

ODD_SCALE, WRONG_SCALE = 0.05, 0.5
"""Shares of values outside the input's range: from the first on there is a note, from the second an error."""

FEW_STEPS = 2.55
"""Steps of an integer input, 1 % of those of int8, below which data that vary have another scale."""

CONVERT = "convert them as the inputs of its training were: units, offset and scale"


def range_of(sample: Array) -> Range | None:
    """Return the range of data by their type or, of floats, the usual one that they fill; None for others."""
    whole = np.iinfo(sample.dtype) if sample.dtype.kind in "iu" and sample.dtype.itemsize <= 2 else None
    if sample.dtype.itemsize > 1:
        low, high = float(sample.min()), float(sample.max())
        for least, most in USUAL:
            # Standardized values would else be pixels.
            wide = most - least <= 2 or high - low >= (most - least) / 8
            if least - 1e-3 <= low and high <= most + 1e-3 and wide:
                return least, most
    return None if whole is None else (float(whole.min), float(whole.max))


def same_range(one: Range | None, other: Range) -> bool:
    """Tell whether two ranges are equal but for a rounding."""
    if one is None:
        return False
    off = max(abs(a - b) for a, b in zip(one, other, strict=True))
    return off <= 0.02 * (other[1] - other[0])


def moved(x: Array, own: Range, wanted: Range) -> Array:
    """Return values of one range in another one."""
    factor = (wanted[1] - wanted[0]) / (own[1] - own[0])
    return np.asarray((x.astype(np.float64) - own[0]) * factor + wanted[0], np.float32)


def shown_range(ends: Range) -> str:
    """Return a range as a person writes it."""
    return f"{ends[0]:.4g} to {ends[1]:.4g}"


def quantized(x: Array, format: Format, dtype: Any) -> tuple[Array, float]:
    """Return numbers as integers of a model's input, and the share that lies outside of its range."""
    limits, units = np.iinfo(dtype), x.astype(np.float32) / np.float32(format.scale)
    # A half is rounded away from zero, as the operator QUANTIZE of TFLite does.
    whole = np.copysign(np.floor(np.abs(units) + np.float32(0.5)), units) + np.float32(format.zero_point)
    outside = (whole < limits.min - 1) | (whole > limits.max + 1)
    share = float(outside.mean()) if whole.size else 0.0
    return np.clip(whole, limits.min, limits.max).astype(dtype), share


def whole_format(ends: Range) -> Format:
    """Return the format of int8 whose values span a range."""
    scale = (ends[1] - ends[0]) / 255
    return Format(scale, round(-128 - ends[0] / scale))


def gauges_of(x: Array, whole: Array) -> tuple[Array, tuple[str, ...]] | None:
    """Return gauges of a batch and their names; `whole` is what a model takes of it, a byte a value.

    None where it is of another format, or nobody knows what inputs of its shape are.
    """
    pictures = family_of(x.shape[1:], x.dtype) == "pictures" and whole.ndim in (3, 4)
    kind = "picture" if pictures else None
    try:
        return input_gauges(whole, kind), gauge_names(whole.shape[1:], kind)
    except InputError:
        return None


class Preparation:
    """Makes inputs of a model from batches of data."""

    def __init__(
        self, model: Model, name: str, pixels: bool, wanted: Range | None = None, own: Range | None = None
    ) -> None:
        self._model, self._name, self._pixels, self._wanted, self._own = model, name, pixels, wanted, own
        self.notes: list[str] = []
        self._lowest, self._highest = np.inf, -np.inf
        self._inputs, self._values, self._outside = 0, 0, 0.0

    def __call__(self, x: Array, given: Array | None = None) -> Array:
        """Return a batch as the model takes it; `given`, what it was before shifts of ours, is judged."""
        # Shifts are cut to the range of the model's input, as the converter of a sensor would.
        if given is not None:
            self._taken(given, judged=True)
        return self._taken(x, judged=given is None)

    def gauges(self, x: Array, ready: Array) -> tuple[Array, tuple[str, ...]] | None:
        """Return gauges of a batch as an int8 model takes it, and their names; None where nobody knows."""
        format, dtype = self._model.inside or (None, self._model.input)
        ends = self._wanted or ((0.0, 1.0) if self._pixels else self._own)
        if format is None and ready.dtype.kind == "f" and ends is not None:
            format, dtype = whole_format(ends), np.int8
        elif self._model.quantized is None and format is None:
            return None
        return gauges_of(x, ready if format is None else quantized(ready, format, dtype)[0])

    def _taken(self, x: Array, judged: bool) -> Array:
        if x.dtype.kind not in "iufb":
            raise InputError("value", f"{self._name}: x is {x.dtype}, expected numbers")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InputError("value", f"{self._name}: x holds NaN or infinity, expected finite numbers")
        shaped, model = self._shaped(x), self._model
        if model.quantized is not None:
            return self._integers(shaped, model.quantized, judged)
        dtype = None if model.input is None else np.dtype(model.input)
        if dtype is not None and dtype.kind in "iu":
            return self._indices(shaped, dtype, judged)
        wanted = self._wanted or ((0.0, 1.0) if self._pixels else None)
        numbers = shaped if wanted is None else self._moved(shaped, wanted)
        if dtype is None:
            return numbers
        if model.inside is not None:
            self._fitted(numbers.astype(dtype), *model.inside, judged)
        elif wanted is None and x.dtype == np.uint8:
            ways = " or ".join(option("input_range", ends) for ends in ((0, 1), (-1, 1)))
            way = f"pass {ways} if your model was trained on that"
            self._note(f"x is uint8 and goes in as 0 to 255; {way}")
        return numbers.astype(dtype)

    def _moved(self, x: Array, wanted: Range) -> Array:
        """Return values in the range that the model was trained on."""
        self._own = self._own or ((0.0, 255.0) if self._pixels else range_of(x))
        if self._own is None:
            problem = f"values range from {x.min():.4g} to {x.max():.4g}, not a usual range of inputs"
            way = f"convert them to {shown_range(wanted)} and leave out {option('input_range')}"
            raise InputError("value", f"{problem}; {way}", where=self._name)
        return moved(x, self._own, wanted)

    def _indices(self, x: Array, dtype: Any, judged: bool) -> Array:
        limits = np.iinfo(dtype)
        if not judged:
            return np.clip(np.rint(x), limits.min, limits.max).astype(dtype)
        if self._wanted is not None:
            way = f"leave out {option('input_range')}"
            raise self._model.refusal("conflict", f"takes {dtype} as they are; {way}")
        if (x != np.floor(x)).any() or x.min() < limits.min or x.max() > limits.max:
            raise InputError("value", f"{self._name}: x is {x.min():g} to {x.max():g}, expected {dtype}")
        return x.astype(dtype)

    def _integers(self, x: Array, format: Format, judged: bool) -> Array:
        dtype = np.dtype(self._model.input)
        if self._wanted is not None:
            return self._fitted(self._moved(x, self._wanted), format, dtype, judged)
        if x.dtype == dtype:
            return x
        if x.dtype == np.uint8 and dtype == np.int8:
            # The range of pixels on the whole range of the input, whatever numbers that stands for.
            if not self._pixels and not same_range(ends_of(format, dtype), (0.0, 255.0)):
                taken = shown_range(ends_of(format, dtype))
                self._note(f"x is uint8: 0 to 255 goes in as {taken}, all that the model takes")
            return (x.astype(np.int16) - 128).astype(np.int8)
        return self._fitted(x, format, dtype, judged)

    def _fitted(self, numbers: Array, format: Format, dtype: Any, judged: bool) -> Array:
        """Return numbers as integers, and judge how many lie far outside of what integers stand for."""
        found, share = quantized(numbers, format, dtype)
        if judged and numbers.size:
            self._lowest = min(self._lowest, float(numbers.min()))
            self._highest = max(self._highest, float(numbers.max()))
            self._values, self._outside = self._values + numbers.size, self._outside + share * numbers.size
            self._inputs += len(numbers)
            if self._inputs >= TRIED:
                self._outside_of(format, dtype)
        return found

    def _outside_of(self, format: Format, dtype: Any) -> str | None:
        """Refuse data that mostly lie outside an integer input's range; say it of those that partly do."""
        share = self._outside / self._values
        if share < ODD_SCALE:
            return None
        much, taken = f"{100 * share:.0f} % of the values", shown_range(ends_of(format, dtype))
        problem = f"{much} lie outside {taken}, which the model takes: they range from {self._lowest:.4g} to"
        # No option can put the range right where nobody knows which one the inputs have.
        way = f"set {option('input_range')} to the range that the model was trained on"
        way = way if self._own else CONVERT
        if self._wanted is not None:
            way = f"choose another {option('input_range')} than {shown_range(self._wanted)}"
        problem += f" {self._highest:.4g}; {way}"
        if share >= WRONG_SCALE:
            raise InputError("value", problem, where=self._name)
        return f"{problem} if that is not meant"

    def finish(self) -> None:
        """Judge all data by an integer input's range; refuse those in a tiny part of it."""
        format, dtype = self._model.quantized, self._model.input
        if format is None and self._model.inside is not None:
            format, dtype = self._model.inside
        if format is None or not self._values:
            return
        if (note := self._outside_of(format, dtype)) is not None:
            self._note(note)
        if not 0 < (self._highest - self._lowest) / format.scale < FEW_STEPS:
            return
        problem = f"all values lie between {self._lowest:.4g} and {self._highest:.4g}, and {self._model.name}"
        taken = f"takes {shown_range(ends_of(format, dtype))}: to it they are nearly all the same"
        raise InputError("value", f"{problem} {taken}; {CONVERT}", where=self._name)

    def _note(self, text: str) -> None:
        if not self.notes:
            self.notes.append(text)

    def _shaped(self, x: Array) -> Array:
        """Return a batch in the shape of the model's input; lengths of 1 may be missing or too many."""
        shape, given = self._model.shape, x.shape[1:]
        if x.ndim < 2:
            raise InputError("value", f"{self._name}: x has {x.ndim} dimensions, expected one row an input")
        if shape is None or _fits(given, shape):
            return x
        shaped = with_ones(x, shape)
        if shaped.shape != x.shape:
            return shaped
        wanted = tuple("any" if each is None else each for each in shape)
        hint = ""
        if len(given) == len(shape) == 3 and sorted(given) == sorted(each or 0 for each in shape):
            hint = "; move the channels with numpy.moveaxis"
        elif None not in shape and np.prod(given) == np.prod([each or 0 for each in shape]):
            hint = f"; x.reshape(-1, {', '.join(map(str, shape))}) if that is what they are"
        shown = f"({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
        problem = f"an input has shape {given}, {self._model.name} takes {shown}{hint}"
        raise InputError("value", problem, where=self._name)


def ends_of(format: Format, dtype: Any) -> Range:
    """Return the numbers that the least and the largest integer of an input stand for."""
    limits = np.iinfo(dtype)
    return format.scale * (limits.min - format.zero_point), format.scale * (limits.max - format.zero_point)


def with_ones(x: Array, shape: tuple[int | None, ...] | None) -> Array:
    """Return inputs in the shape that a model takes where only lengths of 1 are missing or too many."""
    if shape is None or None in shape:
        return x
    target = [each for each in shape if each is not None]
    if [each for each in x.shape[1:] if each != 1] != [each for each in target if each != 1]:
        return x
    return x.reshape(len(x), *target)


def _fits(given: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    pairs = zip(given, shape, strict=False)
    return len(given) == len(shape) and all(own is None or own == other for other, own in pairs)
