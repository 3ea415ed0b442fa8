"""Frames in tests: the vectors, made-up steps, and the program that writes frames in C."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from frame_writing import encode_decisions, encode_posteriors, encode_state
from gen_frames import DECISIONS, FILE, FLAGS, GAUGES, NUMBERS, POSTERIORS, made_up
from places import CORE, CORE_SOURCES, ROOT

from tcuq import STEP_DTYPE
from tcuq.monitor.steps import actions_of

EXPORT_C = ROOT / "src" / "tcuq" / "export" / "c"
INCLUDE = [f"-I{CORE}", f"-I{EXPORT_C}"]
SOURCES = [ROOT / "tests" / "c" / "run_frames.c", EXPORT_C / "tcuq_frame.c", *CORE_SOURCES]
ORDER = (
    *("threshold", "degradation", "prediction", "answer", "risk", "uncertainty", "persistence", "novelty"),
    *("expected_accuracy", "flagged", "abstain", "alarm", "warming_up", "reason", "low_mass"),
    *("action", "changed", "moved"),
)
"""Fields of a decision as tcuq_step_t has them."""

UNSEEN = {"changed": 0, "moved": 255}
"""What a device without sight says."""


@dataclass(frozen=True)
class Case:
    """Steps or a state to be sent, and by what kind of writer."""

    kind: int
    fingerprint: int
    boot: int
    seq: int
    classes: int
    features: int = 0
    shift: int = 0
    size: int = 384
    rows: Any = None
    steps: list[dict[str, int]] = field(default_factory=list)
    state: bytes = b""
    sight: bool = False
    gauges: int = 0

    def script(self) -> list[str]:
        seq = f"{self.seq >> 32} {self.seq % 2**32}"
        shape = (
            f"{self.classes} {self.features + 65536 * self.gauges} {self.shift + 16 * self.sight} {self.size}"
        )
        lines = [f"writer {self.kind} {self.fingerprint} {self.boot} {seq} {shape}"]
        lines += [f"p {row.tobytes().hex()}" for row in (self.rows if self.rows is not None else ())]
        lines += ["d " + " ".join(map(str, self.numbers(step))) for step in self.steps]
        lines.append("flush")
        return [*lines, f"state {self.state.hex()}"] if self.state else lines

    @staticmethod
    def numbers(step: dict[str, int]) -> list[int]:
        """Return the fields of a decision as tcuq_step_t has them; of one without sight too."""
        return [step.get(name, UNSEEN.get(name, 0)) for name in ORDER]

    def encoded(self) -> bytes:
        whose, found = (self.fingerprint, self.boot, self.seq), b""
        count = len(self.steps)
        if self.rows is not None:
            end = self.classes + self.features
            features = self.rows[:, self.classes : end] if self.features else None
            gauges = np.ascontiguousarray(self.rows[:, end:]).view("<i2") if self.gauges else None
            found += encode_posteriors(*whose, self.rows[:, : self.classes], features, self.size, gauges)
            count = len(self.rows)
        if self.steps:
            horizon = 1 << self.shift if self.shift else 0
            found += encode_decisions(
                *whose, step_rows(self.steps, self.shift), self.classes, horizon, self.size, self.sight
            )
        if self.state:
            last = self.seq + count - 1
            found += encode_state(self.fingerprint, self.boot, last, self.state, self.size)
        return found


def step_rows(steps: list[dict[str, int]], shift: int) -> npt.NDArray[Any]:
    """Return decisions in integers as rows of `STEP_DTYPE`."""
    rows = np.zeros(len(steps), dtype=STEP_DTYPE)
    for name in (*NUMBERS, *FLAGS, "changed", "moved"):
        values = np.array([step.get(name, UNSEEN.get(name)) for step in steps], dtype=np.int64)
        rows[name] = values / 65536 if name in NUMBERS else values
    rows["action"] = actions_of(rows)
    if not shift:
        rows["expected_accuracy"] = np.nan
    return rows


def vectors() -> Iterator[tuple[Case, bytes]]:
    """Yield the cases of the vectors, each with its one frame; parts of a state as a state of their own."""
    steps: list[dict[str, int]] = []
    given: list[str] = []
    for line in FILE.read_text(encoding="ascii").splitlines():
        word, *rest = line.split()
        if word == "step":
            steps.append(dict(zip((*NUMBERS, *FLAGS), map(int, rest), strict=True)))
        elif word == "frame":
            kind, numbers = given[0], [int(each) for each in given[1:6]]
            frame = bytes.fromhex(rest[0])
            if kind == "posteriors":
                classes, features = numbers[3:]
                rows = np.frombuffer(bytes.fromhex(given[6]), np.int8).reshape(-1, classes + features)
                yield Case(POSTERIORS, *numbers, size=4115, rows=rows), frame
            elif kind == "gauges":
                classes, features = numbers[3:]
                gauges = int(given[6])
                rows = np.frombuffer(bytes.fromhex(given[7]), np.int8)
                rows = rows.reshape(-1, classes + features + 2 * gauges)
                yield Case(GAUGES, *numbers, size=4115, rows=rows, gauges=gauges), frame
            elif kind == "decisions":
                classes, shift = numbers[3:]
                yield Case(DECISIONS, *numbers[:4], shift=shift, size=4115, steps=steps), frame
            steps = []
        elif word != "#":
            given = [word, *rest]


def random_cases(count: int, seed: int) -> list[Case]:
    """Return cases of all kinds and sizes."""
    dice, rng = random.Random(seed), np.random.default_rng(seed)
    found = []
    for _ in range(count):
        classes = dice.choice([2, 3, 10, dice.randrange(2, 1001)])
        features = dice.choice([0, 0, 1, dice.randrange(257)])
        whose = (dice.randrange(2**32), dice.randrange(2**32), dice.randrange(2**48 - 2**20))
        state = rng.integers(0, 256, dice.choice([0, 0, 1, 3000]), dtype=np.uint8).tobytes()
        size = dice.choice([1300, 384, 4115, 5000, dice.randrange(1300, 4200)])
        if dice.randrange(2):
            gauges = dice.choice([0, 0, 1, 8, 16])
            width = classes + features + 2 * gauges
            rows = rng.integers(-128, 128, (dice.randrange(1, 40), width)).astype(np.int8)
            rows[rng.random(rows.shape) < dice.choice([0, 0.2, 0.9])] = 0
            size = max(size, 30 + width * 2)
            more: dict[str, Any] = {"features": features, "rows": rows, "gauges": gauges}
            kind = GAUGES if gauges else POSTERIORS
            found.append(Case(kind, *whose, classes, size=size, state=state, **more))
        else:
            shift, wild = dice.choice([0, 4, 8, 12]), bool(dice.randrange(2))
            steps = [made_up(dice, classes, shift, wild) for _ in range(dice.randrange(1, 200))]
            seen = bool(dice.randrange(2))
            for step in steps:
                changed = int(seen and dice.random() < 0.7)
                step |= {"changed": changed, "moved": dice.choice([0, 3, 131, 254]) if changed else 255}
            size = dice.choice([67 + 2 * seen, 69, 100, size])
            more = {"shift": shift, "steps": steps, "sight": seen}
            found.append(Case(DECISIONS, *whose, classes, size=size, state=state, **more))
    return found


def build(compiler: str, target: Path, *flags: str) -> Path:
    subprocess.run([compiler, "-std=c99", *flags, *INCLUDE, *SOURCES, "-o", target], check=True)
    return target


def frames_of(said: str) -> bytes:
    return bytes.fromhex(said.replace("\n", ""))
