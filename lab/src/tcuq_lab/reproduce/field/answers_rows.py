"""Rows of the experiment `answers`: what each says to a stream, with every fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.log.log import Log
from tcuq.log.quantize import quantize_probs
from tcuq.metrics.inputs import Floats, Ints
from tcuq.monitor.monitor import run_over

from ...methods.method import Answer, Method, Observed
from ...methods.objective import errors_alone
from ...methods.rules import LAST, TIE, Vote
from ...methods.scores import unsure
from ..rows import Row
from .plan import CLEAN_DEV, CLEAN_OF
from .units import PLAIN, Unit

TCUQ, TCUQ_ANSWER, TCUQ_BARE = "tcuq", "tcuq answer", "tcuq no labels"
OURS = (TCUQ, TCUQ_ANSWER, TCUQ_BARE)
INT8 = "int8 confidence"
UNFITTED = ("base", INT8, "entropy", "temperature", "conformal", "vote_8", "mean_8", "belief")
"""Rows that no stream is chosen for; a temperature and conformal doubts come from clean examples."""
TUNED = (
    "mc_dropout",
    "deep",
    "early_exit",
    "hydra",
    "odin",
    "godin",
    "postnet",
    "vote",
    "mean_posterior",
    "median",
    "suppress",
    "mean_answer",
)
"""Rows that try `TRIALS` settings on a development stream."""
LEARNED = ("confidence_norm", "belief_told", "hmm")
"""Rows that learn something from a development stream."""
RIVALS = (*UNFITTED, *TUNED, *LEARNED)
OWN_CLASS = ("vote_8", "mean_8", "belief", "belief_told", "hmm", "mean_answer")
"""Rules over the plain network that answer with a class of their own."""


@dataclass(frozen=True, eq=False)
class Rated:
    """What a row says to a stream.

    Parameters
    ----------
    predictions : array of T integers
        The classes that it answers with.
    score : array of T numbers
        Risk of these.
    prediction_score : array of T numbers, optional
        Risk of the plain network's prediction; None where the row does not speak of it.
    """

    predictions: Ints
    score: Floats
    prediction_score: Floats | None = None


class Streams:
    """What networks said to the streams of a unit, each put together once.

    Parameters
    ----------
    unit : Unit
    row : Row
        Those that share its networks and recordings may use the same.
    """

    def __init__(self, unit: Unit, row: Row = PLAIN) -> None:
        self.unit, self.row = unit, row
        self._seen: dict[str, Observed] = {}

    def seen(self, role: str) -> Observed:
        """Return what a stream shows to a method."""
        if role not in self._seen:
            self._seen[role] = self.unit.observed(role, self.row)
        return self._seen[role]


def shares_networks(row: Row) -> bool:
    """Return whether a row reads what was recorded of the plain network.

    Examples
    --------
    >>> from tcuq_lab.reproduce.rows import row_of
    >>> [shares_networks(row_of(name)) for name in ("entropy", "deep", "odin")]
    [True, False, False]
    """
    return (row.method.recipe, row.method.bank) == (PLAIN.method.recipe, PLAIN.method.bank)


def speaks_of_prediction(row: Row) -> bool:
    """Return whether a row answers with the plain network's prediction.

    Examples
    --------
    >>> from tcuq_lab.reproduce.rows import row_of
    >>> [speaks_of_prediction(row_of(name)) for name in ("vote", "vote_8", "odin", "deep")]
    [True, False, True, False]
    """
    method = row.method
    return method.recipe == "plain" and method.members == 1 and method.name not in OWN_CLASS


def rated(row: Row, found: Answer, seen: Observed, prediction: Ints) -> Rated:
    """Return what a method says of its own class and of the plain network's prediction.

    A row with a class of its own doubts the prediction as far as its posterior does: 1 less its share there.

    Parameters
    ----------
    row : Row
    found : Answer
    seen : Observed
        What the answer is about.
    prediction : array of T integers
        Of the plain network.
    """
    score = np.asarray(found.score, dtype=np.float64)
    if speaks_of_prediction(row):
        return Rated(found.predictions(), score, score)
    if row.method.name == "vote_8":  # its shares are few values; ties are ordered as for its own class
        about = Vote().score(seen, {"last": LAST, "weight": TIE}).score
        return Rated(found.predictions(), score, np.asarray(about, dtype=np.float64))
    return Rated(found.predictions(), score, unsure(found.probs, prediction))


def int8_confidence(seen: Observed, prediction: Ints) -> Rated:
    """Return 1 less the confidence that a monitor reads, which has 255 values.

    Examples
    --------
    >>> int8_confidence(Observed(np.array([[0.999, 0.001], [0.75, 0.25]])), np.array([0, 0])).score.tolist()
    [0.00390625, 0.25]
    """
    given = quantize_probs(seen.probs)
    score = 1 - (given.max(axis=1).astype(np.float64) + 128) / 256
    return Rated(np.asarray(given.argmax(axis=1), dtype=np.int64), score, score)


class Fits:
    """A method fitted to development streams, once to each, by how well it finds its own errors.

    The experiment judges by errors, so settings are chosen by them too: by the AUROC of errors over all
    judged steps, or, where settings answer differently, by the area under risk and coverage.

    Parameters
    ----------
    streams : Streams
    row : Row
        Of the same networks.
    """

    def __init__(self, streams: Streams, row: Row) -> None:
        self._streams, self._row = streams, row
        self._found: dict[str, Method] = {}
        unit = streams.unit
        self._clean = None
        if row.method.learn is not Method.learn:
            banks = unit.recordings.banks(unit.task, "dev", unit.seed, [row], ["clean"])
            self._clean = banks[row.label]["clean"], unit.recordings.part(unit.task, "dev").y

    def get(self, role: str) -> Method:
        """Return the method fitted to a stream; "" fits it to none."""
        if role not in self._found:
            method = self._row.method()
            method.measure = errors_alone
            if self._clean is not None:
                method.learn(*self._clean)
            if role:
                method.fit(self._streams.unit.labeled(role, self._streams.row))
            self._found[role] = method
        return self._found[role]

    def choice(self, role: str) -> Any:
        """Return what was chosen on a stream, as JSON takes it."""
        method = self.get(role)
        found = {name: _plain(value) for name, value in method.setting.items()}
        for name in ("temperature", "coef", "bias"):
            value = vars(method).get(name)
            if value is not None:
                found[name] = _plain(value)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, np.ndarray)):
        return [_plain(each) for each in value]
    return round(float(value), 6) if isinstance(value, (float, np.floating)) else value


def monitored(params: Params, seen: Observed) -> npt.NDArray[Any]:
    """Return what monitors say to a stream, a fresh one to each stretch.

    Parameters
    ----------
    params : Params
    seen : Observed
    """
    log = Log(seen.probs, seen.features, segments=seen.segments)
    return np.concatenate([run_over(Monitor(params), log.take(piece)) for piece in log.pieces()])


class Monitors:
    """Monitors of the plain network as `tcuq.fit` makes them, once for each development stream.

    Parameters
    ----------
    unit : Unit
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._fits: Mapping[str, Callable[[str], Params]] = {
            TCUQ: lambda role: self._labeled(role, "prediction"),
            TCUQ_ANSWER: lambda role: self._labeled(role, "answer"),
            TCUQ_BARE: lambda role: self._bare(role, "answer"),
            "prediction without labels": lambda role: self._bare(role, "prediction"),
        }
        self._found: dict[tuple[str, str], Params] = {}

    def get(self, row: str, role: str) -> Params:
        """Return the monitor of a row, fitted to a stream."""
        if (row, role) not in self._found:
            self._found[row, role] = self._fits[row](role)
        return self._found[row, role]

    def rated(self, row: str, role: str, seen: Observed) -> Rated:
        """Return what a row says to a stream."""
        steps = monitored(self.get(row, role), seen)
        if row == TCUQ:
            return Rated(steps["prediction"].astype(np.int64), steps["risk"], steps["risk"])
        about = None
        if row == TCUQ_BARE:  # of the prediction, a monitor that is asked about it speaks
            about = monitored(self.get("prediction without labels", role), seen)["risk"]
        return Rated(steps["answer"].astype(np.int64), steps["risk"], about)

    def choice(self, row: str, role: str) -> str:
        """Return in one line what a fit decided."""
        params = self.get(row, role)
        notes = params.notes["fit"]
        said = [
            f"signals {' '.join(params.signals)}",
            f"{notes['steps']} steps",
            f"persistence {notes.get('persistence', float('nan')):.3g}",
            f"alarm {notes.get('evidence', {}).get('chosen', 'unknown')}",
            f"{len(notes.get('warnings', ()))} warnings",
        ]
        return ", ".join(said)

    def _labeled(self, role: str, about: Any) -> Params:
        log, clean = self._unit.log(role), self._unit.clean_log(role)
        return fit(log, clean=clean, about=about, force=True, options=FitOptions(explain=False))

    def _bare(self, role: str, about: Any) -> Params:
        of = CLEAN_OF.get(role, CLEAN_DEV)
        log, clean = (self._unit.log(each, labels=False) for each in (role, of))
        return fit(log, clean=clean, about=about, force=True, options=FitOptions(explain=False))
