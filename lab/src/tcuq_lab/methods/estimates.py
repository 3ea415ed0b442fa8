"""Estimates of a network's accuracy over a window of steps without labels, fitted to labeled windows.

A window is judged by itself: what is said of it depends on no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Ints

from ..detectors.scores import Doubles, entropy, logs_of, margin, softmax, unsure
from ..harness.declare import grid
from ..harness.types import Answers, Array, Dev, Outputs, doubt
from ..metrics.windows import cut
from .confidence import fitted
from .method import Floats

OTHER = "other"
"""What a second predictor says, among the `extra` of what is seen."""
Setting = Mapping[str, Any]


class Windows:
    """Outputs of n windows of equally many steps."""

    def __init__(self, probs: Floats, logits: Floats | None = None, other: Floats | None = None) -> None:
        self.probs, self.other = probs, other
        self.logits = logs_of(probs) if logits is None else logits
        self._scaled: dict[float, Floats] = {1.0: probs}

    @classmethod
    def of(cls, seen: Outputs, steps: Array) -> Windows:
        """Return windows of some steps."""
        logits, other = seen.extra.get("logits"), seen.extra.get(OTHER)
        return cls(
            seen.probs[steps],
            None if logits is None else logits[steps],
            None if other is None else other[steps],
        )

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


CERTAINTIES: dict[str, Callable[[Floats], Doubles]] = {
    "confidence": lambda probs: -unsure(probs),
    "entropy": lambda probs: -entropy(probs),
    "gap": lambda probs: -margin(probs),
    "squares": lambda probs: np.asarray(np.square(probs, dtype=np.float64).sum(axis=1)),
}
"""Minus one minus the largest posterior, which differs by one from it and keeps its digits; minus entropy;
the two largest posteriors' difference; the sum of squares."""


class Development:
    """Windows whose labels are known."""

    def __init__(
        self, windows: Windows, labels: Ints, stretches: Ints, temperature: float | None = None
    ) -> None:
        if not len(windows):
            raise ValueError("development data has no whole window, expected one or more")
        self.windows, self.labels, self.stretches = windows, labels, stretches
        self.right: Bools = np.asarray(windows.probs.argmax(axis=2) == labels)
        self.accuracies: Doubles = np.asarray(self.right.mean(axis=1))
        self.accuracy = float(self.right.mean())
        self._temperature = temperature

    @property
    def temperature(self) -> float:
        """Temperature of the least negative log-likelihood."""
        if self._temperature is None:
            logits = self.windows.logits
            self._temperature = fitted(logits.reshape(-1, logits.shape[-1]), self.labels.ravel())
        return self._temperature

    def scaled(self, scale: float | None) -> float:
        """Return a multiple of the fitted temperature, or 1 where none is asked for."""
        return 1.0 if scale is None else scale * self.temperature

    def halves(self) -> tuple[Development, Development] | None:
        """Return every other stretch, and the rest, at one temperature; None of a single stretch."""
        odd = np.unique(self.stretches, return_inverse=True)[1].ravel() % 2 == 1
        if not odd.any():
            return None
        first, second = (
            Development(self.windows.taken(rows), self.labels[rows], self.stretches[rows], self.temperature)
            for rows in (~odd, odd)
        )
        return first, second


Curve = Callable[[npt.NDArray[Any]], Doubles]


def line(x: Doubles, y: Doubles, through: tuple[float, float] | None = None) -> Curve:
    """Return the straight line of the least squares, free or through a point; a constant where x is one."""
    middle, level = (float(x.mean()), float(y.mean())) if through is None else through
    spread = float(np.square(x - middle).sum())
    slope = float(((x - middle) * (y - level)).sum()) / spread if spread > 1e-18 else 0.0
    return lambda values: np.asarray(level + slope * (np.asarray(values, dtype=np.float64) - middle))


