"""Functions of one byte as TFLite's reference kernels compute them: a table of 256 values each.

QUANTIZE, RELU and its like, LEAKY_RELU and ABS rescale a difference from the zero point with two
roundings. HARD_SWISH has fixed-point numbers of 16 bits of its own. The others are made in single precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .fixed_point import Int64, multiplier_of, rescaled_twice, shifted_right
from .model import Options, Tensor

Reals = npt.NDArray[np.floating[Any]]
BYTES = np.arange(-128, 128)


def table_of(code: str, source: Tensor, target: Tensor, options: Options) -> npt.NDArray[np.int8]:
    """Return what every byte from -128 on becomes."""
    centered = BYTES - source.zero
    if code in REAL:
        made = _real(REAL[code], centered, source, target, options)
    else:
        made = WHOLE[code](centered, source, target, options)
    return np.clip(made, -128, 127).astype(np.int8)


def limits(activation: str, tensor: Tensor) -> tuple[int, int]:
    """Return what a fused activation confines a tensor to.

    Examples
    --------
    >>> tensor = Tensor("t", (1,), "int8", np.array([0.05], np.float32), np.array([-100]))
    >>> limits("NONE", tensor), limits("RELU", tensor), limits("RELU6", tensor)
    ((-128, 127), (-100, 127), (-100, 20))
    """
    low = {"RELU": 0.0, "RELU6": 0.0, "RELU_0_TO_1": 0.0, "RELU_N1_TO_1": -1.0}.get(activation)
    high = {"RELU6": 6.0, "RELU_0_TO_1": 1.0, "RELU_N1_TO_1": 1.0}.get(activation)
    return (
        -128 if low is None else max(-128, _quantized(low, tensor)),
        127 if high is None else min(127, _quantized(high, tensor)),
    )


def _quantized(value: float, tensor: Tensor) -> int:
    """Return a number at the scale of a tensor, half away from zero."""
    ratio = float(np.float32(value) / tensor.scale)
    return tensor.zero + math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1)


def _scaled(centered: Int64, source: Tensor, target: Tensor, options: Options) -> Int64:
    factor = float(source.scale) / float(target.scale)
    return rescaled_twice(centered, *multiplier_of(factor)) + target.zero


def _rectified(activation: str) -> Callable[[Int64, Tensor, Tensor, Options], Int64]:
    def rectified(centered: Int64, source: Tensor, target: Tensor, options: Options) -> Int64:
        factor = float(source.scale / target.scale)
        made = rescaled_twice(centered, *multiplier_of(factor)) + target.zero
        return np.clip(made, *limits(activation, target))

    return rectified


def _absolute(centered: Int64, source: Tensor, target: Tensor, options: Options) -> Int64:
    return _scaled(np.abs(centered), source, target, options)


def _leaky(centered: Int64, source: Tensor, target: Tensor, options: Options) -> Int64:
    slope = np.float32(options.beta)
    plain = float(source.scale / target.scale)
    sloped = float(source.scale * abs(slope) / target.scale)
    below = rescaled_twice(centered, *multiplier_of(sloped)) * (1 if slope >= 0 else -1)
    return np.where(centered >= 0, rescaled_twice(centered, *multiplier_of(plain)), below) + target.zero


def _hard_swish(centered: Int64, source: Tensor, target: Tensor, options: Options) -> Int64:
    """Return x * clip(x / 3 + 1, 0, 2) / 2, with numbers of 16 bits."""
    fine = np.float32(1 / 128) * source.scale
    factor, shift = _short(float(fine / target.scale))
    by_three, up = _short(float(fine / (np.float32(3.0) / np.float32(32768.0))))
    wide = centered << 7
    outer = _high(wide, factor)
    inner = _high(_word(wide << max(up - 1, 0)), by_three)
    inner = _word(inner << 1) if up > 0 else shifted_right(inner, -up)
    share = (inner + 2**15) >> 1
    # Division of a product towards zero.
    product = share * outer
    whole = np.minimum(np.sign(product) * (np.abs(product) // 2**15), 2**15 - 1)
    return shifted_right(whole, -shift) + target.zero


def _short(factor: float) -> tuple[int, int]:
    multiplier, shift = multiplier_of(factor)
    return min((multiplier + 2**15) >> 16, 2**15 - 1), shift


def _word(values: Int64) -> Int64:
    return np.clip(values, -(2**15), 2**15 - 1)


def _high(values: Int64, factor: int) -> Int64:
    """Return the upper half of twice a product of 16 bits, half upwards."""
    return _word((values * factor + 2**14) >> 15)


def _real(
    function: Callable[[Reals, Options], Reals],
    centered: Int64,
    source: Tensor,
    target: Tensor,
    options: Options,
) -> Int64:
    """Return a real function in single precision, rounded half away from zero."""
    single = np.float32
    inputs = source.scale * centered.astype(single)
    with np.errstate(over="ignore"):
        # Rounded from double precision, so that no machine's own exponential matters.
        made = function(inputs.astype(np.float64), options).astype(single)
        scaled = made * (single(1) / target.scale)
    rounded = np.copysign(np.floor(np.abs(scaled) + single(0.5)), scaled)
    return np.asarray(np.clip(rounded + target.zero, -128, 127), dtype=np.int64)


def _logistic(x: Reals, options: Options) -> Reals:
    powers = np.exp(-x).astype(np.float32)
    return np.asarray(np.float32(1) / (np.float32(1) + powers))


def _gelu(x: Reals, options: Options) -> Reals:
    if options.flags[0]:
        return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * np.array([math.erfc(-each * math.sqrt(0.5)) for each in x.tolist()]))


WHOLE: dict[str, Callable[[Int64, Tensor, Tensor, Options], Int64]] = {
    "ABS": _absolute,
    "HARD_SWISH": _hard_swish,
    "LEAKY_RELU": _leaky,
    "QUANTIZE": _scaled,
    **{name: _rectified(name) for name in ("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1")},
}
REAL: dict[str, Callable[[Reals, Options], Reals]] = {
    "EXP": lambda x, _: np.exp(x),
    "GELU": _gelu,
    "LOGISTIC": _logistic,
    "TANH": lambda x, _: np.tanh(x),
}
