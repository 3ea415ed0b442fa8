"""Rivals of the monitor's alarm: each a score of a step, a statistic over steps, and eight settings.

Every rival tries its settings on the development stream. For each, the limit comes from clean time; kept is
the setting with the least sum of three parts, the same for all rivals:

- the mean delay, in steps, over shifts that cost accuracy (a miss costs the whole shift);
- 250 times the share of clean time under alarm: 250 steps are a mean clean stretch;
- 100 times the share of costly time without alarm: else an alarm that flickers would win by its first rise.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats

from ..harness.declare import grid
from ..harness.types import ASKED, CLEAN, Answers, Dev, Outputs, Switch, doubt
from ..metrics.alarms import (
    Scene,
    candidates,
    costly_sources,
    events,
    false_starts,
    find_limit,
    rested_sums,
)
from .scores import Centers, Neighbors, centers_of, energy, filtered
from .statistics import Reference, e_values, ewma, expected_rise, jumper, p_values, window_mean
from .switches import above, adwin, capped, page_hinkley
from .windows import discrepancy, hotelling, kernel_of, kolmogorov_smirnov, principal_of, told_apart

PRIMED = 320
"""Clean scores that fill an adaptive window at the start."""
LEAST_STRICT = -2.4
"""Below the limits of ADWIN that are tried: the bound itself holds log(2 log n), 2.4 for a primed window."""
Score = tuple[Any, ...]
"""A score by its name in `SCORES` and what that takes."""
CONFIDENCE: Score = ("confidence",)
Setting = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Seen:
    """What a rival sees of a stream: K stretches of T steps."""

    score: Floats  # (K, T): 1 less the largest posterior, or what a method says that learned from labels
    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None = None
    logits: npt.NDArray[Any] | None = None
    gauges: npt.NDArray[Any] | None = None

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
            column(lambda seen: seen.gauges),
        )

    def vectors(self, which: str) -> npt.NDArray[Any]:
        """Return posteriors, features or gauges; posteriors where there are none."""
        found = {"features": self.features, "gauges": self.gauges}.get(which)
        return self.probs if found is None else found


class Clean:
    """What is known of clean development time; everything is computed once."""

    def __init__(self, seen: Seen, settled: Bools) -> None:
        self._seen, self._settled = seen, settled
        self._known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is made where it was not made before."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def score(self, seen: Seen, which: Score) -> Floats:
        """Return a score of a stream, (K, T)."""
        name, *given = which
        found: Floats = self.once((seen, which), lambda: SCORES[name](self, seen, *given))
        return found

    def reference(self, which: Score = CONFIDENCE) -> Reference:
        """Return what is known of a clean score."""
        found: Reference = self.once(
            ("reference", which), lambda: Reference.of([self.score(self._seen, which)[self._settled]])
        )
        return found

    def learned(self, learn: Callable[[npt.NDArray[Any]], Any], which: str) -> Any:
        """Return what is learned from clean posteriors or features."""
        return self.once((learn, which), lambda: learn(self._seen.vectors(which)[self._settled]))

    def centers(self) -> Centers:
        """Return the centers of predicted classes."""
        probs, features = (self._seen.vectors(of)[self._settled] for of in ("posteriors", "features"))
        found: Centers = self.once(
            "centers", lambda: centers_of(features, probs.argmax(axis=1), probs.shape[1])
        )
        return found

    def standard(self, seen: Seen, scale: str, which: Score = CONFIDENCE) -> Floats:
        """Return scores, or their clean ranks, in clean standard deviations from the clean mean."""
        return self.reference(which).standard(self.score(seen, which), scale)

    def bounded(self, seen: Seen, scale: str) -> Floats:
        """Return scores or their clean ranks, both in [0, 1]."""
        return seen.score if scale == "score" else self.reference().rank(seen.score)

    def some(self, scale: str) -> Floats:
        """Return clean scores or ranks in any order."""
        ordered = self.reference().ordered
        rows = (np.arange(PRIMED) + 0.5) * len(ordered) / PRIMED
        picked = np.random.default_rng(3).permutation(ordered[rows.astype(np.int64)])
        return picked if scale == "score" else self.reference().rank(picked)


def _energy(clean: Clean, seen: Seen) -> Floats:
    if seen.logits is None:
        raise ValueError("logits are not recorded, expected them: posteriors do not tell an energy")
    return energy(seen.logits.reshape(-1, seen.logits.shape[2])).reshape(seen.score.shape)


def _neighbors(clean: Clean, seen: Seen, rank: int) -> Floats:
    def make() -> Floats:
        given = seen.vectors("features")
        found = clean.learned(Neighbors, "features").distances(given.reshape(-1, given.shape[2]), RANKS)
        return np.asarray(found.reshape(len(RANKS), *given.shape[:2]))

    found: Floats = clean.once((seen, "neighbors"), make)
    return np.asarray(found[RANKS.index(rank)])


SCORES: Mapping[str, Callable[..., Floats]] = {
    "confidence": lambda clean, seen: seen.score,
    "energy": _energy,
    "distance": lambda clean, seen: clean.centers().distances(
        seen.vectors("features"), seen.probs.argmax(axis=2)
    ),
    "neighbors": _neighbors,
    "belief": lambda clean, seen, redraw: 1 - filtered(seen.probs, redraw).max(axis=2),
}
"""Scores of a step, the higher the less it looks like clean time, by what else they take."""


@dataclass(frozen=True)
class Rival:
    """A rival; `statistic` takes clean time, a stream and a setting, and gives an alarm without a limit."""

    name: str
    settings: tuple[Setting, ...]
    statistic: Callable[..., Switch]
    row: str = "base"  # the method whose score it sums
    proved: float | None = None  # a limit from theory


def _window(values: Floats) -> Switch:
    """Return an alarm that is on while a statistic is at the limit or above."""
    return Switch(lambda limits: above(values, limits), lambda settled: candidates(values[settled]), math.nan)


def _sum(added: Floats) -> Switch:
    """Return an alarm whose sum stops at the limit, and that goes off when the sum is back at 0."""

    def path(settled: Bools) -> Floats:
        tried = candidates(rested_sums(added, settled))
        return tried[tried > 0]

    return Switch(lambda limits: capped(added, limits), path, math.nan)


def _mean(clean: Clean, seen: Seen, scale: str, window: int, of: Score = CONFIDENCE) -> Switch:
    return _window(window_mean(clean.standard(seen, scale, of), window))


def _standard(clean: Clean, seen: Seen, scale: str, of: Callable[..., Floats], **more: Any) -> Switch:
    """Return an alarm on a statistic of standard scores."""
    return _window(of(clean.standard(seen, scale), **more))


def _test(clean: Clean, seen: Seen, of: str, window: int, test: Any, learn: Callable[..., Any]) -> Switch:
    """Return an alarm on a test of the last vectors against what was learned of clean ones."""
    return _window(test(seen.vectors(of), clean.learned(learn, of), window))


def _cusum(clean: Clean, seen: Seen, scale: str, allowance: float, of: Score = CONFIDENCE) -> Switch:
    return _sum(clean.standard(seen, scale, of) - allowance)


def _adwin(clean: Clean, seen: Seen, scale: str, clock: int, least: int) -> Switch:
    values, primed = clean.bounded(seen, scale), clean.some(scale)
    return Switch(
        lambda limits: adwin(values, limits, clock, least, primed),
        lambda settled: LEAST_STRICT + np.geomspace(0.4, 400.0, 16),
        math.nan,
    )


def _page_hinkley(clean: Clean, seen: Seen, scale: str, allowance: float) -> Switch:
    values = clean.standard(seen, scale)
    return Switch(
        lambda limits: page_hinkley(values, limits, allowance),
        lambda settled: np.geomspace(1.0, 1000.0, 16),
        math.nan,
    )


def _martingale(clean: Clean, seen: Seen, bets: str, rate: float, of: Score = CONFIDENCE) -> Switch:
    reference = clean.reference(of)
    p = p_values(reference.rank(clean.score(seen, of)), len(reference.ordered))
    return _sum(jumper(p, rate, bets))


def _e_detector(clean: Clean, seen: Seen, scale: str, margin: float, stake: float) -> Switch:
    mean = clean.reference().mean if scale == "score" else 0.5
    return _sum(e_values(clean.bounded(seen, scale), mean, margin, stake))


def _ks(clean: Clean, seen: Seen, two_sided: bool, window: int) -> Switch:
    return _window(kolmogorov_smirnov(clean.reference().rank(seen.score), window, two_sided))


def _random(clean: Clean, seen: Seen, hold: int) -> Switch:
    """Draw a number a step, from a seed that the first step of a stretch gives; it counts for some steps."""
    found = np.empty(seen.score.shape)
    for row, probs in zip(found, seen.probs, strict=True):
        draws = np.random.default_rng(zlib.crc32(probs[0].tobytes())).random(len(row))
        padded = np.concatenate([np.zeros(hold - 1), draws])
        row[:] = np.lib.stride_tricks.sliding_window_view(padded, hold).max(axis=1)
    return _window(found)


def _clock(clean: Clean, seen: Seen, period: int) -> Switch:
    runs, steps = seen.score.shape
    return _window(np.broadcast_to(np.arange(steps, dtype=np.float64) % period, (runs, steps)))


SCALES = ("score", "rank")
WINDOWS = (8, 16, 32, 64)
"""Windows of means and of distributions."""
# A clean rank is at most 1.7 standard deviations above the mean, a score any number of them.
ALLOWANCES = (
    *grid(scale=("score",), allowance=(0.25, 0.5, 1.0, 2.0)),
    *grid(scale=("rank",), allowance=(0.5, 1.0, 1.25, 1.5)),
)
RANKS = (4, 16)
"""Neighbors whose distance is read: not the nearest, as development streams show examples again."""


def _of(*scores: Score) -> tuple[Setting, ...]:
    """Return allowances of a sum of other scores: eight for one of them, four each for two."""
    kept = ALLOWANCES if len(scores) == 1 else ALLOWANCES[1:3] + ALLOWANCES[5:8:2]
    return tuple({"of": score, **each} for score in scores for each in kept)


def _vectors(features: tuple[int, ...], posteriors: tuple[int, ...]) -> tuple[Setting, ...]:
    return (*grid(of=("features",), window=features), *grid(of=("posteriors",), window=posteriors))


VECTORS = _vectors((16, 32, 64, 128, 256, 512), (64, 128))
DISTANCE: Score = ("distance",)
GAMES = {"bets": ("linear", "power"), "rate": (0.01, 0.1, 0.3, 1.0)}
BETS = (
    *grid(scale=("score",), margin=(0.02, 0.05), stake=(0.5, 0.9)),
    *grid(scale=("rank",), margin=(0.15, 0.25), stake=(0.7, 0.97)),
)
PROVED_BETS = grid(scale=SCALES, margin=(0.02, 0.05), stake=(0.9, 0.98))

_EWMA, _BOCPD = partial(_standard, of=ewma), partial(_standard, of=expected_rise)
_MMD = partial(_test, test=discrepancy, learn=kernel_of)
_CLASSIFIER = partial(_test, test=told_apart, learn=principal_of)
on_vectors = partial(_test, test=hotelling, learn=centers_of)
"""Hotelling's statistic of the last vectors."""
RIVALS: tuple[Rival, ...] = (
    Rival("windowed mean", grid(scale=SCALES, window=WINDOWS), _mean),
    Rival("EWMA", grid(scale=SCALES, rate=(1 / 4, 1 / 8, 1 / 16, 1 / 32)), _EWMA),
    Rival("CUSUM", ALLOWANCES, _cusum),
    Rival("ADWIN", grid(scale=SCALES, clock=(4, 8), least=(4, 8)), _adwin),
    Rival("Page-Hinkley", grid(scale=SCALES, allowance=(0.02, 0.08, 0.25, 0.5)), _page_hinkley),
    Rival("conformal martingale", grid(**GAMES), _martingale),
    Rival("e-detector", BETS, _e_detector),
    Rival("e-detector, limit from theory", PROVED_BETS, _e_detector, proved=math.log(ASKED)),
    Rival("MMD window", VECTORS, _MMD),
    Rival("classifier drift", _vectors((8, 16, 32, 64, 128, 256), (32, 64)), _CLASSIFIER),
    Rival("KS window", grid(two_sided=(False, True), window=WINDOWS), _ks),
    Rival("BOCPD", grid(scale=SCALES, hazard=(1 / 64, 1 / 512), learned=(False, True)), _BOCPD),
    Rival("CUSUM, feature distance", _of(DISTANCE), _cusum),
    Rival("CUSUM, energy", _of(("energy",)), _cusum),
    Rival("CUSUM, nearest neighbors", _of(*(("neighbors", rank) for rank in RANKS)), _cusum),
    Rival("CUSUM, belief", _of(("belief", 1 / 16), ("belief", 1 / 4)), _cusum),
    Rival("Mahalanobis window", grid(of=(DISTANCE,), scale=SCALES, window=WINDOWS), _mean),
    Rival("T2 window", VECTORS, on_vectors),
    Rival("conformal martingale, feature distance", grid(of=(DISTANCE,), **GAMES), _martingale),
    Rival("random", grid(hold=(64, 1, 8, 16, 32, 128, 256, 512)), _random),
    Rival("clock", grid(period=(1000, 125, 250, 500, 750, 1500, 2000, 4000)), _clock),
    Rival("CUSUM, deep", ALLOWANCES, _cusum, row="deep"),
    Rival("CUSUM, confidence and norm", ALLOWANCES, _cusum, row="confidence_norm"),
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
            found = self.rival.statistic(self.clean, seen, **setting)
            limit = self.rival.proved
            if limit is None:
                limit = find_limit(found.on, found.path(scene.settled), scene.settled)
            on = found._replace(limit=limit).at_limit()
            tried.append((objective(on, scene, worse), limit, setting, on))
        best, self.limit, self.setting, on = min(tried, key=lambda each: each[0])
        self.choice = {
            "setting": dict(self.setting),
            "limit": round(self.limit, 6),
            "objective": round(best, 3),
            "false alarms on clean development time": int(false_starts(on, scene.settled).sum()),
            "asked for": int(scene.settled.sum() / ASKED),
            "tried": [
                {**each[2], "limit": round(each[1], 6), "objective": round(each[0], 3)} for each in tried
            ],
        }

    def switch(self, seen: Seen) -> Switch:
        """Return the alarm at any limit."""
        return self.rival.statistic(self.clean, seen, **self.setting)._replace(limit=self.limit)

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
