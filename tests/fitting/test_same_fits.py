"""Fits of seeded logs are those of `same_fits.json`, one a line.

Parameters must be equal bit for bit. Figures in the notes are sums of floats, whose last digits differ
between machines: they are compared to five digits.

If a change of what `fit` finds is intended, `python tests/fitting/test_same_fits.py NAME ...` writes the fits
of these names again.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fits import told

from tcuq import Log, Params, fit

STORED = Path(__file__).with_name("same_fits.json")
CLASSES, FEATURES = 5, 6
PRICE = ("ram_bytes", "instructions")
"""Figures that `tcuq.monitor.cost` gives, which has tests of its own."""


def made(seed: int, steps: int = 3000, **without: Any) -> Log:
    """Return a log with dwell, segments, two kinds of shift of which one costs accuracy, and features."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, CLASSES, steps // 5 + 1), rng.integers(1, 10, steps // 5 + 1))
    truth = np.resize(truth, steps)
    kinds = np.array([0, 1, 0, 2])[np.arange(steps) // 250 % 4]
    noise = np.where(kinds == 1, 2.5, 1.0)[:, None]
    logits = rng.normal(0, 1, (steps, CLASSES)) * noise + 2.5 * np.eye(CLASSES)[truth]
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    centers = rng.normal(0, 1, (CLASSES, FEATURES))
    features = np.maximum(0, centers[truth] + rng.normal(0, 0.4, (steps, FEATURES)) * noise)
    columns = {
        "features": features,
        "labels": truth,
        "segments": np.arange(steps) // 400,
        "shifted": kinds,
    }
    return Log(probs, **{name: values for name, values in columns.items() if without.get(name, True)})


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "paper": ({"seed": 1}, {"profile": "paper"}),
    "paper, one segment, nothing marked": (
        {"seed": 2, "segments": False, "shifted": False},
        {"profile": "paper", "seed": 7},
    ),
    "paper without labels": ({"seed": 3, "labels": False}, {"profile": "paper", "level": "budget"}),
    "paper without an explanation": ({"seed": 15}, {"profile": "paper", "explain": False, "blend": 0.3}),
    "paper with some signals, far lags": (
        {"seed": 13},
        {
            "profile": "paper",
            "signals": ("divergence", "flips"),
            "lags": (3, 9),
            "l2": 20.0,
            "drop_unused": False,
        },
    ),
    "paper on posteriors, a clean log": (
        {"seed": 9},
        {
            "profile": "paper",
            "use_features": False,
            "clean": 10,
            "level": "budget",
            "budget": 0.1,
            "run_length": 300,
        },
    ),
    "paper, too few clean steps for an alarm": (
        {"seed": 16, "steps": 330},
        {"profile": "paper", "burst": 4, "warmup": 10},
    ),
    "standard with some signals": (
        {"seed": 14},
        {"signals": ("odds", "magnitude", "disbelief"), "run_length": 500},
    ),
    "standard, a clean log": ({"seed": 11}, {"clean": 12, "run_length": 500, "seed": 3, "budget": 0.1}),
    "standard, one segment, nothing marked": (
        {"seed": 8, "segments": False, "shifted": False},
        {"run_length": 500, "level": 0.2},
    ),
    "standard": ({"seed": 21}, {"run_length": 500}),
    "standard without labels, a clean log": (
        {"seed": 22, "labels": False, "shifted": False},
        {"clean": 23, "run_length": 500},
    ),
    "standard about the prediction": (
        {"seed": 24},
        {"about": "prediction", "run_length": 500, "explain": False},
    ),
    "standard with a proved alarm": ({"seed": 25}, {"alarm": "proved", "run_length": 1000}),
    "standard on posteriors": ({"seed": 27}, {"use_features": False, "run_length": 500}),
    "standard with an alarm on risk": (
        {"seed": 28},
        {"alarm": "risk", "run_length": 500, "explain": False},
    ),
}


def fitted(name: str) -> Params:
    """Return the fit of a case."""
    log, given = CASES[name]
    given = told(**given)
    if "clean" in given:
        given["clean"] = made(given["clean"], shifted=False, labels=log.get("labels", True))
    return fit(made(**log), **given)


def same(found: Any, stored: Any) -> bool:
    """Tell whether notes are the same, floats to five digits."""
    if isinstance(stored, dict):
        compared = [key for key in stored if key not in PRICE]
        return set(found) == set(stored) and all(same(found[key], stored[key]) for key in compared)
    if isinstance(stored, list):
        return len(found) == len(stored) and all(map(same, found, stored))
    if isinstance(stored, float):
        return math.isclose(found, stored, rel_tol=2e-5, abs_tol=2e-6)
    return bool(found == stored)


def check(found: Params, stored: dict[str, Any]) -> None:
    """Compare parameters bit by bit, notes by their figures."""
    assert found.replace(notes={}) == Params.from_dict(stored).replace(notes={})
    assert same(json.loads(found.to_json())["notes"], stored["notes"])


@pytest.mark.parametrize("name", CASES)
def test_a_fit_finds_what_it_found_before(name: str) -> None:
    check(fitted(name), json.loads(STORED.read_text())[name])


def write(names: list[str]) -> None:
    """Write some fits again."""
    content = json.loads(STORED.read_text())
    for name in names:
        content[name] = fitted(name).to_dict()
    rows = [f"{json.dumps(name)}: {json.dumps(fit)}" for name, fit in content.items()]
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    write(sys.argv[1:])
