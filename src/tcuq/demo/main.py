"""Runs the demo and puts its result into words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..audit.derive import audit
from ..base.atomic_files import make_folder
from ..base.checks import integer
from ..base.errors import InputError
from ..base.texts import text_of
from ..export.folders import recover, refuse_fixed, write_folder
from ..fitting import fit
from ..fitting.simple_rules import left_wrong, simple_rules
from ..io.decisions import Decisions
from ..log.log import Log
from ..monitor.cost import cost
from ..monitor.monitor import Monitor, run_over
from ..monitor.params import Params
from ..monitor.steps import NOT_MOVED, moved_name
from ..report.summary import choices, response
from ..start.run import contents_of
from .clothes import DEV_CORRUPTIONS, TEST_CORRUPTIONS, day, load, make_log, make_stream, train

STEPS = 12_000  # of the development stream, and of the test stream
BUDGET = 0.10
SPAN = 200  # steps over which expected and true accuracy are compared
TITLE = "A day of a camera that sorts clothes"
FILES = ("report.html", "params.json", "decisions.csv", "dev.npz", "test.npz")
STAGES = (
    "training a classifier of clothes",
    "making a development stream",
    "making a day of a device, with other faults",
    "fitting the monitor",
    "watching the test stream",
    "writing the report",
    "done",
)


def main(
    out: str | Path, seed: int | None = None, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Train, stream, fit, watch, audit and report."""

    def show(stage: int) -> None:
        if progress is not None:
            progress(stage, len(STAGES) - 1, STAGES[stage])

    others = trainings()
    seed = integer("seed", others["middle"] if seed is None else seed, 0, 2**31)
    folder = Path(out)
    recover(folder)
    refuse_fixed(folder.resolve())
    if folder.is_dir() and any(folder.iterdir()) and not _own(folder / "report.html"):
        problem = f"{folder}: is not empty, and no demo wrote it"
        raise InputError("exists", f"{problem}; name another folder with --out")
    run = watched(seed, show)
    (dev, test), params, steps, signals, pictures = run
    verdict = audit(Decisions(steps), params, log=test)
    show(5)
    result = figures(run)
    known = [day["wrong"] for day in others["trainings"] if day["seed"] == seed]
    if known:  # the rival that the lab trains
        result["wrong"] = {name: result["wrong"].get(name, known[0][name]) for name in known[0]}
    contents = contents_of(params, (dev, test), steps, signals, TITLE, pictures=_shots(test, pictures))
    contents["params.json"] = params.to_json()
    make_folder(folder.resolve().parent)
    write_folder(folder, contents)  # all of one run, or all of the run before
    show(6)
    result["audit"] = verdict.ok
    result["findings"] = str(params)
    result["files"] = [str(folder / name) for name in FILES]
    then = f"Open {folder / 'report.html'}    Your own model: tcuq start MODEL DATA -o monitor/"
    result["text"] = f"{table(result, others)}\n{then}"
    return result


class Run(NamedTuple):
    """A day that a monitor watched, and the log that it was fitted to."""

    logs: tuple[Log, Log]
    params: Params
    steps: Any
    signals: Any
    pictures: Any


def watched(seed: int, show: Callable[[int], None] = lambda stage: None) -> Run:
    """Train, make both streams, fit and watch."""
    show(0)
    train_part, dev_part, test_part = load(seed)
    classifier = train(train_part, seed)
    show(1)
    dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, STEPS, seed + 1)
    show(2)
    test, pictures = make_stream(classifier, test_part, TEST_CORRUPTIONS, STEPS, seed + 2, day)
    show(3)
    params = fit(dev, budget=BUDGET, seed=seed)
    show(4)
    steps, signals = run_over(Monitor(params), test, signals=True)
    return Run((dev, test), params, steps, signals, pictures)


