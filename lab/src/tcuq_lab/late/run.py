"""Error control on the streams of the benchmark: settings, methods and what they reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq import FitOptions, Log, Monitor, Params, fit

from ..bench.files import Benchmark, Task
from ..bench.interface import MAX_ERROR, Dev
from .rules import RULES, Fixed

SLACK = 0.02
"""By how much the error of a stream's second half may be above it."""

REACHABLE = 0.02
"""Share of the second half that one threshold on the risk must accept at `MAX_ERROR`, to be within reach."""

OURS = "tcuq"


@dataclass(frozen=True)
class Setting:
    """Which steps are labeled, and how late.

    Parameters
    ----------
    rate : float
        Share of steps.
    delay : int
        Steps.
    how : {"random", "asked", "wrong"}
        At random; with a chance that follows the uncertainty; only accepted steps that were wrong.
    """

    rate: float
    delay: int
    how: str = "random"


FIRST = Setting(0.01, 20)
SETTINGS = (
    FIRST,
    *(Setting(rate, delay) for rate in (0.001, 0.01, 0.1) for delay in (0, 1000)),
    Setting(0.01, 20, "asked"),
    Setting(0.01, 20, "wrong"),
)


@dataclass(frozen=True)
class Row:
    """What a method reached on one stream.

    Parameters
    ----------
    labels : int
        How many came.
    error, accepted : float
        Share of wrong answers among accepted steps of the second half, None without any; share accepted.
    reachable : bool
        Whether one threshold on the risk would keep `MAX_ERROR` there.
    debt : float, optional
        Most of the error debt, as a share of what is certain.
    """

    task: str
    stream: str
    method: str
    rate: float
    delay: int
    how: str
    labels: int
    error: float | None
    accepted: float
    reachable: bool
    debt: float | None


def run(benchmark: Benchmark, tell: Callable[[int, int, str], None] | None = None) -> list[dict[str, Any]]:
    """Run all methods: ours in all settings, rivals in the first."""
    found: list[Row] = []
    total = sum(len(task.tests) for task in benchmark.tasks)
    for task in benchmark.tasks:
        dev = task.dev(labels=True)
        params = {memory: fitted(dev, memory) for memory in sorted({_memory(each) for each in SETTINGS})}
        for name in task.tests:
            for setting in SETTINGS:
                found += _stream(task, name, params[_memory(setting)], setting)
            if tell is not None:
                tell(len({(row.task, row.stream) for row in found}), total, f"{task.name}, {name}")
    return [asdict(row) for row in found]


def _memory(setting: Setting) -> int:
    return min(1024, max(16, setting.delay + 24))


def fitted(dev: Dev, memory: int) -> Params:
    """Return a monitor that takes labels of so many steps back, and abstains for no other reason."""
    log = Log(dev.probs, dev.features, dev.labels, dev.stretches, dev.shifted)
    clean = Log(dev.clean.probs, dev.clean.features, segments=dev.clean.stretches)
    options = FitOptions(explain=False, max_error=MAX_ERROR, feedback=memory)
    return fit(log, clean=clean, budget=0.0, level=0.15, force=True, options=options)


def _stream(task: Task, name: str, params: Params, setting: Setting) -> Iterator[Row]:
    shown = task.streams[name]
    judged = shown.labels >= 0
    plain = params.replace(feedback=None)
    alone = _watched(Monitor(plain), task.given(name))
    wrong = alone["answer"] != shown.labels
    half = np.arange(len(shown)) >= len(shown) // 2
    second = half & judged
    reachable = _reachable(alone["risk"][second], wrong[second])
    draws = np.random.default_rng(0).random(len(shown))
    chance = np.full(len(shown), setting.rate)
    if setting.how == "asked":
        spread = np.sqrt(alone["uncertainty"] * (1 - alone["uncertainty"])) + 0.02
        chance = np.minimum(1, setting.rate * spread / spread.mean())
    asked = judged & (draws < (0.1 if setting.how == "wrong" else chance))
    methods: list[tuple[str, Any]] = [(OURS, None)]
    if setting == FIRST:
        assert params.feedback is not None
        methods += [(rule.name, rule(params.feedback.reference, MAX_ERROR)) for rule in RULES]
    for method, rule in methods:
        debt: float | None = None
        if rule is None:
            accepted, debt = _ours(task, name, params, wrong, asked, setting)
        else:
            accepted = _rival(rule, alone["risk"], wrong, asked, setting)
        kept = second & accepted
        error = float(wrong[kept].mean()) if kept.any() else None
        share = float(accepted[second].mean())
        labels = int((asked & (wrong & accepted)).sum() if setting.how == "wrong" else asked.sum())
        where = (task.name, name, method, setting.rate, setting.delay, setting.how, labels)
        yield Row(*where, error, share, reachable, debt)


def _watched(monitor: Monitor, pieces: list[Any]) -> npt.NDArray[Any]:
    found = []
    for piece in pieces:
        monitor.reset()
        found.append(monitor.run(piece.probs, piece.features))
    return np.concatenate(found)


def _reachable(risk: npt.NDArray[Any], wrong: npt.NDArray[Any]) -> bool:
    errors = np.cumsum(wrong[np.argsort(risk, kind="stable")]) / np.arange(1, len(wrong) + 1)
    held = np.flatnonzero(errors <= MAX_ERROR)
    return bool(len(held) and held[-1] + 1 >= REACHABLE * len(wrong))


def _ours(
    task: Task, name: str, params: Params, wrong: npt.NDArray[Any], asked: npt.NDArray[Any], setting: Setting
) -> tuple[npt.NDArray[np.bool_], float]:
    """Return what the core accepts, and the most of its error debt."""
    monitor, first = Monitor(params), 0
    accepted = np.zeros(len(wrong), dtype=bool)
    most = 0.0
    for piece in task.given(name):
        monitor.reset()
        stop = first + len(piece)
        due = np.flatnonzero(asked[max(0, first - setting.delay) : max(0, stop - setting.delay)])
        due += max(0, first - setting.delay)
        edges = np.unique([first, *(due + setting.delay + 1), stop])
        for start, end in pairwise(edges.tolist()):
            at = slice(start - first, end - first)
            steps = monitor.run(piece.probs[at], piece.features[at])
            accepted[start:end] = steps["abstain"] == 0
            step = end - 1 - setting.delay
            if (
                step < 0
                or not asked[step]
                or (setting.how == "wrong" and not (wrong[step] and accepted[step]))
            ):
                continue
            monitor.feedback(int(step), not wrong[step])
            most = max(most, monitor.error_debt)
        first = stop
    return accepted, most / params.error_constant


def _rival(
    rule: Fixed, risk: npt.NDArray[Any], wrong: npt.NDArray[Any], asked: npt.NDArray[Any], setting: Setting
) -> npt.NDArray[np.bool_]:
    accepted = np.zeros(len(risk), dtype=bool)
    for at in range(len(risk)):
        accepted[at] = risk[at] < rule.threshold
        step = at - setting.delay
        if step >= 0 and asked[step]:
            rule.told(float(risk[step]), bool(wrong[step]), bool(accepted[step]))
    return accepted
