# SPDX-License-Identifier: MIT
"""What the cases of the test vectors are made of: dice, parameters, streams of inferences."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from tcuq.monitor.made import ROWS
from tcuq.reference import SIGNAL_COUNT, Evidence, Instant, Params, Sight
from tcuq.reference.labels import RIGHT, WRONG

PAPER = 15
EVERY = 0x5F  # signals that need neither centers nor a second head
DEGRADATION = 0x20  # needs an evidence head
MIXED = 0x5A  # some of both profiles, of the same kind
ALL, STANDARD, STANDARD_POSTERIORS = 2**SIGNAL_COUNT - 1, 0x3F0, 0x130


def by_signal(*values: int) -> tuple[int, ...]:
    """Return a number a signal: these, then 500 for each signal that came later."""
    return values + (500,) * (SIGNAL_COUNT - len(values))


COEF = by_signal(3100, 2050, 750, 1950, 900, 400, 500, 1100, 1900)
NEGATIVE = by_signal(-1550, 1300, -450, 2000, 800, -200, -350, 450, -1300)
INSTANT = by_signal(900, -400, 300, 2500, 2800, 700, -900, 1600, 600)
HEAD = by_signal(0, 500, 0, 0, 1500, 8192, -800, 700, 1300, 1500)
CLEAN = by_signal(9000, 6000, 8000, 12000, 15000, 33000, 21000, 28000, 8000)
ENDS = tuple((65535, 0)[n % 2] for n in range(SIGNAL_COUNT))

NUMBERS = [row for row in ROWS if row.part == "params" and row.kind == "one"]
USUAL = {row.name: row.usual for row in NUMBERS if row.name in get_type_hints(Params)}

SILENT = (0,) * SIGNAL_COUNT
FLAT = {"slope": 0, "steep_slope": 1, "knee": 2**24}

# One inference: probs and features as int8 values, and gauges where its input was seen.
Row = tuple[list[int], list[int]] | tuple[list[int], list[int], list[int]]
Marks = dict[int, tuple[str, ...]]


class Dice:
    """Integers from the Mersenne twister.

    Only `getrandbits` is used, and no float: other methods of `random` may change between versions of Python.
    """

    def __init__(self, name: str) -> None:
        self._bits = random.Random(zlib.crc32(name.encode())).getrandbits

    def below(self, n: int) -> int:
        """Return an integer in 0..n-1."""
        return self._bits(32) * n >> 32

    def between(self, low: int, high: int) -> int:
        """Return an integer in low..high."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Return True in `percent` of a hundred calls."""
        return self.below(100) < percent

    def shuffled(self, n: int) -> list[int]:
        """Return a permutation of 0..n-1."""
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


@dataclass(frozen=True)
class Case:
    """One vector file: what it is there for, parameters, inferences.

    `marks` are row number -> what happens before that row: `save`, `load`, `reset`, `damage COUNTER VALUE`,
    `label AGO LABEL`, or `refuse OFFSET SIZE CHANGE`: a state that is changed there, by `gen.forged`.
    """

    name: str
    why: str
    params: Params
    rows: list[Row]
    marks: Marks


def case(
    name: str, why: str, mask: int, classes: int, features: int, rows: Any, marks: Any = "", **changes: Any
) -> Case:
    """Return a case that is drawn by dice of its own.

    `rows` are inferences, the number of those of `dwell`, or a function with what it takes beside dice and
    parameters. `marks` are text for `marked`, or a function that gives it with what it takes beside
    parameters and rows. `changes` are for `params_of`.
    """
    dice = Dice(name)
    params = params_of(dice, mask, classes, features, **changes)
    if not isinstance(rows, list):
        make, *given = rows if isinstance(rows, tuple) else (dwell, rows)
        rows = make(dice, params, *given)
    if isinstance(marks, tuple):
        tell, *given = marks
        marks = tell(params, rows, *given)
    return Case(name, why, params, rows, marked(marks))


def marked(text: str) -> Marks:
    """Return marks from text such as `3 reset; 5-9/2 both; 20 right, wrong 2, damage steps 0`.

    `both` is save and load, `right` and `wrong` label the last step or one so long ago, `5-9/2` is 5, 7, 9.
    """
    out: Marks = {}
    for part in filter(None, text.split("; ")):
        at, _, actions = part.partition(" ")
        span, _, stride = at.partition("/")
        first, _, last = span.partition("-")
        said = []
        for action in actions.split(", "):
            word, _, ago = action.partition(" ")
            label = {"right": f"label {ago or 0} {RIGHT}", "wrong": f"label {ago or 0} {WRONG}"}
            said += ["save", "load"] if word == "both" else [label.get(word, action)]
        for row in range(int(first), int(last or first) + 1, int(stride or 1)):
            out[row] = (*out.get(row, ()), *said)
    return out


def refusing(changes: Iterable[tuple[Any, ...]]) -> str:
    """Return actions that load states of which one number is changed: offset, size, change."""
    return ", ".join(f"refuse {offset} {size} {change}" for offset, size, change in changes)


