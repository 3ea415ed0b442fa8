"""A projection, which is measured on boards beside the monitors: wide features become theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tcuq.export import integer_projection
from tcuq.monitor.params import Params
from tcuq_device.cost.stock import CLASSES, FEATURES, WIDE
from tcuq_device.firmware.decision import Rule
from tcuq_device.tools import PACKAGE

from .rival_rules import SOURCES

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
