"""Risks of single answers, from posteriors or logits: higher means riskier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.floating[Any]]


def softmax(logits: Rows, temperature: float = 1.0) -> Doubles:
    """Return posteriors of logits over a temperature, along the last axis."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    grown: Doubles = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def unsure(probs: Rows, answer: npt.NDArray[np.int64] | None = None) -> Doubles:
    """Return 1 minus the posterior of the answer, the largest one by default.

    It is the sum of the others: the difference from 1 would be rounded to equal values where a network is
    very sure.

    Examples
    --------
    >>> unsure(np.array([[1e-30, 1.0], [0.5, 0.5]])).tolist()
    [1e-30, 0.5]
    """
    others = np.array(probs, dtype=np.float64)
    chosen = others.argmax(axis=1) if answer is None else answer
    others[np.arange(len(others)), chosen] = 0.0
    return np.asarray(others.sum(axis=1))


def entropy(probs: Rows) -> Doubles:
    """Return the entropy along the last axis as a share of the largest possible."""
    values = np.asarray(probs, dtype=np.float64)
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(np.abs((values * logs).sum(axis=-1)) / np.log(values.shape[-1]))


def energy(logits: Rows, temperature: float = 1.0) -> Doubles:
    """Return the free energy, -T log sum exp(logits / T)."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    top = scaled.max(axis=1)
    return np.asarray(-temperature * (top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))))


def margin(logits: Rows) -> Doubles:
    """Return the second largest value less the largest.

    Examples
    --------
    >>> margin(np.array([[3.0, -1.0, 2.5]])).tolist()
    [-0.5]
    """
    top = np.partition(np.asarray(logits, dtype=np.float64), -2, axis=1)[:, -2:]
    return np.asarray(top[:, 0] - top[:, 1])
