"""The monitor behind other networks: deeper ones, a vision transformer, a transformer of text.

Each is watched on shuffled streams and on streams of class dwell 16, by its confidence and by the standard
monitor fitted to a development stream of changing pace. Nothing is tuned for any of them.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tcuq._version import VERSION
from tcuq.base.checks import known
from tcuq.metrics import Interval, wilson

from ..corruptions.suite import suite_of
from ..harness.figures import Auroc, Figure, LeftAt, Mean
from ..harness.intervals import LEVEL, REPLICATES, Drawn, difference, drawn, mean
from ..harness.laws import DEV, UNTOLD, StreamSizes, UnitPlan
from ..harness.lines import FORMAT, Line, entries, line
from ..methods.confidence import Base
from ..methods.method import labeled
from ..methods.tcuq import TcuqStandard
from .recordings import Recordings
from .result_files import file_text
from .rows import Row
from .run_size import RunSize
from .units import Unit
from .versions import PROTOCOL, RECORDING

NAME, TITLE = "backbones", "Does the monitor work behind other networks"
TASK_OF: Mapping[str, str] = MappingProxyType(
    {"mobilenetv2": "tinyimagenet20", "resnet50": "tinyimagenet20", "vit": "cifar10", "text": "text"}
)
"""Backbones that are watched, and the dataset of each."""
SETTING = RunSize(
    NAME, 2000, 2000, 10_000, 50_000, (0,), (1, 2, 3, 4, 5), replicates=2000, corrupted_once=True
)
"""One network of each kind, and a part of the test examples; the full setting is for the small networks."""
LAWS = ("class 1", "class 16")
CLEAN = "clean"
ACCURACY, ERRORS, RANKED, LEFT = "accuracy", "errors", "error AUROC", "errors at 90 %"


@dataclass(frozen=True)
class BackbonePlan(UnitPlan):
    """Streams of one of these networks.

    Examples
    --------
    >>> plan = plan_of("vit")
    >>> plan.network, plan.laws, len(plan.stretches("test class 16"))
    ('vit-0', ('class 1', 'class 16'), 12)
    """

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


def plan_of(backbone: str, sizes: StreamSizes | None = None) -> BackbonePlan:
    """Return the streams of a backbone."""
    task = TASK_OF[known("backbone", backbone, TASK_OF)]
    return BackbonePlan(task, 0, sizes or StreamSizes(), SETTING.severities, backbone=backbone)


class Measured(NamedTuple):
    """What one network gives: its figures, and the signals and features that its monitor reads."""

    lines: list[Line]
    choices: dict[str, Any]


def measure(plan: BackbonePlan, recordings: Recordings) -> Measured:
    """Return the figures of one network; their lines name the backbone in place of the task."""
    unit = Unit(plan, recordings)
    rows = [Row("base", Base, "", plan.backbone), Row("tcuq", TcuqStandard, "", plan.backbone)]
    monitor = TcuqStandard()
    monitor.fit(labeled(unit.dev(DEV, True, rows[1])))
    methods = {rows[0]: Base(), rows[1]: monitor}
    clean = recordings.banks(plan.task, "test", plan.seed, rows[:1], [CLEAN])["base"][CLEAN]
    y = recordings.part(plan.task, "test").y
    right = int((clean.probs.argmax(axis=1) == y).sum())
    lines = [line(plan.backbone, CLEAN, "base", "", ACCURACY, _share(right, len(y)), 1)]
    for law in plan.laws:
        role = f"test {law}"
        found: dict[str, dict[str, Figure]] = {}
        truth = unit.truth(role)
        for row, method in methods.items():
            said = method.answer(unit.outputs(role, row))
            wrong = said.predictions() != truth.labels
            found[row.label] = {
                ERRORS: Mean(wrong, truth.stretches),
                RANKED: Auroc(said.score, wrong, truth.stretches),
                LEFT: LeftAt(said.score, wrong, truth.stretches),
            }
        got = {
            (label, column): drawn(figure, truth.count, f"{plan.backbone} {role}")
            for label, figures in found.items()
            for column, figure in figures.items()
        }
        lines += _lines(plan.backbone, law, got)
    params = monitor.params
    choices = {
        "task": plan.task,
        "fitted to": DEV,
        "signals": list(params.signals),
        "features": params.features,
        "projected": monitor.fitted.projection is not None,
        "classes": params.classes,
        "examples": {part: len(recordings.part(plan.task, part).y) for part in ("dev", "test")},
        "types": {"dev": list(suite_of(plan.task).seen), "test": list(plan.types)},
    }
    return Measured(lines, choices)


def _share(count: int, of: int) -> Interval:
    low, high = wilson(count, of)
    return Interval(count / of, low, high, 0)


def _lines(backbone: str, law: str, got: Mapping[tuple[str, str], Drawn]) -> list[Line]:
    fits = {"base": "", "tcuq": UNTOLD}
    lines = [
        line(backbone, law, label, fits[label], column, mean([each]), 1)
        for (label, column), each in got.items()
    ]
    for column in (RANKED, LEFT):
        gap = difference([got["tcuq", column]], [got["base", column]])
        lines.append(line(backbone, law, "tcuq - base", UNTOLD, column, gap, 1))
    return lines


def result_text(
    setting: RunSize,
    sizes: StreamSizes,
    lines: Sequence[Line],
    choices: Mapping[str, Any],
    notes: Sequence[str],
    about: Mapping[str, Any],
) -> str:
    """Return the result file."""
    content = {
        "format": FORMAT,
        "name": NAME,
        "title": TITLE,
        "setting": {
            "name": setting.name,
            "networks": {name: TASK_OF[name] for name in choices},
            "seeds": list(setting.seeds),
            "examples": {part: setting.of(part) for part in ("dev", "test")},
            "severities": list(setting.severities),
            "sizes": asdict(sizes),
            "replicates": REPLICATES,
            "level": LEVEL,
        },
        "recording": RECORDING,
        "protocol": PROTOCOL,
        "versions": {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "notes": list(notes),
        "choices": dict(choices),
        **about,
    }
    return file_text(content, entries(lines))
