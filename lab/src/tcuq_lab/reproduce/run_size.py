"""How much is run: a trial to see that all works, a reduced setting for two cores, a full one for a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
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


RUN_SIZES: Mapping[str, RunSize] = MappingProxyType(
    {
        "reduced": RunSize("reduced", 400, 500, 6000, 20_000, (0, 1, 2), (1, 3, 5), replicates=200),
        "full": RunSize(
            "full",
            10_000,
            5_000,
            10_000,
            50_000,
            (0, 1, 2, 3, 4),
            (1, 2, 3, 4, 5),
            replicates=2000,
            corrupted_once=True,
        ),
        "added": RunSize(
            "added",
            2_000,
            2_000,
            6_000,
            20_000,
            (0, 1, 2),
            (1, 3, 5),
            replicates=2000,
            corrupted_once=True,
            streams=("mixed", "mixed, label shift", "mixed, mostly clean", "mixed, day and night"),
        ),
        "backbones": RunSize(
            "backbones",
            2000,
            2000,
            10_000,
            50_000,
            (0,),
            (1, 2, 3, 4, 5),
            replicates=2000,
            corrupted_once=True,
        ),
        "trial": RunSize("trial", 300, 300, 2000, 10_000, (0,), (1, 5), replicates=200, corrupted_once=True),
    }
)


def run_size(name: str) -> RunSize:
    """Return a setting by its name."""
    return RUN_SIZES[known("setting", name, RUN_SIZES)]