def monotone(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the isotonic regression: straight between what was seen, and level beyond."""
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


CURVES: dict[str, Callable[[Doubles, Doubles], Curve]] = {"line": line, "monotone": monotone}
Rule = Callable[[Windows], Doubles]
"""Gives a number for each of some windows, mostly their accuracy."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of the accuracy of a network's own answers."""

    name: str
    learn: Callable[..., Rule]  # from development windows and a setting
    grid: tuple[Setting, ...] = ({},)  # tried on development windows, where there is anything to tune


class Estimated:
    """An estimate that is fitted to labeled windows of a development stream."""

    def __init__(self, estimate: Estimate) -> None:
        self.estimate, self.setting = estimate, estimate.grid[0]
        self.trials: list[float] = []
        """Mean absolute error of each setting on development windows."""
        self._rule: Rule | None = None

    def fit(self, dev: Dev, clean: bool = False) -> None:
        """Learn from the windows of a stream, or of its clean steps alone."""
        truth = dev.truth
        assert truth is not None
        found = cut(truth.judged & ~truth.shifted if clean else truth.judged, truth.stretches)
        labels, stretches = truth.labels[found.steps], truth.stretches[found.ends]
        self.learn(Development(Windows.of(dev, found.steps), labels, stretches))

    def learn(self, dev: Development) -> None:
        """Keep the setting nearest to the truth, halves judged by each other, and learn from all windows."""
        learn, settings, halves = self.estimate.learn, self.estimate.grid, dev.halves()
        pairs = [(dev, dev)] if halves is None else [halves, halves[::-1]]

        def gap(setting: Setting) -> float:
            gaps = [learn(one, **setting)(other.windows) - other.accuracies for one, other in pairs]
            return float(np.abs(np.concatenate(gaps)).mean())

        self.trials = [gap(each) for each in settings] if len(settings) > 1 else []
        self.setting = settings[int(np.argmin(self.trials or [0.0]))]  # the first of a tie
        self._rule = learn(dev, **self.setting)

    def of(self, windows: Windows) -> Doubles:
        """Return the accuracy of each window, as far as it can be told."""
        if self._rule is None:
            raise ValueError(f"{self.estimate.name} is not fitted, expected fit() first")
        return np.clip(self._rule(windows), 0.0, 1.0)

    def watch(self, seen: Outputs) -> Answers:
        """Say the accuracy of any windows."""
        answer = seen.probs.argmax(axis=1)
        return Answers(doubt(seen.probs), answer, accuracy=lambda steps: self.of(Windows.of(seen, steps)))

    @property
    def choice(self) -> dict[str, Any]:
        """The setting that was chosen, and the errors of all trials on development windows."""
        tried = zip(self.estimate.grid, self.trials, strict=False)
        trials = [{**setting, "error": round(error, 4)} for setting, error in tried]
        return {"setting": dict(self.setting), "trials": trials}


def _certainty(dev: Development, kind: str, scale: float | None) -> Rule:
    temperature = dev.scaled(scale)
    return lambda windows: windows.certainty(kind, temperature)


def _curve(dev: Development, curve: str, value: Rule) -> Rule:
    """Return a curve of a number of a window, learned over development windows."""
    learned = CURVES[curve](value(dev.windows), dev.accuracies)
    return lambda windows: learned(value(windows))


def _atc(dev: Development, certainty: str, scale: float | None) -> Rule:
    """Take the share of steps as sure as a threshold, below which as many development steps lie as erred."""
    sure = _certainty(dev, certainty, scale)
    threshold = np.append(np.sort(sure(dev.windows), axis=None), np.inf)[int((~dev.right).sum())]
    return lambda windows: (sure(windows) >= threshold).mean(axis=1)


def _doc(dev: Development, scale: float | None) -> Rule:
    """Take development accuracy, less the drop of the mean confidence since."""
    sure = _certainty(dev, "confidence", scale)
    mean, accuracy = float(sure(dev.windows).mean()), dev.accuracy
    return lambda windows: accuracy + sure(windows).mean(axis=1) - mean


def _doc_regression(dev: Development, certainty: str, scale: float | None, through: str) -> Rule:
    """Learn a line of the mean certainty, free or through the surest quarter, which stands for clean data."""
    each = _certainty(dev, certainty, scale)
    sure, truth, point = each(dev.windows).mean(axis=1), dev.accuracies, None
    if through == "surest quarter":
        surest = np.argsort(-sure, kind="stable")[: max(1, len(sure) // 4)]
        point = float(sure[surest].mean()), float(truth[surest].mean())
    curve = line(sure, truth, point)
    return lambda windows: curve(each(windows).mean(axis=1))


def _mean_confidence(dev: Development, scale: float | None = None) -> Rule:
    """Take the mean of the largest posterior, as it is or at a temperature."""
    sure = _certainty(dev, "confidence", scale)
    return lambda windows: 1 + sure(windows).mean(axis=1)


def _isotonic(dev: Development, certainty: str, scale: float | None) -> Rule:
    """Average an isotonic regression of right answers on certainty over the window."""
    sure = _certainty(dev, certainty, scale)
    curve = monotone(sure(dev.windows).ravel(), dev.right.ravel())
    return lambda windows: curve(sure(windows)).mean(axis=1)


def _entropy_mean(dev: Development, curve: str, scale: float | None) -> Rule:
    """Learn a curve of the mean entropy."""
    sure = _certainty(dev, "entropy", scale)
    return _curve(dev, curve, lambda windows: sure(windows).mean(axis=1))


def _nuclear_norm(dev: Development, curve: str, scale: float | None) -> Rule:
    """Learn a curve of the nuclear norm of posteriors: large where they are sure and classes come evenly."""
    temperature = dev.scaled(scale)
    return _curve(dev, curve, lambda windows: nuclear_norms(windows.scaled(temperature)))


def nuclear_norms(probs: Floats) -> Doubles:
    """Return the nuclear norm of each matrix (n, size, classes) as a share of the largest possible."""
    given = np.asarray(probs, dtype=np.float64)
    size, classes = given.shape[1:]
    squares = np.linalg.eigvalsh(given.transpose(0, 2, 1) @ given)  # of the singular values
    return np.asarray(np.sqrt(np.maximum(squares, 0)).sum(axis=1) / np.sqrt(min(size, classes) * size))


LIMIT = 5.0
"""Mean of minus the log posterior over steps and classes above which posteriors are trusted."""


def _mano(dev: Development, normalize: str, power: int, curve: str) -> Rule:
    """Learn a curve of the norm of logits, normalized by softmax or, near even ones, by its first terms."""
    return _curve(dev, curve, lambda windows: logit_norms(windows.logits, power, normalize == "paper"))


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


def _cot(dev: Development, threshold: bool, scale: float | None) -> Rule:
    """Take one less the cost of moving a window's posteriors to classes in development shares.

    Or the steps that cost less than a threshold, above which as many development steps lie as were wrong.
    """
    temperature = dev.scaled(scale)
    shares = np.bincount(dev.labels.ravel(), minlength=dev.windows.probs.shape[2]) / dev.labels.size
    if not threshold:
        return lambda windows: 1 - transport(windows.scaled(temperature), shares).mean(axis=1)
    costs = np.sort(transport(dev.windows.scaled(temperature), shares), axis=None)
    limit = np.append(costs, np.inf)[int(dev.right.sum())]
    return lambda windows: (transport(windows.scaled(temperature), shares) < limit).mean(axis=1)


def transport(probs: npt.NDArray[Any], shares: Doubles) -> Doubles:
    """Return what each step costs in the best transport of its window, by Sinkhorn's scaling, (n, size)."""
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


def _bbse(dev: Development, soft: bool, scale: float | None, penalty: float) -> Rule:
    """Take the mean posterior of the prediction, after each window's own class mix is put into it.

    The mix is the one whose predictions, by the confusion matrix of development steps, come nearest.
    """
    temperature, classes = dev.scaled(scale), dev.windows.probs.shape[2]

    def said(probs: Floats) -> npt.NDArray[Any]:
        return probs if soft else np.asarray(probs == probs.max(axis=2, keepdims=True), dtype=np.float64)

    taught = said(dev.windows.scaled(temperature)).reshape(-1, classes)
    counts = np.stack([np.bincount(dev.labels.ravel(), column, classes) for column in taught.T])
    joint: Doubles = counts / dev.labels.size

    def rule(windows: Windows) -> Doubles:
        probs = windows.scaled(temperature)
        ratios = class_ratios(joint, said(probs).mean(axis=1), penalty)
        answer = windows.probs.argmax(axis=2)[:, :, None]
        mixed = probs * ratios[:, None, :]
        share = np.take_along_axis(mixed, answer, axis=2)[:, :, 0] / np.maximum(mixed.sum(axis=2), 1e-30)
        return np.asarray(share.mean(axis=1))

    return rule


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


def _dev_accuracy(dev: Development) -> Rule:
    """Take the accuracy of development time."""
    accuracy = dev.accuracy
    return lambda windows: np.full(len(windows), accuracy)


def _gde(dev: Development, soft: bool, curve: str) -> Rule:
    """Take how often a second predictor, trained alike, agrees: as it is, less a gap, or through a curve."""
    if curve == "none":
        return lambda windows: agreement(windows, soft)
    if curve == "difference":
        gap = dev.accuracy - float(agreement(dev.windows, soft).mean())
        return lambda windows: agreement(windows, soft) + gap
    return _curve(dev, curve, lambda windows: agreement(windows, soft))


def agreement(windows: Windows, soft: bool) -> Doubles:
    """Return how far both predictors agree: in classes, or (soft) the chance that draws from both agree.

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


SURE = grid(scale=(None, 1.0), certainty=tuple(CERTAINTIES))
CURVED = grid(scale=(None, 1.0, 0.5, 2.0), curve=tuple(CURVES))
SCALES = (None, 1.0, 0.5, 0.71, 0.84, 1.19, 1.41, 2.0)
"""Multiples of the fitted temperature that are tried; None is none."""
ATC = Estimate("ATC", _atc, SURE)
DOC = Estimate("DoC", _doc, grid(scale=SCALES))
MEAN_CONFIDENCE = Estimate("mean confidence", _mean_confidence)
ESTIMATES: tuple[Estimate, ...] = (
    ATC,
    DOC,
    Estimate(
        "DoC, regression",
        _doc_regression,
        grid(through=("nothing", "surest quarter"), scale=(None, 1.0), certainty=("confidence", "entropy")),
    ),
    MEAN_CONFIDENCE,
    Estimate("mean confidence, temperature", partial(_mean_confidence, scale=1.0)),
    Estimate("isotonic", _isotonic, SURE),
    Estimate("entropy mean regression", _entropy_mean, CURVED),
    Estimate("nuclear norm", _nuclear_norm, CURVED),
    Estimate("MaNo", _mano, grid(normalize=("paper", "softmax"), power=(4, 2), curve=tuple(CURVES))),
    Estimate("COT", _cot, grid(threshold=(False, True), scale=(None, 1.0, 0.71, 1.41))),
    Estimate("BBSE", _bbse, grid(soft=(False, True), scale=(None, 1.0), penalty=(0.01, 0.1))),
    Estimate("dev accuracy", _dev_accuracy),
)
GDE = Estimate("GDE", _gde, grid(soft=(False, True), curve=("none", "difference", *CURVES)))
"""Needs a second predictor."""
