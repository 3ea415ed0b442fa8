"""Checking a decision log: every decision derived again, without the core, every promised rate certified."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from ..base.fixed import ONE
from ..io.decision_files import LIMITS
from ..io.decisions import OWN_COLUMN, Decisions
from ..log.class_names import class_shown
from ..log.log import Log
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..monitor.signals import NUMBER, REASONS, SIGNALS
from ..monitor.state import State, state_for
from ..monitor.steps import NO_REASON, STEP_DTYPE, actions_of, reason_names
from ..reference import Decider, decide
from ..reference import Monitor as Reference
from ..reference import Params as Numbers
from ..reference.params import Feedback
from ..reference.signals import blocks
from .replay import Ints, Known, certainties_of, label_rows, replay, run_labeled, stood_still
from .verdict import Audit, Check

_FRACTIONS = tuple(name for name in STEP_DTYPE.names or () if STEP_DTYPE[name].kind == "f")

_OPEN = (
    *("prediction", "answer", "risk", "uncertainty", "persistence"),
    *("novelty", "reason", "alarm", "degradation", "abstain"),
)
"""Fields that come from the input, unless the rules tell them."""
_OF_SIGHT = ("expected_accuracy", "changed", "moved")
"""Fields that do so too where the alarm sees the input."""


def checked_state(params: Params, content: bytes) -> State:
    """Return the header of a state that a monitor with these parameters can go on from; refuse others.

    Parameters
    ----------
    params : Params
        Of the monitor that shall go on.
    content : bytes
        As `Monitor.save` gave them.
    """
    state = state_for(params, content)
    Monitor(params).load(content)  # the core checks more than the header
    return state


def audit(
    decisions: Decisions | npt.NDArray[Any],
    params: Params,
    log: Log | None = None,
    state: bytes | None = None,
    labels: npt.ArrayLike | None = None,
) -> Audit:
    """Derive every decision of a log again and certify the rates that were promised.

    Parameters
    ----------
    decisions : Decisions or array of `tcuq.STEP_DTYPE`
        What the monitor said, from a file or from `Monitor.run`.
    params : Params
        Those of the monitor.
    log : Log, optional
        The input of the run. With it, the core runs again and prediction, answer, risk, uncertainty,
        persistence, novelty and reason must be the same, as must low_mass and the signals where the decisions
        have them.
    state : bytes, optional
        Saved state that the run started from; without it, a fresh monitor.
    labels : array of shape (n, 3), optional
        Labels that the monitor was told, in their order: number of the last step then, number of the step
        that it is for, and the true class, -1 where none is right or -2 where the answer was.

    Examples
    --------
    >>> import numpy as np
    >>> params = Params(classes=2, warmup=0)
    >>> steps = Monitor(params).run(np.full((50, 2), 0.5))
    >>> audit(steps, params).ok
    True
    >>> steps["abstain"] = True
    >>> [check.name for check in audit(steps, params).checks if not check.ok]
    ['abstain', 'budget', 'burst']
    """
    start = checked_state(params, state) if state is not None else None
    if not isinstance(decisions, Decisions):
        decisions = Decisions(decisions, start.steps if start else 0)
    if not len(decisions):
        raise InputError("missing", "the decision log is empty, expected at least one step")
    decisions.check_params(params)
    p = Numbers.of(params.integers())
    steps, numbers = decisions.steps, decisions.step_numbers()
    checks = [_numbering(numbers, start), *_possible(steps, numbers, params)]
    units, exact = _fixed_point(steps, numbers, params)
    checks.append(exact)
    shown = _classes(params, log)
    rows = label_rows(labels, int(numbers[0]), len(steps), params.classes)
    if rows and params.feedback is None:
        raise InputError("conflict", "labels are given, but the parameters have no feedback")
    known = _known(p, decisions, params, units["novelty"], start, log)
    answers = np.clip(steps["answer"].astype(np.int64), 0, params.classes - 1)
    decider = Decider(p) if state is None else Reference.load(p, state)
    # With sight, what a label does to the error debt goes by how sure the input made of the answer.
    sure, owing = None, bool(rows) and params.sight is not None and p.feedback is not None
    owing = owing and p.feedback is not None and p.feedback.error_num > 0
    if owing and log is not None and len(log) == len(steps):
        sure = certainties_of(params, log, rows, state)
    derived, debts = replay(decider, units, answers, known, rows, params.sight is not None, sure)
    if owing and sure is None:
        del derived["abstain"]
    if params.instant is None:
        derived["answer"] = steps["prediction"].astype(np.int64)
        derived["persistence"] = np.zeros(len(steps), dtype=np.int64)
    if params.sight is not None:
        derived["action"] = actions_of(steps).astype(np.int64)
    elif params.evidence is None:
        derived["novelty"] = np.zeros(len(steps), dtype=np.int64)
    for name, expected in derived.items():
        logged = units[name] if name in _FRACTIONS else steps[name].astype(np.int64)
        checks.append(_same(name, logged, expected, numbers, "the rules give", shown(name)))
    # The rates are certified from what the log says, not from what it should have said.
    flags = units["risk"] >= units["threshold"]
    checks.append(_flag_rate(p, flags, numbers, start))
    abstained = steps["abstain"].astype(np.int64)
    if params.feedback is None or not params.feedback.above_budget:
        checks += _abstentions(p, abstained, numbers, start)
    if p.feedback is not None and p.feedback.error_num and not (owing and sure is None):
        checks.append(_error_rate(p.feedback, debts, decider.quarters // 16, numbers))
    unchecked: tuple[str, ...] = ()
    if log is None:
        unchecked = (*_from_input(decisions, derived, params), *(["errors"] if owing else []))
    else:
        monitor = Monitor(params)
        if state is not None:
            monitor.load(state)
        checks += _rerun(decisions, units, monitor, log, derived, rows)
    return Audit(len(steps), int(flags.sum()), int(abstained.sum()), tuple(checks), unchecked)


def _judged(
    name: str, wrong: npt.NDArray[np.bool_], numbers: Ints, kept: str, broken: Callable[[int], str]
) -> Check:
    """Return a check: what is said where all hold, or of the row of the first step that does not."""
    if not wrong.any():
        return Check(name, True, kept)
    row = int(wrong.argmax())
    return Check(name, False, broken(row), int(numbers[row]))


def _numbering(numbers: Ints, start: State | None) -> Check:
    first = start.steps if start else 0
    wrong = numbers != np.arange(first, first + len(numbers))
    more = "; give --state if the run was resumed" if start is None and numbers[0] > 0 else ""

    def broken(row: int) -> str:
        return f"row {row} has number {int(numbers[row])}; {first + row} expected{more}"

    return _judged(
        "step", wrong, numbers, f"numbered {first:,} to {int(numbers[-1]):,} without a gap", broken
    )


def _possible(steps: npt.NDArray[Any], numbers: Ints, params: Params) -> list[Check]:
    """Check that classes are such and reasons signals in use, on flagged steps, whatever the input was."""
    used = [NUMBER[name] for name in params.signals]
    limited = REASONS["error_limit"] if params.feedback is not None else NO_REASON
    unasked = (steps["risk"] < steps["threshold"]) & ~np.isin(steps["reason"], (limited, NO_REASON))
    # Without an instant head the rules tell the answer.
    classes = ["prediction", *(["answer"] if params.instant is not None else [])]
    wrong = {name: (steps[name] < 0) | (steps[name] >= params.classes) for name in classes}
    accepted = dict.fromkeys(classes, f"0 to {params.classes - 1}")
    wrong["reason"] = ~np.isin(steps["reason"], (*used, limited, NO_REASON)) | unasked
    accepted["reason"] = f"none, or where flagged {', '.join(params.signals)}"

    def broken(name: str, row: int) -> str:
        reason = reason_names(steps["reason"][row : row + 1])[0] if name == "reason" else ""
        at = f"at step {int(numbers[row])}"
        return f"the log says {reason or int(steps[name][row])} {at}; {accepted[name]} is possible"

    return [
        _judged(name, bad, numbers, f"{accepted[name]} at all {len(steps):,} steps", partial(broken, name))
        for name, bad in wrong.items()
    ]


def _fixed_point(steps: npt.NDArray[Any], numbers: Ints, params: Params) -> tuple[dict[str, Ints], Check]:
    """Return the fractions of a step as the core's integers, and whether they are such."""
    for name in _FRACTIONS:
        values, (low, high) = steps[name], LIMITS[name]
        if name == "expected_accuracy" and not params.horizon:
            values = np.where(np.isnan(values), 0.0, values)  # there is none
        with np.errstate(invalid="ignore"):
            wrong = ~((values >= low) & (values <= high)) | (values * ONE != np.round(values * ONE))
        if wrong.any():
            break
    kept = "every fraction is one that the core can give"

    def broken(row: int) -> str:
        value, at = steps[name][row], int(numbers[row])
        return f"{name} is {value!r} at step {at}; a multiple of 1/65536 expected"

    units = {name: _whole(steps[name]) for name in _FRACTIONS}
    return units, _judged("fixed_point", wrong, numbers, kept, broken)


