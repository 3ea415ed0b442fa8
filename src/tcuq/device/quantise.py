"""From a trained network to an int8 graph: weights a channel, scales from development examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..checks import number
from ..zoo.outputs import core
from . import oracle
from .balance import balanced
from .check import check
from .graph import HIGHEST, Add, Conv, Dense, Depthwise, Drop, Graph, Int8, MeanPool, Softmax, Step, Tensor, UInt16
from .ranges import Scale, Seen, of_logits, rectified, signed
from .trace import INPUT, Convolution, Dropping, Floats, Matrix, Mean, Plan, Sum, plan_of, values_of

PICTURE = Scale(1 / 255, -128)
"""Pictures: the byte less 128, so that nothing is lost."""
BATCH = 50
LEAST = 2.0**-18
"""Least multiplier: a weaker channel gets coarser weights, or its multiplier would have too few digits."""
WIDEST = 32
"""Values that a projection may keep."""


@dataclass(frozen=True)
class Settings:
    """How scales are chosen.

    Parameters
    ----------
    clip : bool
        Cut off rare high values where that makes the mean squared error of a tensor smaller.
    correct : bool
        Take off the biases what rounded weights add on average.
    balance : float
        0 to 1, how far the channels of a tensor are brought to one range before it is quantised.
    """

    clip: bool = True
    correct: bool = True
    balance: float = 0.5


def quantise(
    module: nn.Module,
    calibration: npt.NDArray[Any],
    name: str,
    *,
    projection: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
    softmax: bool = True,
    about: Mapping[str, object] | None = None,
    settings: Settings | None = None,
) -> Graph:
    """Return the int8 graph of a network.

    Parameters
    ----------
    module : torch module
        A backbone of stages, with early exits, HYDRA's heads or Monte Carlo dropout where a recipe put them.
    calibration : array (n, ...)
        Development examples, as the data set gives them to the network; a few hundred. Scales come from them.
    name : str
        A C identifier.
    projection : (matrix, offset), optional
        Features times the matrix (width, kept) plus the offset (kept,) take the place of the features.
    softmax : bool
        False ends in logits, for runtimes that have no softmax; see `posteriors`.
    about : mapping, optional
        Noted in the graph.
    settings : Settings, optional

    Returns
    -------
    Graph
        Outputs are "probs" (or "logits") and "features" of the plain head; "probs_1" and so on of exits, or
        of HYDRA's other heads. Dropout of a Monte Carlo network is on.

    Raises
    ------
    ValueError
        Where a module has no counterpart.
    """
    used = settings or Settings()
    number("balance", used.balance, 0, 1)
    plan, features = _projected(plan_of(module), projection)
    examples = np.asarray(calibration)
    if not len(examples):
        raise ValueError("calibration has 0 examples; at least 1 is needed")
    seen = _observed(module, plan, examples)
    if used.balance:
        plan = balanced(plan, {each: seen[each].highest for each in seen}, used.balance, keep=(features,))
        seen = _observed(module, plan, examples)
    made = _Made(plan, seen, used, _input(module, examples))
    for layer in plan.layers:
        made.add(layer)
    outputs = {}
    for at, logits in enumerate(plan.logits):
        end = f"_{at}" if at else ""
        if softmax:
            made.posteriors(logits, f"probs{end}")
        outputs[f"{'probs' if softmax else 'logits'}{end}"] = f"probs{end}" if softmax else logits
    outputs["features"] = features
    noted = {**(about or {}), "calibration": len(examples)}
    return check(Graph(name, made.tensors, made.steps, INPUT, outputs, noted))


def input_of(graph: Graph, examples: npt.NDArray[Any]) -> Int8:
    """Return examples as a graph takes them: bytes of pictures less 128, real values by scale and zero.

    Parameters
    ----------
    graph : Graph
    examples : array (n, ...)
        uint8 pictures or float features, channels last; one channel needs no axis.

    Examples
    --------
    >>> grey = Graph("g", {"x": Tensor("x", (1, 2, 1), 1 / 255, -128)}, [], "x", {})
    >>> input_of(grey, np.array([[[0, 255]]], dtype=np.uint8)).ravel().tolist()
    [-128, 127]
    """
    tensor = graph.tensors[graph.input]
    given = np.asarray(examples)
    if given.shape[1:] == tensor.shape[:-1] and tensor.shape[-1] == 1:
        given = given[..., None]
    if given.shape[1:] != tensor.shape:
        raise ValueError(f"examples are {np.asarray(examples).shape}; (n, {', '.join(map(str, tensor.shape))}) is accepted")
    how = Scale(tensor.scale, tensor.zero)
    if given.dtype == np.uint8:
        if how != PICTURE:
            raise ValueError(f"examples are pictures; real values at scale {tensor.scale:g} are accepted")
        return np.asarray(given.astype(np.int16) - 128, dtype=np.int8)
    if given.dtype.kind != "f":
        raise ValueError(f"examples are {given.dtype}; uint8 or float is accepted")
    return how.quantised(given)


def softmax_table(scale: float) -> UInt16:
    """Return the table of `Softmax` for logits of a scale.

    Examples
    --------
    >>> softmax_table(0.1)[[0, 10, 255]].tolist()
    [65535, 24109, 0]
    """
    number("scale", scale, 1e-30, 1e30)
    return np.asarray(np.floor(65535 * np.exp(-scale * np.arange(256)) + 0.5), dtype=np.uint16)


def posteriors(logits: Int8, scale: float) -> Int8:
    """Return posteriors of int8 logits, to the bit as a graph that ends in `Softmax` gives them.

    Parameters
    ----------
    logits : int8 array (n, classes)
    scale : float
        Of the logits.

    Examples
    --------
    >>> posteriors(np.array([[10, 0, -128]], dtype=np.int8), 0.1).tolist()
    [[59, -59, -128]]
    """
    if logits.dtype != np.int8 or logits.ndim != 2:
        raise ValueError(f"logits are {logits.dtype} {logits.shape}; int8 (n, classes) is accepted")
    return oracle.softmax(logits, softmax_table(scale))


def _projected(plan: Plan, projection: tuple[Any, Any] | None) -> tuple[Plan, str]:
    """Return a plan with a projection of its features, and the tensor that the monitor sees."""
    if projection is None:
        return plan, plan.features
    matrix, offset = (np.asarray(each, dtype=np.float64) for each in projection)
    width = next(layer.weights.shape[1] for layer in plan.layers if layer.target == plan.logits[0])  # type: ignore[union-attr]
    fits = matrix.ndim == 2 and matrix.shape[0] == width and 1 <= matrix.shape[1] <= WIDEST
    if not fits or offset.shape != matrix.shape[1:]:
        raise ValueError(
            f"projection is {matrix.shape} and {offset.shape}; ({width}, kept) and (kept,) are accepted, "
            f"with 1 to {WIDEST} kept"
        )
    step = Matrix(plan.features, "projected", np.ascontiguousarray(matrix.T), offset)
    return replace(plan, layers=[*plan.layers, step]), "projected"


def _observed(module: nn.Module, plan: Plan, examples: npt.NDArray[Any]) -> dict[str, Seen]:
    """Return what every tensor is on the examples; a projection is quantised like any other layer."""
    network = core(module).eval()
    draw = np.random.default_rng(0)
    drop = torch.Generator().manual_seed(0)
    found: dict[str, Seen] = {}
    with torch.inference_mode():
        for at in range(0, len(examples), BATCH):
            batch = np.ascontiguousarray(examples[at : at + BATCH])
            values = values_of(plan, network.prepare(torch.from_numpy(batch)).cpu(), drop)
            for name, value in values.items():
                last = value.permute(0, 2, 3, 1) if value.ndim == 4 else value
                rows = last.contiguous().numpy()
                if name not in found:
                    found[name] = Seen(rows.shape[1:])
                share = len(batch) / len(examples)
                found[name].add(rows, share, None if name in plan.logits else draw)
    return found


def _input(module: nn.Module, examples: npt.NDArray[Any]) -> Scale:
    if examples.dtype == np.uint8:
        return PICTURE
    raw = Seen(examples.shape[1:])
    raw.add(examples.astype(np.float32).reshape(len(examples), -1), 1.0, np.random.default_rng(0))
    return signed(raw, True)


class _Made:
    """Tensors and steps of a graph so far."""

    def __init__(self, plan: Plan, seen: Mapping[str, Seen], settings: Settings, first: Scale) -> None:
        self.plan, self.seen, self.settings = plan, seen, settings
        self.tensors = {INPUT: Tensor(INPUT, seen[INPUT].shape, *first)}
        self.steps: list[Step] = []

    def add(self, layer: Any) -> None:
        """Add a layer of the plan."""
        if isinstance(layer, (Convolution, Matrix)):
            self._linear(layer)
        elif isinstance(layer, Sum):
            self._sum(layer)
        elif isinstance(layer, Mean):
            self._mean(layer)
        else:
            assert isinstance(layer, Dropping)
            self._drop(layer)

    def posteriors(self, source: str, target: str) -> None:
        """Add a softmax."""
        logits = self.tensors[source]
        self.tensors[target] = Tensor(target, logits.shape, 1 / 256, -128)
        self.steps.append(Softmax(source, target, softmax_table(logits.scale)))

    def _scale(self, name: str, top: float | None) -> Scale:
        if top is not None:
            return rectified(self.seen[name], top, self.settings.clip)
        if name in self.plan.logits:
            rows = self.seen[name].sample().reshape(-1, self.seen[name].shape[-1])
            return of_logits(rows.astype(np.float64))
        return signed(self.seen[name], self.settings.clip)

    def _put(self, name: str, how: Scale) -> None:
        self.tensors[name] = Tensor(name, self.seen[name].shape, *how)

    def _linear(self, layer: Convolution | Matrix) -> None:
        source, (scale, zero) = self.tensors[layer.source], self._scale(layer.target, layer.top)
        weights, bias, pad, mean = layer.weights, layer.bias, np.full(source.shape[-1], source.zero), self.seen[layer.source].mean
        if layer.source == INPUT:
            weights, bias, pad, mean = self._normalised(layer, source, mean)
        axes = tuple(range(1, weights.ndim))
        step = np.abs(weights).max(axis=axes) / 127
        # A scale that is too fine for its multiplier is made coarser: 2 * step * source.scale is the least one.
        scale = max(scale, 2.001 * source.scale * float(step.max()))
        step = np.maximum(step, LEAST * scale / source.scale)
        step = np.maximum(step, np.abs(bias) / (source.scale * 2.0**29))
        spread = step.reshape(-1, *(1 for _ in axes))
        rounded = np.clip(np.floor(weights / spread + 0.5), -127, 127)
        if self.settings.correct:
            gap = (rounded * spread - weights).reshape(len(weights), weights.shape[1], -1).sum(axis=2)
            depthwise = isinstance(layer, Convolution) and layer.depthwise
            bias = bias - (gap[:, 0] * mean if depthwise else gap @ mean)
        whole = np.floor(bias / (source.scale * step) + 0.5) - source.zero * rounded.sum(axis=axes)
        multiplier = np.floor(source.scale * step / scale * 2.0**32 + 0.5)
        fixed = (whole.astype(np.int32), np.minimum(multiplier, HIGHEST).astype(np.int32))
        self._put(layer.target, Scale(scale, zero))
        small = rounded.astype(np.int8)
        if isinstance(layer, Matrix):
            self.steps.append(Dense(layer.source, layer.target, small, *fixed))
            return
        rest = (layer.stride, layer.padding, pad.astype(np.int8))
        if layer.depthwise:
            turned = np.ascontiguousarray(small[:, 0].transpose(1, 2, 0))
            self.steps.append(Depthwise(layer.source, layer.target, turned, *fixed, *rest))
        else:
            turned = np.ascontiguousarray(small.transpose(0, 2, 3, 1))
            self.steps.append(Conv(layer.source, layer.target, turned, *fixed, *rest))

    def _normalised(
        self, layer: Convolution | Matrix, source: Tensor, mean: Floats
    ) -> tuple[Floats, Floats, npt.NDArray[Any], Floats]:
        """Return weights and bias that take the input as it is, what stands for 0 in it, and its mean."""
        assert isinstance(layer, Convolution)
        weights = layer.weights / self.plan.std[:, None, None]
        bias = layer.bias - np.einsum("oihw,i->o", weights, self.plan.mean)
        pad = Scale(source.scale, source.zero).quantised(self.plan.mean)
        return weights, bias, pad, mean * self.plan.std + self.plan.mean

    def _sum(self, layer: Sum) -> None:
        first, second = self.tensors[layer.first], self.tensors[layer.second]
        how = self._scale(layer.target, layer.top)
        largest = max(first.scale, second.scale) / how.scale
        shift = int(np.clip(math.floor(math.log2(32767 / largest)), 0, 20))
        left, right = (int(math.floor(each.scale / how.scale * 2**shift + 0.5)) for each in (first, second))
        offset = (how.zero << shift) + (1 << shift >> 1) - first.zero * left - second.zero * right
        self._put(layer.target, how)
        self.steps.append(Add(layer.first, layer.second, layer.target, left, right, offset, shift))

    def _mean(self, layer: Mean) -> None:
        source, seen = self.tensors[layer.source], self.seen[layer.target]
        # A mean of what is never negative is not either.
        scale, zero = self._scale(layer.target, math.inf if seen.low >= 0 and source.zero == -128 else None)
        places = source.shape[0] * source.shape[1]
        scale = max(scale, 2.001 * source.scale / places)
        multiplier = int(source.scale / (places * scale) * 2.0**32 + 0.5)
        self._put(layer.target, Scale(scale, zero))
        self.steps.append(MeanPool(layer.source, layer.target, -places * source.zero, multiplier))

    def _drop(self, layer: Dropping) -> None:
        source = self.tensors[layer.source]
        threshold = min(255, int(256 * layer.rate + 0.5))
        # What is kept stands for more, which the scale says: no value changes, so that none is cut off.
        self._put(layer.target, Scale(source.scale * 256 / (256 - threshold), source.zero))
        self.steps.append(Drop(layer.source, layer.target, threshold, 2**15))
