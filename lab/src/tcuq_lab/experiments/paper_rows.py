"""Rows of the paper's tables: a method of the lab as it is fitted to the development streams of a dwell."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.metrics.inputs import Floats

from ..harness.declare import Row
from ..harness.types import Answers, Outputs, doubt, together
from ..methods import METHODS
from ..methods.method import Labeled, Method
from ..methods.tcuq import Tcuq
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.versions import PROTOCOL, digest_of
from .paper_streams import PaperUnit

FORMAT = "tcuq fit 1"


class PaperRow:
    """A fitted method, which begins every stretch afresh."""

    def __init__(self, method: Any, network: NetworkRow | None = None) -> None:
        self.method, self.network = method, network

    def evidence(self, seen: Outputs) -> Floats:
        """Return what its alarm adds up on one stretch."""
        found = self.method.answer(seen)
        return np.asarray(found.score if found.evidence is None else found.evidence, dtype=np.float64)

    def watch(self, seen: Outputs) -> Answers:
        """Say risk and class."""
        said = [self.method.answer(each) for each in seen.split()]
        return together([Answers(each.score.astype(np.float64), each.predictions()) for each in said])


class Posteriors(PaperRow):
    """A method of which no more is asked than the posteriors that it stands by."""

    def watch(self, seen: Outputs) -> Answers:
        """Say posteriors, each example without a past."""
        probs = np.asarray(self.method.posteriors(seen), dtype=np.float64)
        return Answers(doubt(probs), probs.argmax(axis=1), probs=probs)


class Clock:
    """The network's answers, and the step number as their score."""

    def watch(self, seen: Outputs) -> Answers:
        """Say the number of each step."""
        return Answers(np.arange(len(seen), dtype=np.float64), seen.probs.argmax(axis=1))


def learned(row: NetworkRow, unit: PaperUnit, role: str) -> tuple[Method, Labeled]:
    """Return a method that has seen clean examples, and the development stream that it is fitted to."""
    method = row.method()
    method.learn(unit.bank("dev", row)["clean"], unit.recordings.part(unit.task, "dev").y)
    truth = unit.truth(role)
    assert truth.kinds is not None
    return method, Labeled(unit.outputs(role, row), truth.labels, truth.kinds)


def fit(row: NetworkRow, unit: PaperUnit, role: str) -> PaperRow:
    """Fit a method, or take up its fit from a file.

    Variants of a row of TCUQ on the same networks follow it: their choice would be the same.
    """
    kind, (method, dev) = row.method, learned(row, unit, role)
    full = next((each for each in METHODS.values() if kind.choice and each.choice == kind.choice), kind)
    leader = method if full is kind else full()
    fit_once(leader, dev, fit_place(row._replace(method=full), unit))
    if isinstance(method, Tcuq) and leader is not method:
        method.follow(leader)
    return PaperRow(method, row)


def fit_posteriors(row: NetworkRow, unit: PaperUnit, role: str) -> Posteriors:
    """Fit no more of a method than its posteriors need."""
    method, dev = learned(row, unit, role)
    method.fit_posteriors(dev)
    return Posteriors(method, row)


def altered(row: NetworkRow, changes: dict[str, Any], unit: PaperUnit, role: str) -> PaperRow:
    """Return a monitor with something changed in its best setting that looks at the past."""
    return PaperRow(fit(row, unit, role).method.altered(**changes), row)


def fit_place(row: NetworkRow, unit: PaperUnit) -> Path:
    """Return the file that keeps the fit of a row; other data, weights or protocols have another."""
    recordings, plan = unit.recordings, unit.plan
    given = recordings.place(unit.task, "dev", unit.seed, row).relative_to(recordings.folder)
    digest = digest_of([plan.name, str(given), recordings.setting.deciding(), PROTOCOL])
    return recordings.folder / "fits" / f"{plan.name}-{row.method.name}-{digest}.json"


def fit_once(method: Method, dev: Labeled, place: Path) -> None:
    """Fit a method to a development stream, or take up its fit from a file; write one where there is none."""
    if not (isinstance(method, Tcuq) and method.keeps_fit):
        method.fit(dev)
    elif place.exists():
        try:
            content = json.loads(place.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise ValueError(f"another format, expected {FORMAT!r}")
            method.restore(dev, content)
        except ValueError as error:
            raise ValueError(f"{place} is not a fit that was kept: {str(error).splitlines()[0]}") from None
    else:
        method.fit(dev)
        content = {"format": FORMAT, **method.fit_record()}
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(content, allow_nan=False) + "\n")


def rows_of(unit: PaperUnit, fitting: Any = fit) -> list[Row]:
    """Return the rows of a unit."""
    return [
        Row(row.label, partial(fitting, row), network=None if row == unit.plain else row)
        for row in unit.networks
    ]
