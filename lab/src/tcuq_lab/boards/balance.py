"""Channels of a tensor brought towards one range, without a change of what the network computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .trace import Convolution, Floats, Layer, Matrix, Trace, read_by

LEAST = 1 / 32
"""Most that a channel is widened: one that is hardly ever used must not be blown up to full range."""


def balanced(
    traced: Trace, highest: Mapping[str, Floats], strength: float, keep: Sequence[str] = ()
) -> Trace:
    """Return a trace whose tensors have channels of similar range.

    A channel is divided by a factor where it is made and multiplied where it is read, which a rectifier
    without a top lets through. Weights that are made have a scale a channel, so there this costs nothing, nor
    where they are read by a depthwise convolution: such tensors are balanced wholly, others by `strength`.
    """
    layers = list(traced.layers)
    for at, layer in enumerate(layers):
        readers = [other for other in layers if layer.target in read_by(other)]
        if layer.target in keep or not _scalable(layer) or not readers:
            continue
        if not all(isinstance(other, (Convolution, Matrix)) for other in readers):
            continue
        depthwise = all(isinstance(other, Convolution) and other.depthwise for other in readers)
        ratio = np.maximum(highest[layer.target] / max(float(highest[layer.target].max()), 1e-30), LEAST)
        factor = ratio ** (1.0 if depthwise else strength)
        layers[at] = _made(layer, 1 / factor)
        for place, other in enumerate(layers):
            if other in readers:
                layers[place] = _read(other, factor)
    return replace(traced, layers=layers)


def _scalable(layer: Layer) -> bool:
    return isinstance(layer, (Convolution, Matrix)) and layer.top in (None, np.inf)


def _made(layer: Layer, factor: Floats) -> Layer:
    assert isinstance(layer, (Convolution, Matrix))
    shape = (-1, *(1 for _ in range(layer.weights.ndim - 1)))
    return replace(layer, weights=layer.weights * factor.reshape(shape), bias=layer.bias * factor)


def _read(layer: Layer, factor: Floats) -> Layer:
    assert isinstance(layer, (Convolution, Matrix))
    if isinstance(layer, Matrix):
        return replace(layer, weights=layer.weights * factor)
    shape = (-1, 1, 1, 1) if layer.depthwise else (1, -1, 1, 1)
    return replace(layer, weights=layer.weights * factor.reshape(shape))
