"""Checking a decision log after the fact: every decision derived again, every promised rate certified.

Decisions are derived by `tcuq.audit.rules`, not by the core, so that a fault of the core cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from ..base.fixed import ONE
from ..io.decisions import OWN_COLUMN, Decisions
from ..monitor.class_names import class_shown
from ..monitor.log import Log
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..monitor.signals import NUMBER, SIGNALS
from ..monitor.state import State, state_for
from ..monitor.steps import NO_REASON, reason_names
from .labels import Told, label_rows, watch_told
from .rules import TOP, Evidence, Heard, Ints, Rules
from .verdict import Audit, Check

_FRACTIONS = {
    "risk": (0, TOP),
    "threshold": (-(2**31), 2**31 - 1),
    "uncertainty": (0, TOP),
    "persistence": (0, TOP),
    "look": (0, TOP),
    "severity": (-(2**24), 2**24),
    "expected_accuracy": (0, TOP),
}
"""Fields that are fractions, and the least and the most of them in Q0.16."""


def checked_state(params: Params, content: bytes) -> State:
    """Return the header of a state that a monitor with these parameters can go on from; refuse others.

    Parameters
    ----------
    params : Params
        Of the monitor that shall go on.
    content : bytes
        As `Monitor.save` gave them.

    Returns
    -------
    State
        Number of steps, flags and abstentions so far, and the rest of the header.

    Raises
    ------
    ValueError
        For a state that is damaged or belongs to other parameters.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=2)
    >>> checked_state(params, Monitor(params).save()).steps
    0
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
        persistence, look and reason must be the same, as must low_mass and the signals where the decisions
        have them.
    state : bytes, optional
        Saved state that the run started from; without it, a fresh monitor.
    labels : array of shape (n, 3), optional
        Labels that the monitor was told, in their order: number of the last step then, number of the step
        that it is for, and the true class, -1 for right or -2 for wrong.

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
    rules = Rules(params)
    steps, numbers = decisions.steps, decisions.step_numbers()
    checks = [_numbering(numbers, start), *_possible(steps, numbers, params)]
    units, found = _fixed_point(steps, numbers, params)
    checks.append(found)
    shown = _classes(params, log)
    told = label_rows(labels, int(numbers[0]), len(steps), params.classes)
    heard = None
    if params.feedback is not None:
        classes = np.clip(steps["answer"].astype(np.int64), 0, params.classes - 1).tolist()
        heard = Heard(Told(params, state), classes, units["uncertainty"].tolist(), told)
    elif told:
        raise InputError("conflict", "labels are given, but the parameters have no feedback")
    evidence = _evidence(rules, decisions, params, units["look"], start, log)
    derived = rules.replay(units["risk"].tolist(), start, evidence, heard)
    corrections = 0 if heard is None else heard.corrections
    derived["expected_accuracy"] = rules.expected_accuracy(units["uncertainty"].tolist(), start, corrections)
    if params.instant is None:
        derived["answer"] = steps["prediction"].astype(np.int64)
        derived["persistence"] = np.zeros(len(steps), dtype=np.int64)
    if params.evidence is None:
        derived["look"] = np.zeros(len(steps), dtype=np.int64)
    for name, expected in derived.items():
        if name not in decisions.missing:
            logged = units[name] if name in _FRACTIONS else steps[name].astype(np.int64)
            checks.append(_same(name, logged, expected, numbers, "the rules give", shown(name)))
    # The rates are certified from what the log says, not from what it should have said.
    flags = units["risk"] >= units["threshold"]
    checks.append(_flag_rate(rules, flags, numbers, start))
    abstained = steps["abstain"].astype(np.int64)
    if params.feedback is None or not params.feedback.above_budget:
        checks += _abstentions(rules, abstained, numbers, start)
    if heard is not None and params.feedback is not None and params.feedback.max_error is not None:
        checks.append(_error_rate(heard, numbers))
    unchecked: tuple[str, ...] = ()
    if log is None:
        unchecked = tuple(_from_input(decisions, derived))
    else:
        monitor = Monitor(params)
        if state is not None:
            monitor.load(state)
        checks += _rerun(decisions, units, monitor, log, derived, told)
    return Audit(len(steps), int(flags.sum()), int(abstained.sum()), tuple(checks), unchecked)


def _numbering(numbers: Ints, start: State | None) -> Check:
    first = start.steps if start else 0
    wrong = numbers != np.arange(first, first + len(numbers))
    if not wrong.any():
        return Check("step", True, f"numbered {first:,} to {int(numbers[-1]):,} without a gap")
    row = int(wrong.argmax())
    detail = f"row {row} has number {int(numbers[row])}; {first + row} expected"
    if start is None and numbers[0] > 0:
        detail += "; give --state if the run was resumed"
    return Check("step", False, detail, int(numbers[row]))


