# SPDX-License-Identifier: MIT
"""Write the shared test vectors: `vectors/*.vec`, `frames.txt`, `gauges.txt` (SPEC.md, sections 15, 18, 20).

`python vectors/gen.py` rewrites them all; `python vectors/gen.py --check` compares and changes nothing.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import gen_edges
import gen_feedback
import gen_frames
import gen_gauges
import gen_learned
import gen_novelty
import gen_plain
import gen_sight
from gen_base import Case

from tcuq.reference import SIGNAL_COUNT, Monitor, Params, Step
from tcuq.reference.decide import bounds, idle
from tcuq.reference.numbers import BRANCHES
from tcuq.reference.step import ERROR_REASON, NO_REASON

FOLDER = Path(__file__).resolve().parent
MAX_BYTES = 4_700_000


def cases() -> list[Case]:
    """Return all cases, with a save at the end of each and one midway where states are small."""
    out = []
    for group in (gen_plain, gen_learned, gen_novelty, gen_edges, gen_feedback, gen_sight):
        for case in group.cases():
            end = len(case.rows)
            marks = {end: ("save",), **case.marks}
            if not case.marks and case.params.state_size < 2000:
                marks[end // 2] = ("save",)
            out.append(replace(case, marks=marks))
    names = Counter(case.name for case in out)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        raise ValueError(f"names used twice: {repeated}")
    return out


def hexed(values: list[int]) -> str:
    """Return int8 values in hexadecimal, `-` when there is none."""
    return struct.pack(f"{len(values)}b", *values).hex() or "-"


def _head_lines(params: Params) -> list[str]:
    """Return the lines of the heads and centers, none without them."""
    evidence, instant, lines = params.evidence, params.instant, []
    if evidence is not None:
        lines.append(" ".join(map(str, ("evidence", *evidence.numbers(), *evidence.coef, *evidence.offset))))
    if instant is not None:
        lines.append(" ".join(map(str, ("instant", instant.bias, *instant.coef))))
    if params.sight is not None:
        head = params.sight
        lists = (*head.mean, *head.scale, *head.shift, *head.class_mean, *head.matrix)
        lines.append(" ".join(map(str, ("sight", *head.numbers(), *lists))))
    if params.feedback is not None:
        lines.append(" ".join(map(str, ("feedback", *params.feedback.numbers()))))
    if params.centers is not None:
        lines.append(f"centers {hexed(list(params.centers))}")
    return lines


def forged(state: bytes, offset: int, size: int, change: str) -> bytes:
    """Return a state in which one number was changed, with a checksum that says nothing of it.

    `offset` -1 changes the checksum itself, -2 the length. `change` is what to add; `full` sets every bit
    of the number, `nonzero` makes 1 of every 0 in a list of `size` bytes with two a number.
    """
    number = 0 if change in ("full", "nonzero") else int(change)
    if offset == -1:
        return state[:-1] + bytes([state[-1] ^ number])
    if offset == -2:
        body = state[:-4][:number] if number < 0 else state[:-4] + bytes(number)
    else:
        old = state[offset : offset + size]
        new = ((int.from_bytes(old, "little") + number) % 256**size).to_bytes(size, "little")
        if change == "full":
            new = b"\xff" * size
        elif change == "nonzero":
            values = struct.unpack(f"<{size // 2}H", old)
            new = struct.pack(f"<{size // 2}H", *(max(1, value) for value in values))
        body = state[:offset] + new + state[offset + size : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def render(case: Case) -> tuple[str, list[Step], set[str]]:
    """Run one case; return the content of its file, the steps, and the rare branches that were taken."""
    p = case.params
    low, high = bounds(p)
    room = idle(p) if any("damage" in mark for marks in case.marks.values() for mark in marks) else 0
    lines = [
        f"# {case.why}",
        f"case {case.name}",
        "params " + " ".join(f"{key}={value}" for key, value in p.scalars().items()),
        "lags " + (" ".join(map(str, p.lags)) or "-"),
        "lag_weights " + (" ".join(map(str, p.lag_weights)) or "-"),
        "coef " + " ".join(map(str, p.coef)),
        "clean_mean " + " ".join(map(str, p.clean_mean)),
        *_head_lines(p),
        f"sizes {p.ring_size} {p.state_size}",
        f"bounds {low} {high}",
    ]
    monitor, state, steps, seen = Monitor(p), b"", [], BRANCHES
    seen.clear()
    for t in range(len(case.rows) + 1):
        for mark in case.marks.get(t, ()):
            if mark == "save":
                saved = monitor.save()
                if saved is None:
                    seen.add("save refused")
                state = saved or state
                lines.append(f"save {'refused' if saved is None else saved.hex()}")
            elif mark.startswith("damage "):
                _, counter, value = mark.split(" ")
                monitor.damage(counter, int(value))
                lines.append(mark)
            elif mark.startswith("label "):
                _, ago, label = mark.split(" ")
                step = (monitor.steps - 1 - int(ago)) % 2**32
                result = monitor.feedback(step, int(label))
                seen.add(f"label {result}")
                lines.append(f"label {step} {label} {result}")
            elif mark.startswith("refuse "):
                _, offset, size, change = mark.split(" ")
                wrong = forged(monitor.save() or b"", int(offset), int(size), change)
                code = Monitor.refusal(p, wrong)
                if code == 0:
                    raise AssertionError(f"{case.name}: {mark} gives a valid state")
                seen.add(f"refused {code}")
                lines.append(f"refuse {code} {wrong.hex()}")
            elif mark == "load" and lines[-1] == "save refused":
                continue  # there is no state of now to go on from
            elif mark == "load":
                monitor = Monitor.load(p, state)
                if monitor.save() != state:
                    raise AssertionError(f"{case.name}: a loaded state is saved otherwise")
                lines.append("load")
            else:
                monitor.reset()
                lines.append("reset")
        if t == len(case.rows):
            break
        probs, features, *given = case.rows[t]
        lines += [" ".join(map(str, ("gauges", *gauges))) for gauges in given]
        out = monitor.step(probs, features, *given)
        if not low - room <= monitor.debt <= high:
            raise AssertionError(f"{case.name}: the debt left its bounds")
        steps.append(out)
        numbers = [getattr(out, column.name) for column in fields(Step) if column.name != "signals"]
        numbers += out.signals
        lines.append(f"step {hexed(probs)} {hexed(features)} " + " ".join(map(str, numbers)))
    lines.append("end")
    return "\n".join(lines) + "\n", steps, set(seen)


REQUIRED = (
    *"""abstain, about the answer, accuracy at both ends, alarm fall, alarm fall cleared, alarm from evidence,
