"""Scale and zero point of int8 features: in a log, in its file, and in a fit."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import tcuq
from tcuq.cli import main
from tcuq.io import InputNote, write_log
from tcuq.start import start

PROBS = np.full((4, 2), 0.5)
ROWS = np.arange(8, dtype=np.int8).reshape(4, 2)


@pytest.mark.parametrize(
    ("features", "scale", "zero_point", "code"),
    [
        (ROWS, 0.5, None, "missing"),
        (ROWS, 0.5, 200, "value"),
        (ROWS, -1.0, 0, "value"),
        (None, 0.5, 0, "conflict"),
        (ROWS.astype(float), 0.5, 0, "conflict"),
    ],
)
def test_what_cannot_be_right_is_refused(features: Any, scale: Any, zero_point: Any, code: str) -> None:
    refuses(code, tcuq.Log, PROBS, features, feature_scale=scale, feature_zero_point=zero_point)


def stream(zero_point: int | None) -> tcuq.Log:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 400)
    rows = rng.integers(-128, 128, (400, 4)).astype(np.int8)
    more: Any = {} if zero_point is None else {"feature_scale": 0.5, "feature_zero_point": zero_point}
    return tcuq.Log(probs, rows, rng.integers(0, 3, 400), **more)


def test_the_fit_reads_them_unless_told_otherwise() -> None:
    plain = tcuq.FitOptions(explain=False, drop_unused=False)
    params = tcuq.fit(stream(-7), run_length=100, force=True, options=plain)
    assert (params.feature_scale, params.feature_zero_point) == (0.5, -7)
    own_scale = replace(plain, feature_scale=2.0, feature_zero_point=1)
    params = tcuq.fit(stream(-7), run_length=100, force=True, options=own_scale)
    assert (params.feature_scale, params.feature_zero_point) == (2.0, 1)
    refuses("missing", tcuq.fit, stream(None), run_length=100, force=True, options=plain)
    refuses("conflict", tcuq.fit, stream(-7), clean=stream(3), run_length=100, force=True, options=plain)


def test_a_run_says_where_features_have_another_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = tcuq.fit(
        stream(-7), run_length=100, force=True, options=tcuq.FitOptions(explain=False, drop_unused=False)
    )
    other = stream(3)
    message = (
        "features have scale 0.5 and zero point 3, the monitor was fitted to scale 0.5 and zero point -7"
    )
    with pytest.warns(InputNote, match=message):
        steps = tcuq.Monitor(params).run(other)
    assert len(steps) == 400, "a note, no error"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tcuq.Monitor(params).run(stream(-7))
        tcuq.Monitor(params).run(stream(None))  # a log that does not say its scale
        tcuq.Monitor(tcuq.Params(classes=3)).run(other)  # a monitor that reads no features
    params.save(tmp_path / "m.json")
    for log, notes in ((other, 1), (stream(-7), 0)):
        write_log(tmp_path / "log.npz", log)
        args = ["run", f"{tmp_path}/m.json", f"{tmp_path}/log.npz", "-o", f"{tmp_path}/d.csv", "--json"]
        assert main(args) == 0
        out, err = capsys.readouterr()
        assert len(json.loads(out)["notes"]) == notes and err.count("fit it again to a log") == notes


def int8_model(x: Any) -> tuple[Any, Any]:
    scores = np.exp(3 * x[:, :3])
    return scores / scores.sum(1, keepdims=True), np.clip(np.round(x / 0.05) - 3, -128, 127).astype(np.int8)


def examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    return (np.eye(4)[y] + rng.normal(0, 0.6, (900, 4))).astype(np.float32), y


def test_int8_features_of_unknown_scale_are_refused_by_start(tmp_path: Path) -> None:
    x, y = examples()
    refuses("missing", start, int8_model, x, tmp_path / "a", y, run_length=100)
