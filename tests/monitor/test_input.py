"""What users have for posteriors: dequantized int8, logits, data frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused
from streams import same_steps

import tcuq
from tcuq import Log, Monitor, Params
from tcuq.io import read_log
from tcuq.io.values import first_bad
from tcuq.log.logits import posteriors, softmax_table
from tcuq.log.quantize import odd_sums, other_outputs, quantize_probs, refuse_logits, sum_tolerances

SIZES = (2, 35, 1000)


def softmax_rows(classes: int, rows: int = 200, seed: int = 0) -> Any:
    """Return posteriors from nearly uniform to nearly certain."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1, (rows, classes)) * rng.uniform(0, 12, (rows, 1))
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


@pytest.mark.parametrize("classes", SIZES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_dequantized_int8_is_taken_and_gives_back_the_same_int8(classes: int, kind: Any) -> None:
    raw = quantize_probs(softmax_rows(classes))
    floats = ((raw.astype(np.float64) + 128) / 256).astype(kind)
    assert np.array_equal(quantize_probs(floats), raw)
    monitor, other = Monitor(Params(classes=classes)), Monitor(Params(classes=classes))
    assert same_steps(monitor.run(floats), other.run(raw))
    for row, same in zip(floats[:20], raw[:20], strict=True):
        assert monitor.step(row) == other.step(same)


@pytest.mark.parametrize("classes", SIZES)
def test_a_softmax_that_truncates_is_taken(classes: int) -> None:
    units = np.floor(softmax_rows(classes) * 256)
    floats = np.minimum(units, 255) / 256
    monitor = Monitor(Params(classes=classes))
    monitor.run(floats)
    monitor.step(floats[0])
    assert not odd_sums(floats).any() and not odd_sums((units.clip(0, 255) - 128).astype(np.int8)).any()


def test_core_and_python_agree_on_the_tolerance() -> None:
    """Sums around the tolerance, on rows of units and others, judged by both."""
    rng = np.random.default_rng(0)
    for classes in (2, 9, 11, 60):
        monitor = Monitor(Params(classes=classes))
        for sign in (1, -1):
            for scale, units in ((512, False), (256, True)):
                for factor in (0.97, 1.03):
                    off = max(0.02, classes / scale) * factor
                    if units:  # whole units on either side of the tolerance
                        off = (np.floor(off * 256) if factor < 1 else np.ceil(off * 256)) / 256
                    row = np.full(classes, 1 / 1024) if not units else np.zeros(classes)
                    row[-1] = 0.25 + sign * off / 2
                    row[0] = 1 + sign * off - row[1:].sum()
                    if not (0 <= row[0] <= 1 and 0 <= row[-1] <= 1):
                        continue
                    row = rng.permutation(row)
                    wanted = abs(row.sum() - 1) > sum_tolerances(row[None])[0]
                    assert bool(odd_sums(row[None])[0]) == wanted == (factor > 1)
                    if wanted:
                        with pytest.raises(ValueError, match=r"sum to .*, expected 1\.00 ± "):
                            monitor.step(row)
                    else:
                        monitor.step(row)


def test_two_decimals() -> None:
    """A sum of 0.98, which single precision makes a little less, is taken; one further off has a hint."""
    row = [0.30, 0.30, 0.20, 0.18]
    for kind in (np.float32, np.float64):
        given = np.array([row], dtype=kind)
        Monitor(Params(classes=4)).step(given[0])
        assert first_bad(given, True) is None and not odd_sums(given).any()
    rounded = np.array([[0.10] * 9 + [0.07]])  # 0.97 of ten classes
    assert odd_sums(rounded).all() and "two decimals" in (other_outputs(rounded) or "")
    assert "multi-label" in (other_outputs(np.array([[0.9, 0.8, 0.1]])) or "")


def test_logs_of_logits_are_told_from_posteriors() -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(-60, 100, (50, 10)).astype(np.int8)
    with refused("value"):
        refuse_logits(raw)
    with refused("value"):
        refuse_logits(rng.normal(0, 3, (50, 10)))
    mostly = quantize_probs(softmax_rows(10, 50))
    mostly[:24] = raw[:24]
    refuse_logits(mostly)
    assert int(odd_sums(mostly).sum()) == 24
    mostly[24:27] = raw[24:27]
    with refused("value"):
        refuse_logits(mostly)


def test_softmax_of_floats_and_of_int8() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 30, (20, 5))
    logits[0, 2] = -np.inf
    found = tcuq.softmax(logits)
    shares = np.exp(logits - logits.max(1, keepdims=True))
    assert np.allclose(found, shares / shares.sum(1, keepdims=True)) and found[0, 2] == 0
    assert np.array_equal(tcuq.softmax(logits[3]), found[3])
    raw = rng.integers(-128, 128, (20, 5)).astype(np.int8)
    assert np.array_equal(tcuq.softmax(raw, 0.06), posteriors(raw, softmax_table(0.06)))
    assert np.abs(tcuq.softmax(raw, 0.06) - quantize_probs(tcuq.softmax(raw * 0.06))).max() <= 1
    log = Log.from_logits(raw, labels=np.zeros(20), scale=0.06)
    assert log.probs.dtype == np.int8 and log.labels is not None


