"""Shifts: each changes something, the more the severer it is, and keeps shape, dtype and range."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from refusals import refuses
from tiny_models import bar_net, bars

import tcuq
from tcuq.recording.data import Data, open_data
from tcuq.recording.model import Format, Model
from tcuq.recording.rand import Generators
from tcuq.recording.shifts import Chosen, choose

RNG = np.random.default_rng(5)
SMOOTH = np.cumsum(RNG.normal(0, 1, (12, 200, 6)), axis=1)
PICTURES = np.kron(RNG.uniform(0.1, 0.9, (12, 4, 4, 3)), np.ones((1, 6, 6, 1)))
ROWS = RNG.normal(0, 1, (12, 8))
TONES = 0.5 * np.sin(np.arange(4000) * RNG.uniform(0.02, 0.6, (12, 1))) * RNG.uniform(0.2, 1, (12, 1))


def opened(x: npt.NDArray[Any]) -> Data:
    return open_data(x, None)


def apply(chosen: Chosen, x: npt.NDArray[Any], severity: float) -> dict[str, npt.NDArray[Any]]:
    """Return all examples under each kind of shift."""
    return {
        kind.name: np.stack(
            [kind.apply(each, severity, Generators(1, kind.name).at(n)) for n, each in enumerate(x)]
        )
        for kind in chosen.kinds
    }


CASES = {
    "pictures, uint8": ("pictures", np.rint(PICTURES * 255).astype(np.uint8)),
    "pictures, int8": ("pictures", (np.rint(PICTURES * 255) - 128).astype(np.int8)),
    "pictures, float": ("pictures", PICTURES.astype(np.float32)),
    "pictures, -1 to 1": ("pictures", 2 * PICTURES - 1),
    "pictures, standardized": ("pictures", (PICTURES - 0.4) / 0.2),
    "pictures, gray": ("pictures", np.rint(PICTURES[..., 0] * 255).astype(np.uint8)),
    "pictures, channels first": ("pictures", np.moveaxis(PICTURES, 3, 1)),
    "sound, float": ("sound", TONES.astype(np.float32)),
    "sound, int16": ("sound", np.rint(TONES * 32000).astype(np.int16)[..., None]),
    "sound, loud": ("sound", 50 * TONES),
    "signals, float": ("signals", SMOOTH),
    "signals, int8": ("signals", np.clip(SMOOTH * 3, -128, 127).astype(np.int8)),
    "signals, one channel": ("signals", SMOOTH[:, :, 0]),
    "signals, channels first": ("signals", SMOOTH.transpose(0, 2, 1)),
    "tables, float": ("tables", 10.0 ** np.arange(-3, 5) * ROWS - 40),
    "tables, int16": ("tables", np.rint(900 * ROWS).astype(np.int16)),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_shift_keeps_the_form_and_changes_something(case: str) -> None:
    family, x = CASES[case]
    chosen = choose(family, opened(x))
    assert len(chosen.kinds) == 10
    room = 0.51 * (float(x.max()) - float(x.min()))
    found = apply(chosen, x, 0.6) | {
        "shaken": np.stack([chosen.shake(each, Generators(1, "held").at(n)) for n, each in enumerate(x)])
    }
    np.testing.assert_array_equal(found.pop("frozen"), x)  # the stream repeats inputs, each stays as it is
    for name, y in found.items():
        assert (y.shape, y.dtype) == (x.shape, x.dtype) and np.isfinite(y).all(), name
        assert all((a != b).any() for a, b in zip(x, y, strict=True)), name
        if family == "pictures" and x.dtype.kind == "f":
            bounds = {"pictures, -1 to 1": (-1, 1)}.get(case, (0, 1))
            bounds = (x.min(), x.max()) if "standardized" in case else bounds
            assert bounds[0] - 1e-6 <= y.min() and y.max() <= bounds[1] + 1e-6, name
        elif family in ("signals", "tables"):
            assert x.min() - room - 1 <= y.min() and y.max() <= x.max() + room + 1, name
    assert (apply(chosen, x, 0.6)["noise"] == found["noise"]).all(), "the same numbers, the same noise"


@pytest.mark.parametrize("case", [each for each in CASES if each.endswith(", float")], ids=str)
def test_a_severe_shift_changes_more_than_a_mild_one(case: str) -> None:
    family, x = CASES[case]
    chosen = choose(family, opened(x))
    mild, some, severe = (apply(chosen, x, severity) for severity in (0.25, 0.6, 1.0))
    # Of a tone that moves on, samples may come to be alike again.
    scale = x.std(axis=0) if family == "tables" else 1.0  # columns have units of their own
    for name in set(mild) - {"late", "blank", "frozen"}:
        away = [float((np.abs(each[name] - x) / scale).mean()) for each in (mild, some, severe)]
        assert away[0] < away[1] < away[2], name
    if family != "sound":  # a tone that moves on a little is another one, sample by sample
        shaken = np.stack([chosen.shake(each, Generators(1, "h").at(n)) for n, each in enumerate(x)])
        assert 0 < float(np.abs(shaken - x).mean()) < 0.7 * float(x.std())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_blank_and_saturated_inputs_leave_nothing_to_see(case: str) -> None:
    family, x = CASES[case]
    chosen = choose(family, opened(x))
    along = {
        "signals, float": 1,
        "signals, int8": 1,
        "signals, channels first": 2,
        "tables, float": 0,
        "tables, int16": 0,
    }.get(case)
    for severity in (0.3, 0.9):
        blank = apply(chosen, x, severity)["blank"]
        value = blank.flat[0] if along is None else blank[:1].take([0], axis=along)  # of a channel
        assert (blank == value).all(), "the same throughout, and at every step"
    mild, severe = (apply(chosen, x, severity)["saturated"].astype(float) for severity in (0.25, 1.0))
    if family == "sound":  # hard clipping, at both ends
        ends = [float(each) for each in (severe.min(), severe.max())]
        assert np.isin(severe, ends).mean() > np.isin(mild, ends).mean() > 0.8 and ends[0] < 0 < ends[1]
        assert (np.sign(severe) == np.sign(x)).mean() > 0.99
    else:
        top = severe.max(axis=0) if family in ("signals", "tables") else severe.max()
        assert (severe == top).mean() > 0.95 and 0.1 < (mild == top).mean() < 0.95
        assert (mild >= x - 1e-6).all()


def test_broken_sensors_of_a_row_stay_broken_for_a_stretch() -> None:
    x = np.random.default_rng(3).normal(5, 2, (400, 12))
    y = np.arange(400) % 3
    seen: list[npt.NDArray[Any]] = []

    def net(batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
        seen.append(batch)
        return np.full((len(batch), 3), 1 / 3)

    log = tcuq.record(net, x, y, stream="shuffled", shifts=True, steps=4000)
    assert "inputs are taken as rows of a table of 12 columns" in log.notes[0]
    assert log.kinds is not None and log.shift_names is not None
    assert log.shift_names[:7] == ("noise", "offset", "gain", "stuck", "missing", "swapped", "coarse")
    rows, given = np.concatenate(seen), {each.tobytes() for each in x}
    assert all(row.tobytes() in given for row in rows[log.kinds == 0])
    stuck = log.shift_names.index("stuck") + 1
    starts = np.flatnonzero((log.kinds == stuck) & (np.r_[0, log.kinds[:-1]] != stuck))
    columns = []
    for start in starts.tolist():
        part = rows[start : start + int(np.argmin(log.kinds[start:] == stuck))]
        columns.append(tuple(np.flatnonzero(np.ptp(part, axis=0) == 0).tolist()))
        assert 1 <= len(columns[-1]) <= 6, "the same sensors at all steps"
    assert len(set(columns)) > 1, "and others in another stretch"
    refuses("value", choose, "tables", opened(x[:, :, None]))
    assert "signals of 12 samples" in choose(True, opened(x[:, :, None])).notes[0]
    with pytest.raises(ValueError, match="a shift is named 'clean', as undegraded input is"):
        choose({"clean": dark}, opened(x))


def test_the_same_picture_is_degraded_alike_whatever_it_is_made_of() -> None:
    u8, i8 = CASES["pictures, uint8"][1], CASES["pictures, int8"][1]
    first = np.moveaxis(u8, 3, 1).copy()
    wanted = apply(choose("pictures", opened(u8)), u8, 0.7)
    signed = apply(choose(True, opened(i8)), i8, 0.7)
    moved = apply(choose(True, opened(first)), first, 0.7)
    for name, pixels in wanted.items():
        np.testing.assert_array_equal(pixels, signed[name].astype(np.int16) + 128)
        np.testing.assert_array_equal(pixels, np.moveaxis(moved[name], 1, 3))


def dark(x: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
    return x * 0.5


def test_functions_of_ones_own_are_kinds_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = bars(200)
    log = tcuq.record(bar_net, x, y, shifts=[True, dark, {"upside": lambda x, rng: x[::-1]}])
    assert "`shifted` holds 1 noise," in log.notes[1] and log.notes[1].endswith("11 dark, 12 upside")
    assert log.kinds is not None and len(set(log.kinds.tolist())) < 13
    assert log.notes[2].startswith("the stream is too short to show ")
    (tmp_path / "shift_functions.py").write_text(
        "def wet(x, rng):\n    return x + rng.normal(0, 9, x.shape)\nBOTH = {'a': wet, 'b': wet}\nx = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shift_functions", raising=False)
    pixels = np.rint(255 * x).astype(np.uint8)
    chosen = choose("shift_functions:wet,shift_functions:BOTH", opened(pixels))
    assert [each.name for each in chosen.kinds] == ["wet", "a", "b"]
    wet = chosen.kinds[0].apply(pixels[0], 1.0, Generators(0, "w").at(0))
    assert wet.dtype == np.uint8 and (wet != pixels[0]).any(), "rounded and cut to the dtype of the data"
    refuses("value", choose, "shift_functions:x", opened(x))
    kept = pixels[0].copy()

    def spoil(x: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        x[:] = 0
        return x

    choose(spoil, opened(pixels)).kinds[0].apply(pixels[0], 1.0, Generators(0, "w").at(0))
    np.testing.assert_array_equal(pixels[0], kept)


def test_bad_shifts_are_refused_in_one_line() -> None:
    x, y = bars(100)

    def bad(x: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        raise KeyError("gone")

    cases: list[tuple[Any, npt.NDArray[Any], str]] = [
        ("weather", x, "value"),
        ("no_such:thing", x, "failed"),
        (["pictures", "sound"], x, "conflict"),
        ("none,pictures", x, "conflict"),
        ("sound", x, "value"),
        ("signals", np.zeros((100, 4, 5, 6)), "value"),
        (True, np.zeros((100, 4, 5, 6)), "unsupported"),
        ("tables", x, "value"),
        (bad, x, "failed"),
        ({"cut": lambda x, rng: x[1:]}, x, "value"),
        ({"nan": lambda x, rng: x * np.nan}, x, "value"),
        ({"text": lambda x, rng: x.astype(str)}, x, "value"),
        ([dark, {"dark": dark}], x, "conflict"),
    ]
    for shifts, data, code in cases:
        refuses(code, tcuq.record, bar_net, data, y, shifts=shifts)
    refuses("value", tcuq.record, bar_net, x, y, shifts=3)


def test_inputs_of_no_family_can_still_be_held() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3, 4, 5))
    log = tcuq.record(lambda b: np.full((len(b), 2), 0.5), x, stream="held=4", shifts=dark)
    assert len(log) == 60 and log.shifted is not None and log.shifted.any()


def test_indices_are_neither_shaken_nor_degraded() -> None:
    table, tokens = RNG.random((100, 4)), RNG.integers(0, 100, (500, 12))
    seen: list[npt.NDArray[Any]] = []

    def net(batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
        seen.append(batch)
        found = table[batch].mean(axis=1)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    y = RNG.integers(0, 4, 500)
    log = tcuq.record(net, tokens, y, stream=True)
    given = {row.tobytes() for row in tokens}
    assert len(log) == 500 and all(row.tobytes() in given for batch in seen for row in batch)
    assert log.notes[0].startswith("inputs are taken as indices: an example that is held comes again as it i")
    assert not any("indices" in each for each in tcuq.record(net, tokens, y, stream="dwell=8").notes)
    refuses("unsupported", tcuq.record, net, tokens, y, shifts=True)
    own = tcuq.record(net, tokens, y, shifts={"typos": lambda x, rng: rng.permutation(x)})
    assert own.kinds is not None and own.kinds.any()
    assert len(choose("signals", opened(tokens)).kinds) == 10, "the user knows better"


def test_the_model_says_whether_it_takes_indices() -> None:
    small = opened(RNG.integers(0, 100, (20, 12)).astype(np.uint8))
    wide = opened(RNG.integers(0, 9, (20, 12)))
    i64, f32, i8 = Model("i64"), Model("f32"), Model("i8")
    i64.input, i8.input = np.dtype(np.int64), np.dtype(np.int8)
    refuses("unsupported", choose, True, small, None, i64)
    i8.quantized = Format(0.5, 0)
    for data, model in ((small, None), (wide, f32), (wide, i8), (small, i8)):
        assert len(choose(True, data, None, model).kinds) == 10
    pictures = opened(RNG.integers(0, 256, (20, 16, 16, 3)))
    assert len(choose(True, pictures, None, i64).kinds) == 10


def test_flags_stay_what_they_are_when_held() -> None:
    x = RNG.random((60, 3, 4, 5)) < 0.3
    chosen = choose(lambda x, rng: x + rng.uniform(-0.1, 0.1, x.shape), opened(x))
    shaken = chosen.shake(x[0], Generators(0, "h").at(0))
    assert shaken.dtype == np.bool_
    np.testing.assert_array_equal(shaken, x[0])
    np.testing.assert_array_equal(chosen.kinds[0].apply(x[0], 1.0, Generators(0, "h").at(1)), x[0])
