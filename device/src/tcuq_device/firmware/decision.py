"""Decision rules: what a firmware does with the posteriors at every step, in C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tcuq.base.errors import InputError
from tcuq.export import sources as exported
from tcuq.export.contents import build_mask
from tcuq.monitor.params import Params

from ..tools import HERE, PACKAGE

FIRMWARE = HERE / "firmware"
CORE = PACKAGE / "core"


class Rule(ABC):
    """A rule for firmware: files of C that define `rule_start` and `rule_step` of `firmware/rule.h`.

    Subclass it to measure a rule of your own beside the monitor. Where `monitors` is False, a decision is a
    prediction and a score.
    """

    monitors: ClassVar[bool] = False

    @abstractmethod
    def files(self) -> Sequence[Path]:
        """Return the files of C to compile; `rule_top` of the header needs no file of its own."""

    def texts(self) -> Mapping[str, str]:
        """Return generated files by name; what ends in .c is compiled with the rule."""
        return {}

    def macros(self) -> Mapping[str, int]:
        """Return constants of the rule: ``{"LAST": 5}`` becomes ``PLAN_LAST``."""
        return {}

    def options(self) -> Sequence[str]:
        """Return options of the compiler for every file of the firmware."""
        return ()

    def gauges(self) -> Sequence[str]:
        """Return the names of the gauges of the input that a step reads."""
        return ()

    def check(self, name: str, classes: int, features: int) -> None:  # noqa: B027
        """Refuse a firmware with other classes and features than the rule is for."""


@dataclass(frozen=True)
class Prediction(Rule):
    """The prediction and its confidence: a network without a monitor."""

    def files(self) -> Sequence[Path]:
        """Return the files of C to compile."""
        return [FIRMWARE / "rule_prediction.c"]


@dataclass(frozen=True)
class Watch(Rule):
    """The monitor."""

    params: Params
    monitors: ClassVar[bool] = True

    def files(self) -> Sequence[Path]:
        """Return the files of C to compile: the monitor's core among them."""
        return [FIRMWARE / "rule_monitor.c", *sorted(CORE.glob("*.c"))]

    def texts(self) -> Mapping[str, str]:
        """Return the parameters as C."""
        texts = exported(self.params, "monitor")
        return {name: texts[name] for name in ("monitor.h", "monitor.c")}

    def options(self) -> Sequence[str]:
        """Return what leaves out the code of signals that are not used."""
        return [f"-DTCUQ_SIGNALS={build_mask(self.params)}u"]

    def gauges(self) -> Sequence[str]:
        """Return the names of the gauges of the input that a step reads."""
        return () if self.params.sight is None else self.params.sight.gauges

    def check(self, name: str, classes: int, features: int) -> None:
        """Refuse a firmware with other classes and features than the monitor was fitted to."""
        wanted, found = (self.params.classes, self.params.features), (classes, features)
        if wanted[0] != found[0] or (wanted[1] and wanted[1] != found[1]):
            raise InputError(
                "conflict",
                f"the monitor of firmware {name} is for {wanted} classes and features, not {found}",
            )
