"""From float layers to the steps of an int8 graph: scales of weights, biases and multipliers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.log.logits import softmax_table
from tcuq_device.graph.model import Tensor
from tcuq_device.graph.steps import (
    HIGHEST,
    Add,
    Conv,
    Dense,
    Depthwise,
    Drop,
    Int8,
    Int32,
    MeanPool,
    Softmax,
    Step,
)

from .trace import INPUT, Convolution, Dropping, Floats, Layer, Linear, Mean, Sum, Trace, read_by

SAMPLE = 1 << 16
"""Values of a tensor that a scale is chosen by."""
SHARES = tuple(np.linspace(0.1, 1.0, 46).tolist())
"""Shares of the observed range that are tried."""


class Scale(NamedTuple):
    """How real values become int8: (q - zero) * scale."""

    scale: float
    zero: int

    def quantized(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Return the nearest int8 values; a tie goes up."""
        q = np.floor(np.asarray(values, dtype=np.float64) / self.scale + 0.5) + self.zero
        return np.asarray(np.clip(q, -128, 127), dtype=np.int8)

    def real(self, q: npt.NDArray[np.int8]) -> Floats:
        """Return what int8 values stand for."""
        return np.asarray((q.astype(np.float64) - self.zero) * self.scale)

    def wider(self, times: float) -> Scale:
        """Return a scale whose upper end is so many times as far from 0, the lower end as it is.

        Examples
        --------
        >>> Scale(0.5, -128).wider(2.0), Scale(1.0, 0).wider(3.0)
        (Scale(scale=1.0, zero=-128), Scale(scale=1.996078431372549, zero=-64))
        """
        low, high = (float((end - self.zero) * self.scale) for end in (-128, 127))
        return self if times == 1 else spanning(low, high * times)


@dataclass
class Seen:
    """What was seen of one tensor."""

    shape: tuple[int, ...]  # channels last
    low: float = 0.0
    high: float = 0.0
    highest: Floats = field(default_factory=lambda: np.zeros(0))
    mean: Floats = field(default_factory=lambda: np.zeros(0))
    parts: list[npt.NDArray[np.float32]] = field(default_factory=list)
    count: int = 0

    def add(
        self, values: npt.NDArray[np.float32], share: float, random: np.random.Generator | None = None
    ) -> None:
        """Take note of a batch."""
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        axes = tuple(range(values.ndim - 1))
        highest, mean = np.abs(values).max(axis=axes), values.mean(axis=axes, dtype=np.float64)
        self.highest = np.maximum(self.highest, highest) if self.count else highest.astype(np.float64)
        self.mean = (self.mean if self.count else 0) + share * mean
        self.count += len(values)
        flat = values.reshape(-1)
        most = max(1, int(SAMPLE * share))
        if random is not None and len(flat) > most:
            flat = flat[random.integers(0, len(flat), most)]
        self.parts.append(flat)

    def sample(self) -> npt.NDArray[np.float32]:
        """Return the values that were kept."""
        return np.concatenate(self.parts)


