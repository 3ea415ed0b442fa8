"""Rivals of the monitor's alarm: each a score of a step, a statistic over steps, and eight settings.

Every rival tries its settings on the development stream. For each, the limit comes from clean time; kept is
the setting with the least sum of three parts, the same for all rivals:

- the mean delay, in steps, over shifts that cost accuracy (a miss costs the whole shift);
- 250 times the share of clean time under alarm: 250 steps are a mean clean stretch;
- 100 times the share of costly time without alarm: else an alarm that flickers would win by its first rise.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats

from ..harness.types import CLEAN, Answers, Dev, Outputs, Switch, doubt
from ..metrics.alarms import (
    RUN_LENGTH,
    Scene,
    candidates,
    costly_sources,
    events,
    false_starts,
    find_limit,
    rested_sums,
)
from .bets import e_values, expected_rise, jumper, p_values
from .scores import Centers, Neighbors, centers_of, energy, filtered
from .statistics import Ewma, Reference, WindowMean
from .switches import above, adwin, capped, page_hinkley
from .windows import (
    Kernel,
    Principal,
    discrepancy,
    hotelling,
    kernel_of,
    kolmogorov_smirnov,
    principal_of,
    told_apart,
)

PRIMED = 320
"""Clean scores that fill an adaptive window at the start."""
LEAST_STRICT = -2.4
"""Below the limits of ADWIN that are tried: the bound itself holds log(2 log n), 2.4 for a primed window."""


Score = tuple[Any, ...]
"""A score by its name in `SCORES` and what that takes."""
CONFIDENCE: Score = ("confidence",)


@dataclass(frozen=True, eq=False)
class Seen:
    """What a rival sees of a stream: K stretches of T steps."""

    score: Floats  # (K, T): 1 less the largest posterior, or what a method says that learned from labels
    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None = None
    logits: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, parts: Sequence[tuple[Floats, Outputs]]) -> Seen:
        """Return scores and outputs of stretches, all cut to the length of the shortest."""
        pieces = [(score, seen, piece) for score, seen in parts for piece in seen.pieces()]
        steps = min(piece.stop - piece.start for *_, piece in pieces)
        rows = [(score, seen, slice(piece.start, piece.start + steps)) for score, seen, piece in pieces]

        def column(of: Callable[[Outputs], Any]) -> Any:
            return None if of(rows[0][1]) is None else np.stack([of(seen)[at] for _, seen, at in rows])

        score = np.stack([score[at] for score, _, at in rows])
        return cls(
            score,
            column(lambda seen: seen.probs),
            column(lambda seen: seen.features),
            column(lambda seen: seen.extra.get("logits")),
        )

    def vectors(self, which: str) -> npt.NDArray[Any]:
        """Return posteriors or features; posteriors where there are no features."""
        return self.probs if which == "posteriors" or self.features is None else self.features


class Clean:
    """What is known of clean development time."""

    def __init__(self, seen: Seen, settled: Bools) -> None:
        self.reference = Reference.of([seen.score[settled]])
        self.probs = seen.probs[settled]
        self.features = None if seen.features is None else seen.features[settled]
        self._from = seen, settled
        self._scores: dict[tuple[Seen, Score], Floats] = {}
        self._references: dict[Score, Reference] = {CONFIDENCE: self.reference}

    def score(self, seen: Seen, which: Score) -> Floats:
        """Return a score of a stream, (K, T), computed once."""
        if (seen, which) not in self._scores:
            name, *given = which
            self._scores[seen, which] = SCORES[name](self, seen, *given)
        return self._scores[seen, which]

    def keep(self, seen: Seen, which: Score, score: Floats) -> None:
        """Keep a score that came with another."""
        self._scores[seen, which] = score

    def reference_of(self, which: Score) -> Reference:
        """Return what is known of a clean score."""
        if which not in self._references:
            dev, settled = self._from
            self._references[which] = Reference.of([self.score(dev, which)[settled]])
        return self._references[which]

    def standard(self, seen: Seen, scale: str, which: Score = CONFIDENCE) -> Floats:
        """Return scores, or their clean ranks, in clean standard deviations from the clean mean."""
        reference, score = self.reference_of(which), self.score(seen, which)
        if scale == "score":
            return reference.standard(score)
        return np.asarray((reference.rank(score) - 0.5) / reference.rank_sd)

    def bounded(self, seen: Seen, scale: str) -> Floats:
        """Return scores or their clean ranks, both in [0, 1]."""
        return seen.score if scale == "score" else self.reference.rank(seen.score)

    def some(self, scale: str) -> Floats:
        """Return clean scores or ranks in any order."""
        ordered = self.reference.ordered
        rows = (np.arange(PRIMED) + 0.5) * len(ordered) / PRIMED
        picked = np.random.default_rng(3).permutation(ordered[rows.astype(np.int64)])
        return picked if scale == "score" else self.reference.rank(picked)

    def mean(self, scale: str) -> float:
        """Return the clean mean of what `bounded` gives."""
        return self.reference.mean if scale == "score" else 0.5

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """Kernels of posteriors and of features."""
        return {name: kernel_of(rows) for name, rows in self._vectors.items()}

    @cached_property
    def components(self) -> dict[str, Principal]:
        """Principal components of posteriors and of features."""
        return {name: principal_of(rows) for name, rows in self._vectors.items()}

    @cached_property
    def centers(self) -> Centers:
        """Centers of predicted classes."""
        return centers_of(self._vectors["features"], self.probs.argmax(axis=1), self.probs.shape[1])

    @cached_property
    def whole(self) -> dict[str, Centers]:
        """Mean and covariance of all posteriors and of all features."""
        zeros = np.zeros(len(self.probs), dtype=np.int64)
        return {name: centers_of(rows, zeros, 1) for name, rows in self._vectors.items()}

    @cached_property
    def neighbors(self) -> Neighbors:
        """Features in which neighbors are looked for."""
        return Neighbors(self._vectors["features"])

    @property
    def _vectors(self) -> dict[str, npt.NDArray[Any]]:
        return {"posteriors": self.probs, "features": self.probs if self.features is None else self.features}


def _energy(clean: Clean, seen: Seen) -> Floats:
    if seen.logits is None:
        raise ValueError("logits are not recorded, expected them: posteriors do not tell an energy")
    return energy(seen.logits.reshape(-1, seen.logits.shape[2])).reshape(seen.score.shape)


def _distance(clean: Clean, seen: Seen) -> Floats:
    return clean.centers.distances(seen.vectors("features"), seen.probs.argmax(axis=2))


def _neighbors(clean: Clean, seen: Seen, rank: int) -> Floats:
    given = seen.vectors("features")
    found = clean.neighbors.distances(given.reshape(-1, given.shape[2]), RANKS)
    for k, each in zip(RANKS, found.reshape(len(RANKS), *given.shape[:2]), strict=True):
        clean.keep(seen, ("neighbors", k), each)
    return clean.score(seen, ("neighbors", rank))


SCORES: Mapping[str, Callable[..., Floats]] = {
    "confidence": lambda clean, seen: seen.score,
    "energy": _energy,
    "distance": _distance,
    "neighbors": _neighbors,
    "belief": lambda clean, seen, redraw: 1 - filtered(seen.probs, redraw).max(axis=2),
}
"""Scores of a step, the higher the less it looks like clean time, by what else they take."""

Setting = Mapping[str, Any]


class Prepared(NamedTuple):
    """A rival with a setting, and what it has seen."""

    on: Callable[[Floats], Bools]
    path: Callable[[Bools], Floats]


@dataclass(frozen=True)
class Rival:
    """A rival."""

    name: str
    settings: tuple[Setting, ...]
    prepare: Callable[[Clean, Seen, Setting], Prepared]
    clears: str
    row: str = "base"
    proved: float | None = None


def _window(values: Floats) -> Prepared:
    return Prepared(lambda limits: above(values, limits), lambda settled: candidates(values[settled]))


def _sum(added: Floats) -> Prepared:
    def path(settled: Bools) -> Floats:
        tried = candidates(rested_sums(added, settled))
        return tried[tried > 0]

    return Prepared(lambda limits: capped(added, limits), path)


def _window_mean(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    statistic = WindowMean(clean.reference, setting["window"])
    values = clean.standard(seen, setting["scale"], setting.get("of", CONFIDENCE))
    return _window(np.stack([statistic.run(run) for run in values]))


def _hotelling(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    of = setting["of"]
    return _window(hotelling(seen.vectors(of), clean.whole[of], setting["window"]))


def _random(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    """Draw a number a step, from a seed that the first step of a stretch gives; it counts for some steps."""
    hold = setting["hold"]
    found = np.empty(seen.score.shape)
    for row, probs in zip(found, seen.probs, strict=True):
        draws = np.random.default_rng(zlib.crc32(probs[0].tobytes())).random(len(row))
        padded = np.concatenate([np.zeros(hold - 1), draws])
        row[:] = np.lib.stride_tricks.sliding_window_view(padded, hold).max(axis=1)
    return _window(found)


def _clock(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    runs, steps = seen.score.shape
    return _window(np.broadcast_to(np.arange(steps, dtype=np.float64) % setting["period"], (runs, steps)))


def _ewma(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    statistic = Ewma(clean.reference, setting["rate"])
    return _window(np.stack([statistic.run(run) for run in clean.standard(seen, setting["scale"])]))


def _cusum(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    which = setting.get("of", CONFIDENCE)
    return _sum(clean.standard(seen, setting["scale"], which) - setting["allowance"])


def _bocpd(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    values = clean.standard(seen, setting["scale"])
    return _window(expected_rise(values, setting["hazard"], setting["learned"]))


def _adwin(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    values, primed = clean.bounded(seen, setting["scale"]), clean.some(setting["scale"])
    return Prepared(
        lambda limits: adwin(values, limits, setting["clock"], setting["least"], primed),
        lambda settled: LEAST_STRICT + np.geomspace(0.4, 400.0, 16),
    )


def _page_hinkley(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    values = clean.standard(seen, setting["scale"])
    return Prepared(
        lambda limits: page_hinkley(values, limits, setting["allowance"]),
        lambda settled: np.geomspace(1.0, 1000.0, 16),
    )


def _martingale(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    which = setting.get("of", CONFIDENCE)
    reference = clean.reference_of(which)
    p = p_values(reference.rank(clean.score(seen, which)), len(reference.ordered))
    return _sum(jumper(p, setting["rate"], setting["bets"]))


def _e_detector(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    scale = setting["scale"]
    return _sum(e_values(clean.bounded(seen, scale), clean.mean(scale), setting["margin"], setting["stake"]))


def _mmd(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    of = setting["of"]
    return _window(discrepancy(seen.vectors(of), clean.kernels[of], setting["window"]))


def _classifier(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    of = setting["of"]
    return _window(told_apart(seen.vectors(of), clean.components[of], setting["window"]))


def _ks(clean: Clean, seen: Seen, setting: Setting) -> Prepared:
    return _window(
        kolmogorov_smirnov(clean.reference.rank(seen.score), setting["window"], setting["two_sided"])
    )


def _grid(**choices: tuple[Any, ...]) -> tuple[Setting, ...]:
    """Return all combinations."""
    found: list[dict[str, Any]] = [{}]
    for name, values in choices.items():
        found = [{**each, name: value} for each in found for value in values]
    return tuple(found)


SCALES = ("score", "rank")
BELOW = "off while the statistic is below the limit"
SUMMED = "the sum stops at the limit, and the alarm goes off when it is back at 0"
CHANGES = "a rise turns it on; a fall turns it off, and so does a mean that is back at the clean level"
WINDOWS = (8, 16, 32, 64)
"""Windows of means and of distributions."""
# A clean rank is at most 1.7 standard deviations above the mean, a score any number of them.
ALLOWANCES = (
    *_grid(scale=("score",), allowance=(0.25, 0.5, 1.0, 2.0)),
    *_grid(scale=("rank",), allowance=(0.5, 1.0, 1.25, 1.5)),
)
RANKS = (4, 16)
"""Neighbors whose distance is read: not the nearest, as development streams show examples again."""


def _of(*scores: Score) -> tuple[Setting, ...]:
    """Return allowances of a sum of other scores: eight for one of them, four each for two."""
    kept = ALLOWANCES if len(scores) == 1 else ALLOWANCES[1:3] + ALLOWANCES[5:8:2]
    return tuple({"of": score, **each} for score in scores for each in kept)


VECTORS = (
    *_grid(of=("features",), window=(16, 32, 64, 128, 256, 512)),
    *_grid(of=("posteriors",), window=(64, 128)),
)
BETS = (
    *_grid(scale=("score",), margin=(0.02, 0.05), stake=(0.5, 0.9)),
    *_grid(scale=("rank",), margin=(0.15, 0.25), stake=(0.7, 0.97)),
)
PROVED_BETS = _grid(scale=SCALES, margin=(0.02, 0.05), stake=(0.9, 0.98))

RIVALS: tuple[Rival, ...] = (
    Rival("windowed mean", _grid(scale=SCALES, window=WINDOWS), _window_mean, BELOW),
    Rival("EWMA", _grid(scale=SCALES, rate=(1 / 4, 1 / 8, 1 / 16, 1 / 32)), _ewma, BELOW),
    Rival("CUSUM", ALLOWANCES, _cusum, SUMMED),
    Rival("ADWIN", _grid(scale=SCALES, clock=(4, 8), least=(4, 8)), _adwin, CHANGES),
    Rival("Page-Hinkley", _grid(scale=SCALES, allowance=(0.02, 0.08, 0.25, 0.5)), _page_hinkley, CHANGES),
    Rival(
        "conformal martingale",
        _grid(bets=("linear", "power"), rate=(0.01, 0.1, 0.3, 1.0)),
        _martingale,
        SUMMED,
    ),
    Rival("e-detector", BETS, _e_detector, SUMMED),
    Rival(
        "e-detector, limit from theory", PROVED_BETS, _e_detector, SUMMED, proved=float(np.log(RUN_LENGTH))
    ),
    Rival("MMD window", VECTORS, _mmd, BELOW),
    Rival(
        "classifier drift",
        (
            *_grid(of=("features",), window=(8, 16, 32, 64, 128, 256)),
            *_grid(of=("posteriors",), window=(32, 64)),
        ),
        _classifier,
        BELOW,
    ),
    Rival("KS window", _grid(two_sided=(False, True), window=WINDOWS), _ks, BELOW),
    Rival("BOCPD", _grid(scale=SCALES, hazard=(1 / 64, 1 / 512), learned=(False, True)), _bocpd, BELOW),
    Rival("CUSUM, feature distance", _of(("distance",)), _cusum, SUMMED),
    Rival("CUSUM, energy", _of(("energy",)), _cusum, SUMMED),
    Rival("CUSUM, nearest neighbors", _of(*(("neighbors", rank) for rank in RANKS)), _cusum, SUMMED),
    Rival("CUSUM, belief", _of(("belief", 1 / 16), ("belief", 1 / 4)), _cusum, SUMMED),
    Rival(
        "Mahalanobis window", _grid(of=(("distance",),), scale=SCALES, window=WINDOWS), _window_mean, BELOW
    ),
    Rival("T2 window", VECTORS, _hotelling, BELOW),
    Rival(
        "conformal martingale, feature distance",
        _grid(of=(("distance",),), bets=("linear", "power"), rate=(0.01, 0.1, 0.3, 1.0)),
        _martingale,
        SUMMED,
    ),
    Rival("random", _grid(hold=(64, 1, 8, 16, 32, 128, 256, 512)), _random, BELOW),
    Rival("clock", _grid(period=(1000, 125, 250, 500, 750, 1500, 2000, 4000)), _clock, BELOW),
    Rival("CUSUM, deep", ALLOWANCES, _cusum, SUMMED, row="deep"),
    Rival("CUSUM, confidence and norm", ALLOWANCES, _cusum, SUMMED, row="confidence_norm"),
)


CLEAN_ON = 250.0
"""Steps of delay that all of the clean time under alarm would be worth."""
COSTLY_OFF = 100.0
"""Steps of delay that all of the costly time without alarm would be worth."""
Scorer = Callable[[Outputs], Floats]


class Alarm:
    """A score of a network with a rival's alarm; `learn` makes another score than doubt from labels."""

    choice: dict[str, Any]

    def __init__(self, rival: Rival, learn: Callable[[Dev], Scorer] | None = None) -> None:
        self.rival, self._learn = rival, learn
        self.score: Scorer = _doubt

    def fit(self, dev: Dev) -> None:
        """Try all settings on the development stream and the clean log."""
        assert dev.truth is not None
        if self._learn is not None:
            self.score = self._learn(dev)
        parts = [dev.outputs(), *([] if dev.clean is None else [dev.clean])]
        seen = Seen.of([(self.score(part), part) for part in parts])
        sources = np.full(seen.score.shape, dev.truth.names.index(CLEAN), dtype=np.int64)
        for row, piece in zip(sources, dev.pieces(), strict=False):
            row[:] = dev.truth.sources[piece][: len(row)]
        scene = Scene(sources, dev.truth.names)
        errors = dev.errors or {}
        self.choose(seen, scene, costly_sources(errors) if CLEAN in errors else ())

    def choose(self, seen: Seen, scene: Scene, worse: Sequence[str]) -> None:
        """Keep the setting and the limit that development data give."""
        self.clean, tried = Clean(seen, scene.settled), []
        for setting in self.rival.settings:
            prepared = self.rival.prepare(self.clean, seen, setting)
            limit = self.rival.proved
            if limit is None:
                limit = find_limit(prepared.on, prepared.path(scene.settled), scene.settled)
            on = prepared.on(np.array([limit]))[0]
            tried.append((objective(on, scene, worse), limit, setting, on))
        best, self.limit, setting, on = min(tried, key=lambda each: each[0])
        self.setting: Setting = setting
        self.choice = {
            "setting": dict(setting),
            "limit": round(self.limit, 6),
            "objective": round(best, 3),
            "false alarms on clean development time": int(false_starts(on, scene.settled).sum()),
            "asked for": int(scene.settled.sum() / RUN_LENGTH),
            "tried": [
                {**each[2], "limit": round(each[1], 6), "objective": round(each[0], 3)} for each in tried
            ],
        }

    def switch(self, seen: Seen) -> Switch:
        """Return the alarm at any limit."""
        prepared = self.rival.prepare(self.clean, seen, self.setting)
        return Switch(prepared.on, prepared.path, self.limit)

    def watch(self, seen: Outputs) -> Answers:
        """Say the score of each step, and the alarm."""
        score = self.score(seen)
        return Answers(score, alarm=self.switch(Seen.of([(score, seen)])))


def _doubt(seen: Outputs) -> Floats:
    return doubt(seen.probs)


def objective(on: Bools, scene: Scene, worse: Sequence[str]) -> float:
    """Return what settings are chosen by, the less the better."""
    found = events(on, scene)
    costly = np.isin(np.array(found.sources, dtype=np.str_), worse)
    delays: Floats = found.restricted[costly]
    late = float(delays.mean()) if len(delays) else 0.0
    time = on[scene.costly(worse)]
    off = 1 - float(time.mean()) if len(time) else 0.0
    return late + CLEAN_ON * float(on[~scene.shifted].mean()) + COSTLY_OFF * off
