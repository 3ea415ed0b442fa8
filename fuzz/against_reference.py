# SPDX-License-Identifier: MIT
"""Random programs through the C core and through `tcuq.reference`: every field of every step, bit for bit.

The reference is written from SPEC.md and shares no code with the core. Programs have steps, resets, saves,
loads and forged states; parameters come from the whole accepted range::

    python fuzz/against_reference.py [--programs 1000] [--steps 40] [--seed S] [--jobs J]

Exit status: 0 when both agree, 1 when they differ, 2 when nothing could be run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from targets import CORE, SOURCES, Toolchain, Unable, find_toolchain

from tcuq.reference import SIGNAL_COUNT, Feedback, Monitor, Params
from tcuq.reference.decide import bounds
from tcuq.reference.params import EVIDENCE_NUMBERS

PORTION = 50
"""Programs that one process plays."""


def build(folder: Path, tools: Toolchain, core: Path = CORE) -> Path:
    """Compile the program that prints programs."""
    program = folder / "dump"
    sources = [SOURCES / "dump.c", SOURCES / "sets.c", *sorted(core.glob("*.c"))]
    flags = ["-std=c99", "-O1", "-DTCUQ_SIGNALS=0x303FFuL", f"-I{SOURCES}", f"-I{core}"]
    command = [tools.compiler, *flags, *map(str, sources), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unable(f"{tools.compiler} cannot build dump.c: {done.stderr.strip().splitlines()[0]}")
    return program


def int8(text: str) -> list[int]:
    """Return signed bytes from hexadecimal digits."""
    return [byte - 256 * (byte > 127) for byte in bytes.fromhex("" if text == "-" else text)]


def params_of(lines: dict[str, str]) -> Params:
    """Return parameters from the lines of a program, by their first words."""
    given: dict[str, Any] = {
        name: int(value) for name, value in (pair.split("=") for pair in lines["params"].split())
    }
    for name in ("lags", "lag_weights", "coef", "clean_mean", "evidence", "instant", "feedback"):
        if name in lines:
            given[name] = list(map(int, lines[name].split()))
    if "evidence" in given:
        numbers = given["evidence"]
        coef = len(EVIDENCE_NUMBERS)
        offset = coef + SIGNAL_COUNT
        given["evidence"] = dict(zip(EVIDENCE_NUMBERS, numbers, strict=False))
        given["evidence"] |= {"coef": numbers[coef:offset], "offset": numbers[offset:]}
    if "instant" in given:
        bias, *of_signals = given["instant"]
        given["instant"] = {"bias": bias, "coef": of_signals}
    if "feedback" in given:
        names = [field.name for field in fields(Feedback)]
        given["feedback"] = dict(zip(names, given["feedback"], strict=True))
    if "centers" in lines:
        given["centers"] = bytes.fromhex(lines["centers"])
    return Params.of(given)


def programs_in(text: str) -> Iterator[tuple[str, dict[str, str], list[str]]]:
    """Yield number, lines of parameters by first word, and other lines of each program."""
    for part in text.split("case ")[1:]:
        number, *lines = part.splitlines()
        begin = next(at for at, line in enumerate(lines) if line.startswith("bounds ")) + 1
        yield (
            number,
            {word: rest for word, _, rest in (line.partition(" ") for line in lines[:begin])},
            lines[begin:],
        )


def disagreement(params: Params, given: dict[str, str], lines: list[str], count: Counter[str]) -> str:
    """Return the first thing on which core and reference differ, or an empty string."""
    if given["sizes"] != f"{params.ring_size} {params.state_size}":
        return f"sizes are {given['sizes']}, expected {params.ring_size} {params.state_size}"
    if given["bounds"] != "{} {}".format(*bounds(params)):
        return f"bounds are {given['bounds']}, expected {bounds(params)}"
    monitor, state, taken = Monitor(params), b"", 0
    for line in lines:
        what, _, rest = line.partition(" ")
        count[what] += 1
        if what == "step":
            taken += 1
            probs, features, *said = rest.split()
            *fields, signals = astuple(monitor.step(int8(probs), int8(features)))
            expected = [*fields, *signals]
            if [int(number) for number in said] != expected:
                return f"step {taken} is {' '.join(said)}, expected {' '.join(map(str, expected))}"
        elif what == "reset":
            monitor.reset()
        elif what == "save":
            state = bytes.fromhex(rest)
            if monitor.save() != state:
                return f"state after step {taken} is {rest}, expected {monitor.save().hex()}"
        elif what == "load":
            monitor = Monitor.load(params, state)
        elif what == "label":
            step, label, said_code = rest.split()
            code = monitor.feedback(int(step), int(label))
            if code != int(said_code):
                return f"label {label} of step {step} after step {taken} answers {said_code}, expected {code}"
            count["taken"] += code == 0
        elif what == "try":
            said_code, _, forged = rest.partition(" ")
            code = Monitor.refusal(params, bytes.fromhex(forged))
            if code != int(said_code):
                return f"load after step {taken} answers {said_code}, expected {code}, to {forged}"
            count["accepted"] += code == 0
            monitor = Monitor.load(params, bytes.fromhex(forged)) if code == 0 else monitor
    return ""


def compare(
    program: Path, seed: int, first: int, programs: int, steps: int
) -> tuple[Counter[str], list[str]]:
    """Return what was compared, and the differences."""
    words = [str(program), *map(str, (seed, first, programs, steps))]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    count: Counter[str] = Counter()
    found = []
    for number, given, lines in programs_in(said):
        count["programs"] += 1
        different = disagreement(params_of(given), given, lines, count)
        found += [f"program {number} of seed {seed}: {different}"] if different else []
    return count, found


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Compare the C core with the reference on random programs.")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--steps", type=int, default=40, help="of each program (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the programs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first program (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--core", type=Path, default=CORE, help="folder of the core (default: ours)")
    parser.add_argument("--program", type=Path, help=argparse.SUPPRESS)  # a part of a larger comparison
    given = parser.parse_args(words)
    if min(given.programs, given.steps, given.jobs) < 1 or min(given.seed, given.first) < 0:
        print("against_reference: --programs, --steps and --jobs are at least 1", file=sys.stderr)
        return 2
    if given.jobs == 1 and given.program is not None:
        count, found = compare(given.program, given.seed, given.first, given.programs, given.steps)
    else:
        try:
            with tempfile.TemporaryDirectory() as folder:
                tools = find_toolchain()
                program = build(Path(folder), tools, given.core.resolve())
                count, found = shared(program, given)
        except Unable as error:
            print(f"against_reference: {error}", file=sys.stderr)
            return 2
    for line in found[:10]:
        print(line[:2000])
    print(" ".join(f"{name}={count[name]}" for name in sorted(count)))
    return 1 if found else 0


def shared(program: Path, given: argparse.Namespace) -> tuple[Counter[str], list[str]]:
    """Compare in as many processes as asked for."""
    if given.jobs == 1:
        return compare(program, given.seed, given.first, given.programs, given.steps)

    def part(first: int) -> tuple[Counter[str], list[str]]:
        programs = min(PORTION, given.first + given.programs - first)
        options = {"--seed": given.seed, "--first": first, "--programs": programs, "--steps": given.steps}
        words = [str(word) for pair in options.items() for word in pair]
        command = [sys.executable, __file__, "--program", str(program), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        *found, last = done.stdout.splitlines() or [done.stderr]
        if done.returncode not in (0, 1):
            return Counter(), [f"programs from {first} on: {done.stderr.strip()}"]
        return Counter(
            {name: int(value) for name, value in (word.split("=") for word in last.split())}
        ), found

    with ThreadPoolExecutor(given.jobs) as pool:
        parts = list(pool.map(part, range(given.first, given.first + given.programs, PORTION)))
    total: Counter[str] = Counter()
    for count, _ in parts:
        total += count
    return total, [line for _, found in parts for line in found]


if __name__ == "__main__":
    sys.exit(main())
