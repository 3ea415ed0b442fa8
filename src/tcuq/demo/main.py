"""Runs the demo and puts its result into words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..audit.derive import audit
from ..base.atomic_files import make_folder
from ..base.checks import integer
from ..base.errors import InputError
from ..export.folders import recover, refuse_fixed, write_folder
from ..fitting import fit
from ..fitting.simple_rules import left_wrong, simple_rules
from ..io.decisions import Decisions
from ..log.log import Log
from ..monitor.cost import cost
from ..monitor.monitor import Monitor, run_over
from ..monitor.params import Params
from ..report.summary import IN_TIME, choices, response
from ..start.judge import alarm_figures
from ..start.run import contents_of
from .digits import DEV_CORRUPTIONS, TEST_CORRUPTIONS, day, load, make_log, train

STEPS = 12_000  # of the development stream, and of the test stream
BUDGET = 0.10
RIVALS = ("confidence", "belief filter")
TITLE = "A day of a digit camera"
FILES = ("report.html", "params.json", "decisions.csv", "dev.npz", "test.npz")
STAGES = (
    "training a digit classifier",
    "making a development stream",
    "making a day of a device, with other faults",
    "fitting the monitor",
    "watching the test stream",
    "writing the report",
    "done",
)


def main(
    out: str | Path, seed: int = 0, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Train, stream, fit, watch, audit and report."""

    def show(stage: int) -> None:
        if progress is not None:
            progress(stage, len(STAGES) - 1, STAGES[stage])

    integer("seed", seed, 0, 2**31)
    folder = Path(out)
    recover(folder)
    refuse_fixed(folder.resolve())
    if folder.is_dir() and any(folder.iterdir()) and not _own(folder / "report.html"):
        problem = f"{folder}: is not empty, and no demo wrote it"
        raise InputError("exists", f"{problem}; name another folder with --out")
    show(0)
    train_part, dev_part, test_part = load(seed)  # needs scikit-learn; without it nothing is left behind
    classifier = train(train_part, seed)
    show(1)
    dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, STEPS, seed + 1)
    show(2)
    test = make_log(classifier, test_part, TEST_CORRUPTIONS, STEPS, seed + 2, day)
    show(3)
    params = fit(dev, budget=BUDGET, seed=seed)
    show(4)
    steps, signals = run_over(Monitor(params), test, signals=True)
    verdict = audit(Decisions(steps), params, log=test)
    show(5)
    result = figures(params, test, steps)
    contents = contents_of(params, (dev, test), steps, signals, TITLE)
    contents["params.json"] = params.to_json()
    make_folder(folder.resolve().parent)
    write_folder(folder, contents)  # all of one run, or all of the run before
    show(6)
    result["audit"] = verdict.ok
    result["findings"] = str(params)
    result["files"] = [str(folder / name) for name in FILES]
    result["text"] = f"{table(result)}\n\nNow open {folder / 'report.html'}"
    return result


def _own(report: Path) -> bool:
    """Tell whether a report is that of a demo."""
    return report.is_file() and f"<title>{TITLE}</title>".encode() in report.read_bytes()[:4096]


def figures(params: Params, log: Log, steps: Any) -> dict[str, Any]:
    """Return what the table shows, measured on the test stream."""
    assert log.labels is not None and log.kinds is not None and log.shift_names is not None
    each, kinds = choices(steps), log.kinds
    act, on = each["act"], each["hold"]
    share = float(act.mean())
    model_wrong, wrong = log.errors(), np.asarray(steps["answer"] != log.labels)
    rules = {rule.name: rule for rule in simple_rules(log)}
    sure = {name: left_wrong(rules[name].answers != log.labels, rules[name].doubt, share) for name in RIVALS}
    expected, responses = steps["expected_accuracy"], response(steps["alarm"], log)
    assert responses is not None
    faults = {
        name: {
            "steps": int(here.sum()),
            "wrong_predictions": float(model_wrong[here].mean()),
            "acted": int((act & here).sum()),
            "acted_wrong": int(wrong[act & here].sum()),
            "alarm_on": float(on[here].mean()),
        }
        for name, here in ((name, kinds == number) for number, name in enumerate(log.shift_names, 1))
    }
    return {
        "steps": len(log),
        "wrong_predictions_clean": float(model_wrong[kinds == 0].mean()),
        "wrong_predictions": float(model_wrong.mean()),
        "wrong_answers": float(wrong.mean()),
        "act": share,
        "ask": float(each["ask"].mean()),
        "hold": float(on.mean()),
        "wrong_by_confidence": sure[RIVALS[0]],
        "wrong_by_filter": sure[RIVALS[1]],
        "wrong_acted": float(wrong[act].mean()),
        "abstained": float(steps["abstain"].mean()),
        "budget": params.budget,
        "faults": faults,
        "alarms": responses.words,
        **alarm_figures(on, kinds, None),
        "expected_clean": float(expected[kinds == 0].mean()),
        "expected_shifted": float(expected[kinds > 0].mean()),
        "accuracy_clean": float(1 - wrong[kinds == 0].mean()),
        "accuracy_shifted": float(1 - wrong[kinds > 0].mean()),
        "ram_bytes": cost(params).ram_bytes,
    }


# The result as a newcomer reads it.
TABLE = """\
A digit classifier saw {steps:,} images: a day with {shifts} faults, none of them seen by the fit.

                             acts on   wrong of those
network alone                  100%    {wrong_predictions:6.1%}
confidence                  {act:7.0%}   {wrong_by_confidence:7.1%}   threshold set in hindsight
Bayes filter                {act:7.0%}   {wrong_by_filter:7.1%}   threshold set in hindsight
tcuq                        {act:7.0%}   {wrong_acted:7.1%}   asks on {ask:.0%}, holds on {hold:.0%}

fault (400 images)   network wrong   tcuq holds   acted on   wrong of those
{faults}
clean                {wrong_predictions_clean:13.1%}   {alarm_on_clean:10.1%}

ALARM: {alarms} (in time: within {in_time} images); \
{false_alarms} false alarms in {clean_steps:,} clean images
Expected accuracy: clean {expected_clean:.1%} (true {accuracy_clean:.1%}), \
faults {expected_shifted:.1%} (true {accuracy_shifted:.1%})
Memory: {ram_bytes} bytes of RAM on a microcontroller
Audit: {verdict}"""

FAULT = "{name:<20} {wrong_predictions:13.1%}   {alarm_on:10.1%}   {acted:8d}   {acted_wrong:14d}"


def table(result: dict[str, Any]) -> str:
    """Return the result as text."""
    faults = "\n".join(FAULT.format(name=name, **row) for name, row in result["faults"].items())
    verdict = "every decision derived again from the log" if result["audit"] else "FAILED"
    return TABLE.format(**{**result, "faults": faults}, verdict=verdict, in_time=IN_TIME)
