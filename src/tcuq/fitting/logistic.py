"""Class-balanced, L2-regularized logistic regression in numpy, a chunk of rows at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float64] | npt.NDArray[np.uint16]
"""Signals as floats, or in the core's units of 1/65536."""

CHUNK = 1 << 13
"""Rows of a pass that are worked on together: they and what is computed from them stay in a cache."""

LONG, THINNED = 500_000, 16  # rows beyond which a regression starts from that of every 16th of them


def balanced_weights(target: npt.NDArray[np.bool_], weights: Floats | None = None) -> Floats:
    """Return sample weights under which both classes count the same; they average to 1."""
    rows = np.ones(len(target)) if weights is None else weights
    positive, negative = float(rows[target].sum()), float(rows[~target].sum())
    return rows * np.where(target, len(target) / (2 * positive), len(target) / (2 * negative))


def log_loss(logits: Floats, target: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the weighted mean negative log-likelihood, computed without overflow."""
    signed = np.where(target, logits, -logits)
    return float((weights * _softplus(-signed)).sum() / weights.sum())


def _softplus(values: Floats) -> Floats:
    """Return log(1 + exp(values)), several times as fast as `numpy.logaddexp`."""
    return np.asarray(np.maximum(values, 0) + np.log1p(np.exp(-np.abs(values))))


def linear(signals: Rows, coef: Floats, bias: float = 0.0) -> Floats:
    """Return the logit of each row."""
    out = np.empty(len(signals))
    for start in range(0, len(signals), CHUNK):
        rows = signals[start : start + CHUNK]
        out[start : start + CHUNK] = (rows / ONE if rows.dtype == np.uint16 else rows) @ coef
    out += bias
    return out


def fit_logistic(
    signals: Rows,
    target: npt.NDArray[np.bool_],
    l2: float,
    low: float = -64.0,
    high: float = 63.99,
    balanced: bool = True,
    weights: Floats | None = None,
    start: tuple[Floats, float] | None = None,
    in_place: bool = False,
) -> tuple[Floats, float]:
    """Fit coefficients and bias.

    Minimizes the sum of class-balanced losses plus l2 / 2 times the squared coefficients of the
    *standardized* signals, so that the penalty treats all signals alike. Signals are floats, or uint16 in
    units of 1/65536. Both values of the target must occur. The bias is not penalized. Where the values of
    the target are not `balanced`, the logistic of the result reads as a probability. A `start` near the
    optimum saves passes. With `in_place`, the signals have a last column that is not read, and all of them
    are overwritten.
    """
    count, width = signals.shape[0], signals.shape[1] - in_place
    x = np.asarray(signals, dtype=np.float64) if in_place else np.empty((count, width + 1))
    if not in_place:
        x[:, :-1] = signals
        if signals.dtype == np.uint16:
            x[:, :-1] /= ONE
    mean, scale = _standardize(x)
    rows = np.ones(len(x)) if weights is None else weights / weights.mean()
    rows = balanced_weights(target, rows) if balanced else rows
    penalty = np.full(width + 1, l2)
    penalty[-1] = 1e-9
    # A constant signal has an infinite scale; its bounds are irrelevant, as its gradient is 0.
    finite = np.where(np.isfinite(scale), scale, 1.0)
    bounds = np.append(low * finite, -np.inf), np.append(high * finite, np.inf)
    beta = np.zeros(width + 1)
    if start is not None:
        beta[:-1] = np.where(np.isfinite(scale), start[0] * finite, 0.0)
        beta[-1] = start[1] + start[0] @ mean
        np.clip(beta, *bounds, out=beta)
    some = slice(None, None, THINNED)
    if start is None and len(x) > LONG and target[some].any() and not target[some].all():
        beta = _minimum(_Loss(x[some].copy(), target[some], rows[some]), beta, penalty, bounds)
    beta = _minimum(_Loss(x, target, rows), beta, penalty, bounds)
    coef = beta[:-1] / scale
    return coef, float(beta[-1] - coef @ mean)


def _minimum(loss: _Loss, beta: Floats, penalty: Floats, bounds: tuple[Floats, Floats]) -> Floats:
    """Return the coefficients within bounds at which loss and penalty together are least."""
    lowest, highest = bounds
    value, slopes, curvature = loss.at(beta)
    value += float(penalty @ (beta * beta)) / 2
    for _ in range(1000):
        gradient = slopes + penalty * beta
        # At a bound, a coefficient moves only where the objective falls inwards.
        free = ((beta > lowest) | (gradient < 0)) & ((beta < highest) | (gradient > 0))
        step = _bent(curvature + np.diag(penalty), gradient, free, (lowest - beta, highest - beta))
        fall, least, size = float(gradient @ step), 1e-12 * (1 + abs(value)), 1.0
        if fall <= 2 * least:
            break
        while True:
            trial = np.clip(beta - size * step, lowest, highest)
            found = loss.at(trial)
            reached = found[0] + float(penalty @ (trial * trial)) / 2
            if reached <= value - size * fall / 10 or size * fall <= least:
                break
            size /= 2
        if value - reached <= least:
            break
        beta, value, slopes, curvature = trial, reached, *found[1:]
    return beta


def _bent(
    curvature: Floats, gradient: Floats, free: npt.NDArray[np.bool_], room: tuple[Floats, Floats]
) -> Floats:
    """Return Newton's step where some coefficients stop at a bound and the others make up for it."""
    free, step = free.copy(), np.zeros(len(gradient))
    while free.any():
        rest = gradient[free] - curvature[np.ix_(free, ~free)] @ step[~free]
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], rest)
        cut = np.clip(-step, *room)
        stopped = free & (cut != -step)
        if not stopped.any():
            break
        step[stopped] = -cut[stopped]
        free &= ~stopped
    return step


def _standardize(x: Floats) -> tuple[Floats, Floats]:
    """Give all columns mean 0 and deviation 1, but the last one ones; return means and deviations."""
    count, width = len(x), x.shape[1] - 1
    inner = x[:, :width]
    x[:, width] = 1.0
    mean = inner.mean(0)
    inner -= mean
    squares = np.zeros(width)
    for start in range(0, count, CHUNK):
        squares += np.square(inner[start : start + CHUNK]).sum(0)
    scale = np.sqrt(squares / count)
    scale = np.where(scale > 1e-12, scale, np.inf)  # a constant signal gets coefficient 0
    inner /= scale
    return mean, scale


class _Loss:
    """The weighted sum of losses over rows, and its derivatives."""

    def __init__(self, x: Floats, target: npt.NDArray[np.bool_], weights: Floats) -> None:
        self._x, self._target, self._weights = x, target, weights
        self._parts = [slice(start, start + CHUNK) for start in range(0, len(x), CHUNK)]

    def at(self, beta: Floats) -> tuple[float, Floats, Floats]:
        """Return loss, gradient and Hessian."""
        loss, gradient, curvature = 0.0, np.zeros(len(beta)), np.zeros((len(beta),) * 2)
        for part in self._parts:
            x, weights, target = self._x[part], self._weights[part], self._target[part]
            logits = np.clip(x @ beta, -500, 500)
            odds = 1 + np.exp(-logits)
            probability = 1 / odds
            loss += float(weights @ (np.log(odds) + np.where(target, 0.0, logits)))
            gradient += x.T @ (weights * (probability - target))
            curvature += (x * (weights * probability * (1 - probability))[:, None]).T @ x
        return loss, gradient, curvature
