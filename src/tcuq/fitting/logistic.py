"""Class-balanced, L2-regularized logistic regression in a few lines of numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def balanced_weights(target: npt.NDArray[np.bool_]) -> Floats:
    """Return sample weights under which both classes count the same; they average to 1."""
    positive = int(target.sum())
    negative = len(target) - positive
    return np.where(target, len(target) / (2 * positive), len(target) / (2 * negative))


def log_loss(logits: Floats, target: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the weighted mean negative log-likelihood, computed without overflow."""
    signed = np.where(target, logits, -logits)
    losses = np.logaddexp(0, -signed)
    return float((weights * losses).sum() / weights.sum())


def calibrated_bias(logits: Floats, share: float) -> float:
    """Return the bias under which the mean logistic of some logits is a share.

    Parameters
    ----------
    logits : array of n values
        Without any bias.
    share : float
        Between 0 and 1, neither of them.

    Examples
    --------
    >>> x = np.array([-1.0, 0.0, 3.0])
    >>> bias = calibrated_bias(x, 0.25)
    >>> round(float((1 / (1 + np.exp(-(x + bias)))).mean()), 6)
    0.25
    """
    # Beyond these ends every step is on one side of the share; the mean rises with the bias in between.
    center = float(np.log(share / (1 - share)))
    low, high = center - float(logits.max()), center - float(logits.min())
    for _ in range(100):
        middle = (low + high) / 2
        mean = (1 / (1 + np.exp(-np.clip(logits + middle, -500, 500)))).mean()
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


def fit_logistic(
    signals: Floats, target: npt.NDArray[np.bool_], l2: float, low: float = -64.0, high: float = 63.99
) -> tuple[Floats, float]:
    """Fit coefficients and bias.

    Minimizes the sum of class-balanced losses plus l2 / 2 times the squared coefficients of the
    *standardized* signals, so that the penalty treats all signals alike.

    Parameters
    ----------
    signals : array of shape (n, k)
    target : boolean array of n values
        Both values must occur.
    l2 : float
        Strength of the penalty; the bias is free.
    low, high : float
        Bounds of the coefficients, 0 between them or at one of them; by default what the core can hold.

    Returns
    -------
    coef, bias
        In the units of `signals`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((500, 1))
    >>> coef, bias = fit_logistic(x, x[:, 0] > 0.5, 1.0)
    >>> bool(coef[0] > 5)
    True
    """
    count, width = signals.shape
    mean, scale = signals.mean(0), signals.std(0)
    scale = np.where(scale > 1e-12, scale, np.inf)  # a constant signal gets coefficient 0
    x = np.column_stack([(signals - mean) / scale, np.ones(count)])
    weights = balanced_weights(target)
    penalty = np.full(width + 1, l2)
    penalty[-1] = 1e-9
    beta = np.zeros(width + 1)
    # A constant signal has an infinite scale; its bounds are irrelevant, as its gradient is 0.
    finite = np.where(np.isfinite(scale), scale, 1.0)
    lowest, highest = np.append(low * finite, -np.inf), np.append(high * finite, np.inf)

    def objective(at: Floats) -> float:
        return float(log_loss(x @ at, target, weights) * count + (penalty * at * at).sum() / 2)

    value = objective(beta)
    # A step of gradient / steepest never goes up; it takes over where a bound blocks Newton's step.
    steepest = np.linalg.eigvalsh((x * weights[:, None]).T @ x)[-1] / 4 + penalty.max()
    for _ in range(1000):
        probability = 1 / (1 + np.exp(-np.clip(x @ beta, -500, 500)))
        gradient = x.T @ (weights * (probability - target)) + penalty * beta
        # At a bound, a coefficient moves only where the objective falls inwards.
        free = ((beta > lowest) | (gradient < 0)) & ((beta < highest) | (gradient > 0))
        curvature = (x[:, free] * (weights * probability * (1 - probability))[:, None]).T @ x[:, free]
        step = np.zeros(width + 1)
        step[free] = np.linalg.solve(curvature + np.diag(penalty[free]), gradient[free])
        trials = [np.clip(beta - size * step, lowest, highest) for size in (1.0, 0.5, 0.1)]
        trials.append(np.clip(beta - gradient / steepest, lowest, highest))
        values = [objective(trial) for trial in trials]
        best = int(np.argmin(values))
        if value - values[best] <= 1e-12 * (1 + abs(value)):
            break
        beta, value = trials[best], values[best]
    coef = beta[:-1] / scale
    return coef, float(beta[-1] - coef @ mean)