def weights(count: int, kind: str = "falling") -> tuple[int, ...]:
    """Return lag weights that sum to 32768: `falling`, `equal` or with a zero in the `gap`."""
    shares = [1] * count if kind == "equal" else [2 ** min(12, count - 1 - i) for i in range(count)]
    if kind == "gap":
        shares = [0 if i % 2 else share for i, share in enumerate(shares)]
    out = [32768 * share // sum(shares) for share in shares]
    return (out[0] + 32768 - sum(out), *out[1:])


def params_of(
    dice: Dice,
    mask: int,
    classes: int,
    features: int,
    instant: Any = None,
    evidence: Any = None,
    sight: Sight | None = None,
    **changes: Any,
) -> Params:
    """Return parameters with defaults that give a lively run, any other field in `changes`.

    `instant` may be True, for a head that suits, `evidence` what to change of one that is drawn; with an
    instant head there is one where a signal needs it. Centers are drawn where none are given. What is a
    function is drawn before all that, from the dice.
    """
    changes = {field: value(dice) if callable(value) else value for field, value in changes.items()}
    lags = changes.pop("lags", (1, 2, 4) if mask & 7 else ())
    instant = Instant(-3 * 65536, INSTANT) if instant is True else instant
    if evidence is None and sight is None and instant is not None and mask & 0x220:
        evidence = {}
    if callable(evidence):
        evidence = evidence(dice)
    if isinstance(evidence, dict):
        evidence = replace(drawn_evidence(mask, classes, dice), **evidence)
    if evidence is not None or sight is not None:
        changes = {"fall_limit": 0, "fall_cap": 0, **changes}
    if mask >> 7 & 1 and "centers" not in changes:
        changes["centers"] = tuple(dice.between(-60, 60) for _ in range(classes * features))
    base: dict[str, Any] = USUAL | {
        "lag_weights": weights(len(lags)) if lags else (),
        "coef": COEF,
        "clean_mean": CLEAN,
        "fall_limit": 20000,
        "fall_cap": 50000,
    }
    shape: dict[str, Any] = {"signals": mask, "classes": classes, "features": features, "lags": lags}
    return Params(**base | shape | changes, instant=instant, evidence=evidence, sight=sight)


def drawn_evidence(mask: int, classes: int, dice: Dice) -> Evidence:
    """Return an evidence head with random offsets and a reach that suits what the mask compares."""
    offset = tuple(dice.between(-900, 100) for _ in range(classes))
    reach, bias = 2**15 if mask >> 7 & 1 else 2**26, -(8 + (mask >> 9 & 1)) * 65536
    return Evidence(4 * 65536, 0, HEAD, offset, reach=reach, bias=bias)


def clip8(value: int) -> int:
    """Return `value` as the nearest int8."""
    return min(127, max(-128, value))


def posterior(dice: Dice, classes: int, prediction: int, strength: int, mass: int = 256) -> list[int]:
    """Return u (0..255) with about `strength` percent of the mass of all others at `prediction`."""
    share = [1 << dice.below(10) for _ in range(classes)]
    share[prediction] = 0
    share[prediction] = max(1, sum(share) * strength // 100)
    total = sum(share)
    return [min(255, (2 * mass * s + total) // (2 * total)) for s in share]


def dwell(dice: Dice, params: Params, steps: int, mass: int = 256) -> list[Row]:
    """Return a stream that stays with one class for a while, with a corrupted part past its first half."""
    scale = dice.between(20, 100)
    prototypes: dict[int, list[int]] = {}
    rows: list[Row] = []
    prediction = left = 0
    for t in range(steps):
        corrupted = 45 * steps <= 100 * t < 70 * steps
        if left == 0:
            prediction, left = dice.below(params.classes), dice.between(3, 18)
        left -= 1
        if prediction not in prototypes:
            prototypes[prediction] = [dice.between(-scale, scale) for _ in range(params.features)]
        shown = dice.below(params.classes) if corrupted and dice.chance(40) else prediction
        strength = dice.between(30, 160) if corrupted else dice.between(350, 5000)
        noise = 60 if corrupted else 6
        u = posterior(dice, params.classes, shown, strength, mass)
        x = [clip8(params.zero_point + v + dice.between(-noise, noise)) for v in prototypes[prediction]]
        rows.append(([c - 128 for c in u], x))
    return rows


def from_u(dice: Dice, params: Params, posteriors: Iterable[list[int]]) -> list[Row]:
    """Return rows with the given posteriors (0..255) and features of one noisy class."""
    base = [dice.between(-50, 50) for _ in range(params.features)]
    rows = []
    for u in posteriors:
        x = [clip8(params.zero_point + v + dice.between(-9, 9)) for v in base]
        rows.append(([c - 128 for c in u], x))
    return rows


def one_hot(classes: int, at: int, high: int = 255, low: int = 0) -> list[int]:
    """Return a posterior of two values."""
    return [high if c == at else low for c in range(classes)]
