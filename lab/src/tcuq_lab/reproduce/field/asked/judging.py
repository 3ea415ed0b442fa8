"""What a variant does on the streams of one network: figures that all variants have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.log.log import Log
from tcuq.metrics.inputs import Bools, Floats
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import Params

from ..alarming.counting import costly_sources, events, scene_of
from ..experiment import Key
from ..intervals import Drawn, drawn
from ..plan import UNTOLD
from ..stretch_figures import Auroc, EventShare, Figure, LeftAt, Mean, Median
from ..units import Shown, Unit

PREDICTION_AUROC, OWN_AUROC = "prediction error AUROC", "error AUROC"
LEFT, ERRORS = "errors at 90 %", "errors"
FOUND, DELAY, CLEAN_ON = "found", "delay", "clean on"
ABSTAINED, ANSWERED = "abstained", "errors answered"
PACED = "class 16"
"""The law whose streams tell what a source costs, as they show examples as they are recorded."""
SHUFFLED, UNSHUFFLED = "shuffled steps", "class 1"
"""Streams without any persistence: the steps of class 1, whose shifts last, in random order."""

Steps = npt.NDArray[Any]


def said(params: Params, log: Log) -> Steps:
    """Return what a monitor says to every stretch of a log, a fresh one to each.

    Parameters
    ----------
    params : Params
    log : Log
    """
    features = log.features if params.features else None
    parts = [
        Monitor(params).run(log.probs[piece], None if features is None else features[piece])
        for piece in log.pieces()
    ]
    return np.concatenate([np.asarray(part) for part in parts])


def shuffled(shown: Shown, log: Log) -> tuple[Shown, Log]:
    """Return the same steps in random order within each stretch.

    Parameters
    ----------
    shown : Shown
    log : Log
        Of the same stream.
    """
    rng = np.random.default_rng(len(shown))
    order = np.concatenate(
        [piece.start + rng.permutation(piece.stop - piece.start) for piece in log.pieces()]
    )
    mixed = replace(
        shown, labels=shown.labels[order], shifts=shown.shifts[order], sources=shown.sources[order]
    )
    return mixed, log.take(order)


class Judge:
    """Figures of one network; rows of one stream draw the same stretches.

    Parameters
    ----------
    unit : Unit
    laws : iterable of str
        Of the test streams.

    Attributes
    ----------
    figures : dict of Key to Drawn
    """

    def __init__(self, unit: Unit, laws: Iterable[str]) -> None:
        self.unit, self.laws = unit, tuple(laws)
        self.figures: dict[Key, Drawn] = {}
        self._seen: dict[str, tuple[Shown, Log]] = {}
        self._costly: list[str] | None = None

    def seen(self, role: str) -> tuple[Shown, Log]:
        """Return what a stream shows, and its log without labels."""
        if role not in self._seen:
            kind, _, law = role.partition(" ")
            if law == SHUFFLED:
                self._seen[role] = shuffled(*self.seen(f"{kind} {UNSHUFFLED}"))
            else:
                self._seen[role] = self.unit.shown(role), self.unit.log(role, labels=False)
        return self._seen[role]

    def put(
        self,
        law: str,
        row: str,
        column: str,
        figure: Figure,
        fit: str = UNTOLD,
        part: str = "",
        events: int = 0,
    ) -> None:
        """Keep a figure of a law's test stream.

        Parameters
        ----------
        law, row, column : str
        figure : Figure
        fit : str
        part : str
            Appended to the name of the stream where a figure is of a part of its steps.
        events : int
            How many it is a share of, where it is a share of events.
        """
        role = f"test {law}"
        shown, _ = self.seen(role)
        name = f"{self.unit.task} {self.unit.seed} {role}"
        found = drawn(figure, shown.stretches, name)
        self.figures[Key(law + part, row, fit, column)] = found._replace(events=float(events))

    def ranks(self, row: str, law: str, risk: Floats, fit: str = UNTOLD, left: bool = False) -> None:
        """Judge a risk of the network's prediction.

        Parameters
        ----------
        row, law : str
        risk : array of T numbers
        fit : str
        left : bool
            Also count the errors that are left at 90 % coverage, which takes a second.
        """
        shown, log = self.seen(f"test {law}")
        wrong = log.probs.argmax(axis=1) != shown.labels
        self.put(law, row, PREDICTION_AUROC, Auroc(risk, wrong, shown.segments, shown.judged), fit)
        if left:
            self.put(law, row, LEFT, LeftAt(risk, wrong, shown.segments, 0.9, shown.judged), fit)

    def prediction(self, row: str, params: Params, left: bool = False, alarm: bool = False) -> None:
        """Judge a monitor that speaks of the prediction, on all laws.

        Parameters
        ----------
        row : str
        params : Params
        left, alarm : bool
            Whether errors at 90 % coverage, and the alarm, are judged too; no alarm where steps are shuffled,
            as no shift lasts.
        """
        for law in self.laws:
            steps = said(params, self.seen(f"test {law}")[1])
            self.ranks(row, law, steps["risk"], left=left)
            if alarm and law != SHUFFLED:
                self.alarms(row, law, np.asarray(steps["alarm"] > 0))

    def alarm(self, row: str, params: Params) -> None:
        """Judge the alarm of a monitor alone, on all laws whose shifts last."""
        for law in self.laws:
            if law != SHUFFLED:
                steps = said(params, self.seen(f"test {law}")[1])
                self.alarms(row, law, np.asarray(steps["alarm"] > 0))

    def answer(self, row: str, params: Params) -> None:
        """Judge a monitor that speaks of its own answer, on all laws."""
        for law in self.laws:
            shown, log = self.seen(f"test {law}")
            steps = said(params, log)
            wrong = steps["answer"] != shown.labels
            given = shown.segments, shown.judged
            self.put(law, row, OWN_AUROC, Auroc(steps["risk"], wrong, *given))
            self.put(law, row, ERRORS, Mean(wrong, *given))
            self.put(law, row, LEFT, LeftAt(steps["risk"], wrong, shown.segments, 0.9, shown.judged))

    def decisions(self, row: str, params: Params) -> None:
        """Count what is abstained on, and the errors of the prediction among the other steps."""
        for law in self.laws:
            shown, log = self.seen(f"test {law}")
            steps = said(params, log)
            wrong, kept = steps["prediction"] != shown.labels, shown.judged & ~steps["abstain"]
            self.put(law, row, ABSTAINED, Mean(steps["abstain"], shown.segments, shown.judged))
            self.put(law, row, ANSWERED, Mean(wrong, shown.segments, kept))

    def alarms(self, row: str, law: str, on: Bools) -> None:
        """Judge an alarm on one law: costly shifts found, how late, and clean steps under it."""
        shown, _ = self.seen(f"test {law}")
        self.put(law, row, CLEAN_ON, Mean(on, shown.segments, shown.shifts == 0))
        scene = scene_of(shown)
        found = events(on.reshape(scene.shifted.shape), scene)
        kept = np.isin(np.array(found.sources, dtype=np.str_), self.costly)
        if not kept.any():
            return
        stretch, delays = found.stretch[kept], found.delays[kept]
        share = EventShare(np.isfinite(delays), stretch, shown.stretches)
        self.put(law, row, FOUND, share, events=len(delays))
        self.put(law, row, DELAY, Median(delays, stretch, shown.stretches))

    @property
    def costly(self) -> list[str]:
        """Sources that cost enough accuracy to be found."""
        if self._costly is None:
            self._costly = costly_sources(self.unit.error_rates(f"test {PACED}"))
        return self._costly
