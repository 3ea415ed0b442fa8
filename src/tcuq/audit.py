"""Checking a decision log after the fact: every decision derived again, every promised rate certified.

Decisions are derived by `tcuq.rules`, not by the core, so that a fault of the core cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .io.decisions import Decisions
from .log import Log, watch
from .monitor import Monitor
from .params import Params
from .rules import ONE, TOP, Ints, Rules
from .state import State, state_for

_FRACTIONS = ("risk", "threshold", "uncertainty")


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Parameters
    ----------
    name : str
    ok : bool
    detail : str
        The finding, in words.
    step : int or None
        Number of the first step that violates it.
    """

    name: str
    ok: bool
    detail: str
    step: int | None = None


@dataclass(frozen=True)
class Audit:
    """Everything that was found in a decision log.

    Parameters
    ----------
    steps : int
        Steps in the log.
    flags, abstentions : int
        How many of them were flagged, and abstained on.
    checks : tuple of Check
    """

    steps: int
    flags: int
    abstentions: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings for JSON."""
        return {"ok": self.ok, **asdict(self), "checks": [asdict(check) for check in self.checks]}

    def text(self) -> str:
        """Return the findings for people."""
        width = max(len(check.name) for check in self.checks)
        lines = [f"{'ok' if c.ok else 'FAIL':4}  {c.name:{width}}  {c.detail}" for c in self.checks]
        failed = sum(not check.ok for check in self.checks)
        verdict = "all checks hold" if not failed else f"{failed} of {len(self.checks)} checks fail"
        return "\n".join([*lines, f"{self.steps:,} steps: {verdict}"])


def audit(
    decisions: Decisions | npt.NDArray[Any],
    params: Params,
    log: Log | None = None,
    state: bytes | None = None,
) -> Audit:
    """Derive every decision of a log again and certify the rates that were promised.

    Parameters
    ----------
    decisions : Decisions or array of `tcuq.STEP_DTYPE`
        What the monitor said, from a file or from `Monitor.run`.
    params : Params
        Those of the monitor.
    log : Log, optional
        The input of the run. With it, the core runs again and label, risk, uncertainty and reason
        must be the same.
    state : bytes, optional
        Saved state that the run started from; without it, a fresh monitor.

    Returns
    -------
    Audit

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
    if not isinstance(decisions, Decisions):
        decisions = Decisions(decisions, state_for(params, state).steps if state is not None else 0)
    if not len(decisions):
        raise ValueError("the decision log is empty; at least one step is needed")
    start = state_for(params, state) if state is not None else None
    rules = Rules(params)
    steps, numbers = decisions.steps, decisions.step_numbers()
    checks = [_numbering(numbers, start.steps if start else 0)]
    units, found = _fixed_point(steps, numbers)
    checks.append(found)
    derived = rules.replay(units["risk"].tolist(), start)
    for name, expected in derived.items():
        logged, show = (units[name], _fraction) if name in _FRACTIONS else (steps[name].astype(np.int64), str)
        checks.append(_same(name, logged, expected, numbers, "the rules give", show))
    # The rates are certified from what the log says, not from what it should have said.
    flags = units["risk"] >= units["threshold"]
    checks.append(_flag_rate(rules, flags, numbers, start))
    abstained = steps["abstain"].astype(np.int64)
    checks += _abstentions(rules, abstained, numbers, start)
    if log is not None:
        checks += _rerun(decisions, units, params, log, state)
    return Audit(len(steps), int(flags.sum()), int(abstained.sum()), tuple(checks))


def _numbering(numbers: Ints, first: int) -> Check:
    wrong = numbers != np.arange(first, first + len(numbers))
    if not wrong.any():
        return Check("step", True, f"numbered {first:,} to {int(numbers[-1]):,} without a gap")
    row = int(wrong.argmax())
    detail = f"row {row} has number {int(numbers[row])}; {first + row} expected"
    return Check("step", False, detail, int(numbers[row]))


def _fixed_point(steps: npt.NDArray[Any], numbers: Ints) -> tuple[dict[str, Ints], Check]:
    """Return risk, threshold and uncertainty as the core's integers, and whether they are such."""
    units = {}
    for name, low, high in (("risk", 0, TOP), ("threshold", -(2**31), 2**31 - 1), ("uncertainty", 0, TOP)):
        values = steps[name] * ONE
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
    """Return the nearest integers to values that the core cannot have given, so that the audit can go on."""
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
    detail = (
        f"worst window holds {worst / den:g} abstentions more than {num / den:g} a step; {burst} are accepted"
    )
    at = int(numbers[int(over.argmax())]) if over.any() else None
    return [budget, Check("burst", at is None, detail, at)]


def _rerun(
    decisions: Decisions, units: dict[str, Ints], params: Params, log: Log, state: bytes | None
) -> list[Check]:
    if len(log) != len(decisions):
        detail = f"the input has {len(log):,} steps, the decision log {len(decisions):,}"
        return [Check("input", False, detail)]
    monitor = Monitor(params)
    if state is not None:
        monitor.load(state)
    again = watch(monitor, log)
    numbers = decisions.step_numbers()
    checks = []
    for name in ("label", "risk", "uncertainty", "reason"):
        show: Callable[[int], str] = _fraction if name in _FRACTIONS else str
        if name in _FRACTIONS:
            logged, expected = units[name], (again[name] * ONE).astype(np.int64)
        else:
            logged, expected = decisions.steps[name].astype(np.int64), again[name].astype(np.int64)
        checks.append(_same(f"{name} (rerun)", logged, expected, numbers, "the core gives", show))
    return checks


def _fraction(units: int) -> str:
    return f"{units / ONE:.6f}"
