"""What a monitor says of a whole stream: an array with one row per step, as a table or as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, InputTypeError, needed, wrong_type
from ..base.fixed import ONE
from ..log.columns import ALIASES, PLAIN, Layout, column_at, holds_log, is_frame, names_of, opened
from .heads import BLOCK_NAMES, Sight
from .signals import REASONS, SIGNALS

_FRACTIONS = (
    "risk",
    "threshold",
    "uncertainty",
    "persistence",
    "novelty",
    "degradation",
    "expected_accuracy",
)
STEP_DTYPE = np.dtype(
    [(name, "f8") for name in _FRACTIONS]
    + [("prediction", "i4"), ("answer", "i4"), ("flagged", "?"), ("abstain", "?"), ("alarm", "u1")]
    + [("warming_up", "?"), ("reason", "u1"), ("low_mass", "?")]
    + [("action", "u1"), ("changed", "?"), ("moved", "u1")],
    align=True,
)
"""One row of `Monitor.run`. `reason` is the number of a signal in `SIGNALS`, 254 for the error limit, or 255
for none; `action` is 0 to act, 1 to ask, 2 to hold: `step_columns` gives the names, which `Monitor.step`
gives at once. `expected_accuracy` is NaN where the params have no `horizon`."""

ACTIONS = ("act", "ask", "hold")
"""By their numbers in the core."""

NO_REASON = 255

DOWN, FROZEN, NOT_MOVED = 128, 254, 255
"""In `moved`: what is added where the number fell, a frozen input, and none."""

_OUTPUTS = {
    "odds": ("outputs less sure than on the clean log", "outputs surer than on the clean log"),
    "features": ("features unlike those of the clean log", "features unlike those of the clean log"),
    "blocks": ("features as a whole far from the clean log", "features too much like their classes"),
    "distance": ("outputs unlike their classes on the clean log", "outputs too much like their classes"),
    "gauges": (
        "input as a whole far from the clean log",
        "input closer to the clean mean than clean input is",
    ),
}
"""What it means when a number that is no gauge has risen, and when it fell."""


class Steps(np.ndarray[Any, np.dtype[Any]]):
    """Steps of a monitor: a numpy array of `STEP_DTYPE` that can also be a data frame or a figure.

    Attributes
    ----------
    class_names : tuple of str or None
        Names of the classes, where the parameters have them.
    sight : Sight or None
        Of the parameters: it knows what the numbers in `moved` are.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> steps = Monitor(Params(classes=2, reference=0.3)).run([[0.5, 0.5], [1.0, 0.0]])
    >>> steps["flagged"].tolist(), len(steps[:1])
    ([True, False], 1)
    """

    class_names: tuple[str, ...] | None = None
    sight: Sight | None = None

    @classmethod
    def of(
        cls, steps: npt.NDArray[Any], class_names: Sequence[str] | None = None, sight: Sight | None = None
    ) -> Steps:
        """Return the same steps, without a copy, with what this class offers.

        Parameters
        ----------
        steps : array of `STEP_DTYPE`
            As `Monitor.run` gives it.
        class_names : sequence of str, optional
            Names of the classes; adds a column `answer_name` to tables.
        sight : Sight, optional
            Of the parameters; adds a column `moved_name` to tables.
        """
        if steps.dtype != STEP_DTYPE or steps.ndim != 1:
            raise InputTypeError("value", f"steps are {steps.dtype}, expected rows of tcuq.STEP_DTYPE")
        view = steps.view(cls)
        view.class_names = None if class_names is None else tuple(class_names)
        view.sight = sight
        return view

    def __array_finalize__(self, obj: Any) -> None:
        self.class_names = getattr(obj, "class_names", None)
        self.sight = getattr(obj, "sight", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __reduce__(self) -> Any:
        plain: Any = super().__reduce__()
        made, arguments, state = plain
        return made, arguments, (state, self.class_names, self.sight)

    def __setstate__(self, state: Any) -> None:
        array, self.class_names, self.sight = state
        super().__setstate__(array)

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        # One column is numbers, no steps.
        whole = not isinstance(part, Steps) or part.dtype == STEP_DTYPE
        return part if whole else part.view(np.ndarray)

    def to_pandas(self, beside: Any = None) -> Any:
        """Return the steps as a pandas DataFrame, one row per step.

        Parameters
        ----------
        beside : pandas.DataFrame, optional
            The input of the run, or some of its columns. Its index is kept, and so are columns that are not
            read, such as times and devices; its labels are called `label`.

        Returns
        -------
        pandas.DataFrame
            The columns of `tcuq.step_columns`, after those of `beside`.
        """
        pandas = needed("pandas", "pandas", "a pandas data frame")
        index = getattr(beside, "index", None)
        kept = self._kept(beside)
        if index is None:  # columns of another kind of table
            kept = {name: np.asarray(values) for name, values in kept.items()}
        return pandas.DataFrame({**kept, **step_columns(self, self.class_names, self.sight)}, index=index)

    def to_polars(self, beside: Any = None) -> Any:
        """Return the steps as a polars DataFrame; an unknown accuracy is null.

        Parameters
        ----------
        beside : polars.DataFrame, optional
            As of `to_pandas`.
        """
        polars = needed("polars", "polars", "a polars data frame")
        columns: dict[str, Any] = {**self._kept(beside), **step_columns(self, self.class_names, self.sight)}
        columns["expected_accuracy"] = polars.Series(columns["expected_accuracy"]).fill_nan(None)
        return polars.DataFrame(columns)

    def to_arrow(self, beside: Any = None) -> Any:
        """Return the steps as an Arrow table; an unknown accuracy is null.

        Parameters
        ----------
        beside : pyarrow.Table, optional
            As of `to_pandas`.
        """
        arrow = needed("pyarrow", "pyarrow", "an Arrow table")
        columns: dict[str, Any] = {**self._kept(beside), **step_columns(self, self.class_names, self.sight)}
        accuracy = columns["expected_accuracy"]
        columns["expected_accuracy"] = arrow.array(accuracy, mask=np.isnan(accuracy))
        return arrow.table(columns)

    def _kept(self, beside: Any) -> dict[str, Any]:
        """Return the columns of an input that its log does not use, and the label."""
        if beside is None:
            return {}
        if not is_frame(beside):
            raise wrong_type("beside", beside, "a data frame")
        table = opened(beside)
        names = names_of(table)
        read = Layout.of(names, lists=True).known if holds_log(table) else PLAIN
        own = set(step_columns(self[:0], self.class_names, self.sight))
        if len(table) != len(self):
            raise InputError("conflict", f"beside has {len(table)} rows, expected {len(self)}, one per step")
        kept: dict[str, Any] = {}
        for place, name in enumerate(names):
            true = ALIASES.get(name, name) == "label"
            if not true and ALIASES.get(name, name) in read:
                continue
            if name in own:
                raise InputError("conflict", f"column {name!r} is in the steps too; rename that of the input")
            new = "label" if true else name
            if new in kept:
                raise InputError("conflict", f"column {new!r} would be there twice; rename one of the input")
            kept[new] = column_at(table, place)
        return kept

    def plot(self, log: Any = None, title: str | None = None) -> Any:
        """Return a figure of risk, threshold, abstentions, alarm and expected accuracy over the steps.

        A notebook shows it; ``.save("steps.svg")`` writes it. It needs no other package.

        Parameters
        ----------
        log : Log, optional
            The input of the run: known shifts and wrong answers are shown too.
        title : str, optional
            Written above the picture.
        """
        # The drawing belongs to the report, above this part; the package itself knows where that is.
        from .. import plot_steps

        return plot_steps(self, log, title)


def filled(run: Callable[..., None], count: int, params: Any, signals: bool) -> Any:
    """Return the steps, and the signals where wanted, that `run` writes into the two arrays given to it."""
    # All memory before the run, whose steps cannot be taken back.
    named = Steps.of(np.empty(count, dtype=STEP_DTYPE), params.names, params.sight)
    raw = np.empty((count, len(SIGNALS)), dtype=np.uint16) if signals else None
    values = np.empty((count, len(SIGNALS))) if signals else None
    run(named.view(np.uint8), raw)
    return named if raw is None else (named, np.divide(raw, ONE, out=values))


def reason_names(codes: npt.ArrayLike) -> list[str]:
    """Return the names of what the column `reason` of `Monitor.run` gives as numbers.

    Parameters
    ----------
    codes : array of integers
        The column ``steps["reason"]``; the name is "" where there is no reason (`Monitor.step` says None).

    Examples
    --------
    >>> reason_names(np.array([3, 254, 255], dtype=np.uint8))
    ['doubt', 'error_limit', '']
    """
    names = {code: name for name, code in REASONS.items()}
    return [names.get(code, "") for code in np.asarray(codes).ravel().tolist()]


def actions_of(steps: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return what steps that do not tell it say to do: to hold under an alarm, else to ask or to act."""
    return np.where(steps["alarm"] > 0, 2, steps["abstain"]).astype(np.uint8)


