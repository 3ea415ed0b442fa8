"""From a float network to int8 steps: channels brought to one range, then every tensor its scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Int8

from ..zoo.outputs import core
from .steps import QuantizeSettings, Scale, Seen, Steps, spanning
from .trace import INPUT, Convolution, Floats, Layer, Linear, Matrix, Trace, read_by, trace_of, values_of

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
        scalable = isinstance(layer, Linear) and layer.top in (None, np.inf)
        if layer.target in keep or not scalable or not readers:
            continue
        if not all(isinstance(other, Linear) for other in readers):
            continue
        depthwise = all(isinstance(other, Convolution) and other.depthwise for other in readers)
        ratio = np.maximum(highest[layer.target] / max(float(highest[layer.target].max()), 1e-30), LEAST)
        factor = ratio ** (1.0 if depthwise else strength)
        layers[at] = _made(layer, 1 / factor)
        for place, other in enumerate(layers):
            if other in readers:
                layers[place] = _read(other, factor)
    return replace(traced, layers=layers)


def _made(layer: Layer, factor: Floats) -> Layer:
    assert isinstance(layer, Linear)
    shape = (-1, *(1 for _ in range(layer.weights.ndim - 1)))
    return replace(layer, weights=layer.weights * factor.reshape(shape), bias=layer.bias * factor)


def _read(layer: Layer, factor: Floats) -> Layer:
    assert isinstance(layer, Linear)
    if not isinstance(layer, Convolution):
        return replace(layer, weights=layer.weights * factor)
    shape = (-1, 1, 1, 1) if layer.depthwise else (1, -1, 1, 1)
    return replace(layer, weights=layer.weights * factor.reshape(shape))


PICTURE = Scale(1 / 255, -128)
"""Pictures: the byte less 128, so that nothing is lost."""
BATCH = 50
ENDS = tuple(np.linspace(1.0, 0.1, 10).tolist())
"""Shares of the range of a real input that are tried."""
ASKED = 200
"""Examples that they are tried on."""
WIDEST = 32
"""Values that a projection may keep."""


def quantize(
    module: nn.Module,
    calibration: npt.NDArray[Any],
    name: str,
    *,
    projection: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
    entry: tuple[float, int] | None = None,
    about: Mapping[str, object] | None = None,
    settings: QuantizeSettings | None = None,
) -> Graph:
    """Return the int8 graph of a network."""
    used = settings or QuantizeSettings()
    traced, features = _projected(trace_of(module), projection)
    examples = np.asarray(calibration)
    if not len(examples):
        raise ValueError("calibration has 0 examples; at least 1 is needed")
    seen = _observed(module, traced, examples)
    if used.balance:
        traced = balanced(traced, {each: seen[each].highest for each in seen}, used.balance, keep=(features,))
        seen = _observed(module, traced, examples)
    shown = _input(module, traced, examples) if entry is None else Scale(*entry)
    made = Steps(traced, seen, used, shown)
    for layer in traced.layers:
        made.add(layer)
    outputs = {}
    for at, logits in enumerate(traced.logits):
        end = f"_{at}" if at else ""
        made.posteriors(logits, f"probs{end}")
        outputs[f"probs{end}"] = f"probs{end}"
    outputs["features"] = features
    noted = {**(about or {}), "calibration": len(examples)}
    return check(Graph(name, made.tensors, made.steps, INPUT, outputs, noted))


def input_of(graph: Graph, examples: npt.NDArray[Any]) -> Int8:
    """Return examples as a graph takes them: bytes of pictures less 128, real values by scale and zero."""
    tensor = graph.tensors[graph.input]
    given = np.asarray(examples)
    if given.shape[1:] == tensor.shape[:-1] and tensor.shape[-1] == 1:
        given = given[..., None]
    if given.shape[1:] != tensor.shape:
        raise ValueError(
            f"examples are {np.asarray(examples).shape}, expected (n, {', '.join(map(str, tensor.shape))})"
        )
    how = Scale(tensor.scale, tensor.zero)
    if given.dtype == np.uint8:
        if how != PICTURE:
            raise ValueError(f"examples are pictures, expected real values at scale {tensor.scale:g}")
        return np.asarray(given.astype(np.int16) - 128, dtype=np.int8)
    if given.dtype.kind != "f":
        raise ValueError(f"examples are {given.dtype}, expected uint8 or float")
    return how.quantized(given)


def _projected(traced: Trace, projection: tuple[Any, Any] | None) -> tuple[Trace, str]:
    """Return a trace with a projection of its features, and the tensor that the monitor sees."""
    if projection is None:
        return traced, traced.features
    matrix, offset = (np.asarray(each, dtype=np.float64) for each in projection)
    width = next(layer.weights.shape[1] for layer in traced.layers if layer.target == traced.logits[0])  # type: ignore[union-attr]
    fits = matrix.ndim == 2 and matrix.shape[0] == width and 1 <= matrix.shape[1] <= WIDEST
    if not fits or offset.shape != matrix.shape[1:]:
        raise ValueError(
            f"projection is {matrix.shape} and {offset.shape}, expected ({width}, kept) and (kept,), "
            f"with 1 to {WIDEST} kept"
        )
    step = Matrix(traced.features, "projected", np.ascontiguousarray(matrix.T), offset)
    return replace(traced, layers=[*traced.layers, step]), "projected"


def _observed(module: nn.Module, traced: Trace, examples: npt.NDArray[Any]) -> dict[str, Seen]:
    """Return what every tensor is on the examples; a projection is quantized like any other layer."""
    network = core(module).eval()
    draw = np.random.default_rng(0)
    drop = torch.Generator().manual_seed(0)
    found: dict[str, Seen] = {}
    with torch.inference_mode():
        for at in range(0, len(examples), BATCH):
            batch = np.ascontiguousarray(examples[at : at + BATCH])
            values = values_of(traced, network.prepare(torch.from_numpy(batch)).cpu(), drop)
            for name, value in values.items():
                last = value.permute(0, 2, 3, 1) if value.ndim == 4 else value
                rows = last.contiguous().numpy()
                if name not in found:
                    found[name] = Seen(rows.shape[1:])
                share = len(batch) / len(examples)
                found[name].add(rows, share, None if name in traced.logits else draw)
    return found


def _input(module: nn.Module, traced: Trace, examples: npt.NDArray[Any]) -> Scale:
    """Return the scale of the input.

    That of real values is the one that changes the logits of the plain head least: how much a rare extreme
    matters is for the network to say. Posteriors, which a few hard examples decide, carry over less well.
    """
    if examples.dtype == np.uint8:
        return PICTURE
    network = core(module).eval()

    def said(x: npt.NDArray[Any]) -> Floats:
        with torch.inference_mode():
            given = network.prepare(torch.from_numpy(np.asarray(x, dtype=np.float32)))
            return np.asarray(values_of(traced, given)[traced.logits[0]].double().numpy())

    some = examples[:: -(-len(examples) // ASKED)]
    wanted = said(some)
    low, high = min(0.0, float(examples.min())), max(0.0, float(examples.max()))

    def error(below: float, above: float) -> float:
        how = spanning(low * below, high * above)
        return float(((said(how.real(how.quantized(some))) - wanted) ** 2).sum())

    below = min(ENDS, key=lambda share: error(share, 1.0))
    above = min(ENDS, key=lambda share: error(below, share))
    return spanning(low * below, high * above)
