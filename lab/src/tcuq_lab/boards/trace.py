"""From a network of the zoo to float layers: norms folded, rectifiers joined to what they rectify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..zoo.backbone import Backbone
from ..zoo.backbones import Inverted, Residual
from ..zoo.heads import Heads
from ..zoo.recipes import Dropped, Exits

Floats = npt.NDArray[np.float64]
INPUT = "input"
NETWORKS = "a backbone of stages, early exits, HYDRA's heads or Monte Carlo dropout"
LAYERS = "Conv2d, BatchNorm2d, ReLU, ReLU6, ZeroPad2d, Dropout, Linear, Residual, Inverted"


@dataclass(frozen=True, eq=False)
class Linear:
    """Weights that begin with (outputs, inputs), and a rectifier behind them."""

    source: str
    target: str
    weights: Floats
    bias: Floats
    # What a rectifier lets through at most, infinity for a plain one; None without a rectifier.
    top: float | None = field(default=None, kw_only=True)


class Matrix(Linear):
    """Weights (outputs, inputs)."""


@dataclass(frozen=True, eq=False)
class Convolution(Linear):
    """Weights (outputs, inputs, height, width), one input for each output where `depthwise`."""

    stride: int
    padding: tuple[int, int, int, int]  # top, left, bottom, right
    depthwise: bool


@dataclass(frozen=True)
class Sum:
    """The sum of two tensors."""

    first: str
    second: str
    target: str
    top: float | None = None


@dataclass(frozen=True)
class Mean:
    """The mean over all places."""

    source: str
    target: str


@dataclass(frozen=True)
class Dropping:
    """Dropout that is on at inference."""

    source: str
    target: str
    rate: float


Layer = Linear | Sum | Mean | Dropping


@dataclass(frozen=True, eq=False)
class Trace:
    """A network as float steps."""

    layers: Sequence[Layer]
    mean: Floats  # by which the input is normalized before the first of them
    std: Floats
    features: str  # tensor of the features of the plain head
    logits: Sequence[str]  # tensors of logits, the plain head first


def read_by(layer: Layer) -> tuple[str, ...]:
    """Return the tensors that a layer reads."""
    return (layer.first, layer.second) if isinstance(layer, Sum) else (layer.source,)


def trace_of(module: nn.Module) -> Trace:
    """Return the steps of a network."""
    network = getattr(module, "backbone", module)
    # A subclass may do something else between its stages.
    if type(network) is not Backbone or type(module) not in (Backbone, Exits, Heads, Dropped):
        raise ValueError(f"network is a {type(module).__name__}, expected {NETWORKS}")
    tracer = _Tracer()
    taps = [INPUT]
    for number, stage in enumerate(network.stages):
        found = tracer.module(stage, taps[-1], f"stages.{number}")
        if isinstance(module, Dropped) and str(number) in module.drops:
            found = tracer.drop(module.drops[str(number)], found, f"drops.{number}")
        taps.append(found)
    features = tracer.mean(taps[-1], "features")
    logits = [tracer.linear(network.head, features, "logits")]
    if isinstance(module, Exits):
        for number, place in enumerate(module.places):
            each: Any = module.exits[number]
            hidden = tracer.mean(taps[place + 1], f"exits.{number}.mean")
            hidden = tracer.module(each.hidden, hidden, f"exits.{number}.hidden")
            logits.append(tracer.linear(each.classifier, hidden, f"logits.{number + 1}"))
    if isinstance(module, Heads):
        for number, tail in enumerate(module.tails):
            last = tracer.mean(tracer.module(tail, taps[-2], f"tails.{number}"), f"features.{number + 1}")
            logits.append(tracer.linear(module.classifiers[number], last, f"logits.{number + 1}"))
    return Trace(tracer.layers, _numbers(network.mean), _numbers(network.std), features, logits)


def values_of(traced: Trace, x: Tensor, random: torch.Generator | None = None) -> dict[str, Tensor]:
    """Return every tensor of a trace, channels first."""
    found = {INPUT: x}
    for layer in traced.layers:
        found[layer.target] = _value(layer, found, random)
    return found


def _value(layer: Layer, found: Mapping[str, Tensor], random: torch.Generator | None) -> Tensor:
    if isinstance(layer, Sum):
        return _rectified(found[layer.first] + found[layer.second], layer.top)
    x = found[layer.source]
    if isinstance(layer, Mean):
        return x.mean(dim=(2, 3))
    if isinstance(layer, Dropping):
        if random is None:
            return x
        return x * (torch.rand(x.shape, generator=random) >= layer.rate) / (1 - layer.rate)
    weights, bias = (torch.from_numpy(each).to(x.dtype) for each in (layer.weights, layer.bias))
    if not isinstance(layer, Convolution):
        return _rectified(functional.linear(x, weights, bias), layer.top)
    top, left, bottom, right = layer.padding
    framed = functional.pad(x, (left, right, top, bottom))
    groups = len(weights) if layer.depthwise else 1
    return _rectified(functional.conv2d(framed, weights, bias, layer.stride, groups=groups), layer.top)


def _rectified(x: Tensor, top: float | None) -> Tensor:
    return x if top is None else x.clamp(0, top)


def _numbers(values: Any) -> Floats:
    return np.asarray(values.detach().cpu().numpy(), dtype=np.float64)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


class _Tracer:
    """Layers so far; a tensor has the name of the module that makes it."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self._frame = (0, 0, 0, 0)

    def module(self, module: nn.Module, source: str, path: str) -> str:
        """Add what a module does, and return the tensor that it gives."""
        for where, each in _flat(module, path):
            source = self._one(each, source, where)
        if any(self._frame):
            raise ValueError(f"{path} ends in a ZeroPad2d, expected one before a Conv2d")
        return source

    def mean(self, source: str, path: str) -> str:
        """Add a mean over places."""
        return self._put(Mean(source, _name(path)))

    def linear(self, module: Any, source: str, path: str) -> str:
        """Add a matrix product."""
        if not isinstance(module, nn.Linear):
            raise ValueError(f"{path} is a {type(module).__name__}, expected Linear")
        weights = _numbers(module.weight)
        bias = np.zeros(len(weights)) if module.bias is None else _numbers(module.bias)
        return self._put(Matrix(source, _name(path), weights, bias))

    def drop(self, module: Any, source: str, path: str) -> str:
        """Add dropout that stays on; a rate of 0 adds nothing."""
        return self._put(Dropping(source, _name(path), float(module.p))) if module.p else source

    def _put(self, layer: Layer) -> str:
        self.layers.append(layer)
        return layer.target

    def _one(self, module: nn.Module, source: str, path: str) -> str:
        if isinstance(module, nn.Conv2d):
            return self._conv(module, source, path)
        if any(self._frame):
            raise ValueError(f"{path} is a {type(module).__name__} after a ZeroPad2d, expected Conv2d there")
        if isinstance(module, nn.ZeroPad2d):
            left, right, top, bottom = module.padding
            self._frame = (top, left, bottom, right)
        elif isinstance(module, nn.BatchNorm2d):
            self._fold(module, source, path)
        elif isinstance(module, (nn.ReLU, nn.ReLU6)):
            self._rectify(source, path, 6.0 if isinstance(module, nn.ReLU6) else float("inf"))
        elif isinstance(module, nn.Linear):
            return self.linear(module, source, path)
        elif isinstance(module, Residual):
            way = self.module(module.body, source, f"{path}.body")
            beside = self.module(module.shortcut, source, f"{path}.shortcut")
            return self._put(Sum(way, beside, _name(f"{path}.sum"), float("inf")))
        elif isinstance(module, Inverted):
            way = self.module(module.body, source, f"{path}.body")
            return self._put(Sum(way, source, _name(f"{path}.sum"))) if module.plain else way
        elif not isinstance(module, (nn.Dropout, nn.Identity)):  # both do nothing at inference
            raise ValueError(f"{path} is a {type(module).__name__}, expected {LAYERS}")
        return source

    def _conv(self, module: nn.Conv2d, source: str, path: str) -> str:
        outputs, groups = module.out_channels, module.groups
        strides = _pair(module.stride)
        fits = {
            "groups": groups == 1 or groups == module.in_channels == outputs,
            "dilation": _pair(module.dilation) == (1, 1),
            "stride": strides[0] == strides[1],
            "padding": not isinstance(module.padding, str),
            "padding_mode": module.padding_mode == "zeros",
        }
        for what, fine in fits.items():
            if not fine:
                raise ValueError(
                    f"{path} is a Conv2d with {what} {getattr(module, what)!r}, expected one group or one "
                    "per channel, dilation 1, one stride and zeros as padding"
                )
        down, across = _pair(module.padding)
        top, left, bottom, right = self._frame
        self._frame = (0, 0, 0, 0)
        weights = _numbers(module.weight)
        bias = np.zeros(outputs) if module.bias is None else _numbers(module.bias)
        padding = (top + down, left + across, bottom + down, right + across)
        depthwise = groups > 1
        return self._put(Convolution(source, _name(path), weights, bias, strides[0], padding, depthwise))

    def _made(self, source: str, path: str, what: str, *kinds: type) -> Any:
        """Return the layer that makes a tensor, to which something can still be joined."""
        last: Any = self.layers[-1] if self.layers else None
        joinable = isinstance(last, kinds) and getattr(last, "target", "") == source
        if not joinable or getattr(last, "top", None) is not None:
            accepted = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{path} is a {what} after something else, expected one right after {accepted}")
        return last

    def _fold(self, module: nn.BatchNorm2d, source: str, path: str) -> None:
        layer = self._made(source, path, "BatchNorm2d", Convolution)
        if module.running_mean is None or module.running_var is None:
            raise ValueError(f"{path} is a BatchNorm2d without statistics, expected one that keeps them")
        gain = 1 / np.sqrt(_numbers(module.running_var) + module.eps)
        shift = np.zeros(len(gain))
        if module.affine:
            gain, shift = gain * _numbers(module.weight), _numbers(module.bias)
        weights = layer.weights * gain[:, None, None, None]
        bias = (layer.bias - _numbers(module.running_mean)) * gain + shift
        self.layers[-1] = replace(layer, weights=weights, bias=bias)

    def _rectify(self, source: str, path: str, top: float) -> None:
        layer: Any = self._made(source, path, "rectifier", Linear, Sum)
        self.layers[-1] = replace(layer, top=top)


def _name(path: str) -> str:
    return path.replace(".", "_")


def _flat(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    if isinstance(module, nn.Sequential):
        for name, each in module.named_children():
            yield from _flat(each, f"{path}.{name}")
    else:
        yield path, module
