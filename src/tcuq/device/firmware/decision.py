"""What a firmware makes of the posteriors: one of four rules, each a file of C in `firmware/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...base.checks import integer, number
from ...monitor.params import Params

ONE = 65536


@dataclass(frozen=True)
class Label:
    """The label and its confidence: BASE, and the mean posterior of several members."""


@dataclass(frozen=True)
class Conformal:
    """How rare a doubt is among clean examples.

    Parameters
    ----------
    tops : sequence of int
        The largest posterior of every clean example, 0 to 255.
    """

    tops: Sequence[int]

    def table(self) -> list[int]:
        """Return 1 minus the p-value of every largest posterior, Q0.16.

        Examples
        --------
        >>> table = Conformal((100, 200, 200)).table()
        >>> table[99], table[100], table[200], table[255]
        (49152, 32768, 0, 0)
        """
        tops = [integer("top", top, 0, 255) for top in self.tops]
        whole = 1 + len(tops)
        # As doubtful or more: those with a top as low or lower.
        rare = (Fraction(1 + sum(top <= each for top in tops), whole) for each in range(256))
        return [min(ONE - 1, int(ONE * (1 - share))) for share in rare]


@dataclass(frozen=True)
class Vote:
    """The share of the last labels that differ from the present one.

    Parameters
    ----------
    last : int
        Labels that vote, the present one among them, 1 to 64.
    weight : float
        What 1 - max p adds to the share, 0 to 1.
    """

    last: int = 5
    weight: float = 0.02

    def __post_init__(self) -> None:
        integer("last", self.last, 1, 64)
        number("weight", self.weight, 0, 1)


@dataclass(frozen=True)
class Watch:
    """The monitor.

    Parameters
    ----------
    params : Params
    """

    params: Params


Rule = Label | Conformal | Vote | Watch
