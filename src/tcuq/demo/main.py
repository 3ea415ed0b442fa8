"""Runs the demo and puts its result into words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..audit.derive import audit
from ..base.atomic_files import make_folder
from ..base.atomic_folders import recover, refuse_fixed, write_folder
from ..base.checks import integer
from ..fitting import fit
from ..fitting.simple_rules import left_wrong
from ..io.decisions import Decisions, encode_decisions
from ..io.npz import encode_log
from ..metrics import detection
from ..monitor.cost import cost
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..report.page import render
from .digits import DEV_CORRUPTIONS, HELD, TEST_CORRUPTIONS, load, make_log, train

STEPS = 12_000
"""Of the development stream, and of the test stream."""

BUDGET = 0.15
RUN_LENGTH = 2000
FILES = ("report.html", "params.json", "decisions.csv", "dev.npz", "test.npz")


def main(
    out: str | Path, seed: int = 0, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Train, stream, fit, watch, audit and report."""
    stages = (
        "training a digit classifier",
        "making a development stream",
        "making a test stream with other corruptions",
        "fitting the monitor",
        "watching the test stream",
        "writing the report",
    )

    def tell(stage: int) -> None:
        if progress is not None:
            progress(stage, len(stages), stages[stage] if stage < len(stages) else "done")

    integer("seed", seed, 0, 2**31)
    folder = Path(out)
    recover(folder)
    refuse_fixed(folder.resolve())
    tell(0)
    train_part, dev_part, test_part = load(seed)  # needs scikit-learn; without it nothing is left behind
    classifier = train(train_part, seed)
    tell(1)
    dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, STEPS, seed + 1)
    tell(2)
    test = make_log(classifier, test_part, TEST_CORRUPTIONS, STEPS, seed + 2)
    tell(3)
    params = fit(dev, budget=BUDGET, run_length=RUN_LENGTH, seed=seed)
    tell(4)
    steps, signals = watch(Monitor(params), test, signals=True)
    verdict = audit(Decisions(steps), params, log=test)
    tell(5)
    decided = Decisions(steps, fingerprint=params.fingerprint)
    contents: dict[str, str | bytes] = {
        "params.json": params.to_json(),
        "dev.npz": encode_log(dev),
        "test.npz": encode_log(test),
        "decisions.csv": encode_decisions(decided, "csv"),
        "report.html": render(steps, params, test, signals, title="Digits under a bad lens"),
    }
    make_folder(folder.resolve().parent)
    write_folder(folder, contents)  # all of one run, or all of the run before
    tell(6)
    result = figures(params, test, steps)
    result["audit"] = verdict.ok
    result["findings"] = str(params)
    result["files"] = [str(folder / name) for name in FILES]
    result["text"] = f"{table(result)}\n\nNow open {folder / 'report.html'}"
    return result


def figures(params: Params, log: Log, steps: Any) -> dict[str, Any]:
    """Return what the table shows, measured on the test stream."""
    assert log.labels is not None and log.shifted is not None and log.kinds is not None
    shifted, abstain = log.shifted, steps["abstain"]
    model_wrong, wrong = log.errors(), np.asarray(steps["answer"] != log.labels)
    held = np.arange(len(log)) >= round((1 - HELD) * len(log))
    on = np.asarray(steps["alarm"] != 0)
    alarms = detection(on, log.kinds)
    doubt = 1 - log.confidence()
    return {
        "steps": len(log),
        "corrupted": float(shifted.mean()),
        "wrong_predictions_clean": float(model_wrong[~shifted].mean()),
        "wrong_predictions": float(model_wrong.mean()),
        "wrong_answers": float(wrong.mean()),
        "wrong_predictions_sure": left_wrong(model_wrong, doubt, 1 - params.budget),
        "wrong_answers_sure": left_wrong(wrong, steps["risk"], 1 - params.budget),
        "wrong_accepted": float(wrong[~abstain].mean()),
        "held_steps": int(held.sum()),
        "wrong_predictions_held": float(model_wrong[held].mean()),
        "wrong_answers_held": float(wrong[held].mean()),
        "persistence": float(steps["persistence"].mean()),
        "abstained": float(abstain.mean()),
        "budget": params.budget,
        "flagged": float(steps["flagged"].mean()),
        "level": params.level,
        "flag_bound": params.flag_bound(len(log)),
        "shifts": len(alarms.delays),
        "shifts_alarmed": len(alarms.delays) - alarms.missed,
        "delay_median": alarms.median,
        "false_alarms": alarms.false_onsets,
        "alarm_on_clean": float(on[~shifted].mean()),
        "alarm_on_shifted": float(on[shifted].mean()),
        "clean_steps": int((~shifted).sum()),
        "accuracy_error": _accuracy_error(steps["expected_accuracy"], wrong),
        "expected_clean": float(steps["expected_accuracy"][~shifted].mean()),
        "expected_shifted": float(steps["expected_accuracy"][shifted].mean()),
        "accuracy_clean": float(1 - wrong[~shifted].mean()),
        "accuracy_shifted": float(1 - wrong[shifted].mean()),
        "ram_bytes": cost(params).ram_bytes,
    }


def _accuracy_error(expected: Any, wrong: Any) -> float:
    """Return how far the expected accuracy is from the true one, at the end of each 200 steps."""
    ends = range(200, len(wrong) + 1, 200)
    return float(np.mean([abs(expected[end - 1] - (1 - wrong[end - 200 : end].mean())) for end in ends]))


TABLE = """\
A digit classifier saw a stream of | {steps:,} images, {corrupted:.0%} corrupted
  (in ways that the fit had not seen) |
Wrong, without the monitor | {wrong_predictions:.1%}   ({wrong_predictions_clean:.1%} on clean images)
  the surest 85% by confidence | {wrong_predictions_sure:.1%}
Wrong, with its answers | {wrong_answers:.1%}
  the surest 85% by its risk | {wrong_answers_sure:.1%}
  accepted as they came | {wrong_accepted:.1%}   (ABSTAIN on {abstained:.1%}, never above {budget:.0%})
  where one image is held and shaken | {wrong_answers_held:.1%}   \
({wrong_predictions_held:.1%} without: errors repeat)
Flagged | {flagged:.1%}   (target {level:.0%}, proved within {flag_bound:.2%})
ALARM raised in | {shifts_alarmed} of {shifts} corrupted stretches, after {delay_median:.0f} steps (median)
  on during | {alarm_on_shifted:.0%} of corrupted and {alarm_on_clean:.1%} of clean images \
({false_alarms} false alarms in {clean_steps:,} steps)
Expected accuracy, without labels | clean {expected_clean:.1%} (true {accuracy_clean:.1%}), \
corrupted {expected_shifted:.1%} (true {accuracy_shifted:.1%})
  off by, on average over 200 images | {accuracy_error:.3f}
On a microcontroller the monitor needs | {ram_bytes} bytes of RAM
Audit: every decision derived again from the log | {verdict}"""
"""The result as a newcomer reads it; 85% is the share that the budget leaves."""


def table(result: dict[str, Any]) -> str:
    """Return the result in words, in two columns."""
    text = TABLE.format(**result, verdict="passed" if result["audit"] else "FAILED")
    rows = [line.split(" |") for line in text.splitlines()]
    return "\n".join(f"{left:<49}{right}".rstrip() for left, right in rows)
