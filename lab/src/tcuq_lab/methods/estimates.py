"""Estimates of a network's accuracy over a window of steps without labels, fitted to labeled windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..detectors.scores import Doubles, entropy, softmax, unsure
from .confidence import fitted
from .method import Floats

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SMALLEST = 1e-30
"""Of a posterior whose logarithm is taken."""


class Windows:
    """Outputs of n windows of equally many steps."""

    def __init__(self, probs: Floats, logits: Floats | None = None, other: Floats | None = None) -> None:
        if probs.ndim != 3:
            raise ValueError(f"probs has {probs.ndim} dimensions, expected 3: windows, steps and classes")
        if logits is not None and logits.shape != probs.shape:
            raise ValueError(f"logits have shape {logits.shape}, expected that of probs, {probs.shape}")
        self.probs, self.other = probs, other
        self.logits = np.log(np.maximum(probs, SMALLEST)) if logits is None else logits
        self._scaled: dict[float, Floats] = {1.0: probs}

    def __len__(self) -> int:
        return len(self.probs)

    def taken(self, rows: Any) -> Windows:
        """Return some of the windows."""
        return Windows(self.probs[rows], self.logits[rows], None if self.other is None else self.other[rows])

    def scaled(self, temperature: float) -> Floats:
        """Return posteriors at a temperature."""
        if temperature not in self._scaled:
            self._scaled[temperature] = softmax(self.logits, temperature)
        return self._scaled[temperature]

    def certainty(self, kind: str, temperature: float = 1.0) -> Doubles:
        """Return how sure each step is, (n, size); see `CERTAINTIES`."""
        probs = self.scaled(temperature)
        flat = CERTAINTIES[kind](probs.reshape(-1, probs.shape[-1]))
        return flat.reshape(probs.shape[:2])


def _gap(probs: Floats) -> Doubles:
    top = np.partition(np.asarray(probs, dtype=np.float64), -2, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _squares(probs: Floats) -> Doubles:
    return np.asarray(np.square(probs, dtype=np.float64).sum(axis=1))


CERTAINTIES: dict[str, Callable[[Floats], Doubles]] = {
    "confidence": lambda probs: -unsure(probs),
    "entropy": lambda probs: -entropy(probs),
    "gap": _gap,
    "squares": _squares,
}
"""Minus one minus the largest posterior, which differs by one from it and keeps its digits; minus entropy;
the two largest posteriors' difference; the sum of squares."""


class Development:
    """Windows whose labels are known."""

    def __init__(
        self, windows: Windows, labels: Ints, stretches: Ints, temperature: float | None = None
    ) -> None:
        if labels.shape != windows.probs.shape[:2]:
            raise ValueError(f"labels have shape {labels.shape}, expected {windows.probs.shape[:2]}")
        if not len(windows):
            raise ValueError("development data has no whole window, expected one or more")
        self.windows, self.labels, self.stretches = windows, labels, stretches
        self.right: Bools = np.asarray(windows.probs.argmax(axis=2) == labels)
        self._temperature = temperature

    @property
    def accuracies(self) -> Doubles:
        """Share of right steps in each window."""
        return np.asarray(self.right.mean(axis=1))

    @property
    def accuracy(self) -> float:
        """Share of right steps."""
        return float(self.right.mean())

    @property
    def temperature(self) -> float:
        """Temperature of the least negative log-likelihood."""
        if self._temperature is None:
            logits = self.windows.logits
            self._temperature = fitted(logits.reshape(-1, logits.shape[-1]), self.labels.ravel())
        return self._temperature

    def halves(self) -> tuple[Development, Development] | None:
        """Return every other stretch, and the rest; None where there is but one.

        The temperature, one number of thousands of steps, is that of both together.
        """
        odd = np.unique(self.stretches, return_inverse=True)[1].ravel() % 2 == 1
        if not odd.any():
            return None
        first, second = (
            Development(self.windows.taken(rows), self.labels[rows], self.stretches[rows], self.temperature)
            for rows in (~odd, odd)
        )
        return first, second


