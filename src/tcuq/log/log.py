"""`Log`: a recorded stream, its independent segments, and running a monitor over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number, put, unknown_text
from ..base.errors import InputError, located, wrong_value
from ..base.spelling import option
from .class_names import checked_names, classes_expected, numbered, shifts_by_name
from .columns import is_frame, mixes, read_frame
from .gauges import MOST as MAX_GAUGES
from .logits import paired, softmax
from .quantize import ONE_OUTPUT, as_rows, quantize_probs, sigmoid_pairs

MAX_CLASSES, MAX_FEATURES = 1000, 256
"""What the core takes at most."""

PER_STEP = ("probs", "features", "labels", "segments", "gauges")
"""Arrays of a log with a row a step, but for `shifted`."""

NO_LABEL = -32768
"""In `Log.labels`: the true class is not known."""


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded stream of a classifier's outputs.

    Parameters
    ----------
    probs : array of shape (T, L)
        Posteriors: int8 (scale 1/256, zero point -128), uint8, or float.
    features : array of shape (T, d), optional
        What the last layer of the network reads: int8, or float. Without them the monitor reads posteriors
        alone.
    labels : array of T integers, optional
        True classes, 0 to L - 1; -1 means none of the classes, which is always an error, -32768 that it is
        not known. With `names`, they may be names.
    segments : array of T integers, optional
        Steps of one independent stream carry the same number and lie together; the monitor forgets
        the past at each change.
    shifted : array of T booleans, integers or names, optional
        0 where the input is clean, 1 to 255 where it is known to be degraded: the kind of shift, if
        there are several. Names do as well; "clean" and "" are clean. Marks what is clean for the fit, kinds
        to hold out, and the change points for the report. Afterwards `shifted` is boolean, `kinds` holds the
        integers and `shift_names` the names.
    notes : sequence of str, optional
        Remarks on where the log came from, such as columns that were not read; `fit` repeats them.
    names : sequence of str, optional
        Names of the classes, shown wherever a class is; up to 64 printable characters each.
    feature_scale, feature_zero_point : float, int, optional
        What one unit of int8 features is worth, and the integer that stands for 0; both or neither. `fit`
        reads them here unless it is told otherwise.
    shift_names : sequence of str, optional
        Names of the kinds of shift: that of kind 1, of kind 2, and so on. A "clean" before them is dropped.
    gauges : array of shape (T, n), optional
        Up to 16 numbers of each input, such as those of `tcuq.input_gauges`, or a temperature.
    gauge_names : sequence of str, optional
        Their names.

    See Also
    --------
    Log.from_logits : for logits, before a softmax.
    Log.from_frame : for a data frame with columns p0, p1, ..., f0, f1, ..., label, segment, shifted.

    Examples
    --------
    >>> log = Log([[0.9, 0.1], [0.2, 0.8]], labels=[0, 0])
    >>> len(log), log.classes, log.errors().tolist()
    (2, 2, [False, True])
    >>> Log([[0.9, 0.1]], labels=["dog"], names=["cat", "dog"]).labels.tolist()
    [1]
    """

    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None
    segments: npt.NDArray[Any] | None = None
    shifted: npt.NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    feature_scale: float | None = None
    feature_zero_point: int | None = None
    shift_names: tuple[str, ...] | None = None
    gauges: npt.NDArray[Any] | None = None
    gauge_names: tuple[str, ...] | None = None
    kinds: npt.NDArray[np.uint8] | None = field(init=False, default=None)
    # What `dataclasses.replace` carries over: it gives `shifted` back as booleans, which know no kinds.
    _kinds: npt.NDArray[np.uint8] | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if is_frame(self.probs) and mixes(self.probs):
            raise InputError("value", "probs is a data frame of more than posteriors; use Log.from_frame")
        probs = as_rows("probs", self.probs)
        if not 2 <= probs.shape[1] <= MAX_CLASSES:
            raise InputError("value", f"probs has {probs.shape[1]} classes, expected 2 to {MAX_CLASSES}")
        put(self, notes=tuple(self.notes), probs=probs, names=checked_names(self.names, probs.shape[1]))
        if self.features is not None:
            features = as_rows("features", self.features)
            if len(features) != len(probs):
                raise InputError("value", f"features have {len(features)} rows, probs have {len(probs)}")
            width = features.shape[1]
            if not 1 <= width <= MAX_FEATURES:
                raise InputError("value", f"features has {width} columns, expected 1 to {MAX_FEATURES}")
            put(self, features=features)
        self._check_feature_format()
        self._check_gauges()
        if self.labels is not None:
            labels = one_a_step("labels", self.labels, len(probs))
            if self.names is not None and all_text(labels):
                labels = numbered(labels, self.names)
            labels = whole("labels", labels)
            odd = (labels < -1) & (labels != NO_LABEL) | (labels >= probs.shape[1])
            if odd.any():
                place = int(odd.argmax())
                expected = classes_expected(labels[place], probs.shape[1])
                raise wrong_value(f"labels[{place}]", labels[place], expected)
            put(self, labels=labels)
        if self.segments is not None:
            put(self, segments=whole("segments", one_a_step("segments", self.segments, len(probs))))
        if self.shifted is None:
            put(self, shift_names=None)
        else:
            self._take_shifts(one_a_step("shifted", self.shifted, len(probs)), self.shift_names)
        put(self, _kinds=self.kinds)

    def _take_shifts(self, given: npt.NDArray[Any], names: tuple[str, ...] | None) -> None:
        names = None if names is None else checked_names(names, len(names))
        if names and names[0].strip().lower() == "clean":
            names = names[1:]  # numbered from 0 on, which is clean input
        boolean = given.dtype == np.bool_
        if len(given) and all_text(given):
            given, names = shifts_by_name(given, names)
        shifted = whole("shifted", given)
        odd = (shifted < 0) | (shifted > 255)
        if odd.any():
            raise InputError("value", f"shifted holds {shifted[odd][0]}, expected 0 to 255")
        marks, kinds = np.asarray(shifted > 0), shifted.astype(np.uint8)
        if self._kinds is not None and boolean and np.array_equal(marks, self._kinds > 0):
            kinds = self._kinds
        if names is not None and kinds.max(initial=0) > len(names):
            raise InputError("value", f"shifted holds {kinds.max()}, there are {len(names)} shift_names")
        put(self, kinds=kinds, shifted=marks, shift_names=names)

    def _check_feature_format(self) -> None:
        if self.feature_scale is None and self.feature_zero_point is None:
            return
        if self.feature_scale is None or self.feature_zero_point is None:
            both = f"{option('feature_scale')} and {option('feature_zero_point')}"
            raise InputError("missing", f"{both} go together; one is missing")
        if self.features is None or self.features.dtype != np.int8:
            kind = "missing" if self.features is None else str(self.features.dtype)
            raise InputError("conflict", f"{option('feature_scale')} is for int8 features, not {kind}")
        put(self, feature_scale=number("feature_scale", self.feature_scale, 1e-30, 1e30))
        put(self, feature_zero_point=integer("feature_zero_point", self.feature_zero_point, -128, 127))

    def _check_gauges(self) -> None:
        if self.gauges is None:
            put(self, gauge_names=None)
            return
        gauges = as_rows("gauges", self.gauges).astype(np.float32)
        if len(gauges) != len(self.probs) or not 1 <= gauges.shape[1] <= MAX_GAUGES:
            expected = f"expected {len(self.probs)} rows of 1 to {MAX_GAUGES} numbers"
            raise InputError("value", f"gauges has shape {gauges.shape}, {expected}")
        if not np.isfinite(gauges).all():
            row, column = np.argwhere(~np.isfinite(gauges))[0]
            raise wrong_value(f"gauges[{row}][{column}]", gauges[row, column], "a finite number")
        with located("gauge_names"):
            names = checked_names(self.gauge_names, gauges.shape[1])
        if names is not None and len({*names}) < len(names):
            raise InputError("value", "gauge_names holds a name twice, expected different ones")
        put(self, gauges=gauges, gauge_names=names)

    @classmethod
    def from_logits(
        cls,
        logits: npt.ArrayLike,
        features: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        segments: npt.ArrayLike | None = None,
        shifted: npt.ArrayLike | None = None,
        scale: float | None = None,
        names: Sequence[str] | None = None,
    ) -> Log:
        """Make a log from logits, the outputs before a softmax.

        Parameters
        ----------
        logits : array of shape (T, L)
            Float, or int8; see `tcuq.softmax`.
        scale : float, optional
            What one unit of int8 logits is worth.
        features, labels, segments, shifted, names : optional
            As of `Log`.

        Examples
        --------
        >>> Log.from_logits([[2.0, -1.0], [0.0, 4.0]]).predictions().tolist()
        [0, 1]
        """
        more: list[Any] = [features, labels, segments, shifted, (), names]
        return cls(softmax(logits, scale), *more)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        logits: bool = False,
        logits_scale: float | None = None,
        names: Sequence[str] | None = None,
        feature_scale: float | None = None,
        feature_zero_point: int | None = None,
    ) -> Log:
        """Make a log from a data frame whose columns are named as in the CSV format.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table, or what Arrow can read as a table
            Posteriors in p0, p1, ..., or as lists in a column probs. Optional: features in f0, f1, ..., or as
            lists in features; gauges in gauge_NAME, ..., or as lists in gauges; label, segment, shifted. A
            single p0 is a sigmoid output: the probability of class 1. Columns of other names are not read;
            `notes` names them.
        logits : bool, default False
            The posteriors are logits.
        logits_scale : float, optional
            What one unit of int8 logits is worth.
        names : sequence of str, optional
            Names of the classes; the column label may then hold names.
        feature_scale, feature_zero_point : float, int, optional
            As of `Log`. An Arrow table that `tcuq.io.write_log` wrote has these, and names, in its metadata.
        """
        layout, found, details = read_frame(frame)
        apply = (lambda table: softmax(paired(table), logits_scale)) if logits else None
        unknown = unknown_text("column", layout.noted, layout.known)
        given = {"names": names, "feature_scale": feature_scale, "feature_zero_point": feature_zero_point}
        details |= {key: value for key, value in given.items() if value is not None}
        notes = () if unknown is None else (unknown.removesuffix("."),)
        return log_of(**found._asdict(), softmax=apply, notes=notes, **details)

    def __len__(self) -> int:
        return len(self.probs)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.probs.shape[1])

    @property
    def width(self) -> int:
        """Number of features, 0 when there are none."""
        return 0 if self.features is None else int(self.features.shape[1])

    def predictions(self) -> npt.NDArray[np.int64]:
        """Return the predictions of the core: the largest int8 posterior, the lowest class on a tie."""
        return np.asarray(np.argmax(quantize_probs(self.probs), axis=1), dtype=np.int64)

    def confidence(self) -> npt.NDArray[np.float64]:
        """Return the largest posterior of each step, in [0, 1]."""
        top = self.probs.max(axis=1).astype(np.float64)
        if self.probs.dtype == np.int8:
            return np.asarray((top + 128) / 256)
        return np.asarray(top / 256 if self.probs.dtype == np.uint8 else top)

    @property
    def names_of_gauges(self) -> tuple[str, ...]:
        """Names of the gauges; those without names are numbered from 1 on."""
        count = 0 if self.gauges is None else self.gauges.shape[1]
        return self.gauge_names or tuple(f"gauge_{number}" for number in range(1, count + 1))

    def gauges_named(self, names: Sequence[str]) -> npt.NDArray[Any] | None:
        """Return the columns of some gauges; None where one is missing, or none is asked for."""
        own = self.names_of_gauges
        if self.gauges is None or not names or any(name not in own for name in names):
            return None
        return np.ascontiguousarray(self.gauges[:, [own.index(name) for name in names]])

    @property
    def unlabeled(self) -> int:
        """Steps without a label in a log that has labels."""
        return 0 if self.labels is None else int(np.count_nonzero(self.labels == NO_LABEL))

    @property
    def partly(self) -> str:
        """What is wrong with labels of some steps alone, in words."""
        known = len(self) - self.unlabeled
        return f"{known:,} of {len(self):,} steps have a label, which says nothing of the others"

    def errors(self) -> npt.NDArray[np.bool_]:
        """Return where the prediction is wrong; needs a label for each step."""
        if self.labels is None or self.unlabeled:
            why = self.partly if self.unlabeled else "labels are missing"
            raise InputError("missing", f"{why}; errors cannot be told")
        return np.asarray(self.predictions() != self.labels)

    def pieces(self) -> list[slice]:
        """Return the segments as slices, in order.

        Returns
        -------
        list of slice
            One for each segment; all steps where there are no segments.

        Examples
        --------
        >>> Log(np.full((4, 2), 0.5), segments=[7, 7, 3, 3]).pieces()
        [slice(0, 2, None), slice(2, 4, None)]
        """
        if self.segments is None:
            return [slice(0, len(self))] if len(self) else []
        cuts = np.flatnonzero(np.diff(self.segments)) + 1
        edges = [0, *cuts.tolist(), len(self)]
        return [slice(a, b) for a, b in pairwise(edges) if b > a]

    def take(self, index: slice | npt.NDArray[Any]) -> Log:
        """Return some of the steps, in the order given.

        Parameters
        ----------
        index : slice or array of integers or booleans
            Which steps, as an index of numpy.
        """

        def part(values: npt.NDArray[Any] | None) -> Any:
            return None if values is None else values[index]

        columns = {name: part(getattr(self, name)) for name in PER_STEP}
        return replace(self, **columns, shifted=part(self.kinds), _kinds=None)

    def change_points(self) -> list[int]:
        """Return the steps at which a known shift begins, or one of another kind, also at a border."""
        return [part.start for part in self.stretches()]

    def stretches(self) -> list[slice]:
        """Return the stretches of known shifts, each of one kind and within one segment.

        Returns
        -------
        list of slice
            In order; empty where no shift is known.

        Examples
        --------
        >>> Log(np.full((5, 2), 0.5), shifted=["", "blur", "blur", "fog", "clean"]).stretches()
        [slice(1, 3, None), slice(3, 4, None)]
        """
        return (
            [] if self.kinds is None else [run for run in runs_of(self, self.kinds) if self.kinds[run.start]]
        )


