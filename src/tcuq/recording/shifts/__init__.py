"""From what a user asks for to shifts that are ready, by how inputs lie in the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import InputError, InputTypeError, located, wrong_value
from ...base.spelling import option
from ...log.gauges import CHANNELS, family_of
from ..data import Data
from ..model import Array, Floats, Model, users_code
from ..opening import is_reference, referred
from ..ranges import range_of
from . import pictures, signals, sound, tables


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
    shown: str  # in a note

    def numbers(self, x: Array) -> Floats:
        """Return an input as a family's shifts take it."""
        return np.asarray((self.arrange(x).astype(np.float64) - self.offset) / self.factor)

    def values(self, numbers: Floats) -> Array:
        """Return numbers as an input: within the range, in the former shape and dtype."""
        return self.kept(np.asarray(numbers * self.factor + self.offset))

    def kept(self, values: Floats) -> Array:
        """Return arranged values as an input: cut to the range, in the former shape and dtype."""
        cut = np.clip(values, self.low, self.high)
        if self.dtype.kind in "iub":
            cut = np.rint(cut)
        return self.restore(cut).astype(self.dtype)


def are_indices(sample: Array, model: Model | None) -> bool:
    """Tell whether inputs name things, such as the tokens of a text, and are no measured numbers."""
    if model is not None and model.input is not None:
        taken = np.dtype(model.input)
        return taken.kind in "iu" and taken.itemsize >= 4 and model.quantized is None
    # Samples of a sensor are narrow, or below 0 at times, or fractions.
    return sample.dtype.kind in "iu" and sample.dtype.itemsize >= 4 and int(sample.min()) >= 0


def _unfit(data: Data, family: str, shape: tuple[int, ...], wanted: str) -> InputError:
    way = f"choose other {option('shifts')}, or your own"
    problem = f"an input has shape {shape}, {family} have {wanted}; {way}"
    return InputError("value", problem, where=data.name)


def _same(x: Array, rng: Any = None) -> Array:
    return x


def _pictures(sample: Array, data: Data) -> Form:
    shape = sample.shape[1:]
    same: Callable[[Array], Array] = _same
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
        raise _unfit(data, "pictures", shape, "(height, width) or (height, width, channels)")
    low, high = range_of(sample) or (float(sample.min()), float(sample.max()))
    low, high = (0.0, 255.0) if data.pixels else (low, high)
    shown = f"pictures of {height} x {width} with values {low:g} to {high:g}"
    blanks = low, (low + high) / 2  # black, and gray: where the zero point of a quantized input may lie
    return Form(sample.dtype, arrange, restore, low, (high - low) or 1.0, low, high, blanks, False, shown)


def _sound(sample: Array, data: Data) -> Form:
    shape, dtype = sample.shape[1:], sample.dtype
    if len([each for each in shape if each != 1]) != 1:
        raise _unfit(data, "sounds", shape, "one length, as waveforms do")
    offset = 128.0 if dtype == np.uint8 else 0.0
    peak = float(np.abs(sample.astype(np.float64) - offset).max())
    full = {1: 128.0, 2: 32768.0}.get(dtype.itemsize) if dtype.kind in "iu" else 1.0
    factor = full if full is not None and peak <= full else peak or 1.0
    low, high = offset - factor, offset + factor
    if dtype.kind in "iu":
        low, high = max(low, np.iinfo(dtype).min), min(high, np.iinfo(dtype).max)
    shown = f"sound of {int(np.prod(shape)):,} samples, full scale {factor:g}"
    blanks = offset, offset  # silence
    return Form(dtype, np.ravel, lambda x: x.reshape(shape), offset, factor, low, high, blanks, True, shown)


def _signals(sample: Array, data: Data) -> Form:
    shape = sample.shape[1:]
    long = [each for each in shape if each != 1]
    if len(long) > 2:
        raise _unfit(data, "signals", shape, "(time,) or (time, channels)")
    time, channels = [*long, 1, 1][:2]
    flip = channels > time
    if flip:
        time, channels = channels, time

    def arrange(x: Array) -> Array:
        return x.reshape(channels, time).T if flip else x.reshape(time, channels)

    def restore(x: Array) -> Array:
        return (x.T if flip else x).reshape(shape)

    rows = np.concatenate([arrange(each) for each in sample])
    shown = f"signals of {time:,} samples in {channels} channel{'s' * (channels != 1)}"
    return _measured(rows, arrange, restore, shown)


def _tables(sample: Array, data: Data) -> Form:
    shape = sample.shape[1:]
    if len(shape) != 1 or shape[0] < 2:
        raise _unfit(data, "rows of a table", shape, "(columns,), two or more")
    return _measured(sample, _same, _same, f"rows of a table of {shape[0]:,} columns")


