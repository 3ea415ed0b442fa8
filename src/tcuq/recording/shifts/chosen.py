"""From what a user asks for to shifts that are ready: a family's own, and functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import InputError, InputTypeError, located, wrong_value
from ..data import Data
from ..model import Array, Info, failure
from ..opening import is_reference, referred
from ..ranges import family_of
from . import pictures, signals, sound
from .form import COLLAPSES, FAMILIES, Form, are_indices, form_of

SAMPLE = 256
"""Inputs of an array from which ranges are read."""

FILES = 32
"""Files of a folder, each of which has to be decoded, from which the range of signals is read."""

MOST = 255
"""Kinds that a log tells apart."""

MODULES: dict[str, Any] = {"pictures": pictures, "sound": sound, "signals": signals}

Shift = Callable[[Array, np.random.Generator], Array]
Shifts = bool | str | Shift | Mapping[str, Shift] | Sequence[Any] | None
"""What `record` takes: True for the set that suits the data, a family, functions, or several of these."""


class Kind(NamedTuple):
    """A kind of shift.

    Parameters
    ----------
    name : str
    apply : callable
        What it makes of an input, by a severity in (0, 1] and numbers.
    own : bool
        It is a function of the user.
    collapse : bool
        It leaves nothing to see: blank, saturated or frozen.
    frozen : bool
        The last input before the stretch comes again at each of its steps, whatever should have been seen.
    """

    name: str
    apply: Callable[[Array, float, np.random.Generator], Array]
    own: bool = False
    collapse: bool = False
    frozen: bool = False


@dataclass(frozen=True, eq=False)
class Chosen:
    """Shifts that are ready to be applied.

    Parameters
    ----------
    kinds : tuple of Kind
        Number 1 in `shifted` is the first of them.
    shake : callable
        What a held example looks like at its next step.
    notes : tuple of str
    """

    kinds: tuple[Kind, ...]
    shake: Callable[[Array, np.random.Generator], Array]
    notes: tuple[str, ...] = ()


def choose(
    shifts: Shifts, data: Data, among: Array | None = None, info: Info | None = None, held: bool = False
) -> Chosen:
    """Return the shifts that a user asks for.

    Parameters
    ----------
    shifts : bool, str, callable, mapping or sequence, or None
        As of `tcuq.record`; None, False and "none" are no shifts.
    data : Data
        With `take`.
    among : array of int, optional
        The examples from which ranges are read; all by default.
    info : Info, optional
        Of the model: one that takes indices is told from one that takes numbers.
    held : bool
        Examples will be held, so that what they are taken as matters without shifts as well.
    """
    wanted = listed(shifts)
    named = [each for each in wanted if isinstance(each, str)]
    given = [each for each in named if each in FAMILIES]
    if len(given) > 1:
        raise InputError("conflict", f"shifts are {' and '.join(given)}, expected one family")
    sample = _sample(data, among, given[0] if given else data.family)
    guessed = data.family or family_of(sample.shape[1:], sample.dtype)
    family = given[0] if given else guessed
    generic = bool(given) or True in wanted
    indices = not given and guessed in ("signals", None) and are_indices(sample, info)
    way = "pass your own function as `shifts`, or `shifts=none`"
    if indices and generic:
        problem = "inputs are whole numbers from 0 on, as indices are, which no generic shift suits"
        way += ", or `shifts=signals` if they were measured"
        raise InputError("unsupported", f"{problem}; {way}", where=data.name)
    if family is None and generic:
        problem = f"an input has shape {sample.shape[1:]}, which is no picture, sound or signal"
        raise InputError("unsupported", f"{problem}; {way}", where=data.name)
    form = None if family is None or indices else form_of(family, sample, data.pixels, data.name)
    kinds: list[Kind] = []
    if generic and form is not None:
        kinds += [_generic(each, form) for each in MODULES[str(family)].KINDS]
        kinds += [_collapse(function, form) for function in COLLAPSES]
        kinds.append(Kind("frozen", lambda x, severity, rng: x, collapse=True, frozen=True))
    for each in wanted:
        if each is not True and each not in FAMILIES:
            kinds += _own(each, data.name)
    _refuse_twins(kinds)
    notes = []
    if (generic or held) and not given and data.family is None and form is not None:
        notes.append(f"inputs are taken as {form.said}; `shifts` can name another of {', '.join(FAMILIES)}")
    if indices and held:
        notes.append("inputs are taken as indices: an example that is held comes again as it is, not shaken")
    return Chosen(tuple(kinds), _same if indices else _shake(form, family), tuple(notes))


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
        found = [part for each in shifts for part in listed(each)]
        return [each for n, each in enumerate(found) if each not in found[:n]]
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


def _generic(function: Callable[..., Any], form: Form) -> Kind:
    def apply(x: Array, severity: float, rng: np.random.Generator) -> Array:
        return form.values(function(form.numbers(x), severity, rng))

    return Kind(function.__name__, apply)


def _collapse(function: Callable[[Form, Array, float], Array], form: Form) -> Kind:
    return Kind(function.__name__, lambda x, severity, rng: function(form, x, severity), collapse=True)


def _shake(form: Form | None, family: str | None) -> Callable[[Array, np.random.Generator], Array]:
    if form is None or family is None:
        return _jitter
    shaken = MODULES[family].shaken
    return lambda x, rng: form.values(shaken(form.numbers(x), rng))


def _same(x: Array, rng: np.random.Generator) -> Array:
    return x


def _jitter(x: Array, rng: np.random.Generator) -> Array:
    """Return an input of no known family as it comes again: with noise of a twentieth of its deviation."""
    found = x + 0.05 * float(x.astype(np.float64).std()) * rng.standard_normal(x.shape)
    return _like(x, found)


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
    found = referred(text, "shifts") if text is not None else each
    if isinstance(found, Mapping):
        pairs = [(str(name), function) for name, function in found.items()]
    else:
        name = text.rpartition(":")[2] if text is not None else getattr(found, "__name__", "shift")
        pairs = [(name, found)]
    for name, function in pairs:
        if not callable(function):
            kind = type(function).__name__
            raise InputError("value", f"shifts is {text or name}, of type {kind}; expected (x, rng) -> x")
    return [_checked(name, function, where) for name, function in pairs]


def _checked(name: str, function: Shift, where: str) -> Kind:
    def apply(x: Array, severity: float, rng: np.random.Generator) -> Array:
        try:
            found = np.asarray(function(x.copy(), rng))
        except Exception as error:  # of the user's own code
            problem = f"failed on an input of {where}: {failure(error)}"
            raise InputError("failed", problem, where=f"shift {name}") from error
        with located(f"shift {name}"):
            if found.shape != x.shape:
                raise InputError("value", f"returns shape {found.shape}, expected {x.shape}")
            if found.dtype.kind not in "iufb":
                raise InputError("value", f"returns {found.dtype}, expected numbers")
            if not np.isfinite(found).all():
                raise InputError("value", "returns NaN or infinity, expected finite numbers")
        return _like(x, found)

    return Kind(name, apply, own=True)


def _refuse_twins(kinds: Sequence[Kind]) -> None:
    names = [each.name for each in kinds]
    twins = sorted({each for each in names if names.count(each) > 1})
    if twins:
        raise InputError("conflict", f"two shifts are named {twins[0]!r}; give one another name in a mapping")
    if len(kinds) > MOST:
        raise InputError("limit", f"there are {len(kinds)} shifts, expected at most {MOST}")
