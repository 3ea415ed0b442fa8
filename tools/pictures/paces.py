"""Draw three paces of a stream: shuffled, classes that stay, an object that is held.

    python tools/pictures/paces.py

Drawn by the rule of each stream from a fixed seed; nothing in it is measured.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.drawing import Drawing, forms, write
from pictures.style import BODY, SMALL

TITLE = "Three paces of a stream"
ALT = (
    "Three rows of steps; a color is a class, a letter an example. Shuffled, class 1: color and letter "
    "change at every step. Class 16: a color stays for 16 steps on average, with another letter at each "
    "step. Object 16: color and letter stay, because the same object is seen again."
)
WORDS = ("class 1", "class 16", "object 16", "shuffled", "held object", "persistence", "novelty")
COLORS = ("risk", "abstain", "fall", "wrong", "shift", "rise")
LETTERS = "abcdeghknopqsuvxyz"
CELLS, CELL, LEFT = 40, 18, 20

Step = tuple[int, str]


def steps(dwell: int, held: bool, seed: int) -> list[Step]:
    """Return class and example of each step."""
    draw = random.Random(seed).random  # the one method whose numbers Python promises to keep
    shown: list[Step] = []
    for _ in range(CELLS):
        new = not shown or draw() < 1 / dwell
        others = [kind for kind in range(len(COLORS)) if dwell == 1 or not shown or kind != shown[-1][0]]
        kind = others[int(draw() * len(others))] if new else shown[-1][0]
        recent = {letter for _, letter in shown[-8:]}
        unused = [letter for letter in LETTERS if letter not in recent]
        fresh = unused[int(draw() * len(unused))]
        shown.append((kind, shown[-1][1] if held and not new else fresh))
    return shown


ROWS = (
    (1, False, 4, "Shuffled, class 1", "neighbors have nothing to do with each other",
     "persistence near 0: the past does not count"),
    (16, False, 20, "Class 16", "a class stays 16 steps on average, each time another example",
     "persistence high, novelty near 1: the past corrects single mistakes"),
    (16, True, 16, "Held object, object 16", "one picture stays, a little shaken",
     "persistence high, novelty near 1/8: steps repeat each other, and count as few"),
)  # fmt: skip


def draw() -> Drawing:
    """Return the drawing."""
    d = Drawing(336, TITLE, ALT)
    at = 30.0
    for dwell, held, seed, name, what, reads in ROWS:
        d.text(LEFT, at, name, role="ink bold", size=BODY)
        d.text(222, at, what, size=SMALL, role="muted")
        for place, (kind, letter) in enumerate(steps(dwell, held, seed)):
            x = LEFT + place * CELL
            d.rect(x, at + 10, CELL - 1.5, 28, f"{COLORS[kind]} half", 3)
            d.text(x + (CELL - 1.5) / 2, at + 29, letter, size=SMALL, anchor="middle")
        d.text(LEFT, at + 58, reads, size=SMALL, role="ink")
        at += 98
    d.text(LEFT, 324, "A color is a class, a letter an example.", size=SMALL, role="muted")
    return d


def files() -> dict[str, str]:
    """Return the files of the picture."""
    return forms("paces", draw())


if __name__ == "__main__":
    write(files())