Curve = Callable[[npt.NDArray[Any]], Doubles]


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the straight line of the least squares; a constant where x has one value."""
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    middle, level = float(given.mean()), float(target.mean())
    spread = float(np.square(given - middle).sum())
    slope = float(((given - middle) * (target - level)).sum()) / spread if spread > 1e-18 else 0.0
    return lambda values: np.asarray(level + slope * (np.asarray(values, dtype=np.float64) - middle))


def monotone(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the isotonic regression: rising, of the least squares, straight between what was seen.

    Values beyond what was seen get what its ends have.
    """
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places, number = np.unique(given, return_inverse=True)
    counts = np.bincount(number.ravel()).astype(np.float64)
    sums = np.bincount(number.ravel(), target)
    blocks: list[list[float]] = []  # sum, steps and places of each level
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        blocks.append([total, count, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    levels = np.repeat([total / count for total, count, _ in blocks], [int(wide) for *_, wide in blocks])
    return lambda values: np.asarray(np.interp(values, places, levels))


CURVES: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], Curve]] = {"line": line, "monotone": monotone}


Rule = Callable[[Windows], Doubles]
"""Gives the accuracy of each of some windows."""
SCALES = (1.0, 0.5, 0.71, 0.84, 1.19, 1.41, 2.0)
"""Multiples of the fitted temperature that are tried, itself first."""


class Estimate(ABC):
    """An estimate of the accuracy of a network's own answers.

    A window is judged by itself: what is said of it depends on no other.
    """

    name: ClassVar[str]
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Settings that are tried on development windows: one where there is nothing to tune, else `TRIALS`."""

    def __init__(self) -> None:
        self.setting: Mapping[str, Any] = self.grid[0]
        self.trials: list[float] = []
        self._rule: Rule | None = None

    @abstractmethod
    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Return what a setting makes of development windows."""

    def fit(self, dev: Development) -> None:
        """Keep the setting that is nearest to the truth on development windows, and learn from all of them.

        Where there are several stretches, each half is judged by what the other half taught. `trials` holds
        the mean absolute errors.
        """
        halves = dev.halves()
        pairs = [(dev, dev)] if halves is None else [halves, halves[::-1]]
        self.trials = []
        if len(self.grid) > 1:
            for setting in self.grid:
                gaps = [
                    np.abs(self.learn(one, setting)(other.windows) - other.accuracies) for one, other in pairs
                ]
                self.trials.append(float(np.concatenate(gaps).mean()))
            self.setting = self.grid[int(np.argmin(self.trials))]  # the first of a tie
        self._rule = self.learn(dev, self.setting)

    def of(self, windows: Windows) -> Doubles:
        """Return the accuracy of each window, as far as it can be told."""
        if self._rule is None:
            raise ValueError(f"{self.name} is not fitted, expected fit() first")
        return np.clip(self._rule(windows), 0.0, 1.0)


def temperature_of(dev: Development, scale: float | None) -> float:
    """Return a multiple of the fitted temperature, or 1 where none is asked for."""
    return 1.0 if scale is None else scale * dev.temperature