Softmax = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Makes posteriors of logits; given where numbers are logits."""


def posteriors(probs: npt.NDArray[Any], softmax: Softmax | None) -> npt.NDArray[Any]:
    """Return posteriors from what a log holds for them; one value a step becomes two classes."""
    if softmax is not None:
        return softmax(probs.reshape(-1, 1) if probs.ndim == 1 else probs)
    return sigmoid_pairs(probs)


def log_of(
    probs: npt.NDArray[Any],
    softmax: Softmax | None = None,
    notes: tuple[str, ...] = (),
    label: npt.NDArray[Any] | None = None,
    segment: npt.NDArray[Any] | None = None,
    **more: Any,
) -> Log:
    """Return a log of columns as files and tables have them; one value a step becomes two classes."""
    rows = posteriors(probs, softmax)
    notes = notes if softmax is not None or rows is probs else (*notes, ONE_OUTPUT)
    for name in ("feature_scale", "feature_zero_point"):
        if more.get(name) is not None:
            array = np.asarray(more[name])
            if array.size != 1:
                raise InputError("value", f"{name} has {array.size} values, expected one")
            more[name] = array.reshape(-1)[0].item()
    return Log(rows, labels=label, segments=segment, notes=notes, **more)


def runs_of(log: Log, values: npt.NDArray[Any]) -> list[slice]:
    """Return the stretches of equal values, each within one segment, in order."""
    runs = []
    for piece in log.pieces():
        cuts = np.flatnonzero(np.diff(values[piece])) + 1 + piece.start
        runs += [slice(a, b) for a, b in pairwise([piece.start, *cuts.tolist(), piece.stop])]
    return runs


def one_a_step(name: str, values: npt.ArrayLike, length: int) -> npt.NDArray[Any]:
    """Return values as an array; refuse another number of them than there are steps."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError("value", f"{name} has {array.ndim} dimensions, expected one value for each step")
    if len(array) != length:
        raise InputError("value", f"{name} has {len(array)} entries, probs has {length} rows")
    return array


def all_text(values: npt.NDArray[Any]) -> bool:
    """Tell whether every value is a text, such as the name of a class."""
    kind = values.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(each, str) for each in values))


def whole(name: str, array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return values as integers; refuse what none are, and what would wrap around."""
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.round(array)).all()):
        raise InputError("value", f"{name} has dtype {array.dtype}, expected integers")
    if array.dtype.kind not in "iubf":
        text = name == "labels" and all_text(array)
        hint = f"; pass {option('names')}, the names of the classes" if text else ""
        raise InputError("value", f"{name} has dtype {array.dtype}, expected integers{hint}")
    if array.dtype.kind in "uf" and array.size:
        most = 2**53 if array.dtype.kind == "f" else np.iinfo(np.int64).max
        for value in (array.min(), array.max()):
            if abs(int(value)) > most:  # would wrap around
                raise InputError("value", f"{name} holds {value}, expected at most {most}")
    return array.astype(np.int64)
