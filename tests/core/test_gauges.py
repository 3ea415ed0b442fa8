"""Gauges of inputs: the core against the reference, and both against what they mean in real numbers."""

from __future__ import annotations

import random

import gen_gauges
import numpy as np
import numpy.typing as npt
import pytest
from places import ROOT

from tcuq import InputError, _core, gauge_names, input_gauges
from tcuq.reference import gauges as reference

Real = npt.NDArray[np.float64]


def logarithm(values: Real) -> float:
    """Return log2 of the mean size and 2; of nothing, the mean is 0."""
    return float(np.log2((np.abs(values).mean() if values.size else 0) + 2))


def real(kind: str, x: Real) -> list[float]:
    """Return the gauges of one input of h, w, c in float64."""
    h, w, c = x.shape
    d = np.diff(x, axis=1)
    spread, jitter = np.log2(x.std() + 2), logarithm(np.diff(d, axis=1))
    center_x = float(x.mean((0, 2)) @ ((np.arange(w) - (w - 1) / 2) / w)) * 4 / w
    levels = x.mean((0, 1))
    changes = [logarithm(d[:, :, k]) for k in range(min(c, 6))]
    if kind == "table":
        return [levels[0], spread, changes[0], jitter, x.min(), x.max(), center_x]
    if kind == "signal":
        flat = (d == 0).mean() if d.size else 0
        ends = [x.min(), x.max()] if c == 1 else []
        return [spread, jitter, flat, *ends, *levels[:6], *changes]
    bins = np.floor((x + 128) / 8)
    dark, bright = ((np.abs(bins - end) <= 1).mean() for end in (bins.min(), bins.max()))
    found = [x.mean(), spread, jitter, logarithm(np.diff(x, axis=0)), logarithm(np.diff(d, axis=0))]
    found += [np.log2(dark + 0.02), np.log2(bright + 0.02), center_x]
    found.append(float(x.mean((1, 2)) @ ((np.arange(h) - (h - 1) / 2) / h)) * 4 / h)
    return [*found, *([logarithm(np.diff(x, axis=2)), *np.diff(levels)[:2]] if c > 1 else [])]


def made(kind: str, dice: np.random.Generator, shape: tuple[int, int, int]) -> npt.NDArray[np.int8]:
    """Return an input: noise around a slope or a wave, cut to int8 as a converter would."""
    h, w, c = shape
    rows, columns = np.mgrid[:h, :w]
    slope = dice.normal(0, 2, (1, 1, c)) * columns[..., None] + dice.normal(0, 2) * rows[..., None]
    wave = dice.exponential(60) * np.sin(columns[..., None] * dice.uniform(0, 3) + dice.uniform(0, 6, c))
    noise = dice.normal(0, dice.exponential(10), shape)
    return np.clip(np.rint(dice.normal(0, 60) + slope + wave + noise), -128, 127).astype(np.int8)


SHAPES = [("picture", shape) for shape in ((32, 32, 3), (28, 28, 1), (49, 10, 1), (8, 9, 2), (11, 8, 4))]
SHAPES += [("signal", (1, 128, c)) for c in (1, 2, 3, 6, 9)] + [("table", (1, n, 1)) for n in (2, 30, 640)]
OWN = {"signal": lambda x: x[:, 0], "table": lambda x: x.reshape(len(x), -1)}


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_integers_are_what_the_numbers_mean(kind: str, shape: tuple[int, int, int]) -> None:
    dice = np.random.default_rng(20)
    inputs = np.stack([made(kind, dice, shape) for _ in range(40)])
    inputs[:10] = dice.integers(-128, 128, inputs[:10].shape)
    found = input_gauges(OWN.get(kind, lambda x: x)(inputs), kind)
    wanted = np.array([real(kind, each.astype(float)) for each in inputs])
    assert found.dtype == np.float32 and found.shape == wanted.shape
    assert np.abs(found - np.clip(wanted, -128, 127.997)).max() <= 1 / 64


