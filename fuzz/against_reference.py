# SPDX-License-Identifier: MIT
"""Random programs through the C core and through `tcuq.reference`: every field of every step, bit for bit.

The reference is written from SPEC.md and shares no code with the core. Programs have steps, labels, resets,
saves, loads and forged states; parameters come from the whole accepted range::

    python fuzz/against_reference.py [--programs 1000] [--steps 40] [--seed S] [--first N]

Exit status: 0 when both agree, 1 when they differ.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import zlib
from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np

from tcuq import STEP_DTYPE, _core
from tcuq.monitor.made import ROWS
from tcuq.reference import SIGNAL_COUNT, Monitor, Params, Step
from tcuq.reference.decide import bounds

MASKS = (0x3F0, 15, 0x130, 13, 0x18, 0x7A, 2**SIGNAL_COUNT - 1, 8, 0x10, 0x40, 0x2B0)
"""Signals that fits use, and some that nobody asks for."""

HEADER = (*((at, 4) for at in range(20, 60, 4)), *((at, 1) for at in range(60, 64)))
"""Offset and size of the numbers in a state, from the steps on."""

FRACTIONS = (
    *("threshold", "degradation", "risk", "uncertainty"),
    *("persistence", "novelty", "expected_accuracy"),
)


class Dice(random.Random):
    """Numbers that often lie at an end of their range, and are small as often as large."""

    def edge(self, low: int, high: int) -> int:
        """Return a number in low..high."""
        near, small = self.randrange(min(4, high - low + 1)), self.getrandbits(32) >> self.randrange(32)
        drawn = self.randint(low, high)
        ends = (low, high, low + near, high - near, (low + high) // 2, min(high, low + small))
        return self.choice((*ends, drawn, drawn))

    def once_in(self, n: int) -> bool:
        """Return True in one of so many calls."""
        return self.randrange(n) == 0


def drawn(dice: Dice) -> dict[str, Any]:
    """Return parameters that section 2 allows, as `tcuq.Params.integers` gives them.

    Each number is drawn from its range in the schema, then the rules between fields are kept.
    """

    def part(name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for row in ROWS:
            count = lengths.get(row.kind)
            if row.part == name and count is not None:
                values = [dice.edge(row.low, row.high) for _ in range(count)]
                found[row.name] = values[0] if row.kind == "one" else values
        return found

    lengths = {"one": 1, "signal": SIGNAL_COUNT}

    signals = dice.choice((*MASKS, dice.randrange(1, 2**SIGNAL_COUNT), dice.randrange(1, 2**SIGNAL_COUNT)))
    signals &= ~0x200 if not signals & 0x80 else -1
    signals = signals & ~0x220 or 8 if not signals & 0x90 else signals  # nothing to compare inputs by
    classes = dice.edge(2, 1000 if dice.once_in(500) else 40 if dice.once_in(12) else 6)
    gauges = None if dice.once_in(2) else dice.edge(0, 16)
    if gauges is not None:
        signals = (signals | 0x10) & ~0x200
        inputs = gauges or 8 * (signals >> 7 & 1)
        count = inputs + 1 + (inputs > 0) + (signals >> 7 & 1)
        lengths |= {"number": count, "triangle": count * (count + 1) // 2}
    lengths["class"] = classes
    p = part("params") | {"signals": signals, "classes": classes}
    p |= {"instant": None, "evidence": None, "sight": None}
    p["features"] = dice.edge(1, 256 if dice.once_in(300) else 8)
    if not signals & 0x2C2 and dice.once_in(2):
        p["features"] = 0
    count = dice.edge(1 if signals & 7 else 0, 64 if dice.once_in(12) else 4)
    p["lags"] = sorted(dice.sample(range(1, 65), count))
    cuts = sorted(dice.edge(1, 32768) for _ in range(count - 1))
    p["lag_weights"] = [b - a for a, b in zip([0, *cuts], [*cuts, 32768], strict=True)] if count else []
    p["level_num"] = dice.edge(1, p["level_den"] - 1)
    p["steep_slope"] = dice.edge(1, 2**24 // p["level_den"])
    p["slope"] = dice.edge(0, p["steep_slope"])
    p["knee"] = dice.edge(0, 2**24 // max(1, p["slope"]))
    p["budget_num"] = dice.edge(0, p["budget_den"])
    p["warmup"] = dice.edge(0, 2**32 - 1) if dice.once_in(8) else dice.randrange(30)
    p["horizon"] = dice.choice((0, dice.edge(4, 12)))
    p["expected_start"] *= p["horizon"] > 0
    p["anchor"] = p["about"] = 0
    if signals & 0x100 or dice.once_in(3):
        p |= {"instant": part("instant"), "anchor": dice.randrange(2), "about": dice.randrange(2)}
    if gauges is not None:
        p["sight"] = sight(dice, part("sight") | {"gauges": gauges}, classes)
    elif signals & 0x220 or (signals & 0x90 and dice.once_in(3)):
        p["evidence"] = evidence(dice, part("evidence"))
    for side in ("rise", "fall"):
        limit = dice.edge(1, 2**30 if dice.once_in(5) else 2**18)
        off = dice.once_in(4) or (side == "fall" and p["evidence"] is not None)
        if p["sight"] is not None:
            limit, off = dice.edge(max(16384, p["sight"]["changed"]), 2**22), side == "fall"
        p |= {f"{side}_limit": 0 if off else limit}
        most = 2**30 if p["sight"] is None else 2**22
        p |= {f"{side}_cap": 0 if off else dice.edge(limit, min(most, 2 * limit))}
    p["rise_clear"] = dice.choice((0, dice.edge(0, max(0, p["rise_limit"] - 1))))
    p["centers"] = dice.randbytes(classes * p["features"]) if signals & 0x80 else None
    p["feedback"] = None
    if not dice.once_in(3) and p["rise_cap"] <= 2**28:
        head = part("feedback")
        head["memory"] = dice.edge(1, 1024) if dice.once_in(5) else dice.randint(1, 32)
        p["feedback"] = head | {"error_num": dice.edge(0, head["error_den"] - 1)}
    return p


def evidence(dice: Dice, head: dict[str, Any]) -> dict[str, Any]:
    """Return an evidence head that keeps the rules of a bet, or of a baseline."""
    if dice.once_in(2):
        head["reach"] = 256 << dice.randrange(22)
    most = head["bet_slope"] * (head["clip"] >> 8) >> 8
    if dice.once_in(2) or not head["bet_slope"] or 2 * most + 257 >= 2**20:
        head |= {"bet_base": 0, "bet_slope": 0}
        if dice.once_in(2):
            return head | {
                "baseline_inputs": dice.choice((1, dice.randint(1, 32), head["baseline_inputs"] or 1))
            }
    else:
        head["bet_base"] = dice.edge(most + 257, 2**20 - 1 - most)
    return head | {"baseline_inputs": 0, "baseline_mean": 0, "baseline_most": 0}


def sight(dice: Dice, head: dict[str, Any], classes: int) -> dict[str, Any]:
    """Return a head of distances, of any numbers or of such that alarms come and go."""
    count = len(head["mean"])
    head["class_mean"] = dice.randbytes(classes * count)
    if dice.once_in(2):
        head["reach"] = 256 << dice.randrange(22)
    head["baseline_inputs"] = dice.choice((0, 1, dice.randint(1, 16), head["baseline_inputs"]))
    head["changed"] = dice.choice((0, 40000, head["changed"]))
    if dice.randrange(3):
        diagonal = dice.choice((100, 1000, 10000))
        head |= {"matrix_shift": dice.choice((8, 10, 12)), "odds_weight": dice.randrange(512)}
        head["mean"] = [dice.randrange(-5000, 5000) for _ in range(count)]
        head["scale"], head["shift"] = [512] * count, [dice.randrange(8, 13)] * count
        rows = (
            ((diagonal if j == i else dice.randrange(-99, 99)) for j in range(i, count)) for i in range(count)
        )
        head["matrix"] = [each for row in rows for each in row]
        head["class_mean"] = bytes(dice.randrange(8) for _ in range(classes * count))
    return head


def spoiled(dice: Dice, given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of which a number, or one of a list, was moved to an end of its range or beyond."""
    row = dice.choice([row for row in ROWS if row.kind not in ("part", "class_x_feature", "class_x_number")])
    part = given if row.part == "params" else given[row.part]
    if part is None or row.name not in part:
        return given
    value = dice.edge(row.low - 2, row.high + 2)
    if isinstance(part[row.name], list):
        changed = list(part[row.name])
        changed[-1:] = [value][: len(changed)]
        value = changed
    part = part | {row.name: value}
    return part if row.part == "params" else given | {row.part: part}