def _possible(steps: npt.NDArray[Any], numbers: Ints, params: Params) -> list[Check]:
    """Check that classes are such and reasons signals in use, on flagged steps, whatever the input was."""
    used = [NUMBER[name] for name in params.signals]
    classes = f"0 to {params.classes - 1}"
    unasked = (steps["risk"] < steps["threshold"]) & (steps["reason"] != NO_REASON)
    checks = []
    for name, wrong, accepted in (
        ("prediction", (steps["prediction"] < 0) | (steps["prediction"] >= params.classes), classes),
        ("answer", (steps["answer"] < 0) | (steps["answer"] >= params.classes), classes),
        (
            "reason",
            ~np.isin(steps["reason"], (*used, NO_REASON)) | unasked,
            f"none, or where flagged {', '.join(params.signals)}",
        ),
    ):
        if name == "answer" and params.instant is None:
            continue  # the rules tell it
        if not wrong.any():
            checks.append(Check(name, True, f"{accepted} at all {len(steps):,} steps"))
            continue
        row = int(wrong.argmax())
        said = str(int(steps[name][row]))
        if name == "reason":
            said = reason_names(steps["reason"][row : row + 1])[0] or said
        detail = f"the log says {said} at step {int(numbers[row])}; {accepted} is possible"
        checks.append(Check(name, False, detail, int(numbers[row])))
    return checks


def _fixed_point(steps: npt.NDArray[Any], numbers: Ints, params: Params) -> tuple[dict[str, Ints], Check]:
    """Return the fractions of a step as the core's integers, and whether they are such."""
    units = {}
    for name, (low, high) in _FRACTIONS.items():
        values = steps[name] * ONE
        if name == "expected_accuracy" and not params.horizon:
            values = np.where(np.isnan(values), 0.0, values)  # there is none
        with np.errstate(invalid="ignore"):
            wrong = ~((values >= low) & (values <= high)) | (values != np.round(values))
        if wrong.any():
            row = int(wrong.argmax())
            detail = (
                f"{name} is {steps[name][row]!r} at step {int(numbers[row])}; a multiple of 1/65536 expected"
            )
            units.update({n: _whole(steps[n]) for n in _FRACTIONS})
            return units, Check("fixed_point", False, detail, int(numbers[row]))
        units[name] = values.astype(np.int64)
    return units, Check("fixed_point", True, "every fraction is one that the core can give")


def _whole(values: npt.NDArray[np.float64]) -> Ints:
    """Return fractions as the core's integers, the nearest ones where it cannot have given them."""
    return np.round(np.clip(np.nan_to_num(values), -32768, 32767) * ONE).astype(np.int64)


def _same(
    name: str, logged: Ints, expected: Ints, numbers: Ints, source: str, show: Callable[[int], str]
) -> Check:
    wrong = logged != expected
    if not wrong.any():
        return Check(name, True, f"the same at all {len(logged):,} steps")
    row, count = int(wrong.argmax()), int(wrong.sum())
    number = int(numbers[row])
    said = f"the log says {show(int(logged[row]))} at step {number}, {source} {show(int(expected[row]))}"
    return Check(name, False, f"{said}; {count:,} of {len(logged):,} steps differ", number)


def _flag_rate(rules: Rules, flags: npt.NDArray[np.bool_], numbers: Ints, start: State | None) -> Check:
    num, den = rules.p["level_num"], rules.p["level_den"]
    low, high = rules.bounds
    debts = (start.debt if start else 0) + np.cumsum(np.where(flags, den - num, -num), dtype=np.int64)
    outside = (debts < low) | (debts > high)
    rate = f"flag rate {flags.mean():.4f} at level {num / den:g}"
    span = f"{low / den:g} to {high / den:g}"
    if outside.any():
        row = int(outside.argmax())
        detail = f"{rate}; debt {int(debts[row]) / den:g} flags at step {int(numbers[row])} is outside {span}"
        return Check("flag_rate", False, detail, int(numbers[row]))
    worst = int(debts[np.abs(debts).argmax()])
    return Check("flag_rate", True, f"{rate}; worst debt {worst / den:g} flags, {span} is certain")


def _error_rate(heard: Heard, numbers: Ints) -> Check:
    den, bound = heard.told.p["error_den"], heard.told.bound
    debts = np.array(heard.debts, dtype=np.int64)
    worst = f"{int(debts.max()) / den:g} errors beyond max_error; {bound / den:g} is certain"
    at = int(numbers[int((debts > bound).argmax())]) if (debts > bound).any() else None
    return Check("errors", at is None, f"of labeled accepted steps, at worst {worst}", at)


