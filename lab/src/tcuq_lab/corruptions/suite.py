"""What a suite of corruptions is: kinds by name, each with one setting a severity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from tcuq.base.checks import integer, known


class Kind(NamedTuple):
    """One kind of corruption.

    Examples
    --------
    >>> from tcuq_lab.corruptions import suite
    >>> fog = suite("cifar10_c").kind("fog")
    >>> fog.home, fog.function, len(fog.settings)
    ('weather', 'fog', 5)
    """

    home: str  # module of this package that has the function
    function: str  # takes examples, `Draws` and a setting; returns examples of the same shape
    settings: tuple[Any, ...]  # one a severity, weakest first

    def call(self) -> Any:
        """Import the function; its libraries are needed only from here on."""
        return getattr(import_module(f".{self.home}", __package__), self.function)


FROZEN, ATTENUATED = "frozen", "attenuated"
BESIDE: Mapping[str, Kind] = MappingProxyType(
    {
        ATTENUATED: Kind("noise", "attenuated", (0.9,)),
        "blank": Kind("noise", "blank", (None,)),
        "saturated": Kind("noise", "saturated", (None,)),
        FROZEN: Kind("noise", "frozen", (None,)),
    }
)
"""Kinds that every suite but those of text knows beside its own: a benign one, and faults of the sensor
under which the accuracy collapses. No list of a suite has them; a stream shows them by name."""
FAULTS = tuple(name for name in BESIDE if name != ATTENUATED)
"""Faults of the sensor."""


@dataclass(frozen=True)
class Suite:
    """A named set of corruptions.

    Examples
    --------
    >>> from tcuq_lab.corruptions import suite
    >>> found = suite("mnist_c")
    >>> found.media, found.severities("fog")
    ('pictures', (1,))
    """

    name: str  # name of the suite, such as "cifar10_c"
    about: str  # what it is, in a sentence
    # "pictures" (uint8, channels last), "sound" (int16 at 16 kHz), "text" (uint8 chunks) or "motion" (uint8
    # windows of samples, channels last)
    media: str
    kinds: Mapping[str, Kind]  # corruption types by name
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
