# SPDX-License-Identifier: MIT
"""Draw docs/pictures/stream*.svg: a stretch of a stream of digits with three shifts, as the monitor saw it.

python tools/stream_picture.py            trains and runs the monitor (10 seconds), and draws what came out
python tools/stream_picture.py --stored   draws the figures of the last run again (docs/pictures/stream.json)
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
FIRST, LAST, BIN, STEPS, AROUND = 1000, 6600, 10, 12_000, 100
"""Steps that are drawn, how many go into one place, of all; steps to each side of a true accuracy."""
NAMES = ("", "dusk", "blur", "dead pixels", "dirt", "block")
COLORS = {  # page, ink, risk, threshold, abstained, wrong, alarm, shift
    "light": ("#ffffff", "#18202b", "#0068a8", "#18202b", "#cc4c02", "#7a2a8c", "#b03a7c", "#d9a400"),
    "dark": ("#181e26", "#e8ecf2", "#5bb6ee", "#f2f4f8", "#ff8f50", "#d79be6", "#ee8fc2", "#e6bb3c"),
}


def figures() -> dict[str, Any]:
    """Train, fit and run; return what is drawn, one number a place."""
    from digits import DEV_CORRUPTIONS, TEST_CORRUPTIONS, day, load, make_log, train

    from tcuq import Monitor, fit

    first, second, third = load(0)
    classifier = train(first, 0)
    log = make_log(classifier, third, TEST_CORRUPTIONS, STEPS, 2, day)
    steps = Monitor(fit(make_log(classifier, second, DEV_CORRUPTIONS, STEPS, 1), budget=0.10)).run(log)
    assert log.labels is not None and log.kinds is not None
    wrong = np.asarray(steps["answer"] != log.labels)
    right = [1 - wrong[max(0, t - AROUND) : t + AROUND].mean() for t in range(STEPS)]

    def places(values: Any, how: str = "mean") -> list[float]:
        rows = np.asarray(values, dtype=float)[FIRST:LAST].reshape(-1, BIN)
        return [round(float(value), 3) for value in getattr(rows, how)(axis=1)]

    kinds = log.kinds[FIRST:LAST].astype(int)
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    risk = {
        name: places(steps["risk"], how)
        for name, how in (("lowest", "min"), ("mean", "mean"), ("highest", "max"))
    }
    lanes = {"abstained": steps["abstain"], "wrong": wrong, "alarm": steps["alarm"] != 0}
    return {
        **{"command": "python tools/stream_picture.py", "first": FIRST, "bin": BIN, **risk},
        **{"threshold": places(steps["threshold"]), "expected": places(steps["expected_accuracy"])},
        **{"true": places(right), **{name: places(on, "sum") for name, on in lanes.items()}},
        "shifts": [[a, b, NAMES[kinds[a]]] for a, b in pairwise(edges) if kinds[a]],
    }


def draw(found: dict[str, Any], mode: str, path: Path) -> None:
    """Write one drawing."""
    page, ink, risk, threshold, abstained, wrong, alarm, shift = COLORS[mode]
    style = {"svg.fonttype": "none", "svg.hashsalt": "tcuq", "font.size": 10, "font.family": "sans-serif"}
    style |= dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink
    )
    with pyplot.rc_context({**style, "figure.facecolor": page, "axes.facecolor": page}):
        figure, (top, low) = pyplot.subplots(
            2, 1, figsize=(8.5, 5.2), sharex=True, height_ratios=(3, 1), layout="constrained"
        )
        steps = found["first"] + found["bin"] * (np.arange(len(found["mean"])) + 0.5)
        top.fill_between(steps, found["lowest"], found["highest"], color=risk, alpha=0.3, lw=0)
        top.plot(steps, found["mean"], color=risk, lw=1.2, label="risk, and its range")
        top.plot(steps, found["threshold"], color=threshold, lw=1.5, label="threshold")
        for a, b, name in found["shifts"]:
            top.axvspan(found["first"] + a, found["first"] + b, color=shift, alpha=0.15, lw=0)
            top.text(found["first"] + (a + b) / 2, 1.03, name, ha="center")
        lanes = (("abstained", abstained), ("wrong", wrong), ("alarm", alarm))
        for at, (name, color) in enumerate(lanes):
            on = steps[np.asarray(found[name]) > 0]
            ends = np.tile([-0.09 - 0.1 * at, -0.15 - 0.1 * at, np.nan], len(on))
            top.plot(np.repeat(on, 3), ends, color=color, lw=1.2)
        top.set_yticks(
            [0, 0.5, 1, *(-0.12 - 0.1 * at for at in range(3))], ["0", "0.5", "1", *(n for n, _ in lanes)]
        )
        top.legend(loc="upper left", bbox_to_anchor=(0, 1.2), ncols=2, frameon=False)
        low.plot(
            steps,
            found["true"],
            "--",
            color=wrong,
            lw=1.2,
            label="true accuracy, which the monitor does not see",
        )
        low.plot(steps, found["expected"], color=risk, lw=1.5, label="expected accuracy, without labels")
        low.set(ylim=(0, 1.04), xlabel="step", yticks=[0, 0.5, 1])
        low.legend(loc="lower center", bbox_to_anchor=(0.63, 0), frameon=False)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


if __name__ == "__main__":
    stored = FOLDER / "stream.json"
    if "--stored" not in sys.argv[1:]:
        stored.write_text(json.dumps(figures(), indent=0) + "\n", encoding="utf-8")
    for end, mode in (("", "light"), ("-light", "light"), ("-dark", "dark")):
        draw(json.loads(stored.read_text(encoding="utf-8")), mode, FOLDER / f"stream{end}.svg")
