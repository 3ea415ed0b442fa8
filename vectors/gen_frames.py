# SPDX-License-Identifier: MIT
"""Frames in plain integers, from SPEC.md section 18 alone, and the lines of `vectors/frames.txt`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).resolve().parent / "frames.txt"
POSTERIORS, DECISIONS, STATE, GAUGES = 0xF9, 0xFA, 0xFB, 0xFC
ORDERS = [12, 12, 1, 11, 8, 1, 1]
Row = dict[str, int]
NUMBERS = ("uncertainty", "risk", "threshold", "degradation", "persistence", "novelty", "expected_accuracy")
FLAGS = ("flagged", "abstain", "warming_up", "low_mass", "alarm", "reason", "prediction", "answer")


def crc32(content: list[int]) -> int:
    """Return the reflected CRC-32, start and final complement."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def little(value: int, count: int) -> list[int]:
    """Return a number as little-endian bytes."""
    return [value >> 8 * place & 255 for place in range(count)]


def on_line(content: list[int]) -> list[int]:
    """Return a frame: content with its checksum, by COBS, between zeros."""
    left, found = content + little(crc32(content), 4), [0]
    while True:
        size = next((at for at, byte in enumerate(left[:254]) if byte == 0), min(len(left), 254))
        found += [size + 1, *left[:size]]
        if size == len(left):
            return [*found, 0]
        # The zero goes with its block; a full one has none.
        left = left[size:] if size == 254 else left[size + 1 :]


def header(kind: int, fingerprint: int, boot: int, seq: int, shape: int) -> list[int]:
    """Return the first 18 bytes of content."""
    return [kind, *little(fingerprint, 4), *little(boot, 4), *little(seq, 6), *little(shape, 3)]


def binary(value: int, count: int) -> list[int]:
    """Return the lowest bits of a number, the highest first."""
    return [value >> place & 1 for place in reversed(range(count))]


def z(difference: int) -> int:
    """Return the number of a signed 32-bit difference."""
    x = (difference + 2**31) % 2**32 - 2**31
    return 2 * x if x >= 0 else -2 * x - 1


def decision_bits(steps: list[Row], classes: int, horizon: int, sight: bool = False) -> list[int]:
    """Return decisions as bits."""
    bits: list[int] = []
    orders, move, width = list(ORDERS), {0: 0, 1: 0}, len(bin(classes - 1)) - 2
    mover = 255

    def code(which: int, value: int) -> None:
        k = orders[which]
        w = 0
        while value >> k >> w:
            w += 1
        bits.extend([0] * w + [1] + binary(value, w - 1 + k if w else k))
        if w >= 2:
            orders[which] += 1
        elif k > 0 and value >> k - 1 == 0:
            orders[which] -= 1

    for at, step in enumerate(steps):
        before = steps[at - 1]
        bits += [step[name] for name in ("flagged", "abstain", "warming_up", "low_mass")]
        bits += binary(step["alarm"], 2)
        if step["flagged"]:
            bits += binary(step["reason"] % 32, 5)
        for number, known in (
            (step["prediction"], before["prediction"] if at else 0),
            (step["answer"], step["prediction"]),
        ):
            bits += [0] if number == known else [1, *binary(number, width)]
        if sight and not step["changed"]:
            bits += [0]
        elif sight:
            bits += [1, 0] if step["moved"] == mover else [1, 1, *binary(step["moved"], 8)]
            mover = step["moved"]
        if at == 0:
            for name in NUMBERS:
                bits += binary(step[name] % 2**32, 32 if name in ("threshold", "degradation") else 16)
            continue
        certain = before["expected_accuracy"]
        if horizon:
            certain += (65536 - step["uncertainty"] - certain) // 2**horizon
        moved = step["threshold"] - before["threshold"]
        code(0, step["uncertainty"])
        code(1, z(step["risk"] - step["uncertainty"]))
        code(2, z(moved - move[before["flagged"]]))
        for which, name in ((3, "degradation"), (4, "persistence"), (5, "novelty")):
            code(which, z(step[name] - before[name]))
        code(6, z(step["expected_accuracy"] - certain))
        move[before["flagged"]] = moved
    return bits


def whole_bytes(bits: list[int]) -> list[int]:
    """Return bits as bytes, filled up by zeros."""
    filled = bits + [0] * (-len(bits) % 8)
    return [int("".join(map(str, filled[at : at + 8])), 2) for at in range(0, len(filled), 8)]