def spanning(low: float, high: float) -> Scale:
    """Return a scale that covers a range and represents 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255 or 1.0
    return Scale(scale, int(np.clip(round(-128 - low / scale), -128, 127)))


def rectified(seen: Seen, top: float, clip: bool) -> Scale:
    """Return the scale of a rectified tensor, whose zero is -128."""
    high = min(seen.high, top)
    if not high > 0:
        return Scale(1.0, -128)
    if not clip:
        return Scale(high / 255, -128)
    values = seen.sample().astype(np.float64)
    return min((Scale(high * share / 255, -128) for share in SHARES), key=lambda each: _error(each, values))


def signed(seen: Seen, clip: bool) -> Scale:
    """Return the scale of a tensor with values of either sign."""
    best = spanning(seen.low, seen.high)
    if not clip:
        return best
    values = seen.sample().astype(np.float64)
    low = high = 1.0
    for _ in range(2):  # an end at a time, then both once more beside what the other became
        low = min(SHARES, key=lambda share: _error(spanning(seen.low * share, seen.high * high), values))
        high = min(SHARES, key=lambda share: _error(spanning(seen.low * low, seen.high * share), values))
    return spanning(seen.low * low, seen.high * high)


def of_logits(logits: Floats) -> Scale:
    """Return the scale of logits that changes posteriors least: low ones, which add nothing, are cut off."""
    wanted = _softmax(logits)
    low, high = float(logits.min()), float(logits.max())
    shares = np.linspace(0.0, 1.0, 21)
    tried = [spanning(low * a, high * b) for a in shares for b in shares if a * low < b * high or not a + b]
    return min(
        tried, key=lambda each: float(((_softmax(each.real(each.quantized(logits))) - wanted) ** 2).sum())
    )


def _error(scale: Scale, values: Floats) -> float:
    return float(((scale.real(scale.quantized(values)) - values) ** 2).mean())


def _softmax(logits: Floats) -> Floats:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


LEAST = 2.0**-18
"""Least multiplier: a weaker channel gets coarser weights, or its multiplier would have too few digits."""
ROOM = 2.001
"""A scale is at least so many times what it is made from: multipliers are below a half."""


@dataclass(frozen=True)
class QuantizeSettings:
    """How scales are chosen."""

    clip: bool = True  # cut off rare high values where that makes the mean squared error of a tensor smaller
    correct: bool = True  # take off the biases what rounded weights add on average
    # 0 to 1, how far the channels of a tensor are brought to one range before it is quantized
    balance: float = 0.25
    # 1 to 64, how many times beyond what was seen features and logits reach. At 1 a network that overshoots
    # on input of an unknown kind saturates there: logits tie, and posteriors are flatter than in float.
    headroom: float = 1.0

    def __post_init__(self) -> None:
        number("balance", self.balance, 0, 1)
        number("headroom", self.headroom, 1, 64)


class Steps:
    """Tensors and steps of a graph so far."""

    def __init__(
        self, traced: Trace, seen: Mapping[str, Seen], settings: QuantizeSettings, first: Scale
    ) -> None:
        self.traced, self.seen, self.settings = traced, seen, settings
        self.tensors = {INPUT: Tensor(INPUT, seen[INPUT].shape, *first)}
        self.steps: list[Step] = []

    def add(self, layer: Layer) -> None:
        """Add a layer of the trace."""
        if INPUT in read_by(layer) and (not isinstance(layer, Convolution) or layer.depthwise):
            raise ValueError(f"{layer.target} reads the input, expected a Conv2d with one group there")
        if isinstance(layer, Linear):
            self._linear(layer)
        elif isinstance(layer, Sum):
            self._sum(layer)
        elif isinstance(layer, Mean):
            self._mean(layer)
        else:
            self._drop(layer)

    def posteriors(self, source: str, target: str) -> None:
        """Add a softmax."""
        logits = self.tensors[source]
        self.tensors[target] = Tensor(target, logits.shape, 1 / 256, -128)
        self.steps.append(Softmax(source, target, softmax_table(logits.scale)))

    def _scale(self, name: str, top: float | None) -> Scale:
        seen = self.seen[name]
        if top is not None:
            found = rectified(seen, top, self.settings.clip)
        elif name in self.traced.logits:
            found = of_logits(seen.sample().astype(np.float64).reshape(-1, seen.shape[-1]))
        else:
            found = signed(seen, self.settings.clip)
        return found.wider(self.settings.headroom) if len(seen.shape) == 1 else found

    def _put(self, name: str, scale: float, zero: int) -> None:
        self.tensors[name] = Tensor(name, self.seen[name].shape, float(scale), zero)

    def _linear(self, layer: Linear) -> None:
        source = self.tensors[layer.source]
        scale, zero = self._scale(layer.target, layer.top)
        real = self._from_input(layer, source) if layer.source == INPUT else self._from_inner(layer, source)
        depthwise = isinstance(layer, Convolution) and layer.depthwise
        axes = tuple(range(1, real.weights.ndim))
        steps = np.abs(real.weights).max(axis=axes) / 127
        scale = max(scale, ROOM * source.scale * float(steps.max()))
        steps = np.maximum(steps, LEAST * scale / source.scale)
        steps = np.maximum(steps, np.abs(real.bias) / (source.scale * 2.0**29))  # or it would leave 32 bits
        spread = steps.reshape(-1, *(1 for _ in axes))
        rounded = np.clip(_nearest(real.weights / spread), -127, 127)
        biases = real.bias
        if self.settings.correct:
            gap = (rounded * spread - real.weights).reshape(*real.weights.shape[:2], -1).sum(axis=2)
            biases = biases - (gap[:, 0] * real.mean if depthwise else gap @ real.mean)
        whole = _nearest(biases / (source.scale * steps)) - source.zero * rounded.sum(axis=axes)
        bias: Int32 = whole.astype(np.int32)
        wanted = np.minimum(_nearest(source.scale * steps / scale * 2.0**32), HIGHEST)
        multiplier: Int32 = wanted.astype(np.int32)
        weights: Int8 = rounded.astype(np.int8)
        self._put(layer.target, scale, zero)
        at = (layer.source, layer.target)
        if not isinstance(layer, Convolution):
            self.steps.append(Dense(*at, weights, bias, multiplier))
            return
        stride = (layer.stride, layer.stride)
        if depthwise:
            turned = np.ascontiguousarray(weights[:, 0].transpose(1, 2, 0))
            self.steps.append(Depthwise(*at, turned, bias, multiplier, stride, layer.padding, real.pad))
        else:
            turned = np.ascontiguousarray(weights.transpose(0, 2, 3, 1))
            self.steps.append(Conv(*at, turned, bias, multiplier, stride, layer.padding, real.pad))

    def _from_inner(self, layer: Linear, source: Tensor) -> _Real:
        pad: Int8 = np.full(source.shape[-1], source.zero, dtype=np.int8)
        return _Real(layer.weights, layer.bias, pad, self.seen[layer.source].mean)

    def _from_input(self, layer: Linear, source: Tensor) -> _Real:
        """Return a layer that takes the input as it is: its normalization becomes weights and bias."""
        mean, std = self.traced.mean, self.traced.std
        assert isinstance(layer, Convolution)
        weights = layer.weights / std[:, None, None]
        bias = layer.bias - np.einsum("oihw,i->o", weights, mean)
        pad = Scale(source.scale, source.zero).quantized(mean)
        return _Real(weights, bias, pad, self.seen[INPUT].mean * std + mean)

    def _sum(self, layer: Sum) -> None:
        first, second = self.tensors[layer.first], self.tensors[layer.second]
        scale, zero = self._scale(layer.target, layer.top)
        ratios = (first.scale / scale, second.scale / scale)
        shift = min(20, math.floor(math.log2(32767 / max(ratios))))
        left, right = (math.floor(ratio * 2**shift + 0.5) for ratio in ratios)
        offset = (zero << shift) + (1 << shift >> 1) - first.zero * left - second.zero * right
        self._put(layer.target, scale, zero)
        self.steps.append(Add(layer.first, layer.second, layer.target, left, right, offset, shift))

    def _mean(self, layer: Mean) -> None:
        source = self.tensors[layer.source]
        # A mean of what is never negative is not either.
        scale, zero = self._scale(layer.target, math.inf if self.seen[layer.source].low >= 0 else None)
        places = source.shape[0] * source.shape[1]
        scale = max(scale, ROOM * source.scale / places)
        multiplier = math.floor(source.scale / (places * scale) * 2.0**32 + 0.5)
        self._put(layer.target, scale, zero)
        self.steps.append(MeanPool(layer.source, layer.target, -places * source.zero, multiplier))

    def _drop(self, layer: Dropping) -> None:
        source = self.tensors[layer.source]
        threshold = min(255, math.floor(256 * layer.rate + 0.5))
        # What is kept stands for more, which the scale says: no value changes, so that none is cut off.
        self._put(layer.target, source.scale * 256 / (256 - threshold), source.zero)
        self.steps.append(Drop(layer.source, layer.target, threshold, 2**15))


class _Real(NamedTuple):
    """A linear layer for raw input: weights, bias, what is outside the picture, mean of every channel."""

    weights: Floats
    bias: Floats
    pad: Int8
    mean: Floats


def _nearest(values: Floats) -> Floats:
    """Return the nearest whole numbers; a tie goes up."""
    return np.asarray(np.floor(values + 0.5))
