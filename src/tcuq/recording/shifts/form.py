"""How inputs of some family lie in the data: shape, range, and the numbers that shifts work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import InputError
from ..model import Array, Info
from ..ranges import CHANNELS, range_of

Floats = npt.NDArray[np.float64]

FAMILIES = ("pictures", "sound", "signals")


@dataclass(frozen=True, eq=False)
class Form:
    """How one input becomes the numbers that shifts work on, and comes back."""

    dtype: Any
    arrange: Callable[[Array], Array]
    restore: Callable[[Array], Array]
    offset: Any
    factor: Any  # a value is offset + factor * number
    low: Any
    high: Any
    blanks: tuple[Any, Any]  # values of an input that shows nothing, of which there are two ways
    swings: bool  # about the offset, as sound does
    said: str

    def numbers(self, x: Array) -> Floats:
        """Return an input as a family's shifts take it."""
        return np.asarray((self.arrange(x).astype(np.float64) - self.offset) / self.factor)

    def values(self, numbers: Floats) -> Array:
        """Return numbers as an input: within the range, in the former shape and dtype."""
        return self.kept(np.asarray(numbers * self.factor + self.offset))

    def kept(self, values: Floats) -> Array:
        """Return arranged values as an input: cut to the range, in the former shape and dtype."""
        found = np.clip(values, self.low, self.high)
        if self.dtype.kind in "iub":
            found = np.rint(found)
        return self.restore(found).astype(self.dtype)


def are_indices(sample: Array, info: Info | None = None) -> bool:
    """Tell whether inputs name things, such as the tokens of a text, and are no measured numbers.

    The model decides, if it says what it takes. Else wide whole numbers from 0 on are taken as indices:
    samples of a sensor are narrow, or below 0 at times, or fractions.
    """
    if info is not None and info.input is not None:
        taken = np.dtype(info.input)
        return taken.kind in "iu" and taken.itemsize >= 4 and info.quantized is None
    return sample.dtype.kind in "iu" and sample.dtype.itemsize >= 4 and int(sample.min()) >= 0


def form_of(family: str, sample: Array, pixels: bool, where: str) -> Form:
    """Return how inputs of a family lie in the data."""
    make = {"pictures": _pictures, "sound": _sound, "signals": _signals}[family]
    return make(sample, pixels, where)


def _refuse(where: str, family: str, shape: tuple[int, ...], wanted: str) -> InputError:
    problem = f"an input has shape {shape}, {family} have {wanted}; choose other `shifts`, or your own"
    return InputError("value", problem, where=where)


def _pictures(sample: Array, pixels: bool, where: str) -> Form:
    shape = sample.shape[1:]

    def same(x: Array) -> Array:
        return x

    arrange, restore = same, same
    if len(shape) == 2:
        height, width = shape
        arrange, restore = (lambda x: x[..., None]), (lambda x: x[..., 0])
    elif len(shape) == 3 and shape[2] in CHANNELS:
        height, width = shape[:2]
    elif len(shape) == 3 and shape[0] in CHANNELS:
        height, width = shape[1:]
        arrange, restore = (lambda x: np.moveaxis(x, 0, 2)), (lambda x: np.moveaxis(x, 2, 0))
    else:
        raise _refuse(where, "pictures", shape, "(height, width) or (height, width, channels)")
    low, high = (0.0, 255.0) if pixels else range_of(sample) or (float(sample.min()), float(sample.max()))
    said = f"pictures of {height} x {width} with values {low:g} to {high:g}"
    blanks = low, (low + high) / 2  # black, and gray: where the zero point of a quantized input may lie
    return Form(sample.dtype, arrange, restore, low, (high - low) or 1.0, low, high, blanks, False, said)


def _sound(sample: Array, pixels: bool, where: str) -> Form:
    shape, dtype = sample.shape[1:], sample.dtype
    if len([each for each in shape if each != 1]) != 1:
        raise _refuse(where, "sounds", shape, "one length, as waveforms do")
    offset = 128.0 if dtype == np.uint8 else 0.0
    peak = float(np.abs(sample.astype(np.float64) - offset).max())
    full = {1: 128.0, 2: 32768.0}.get(dtype.itemsize) if dtype.kind in "iu" else 1.0
    factor = full if full is not None and peak <= full else peak or 1.0
    low, high = offset - factor, offset + factor
    if dtype.kind in "iu":
        low, high = max(low, np.iinfo(dtype).min), min(high, np.iinfo(dtype).max)
    said = f"sound of {int(np.prod(shape)):,} samples, full scale {factor:g}"
    blanks = offset, offset  # silence
    return Form(dtype, np.ravel, lambda x: x.reshape(shape), offset, factor, low, high, blanks, True, said)


def _signals(sample: Array, pixels: bool, where: str) -> Form:
    shape, dtype = sample.shape[1:], sample.dtype
    long = [each for each in shape if each != 1]
    if len(long) > 2:
        raise _refuse(where, "signals", shape, "(time,) or (time, channels)")
    time, channels = [*long, 1, 1][:2]
    flip = channels > time
    if flip:
        time, channels = channels, time

    def arrange(x: Array) -> Array:
        return x.reshape(channels, time).T if flip else x.reshape(time, channels)

    def restore(x: Array) -> Array:
        return (x.T if flip else x).reshape(shape)

    rows = np.concatenate([arrange(each) for each in sample]).astype(np.float64)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = (high - low) / 2
    low, high = low - room, high + room
    if dtype.kind in "iu":
        low, high = np.maximum(low, np.iinfo(dtype).min), np.minimum(high, np.iinfo(dtype).max)
    said = f"signals of {time:,} samples in {channels} channel{'s' * (channels != 1)}"
    unit = np.where(deviation > 0, deviation, 1.0)
    return Form(dtype, arrange, restore, mean, unit, low, high, (mean, 0.0), False, said)


HALF = 0.625
"""Severity that half of the stretches of a stream exceed."""

QUIETEST = 1e-4
"""Peak, as a part of full scale, below which sound counts as silent."""


def blank(form: Form, x: Array, severity: float) -> Array:
    """Show one value throughout: black or gray; silence; the mean of each channel, or 0."""
    level = form.blanks[severity > HALF]
    return form.kept(np.zeros(form.arrange(x).shape) + level)


def saturated(form: Form, x: Array, severity: float) -> Array:
    """Drive the input into the end of its range: overexposed, clipped hard, at the rail of the sensor."""
    values = form.arrange(x).astype(np.float64)
    if not form.swings:
        return form.kept(values + (0.25 + 0.75 * severity) * (form.high - form.low))
    away = values - form.offset
    peak = max(float(np.abs(away).max()), QUIETEST * form.factor)
    return form.kept(form.offset + away * (10 ** (1 + severity) * form.factor / peak))


COLLAPSES = (blank, saturated)
"""Inputs that say nothing any more, of any family."""