class Atc(Estimate):
    """The share of steps at least as sure as a threshold.

    As large a share of development steps lies below the threshold as were wrong. The measure of certainty
    and the temperature of the posteriors are tried.
    """

    name = "ATC"
    grid = tuple({"certainty": kind, "scale": scale} for scale in (None, 1.0) for kind in CERTAINTIES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Find the threshold."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        sure = np.sort(dev.windows.certainty(kind, temperature), axis=None)
        threshold = np.append(sure, np.inf)[int((~dev.right).sum())]
        return lambda windows: (windows.certainty(kind, temperature) >= threshold).mean(axis=1)


class Doc(Estimate):
    """Development accuracy, less the drop of the mean confidence since; temperatures are tried."""

    name = "DoC"
    grid = ({"scale": None}, *({"scale": scale} for scale in SCALES))

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the mean confidence."""
        temperature = temperature_of(dev, setting["scale"])
        mean, accuracy = float(dev.windows.certainty("confidence", temperature).mean()), dev.accuracy
        return lambda windows: accuracy + windows.certainty("confidence", temperature).mean(axis=1) - mean


class DocRegression(Estimate):
    """A line of the mean certainty, learned over development windows.

    Tried: confidence or entropy, two temperatures, and the line free or through the mean confidence and
    accuracy of the surest quarter of the windows, which stand for clean data.
    """

    name = "DoC, regression"
    grid = tuple(
        {"certainty": kind, "scale": scale, "through": through}
        for through in ("nothing", "surest quarter")
        for scale in (None, 1.0)
        for kind in ("confidence", "entropy")
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the line."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        sure, truth = dev.windows.certainty(kind, temperature).mean(axis=1), dev.accuracies
        if setting["through"] == "nothing":
            curve = line(sure, truth)
            return lambda windows: curve(windows.certainty(kind, temperature).mean(axis=1))
        surest = np.argsort(-sure, kind="stable")[: max(1, len(sure) // 4)]
        at, level = float(sure[surest].mean()), float(truth[surest].mean())
        spread = float(np.square(sure - at).sum())
        slope = float(((sure - at) * (truth - level)).sum()) / spread if spread > 1e-18 else 0.0
        return lambda windows: level + slope * (windows.certainty(kind, temperature).mean(axis=1) - at)


class MeanConfidence(Estimate):
    """The mean of the largest posterior; nothing is learned."""

    name = "mean confidence"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn nothing."""
        return lambda windows: 1 + windows.certainty("confidence").mean(axis=1)


class ScaledConfidence(Estimate):
    """The mean of the largest posterior at the temperature that fits development labels best."""

    name = "mean confidence, temperature"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Find the temperature."""
        temperature = dev.temperature
        return lambda windows: 1 + windows.certainty("confidence", temperature).mean(axis=1)


class Isotonic(Estimate):
    """An isotonic regression of right answers on certainty, averaged over the window.

    The measure of certainty and the temperature of the posteriors are tried.
    """

    name = "isotonic"
    grid = tuple({"certainty": kind, "scale": scale} for scale in (None, 1.0) for kind in CERTAINTIES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        curve = monotone(dev.windows.certainty(kind, temperature).ravel(), dev.right.ravel())
        return lambda windows: curve(windows.certainty(kind, temperature)).mean(axis=1)


class EntropyMean(Estimate):
    """A curve of the mean entropy, learned over development windows; curves and temperatures are tried."""

    name = "entropy mean regression"
    grid = tuple({"curve": curve, "scale": scale} for scale in (None, 1.0, 0.5, 2.0) for curve in CURVES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        temperature = temperature_of(dev, setting["scale"])
        sure = dev.windows.certainty("entropy", temperature).mean(axis=1)
        curve = CURVES[setting["curve"]](sure, dev.accuracies)
        return lambda windows: curve(windows.certainty("entropy", temperature).mean(axis=1))


class NuclearNorm(Estimate):
    """A curve of the nuclear norm of each window's posteriors; curves and temperatures are tried.

    The norm is large where posteriors are sure and all classes come equally often, so that it takes a
    window of few classes for a drop of accuracy, unless development windows are like it.
    """

    name = "nuclear norm"
    grid = tuple({"curve": curve, "scale": scale} for scale in (None, 1.0, 0.5, 2.0) for curve in CURVES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        temperature = temperature_of(dev, setting["scale"])
        curve = CURVES[setting["curve"]](nuclear_norms(dev.windows.scaled(temperature)), dev.accuracies)
        return lambda windows: curve(nuclear_norms(windows.scaled(temperature)))


def nuclear_norms(probs: Floats) -> Doubles:
    """Return the nuclear norm of each matrix (n, size, classes) as a share of the largest possible."""
    given = np.asarray(probs, dtype=np.float64)
    size, classes = given.shape[1:]
    squares = np.linalg.eigvalsh(given.transpose(0, 2, 1) @ given)  # of the singular values
    return np.asarray(np.sqrt(np.maximum(squares, 0)).sum(axis=1) / np.sqrt(min(size, classes) * size))


LIMIT = 5.0
"""Mean of minus the log posterior over steps and classes above which posteriors are trusted."""


class MaNo(Estimate):
    """A curve of the norm of each window's normalized logits.

    The paper normalizes by softmax where posteriors are far from even, else by the first terms of its series,
    and takes the fourth power. Tried: that and softmax throughout, powers 4 and 2, both curves.
    """

    name = "MaNo"
    grid = tuple(
        {"normalize": how, "power": power, "curve": curve}
        for how in ("paper", "softmax")
        for power in (4, 2)
        for curve in CURVES
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        how, power = setting["normalize"] == "paper", setting["power"]
        curve = CURVES[setting["curve"]](logit_norms(dev.windows.logits, power, how), dev.accuracies)
        return lambda windows: curve(logit_norms(windows.logits, power, how))


def logit_norms(logits: Floats, power: int = 4, choose: bool = True) -> Doubles:
    """Return the norm of each of some matrices (n, size, classes), between 0 and 1."""
    given = np.asarray(logits, dtype=np.float64)
    shares = softmax(given)
    if choose:
        top = given.max(axis=2, keepdims=True)
        logs = given - top - np.log(np.exp(given - top).sum(axis=2, keepdims=True))
        near = 1 + given + given * given / 2
        even = -logs.mean(axis=(1, 2)) <= LIMIT
        shares = np.where(even[:, None, None], near / near.sum(axis=2, keepdims=True), shares)
    return np.asarray((shares**power).mean(axis=(1, 2)) ** (1 / power))


SMOOTH, ROUNDS, NEAR = (0.5, 0.1, 0.02), 400, 0.5
"""Entropy that is added to a transport, less and less, where costs lie in [0, 1]; rounds of Sinkhorn's
scaling with each, at most; and steps of a window by which a class may be off at their end."""


class Cot(Estimate):
    """One less the cost of moving the window's posteriors to classes in the shares of development labels.

    A step costs 1 less its posterior at the class that it is moved to. The thresholded form counts the steps
    whose cost is above a threshold; as large a share of development steps lies above it as were wrong. Form
    and temperature are tried.
    """

    name = "COT"
    grid = tuple(
        {"threshold": form, "scale": scale} for form in (False, True) for scale in (None, 1.0, 0.71, 1.41)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the shares of classes, and find the threshold."""
        temperature = temperature_of(dev, setting["scale"])
        shares = np.bincount(dev.labels.ravel(), minlength=dev.windows.probs.shape[2]) / dev.labels.size
        if not setting["threshold"]:
            return lambda windows: 1 - transport(windows.scaled(temperature), shares).mean(axis=1)
        costs = np.sort(transport(dev.windows.scaled(temperature), shares), axis=None)
        limit = np.append(costs, np.inf)[int(dev.right.sum())]
        return lambda windows: (transport(windows.scaled(temperature), shares) < limit).mean(axis=1)


def transport(probs: npt.NDArray[Any], shares: Doubles) -> Doubles:
    """Return what each step costs in the best transport of its window to classes, (n, size).

    Sinkhorn's scaling finds it, smoothed a little: the mean cost of a window is within about 0.01.
    """
    present = shares > 0
    costs = 1 - np.asarray(probs[:, :, present], dtype=np.float64)
    wanted = shares[present] * costs.shape[1]
    prices = np.zeros((len(costs), len(wanted)))
    for smooth in SMOOTH:
        kernel = np.exp(-costs / smooth)
        weights = np.exp(prices / smooth)
        for _ in range(ROUNDS):
            steps = 1 / np.maximum(np.matmul(kernel, weights[:, :, None])[:, :, 0], 1e-300)
            reached = np.matmul(steps[:, None, :], kernel)[:, 0]
            off = np.abs(weights * reached - wanted).max(axis=1, keepdims=True) >= NEAR
            if not off.any():
                break
            weights = np.where(off, wanted / np.maximum(reached, 1e-300), weights)
        prices = smooth * np.log(np.maximum(weights, 1e-300))
        prices -= prices.max(axis=1, keepdims=True)
    plan = kernel * weights[:, None, :]
    return np.asarray((plan * costs).sum(axis=2) / np.maximum(plan.sum(axis=2), 1e-300))


class Bbse(Estimate):
    """The mean posterior of the prediction, after each window's own class mix is put into the posteriors.

    The mix is the one whose predictions, by the confusion matrix of development steps, come nearest to those
    of the window. Predictions counted as classes or as posteriors, temperature and penalty are tried.
    """

    name = "BBSE"
    grid = tuple(
        {"soft": soft, "scale": scale, "penalty": penalty}
        for soft in (False, True)
        for scale in (None, 1.0)
        for penalty in (0.01, 0.1)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Count the confusion of development steps."""
        temperature = temperature_of(dev, setting["scale"])
        classes = dev.windows.probs.shape[2]
        said = _said(dev.windows.scaled(temperature), setting["soft"]).reshape(-1, classes)
        counts = np.stack([np.bincount(dev.labels.ravel(), column, classes) for column in said.T])
        joint: Doubles = counts / dev.labels.size

        def rule(windows: Any) -> Doubles:
            probs = windows.scaled(temperature)
            ratios = class_ratios(joint, _said(probs, setting["soft"]).mean(axis=1), setting["penalty"])
            answer = windows.probs.argmax(axis=2)[:, :, None]
            mixed = probs * ratios[:, None, :]
            share = np.take_along_axis(mixed, answer, axis=2)[:, :, 0] / np.maximum(mixed.sum(axis=2), 1e-30)
            return np.asarray(share.mean(axis=1))

        return rule


def _said(probs: npt.NDArray[Any], soft: bool) -> npt.NDArray[Any]:
    return probs if soft else np.asarray(probs == probs.max(axis=2, keepdims=True), dtype=np.float64)


def class_ratios(joint: Doubles, said: npt.NDArray[Any], penalty: float) -> Doubles:
    """Return how much more often each class comes than in development, window by window; never below 0.

    Examples
    --------
    >>> joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> class_ratios(joint, np.array([[0.5, 0.5], [0.8, 0.2]]), 0.0).round(3).tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    """
    square = joint.T @ joint
    level = penalty * float(np.trace(square)) / len(square)
    moved = np.linalg.solve(square + (level + 1e-9) * np.eye(len(square)), joint.T @ (said - joint.sum(1)).T)
    return np.asarray(np.maximum(1 + moved.T, 0.0))


class DevAccuracy(Estimate):
    """A constant."""

    name = "dev accuracy"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the accuracy."""
        accuracy = dev.accuracy
        return lambda windows: np.full(len(windows), accuracy)


class Gde(Estimate):
    """The share of steps at which a second predictor, trained alike from other seeds, agrees.

    Tried: agreement of classes, or of posteriors (the chance that draws from both agree); as it is, as
    a difference from development time, and by both curves.
    """

    name = "GDE"
    grid = tuple(
        {"soft": soft, "curve": curve} for soft in (False, True) for curve in ("none", "difference", *CURVES)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn what agreement says of accuracy."""
        soft, curve = setting["soft"], setting["curve"]
        if curve == "none":
            return lambda windows: agreement(windows, soft)
        agreed = agreement(dev.windows, soft)
        if curve == "difference":
            gap = dev.accuracy - float(agreed.mean())
            return lambda windows: agreement(windows, soft) + gap
        learned = CURVES[curve](agreed, dev.accuracies)
        return lambda windows: learned(agreement(windows, soft))


def agreement(windows: Windows, soft: bool) -> Doubles:
    """Return how far both predictors agree in each window.

    Examples
    --------
    >>> first, second = np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.array([[[0.5, 0.5], [0.8, 0.2]]])
    >>> windows = Windows(first, other=second)
    >>> [agreement(windows, soft).round(2).tolist() for soft in (False, True)]
    [[0.5], [0.47]]
    """
    if windows.other is None:
        raise ValueError("windows have no second predictor, expected `other`")
    if soft:
        return np.asarray((windows.probs * windows.other).sum(axis=2).mean(axis=1))
    return np.asarray((windows.probs.argmax(axis=2) == windows.other.argmax(axis=2)).mean(axis=1))


ESTIMATES: tuple[type[Estimate], ...] = (
    Atc,
    Doc,
    DocRegression,
    MeanConfidence,
    ScaledConfidence,
    Isotonic,
    EntropyMean,
    NuclearNorm,
    MaNo,
    Cot,
    Bbse,
    DevAccuracy,
)

__all__ = ["ESTIMATES", "Atc", "Development", "Doc", "Estimate", "Gde", "MeanConfidence", "Windows"]
