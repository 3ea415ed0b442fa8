"""The monitors that are measured on boards: stock parameters, no fit, no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tcuq.export import integer_projection
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.heads import EvidenceHead, InstantHead
from tcuq.monitor.params import Params
from tcuq.monitor.signals import STOCK_INSTANT, STOCK_STEADY, profile_signals
from tcuq_device.firmware.decision import Rule
from tcuq_device.tools import PACKAGE

from .rival_rules import SOURCES

EXPORTED = PACKAGE / "export" / "c"

CLASSES, FEATURES, WIDE = 10, 32, 64

STANDARD = ("standard", "standard, bet", "standard, posteriors alone")
PAPER = ("paper", "paper, posteriors alone")


PROJECTION = f"projection {WIDE} to {FEATURES}"
"""What is measured beside the monitors: wide features become theirs."""


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


def monitors() -> dict[str, Params]:
    """Return the monitors that are measured, by profile."""
    found = {name: standard(name) for name in STANDARD}
    for name in PAPER:
        width = 0 if name.endswith("alone") else FEATURES
        found[name] = Params(
            classes=CLASSES,
            features=width,
            feature_zero_point=-128,
            signals=profile_signals(name.partition(",")[0], width),
        )
    return found


def standard(name: str) -> Params:
    """Return a monitor of the standard profile with everything a fit would set, at arbitrary values."""
    width = 0 if name.endswith("alone") else FEATURES
    signals = profile_signals("standard", width)
    draw = np.random.PCG64(3).random_raw(CLASSES * FEATURES) >> np.uint64(57)
    centers = (draw.astype(np.int64) - 128).reshape(CLASSES, FEATURES)
    coef, bias = STOCK_INSTANT
    steady, steady_bias = STOCK_STEADY
    return Params(
        classes=CLASSES,
        features=width,
        feature_zero_point=-128,
        signals=signals,
        lags=(),
        coef=steady,
        bias=steady_bias,
        anchor="belief",
        about="answer",
        instant=InstantHead(coef, bias),
        centers=tuple(map(tuple, centers.tolist())) if width else None,
        horizon=32,
        expected_start=0.9,
        alarm=Alarm(0.0, AlarmSide(0.0, 12.0, clear=8.0), hold=32),
        evidence=EvidenceHead(
            {"odds": 6.0, "disbelief": 4.0, "severity": 16.0} | ({"drift": 8.0} if width else {}),
            [-4.0 - 0.1 * k for k in range(CLASSES)],
            reach=4096,
            bias=-9.0,
            allowance=0.0 if "bet" in name else 0.05,
            bet=(0.9, 0.15) if "bet" in name else None,
        ),
    )
