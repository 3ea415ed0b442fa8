"""Fit a monitor on a log, then watch a live stream and act on what it says.

    python watch_stream.py                 # posteriors and features
    python watch_stream.py --no-features   # posteriors alone

Needs tcuq and numpy, takes a few seconds. Replace `classifier` with your own model. You need the posterior of
each inference, and features (a few dozen values of the layer before the last) if you have them.

The loop shows what to do with each answer. An alarm means that the stream as a whole has become worse: do not
act, not even on accepted steps. Abstain means that this one answer is not safe. The folder then holds the log
(dev.npz, dev.csv), the monitor (params.json), the live posteriors (live.txt) and decisions.csv.
The classifier is made up: its figures show how to use the monitor, not how well it works.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tcuq
from tcuq.io import Decisions, read_log, write_decisions

CLASSES, FEATURES = 4, 8
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """What a classifier said, and the truth that only a development log has."""

    probs: Floats
    features: Floats
    labels: npt.NDArray[np.int64]
    shifted: npt.NDArray[np.int64]


def classifier(steps: int, seed: int) -> Stream:
    """Stand in for your model: classes stay for about 12 steps, every other 300 steps are degraded."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, steps), rng.geometric(1 / 12, steps))[:steps]
    shifted = np.arange(steps) // 300 % 2
    strength = np.where(shifted == 1, 1.0, 3.5)[:, None]
    logits = strength * np.eye(CLASSES)[labels] + rng.normal(0, 1, (steps, CLASSES))
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    centers = np.random.default_rng(1).normal(0, 1, (CLASSES, FEATURES))
    features = centers[labels] * strength + rng.normal(0, 0.5, (steps, FEATURES))
    return Stream(exps / exps.sum(axis=1, keepdims=True), features, labels, shifted)


def fit(out: Path, with_features: bool) -> tcuq.Params:
    """Write a development log as numpy does, read it as you would read yours, and fit a monitor to it."""
    dev = classifier(6000, seed=0)
    columns = {"probs": dev.probs, "features": dev.features, "labels": dev.labels, "shifted": dev.shifted}
    if not with_features:
        del columns["features"]
    np.savez(out / "dev.npz", **columns)
    # The same as CSV: a row a step, columns by name.
    names = [f"p{i}" for i in range(CLASSES)] + [f"f{i}" for i in range(FEATURES) if with_features]
    table = np.column_stack(list(columns.values()))
    header = ",".join([*names, "label", "shifted"])
    forms = ["%.6f"] * len(names) + ["%d"] * 2
    np.savetxt(out / "dev.csv", table, fmt=forms, delimiter=",", header=header, comments="")
    params = tcuq.fit(
        read_log(out / "dev.npz"),
        about="prediction",  # risk is that of the network's own answer
        budget=0.1,  # at most one answer in ten may be withheld
        run_length=2000,  # clean steps between two false alarms
    )
    params.save(out / "params.json")
    return params


def decide(step: tcuq.Step) -> str:
    """Return what to do with one inference. The order matters: the alarm comes first."""
    if step.alarm:
        return "hold"  # the stream is worse: fall back, whatever this step looks like
    if step.abstain or step.warming_up:
        return "ask"  # this answer is not safe: ask again, ask a person, or wait
    return "act"


def watch(params: tcuq.Params, live: Stream) -> tuple[list[tcuq.Step], list[str]]:
    """Take one inference at a time, say when the alarm changes, and return steps and actions."""
    monitor = tcuq.Monitor(params)
    steps, actions, alarm = [], [], 0
    for t, probs in enumerate(live.probs):
        step = monitor.step(probs, live.features[t] if params.features else None)
        if step.alarm and not alarm:
            print(f"step {t}: ALARM, the stream has become worse (reason: {step.reason or 'none'})")
        elif alarm and not step.alarm:
            print(f"step {t}: the alarm has cleared")
        alarm = step.alarm
        steps.append(step)
        actions.append(decide(step))
    return steps, actions


def main() -> None:
    """Fit, watch, and say how often each action was right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-features", action="store_true", help="posteriors alone")
    parser.add_argument("--out", default=".", metavar="FOLDER", help="where files go (default: here)")
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    params = fit(out, not args.no_features)
    live = classifier(3000, seed=2)
    np.savetxt(out / "live.txt", live.probs, fmt="%.6f")
    steps, actions = watch(params, live)

    right = live.probs.argmax(axis=1) == live.labels  # known here because the stream is made up
    for action, count in sorted(Counter(actions).items()):
        chosen = np.array([each == action for each in actions])
        print(f"{action:<5} {count:>5} steps, classifier right on {right[chosen].mean():.1%}")
    print(f"all   {len(steps):>5} steps, classifier right on {right.mean():.1%}")
    reasons = Counter(step.reason for step in steps if step.abstain)
    print("reasons to abstain:", ", ".join(f"{name} {count}" for name, count in reasons.most_common(3)))

    # The same steps at C speed; `tcuq audit decisions.csv params.json` derives every decision again.
    features = live.features if params.features else None
    write_decisions(out / "decisions.csv", Decisions(tcuq.Monitor(params).run(live.probs, features)))


if __name__ == "__main__":
    main()