def accepted(make: Any, given: dict[str, Any]) -> bool:
    """Return whether parameters are taken."""
    try:
        make(given)
    except ValueError:
        return False
    return True


def inference(dice: Dice, p: Params, kind: int) -> tuple[list[int], list[int]]:
    """Return an inference of a kind; a posterior need not add up to anything."""
    at, other, high = dice.randrange(p.classes), dice.randrange(p.classes), dice.randrange(-128, 128)
    probs = [
        [dice.randrange(-128, 128) for _ in range(p.classes)],
        [127] * p.classes,
        [256 // p.classes - 128] * p.classes,
        [-128] * p.classes,
    ][min(3, kind % 8)]
    if kind % 8 >= 4:  # one class, or two
        probs[other] = (-128, -128, high, 127 - (high + 128))[kind % 8 - 4]
        probs[at] = 127 if kind % 8 == 4 else high
    x = [dice.choice((-128, 127, p.zero_point))] * p.features
    if kind // 8 % 3:
        x = [dice.randrange(-128, 128) for _ in range(p.features)]
    elif p.centers is not None:
        x = list(p.centers[at * p.features : (at + 1) * p.features])
    return probs, x


def gauges_of(dice: Dice, p: Params, kind: int) -> list[int] | None:
    """Return the gauges of an input: near their means, anywhere, or none."""
    if p.sight is None or not p.sight.gauges or kind % 5 == 4:
        return None
    near = dice.choice((4, 100, 3000))
    drawn = (mean // 16 + dice.randrange(-near, near) for mean in p.sight.mean[: p.sight.gauges])
    if kind % 5 == 3:
        drawn = (dice.randrange(-32768, 32768) for _ in range(p.sight.gauges))
    return [min(32767, max(-32768, value)) for value in drawn]


def forged(dice: Dice, state: bytes) -> bytes:
    """Return a state with a number or two changed, mostly with the checksum that belongs to it."""
    body = bytearray(state[:-4])
    for _ in range(dice.randint(1, 2)):
        at, size = dice.choice(HEADER) if dice.once_in(2) else (dice.randrange(len(body)), 1)
        old = int.from_bytes(body[at : at + size], "little")
        new = old + dice.choice((1, -1)) if dice.once_in(2) else dice.edge(-(2**24), 2**24)
        body[at : at + size] = (new % 256**size).to_bytes(size, "little")
    return bytes(body) + (struct.pack("<I", zlib.crc32(body)) if dice.randrange(8) else state[-4:])


def core_step(core: Any, probs: list[int], features: list[int], gauges: list[int] | None) -> list[int]:
    """Return what the core says of a step, as integers in the order of `tcuq.reference.Step`."""
    out, signals = np.zeros(1, STEP_DTYPE), np.zeros((1, SIGNAL_COUNT), np.uint16)
    x = np.array([features], np.int8) if features else None
    seen = None if gauges is None else np.array([gauges], np.int16)
    core.run(np.array([probs], np.int8), x, out.view(np.uint8), signals, seen)
    said = {name: out[name][0] * 65536 if name in FRACTIONS else out[name][0] for name in STEP_DTYPE.names}
    said["expected_accuracy"] = np.nan_to_num(said["expected_accuracy"])
    columns = [said[field.name] for field in fields(Step) if field.name != "signals"]
    return [int(value) for value in (*columns, *signals[0])]


def disagreement(dice: Dice, steps: int, count: Counter[str]) -> str:
    """Play a program; return the first thing on which core and reference differ, or an empty string."""
    given = drawn(dice)
    for _ in range(20):
        other = spoiled(dice, given)
        count["spoiled"] += not accepted(Params.of, other)
        if accepted(_core.Core, other) != accepted(Params.of, other):
            return f"the core {'takes' if accepted(_core.Core, other) else 'refuses'} {other}"
    params, core = Params.of(given), _core.Core(given)
    sizes = (params.ring_size, params.state_size, *bounds(params))
    if core.sizes() != sizes:
        return f"sizes and bounds are {core.sizes()}, expected {sizes}"
    monitor, kind = Monitor(params), 0
    for taken in range(4 if params.classes > 200 else steps):
        state, order = monitor.save() or b"", dice.randrange(32)
        if order < 5:
            count["save"] += 1
            if core.save() != state:
                return f"state after step {taken} is {core.save().hex()}, expected {state.hex()}"
        if order == 0:
            count["reset"] += 1
            core.reset()
            monitor.reset()
        elif order <= 4:
            count["load"] += 1
            content = state if order == 1 else forged(dice, state)
            code, expected = core.load(content), Monitor.refusal(params, content)
            if code != expected:
                return f"load after step {taken} answers {code}, expected {expected}, to {content.hex()}"
            count["accepted"] += code == 0
            monitor = Monitor.load(params, content) if code == 0 else monitor
        for _ in range(dice.randrange(3) * dice.randrange(4)):
            count["label"] += 1
            reach = 2 + (params.feedback.memory if params.feedback is not None else 0)
            step = max(0, monitor.steps - 1 - dice.randrange(dice.choice((3, reach))))
            label = dice.choice((-2, dice.randrange(-3, params.classes + 1)))
            answered, expected = core.feedback(step, label), monitor.feedback(step, label)
            if answered != expected:
                return (
                    f"label {label} of step {step} after step {taken} answers {answered}, expected {expected}"
                )
            count["taken"] += answered == 0
        kind = dice.randrange(64) if dice.once_in(3) else kind
        probs, features = inference(dice, params, kind)
        gauges = gauges_of(dice, params, kind)
        said, step_ = core_step(core, probs, features, gauges), monitor.step(probs, features, gauges)
        wanted = [getattr(step_, field.name) for field in fields(Step) if field.name != "signals"]
        count["step"] += 1
        count["changed"] += step_.changed
        count["alarm"] += step_.alarm > 0
        if said != [*wanted, *step_.signals]:
            return f"step {taken} is {said}, expected {[*wanted, *step_.signals]}"
    return ""


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Compare the C core with the reference on random programs.")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--steps", type=int, default=40, help="of each program (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the programs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first program (default: 0)")
    given = parser.parse_args(words)
    count: Counter[str] = Counter(programs=given.programs)
    found = 0
    for number in range(given.first, given.first + given.programs):
        different = disagreement(Dice(f"{given.seed} {number}"), given.steps, count)
        if different:
            found += 1
            print(f"program {number} of seed {given.seed}: {different}"[:2000])
    print(" ".join(f"{name}={count[name]}" for name in sorted(count)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