def _whole(values: npt.NDArray[np.float64]) -> Ints:
    """Return fractions as the core's integers, the nearest ones where it cannot have given them."""
    units = np.round(np.clip(np.nan_to_num(values), -32768, 32768) * ONE)
    return np.minimum(units, 2**31 - 1).astype(np.int64)


def _same(
    name: str, logged: Ints, expected: Ints, numbers: Ints, source: str, show: Callable[[int], str]
) -> Check:
    wrong = logged != expected

    def broken(row: int) -> str:
        found, right = show(int(logged[row])), show(int(expected[row]))
        return (
            f"the log says {found} at step {int(numbers[row])}, {source} {right}; "
            f"{int(wrong.sum()):,} of {len(logged):,} steps differ"
        )

    return _judged(name, wrong, numbers, f"the same at all {len(logged):,} steps", broken)


def _flag_rate(p: Numbers, flags: npt.NDArray[np.bool_], numbers: Ints, start: State | None) -> Check:
    num, den = p.level_num, p.level_den
    low, high = decide.bounds(p)
    debts = (start.debt if start else 0) + np.cumsum(np.where(flags, den - num, -num), dtype=np.int64)
    rate = f"flag rate {flags.mean():.4f} at level {num / den:g}"
    span = f"{low / den:g} to {high / den:g}"
    worst = int(debts[np.abs(debts).argmax()])

    def broken(row: int) -> str:
        return f"{rate}; debt {int(debts[row]) / den:g} flags at step {int(numbers[row])} is outside {span}"

    kept = f"{rate}; worst debt {worst / den:g} flags, {span} is certain"
    return _judged("flag_rate", (debts < low) | (debts > high), numbers, kept, broken)


