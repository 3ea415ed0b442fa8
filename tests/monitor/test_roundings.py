"""The bounds of docs/GUARANTEES.md on what integers lose against real numbers."""

from __future__ import annotations

import numpy as np
from differences import random_params, random_stream
from places import ROOT

from tcuq import Monitor, Params
from tcuq.log.quantize import quantize_probs
from tcuq_lab.float_reference import reference

PAGE = (ROOT / "docs" / "GUARANTEES.md").read_text(encoding="utf-8")
# Of the four signals of the paper, in the order of their numbers: "Signals of the paper" there.
PAPER = ("divergence", "instability", "flips", "doubt")
ERRORS = {"divergence": 5.0e-4, "instability": 8.0e-5, "flips": 2.5e-5, "doubt": 2.5e-5}


def bound_of_uncertainty(params: Params) -> float:
    """Return the bound of the page: errors of the signals, floors, and the logistic."""
    shares = sum(abs(params.coef[name]) * ERRORS[name] for name in params.signals)
    return (shares + (len(params.signals) + 1) / 65536) / 4 + 2.1e-4


def paper_params(rng: np.random.Generator) -> Params:
    classes = int(rng.choice([2, 3, 10, 35]))
    while True:
        params = random_params(rng, classes)
        if params.features and not params.features < 8:
            break
    names = PAPER
    return params.replace(
        signals=names,
        coef={name: float(rng.normal(0, 12)) for name in names},
        clean_means=dict.fromkeys(names, 0.2),
        bias=float(rng.normal(0, 3)),
        anchor="confidence",
    )


def test_no_step_of_the_paper_is_further_off_than_its_bound() -> None:
    rng = np.random.default_rng(5)
    nearest = 0.0
    for _ in range(40):
        params = paper_params(rng)
        probs, features = random_stream(400, params.classes, params.features, params.feature_zero_point, rng)
        rows = quantize_probs(probs)
        steps, signals = Monitor(params).run(rows, features, signals=True)
        real = reference(params, rows, features)
        for column, name in enumerate(params.signals):
            off = np.abs(signals[:, column] - real.signals[:, column]).max()
            assert off <= ERRORS[name], name
        bound = bound_of_uncertainty(params)
        off = np.abs(steps["uncertainty"] - real.uncertainty).max()
        assert off <= bound
        risk = params.blend * bound + (1 - params.blend) / 65536 + 0.5 / 65536 + 1e-9
        assert np.abs(steps["risk"] - real.risk).max() <= risk
        nearest = max(nearest, off / bound)
    # A bound that nothing comes near would tell nobody anything.
    assert nearest > 0.1