@pytest.mark.parametrize(
    ("logits", "scale", "code"),
    [
        (np.zeros((2, 3), np.int8), None, "missing"),
        (np.zeros((2, 3)), 0.5, "conflict"),
        ([[0.0, np.nan]], None, "value"),
        ([np.inf, 0.0], None, "value"),
        ([[-np.inf, -np.inf]], None, "value"),
        ([[1.0]], None, "value"),
        ([["a", "b"]], None, "value"),
    ],
)
def test_bad_logits_are_refused(logits: Any, scale: float | None, code: str) -> None:
    with refused(code):
        tcuq.softmax(logits, scale)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
def test_readers_apply_a_softmax_when_told(tmp_path: Any, kind: str) -> None:
    logits = np.random.default_rng(0).normal(0, 3, (30, 4)).round(3)
    path = tmp_path / f"log.{kind}"

    def write(table: Any) -> None:
        if kind == "npz":
            np.savez(path, probs=table)
        elif kind == "csv":
            names = ",".join(f"p{i}" for i in range(table.shape[1]))
            path.write_text("\n".join([names, *(",".join(map(str, row)) for row in table.tolist())]))
        else:
            path.write_text("".join(f'{{"probs": {row}}}\n' for row in table.tolist()))

    write(logits)
    with refused("value"):
        read_log(path)
    assert np.allclose(read_log(path, logits=True).probs, tcuq.softmax(logits))
    write(logits[:, :1])
    assert np.allclose(read_log(path, logits=True).probs[:, 1], 1 / (1 + np.exp(-logits[:, 0])))
    raw = np.random.default_rng(0).integers(-128, 128, (30, 4)).astype(np.int8)
    write(raw)
    assert np.array_equal(read_log(path, logits=True, logits_scale=0.1).probs, tcuq.softmax(raw, 0.1))
    with refused("missing"):
        read_log(path, logits=True)


class Frame:
    """Enough of a data frame to be taken for one; pandas itself is tested where it is installed."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.columns = list(columns)
        self.shape = (len(next(iter(self._columns.values()))), len(columns))

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.stack(list(self._columns.values()), axis=1)


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


COLUMNS = {
    "time": [0.0, 0.1, 0.2],
    "p1": [0.25, 0.5, 0.75],
    "p0": [0.75, 0.5, 0.25],
    "f0": [1.5, 2.5, 3.5],
    "labels": [0, 1, 1],
    "segment": [4, 4, 5],
    "shifted": [False, True, True],
    "device": [7, 7, 7],
}


@pytest.mark.parametrize("frame", [Frame, pandas_frame])
def test_data_frames_are_read_by_their_columns(frame: Any) -> None:
    log = Log.from_frame(frame(COLUMNS))
    assert log.probs.tolist() == [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
    assert log.features is not None and log.features.tolist() == [[1.5], [2.5], [3.5]]
    assert log.labels is not None and log.labels.tolist() == [0, 1, 1]
    assert log.change_points() == [1, 2] and len(log.pieces()) == 2
    assert log.notes == ("columns 'time', 'device' are not used",)
    assert log.take(slice(0, 2)).notes == log.notes


@pytest.mark.parametrize("frame", [Frame, pandas_frame])
def test_a_data_frame_is_no_table_of_classes(frame: Any) -> None:
    with refused("value"):
        Log(frame(COLUMNS))
    bare = frame({"p0": [0.75, 0.5], "p1": [0.25, 0.5]})
    assert Log(bare).probs.tolist() == [[0.75, 0.25], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"a": [1.0], "b": [2.0]}, "missing"),
        ({"p0": [0.5], "p2": [0.5]}, "missing"),
        ({"p0": ["x"], "p1": ["y"]}, "value"),
        ({"p0": [0.5], "p1": [0.5], "label": [0], "labels": [0]}, "conflict"),
        ({"p0": [0.5], "p1": [0.5], "label": [0.5]}, "value"),
    ],
)
def test_bad_data_frames_are_refused(columns: dict[str, Any], code: str) -> None:
    with refused(code):
        Log.from_frame(Frame(columns))


def test_a_log_with_something_replaced_keeps_its_kinds_of_shift() -> None:
    log = Log([[0.9, 0.1]] * 4, labels=[0, 1, 0, 1], shifted=[0, 2, 3, 0])
    kept = replace(replace(log, labels=None), notes=("a note",))
    assert kept.kinds.tolist() == [0, 2, 3, 0]
    assert kept.take(slice(1, 3)).kinds.tolist() == [2, 3]
    assert replace(log, shifted=[1, 0, 0, 5]).kinds.tolist() == [1, 0, 0, 5]
    marked = replace(log, shifted=np.array([True, True, False, False]))
    assert marked.kinds.tolist() == [1, 1, 0, 0]
    cut = replace(log, probs=log.probs[:2], labels=None, shifted=[False, True])
    assert cut.kinds.tolist() == [0, 1]
    bare = replace(log, shifted=None)
    assert bare.kinds is None and replace(bare, shifted=[True] * 4).kinds.tolist() == [1] * 4
    with pytest.raises(ValueError, match="kinds"):
        replace(log, kinds=[0, 0, 0, 0])