def _error_rate(head: Feedback, debts: Ints, recovered: int, numbers: Ints) -> Check:
    den, bound = head.error_den, head.bounds()[1]
    worst = f"{int(debts.max()) / den:g} errors beyond max_error; {bound / den:g} is certain"
    text = f"of labeled accepted steps, at worst {worst}"
    if paid := recovered * head.error_num:
        text += f"; labels of withheld steps have paid for {paid / den:g} more, of {bound / den:g} at most"
    return _judged("errors", debts > bound, numbers, text, lambda _: text)


def _abstentions(p: Numbers, abstained: Ints, numbers: Ints, start: State | None) -> list[Check]:
    num, den, burst = p.budget_num, p.budget_den, p.burst
    # What is spent minus what came in, in units of 1/den: may never pass the credit at the start.
    balance = np.cumsum(abstained * den - num, dtype=np.int64)
    credit = start.credit if start else 0
    rate = f"{int(abstained.sum()):,} abstentions in {len(abstained):,} steps, {abstained.mean():.2%}"
    allowed = f"budget {num / den:g}" + (f" and {credit / den:g} saved up before" if credit else "")

    def broken(row: int) -> str:
        count, most = int(abstained[: row + 1].sum()), (num * (row + 1) + credit) / den
        return f"{count} abstentions by step {int(numbers[row])}; {allowed} allows {most:g}"

    budget = _judged("budget", balance > credit, numbers, f"{rate}; {allowed}", broken)
    # Worst window that ends at each step: the balance there minus its lowest point before.
    excess = balance - np.minimum.accumulate(np.concatenate([[0], balance[:-1]]))
    kept = f"worst window holds {int(excess.max()) / den:g} abstentions more than {num / den:g} per step"
    detail = f"{kept}; at most {burst} are allowed"
    return [budget, _judged("burst", excess > burst * den, numbers, detail, lambda _: detail)]