def moved_name(code: int, sight: Sight | None = None) -> str:
    """Return what moved most, in words.

    Parameters
    ----------
    code : int
        `moved` of a step.
    sight : Sight, optional
        `Params.sight` of the monitor, which has the names of the gauges.

    Returns
    -------
    str
        "" where nothing has moved.

    Examples
    --------
    >>> moved_name(254), moved_name(255), moved_name(128 + 3)
    ('frozen input', '', 'number 3 far below the clean log')
    """
    if code >= FROZEN:
        return "frozen input" if code == FROZEN else ""
    place, fell = code % DOWN, code >= DOWN
    names = () if sight is None else sight.numbers
    if sight is not None and len(sight.gauges) <= place < len(names):
        return _OUTPUTS["features" if names[place] in BLOCK_NAMES else names[place]][fell]
    name = names[place] if place < len(names) else f"number {place}"
    return f"{name} far {'below' if fell else 'above'} the clean log"


def codes_of(sight: Sight | None) -> list[int]:
    """Return all that `moved` of a step may say with these parameters."""
    numbers = range(0 if sight is None else len(sight.numbers))
    return [*numbers, *(number + DOWN for number in numbers), *((FROZEN,) if sight else ())]


def moved_names(codes: npt.ArrayLike, sight: Sight | None = None) -> list[str]:
    """Return what moved most at each step, as `moved_name` says it."""
    array = np.asarray(codes).ravel()
    names = {code: moved_name(code, sight) for code in np.unique(array).tolist()}
    return [names[code] for code in array.tolist()]


