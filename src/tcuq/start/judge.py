"""What a monitor does on the part of the data that the fit has not seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fitting.simple_rules import left_wrong, simple_rules
from ..log.class_names import shift_shown
from ..log.log import Log
from ..metrics import Interval, auroc, detection, paired_difference
from ..monitor.cost import cost
from ..monitor.params import Params
from ..report.summary import response

BLOCK, REPLICATES = (
    100,
    400,
)  # of the bootstrap: longer than a class usually stays; shorter where steps are few
BLOCKS = 5  # that a part must have for an interval
FEWEST = 10  # errors from which on a ranking is worth a figure
SPAN = 200  # steps over which expected and true accuracy are compared
RULES = {"belief filter": "Bayes filter"}
"""What a person calls a simple rule, where it is not its own name."""

Bools = npt.NDArray[np.bool_]


def judge(
    params: Params, log: Log, steps: Any, seed: int, stay: float = 1.0, examples: Any = None
) -> dict[str, Any]:
    """Return figures of a monitor's decisions; what needs labels or shifts is there if the log has them."""
    # A class stays for about `stay` steps, and each step shows one of `examples`: none tells more than its
    # example does.
    figures: dict[str, Any] = {
        "steps": len(log),
        "budget": params.budget,
        "abstained": float(steps["abstain"].mean()),
        "ram_bytes": cost(params).ram_bytes,
        "instructions": cost(params).instructions,
        "has_alarm": params.alarm.rise is not None or params.alarm.fall is not None,
    }
    on = np.asarray(steps["alarm"] != 0)
    if log.kinds is None:
        figures["alarm_on"] = float(on.mean())
    else:
        figures |= alarm_figures(on, log.kinds, log.segments) | _harm(on, log)
    expected = np.asarray(steps["expected_accuracy"])
    if params.horizon and len(log) >= SPAN:
        figures["expected_accuracy"] = float(expected.mean())
        figures["expected_least"] = float((_sums(expected) / _sums(np.ones(len(log)))).min())
    if log.labels is not None:
        figures |= _errors(params, log, steps, seed, stay, examples)
    return figures


def _harm(on: Bools, log: Log) -> dict[str, Any]:
    """Return what an alarm did about shifts that cost accuracy, or about all where labels do not tell."""
    found = response(on, log)
    assert found is not None and log.kinds is not None and log.shifted is not None
    costly = np.isin(log.kinds, list(found.harmful)) & log.shifted
    return {
        "harmful": found.found.of,
        "harmful_found": found.number("in time") + found.number("late"),
        "harmless_alarms": found.number("alarm without harm"),
        "harmful_on_before": found.harmful_on_before,
        "harmful_delay": found.median,
        "alarm_on_harmful": float(on[costly].mean()) if costly.any() else None,
    }


def _sums(values: Any) -> Any:
    """Return sums over every `SPAN` steps, and over those at the end."""
    return np.add.reduceat(values, np.arange(0, len(values), SPAN))


def alarm_figures(on: Bools, kinds: npt.NDArray[Any], segments: npt.NDArray[Any] | None) -> dict[str, Any]:
    """Return what an alarm did while shifts were marked."""
    found, shifted = detection(on, kinds, segments), kinds > 0
    clean = int((~shifted).sum())
    raised = [delay for delay in found.delays if delay is not None]
    most = 2 * len(raised) >= len(found.delays)  # else a median of those that were found would flatter
    return {
        "shifted": float(shifted.mean()),
        "shifts": len(found.delays),
        "shifts_alarmed": len(found.delays) - found.missed,
        "shifts_already_raised": found.already_raised,
        "delay_median": float(np.median(raised)) if raised and most else None,
        "false_alarms": found.false_onsets,
        "clean_steps": clean,
        "alarm_on_clean": float(on[~shifted].mean()) if clean else None,
        "alarm_on_shifted": float(on[shifted].mean()) if shifted.any() else None,
    }


