"""Experiment `backbones`: the monitor behind deeper networks, a vision transformer, a transformer of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from tcuq.base.checks import known

from ..corruptions import suite_of
from ..harness.declare import Case, Comparison, Play, Row, combined
from ..harness.figures import Figure
from ..harness.intervals import REPLICATES, Drawn
from ..harness.laws import DEV, UNTOLD, UnitPlan, sizes_of
from ..harness.lines import entries
from ..harness.types import CLEAN
from ..methods.confidence import Base
from ..methods.method import Scored
from ..methods.tcuq import TcuqStandard
from ..metrics.errors import AUROC, NINETY, errors, left, ranking
from ..reproduce.recordings import Recordings
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.units import ONCE, Unit
from .experiment import StreamExperiment
from .run import NoNetworks

TASK_OF: Mapping[str, str] = MappingProxyType(
    {"mobilenetv2": "tinyimagenet20", "resnet50": "tinyimagenet20", "vit": "cifar10", "text": "text"}
)
"""Backbones that are watched, and the dataset of each."""
LAWS = ("class 1", "class 16")
BASE, TCUQ, ACCURACY = "base", "tcuq", "accuracy"


@dataclass(frozen=True)
class BackbonePlan(UnitPlan):
    """Streams of one of these networks."""

    backbone: str = ""

    def __post_init__(self) -> None:
        known("backbone", self.backbone, TASK_OF)
        suite_of(self.task)

    @property
    def network(self) -> str:
        """File of the network, without its ending."""
        return f"{self.backbone}-{self.seed}"

    @property
    def laws(self) -> tuple[str, ...]:
        """Laws of the test streams."""
        return LAWS


def _row(backbone: str) -> NetworkRow:
    return NetworkRow(BASE, Base, "", backbone)


class BackboneUnit(Unit):
    """The streams of one of these networks, which is the one that others are compared with."""

    def __init__(self, plan: BackbonePlan, recordings: Recordings) -> None:
        super().__init__(plan, recordings)
        self.plain, self.backbone = _row(plan.backbone), plan.backbone

    def draws(self, role: str) -> str:
        """Return the name that seeds the replicates of a stream."""
        return f"{self.backbone} {role}"


class Chosen(Scored):
    """The standard monitor, and what it reads."""

    method: TcuqStandard

    @property
    def choice(self) -> dict[str, Any]:
        """Signals and features of the monitor."""
        params, projection = self.method.fitted
        names = {"signals": list(params.signals), "features": params.features, "classes": params.classes}
        return {**names, "projected": projection is not None}


def _monitor(unit: Unit, role: str) -> Chosen:
    found = Chosen(TcuqStandard)
    found.fit(unit.dev(role, True))
    return found


def rows(unit: Unit) -> list[Row]:
    """Return confidence, and the monitor."""
    return [
        Row(BASE, lambda unit, role: Scored(Base), False),
        Row(TCUQ, _monitor, shown=lambda play: play.stream != CLEAN),
    ]


def plays(unit: Unit) -> Iterator[Play]:
    """Give the clean examples, each once, and the streams."""
    yield Play(CLEAN, f"{ONCE} {CLEAN}")
    for law in LAWS:
        yield Play(law, f"test {law}", UNTOLD, DEV)


def judged(case: Case) -> dict[str, Figure | Drawn]:
    """Return the accuracy on clean examples, or errors on a stream."""
    if case.play.stream == CLEAN:
        share = float(1 - case.wrong.mean())
        whole = np.full(REPLICATES, share, dtype=np.float32)
        return {ACCURACY: Drawn(share, whole, events=float(len(case.truth)))}
    return {**errors(case), **ranking(case), **left(case, NINETY)}


@dataclass(frozen=True)
class Backbones(StreamExperiment):
    """One network of each kind; those that are not there are left out."""

    named: ClassVar[Mapping[str, str]] = TASK_OF

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the backbones whose network is not there."""
        return [name for name in self.tasks if not recordings.has(TASK_OF[name], 0, _row(name))]

    def plans(self, recordings: Recordings) -> list[BackbonePlan]:
        """Return the streams of the networks that are there."""
        absent, setting = self.absent(recordings), recordings.setting
        found = [
            BackbonePlan(TASK_OF[name], 0, sizes_of(setting.name), setting.severities, backbone=name)
            for name in self.tasks
            if name not in absent
        ]
        if not found:
            raise NoNetworks(f"{self.name} finds no networks of {', '.join(absent)}: tcuq-lab train")
        return found

    def unit(self, plan: BackbonePlan, recordings: Recordings) -> Unit:
        """Return the streams of a network."""
        return BackboneUnit(plan, recordings)

    def lines(self, figures: Mapping[Any, Mapping[Any, Any]]) -> list[dict[str, Any]]:
        """Return lines that name the backbone in place of the task."""
        return entries(
            line
            for plan, found in figures.items()
            for line in combined(plan.backbone, [found], self.comparisons)
        )


SPEC = Backbones(
    "backbones",
    "Does the monitor work behind other networks",
    rows,
    plays,
    (judged,),
    tuple(Comparison(TCUQ, BASE, column, second_fit="") for column in (AUROC, NINETY)),
    tasks=tuple(TASK_OF),
)