alarm rise, alarm rise cleared, answer is not the prediction, belief is the anchor, bet loses,
bet near its largest, bet near its least, bet pays, both alarms, both vectors zero, budget spent,
cosine clipped at 1, disbelief high, disbelief low, divergence clipped at 0, divergence saturated,
evidence clipped above, evidence clipped below, drift clipped, drift 0, heavy mass,
kept below the clear sum, novelty at its least, novelty at the first step, novelty in full, novelty in part,
logistic clipped high, logistic clipped low, low_mass, obtuse angle, one vector zero, opposite vectors,
baseline 0, baseline above 0, baseline at its most, save refused, risk == threshold,
threshold <= 0, threshold > 65535, unflagged at threshold > 65535, warming up and flagged,
debt started anew, deficit saturated, distance 0, distance largest, no persistence,
persistence largest, degradation least, degradation negative, degradation positive, degradation largest,
starts again at 0, frozen a guess, frozen above a guess, stillness at its limit, sum clipped above,
sum clipped below, weight 1, alarm withdrawn, a label from before the alarm, a way back,
a way back is paid back, no way back any more, limit of a bet stays, correction cut above,
correction cut below, doubtful and accepted, error debt at its bound, error debt cut,
error debt started anew, every step is doubtful, withheld, withheld beyond the budget, just doubtful,
limit at its largest, limit at its least, limit lowered, not doubtful,
a mean of the stay, a stay under an alarm, held until calm, baseline of numbers,
baseline of numbers at its most, below the limit of the first stays, cleared by calm, cleared by distance,
distance at its cap, every step another object, far beyond what accuracy counts, few objects,
input not seen, kept though the distance says otherwise, length clipped,
mean of a stay at its most, no gauges, raised by distance, raised by stillness,
sure answers take off no more, the same alarm again and again,
ask, hold, fell, moved, nothing moved, stands still""".replace("\n", " ").split(", "),
    *(f"label {result}" for result in (-9, -8, -7, -1, 0)),
    *(f"refused {code}" for code in (-3, -4, -5, -6)),
    *(f"reason {n}" for n in (*range(SIGNAL_COUNT), ERROR_REASON, NO_REASON)),
)
"""Rare branches and results that some case must take."""


def coverage(case: Case, steps: list[Step], seen: set[str]) -> set[str]:
    """Return which items of `REQUIRED` (and others) a case hits."""
    hit, p = set(seen), case.params
    for (probs, *_), step in zip(case.rows, steps, strict=True):
        mass = sum(probs) + 128 * len(probs)
        for name, holds in (
            ("abstain", step.abstain),
            ("belief is the anchor", p.anchor),
            ("both alarms", step.alarm == 3),
            ("about the answer", p.about and step.answer != step.prediction),
            ("accuracy at both ends", p.horizon and abs(2 * step.expected_accuracy - 65535) > 65529),
            ("distance 0", p.uses(7) and step.signals[7] == 0),
            ("distance largest", step.signals[7] >= 65500),
            ("heavy mass", mass > 384),
            ("no persistence", p.instant and step.persistence < 50),
            ("persistence largest", step.persistence > 60000),
            ("degradation negative", step.degradation < 0),
            ("degradation least", p.uses(5) and step.signals[5] == 0),
            ("degradation largest", step.signals[5] == 65535),
            ("drift 0", p.uses(9) and step.signals[9] == 0),
            ("degradation positive", step.degradation > 0),
            ("low_mass", step.low_mass),
            ("risk == threshold", step.risk == step.threshold),
            ("threshold <= 0", step.threshold <= 0),
            ("threshold > 65535", step.threshold > 65535),
            ("unflagged at threshold > 65535", step.threshold > 65535 and not step.flagged),
            ("warming up and flagged", step.warming_up and step.flagged),
            ("ask", step.action == 1),
            ("hold", step.action == 2),
            ("moved", step.moved < 128),
            ("fell", 128 <= step.moved < 254),
            ("stands still", step.moved == 254),
            ("nothing moved", step.changed and step.moved == 255),
            (f"reason {step.reason}", True),
        ):
            if holds:
                hit.add(name)
    return hit


def check_twins(results: dict[str, list[Step]]) -> None:
    """Fail when permuting the classes changed more than predictions and answers."""
    for name in [name for name in results if name.startswith("permuted_") and name.endswith("_a")]:
        first, second = results[name], results[name[:-1] + "b"]
        bare = [[replace(step, prediction=0, answer=0) for step in steps] for steps in (first, second)]
        if bare[0] != bare[1]:
            raise AssertionError(f"{name}: a permutation of the classes changes the result")
        if [step.prediction for step in first] == [step.prediction for step in second]:
            raise AssertionError(f"{name}: the permutation does nothing")


def generate() -> tuple[dict[str, str], Counter[str]]:
    """Return the content of every file, and in how many cases each item of `coverage` occurs."""
    files: dict[str, str] = {}
    count: Counter[str] = Counter()
    results: dict[str, list[Step]] = {}
    for case in cases():
        text, steps, seen = render(case)
        files[f"{case.name}.vec"] = text
        results[case.name] = steps
        count.update(coverage(case, steps, seen))
    check_twins(results)
    return files, count


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them and change nothing; return the exit status."""
    files, count = generate()
    for name, made in (("frames.txt", gen_frames.lines()), ("gauges.txt", gen_gauges.lines())):
        files[name] = "".join(f"{line}\n" for line in made)
    wrong = [f"never hit: {name}" for name in REQUIRED if not count[name]]
    total = sum(map(len, files.values()))
    counts = (f"{count[name]:4d} cases: {name}" for name in REQUIRED)
    print(f"{len(files)} files, {total} bytes", *counts, sep="\n")
    if total > MAX_BYTES:
        wrong.append(f"more than {MAX_BYTES} bytes")
    extra = [path for path in sorted(FOLDER.glob("*.vec")) if path.name not in files]
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        wrong += [f"{path.name}: not written by gen.py" for path in extra]
        for name, text in files.items():
            path = FOLDER / name
            if not path.exists() or path.read_bytes() != text.encode("ascii"):
                wrong.append(f"{name}: {'differs' if path.exists() else 'missing'}")
    elif not wrong:
        for path in extra:
            path.unlink()
        for name, text in files.items():
            (FOLDER / name).write_bytes(text.encode("ascii"))
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
