"""How much is run: a trial to see that all works, a reduced setting for two cores, a full one for a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcuq.base.checks import known

INDIFFERENT = ("name", "seeds")
"""Entries of a setting that decide nothing about one unit of an experiment."""


@dataclass(frozen=True)
class RunSize:
    """Sizes of an experiment."""

    name: str
    examples: int
    dev_examples: int
    steps: int
    clean_steps: int
    seeds: tuple[int, ...]
    severities: tuple[int, ...]
    kinds: int | None = None
    replicates: int = 1000
    corrupted_once: bool = False
    streams: tuple[str, ...] = ()

    def noise_seed(self, part: str, seed: int) -> int:
        """Return the seed of the corruptions; test examples never meet the noise of dev."""
        return 2 * (0 if self.corrupted_once else seed) + (part == "test")

    def of(self, part: str) -> int:
        """Return the examples of a part that are shown."""
        return self.dev_examples if part == "dev" else self.examples

    def deciding(self) -> dict[str, Any]:
        """Return the entries that decide what comes of one unit of an experiment."""
        entries = {name: value for name, value in asdict(self).items() if name not in INDIFFERENT}
        return entries if self.streams else {name: value for name, value in entries.items() if value != ()}

    def spread(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return as many of some names as the setting shows, evenly spread."""
        if self.kinds is None or len(names) <= self.kinds:
            return names
        return tuple(names[number * len(names) // self.kinds] for number in range(self.kinds))


def _size(name: str, given: Mapping[str, Any]) -> RunSize:
    entries: Any = {of: tuple(each) if isinstance(each, list) else each for of, each in given.items()}
    return RunSize(name, **entries)


_FILE = Path(__file__).with_name("sizes.json")
RUN_SIZES = {name: _size(name, each) for name, each in json.loads(_FILE.read_text(encoding="utf-8")).items()}


def run_size(name: str) -> RunSize:
    """Return a setting by its name."""
    return RUN_SIZES[known("setting", name, RUN_SIZES)]