def _measured(rows: Array, arrange: Callable[[Array], Array], restore: Any, shown: str) -> Form:
    """Return the form of what sensors measure, by the columns of rows: half of their range is room beyond."""
    dtype, rows = rows.dtype, rows.astype(np.float64)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = (high - low) / 2
    low, high = low - room, high + room
    if dtype.kind in "iu":
        low, high = np.maximum(low, np.iinfo(dtype).min), np.minimum(high, np.iinfo(dtype).max)
    unit = np.where(deviation > 0, deviation, 1.0)
    return Form(dtype, arrange, restore, mean, unit, low, high, (mean, 0.0), False, shown)


HALF = 0.625  # severity that half of the stretches of a stream exceed
QUIETEST = 1e-4  # peak, as a part of full scale, below which sound counts as silent


def blank(form: Form, x: Array, severity: float, rng: np.random.Generator) -> Array:
    """Show one value throughout: black or gray; silence; the mean of each channel, or 0."""
    return form.kept(np.zeros(form.arrange(x).shape) + form.blanks[severity > HALF])


def saturated(form: Form, x: Array, severity: float, rng: np.random.Generator) -> Array:
    """Drive the input into the end of its range: overexposed, clipped hard, at the rail of the sensor."""
    values = form.arrange(x).astype(np.float64)
    if not form.swings:
        return form.kept(values + (0.25 + 0.75 * severity) * (form.high - form.low))
    away = values - form.offset
    peak = max(float(np.abs(away).max()), QUIETEST * form.factor)
    return form.kept(form.offset + away * (10 ** (1 + severity) * form.factor / peak))


COLLAPSES = (blank, saturated)  # inputs that say nothing any more, of any family
SAMPLE = 256  # inputs of an array from which ranges are read
FILES = 32  # files of a folder, each of which has to be decoded, from which the range of signals is read
MOST = 255  # kinds that a log tells apart

FAMILIES: dict[str, tuple[Callable[[Array, Data], Form], Any]] = {
    "pictures": (_pictures, pictures),
    "sound": (_sound, sound),
    "signals": (_signals, signals),
    "tables": (_tables, tables),
}
"""How inputs of a family lie in the data, and its shifts."""

Shift = Callable[[Array, np.random.Generator], Array]
Shifts = bool | str | Shift | Mapping[str, Shift] | Sequence[Any] | None
"""What `record` takes: True for the set that suits the data, a family, functions, or several of these."""


class Kind(NamedTuple):
    """A kind of shift: what it makes of an input, by a severity in (0, 1] and numbers."""

    name: str
    apply: Callable[[Array, float, np.random.Generator], Array]
    own: bool = False  # a function of the user
    collapse: bool = False  # it leaves nothing to see: blank, saturated or frozen
    frozen: bool = False  # the last input before the stretch comes again, whatever should have been seen


@dataclass(frozen=True, eq=False)
class Chosen:
    """Shifts that are ready to be applied; number 1 in `shifted` is the first of them."""

    kinds: tuple[Kind, ...]
    shake: Callable[[Array, np.random.Generator], Array]  # a held example at its next step
    notes: tuple[str, ...] = ()


def choose(
    shifts: Shifts, data: Data, among: Array | None = None, model: Model | None = None, held: bool = False
) -> Chosen:
    """Return the shifts that a user asks for; ranges are read from the examples `among`, or from all."""
    # Where some examples will be `held`, it matters what they are taken as without shifts as well.
    wanted = listed(shifts)
    named = [each for each in wanted if isinstance(each, str)]
    given = [each for each in named if each in FAMILIES]
    if len(given) > 1:
        raise InputError("conflict", f"shifts are {' and '.join(given)}, expected one family")
    sample = _sample(data, among, given[0] if given else data.family)
    guessed = data.family or family_of(sample.shape[1:], sample.dtype)
    family = given[0] if given else guessed
    generic = bool(given) or True in wanted
    indices = not given and guessed in ("signals", "tables", None) and are_indices(sample, model)
    way = f"pass your own function as {option('shifts')}, or {option('shifts', 'none')}"
    if indices and generic:
        problem = "inputs are whole numbers from 0 on, as indices are, which no generic shift suits"
        way += f", or {option('shifts', 'tables')} or {option('shifts', 'signals')} if they were measured"
        raise InputError("unsupported", f"{problem}; {way}", where=data.name)
    if family is None and generic:
        problem = f"an input has shape {sample.shape[1:]}, which is none of {', '.join(FAMILIES)}"
        raise InputError("unsupported", f"{problem}; {way}", where=data.name)
    form = None if family is None or indices else FAMILIES[family][0](sample, data)
    kinds: list[Kind] = []
    if generic and form is not None:
        generic_kinds = FAMILIES[str(family)][1].KINDS
        kinds += [Kind(each.__name__, partial(_degraded, form, each)) for each in generic_kinds]
        kinds += [Kind(each.__name__, partial(each, form), collapse=True) for each in COLLAPSES]
        kinds.append(Kind("frozen", lambda x, severity, rng: x, collapse=True, frozen=True))
    for each in wanted:
        if each is not True and each not in given:
            kinds += _own(each, data.name)
    _refuse_twins([each.name for each in kinds])
    notes = []
    if (generic or held) and not given and data.family is None and form is not None:
        others = f"{option('shifts')} can name another of {', '.join(FAMILIES)}"
        notes.append(f"inputs are taken as {form.shown}; {others}")
    if indices and held:
        notes.append("inputs are taken as indices: an example that is held comes again as it is, not shaken")
    return Chosen(tuple(kinds), _same if indices else partial(_shake, form, family), tuple(notes))