def _known(
    p: Numbers, decisions: Decisions, params: Params, novelty: Ints, start: State | None, log: Log | None
) -> Known | None:
    """Return what the alarm goes by, from logged signals and classes; None where the log cannot tell."""
    head, signals = p.evidence, decisions.signals
    if head is None or signals is None:
        return None
    needed = [name for name, coef in zip(SIGNALS, head.coef, strict=True) if coef and name != "degradation"]
    classes = decisions.steps[params.about].astype(np.int64)
    if not set(needed) <= set(decisions.used) or not ((classes >= 0) & (classes < p.classes)).all():
        return None
    frozen = [False] * len(decisions)
    if head.frozen:
        values = _compared(decisions, params, log)
        if values is None or (start is not None and start.steps):
            return None  # a state's header does not have the last input
        starts = {0} if log is None else {piece.start for piece in log.pieces()}
        frozen = stood_still(Decider(p), head, values, starts)
        if log is None and any(frozen):
            return None  # only the input tells a reset, after which it did not
    return Known(head, _whole(signals), classes, (novelty + 1) >> 8, frozen)


def _compared(decisions: Decisions, params: Params, log: Log | None) -> Ints | None:
    """Return what novelty compares: sums of features, from the input, or logged odds; None without them."""
    if "distance" in params.signals:
        if log is None or log.features is None or log.features.dtype != np.int8 or len(log) != len(decisions):
            return None
        return np.array([blocks(row.tolist()) for row in log.features], dtype=np.int64)
    if decisions.signals is None or "odds" not in decisions.used:
        return None
    return _whole(decisions.signals[:, [NUMBER["odds"]]])


def _from_input(decisions: Decisions, derived: Collection[str], params: Params) -> list[str]:
    """Return the columns that come from the input rather than from the rules."""
    known = {*derived}
    columns = [name for name in _OPEN if name not in known]
    if params.sight is not None:
        columns += [name for name in _OF_SIGHT if name not in known]
    if decisions.signals is not None:
        columns += ["low_mass", *(name for name in decisions.used if name in OWN_COLUMN)]
    return columns


def _classes(params: Params, log: Log | None) -> Callable[[str], Callable[[int], str]]:
    """Return how the numbers of a column are shown."""
    names = params.names or (None if log is None else log.names)

    def shown(name: str) -> Callable[[int], str]:
        if name in _FRACTIONS or name in NUMBER:
            return lambda units: f"{units / ONE:.6f}"
        if name in ("prediction", "answer"):
            return lambda number: class_shown(number, names)
        if name == "reason":
            return lambda number: reason_names([number])[0] or "none"
        return str

    return shown


def _rerun(
    decisions: Decisions,
    units: dict[str, Ints],
    monitor: Monitor,
    log: Log,
    derived: Collection[str],
    labels: dict[int, list[Any]],
) -> list[Check]:
    if len(log) != len(decisions):
        detail = f"the input has {len(log):,} steps, the decision log {len(decisions):,}"
        return [Check("input", False, detail)]
    again, values = run_labeled(monitor, log, labels)
    numbers = decisions.step_numbers()
    shown = _classes(monitor.params, log)
    checks = []
    for name in _from_input(decisions, derived, monitor.params):
        if name in OWN_COLUMN:
            assert decisions.signals is not None
            logged, expected = (_whole(table[:, NUMBER[name]]) for table in (decisions.signals, values))
        elif name in _FRACTIONS:
            logged, expected = units[name], _whole(again[name])
        else:
            logged, expected = decisions.steps[name].astype(np.int64), again[name].astype(np.int64)
        checks.append(_same(f"{name} (rerun)", logged, expected, numbers, "the core gives", shown(name)))
    return checks