def _errors(params: Params, log: Log, steps: Any, seed: int, stay: float, examples: Any) -> dict[str, Any]:
    model, wrong = log.errors(), np.asarray(steps["answer"] != log.labels)
    doubt, risk, kept = 1 - log.confidence(), np.asarray(steps["risk"]), ~steps["abstain"]
    coverage = 1 - params.budget
    rng = np.random.default_rng([seed, 15])
    # Of stays that go on from block to block a bootstrap knows nothing.
    block = max(1, math.ceil(2 * stay), min(BLOCK, len(log) // BLOCKS))
    enough = len(log) >= BLOCKS * block

    def left(errors: Any, score: Any) -> float:
        return left_wrong(errors, score, coverage)

    def compared(order: Any, size: int) -> Interval:
        first, second = ([each[order] for each in pair] for pair in ((wrong, risk), (model, doubt)))
        return paired_difference(left, first, second, min(size, len(log)), REPLICATES, rng)

    gain = compared(slice(None), block)
    low, high, times = gain.low, gain.high, 1 if examples is None else len(log) / len(np.unique(examples))
    if times > 2:  # steps of one example are alike wherever they come: blocks of a few examples
        again = compared(np.argsort(examples, kind="stable"), math.ceil(4 * times))
        low, high = min(low, again.low), max(high, again.high)
    figures: dict[str, Any] = {
        "wrong_model": float(model.mean()),
        "wrong_answers": float(wrong.mean()),
        "wrong_accepted": float(wrong[kept].mean()) if kept.any() else None,
        "sure_by_confidence": left(model, doubt),
        "sure_by_monitor": left(wrong, risk),
        "sure_by_rules": {
            RULES.get(rule.name, rule.name): left(rule.answers != log.labels, rule.doubt)
            for rule in simple_rules(log)[1:]
        },
        "gain": gain.estimate,
        "gain_low": low if enough else None,
        "gain_high": high if enough else None,
        "block": block,
        "auroc_confidence": _ranking(doubt, model),
        "auroc_monitor": _ranking(risk, wrong),
    }
    if params.horizon and len(log) >= SPAN:
        # A shorter span at the end counts by its steps, so that this is never below the difference of means.
        # Confidence speaks of the model's answers, ours of the monitor's: each is held against its own.
        gaps = (steps["expected_accuracy"] - ~wrong, 1 - doubt - ~model)
        off = [float(np.abs(_sums(each)).sum() / len(log)) for each in gaps]
        figures |= dict(zip(("expected_off", "expected_off_confidence"), off, strict=True))
        figures["accuracy"] = float(1 - wrong.mean())
    return figures


def _ranking(score: Any, wrong: Bools) -> float | None:
    """Return the AUROC; none where a few errors, or a few right answers, would be all that it says."""
    return auroc(score, wrong) if FEWEST <= wrong.sum() <= len(wrong) - FEWEST else None


def by_kind(log: Log, steps: Any) -> dict[str, dict[str, Any]]:
    """Return what `by_part` does for each kind of shift by name, and how many stretches of it were found."""
    assert log.kinds is not None
    detected = detection(steps["alarm"] != 0, log.kinds, log.segments)
    rows = {}
    for number, row in by_part(log, steps, log.kinds).items():
        if number:
            delays = [delay for at, delay in zip(detected.starts, detected.delays, strict=True)
                      if log.kinds[at] == number]  # fmt: skip
            row |= {"shifts": len(delays), "shifts_alarmed": len(delays) - delays.count(None)}
        rows[shift_shown(number, log.shift_names)] = row
    return rows


def by_part(log: Log, steps: Any, parts: npt.NDArray[Any]) -> dict[Any, dict[str, Any]]:
    """Return errors and alarms for each value of an array, such as paces."""
    rows: dict[Any, dict[str, Any]] = {}
    for each in np.unique(parts).tolist():
        here = parts == each
        row = {"steps": int(here.sum()), "alarm_on": float((steps["alarm"][here] != 0).mean())}
        if log.labels is not None:
            row["wrong_model"] = float(log.errors()[here].mean())
            row["wrong_answers"] = float((steps["answer"] != log.labels)[here].mean())
        rows[each] = row
    return rows
