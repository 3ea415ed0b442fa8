"""The figures of the report, computed from decisions, parameters, labels and known shifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..log.class_names import checked_name, shift_shown
from ..log.log import Log
from ..log.quantize import quantize_probs
from ..monitor.monitor import signal_columns
from ..monitor.params import Params
from ..monitor.steps import NOT_MOVED
from .data import checked, flag_bits, recomputed

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

HARM = 0.05
"""Share of wrong predictions above that of clean steps from which on a type of shift is harmful."""

IN_TIME = 100
"""Steps from the first one of a harmful shift within which an alarm comes in time."""


class Check(NamedTuple):
    """One of the checks that a verdict is made of, or the whole of it."""

    name: str
    state: str  # "OK", "WEAK", "FAIL", or "OPEN" where these steps do not tell
    why: str
    todo: str  # what to do about it


@dataclass(frozen=True)
class Share:
    """Hits among trials."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        """Hits / trials, 0 without trials."""
        return self.hits / self.of if self.of else 0.0


def share(hits: Bools, among: Bools | None = None) -> Share:
    """Count hits among all steps, or among some."""
    if among is None:
        return Share(int(hits.sum()), len(hits))
    return Share(int(hits[among].sum()), int(among.sum()))


def choices(steps: npt.NDArray[np.void]) -> dict[str, Bools]:
    """Return the steps at which a device acts, asks or holds; each step is in one of them."""
    hold = np.asarray(steps["alarm"] != 0)
    ask = ~hold & steps["abstain"].astype(bool)
    return {"act": ~hold & ~ask, "ask": ask, "hold": hold}


def onsets(alarm: npt.NDArray[Any]) -> Ints:
    """Return the steps at which an alarm of either side begins, none having been there before."""
    raised = alarm != 0
    before = np.concatenate([[False], raised[:-1]])
    return np.flatnonzero(raised & ~before)


@dataclass(frozen=True)
class FlagRate:
    """The running flag rate and, with parameters, what bounds it."""

    running: Floats
    debt: tuple[float, float] | None = None  # least and most flags above the level, from the first step on
    reach: tuple[float, float] = (0.0, 0.0)  # the same of any n steps from the first one on, at the most
    resumed: bool = False  # it ran before, so that its debt at the first step is not known

    @property
    def kept(self) -> bool:
        """Whether every step, or every window of a resumed run, kept its bound; True without parameters."""
        if self.debt is None:
            return True
        low, high = (0.0, self.debt[1] - self.debt[0]) if self.resumed else self.debt
        return self.reach[0] - 1e-6 <= low and high <= self.reach[1] + 1e-6


def flag_rate(flagged: Bools, params: Params | None, first: int = 0) -> FlagRate:
    """Return the running flag rate and the debt that it was kept by; `first` numbers the first step."""
    flags = np.cumsum(flagged, dtype=np.int64)
    steps = np.arange(1, len(flagged) + 1)
    if params is None:
        return FlagRate(flags / steps)
    den, (low, high) = params.integers()["level_den"], params.debt_bounds
    # Integers, as the core keeps them: a float level would drift over a million steps.
    debt = flags * den - steps * params.integers()["level_num"]
    span = (int(min(0, debt.min())) / den, int(max(0, debt.max())) / den)
    return FlagRate(flags / steps, span, (low - high, high - low) if first else (low, high), first > 0)


def window_lengths(steps: int) -> list[int]:
    """Return 1, 2, 5, 10, ... up to the whole stream."""
    lengths = [m * 10**e for e in range(len(str(steps))) for m in (1, 2, 5) if m * 10**e < steps]
    return [*lengths, steps]


@dataclass(frozen=True)
class Delay:
    """What the alarm did about one known shift, up to a clean step, another kind or another segment."""

    start: int
    end: int
    kind: str
    outcome: str
    steps: int | None  # from the first shifted one to the alarm, None without one
    harmful: bool = True


@dataclass(frozen=True)
class Response:
    """The alarm against all known shifts."""

    delays: list[Delay]
    false_alarms: int
    clean_steps: int
    harmful: frozenset[int] = frozenset()  # numbers of the kinds that cost accuracy, as far as is known

    @property
    def harmful_on_before(self) -> int:
        """Harmful shifts that began with the alarm on."""
        return sum(d.outcome == "on from before" and d.harmful for d in self.delays)

    @property
    def found(self) -> Share:
        """Shifts found in time, of those that do harm, as far as is known, and began without an alarm."""
        return Share(self.number("in time"), sum(map(self.number, ("in time", "late", "missed"))))

    @property
    def median(self) -> float | None:
        """Median delay of the shifts that count; None where fewer than half of them were found at all."""
        steps = [d.steps for d in self.delays if d.steps is not None and d.outcome in ("in time", "late")]
        return float(np.median(steps)) if steps and 2 * len(steps) >= self.found.of else None

    @property
    def words(self) -> str:
        """How often each outcome came."""
        each = {name: self.number(name) for name in OUTCOMES}
        return ", ".join(f"{number:,} {name}" for name, number in each.items() if number)

    def by_kind(self) -> dict[str, Response]:
        """Return the shifts of each kind, in the order in which they came."""
        kinds = dict.fromkeys(d.kind for d in self.delays)
        return {kind: Response([d for d in self.delays if d.kind == kind], 0, 0) for kind in kinds}

    def number(self, outcome: str) -> int:
        """Return how many shifts ended so, one of `OUTCOMES`."""
        return sum(d.outcome == outcome for d in self.delays)

    @property
    def false_rate(self) -> float | None:
        """False alarms per 1,000 clean steps; None when no step is clean."""
        return 1000 * self.false_alarms / self.clean_steps if self.clean_steps else None


OUTCOMES = ("in time", "late", "missed", "alarm without harm", "quiet without harm", "on from before")


def _harmless(log: Log) -> set[int]:
    """Return the types of shift that cost next to no accuracy; none where labels do not tell."""
    if log.labels is None or log.unlabeled or log.kinds is None or not (clean := log.kinds == 0).any():
        return set()
    wrong = log.errors()
    most = wrong[clean].mean() + HARM
    return {kind for kind in np.unique(log.kinds).tolist() if wrong[log.kinds == kind].mean() < most}


def response(alarm: npt.NDArray[Any], log: Log) -> Response | None:
    """Compare the alarm with the known shifts of a log; None when the log does not tell them."""
    if log.shifted is None or log.kinds is None:
        return None
    delays, harmless, on = [], _harmless(log), np.asarray(alarm != 0)
    for part in log.stretches():
        kind, step = int(log.kinds[part.start]), int(on[part].argmax()) if on[part].any() else None
        if part.start and on[part.start - 1]:
            step, outcome = None, "on from before"
        elif kind in harmless:
            outcome = "quiet without harm" if step is None else "alarm without harm"
        elif step is None:
            outcome = "missed"
        else:
            outcome = "in time" if step <= IN_TIME else "late"
        name, harm = shift_shown(kind, log.shift_names), kind not in harmless
        delays.append(Delay(part.start, part.stop, name, outcome, step, harm))
    false = int((~log.shifted[onsets(alarm)]).sum())
    harmful = frozenset(np.unique(log.kinds).tolist()) - {0} - harmless
    return Response(delays, false, int((~log.shifted).sum()), harmful)


@dataclass(frozen=True, eq=False)
class Facts:
    """A monitored stream, and what follows from it."""

    steps: npt.NDArray[Any]
    params: Params | None
    log: Log | None
    first: int  # number of the first step
    signals: Floats | None
    why: str  # the signals are not shown
    names: tuple[str, ...] | None
    about: str  # what the risk speaks of, and accuracy is told of: "prediction" or "answer"
    bits: npt.NDArray[np.uint8]  # one byte a step, see `data.FLAGGED`
    choices: dict[str, Bools]  # steps by decision: "act", "ask", "hold"
    errors: dict[str, Bools] | None  # steps at which "prediction" and "answer" are wrong; None without labels
    response: Response | None  # of the alarm to known shifts; None where the log does not tell them
    columns: list[int]  # numbers of the signals that are shown
    sighted: bool  # whether the alarm measures a distance from clean data, as far as anybody knows

    @property
    def wrong(self) -> Bools | None:
        """Steps at which what the risk speaks of is not the true class; None without labels."""
        return None if self.errors is None else self.errors[self.about]

    @property
    def expected(self) -> Floats | None:
        """The expected accuracy of all steps; None where the monitor had none."""
        values = self.steps["expected_accuracy"].astype(np.float64)
        return values if np.isfinite(values).all() and values.any() else None

    def shares(self, about: str) -> dict[str, Share] | None:
        """Return the right ones among all steps and those of each decision; None without labels."""
        if self.errors is None:
            return None
        right, among = ~self.errors[about], {"all": None, **self.choices}
        return {name: share(right, steps) for name, steps in among.items()}

    def by_confidence(self, kept: int) -> float:
        """Return the share of wrong predictions in the surest steps, as a device sees them; needs labels."""
        assert self.log is not None and self.errors is not None
        doubt = 127 - quantize_probs(self.log.probs).max(axis=1).astype(np.int64)
        return float(self.errors["prediction"][np.argsort(doubt, kind="stable")[:kept]].mean())

    @property
    def corrects(self) -> bool:
        """Whether some answer is not the prediction of its step."""
        return bool((self.steps["answer"] != self.steps["prediction"]).any())

    @property
    def alarms(self) -> int:
        """How often the alarm was raised."""
        return len(onsets(self.steps["alarm"]))

    @property
    def evidence(self) -> bool:
        """Whether the alarm sums evidence rather than risk."""
        return self.params is not None and self.params.evidence is not None

    @property
    def shifts(self) -> bool:
        """Whether the log knows which steps are shifted."""
        return self.log is not None and self.log.shifted is not None


def facts_of(
    decisions: npt.NDArray[Any],
    params: Params | None,
    log: Log | None,
    signals: npt.ArrayLike | None,
    first: int,
    names: Sequence[str] | None = None,
    sighted: bool = False,
) -> Facts:
    """Check the inputs of a report and compute what it says; arguments are those of `tcuq.report.render`."""
    steps, values = checked(decisions, params, log, signals)
    why = ""
    if values is None:
        values, why = recomputed(steps, params, log, integer("first", first, 0, 2**53))
    columns: list[int] = []
    if values is not None:
        columns = np.flatnonzero(values.any(axis=0)).tolist() if params is None else signal_columns(params)
    # A decision file tells the names of those classes alone that it answers with.
    named = None if names is None else tuple(name and checked_name(name, k) for k, name in enumerate(names))
    for source in (log, params):
        if source is not None and source.names is not None:
            named = source.names
    errors = None
    if log is not None and log.labels is not None and not log.unlabeled:
        errors = {name: np.asarray(steps[name] != log.labels) for name in ("answer", "prediction")}
    if params is None:
        sighted |= getattr(decisions, "sight", None) is not None or bool((steps["moved"] != NOT_MOVED).any())
    return Facts(
        *(steps, params, log, first, values, why, named),
        about="answer" if params is None else params.about,
        bits=flag_bits(steps, log),
        choices=choices(steps),
        errors=errors,
        response=None if log is None else response(steps["alarm"], log),
        columns=columns,
        sighted=sighted if params is None else params.sight is not None,
    )
