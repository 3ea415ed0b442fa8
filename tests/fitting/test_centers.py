"""Clean mean features of each class, and how often classes come."""

from __future__ import annotations

import numpy as np

from tcuq import FitOptions, Log, fit
from tcuq.fitting.stages.read import FEWEST, find_centers


def posteriors(classes: list[int], count: int = 3) -> np.ndarray:
    return np.eye(count)[classes] * 0.7 + 0.1


def test_centers_are_those_of_the_predicted_class_on_clean_steps() -> None:
    labels = [0] * 6 + [1] * 6 + [2] * (FEWEST - 1)
    features = np.array([[2.0, 0.0]] * 6 + [[0.0, 1.0]] * 6 + [[9.0, 9.0]] * (FEWEST - 1))
    features[0] = [50.0, 50.0]
    shifted = np.zeros(len(labels), dtype=bool)
    shifted[0] = True
    found = find_centers(Log(posteriors(labels), features, shifted=shifted), 3, 0.5, -10)
    assert found[0] == (-6, -10), "the shifted step does not count"
    assert found[1] == (-10, -8)
    clean = features[1:] / 0.5 - 10
    assert found[2] == tuple(np.rint(clean.mean(0)).astype(int)), "a class of too few steps has that of all"


def test_a_clean_log_has_the_centers() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 1200)
    near, far = (rng.normal(0, 0.1, (1200, 2)) + offset + labels[:, None] for offset in (0.0, 3.0))
    posterior = posteriors(labels.tolist())
    plain = fit(Log(posterior, near), run_length=100, options=FitOptions(drop_unused=False))
    other = fit(
        Log(posterior, near), clean=Log(posterior, far), run_length=100, options=FitOptions(drop_unused=False)
    )
    assert plain.centers is not None and other.centers is not None
    moved = np.array(other.centers) - np.array(plain.centers)
    assert np.allclose(moved * plain.feature_scale, 3.0, atol=0.5) or (np.array(other.centers) == 127).any()
