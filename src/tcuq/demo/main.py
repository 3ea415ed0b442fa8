"""Runs the demo and puts its result into words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..audit.derive import audit
from ..base.checks import integer
from ..fitting import fit, fit_findings
from ..io import Decisions, write_decisions, write_log
from ..metrics.ranking import auroc
from ..metrics.streams import detection
from ..monitor.cost import cost
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..report import write_report
from .digits import DEV_CORRUPTIONS, TEST_CORRUPTIONS, load, make_log, train

STEPS = 12_000
"""Of the development stream, and of the test stream."""

BUDGET = 0.15
RUN_LENGTH = 2000
FILES = ("report.html", "params.json", "decisions.csv", "dev.npz", "test.npz")


def main(
    out: str | Path, seed: int = 0, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Train, stream, fit, watch, audit and report.

    The monitor sees posteriors only: on this toy network the hidden layer reacts to each kind of
    corruption in its own way, and what it tells of one kind misleads on another.

    Parameters
    ----------
    out : path
        Folder for the files; made if missing.
    seed : int
    progress : callable, optional
        Called with (done, total, text).

    Returns
    -------
    dict
        The figures of the table, and under ``"text"`` the table itself.
    """
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
    tell(0)
    train_part, dev_part, test_part = load(seed)  # needs scikit-learn; without it nothing is left behind
    folder.mkdir(parents=True, exist_ok=True)
    classifier = train(train_part, seed)
    tell(1)
    dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, STEPS, seed + 1)
    tell(2)
    test = make_log(classifier, test_part, TEST_CORRUPTIONS, STEPS, seed + 2)
    tell(3)
    options: dict[str, Any] = {
        "level": "budget",
        "budget": BUDGET,
        "run_length": RUN_LENGTH,
        "seed": seed,
        "use_features": False,
    }
    params = fit(dev, profile="extended", **options)
    plain = fit(dev, blend=0.0, **options)
    tell(4)
    steps, signals = watch(Monitor(params), test, signals=True)
    verdict = audit(Decisions(steps), params, log=test)
    tell(5)
    params.save(folder / "params.json")
    write_log(folder / "dev.npz", dev)
    write_log(folder / "test.npz", test)
    write_decisions(folder / "decisions.csv", Decisions(steps, fingerprint=params.fingerprint))
    write_report(
        folder / "report.html",
        steps,
        params=params,
        log=test,
        signals=signals,
        title="Digits under a bad lens",
    )
    tell(6)
    result = figures(params, test, steps)
    plain_steps = watch(Monitor(plain), test)
    result["accuracy_accepted_plain"] = float((~test.errors())[~plain_steps["abstain"]].mean())
    result["auroc_plain"] = auroc(plain_steps["risk"], test.errors())
    result["audit"] = verdict.ok
    result["findings"] = fit_findings(params)
    result["files"] = [str(folder / name) for name in FILES]
    result["text"] = f"{table(result)}\n\nNow open {folder / 'report.html'}"
    return result


def figures(params: Params, log: Log, steps: Any) -> dict[str, Any]:
    """Return what the table shows, measured on the test stream."""
    right, abstain, shifted = ~log.errors(), steps["abstain"], log.shifted
    assert shifted is not None
    on = np.asarray(steps["alarm"] != 0)
    found = detection(on, shifted)
    return {
        "steps": len(log),
        "accuracy_clean": float(right[~shifted].mean()),
        "accuracy_corrupted": float(right[shifted].mean()),
        "abstained": float(abstain.mean()),
        "budget": params.budget,
        "flagged": float(steps["flagged"].mean()),
        "level": params.level,
        "flag_bound": params.flag_bound(len(log)),
        "accuracy_accepted": float(right[~abstain].mean()),
        "accuracy_abstained": float(right[abstain].mean()),
        "accepted_quiet": float((~abstain & ~on).mean()),
        "accuracy_accepted_quiet": float(right[~abstain & ~on].mean()),
        "auroc": auroc(steps["risk"], ~right),
        "shifts": len(found.delays),
        "shifts_alarmed": len(found.delays) - found.missed,
        "delay_median": found.median,
        "false_alarms": found.false_onsets,
        "alarm_on_clean": float(on[~shifted].mean()),
        "clean_steps": int((~shifted).sum()),
        "ram_bytes": cost(params).ram_bytes,
    }


def table(r: dict[str, Any]) -> str:
    """Return the result as a newcomer reads it."""
    alarmed = (
        f"{r['shifts_alarmed']} of {r['shifts']} corrupted stretches, after {r['delay_median']:.0f} steps"
    )
    rows = [
        ("A digit classifier saw a stream of", f"{r['steps']:,} images"),
        ("  right on clean images", f"{r['accuracy_clean']:.1%}"),
        ("  right on corrupted images (types not seen in the fit)", f"{r['accuracy_corrupted']:.1%}"),
        ("The monitor, without labels,", ""),
        (
            "  said 'not sure' (ABSTAIN) on",
            f"{r['abstained']:.1%}   (budget {r['budget']:.0%}, a hard limit)",
        ),
        ("    classifier right on those images", f"{r['accuracy_abstained']:.1%}"),
        (
            "    classifier right on the other images",
            f"{r['accuracy_accepted']:.1%}   ({r['accuracy_accepted_plain']:.1%} with confidence alone)",
        ),
        ("  flagged", f"{r['flagged']:.1%}   (target {r['level']:.0%}, proved within {r['flag_bound']:.2%})"),
        (
            "  ranked errors above right answers (AUROC)",
            f"{r['auroc']:.3f}   ({r['auroc_plain']:.3f} with confidence alone)",
        ),
        ("  raised the alarm (ALARM) in", f"{alarmed} (median)"),
        ("  raised it on clean images", f"{r['false_alarms']} times in {r['clean_steps']:,} steps"),
        ("  kept it on, because it clears late, on", f"{r['alarm_on_clean']:.1%} of the clean images"),
        (
            "    classifier right on images accepted while it is off",
            f"{r['accuracy_accepted_quiet']:.1%}   ({r['accepted_quiet']:.0%} of all images)",
        ),
        ("On a microcontroller the monitor needs", f"{r['ram_bytes']} bytes of RAM"),
        ("Audit: every decision derived again from the log", "passed" if r["audit"] else "FAILED"),
    ]
    width = max(len(left) for left, _ in rows) + 2
    return "\n".join(f"{left:<{width}}{right}".rstrip() for left, right in rows)