def _shots(log: Log, pictures: Any) -> dict[str, Any]:
    """Return two pictures of each kind of input, one above the other."""
    assert log.kinds is not None
    rows = [np.flatnonzero(log.kinds == kind) for kind in range(int(log.kinds.max()) + 1)]
    names = ("clean", *(log.shift_names or ()))
    return {
        name: np.concatenate(pictures[at[[len(at) // 3, -1]]]) for name, at in zip(names, rows, strict=True)
    }


def trainings() -> dict[str, Any]:
    """Return what eight trainings gave, and which of them is shown (`tools/demo_trainings.py`)."""
    found: dict[str, Any] = json.loads(text_of("demo/trainings.json"))
    return found


def _own(report: Path) -> bool:
    """Tell whether a report is that of a demo."""
    return report.is_file() and f"<title>{TITLE}</title>".encode() in report.read_bytes()[:4096]


def figures(run: Run) -> dict[str, Any]:
    """Return what the table shows, measured on the day; right is what equals the true class."""
    (_, log), params, steps = run[:3]
    assert log.labels is not None and log.kinds is not None and log.shift_names is not None
    each, kinds = choices(steps), log.kinds
    act, on, share = each["act"], each["hold"], float(each["act"].mean())
    model, right, sure = ~log.errors(), np.asarray(steps["answer"] == log.labels), log.confidence()
    rules = {rule.name: rule for rule in simple_rules(log)}
    rivals = {"its confidence": rules["confidence"], "Bayes filter": rules["belief filter"]}
    expected, found = np.asarray(steps["expected_accuracy"]), response(steps["alarm"], log)
    assert found is not None
    outcomes = {each.kind: each for each in found.delays}
    events = {}
    for number, name in enumerate(("clean", *log.shift_names)):
        here = kinds == number
        said = Counter(code for code in steps["moved"][here & on].tolist() if code != NOT_MOVED)
        events[name] = {
            "steps": int(here.sum()),
            "model_right": float(model[here].mean()),
            "model_claims": float(sure[here].mean()),
            "answers_right": float(right[here].mean()),
            "tcuq_expects": float(expected[here].mean()),
            "acted": int((act & here).sum()),
            "acted_wrong": int((~right)[act & here].sum()),
            "hold": float(on[here].mean()),
            "outcome": outcomes[name].outcome if name in outcomes else "",
            "delay": outcomes[name].steps if name in outcomes else None,
            "said": moved_name(said.most_common(1)[0][0], params.sight) if said else "",
        }
    harmful = np.isin(kinds, list(found.harmful))
    parts = {"faults": harmful, "clean": kinds == 0, "day": np.ones(len(log), bool)}
    return {
        "steps": len(log),
        "act": share,
        "ask": float(each["ask"].mean()),
        "hold": float(on.mean()),
        "abstained": float(steps["abstain"].mean()),
        "budget": params.budget,
        "wrong": {
            "model alone": float(1 - model.mean()),
            **{
                name: left_wrong(rule.answers != log.labels, rule.doubt, share)
                for name, rule in rivals.items()
            },
            "tcuq": float(1 - right[act].mean()),
        },
        "events": events,
        "alarms": found.words,
        "in_time": found.found.hits,
        "faults": found.found.of,
        "false_alarms": found.false_alarms,
        "clean_steps": found.clean_steps,
        "expected_off": {name: _off(expected - right, here) for name, here in parts.items()},
        "confidence_off": {name: _off(sure - model, here) for name, here in parts.items()},
        "ram_bytes": cost(params).ram_bytes,
    }


def _off(gap: Any, here: Any) -> float:
    """Return how far an estimate is off over 200 steps, on average over some steps."""
    part = gap[here]
    return float(np.abs(np.add.reduceat(part, np.arange(0, len(part), SPAN))).sum() / max(1, len(part)))


def table(result: dict[str, Any], others: dict[str, Any]) -> str:
    """Return the result as a newcomer reads it, in at most 18 lines."""
    days = others["trainings"]
    lines = [
        f"A camera that sorts clothes: {result['steps']:,} pictures, 5 faults that no fit has seen",
        "                 acts on   wrong of those   (over eight trainings)",
    ]
    for name, wrong in result["wrong"].items():
        low, high = (f(day["wrong"][name] for day in days) for f in (min, max))
        note = {"model alone": "", "tcuq": f"asks on {result['ask']:.0%}, holds on {result['hold']:.0%}"}
        share = 1.0 if name == "model alone" else result["act"]
        span = f"({100 * low:.1f} to {100 * high:.1f})"
        lines.append(
            f"  {name:<15}{share:>6.0%}{wrong:>13.1%}   {span:<15}{note.get(name, 'limit chosen afterwards')}"
        )
    lines.append("  what happened      claimed    right expected   held, and what changed most")
    clean = result["events"]["clean"]
    shown = {name: row for name, row in result["events"].items() if name != "clean"} | {"clean": clean}
    for name, row in shown.items():
        shares = "".join(f"{row[key]:>{width}.0%}" for key, width in SHARES)
        lines.append(f"  {name:<16}{shares}   {held_words(result, row)}")
    (fault, calm), (bad, well) = (
        [100 * result[name][part] for part in ("faults", "clean")]
        for name in ("expected_off", "confidence_off")
    )
    off = f"off by {fault:.0f} points in faults, {calm:.0f} clean (mean confidence {bad:.0f} and {well:.0f})"
    lines.append(f"  Expected accuracy is {off}")
    return "\n".join(line.rstrip() for line in [*lines, f"  {worst_words(result)}"])


SHARES = (("model_claims", 11), ("answers_right", 9), ("tcuq_expects", 9))


def held_words(result: dict[str, Any], row: dict[str, Any]) -> str:
    """Say when the monitor held, and what it named as changed."""
    if not row["outcome"]:
        number = result["false_alarms"]
        return f"{number} false alarm{'s' * (number != 1)} in {result['clean_steps']:,}"
    if row["delay"] is None:
        return {"on from before": "from before"}.get(row["outcome"], "no")
    said = f": {row['said'].removesuffix(' the clean log')}" * bool(row["said"])
    return f"after {row['delay']}{' (no harm)' * ('harm' in row['outcome'])}{said}"


def worst_words(result: dict[str, Any]) -> str:
    """Say which fault cost the most wrong actions, and why."""
    faults = {name: row for name, row in result["events"].items() if row["outcome"]}
    name = max(faults, key=lambda each: int(faults[each]["acted_wrong"]))
    row = faults[name]
    why = "it never held" if row["delay"] is None else f"it held after {row['delay']} pictures"
    if row["delay"] is not None and row["hold"] < 0.9:
        why += f", but only for {row['hold']:.0%} of the fault"
    acted = f"acted on {row['acted']} of {row['steps']}, {row['acted_wrong']} of them wrong"
    return f"Worst: {name}, {acted}: {why}."