def listed(shifts: Shifts) -> list[Any]:
    """Return what was asked for, one by one; True stands for the set that suits the data."""
    if shifts is None or shifts is False:
        return []
    if isinstance(shifts, str):
        parts = [each.strip() for each in shifts.split(",")]
        for each in parts:
            if each not in (*FAMILIES, "none", "auto") and not is_reference(each):
                raise wrong_value("shifts", each, f"{', '.join(FAMILIES)}, none, or module:function")
        if "none" in parts and len(parts) > 1:
            raise InputError("conflict", "shifts is none and more, expected one of both")
        return [True if each == "auto" else each for each in parts if each != "none"]
    if isinstance(shifts, Sequence):
        wanted = [part for each in shifts for part in listed(each)]
        return [each for n, each in enumerate(wanted) if each not in wanted[:n]]
    if shifts is True or isinstance(shifts, Mapping) or callable(shifts):
        return [shifts]
    raise InputTypeError("value", f"shifts is {type(shifts).__name__}, expected text, functions or True")


def _sample(data: Data, among: Array | None, family: str | None) -> Array:
    assert data.take is not None
    count = data.total if among is None else len(among)
    # Pictures and sounds of files have the range of their format; signals have what they are seen to have.
    most = SAMPLE if not data.folder else FILES if family == "signals" else 1
    wanted = min(most, count)
    places = np.arange(wanted) * count // wanted
    return np.asarray(data.take(places if among is None else np.asarray(among)[places]))


def _degraded(form: Form, function: Any, x: Array, severity: float, rng: np.random.Generator) -> Array:
    return form.values(function(form.numbers(x), severity, rng))


def _shake(form: Form | None, family: str | None, x: Array, rng: np.random.Generator) -> Array:
    """Return an input as it comes again; of no known family, with noise of a twentieth of its deviation."""
    if form is not None and family is not None:
        return form.values(FAMILIES[family][1].shaken(form.numbers(x), rng))
    return _like(x, x + 0.05 * float(x.astype(np.float64).std()) * rng.standard_normal(x.shape))


def _like(x: Array, found: Array) -> Array:
    """Return numbers in the dtype of an input."""
    if x.dtype.kind == "b" and found.dtype.kind != "b":
        return np.asarray(found >= 0.5)  # every other number is true to numpy
    if x.dtype.kind not in "iu" or found.dtype == x.dtype:
        return found.astype(x.dtype)
    limits = np.iinfo(x.dtype)
    return np.clip(np.rint(found.astype(np.float64)), limits.min, limits.max).astype(x.dtype)


def _own(each: Any, where: str) -> list[Kind]:
    """Return kinds of the user: a function by its name, a mapping of names to functions."""
    text = each if isinstance(each, str) else None
    own = referred(text, "shifts") if text is not None else each
    if isinstance(own, Mapping):
        pairs = [(str(name), function) for name, function in own.items()]
    else:
        name = text.rpartition(":")[2] if text is not None else getattr(own, "__name__", "shift")
        pairs = [(name, own)]
    for name, function in pairs:
        if not callable(function):
            kind = type(function).__name__
            raise InputError("value", f"shifts is {text or name}, of type {kind}; expected (x, rng) -> x")
    return [_checked(name, function, where) for name, function in pairs]


def _checked(name: str, function: Shift, where: str) -> Kind:
    def apply(x: Array, severity: float, rng: np.random.Generator) -> Array:
        with users_code(f"failed on an input of {where}", f"shift {name}"):
            made = np.asarray(function(x.copy(), rng))
        with located(f"shift {name}"):
            if made.shape != x.shape:
                raise InputError("value", f"returns shape {made.shape}, expected {x.shape}")
            if made.dtype.kind not in "iufb":
                raise InputError("value", f"returns {made.dtype}, expected numbers")
            if not np.isfinite(made).all():
                raise InputError("value", "returns NaN or infinity, expected finite numbers")
        return _like(x, made)

    return Kind(name, apply, own=True)


def _refuse_twins(names: Sequence[str]) -> None:
    if "clean" in names:
        raise InputError("conflict", "a shift is named 'clean', as undegraded input is; give it another name")
    twins = sorted({each for each in names if names.count(each) > 1})
    if twins:
        raise InputError("conflict", f"two shifts are named {twins[0]!r}; give one another name in a mapping")
    if len(names) > MOST:
        raise InputError("limit", f"there are {len(names)} shifts, expected at most {MOST}")