def step_columns(
    steps: npt.NDArray[Any], names: Sequence[str] | None = None, sight: Sight | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of `Monitor.run` as a person reads them, for a data frame or a table.

    Parameters
    ----------
    steps : array of `STEP_DTYPE`
        As `Monitor.run` gives it.
    names : sequence of str, optional
        Names of the classes, such as `Params.names`.
    sight : Sight, optional
        `Params.sight` of the monitor.

    Returns
    -------
    dict of arrays
        Every field of a step; `reason` and `action` as names, "" where there is no reason. With `names` also
        `answer_name`, and with `sight` also `moved_name`, what moved most in words.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> steps = Monitor(Params(classes=2, reference=0.3)).run([[0.5, 0.5], [1.0, 0.0]])
    >>> columns = step_columns(steps, ("cat", "dog"))
    >>> columns["reason"].tolist(), columns["answer_name"].tolist()
    (['doubt', ''], ['cat', 'cat'])
    """
    columns = {name: np.ascontiguousarray(steps[name]) for name in STEP_DTYPE.names or ()}
    columns["reason"] = np.array(reason_names(columns["reason"]), dtype=str)
    columns["action"] = np.array(ACTIONS, dtype=str)[columns["action"]]
    if names is not None:
        columns["answer_name"] = np.array([names[answer] for answer in columns["answer"].tolist()], dtype=str)
    if sight is not None:
        columns["moved_name"] = np.array(moved_names(columns["moved"], sight), dtype=str)
    return columns
