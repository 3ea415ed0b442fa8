"""Draw where memory helps: errors left with the network's confidence and with the monitor, stream by stream.

    python tools/pictures/memory.py

Figures come from lab/results/answers.json (`tcuq-lab reproduce answers`).
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.drawing import Drawing, forms, write
from pictures.style import BODY, ROOT, SMALL
from tcuq_lab.experiments.result_files import load_stream_result

RESULTS = ROOT / "lab" / "results" / "answers.json"
TITLE = "Errors left among the 90 % of steps that are trusted most"
TASKS = (("mnist", "MNIST"), ("speech_commands", "Speech Commands"), ("cifar10", "CIFAR-10"))
STREAMS = (
    (("class 1",), "shuffled"),
    (("class 4",), "class 4"),
    (("class 16",), "class 16"),
    (("class 64",), "class 64"),
    (("object 16", "continuous sound"), "object 16 *"),
)
ROWS = (("base", "", "confidence", "muted"), ("tcuq answer", "untold", "monitor", "risk"))
COLUMN = "errors at 90 %"
WORDS = (
    "confidence",
    "monitor",
    "shuffled",
    "class 16",
    "object 16",
    "continuous sound",
    "mnist",
    "cifar-10",
)


@cache
def figures() -> dict[tuple[str, str, str], float]:
    """Return the errors left by task, label of the stream, and row."""
    found = {}
    wanted = {name: text for names, text in STREAMS for name in names}
    rows = {row: fit for row, fit, _, _ in ROWS}
    for line in load_stream_result(RESULTS)[1].lines:
        here = line.task in dict(TASKS) and line.stream in wanted and line.column == COLUMN
        if here and line.fit == rows.get(line.row):
            found[line.task, wanted[line.stream], line.row] = line.value
    expected = len(TASKS) * len(STREAMS) * len(ROWS)
    if len(found) != expected:
        raise ValueError(f"{RESULTS} has {len(found)} of the figures, expected {expected}")
    return found


def alt() -> str:
    """Return the alternative text: all figures."""
    parts = []
    for task, name in TASKS:
        values = [
            f"{text.rstrip(' *')} {figures()[task, text, 'base']:.1%} and "
            f"{figures()[task, text, 'tcuq answer']:.1%}"
            for _, text in STREAMS
        ]
        parts.append(f"{name}: {', '.join(values)}")
    return f"{TITLE}, with confidence and with the monitor. {'; '.join(parts)}."


def draw() -> Drawing:
    """Return the drawing."""
    d = Drawing(356, TITLE, alt())
    left, wide, apart, scale = 118, 148, 214, 0.25
    key = 118
    for _, _, name, role in ROWS:
        d.rect(key, 15, 14, 14, role, 3)
        d.text(key + 21, 27, name, size=SMALL)
        key += 120
    d.text(736, 27, "errors left at 90 % coverage", size=SMALL, role="muted", anchor="end")
    for column, (task, name) in enumerate(TASKS):
        x = left + column * apart
        d.text(x, 60, name, size=BODY, role="ink bold")
        for row, (_, text) in enumerate(STREAMS):
            y = 74 + row * 50
            if column == 0:
                d.text(left - 12, y + 24, text, size=SMALL, anchor="end")
            for bar, (method, _, _, role) in enumerate(ROWS):
                value = figures()[task, text, method]
                long = wide * value / scale
                d.rect(x, y + bar * 19, long, 16, role, 3)
                d.text(x + long + 6, y + bar * 19 + 13, f"{value:.1%}".replace("%", " %"), size=SMALL)
        d.line([(x, 70), (x, 318)], "line", wide=1)
    note = "* Speech Commands: continuous sound. Five networks a task; half of the steps corrupted."
    d.text(20, 342, note, size=SMALL, role="muted")
    return d


def files() -> dict[str, str]:
    """Return the files of the picture."""
    return forms("memory", draw())


if __name__ == "__main__":
    write(files())
