"""What a recording says of inputs, outputs and labels that are not those of a classifier of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import ROOT

import tcuq
from tcuq.cli import main
from tcuq.io import read_log
from tcuq.recording.model import Model
from tcuq.recording.ranges import Preparation

X = np.random.default_rng(0).random((60, 4))


def net(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shares = np.exp(9 * x)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def test_a_clean_before_the_names_of_shifts_is_number_0(tmp_path: Path) -> None:
    kinds = np.arange(60) // 10 % 3
    for marks in (kinds, np.array(["clean", "fog", "rain"])[kinds]):
        np.savez(tmp_path / "d.npz", x=X, shifted=marks, shift_names=["clean", "fog", "rain"])
        log = tcuq.record(net, tmp_path / "d.npz")
        assert log.shift_names == ("fog", "rain")
        np.testing.assert_array_equal(log.kinds, kinds)
    with pytest.raises(ValueError, match="shifted holds 2, there are 1 shift_names"):
        tcuq.Log(net(X), shifted=kinds, shift_names=["clean", "fog"])


def test_a_regression_model_is_told_so() -> None:
    with pytest.raises(
        ValueError, match=r"expected a sigmoid of 0 to 1. A regression model has no classes to"
    ):
        tcuq.record(lambda x: 20 * x[:, 0], X)
    with pytest.raises(
        ValueError, match="y is float64, expected whole numbers of classes; regression has no"
    ):
        tcuq.record(net, X, X[:, 0])


def test_texts_are_told_the_way_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "texts.npz", x=np.array([["good"], ["bad"]]))
    with pytest.raises(
        ValueError, match=r"x is <U4, expected numbers. If your model takes text, run it yourself"
    ):
        tcuq.record(net, tmp_path / "texts.npz")
    assert "What goes into a log" in (ROOT / "docs/COMMANDS.md").read_text()


def test_one_number_a_step_is_noted_as_a_sigmoid(tmp_path: Path) -> None:
    message = "one number per step is taken as a sigmoid, the probability of class 1 of two"
    assert tcuq.record(lambda x: x[:, 0], X).notes == (f"<lambda>: {message}",)
    assert not tcuq.record(lambda x: 9 * x[:, 0] - 4, X, logits=True).notes
    np.savez(tmp_path / "log.npz", probs=X[:, 0])
    assert message in read_log(tmp_path / "log.npz").notes
    assert main(["fit", str(tmp_path / "log.npz"), "-o", str(tmp_path / "m.json")]) in (0, 2)
    assert read_log(tmp_path / "log.npz").classes == 2
    pandas = pytest.importorskip("pandas")
    assert message in tcuq.Log.from_frame(pandas.DataFrame({"p0": X[:, 0]})).notes


def test_labels_below_minus_one_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y = np.zeros(60, np.int64)
    y[7] = -1
    assert tcuq.record(net, X, y).errors()[7]
    y[8] = -2
    with pytest.raises(
        ValueError, match=r"label of input 8 is -2, .* expected 0 to 3, or -1 for none of the cl"
    ):
        tcuq.record(net, X, y)
    with pytest.raises(
        ValueError, match=r"labels\[8\] is -2, expected 0 to 3, or -1 for none of the classes"
    ):
        tcuq.Log(net(X), labels=y)
    (tmp_path / "log.csv").write_text("p0,p1,label\n0.5,0.5,1\n0.5,0.5,-2\n")
    assert main(["fit", str(tmp_path / "log.csv"), "-o", str(tmp_path / "m.json")]) == 2
    assert "label is -2, expected 0 to 1, or -1 for none of the classes" in capsys.readouterr().err


def test_shifts_of_whole_numbers_stay_whole_and_in_range() -> None:
    model = Model("net")
    model.shape, model.input = (4,), np.dtype(np.uint8)
    given = np.array([[0.0, 1, 254, 255]])
    prepare = Preparation(model, "x", False)
    np.testing.assert_array_equal(prepare(given * 2 - 0.4, given), [[0, 2, 255, 255]])
    with pytest.raises(ValueError, match="x is 0 to 510, expected uint8"):
        prepare(given, 2 * given)