def _abstentions(rules: Rules, abstained: Ints, numbers: Ints, start: State | None) -> list[Check]:
    num, den, burst = rules.p["budget_num"], rules.p["budget_den"], rules.p["burst"]
    # What is spent minus what came in, in units of 1/den: may never pass the credit at the start.
    balance = np.cumsum(abstained * den - num, dtype=np.int64)
    credit = start.credit if start else 0
    over = balance > credit
    rate = f"{int(abstained.sum()):,} abstentions in {len(abstained):,} steps, {abstained.mean():.4f} a step"
    allowed = f"budget {num / den:g}" + (f" and {credit / den:g} saved up before" if credit else "")
    if over.any():
        row = int(over.argmax())
        count = int(abstained[: row + 1].sum())
        most = (num * (row + 1) + credit) / den
        detail = f"{count} abstentions by step {int(numbers[row])}; {allowed} allows {most:g}"
        budget = Check("budget", False, detail, int(numbers[row]))
    else:
        budget = Check("budget", True, f"{rate}; {allowed}")
    # Worst window that ends at each step: the balance there minus its lowest point before.
    before = np.concatenate([[0], balance[:-1]])
    excess = balance - np.minimum.accumulate(before)
    worst = int(excess.max())
    over = excess > burst * den
    held = f"worst window holds {worst / den:g} abstentions more than {num / den:g} a step"
    detail = f"{held}; at most {burst} are allowed"
    at = int(numbers[int(over.argmax())]) if over.any() else None
    return [budget, Check("burst", at is None, detail, at)]


def _evidence(
    rules: Rules,
    decisions: Decisions,
    params: Params,
    looks: Ints,
    start: State | None,
    log: Log | None,
) -> Evidence | None:
    """Return the evidence from logged signals and classes; None where the log cannot tell.

    A log without signals leaves alarm and severity to the input, as it does the signals themselves. So does
    one that cannot tell where the input stood still.
    """
    head, signals = rules.p["evidence"], decisions.signals
    if head is None or signals is None or "look" in decisions.missing:
        return None
    needed = [name for name, coef in zip(SIGNALS, head["coef"], strict=True) if coef and name != "severity"]
    classes = decisions.steps[params.about].astype(np.int64)
    if not set(needed) <= set(decisions.used) or not ((classes >= 0) & (classes < len(head["offset"]))).all():
        return None
    if not head["still"]:
        return rules.evidence(_whole(signals), classes, looks, start)
    values = _compared(decisions, params, log)
    if values is None or (start is not None and start.steps):
        return None  # a state's header does not have the last input
    still = rules.stood_still(values, {0} if log is None else {piece.start for piece in log.pieces()})
    if log is None and still.any():
        return None  # only the input tells a reset, after which it did not
    return rules.evidence(_whole(signals), classes, looks, start, still)


def _compared(decisions: Decisions, params: Params, log: Log | None) -> Ints | None:
    """Return what looks compare: sums of features, from the input, or logged odds; None without them."""
    if "distance" in params.signals:
        if log is None or log.features is None or log.features.dtype != np.int8 or len(log) != len(decisions):
            return None
        edges = [(block * log.width) >> 3 for block in range(9)]
        rows = np.asarray(log.features, dtype=np.int64)
        return np.stack([rows[:, a:b].sum(1) for a, b in pairwise(edges)], axis=1)
    if decisions.signals is None or "odds" not in decisions.used:
        return None
    return _whole(decisions.signals[:, [NUMBER["odds"]]])


def _from_input(decisions: Decisions, derived: Collection[str]) -> list[str]:
    """Return the columns that come from the input rather than from the rules."""
    open_still = (
        "prediction",
        "answer",
        "risk",
        "uncertainty",
        "persistence",
        "look",
        "reason",
        "alarm",
        "severity",
    )
    more = (
        []
        if decisions.signals is None
        else ["low_mass", *(name for name in decisions.used if name in OWN_COLUMN)]
    )
    return [name for name in open_still if name not in {*derived, *decisions.missing}] + more


def _classes(params: Params, log: Log | None) -> Callable[[str], Callable[[int], str]]:
    """Return how the numbers of a column are shown."""
    names = params.names or (None if log is None else log.names)

    def shown(name: str) -> Callable[[int], str]:
        if name in _FRACTIONS or name in NUMBER:
            return _fraction
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
    told: dict[int, list[Any]],
) -> list[Check]:
    if len(log) != len(decisions):
        detail = f"the input has {len(log):,} steps, the decision log {len(decisions):,}"
        return [Check("input", False, detail)]
    again, values = watch_told(monitor, log, told)
    numbers = decisions.step_numbers()
    shown = _classes(monitor.params, log)
    checks = []
    for name in _from_input(decisions, derived):
        if name in OWN_COLUMN:
            assert decisions.signals is not None
            logged, expected = (_whole(table[:, NUMBER[name]]) for table in (decisions.signals, values))
        elif name in _FRACTIONS:
            logged, expected = units[name], _whole(again[name])
        else:
            logged, expected = decisions.steps[name].astype(np.int64), again[name].astype(np.int64)
        checks.append(_same(f"{name} (rerun)", logged, expected, numbers, "the core gives", shown(name)))
    return checks


def _fraction(units: int) -> str:
    return f"{units / ONE:.6f}"
