"""`Monitor`: one inference in, one verdict out, through the integer core."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Step
from ..base.atomic_files import write_whole
from ..base.checks import InputNote, integer
from ..base.errors import InputError, InputTypeError, wrong_type, wrong_value
from ..base.limits import read_limited
from ..log.columns import holds_log, is_frame, opened
from ..log.log import Log
from ..log.quantize import as_rows, as_vector
from .made import STATE_VERSION
from .params import Params
from .signals import NUMBER, SIGNALS
from .state import renewed
from .steps import STEP_DTYPE, Steps, filled

_LOAD_ERRORS = {
    _core.ERR_SIZE: "it is truncated or has extra bytes, expected {size} bytes",
    _core.ERR_STATE: "it is damaged or not a monitor state",
    _core.ERR_VERSION: f"it has another state version; this release reads version {STATE_VERSION}",
    _core.ERR_OTHER: "it belongs to a monitor with other parameters",
}


class Monitor:
    """Watch a frozen classifier, one inference at a time.

    Parameters
    ----------
    params : Params or path
        From `tcuq.fit`, a parameter file, or built by hand.

    Examples
    --------
    >>> import numpy as np
    >>> monitor = Monitor(Params(classes=3, warmup=0, reference=0.3))
    >>> step = monitor.step(np.array([0.1, 0.8, 0.1]))
    >>> step.prediction, step.abstain
    (1, False)
    >>> steps = monitor.run(np.full((5, 3), 1 / 3))
    >>> bool(steps["flagged"].any())
    True
    """

    def __init__(self, params: Params | str | Path) -> None:
        self.params = params_given(params)
        self._core = self.params.core()
        fields = self.params.integers()
        self._level_den, self._budget_den = int(fields["level_den"]), int(fields["budget_den"])

    def step(
        self,
        probs: npt.ArrayLike,
        features: npt.ArrayLike | None = None,
        signals: bool = False,
        gauges: npt.ArrayLike | None = None,
    ) -> Step:
        """Take one inference.

        Parameters
        ----------
        probs : array of L values
            int8 as an int8 softmax leaves it (scale 1/256, zero point -128), uint8 (scale 1/256), or
            float posteriors that sum to 1, or nearly so where they were dequantized from int8. For logits,
            apply `tcuq.softmax` first.
        features : array of d values, optional
            int8 in the scale of the params, or float. Ignored where the params use none.
        signals : bool, default False
            Also return all signals in `Step.signals` (0 where unused).
        gauges : array of n values, optional
            Of the input, in the order of `Params.sight.gauges`, as `tcuq.input_gauges` gives them. Without
            them the input counts as a clean one. Ignored where the params use none.

        Returns
        -------
        Step
            Do what its `action` says: act on the `answer`, ask, or hold. Its `reason` is the name of the
            signal that raised the uncertainty most on a flagged step, else None. `expected_accuracy` is None
            where the params have no `horizon`: a fit without labels whose alarm does not see the input.
            `answer_name` and `prediction_name` are None where the classes have no names.
        """
        rows = None if gauges is None else gauge_rows(self.params, np.asarray(gauges)[None])
        seen = None if rows is None else rows[0]
        try:
            return self._core.step(probs, features, signals, self.params.names, seen)
        except (TypeError, BufferError):
            # Lists, float16, strided views: rare, so only the failing call pays for the conversion.
            probs = as_vector("probs", probs)
            features = None if features is None else as_vector("features", features)
            return self._core.step(probs, features, signals, self.params.names, seen)

    def run(
        self,
        probs: Any,
        features: npt.ArrayLike | None = None,
        signals: bool = False,
        gauges: npt.ArrayLike | None = None,
    ) -> Any:
        """Take a whole log; the same as calling `step` on each row.

        Parameters
        ----------
        probs : array of shape (T, L), Log, or data frame
            A log, or a data frame or Arrow table with the columns of one (see `Log.from_frame`), brings its
            own features and gauges; past outputs are forgotten where a new segment begins.
        features : array of shape (T, d), optional
            One row per step; int8 in the scale of the params, or float. Ignored where the params use none.
        signals : bool, default False
            Also return the signals.
        gauges : array of shape (T, n), optional
            One row per step, as for `step`.

        Returns
        -------
        Steps
            Structured array of `STEP_DTYPE`, one row per step. Its `reason` holds numbers of signals, 254 for
            the error limit and 255 for none; `Steps.to_pandas` and `tcuq.step_columns` give their names. With
            ``signals=True`` a pair: that, and a float array of shape (T, len(SIGNALS)) in registry order, 0
            where a signal is unused.

        Warns
        -----
        InputNote
            Where a data frame has columns that are not read, or a log int8 features of another scale.
        """
        if is_frame(probs):
            probs = opened(probs)
        if isinstance(probs, Log) or (is_frame(probs) and holds_log(probs)):
            if features is not None or gauges is not None:
                raise InputTypeError(
                    "conflict", "features or gauges are given beside a log, which has its own"
                )
            log = probs if isinstance(probs, Log) else Log.from_frame(probs)
            unread = () if log is probs else log.notes  # those of a log are known to whoever made it
            for each in (*unread, *format_notes(log, self.params)):
                warnings.warn(InputNote(each), stacklevel=2)
            return run_over(self, log, signals)
        rows = as_rows("probs", probs)
        more = None if features is None else as_rows("features", features)
        seen = gauge_rows(self.params, gauges)

        def run(steps: Any, raw: Any) -> None:
            self._core.run(rows, more, steps, raw, seen)

        return filled(run, len(rows), self.params, signals)

    def reset(self) -> None:
        """Forget past posteriors and features after a gap in the stream.

        Threshold, budget, alarm and warm-up go on: the rates would not hold otherwise. So does what was
        learned of the stream: persistence, degradation, drift and expected accuracy.
        """
        self._core.reset()

    def feedback(self, step: int, label: int | bool) -> None:
        """Take the truth about a past step; it needs `Params.feedback`.

        Labels may come in any order, late or never, and from any thread.

        Parameters
        ----------
        step : int
            Its number, from 0 on, resets and saved states counted in: the last one is ``steps - 1``.
        label : int or bool
            The true class, -1 where none of them is right; or whether the answer was right.

        Raises
        ------
        InputError
            With the code "value" where the step is not among the last `memory` ones or the label is no
            class, "conflict" where the step has a label. The monitor is then as it was.

        Examples
        --------
        >>> from tcuq import Feedback
        >>> monitor = Monitor(Params(classes=2, feedback=Feedback(max_error=0.1, reference=0.5)))
        >>> answer = monitor.step([0.9, 0.1]).answer
        >>> monitor.feedback(0, 1)
        >>> round(monitor.error_debt, 1)
        0.9
        """
        if self.params.feedback is None:
            raise InputError("missing", "the params have no feedback; fit with max_error, or add a Feedback")
        code = label_code(label, self.params.classes)
        number = integer("step", step, 0, 2**32 - 2)
        status = self._core.feedback(number, code)
        if status == _core.ERR_STEP:
            expected = f"one of the last {self.params.feedback.memory} of {self.steps} steps, counted from 0"
            raise wrong_value("step", number, expected)
        if status:
            raise InputError(
                "conflict", f"step {number} has a label already; the first one counts", "step", number
            )

    @property
    def error_debt(self) -> float:
        """Errors minus max_error x labels of accepted steps, at most `Params.error_constant`.

        Credit beyond `shut` is not kept.
        """
        head = self.params.integers()["feedback"]
        return self._core.counters()[4] / head["error_den"] if head else 0.0

    def save(self, path: str | Path | None = None) -> bytes:
        """Return the state, the same bytes on every machine.

        Parameters
        ----------
        path : path, optional
            File to write them to as well, whole or not at all.

        Returns
        -------
        bytes
            What `load`, and `tcuq_load` of the C package, take.
        """
        state = self._core.save()
        if path is not None:
            write_whole(path, state)
        return state

    def load(self, state: bytes | str | Path) -> Monitor:
        """Take over a saved state.

        A state that does not fit is refused and changes nothing.

        Parameters
        ----------
        state : bytes or path
            What `save` gave, or a file that holds it.

        Examples
        --------
        >>> params = Params(classes=2)
        >>> state = Monitor(params).save()
        >>> Monitor(params).load(state).save() == state
        True
        """
        content = bytes(state) if isinstance(state, (bytes, bytearray, memoryview)) else read_limited(state)
        status = self._core.load(content)
        if status == _core.ERR_OTHER:  # a state of version 0.3 has another fingerprint
            status = self._core.load(renewed(self.params, content))
        if status:
            raise InputError("damaged", f"state of {len(content)} bytes: {refusal(status, self.params)}")
        return self

    def verify(self) -> None:
        """Look for memory errors in the monitor; raise `RuntimeError` where there are some.

        Steps go on after an error: SPEC.md section 12 says what comes back by itself, and when.
        """
        status = self._core.verify()
        if status:
            what = "a counter is out of range" if status == _core.ERR_STATE else "its parameters have changed"
            raise RuntimeError(f"the monitor's memory is damaged: {what}; load a saved state, or start over")

    @property
    def steps(self) -> int:
        """Steps taken so far, resets included."""
        return self._core.counters()[0]

    @property
    def debt(self) -> float:
        """Flags so far minus level x steps: what the guarantee is about, readable at any time."""
        return self._core.counters()[1] / self._level_den

    @property
    def credit(self) -> float:
        """Abstentions that the budget would allow at once, now."""
        return self._core.counters()[2] / self._budget_den

    @property
    def alarm(self) -> int:
        """0 quiet, 1 risk, evidence or distance from clean data is too high, 2 risk has fallen, 3 both."""
        return self._core.counters()[3]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self.params, name)!r}" for name in _SHOWN)
        return f"Monitor({shown}, steps={self.steps})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.params, self.save(), type(self)), added(self, _OWN))


def run_over(monitor: Monitor, log: Log, signals: bool = False) -> Any:
    """Run a monitor over a log, with a reset where a new segment begins."""
    steps = np.empty(len(log), dtype=STEP_DTYPE)
    values = np.empty((len(log), len(SIGNALS))) if signals else None
    features = log.features if monitor.params.features else None
    sight = monitor.params.sight
    gauges = None if sight is None else log.gauges_named(sight.gauges)
    for index in log.pieces():
        if index.start:
            monitor.reset()
        parts = (None if each is None else each[index] for each in (features, gauges))
        more, seen = parts
        result = monitor.run(log.probs[index], more, signals, seen)
        if values is None:
            steps[index] = result
        else:
            steps[index], values[index] = result
    named = Steps.of(steps, monitor.params.names or log.names, sight)
    return named if values is None else (named, values)


def format_notes(log: Log, params: Params) -> list[str]:
    """Return a note where int8 features of a log are not in the format that a monitor was fitted to."""
    scale, zero_point = log.feature_scale, log.feature_zero_point
    notes = blind_notes(log.names_of_gauges, params)
    if not params.features or scale is None:
        return notes
    if abs(scale - params.feature_scale) <= 1e-6 * scale and zero_point == params.feature_zero_point:
        return notes
    own = f"scale {params.feature_scale:.6g} and zero point {params.feature_zero_point}"
    other = f"features have scale {scale:.6g} and zero point {zero_point}, the monitor was fitted to {own}"
    way = "fit it again to a log of this model, or record this log with the model of the fit"
    return [*notes, f"{other}: its signals of features mean something else here; {way}"]


def blind_notes(names: Sequence[str], params: Params) -> list[str]:
    """Return a note where gauges of these names lack one that the monitor was fitted to."""
    lacking = [] if params.sight is None else [name for name in params.sight.gauges if name not in names]
    if not lacking:
        return []
    blind = f"the log has no gauge {lacking[0]!r}, which the monitor was fitted to"
    return [f"{blind}: the alarm sees the outputs alone; record the log with its inputs"]


def gauge_rows(params: Params, gauges: npt.ArrayLike | None) -> npt.NDArray[np.int16] | None:
    """Return rows of gauges as the core takes them; None without any, or where it reads none."""
    if gauges is None or params.sight is None or not params.sight.gauges:
        return None
    rows = np.asarray(gauges)
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise wrong_value("gauges", f"{rows.dtype} of {rows.ndim} dimensions", "numbers, one row a step")
    return params.sight.gauge_rows(rows)


WRONG, RIGHT = -1, -2
"""What the core takes beside a class: none is right, and the answer was."""


def label_code(label: int | bool, classes: int) -> int:
    """Return a label as the core takes it."""
    if isinstance(label, (bool, np.bool_)):
        return RIGHT if label else WRONG
    return integer("label", label, WRONG, classes - 1)


def params_given(params: Params | str | Path) -> Params:
    """Return parameters, read from a file where a path is given."""
    if isinstance(params, (str, Path)):
        return Params.load(params)
    if not isinstance(params, Params):
        raise wrong_type("params", params, "Params or the path of a parameter file")
    return params


def refusal(status: int, params: Params) -> str:
    """Return why the core did not load a state, in words."""
    return _LOAD_ERRORS[status].format(size=params.state_bytes)


_OWN = frozenset({"params", "_core", "_level_den", "_budget_den"})
_SHOWN = ("classes", "features", "profile")


def added(instance: Any, own: frozenset[str]) -> dict[str, Any] | None:
    """Return the attributes that a subclass, or whoever uses an object, has added; None without any."""
    return {name: value for name, value in vars(instance).items() if name not in own} or None


def _restore(params: Params, state: bytes, kind: type[Monitor] = Monitor) -> Monitor:
    # Not by the class's own __init__, which may want what is not known here.
    monitor = kind.__new__(kind)
    Monitor.__init__(monitor, params)
    return Monitor.load(monitor, state)


def signal_columns(params: Params) -> list[int]:
    """Return the columns of the signals in use in the array that `Monitor.run` gives."""
    return [NUMBER[name] for name in params.signals]
