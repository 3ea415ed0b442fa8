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

    Parameters
    ----------
    home : str
        Module of this package that has the function.
    function : str
        Takes examples, `Draws` and a setting; returns examples of the same shape.
    settings : tuple
        One a severity, weakest first.

    Examples
    --------
    >>> from tcuq_lab.corruptions import suite
    >>> fog = suite("cifar10_c").kind("fog")
    >>> fog.home, fog.function, len(fog.settings)
    ('weather', 'fog', 5)
    """

    home: str
    function: str
    settings: tuple[Any, ...]

    def call(self) -> Any:
        """Import the function; its libraries are needed only from here on.

        Returns
        -------
        callable
            Takes examples, `Draws` and a setting.

        Raises
        ------
        ImportError
            Where a library is missing that the corruption needs.
        """
        return getattr(import_module(f".{self.home}", __package__), self.function)


FROZEN, ATTENUATED = "frozen", "attenuated"
BESIDE: Mapping[str, Kind] = MappingProxyType(
    {
        ATTENUATED: Kind("faults", "attenuated", (0.9,)),
        "blank": Kind("faults", "blank", (None,)),
        "saturated": Kind("faults", "saturated", (None,)),
        FROZEN: Kind("faults", "frozen", (None,)),
    }
)
"""Kinds that every suite but those of text knows beside its own: a benign one, and faults of the sensor
under which the accuracy collapses. No list of a suite has them; a stream shows them by name."""
FAULTS = tuple(name for name in BESIDE if name != ATTENUATED)
"""Faults of the sensor."""


@dataclass(frozen=True)
class Suite:
    """A named set of corruptions.

    Parameters
    ----------
    name : str
        Name of the suite, such as "cifar10_c".
    about : str
        What it is, in a sentence.
    media : str
        "pictures" (uint8, channels last), "sound" (int16 at 16 kHz), "text" (uint8 chunks) or "motion" (uint8
        windows of samples, channels last).
    kinds : mapping of str to Kind
        Corruption types by name.
    seen : tuple of str
        Kinds that development may see; the others are for tests alone.

    Examples
    --------
    >>> from tcuq_lab.corruptions import suite
    >>> found = suite("mnist_c")
    >>> found.media, found.severities("fog")
    ('pictures', (1,))
    """

    name: str
    about: str
    media: str
    kinds: Mapping[str, Kind]
    seen: tuple[str, ...]

    def kind(self, name: str) -> Kind:
        """Return a kind by its name.

        Parameters
        ----------
        name : str
            Corruption type, one of `kinds` or, for pictures and sound, of `BESIDE`.

        Returns
        -------
        Kind
            Its function and its settings.

        Raises
        ------
        ValueError
            For a name that the suite does not have.
        """
        if self.media != "text" and name in BESIDE:
            return BESIDE[name]
        return self.kinds[known(f"corruption of {self.name}", name, self.kinds)]

    def setting(self, name: str, severity: int) -> Any:
        """Return the setting of a kind at a severity, 1 being the weakest.

        Parameters
        ----------
        name : str
            Corruption type, one of `kinds`.
        severity : int
            1 to the number of its severities.

        Returns
        -------
        any
            What the function of the kind takes.

        Raises
        ------
        ValueError
            For a severity that the kind does not have.
        """
        settings = self.kind(name).settings
        return settings[integer(f"severity of {name}", severity, 1, len(settings)) - 1]

    def severities(self, name: str, wanted: Iterable[int] = range(1, 6)) -> tuple[int, ...]:
        """Return those of some severities that a kind has, or its only one.

        Parameters
        ----------
        name : str
            Corruption type, one of `kinds`.
        wanted : iterable of int, default range(1, 6)
            Severities to choose from.

        Returns
        -------
        tuple of int
            Those that the kind has.
        """
        count = len(self.kind(name).settings)
        return (1,) if count == 1 else tuple(each for each in wanted if each <= count)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Kinds that development must not see."""
        return tuple(name for name in self.kinds if name not in self.seen and name != "identity")
