"""The shape that the parameters of a monitor ask of its input."""

from __future__ import annotations

from typing import NamedTuple

from ..monitor.log import Log
from ..monitor.params import Params
from ..monitor.signals import FEATURE_BASED

_SAID = "as the parameters say"


class Shape(NamedTuple):
    """Number of classes and features that a log must have.

    Parameters
    ----------
    classes, features : int
    needed : bool
        Whether a signal reads features.

    Examples
    --------
    >>> Shape.of(Params(classes=3)).check_row(2, None)
    Traceback (most recent call last):
    ...
    ValueError: probs has 2 values, expected 3 as the parameters say
    """

    classes: int
    features: int
    needed: bool

    @classmethod
    def of(cls, params: Params) -> Shape:
        """Return the shape that parameters ask for."""
        return cls(params.classes, params.features, any(name in FEATURE_BASED for name in params.signals))

    def check_row(self, probs: int, features: int | None) -> None:
        """Refuse a row with another number of values; one sigmoid output stands for two classes."""
        if max(2, probs) != self.classes:
            raise ValueError(f"probs has {probs} values, expected {self.classes} {_SAID}")
        if features is None and self.needed:
            raise ValueError(f"features are missing, expected {self.features} {_SAID}")
        if features is not None and self.features and features != self.features:
            raise ValueError(f"features has {features} values, expected {self.features} {_SAID}")

    def check_log(self, log: Log, where: str) -> None:
        """Refuse a log of another shape; `where` is its name in messages."""
        if log.classes != self.classes:
            raise ValueError(f"{where}: has {log.classes} classes, expected {self.classes} {_SAID}")
        given = self.needed or log.features is not None
        if self.features and given and log.width != self.features:
            raise ValueError(f"{where}: has {log.width} features, expected {self.features} {_SAID}")
