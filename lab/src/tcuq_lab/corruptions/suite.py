"""Suites of corruptions: kinds by name, each with one setting a severity, as `suites.json` lists them.

Settings of the natural pictures are those that D. Hendrycks and T. Dietterich published with "Benchmarking
Neural Network Robustness to Common Corruptions and Perturbations" (2019), but for `elastic_transform` of
ImageNet-C: there they are those of the package imagecorruptions, which leaves out the affine part and has
other waves. Those four kinds are seen that the authors set aside for validation. Lengths of
`elastic_transform` are shares of the side of a picture; all others are pixels. MNIST-C has each kind at its
one published severity (N. Mu and J. Gilmer, 2019). Severities of sound, text and motion are our own: each
is stronger than the one before, and an example meets the same random numbers at all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from tcuq.base.checks import integer, known

from ..data import splits


class Kind(NamedTuple):
    """One kind of corruption."""

    # Module of this package and its function: takes examples, `Draws` and a setting, returns examples of the
    # same shape
    path: str
    settings: tuple[Any, ...]  # one a severity, weakest first

    def call(self) -> Any:
        """Import the function; its libraries are needed only from here on."""
        module, _, function = self.path.partition(".")
        return getattr(import_module(f".{module}", __package__), function)


FROZEN, ATTENUATED = "frozen", "attenuated"
BESIDE: Mapping[str, Kind] = MappingProxyType(
    {
        ATTENUATED: Kind("camera.attenuated", (0.9,)),
        "blank": Kind("camera.blank", (None,)),
        "saturated": Kind("camera.saturated", (None,)),
        FROZEN: Kind("camera.frozen", (None,)),
    }
)
"""Kinds that every suite but those of text knows beside its own: a benign one, and faults of the sensor
under which the accuracy collapses. No list of a suite has them; a stream shows them by name."""
FAULTS = tuple(name for name in BESIDE if name != ATTENUATED)
"""Faults of the sensor."""


@dataclass(frozen=True)
class Suite:
    """A named set of corruptions."""

    name: str  # name of the suite, such as "cifar10_c"
    about: str  # what it is, in a sentence
    # "pictures" (uint8, channels last), "sound" (int16 at 16 kHz), "text" (uint8 chunks) or "motion" (uint8
    # windows of samples, channels last)
    media: str
    kinds: Mapping[str, Kind]  # corruption types by name
    data: tuple[str, ...]  # datasets whose examples it corrupts
    seen: tuple[str, ...]  # kinds that development may see; the others are for tests alone

    def kind(self, name: str) -> Kind:
        """Return a kind by its name."""
        if self.media != "text" and name in BESIDE:
            return BESIDE[name]
        return self.kinds[known(f"corruption of {self.name}", name, self.kinds)]

    def setting(self, name: str, severity: int) -> Any:
        """Return the setting of a kind at a severity, 1 being the weakest."""
        settings = self.kind(name).settings
        return settings[integer(f"severity of {name}", severity, 1, len(settings)) - 1]

    def severities(self, name: str, wanted: Iterable[int] = range(1, 6)) -> tuple[int, ...]:
        """Return those of some severities that a kind has, or its only one."""
        count = len(self.kind(name).settings)
        return (1,) if count == 1 else tuple(each for each in wanted if each <= count)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Kinds that development must not see."""
        return tuple(name for name in self.kinds if name not in self.seen and name != "identity")


@cache
def _suites() -> Mapping[str, Suite]:
    listed = json.loads(files(__package__).joinpath("suites.json").read_text(encoding="utf-8"))
    found = {}
    for name, each in listed.items():
        kinds = {kind: Kind(path, _tuples(settings)) for kind, (path, *settings) in each["kinds"].items()}
        data, seen = tuple(each["data"]), tuple(each["seen"])
        found[name] = Suite(name, each["about"], each["media"], kinds, data, seen)
    return MappingProxyType(found)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def suites() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(_suites())


def suite(name: str) -> Suite:
    """Return a suite by its name."""
    return _suites()[known("suite", name, _suites())]


def suite_of(name: str) -> Suite:
    """Return the suite that belongs to a dataset."""
    found = {data: each for each in _suites().values() for data in each.data}
    if name not in found:
        splits(name)  # a dataset that is unknown altogether is named with its nearest
        raise ValueError(f"dataset {name!r} has no corruptions, expected one of {', '.join(found)}")
    return found[name]