@pytest.mark.parametrize("values", [(-128,), (127,), (-128, 127)])
def test_the_largest_input_does_not_overflow(values: tuple[int, ...]) -> None:
    inputs = np.resize(np.array(values, np.int8), (1, 128, 65535, 1))
    wanted = real("picture", inputs[0].astype(float))
    assert np.abs(input_gauges(inputs, "picture")[0] - wanted).max() <= 1 / 64


def test_core_and_reference_agree_on_random_inputs() -> None:
    dice = random.Random(20)
    for _ in range(300):
        kind = dice.choice(["picture", "signal", "table"])
        shape = (1 if kind != "picture" else dice.randint(1, 6), dice.randint(1, 12), dice.randint(1, 8))
        shape = (1, shape[1], 1) if kind == "table" else shape
        values = np.frombuffer(gen_gauges.drawn(dice, int(np.prod(shape))), np.int8)
        out = np.empty((1, 16), np.int16)
        count = _core.input_gauges(values, out, ["picture", "signal", "table"].index(kind), *shape)
        assert out[0, :count].tolist() == reference.gauges(kind, shape, values.tolist()), (kind, shape)


@pytest.mark.parametrize(
    ("shape", "kind", "count"),
    [
        *(((8, 9, 1), None, 9), ((1, 8, 9), None, 9), ((3, 8, 9), None, 12), ((49, 10), None, 15)),
        *(((49, 10), "spectrum", 9), ((128,), "signal", 7), ((1, 128, 3), None, 9), ((5, 3), "table", 7)),
    ],
)
def test_names_and_numbers_go_together(shape: tuple[int, ...], kind: str | None, count: int) -> None:
    inputs = np.zeros((2, *shape), np.int8)
    assert input_gauges(inputs, kind).shape == (2, count) == (2, len(set(gauge_names(shape, kind))))


def test_channels_that_come_first_and_other_formats() -> None:
    inputs = np.random.default_rng(1).integers(-128, 128, (3, 8, 9, 3)).astype(np.int8)
    wanted = input_gauges(inputs)
    assert (input_gauges(np.moveaxis(inputs, -1, 1)) == wanted).all()
    assert (input_gauges((inputs.astype(int) + 128).astype(np.uint8)) == wanted).all()
    assert (input_gauges(inputs * 0.5 - 1, scale=0.5, zero_point=-2) != wanted).any()
    assert (input_gauges((inputs + 128.0) / 256, scale=1 / 256, zero_point=-128) == wanted).all()


@pytest.mark.parametrize(
    ("inputs", "more", "problem"),
    [
        (np.zeros((2, 8, 8, 1)), {}, "inputs are float64; pass `scale` and `zero_point`"),
        (np.zeros(5, np.int8), {}, "one row an input"),
        (np.zeros((2, 8, 8, 7), np.int8), {}, "which is no picture, signal or row of a table"),
        (np.zeros((2, 9), np.int8), {"kind": "photo"}, "kind is 'photo', expected picture"),
        (np.zeros((2, 9), np.int64), {}, "inputs are int64, expected int8"),
        (np.zeros((2, 65536), np.int8), {}, "at most 65,535 a side"),
        (np.zeros((2, 0), np.int8), {"kind": "table"}, "expected 1 to 8,388,607 values"),
    ],
)
def test_inputs_that_are_refused(inputs: npt.NDArray[np.generic], more: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        input_gauges(inputs, **more)


def test_the_guide_names_all_gauges() -> None:
    text = (ROOT / "docs" / "RECORD.md").read_text(encoding="utf-8")
    rows = {line.split(" | ")[0][2:]: line for line in text.splitlines() if line.startswith("| ")}
    for row, shape, kind in (
        ("picture", (8, 8, 3), "picture"),
        ("spectrum", (8, 8), "spectrum"),
        ("signal of one axis", (8,), "signal"),
        ("signal of several axes", (9, 6), "signal"),
        ("row of a table", (8,), "table"),
    ):
        names = {name.removesuffix("_1") for name in gauge_names(shape, kind) if name[-1] not in "23456"}
        assert {name for name in names if name not in rows[row]} == set(), row
