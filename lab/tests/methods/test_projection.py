# SPDX-License-Identifier: MIT
"""Projections of wide features: what each kind promises of its directions."""

from __future__ import annotations

import numpy as np

from tcuq_lab.methods.projection import projection

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 600)
WIDE = RNG.normal(size=(600, 40)) * np.linspace(5, 0.1, 40) + LABELS[:, None] * 3.0 + 7.0


def test_averages_of_neighbors_need_no_stored_values() -> None:
    found = projection("average", WIDE, kept=8)
    assert found is not None and found.parameters == found.multiply_adds == 0
    assert np.allclose(WIDE @ found.matrix, WIDE.reshape(600, 8, 5).mean(axis=2))


def test_principal_directions_keep_the_most_variance_around_the_mean() -> None:
    found = projection("pca", WIDE, kept=8)
    assert found is not None and found.parameters == 40 * 8 + 8 and found.multiply_adds == 40 * 8
    made = WIDE @ found.matrix + found.offset
    assert np.abs(made.mean(axis=0)).max() < 1e-9
    assert np.allclose(found.matrix.T @ found.matrix, np.eye(8))
    spread = made.var(axis=0)
    best = np.linalg.eigvalsh(np.cov(WIDE.T, bias=True))[::-1][:8]
    assert np.allclose(spread, best)  # no eight directions hold more
    assert (found.matrix[np.abs(found.matrix).argmax(axis=0), np.arange(8)] > 0).all()  # signs are fixed


def test_random_directions_are_orthonormal_and_those_of_their_seed() -> None:
    one, same, other = (projection("random", WIDE, kept=8, seed=seed) for seed in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    assert np.allclose(one.matrix.T @ one.matrix, np.eye(8)) and one.parameters == 40 * 8
    assert np.array_equal(one.matrix, same.matrix) and not np.allclose(one.matrix, other.matrix)
