"""Draw a stretch of a stream of digits: risk, threshold, abstentions, shifts, alarm, expected accuracy.

    python tools/pictures/stream.py            runs the demo (10 seconds) and draws what came out
    python tools/pictures/stream.py --stored   draws the figures of the last run again

Figures are kept in docs/pictures/stream.json, so that the picture can be drawn again, and checked, anywhere:
training may differ in the last bits from machine to machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.drawing import Drawing, forms, write
from pictures.style import PICTURES, SMALL

FIRST, LAST, BIN = 1000, 6600, 10
"""Steps of the stream that are drawn, and how many go into one place of the plot."""

TRUE_OVER = 100
"""Steps to each side over which the true accuracy is a mean."""

NAMES = ("", "dusk", "blur", "dead pixels", "dirt", "block")
STORED = PICTURES / "stream.json"
STEPS = 12_000
TITLE = "A stream with three shifts, as the monitor saw it"
WORDS = ("risk", "threshold", "abstained", "wrong", "alarm", "shift", "expected accuracy", "step")

Figures = dict[str, Any]


def run_demo() -> Figures:
    """Run the demo and return what is drawn, one number a bin."""
    from digits import DEV_CORRUPTIONS, TEST_CORRUPTIONS, day, load, make_log, train

    from tcuq import Monitor, fit

    first, second, third = load(0)
    classifier = train(first, 0)
    log = make_log(classifier, third, TEST_CORRUPTIONS, STEPS, 2, day)
    steps = Monitor(fit(make_log(classifier, second, DEV_CORRUPTIONS, STEPS, 1), budget=0.10)).run(log)
    labels, shifted = log.labels, log.kinds
    assert labels is not None and shifted is not None
    wrong = np.asarray(steps["answer"] != labels)
    right = np.array([1 - wrong[max(0, t - TRUE_OVER) : t + TRUE_OVER].mean() for t in range(len(wrong))])

    def bins(values: Any) -> Any:
        return np.asarray(values, dtype=float)[FIRST:LAST].reshape(-1, BIN)

    def short(values: Any) -> list[float]:
        return [round(float(value), 3) for value in values]

    risk = bins(steps["risk"])
    kinds = shifted[FIRST:LAST]
    edges = [0, *(np.flatnonzero(np.diff(kinds.astype(int))) + 1).tolist(), len(kinds)]
    return {
        "command": "python tools/pictures/stream.py",
        "first": FIRST,
        "bin": BIN,
        "lowest": short(risk.min(axis=1)),
        "mean": short(risk.mean(axis=1)),
        "highest": short(risk.max(axis=1)),
        "threshold": short(bins(steps["threshold"]).mean(axis=1)),
        "expected": short(bins(steps["expected_accuracy"])[:, -1]),
        "true": short(bins(right).mean(axis=1)),
        "abstained": [int(n) for n in bins(steps["abstain"]).sum(axis=1)],
        "wrong": [int(n) for n in bins(wrong).sum(axis=1)],
        "alarm": [int(n) for n in bins(steps["alarm"] != 0).sum(axis=1)],
        "shifts": [[a, b, NAMES[kinds[a]]] for a, b in pairwise(edges) if kinds[a]],
    }


def runs(on: list[int]) -> list[tuple[int, int]]:
    """Return where a row of flags is on, as pairs of a first place and one past the last.

    Examples
    --------
    >>> runs([0, 1, 1, 0, 1])
    [(1, 3), (4, 5)]
    """
    edges = np.flatnonzero(np.diff([0, *(1 if flag else 0 for flag in on), 0]))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def alt(found: Figures) -> str:
    """Return the alternative text, with figures of the data."""
    parts = []
    for a, b, name in found["shifts"]:
        part = slice(a // BIN, b // BIN)
        on, wrong = (np.sum(found[key][part]) / (b - a) for key in ("alarm", "wrong"))
        parts.append(f"{name} ({wrong:.0%} of the answers wrong, alarm on {on:.0%} of the time)")
    return (
        f"{len(found['mean']) * BIN:,} steps of a stream of digits. Three stretches are corrupted: "
        + ", ".join(parts)
        + ". In each of them the risk rises, the threshold follows it within some tens of steps, and the "
        "share of abstentions stays within its budget. Expected accuracy falls with the true one, which the "
        "monitor does not see, and lags behind it."
    )


LEFT, RIGHT, TOP, FLOOR = 104, 744, 74, 264
LANES = (("abstained", "abstain"), ("wrong", "wrong"), ("alarm", "rise"), ("shift", "shift"))
LOW, GROUND = 372, 442


def draw(found: Figures) -> Drawing:
    """Return the drawing of stored figures."""
    d = Drawing(490, TITLE, alt(found))
    count = len(found["mean"])

    def across(place: float) -> float:
        return LEFT + (RIGHT - LEFT) * place / count

    def down(value: float, top: float = TOP, floor: float = FLOOR) -> float:
        return floor - (floor - top) * value

    def curve(values: list[float], top: float = TOP, floor: float = FLOOR) -> list[tuple[float, float]]:
        return [(across(at + 0.5), down(value, top, floor)) for at, value in enumerate(values)]

    key = LEFT
    for name, role in (("risk", "risk"), ("threshold", "threshold")):
        d.line([(key, 21), (key + 20, 21)], role, wide=2)
        d.text(key + 27, 26, name, size=SMALL)
        key += 80
    key += 38
    d.rect(key, 15, 20, 12, "risk half")
    d.text(key + 27, 26, "lowest to highest risk", size=SMALL)
    key += 198
    d.rect(key, 15, 20, 12, "rise half")
    d.text(key + 27, 26, "alarm", size=SMALL)
    for a, b, name in found["shifts"]:
        x0, x1 = across(a / BIN), across(b / BIN)
        d.rect(x0, TOP, x1 - x0, FLOOR - TOP, "shift tint")
        d.text((x0 + x1) / 2, TOP - 8, name, size=SMALL, role="plain", anchor="middle")
    for a, b in runs(found["alarm"]):
        d.rect(across(a), TOP, across(b) - across(a), FLOOR - TOP, "rise tint")
    for value in (0, 0.5, 1):
        d.line([(LEFT, down(value)), (RIGHT, down(value))], "line", wide=1)
        d.text(LEFT - 8, down(value) + 4.5, f"{value:g}", size=SMALL, role="muted", anchor="end")
    d.text(24, (TOP + FLOOR) / 2 + 5, "risk", size=SMALL, role="ink")
    band = curve(found["highest"]) + curve(found["lowest"])[::-1]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in band)
    d.raw(f'<polygon class="risk half" points="{outline}"/>')
    d.line(curve(found["mean"]), "risk", wide=1.4)
    d.line(curve(found["threshold"]), "threshold", wide=1.8)

    at = FLOOR + 8.0
    for name, role in LANES:
        d.text(LEFT - 8, at + 12, name, size=SMALL, role="ink", anchor="end")
        d.rect(LEFT, at, RIGHT - LEFT, 14, "page")
        if name == "shift":
            spans = [(a / BIN, b / BIN) for a, b, _ in found["shifts"]]
        else:
            spans = [(float(a), float(b)) for a, b in runs(found[name])]
        marks = "".join(f"M{across(a):.1f} {at:.0f}H{across(b):.1f}v14H{across(a):.1f}Z" for a, b in spans)
        d.raw(f'<path class="{role}" d="{marks}"/>')
        at += 19

    for value in (0, 0.5, 1):
        y = down(value, LOW, GROUND)
        d.line([(LEFT, y), (RIGHT, y)], "line", wide=1)
        d.text(LEFT - 8, y + 4.5, f"{value:.0%}", size=SMALL, role="muted", anchor="end")
    d.text(LEFT, LOW - 10, "expected accuracy, without labels", size=SMALL, role="risk")
    d.text(360, LOW - 10, "true accuracy, which the monitor does not see", size=SMALL, role="wrong")
    d.line(curve(found["true"], LOW, GROUND), "wrong", wide=1.4, dashed=True)
    d.line(curve(found["expected"], LOW, GROUND), "risk", wide=1.8)
    first, last = found["first"], found["first"] + count * BIN
    for step in range((first + 499) // 500 * 500, last, 500):
        x = across((step - first) / BIN)
        d.line([(x, GROUND), (x, GROUND + 5)], "muted", wide=1)
        d.text(x, GROUND + 20, f"{step:,}", size=SMALL, role="muted", anchor="middle")
    d.text((LEFT + RIGHT) / 2, GROUND + 39, "step", size=SMALL, role="muted", anchor="middle")
    return d


def stored() -> Figures:
    """Return the figures of the last run."""
    found: Figures = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def files() -> dict[str, str]:
    """Return the files of the picture, from stored figures."""
    return forms("stream", draw(stored()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stored", action="store_true", help="draw the figures of docs/pictures/stream.json")
    if not parser.parse_args().stored:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in run_demo().items())
        STORED.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    write(files())
