"""Recordings of made-up networks, in place of weights and data, for experiments on streams."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tcuq_lab.corruptions.suite import suite_of
from tcuq_lab.harness.laws import StreamSizes, UnitPlan
from tcuq_lab.harness.types import Outputs
from tcuq_lab.reproduce.rows import Row
from tcuq_lab.reproduce.run_size import RunSize
from tcuq_lab.reproduce.units import Unit
from tcuq_lab.streams import build

CLASSES, EXAMPLES = 4, 120
SMALL = StreamSizes(stretch=240, dev=3, clean_dev=2, law_dev=2, test=3, clean_test=2, type_steps=100)
SEVERITIES = (1, 5)


class MadeRecordings:
    """Stands in for `Recordings`: every network sees its class through noise, more of it when corrupted."""

    def __init__(self, folder: Path, networks: tuple[str, ...] = ("plain",)) -> None:
        self.folder = folder
        self.setting = RunSize("made", EXAMPLES, EXAMPLES, 1, 1, (0, 1), SEVERITIES, corrupted_once=True)
        self._networks = networks

    def part(self, task: str, part: str) -> Any:
        rng = np.random.default_rng([len(part), 5])
        return SimpleNamespace(y=rng.integers(0, CLASSES, EXAMPLES))

    def has(self, task: str, seed: int, row: Row) -> bool:
        return row.method.bank in self._networks

    def fill(self, *given: Any) -> None:
        """All is there."""

    def record_streams(self, *given: Any) -> None:
        """All is there."""

    progress = None

    def place(self, task: str, part: str, seed: int, row: Row) -> Path:
        return self.folder / f"{task}-{part}-{seed}-{row.method.bank}"

    def sources(self, task: str, part: str) -> list[str]:
        suite = suite_of(task)
        kinds = suite.seen if part == "dev" else suite.unseen
        return ["clean", *(f"{kind}/{level}" for kind in kinds for level in SEVERITIES)]

    def banks(
        self, task: str, part: str, seed: int, rows: list[Row], sources: list[str]
    ) -> dict[str, dict[str, Outputs]]:
        y = self.part(task, part).y
        return {
            row.label: {source: said(y, source, f"{part} {seed} {row.method.bank}") for source in sources}
            for row in rows
        }

    def of_stream(self, description: Any, seed: int, row: Row) -> Outputs:
        stream = build(description, self.part(description.dataset, description.part).y)
        names = np.array(stream.sources)[stream.source]
        parts = [
            said(stream.label, str(name), f"{description.seed} {row.method.bank}") for name in stream.sources
        ]

        def picked(of: Callable[[Outputs], Any]) -> Any:
            return np.select([(names == name)[:, None] for name in stream.sources], list(map(of, parts)))

        extra = {name: picked(lambda part: part.extra[name]) for name in ("logits", "risks")}  # noqa: B023
        return Outputs(picked(lambda part: part.probs), picked(lambda part: part.features), extra)


def said(y: np.ndarray, source: str, name: str) -> Outputs:
    """Return what a network says to examples of some classes."""
    rng = np.random.default_rng(zlib.crc32(f"{source} {name}".encode()))
    hard = 0.8 if source == "clean" else 1.2 + 0.3 * int(source[-1])
    known = np.where(y < 0, 0, y)
    logits = 3.0 * np.eye(CLASSES)[known] + rng.normal(0, hard, (len(y), CLASSES))
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs = (probs / probs.sum(1, keepdims=True)).astype(np.float32)
    features = np.concatenate([logits, np.full((len(y), 1), hard) + rng.normal(0, 1, (len(y), 1))], axis=1)
    risks = np.repeat(1 - probs.max(1, keepdims=True), 8, axis=1)
    return Outputs(probs, features.astype(np.float32), {"logits": logits, "risks": risks})


def made_unit(folder: Path, task: str = "cifar10", seed: int = 0, *networks: str) -> Unit:
    """Return a small unit of made-up networks."""
    recordings: Any = MadeRecordings(folder, ("plain", *networks))
    return Unit(UnitPlan(task, seed, SMALL, SEVERITIES), recordings)
