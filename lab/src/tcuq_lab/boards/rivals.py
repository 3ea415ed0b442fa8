"""What the rules of rivals and our projection cost on a board."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np

from tcuq.base.checks import integer, number
from tcuq.export import integer_projection
from tcuq.monitor.params import Params
from tcuq_device.cost.stock import CLASSES, FEATURES, WIDE
from tcuq_device.firmware.decision import Rule
from tcuq_device.tools import PACKAGE

ONE = 65536
SOURCES = Path(str(resources.files("tcuq_lab"))) / "boards" / "c"


@dataclass(frozen=True)
class ConformalRule(Rule):
    """How rare a doubt is among clean examples."""

    tops: Sequence[int]  # the largest posterior of every clean example, 0 to 255

    def table(self) -> list[int]:
        """Return 1 minus the p-value of every largest posterior, Q0.16."""
        tops = [integer("top", top, 0, 255) for top in self.tops]
        whole = 1 + len(tops)
        # As doubtful or more: those with a top as low or lower.
        rare = (Fraction(1 + sum(top <= each for top in tops), whole) for each in range(256))
        return [min(ONE - 1, int(ONE * (1 - share))) for share in rare]

    def files(self) -> Sequence[Path]:
        """Return the files of C to compile."""
        return [SOURCES / "rule_conformal.c"]

    def texts(self) -> Mapping[str, str]:
        """Return the table as C."""
        rows = textwrap.wrap(", ".join(f"{entry}u" for entry in self.table()), 100)
        lines = ["#include <stdint.h>", "", "extern const uint16_t conformal_score[256];"]
        lines += ["const uint16_t conformal_score[256] = {", *(f"    {row}" for row in rows), "};", ""]
        return {"conformal_score.c": "\n".join(lines)}


@dataclass(frozen=True)
class VoteRule(Rule):
    """The share of the last predictions that differ from the present one."""

    last: int = 5  # labels that vote, the present one among them, 1 to 64
    weight: float = 0.02  # what 1 - max p adds to the share, 0 to 1

    def __post_init__(self) -> None:
        integer("last", self.last, 1, 64)
        number("weight", self.weight, 0, 1)

    def files(self) -> Sequence[Path]:
        """Return the files of C to compile."""
        return [SOURCES / "rule_vote.c"]

    def macros(self) -> Mapping[str, int]:
        """Return how many predictions vote, and the weight in Q0.16.

        Examples
        --------
        >>> VoteRule().macros()
        {'LAST': 5, 'WEIGHT': 1311}
        """
        return {"LAST": self.last, "WEIGHT": round(self.weight * ONE)}


EXPORTED = PACKAGE / "export" / "c"

PROJECTION = f"projection {WIDE} to {FEATURES}"


@dataclass(frozen=True)
class Project(Rule):
    """A projection with arbitrary weights; its first output is the score."""

    def files(self) -> Sequence[Path]:
        """Return the files of C to compile."""
        return [SOURCES / "rule_project.c", EXPORTED / "tcuq_projection.c"]

    def texts(self) -> Mapping[str, str]:
        """Return the header of the projection and its numbers."""
        made = integer_projection(
            np.sin(np.arange(WIDE * FEATURES)).reshape(WIDE, FEATURES),
            np.zeros(FEATURES),
            0.1,
            -128,
            Params(classes=CLASSES, features=FEATURES, feature_scale=0.5),
        )
        lines = ['#include "tcuq_projection.h"', "extern const tcuq_projection_t projection;"]
        for kind, name, values in (
            ("int8_t", "matrix", made.matrix.ravel()),
            ("int32_t", "bias", made.bias),
            ("uint8_t", "shift", made.shift),
        ):
            lines.append(f"static const {kind} {name}[] = {{{', '.join(map(str, values.tolist()))}}};")
        lines.append(f"const tcuq_projection_t projection = {{matrix, bias, shift, {WIDE}u, {FEATURES}u}};")
        header = (EXPORTED / "tcuq_projection.h").read_text(encoding="utf-8")
        return {"tcuq_projection.h": header, "projection.c": "\n".join([*lines, ""])}

    def macros(self) -> Mapping[str, int]:
        """Return the number of features that come out."""
        return {"NARROW": FEATURES}