def made_up(dice: random.Random, classes: int, horizon: int, wild: bool) -> Row:
    """Return a decision, of any kind or like those of a monitor."""
    flagged = dice.randrange(2)
    step = {name: dice.choice([0, 65535, dice.randrange(65536)]) for name in NUMBERS}
    for name in ("threshold", "degradation"):
        step[name] = dice.choice([-(2**31), 2**31 - 1, dice.randrange(-(2**31), 2**31)])
        if not wild:
            step[name] = 30000 + dice.randrange(-900, 900)
    step |= {name: dice.randrange(2) for name in ("abstain", "warming_up", "low_mass")}
    step |= {"flagged": flagged, "alarm": dice.randrange(4), "prediction": dice.randrange(classes)}
    step["answer"] = dice.choice([step["prediction"], dice.randrange(classes)])
    step["reason"] = 255 - step["abstain"]
    if flagged:
        step["reason"] = dice.choice([255, 254, dice.randrange(10), dice.randrange(10)])
    step["expected_accuracy"] *= horizon > 0
    return step


def lines() -> Iterator[str]:
    """Yield the file: what goes in, and the frame that must come out."""
    yield "# Frames (SPEC.md section 18), written by vectors/gen_frames.py."
    yield "# Numbers are decimal, bytes hexadecimal, two digits each."
    yield "# posteriors FINGERPRINT BOOT SEQ L D ROWS: int8 as two's complement, step by step"
    columns = " ".join((*NUMBERS, *FLAGS)).upper()
    yield f"# decisions FINGERPRINT BOOT SEQ L HORIZON, then one line a step: step {columns}"
    yield "# gauges FINGERPRINT BOOT SEQ L D G ROWS: as posteriors, each step with G int16 behind it"
    yield "# state FINGERPRINT BOOT SEQ SIZE OFFSET PART: SEQ as in the frame"
    yield "# frame BYTES: what stands on the line; one after each of the above"
    dice = random.Random(18)

    def whose() -> tuple[int, int, int]:
        few = [0, 1, 2**32 - 1, dice.randrange(2**32)]
        first, second = dice.choice(few), dice.choice(few)
        return first, second, dice.choice([0, 2**32 - 2, 2**48 - 9, dice.randrange(2**40)])

    def frame(content: list[int]) -> str:
        return "frame " + bytes(on_line(content)).hex()

    for classes, features, steps in (
        *((2, 0, 1), (2, 0, 179), (10, 0, 35), (10, 8, 3), (3, 256, 1), (1000, 0, 4), (1000, 256, 3)),
        *((227, 5, 1), (228, 4, 1), (229, 4, 1), (254, 0, 1), (486, 0, 1)),
    ):
        for fill in ("any", "no zero", "zeros"):
            values = {"any": range(256), "no zero": range(1, 256), "zeros": range(1)}[fill]
            rows = [dice.choice(values) for _ in range((classes + features) * steps)]
            who = whose()
            yield f"posteriors {' '.join(map(str, who))} {classes} {features} {bytes(rows).hex()}"
            yield frame(header(POSTERIORS, *who, classes + 4096 * features) + rows)
    for classes, horizon, steps, wild in (
        *((2, 0, 1, True), (2, 4, 40, False), (10, 8, 33, False), (10, 12, 9, True), (1000, 10, 60, True)),
        *((1000, 0, 12, False), (3, 12, 90, True), (512, 4, 30, False), (513, 4, 30, False)),
    ):
        who = whose()
        made = [made_up(dice, classes, horizon, wild) for _ in range(steps)]
        yield f"decisions {' '.join(map(str, who))} {classes} {horizon}"
        for step in made:
            yield "step " + " ".join(str(step[name]) for name in (*NUMBERS, *FLAGS))
        shape = classes + 4096 * horizon
        yield frame(header(DECISIONS, *who, shape) + whole_bytes(decision_bits(made, classes, horizon)))
    sizes = ((64, 0, 64), (355, 0, 355), (5000, 355, 355), (131072, 131071, 1), (300, 0, 4071))
    for size, offset, part in sizes:
        content = [dice.randrange(256) for _ in range(min(part, size))]
        who = whose()
        yield f"state {' '.join(map(str, who))} {size} {offset} {bytes(content).hex()}"
        yield frame(header(STATE, *who, offset) + little(size, 3) + content)
    dice = random.Random(20)
    for classes, features, gauges, steps in ((2, 0, 1, 1), (10, 0, 8, 9), (10, 8, 16, 3), (1000, 256, 16, 3)):
        for values in (range(256), range(1)):
            rows = [dice.choice(values) for _ in range((classes + features + 2 * gauges) * steps)]
            who = whose()
            yield f"gauges {' '.join(map(str, who))} {classes} {features} {gauges} {bytes(rows).hex()}"
            yield frame([*header(GAUGES, *who, classes + 4096 * features), gauges, *rows])
