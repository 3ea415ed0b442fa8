"""Streams as devices meet them: uneven and changing dwell, slow shifts, held pictures, continuous sound."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from sounds import spoken
from toy_streams import LABELS, SNOW, describe, runs_of

from tcuq.recording.rand import ONE
from tcuq_lab.corruptions import corrupt
from tcuq_lab.data import Dataset
from tcuq_lab.streams import (
    Changing,
    Description,
    Geometric,
    Held,
    Pareto,
    Segments,
    Shift,
    Sliding,
    Stationary,
    Trace,
    build,
    inputs,
    steps,
)
from tcuq_lab.streams.held import FRESH, Shaker

NOISE = np.random.default_rng(3).integers(-400, 400, (9, 16000)).astype(np.int16)


# --- dwell


@pytest.mark.parametrize(("mean", "longest"), [(16, 1000), (4, 1000), (16, 100), (64, 10_000)])
def test_heavy_tailed_runs_have_their_mean_and_their_tail(mean, longest):
    reaches = Pareto(mean, longest).reaches()
    exact = 1 + sum(Fraction(int(each), ONE) for each in reaches)
    assert mean <= exact < mean * 1.01
    assert len(reaches) == longest - 1 and (np.diff(reaches.astype(float)) < 0).all()
    # Twice as far out in the tail: less by the power of 1.5.
    far = longest // 4
    assert abs(np.log2(float(reaches[far]) / float(reaches[2 * far])) - 1.5) < 0.7
    runs = runs_of(build(describe(steps=400_000, dwell=Pareto(mean, longest)), LABELS).label)[:-1]
    assert runs.max() <= longest and runs.min() == 1
    for length in (2, mean, 3 * mean):
        assert abs((runs >= length).mean() - float(reaches[length - 2]) / ONE) < 0.03
    assert np.median(runs) < mean / 2 + 1


def test_the_pace_changes_from_stretch_to_stretch():
    means, length = (1, 4, 16, 64), 500
    stream = build(describe(steps=400_000, dwell=Changing(means, length)), LABELS)
    changes = (np.diff(stream.label, prepend=-1) != 0).reshape(-1, length)
    pace = changes.mean(axis=1)
    wanted = np.array([9 / 10, 1 / 4, 1 / 16, 1 / 64])
    nearest = np.abs(np.log(np.maximum(pace, 1e-3))[:, None] - np.log(wanted)).argmin(axis=1)
    for place, share in enumerate(wanted):
        assert abs((nearest == place).mean() - 0.25) < 0.02
        assert abs(pace[nearest == place].mean() / share - 1) < 0.1
    rounds = nearest[: len(nearest) // 4 * 4].reshape(-1, 4)
    assert np.mean([len(set(each)) == 4 for each in rounds.tolist()]) > 0.95
    assert len({tuple(each) for each in rounds.tolist()}) > 10  # in random order


@pytest.mark.parametrize("classes", [2, 10])
def test_one_class_has_its_share_of_the_steps(classes):
    shares = []
    for seed in range(4):
        about = describe(steps=200_000, dwell=Pareto(12, 300, 0.7), seed=seed)
        label = build(about, np.arange(3000) % classes).label
        counts = np.bincount(label, minlength=classes) / len(label)
        shares.append((int(counts.argmax()), counts.max()))
        rest = np.delete(counts, counts.argmax())
        assert rest.max() < 1.2 * 0.3 / (classes - 1)
        runs, usual = runs_of(label)[:-1], label[np.flatnonzero(np.diff(label))] == counts.argmax()
        assert abs(runs[~usual].mean() / 12 - 1) < 0.1 and abs(runs[usual].mean() / 28 - 1) < 0.1
    assert all(abs(share - 0.7) < 0.02 for _, share in shares)
    assert len({place for place, _ in shares}) > 1  # the seed draws the class


# --- onset


def test_a_shift_rises_to_its_severity_and_stays():
    stream = build(describe(steps=100_000, shifts=(SNOW,), layout=Segments(onset=60)), LABELS)
    plain = build(describe(steps=100_000, shifts=(SNOW,)), LABELS)
    assert np.array_equal(stream.shift, plain.shift) and np.array_equal(stream.index, plain.index)
    seen = set()
    for start, stop, source in plain.spans()[:-1]:
        levels = [int(stream.sources[each].partition("/")[2] or 0) for each in stream.source[start:stop]]
        top = int(source.partition("/")[2] or 0)
        seen.add(top)
        assert sorted(set(levels)) == list(range(min(1, top), top + 1)) and levels == sorted(levels)
        assert all(level == top for level in levels[60:])
        if top > 1:
            assert [levels[:60].count(level) for level in range(1, top)] == [60 // (top - 1)] * (top - 1)
    assert seen == {0, 1, 2, 3, 4, 5}


# --- held pictures


def pictures(count=60, side=28, name="toy"):
    x = np.random.default_rng(0).integers(0, 256, (count, side, side), dtype=np.uint8)
    return Dataset(name, "dev", x, np.arange(count) % 5, "", "")


def test_one_example_is_held_for_a_run():
    stream = build(describe(held=Held(), dwell=Geometric(8)), LABELS)
    assert np.array_equal(np.diff(stream.index) != 0, np.diff(stream.label) != 0)
    plain = build(describe(dwell=Geometric(8)), LABELS)
    assert np.array_equal(stream.label, plain.label) and np.array_equal(stream.source, plain.source)
    assert len(np.unique(stream.index)) == len(runs_of(stream.index))  # few runs, each a new example


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 1.0])
def test_a_coin_says_whether_a_run_holds_one_picture(share):
    about = describe(steps=100_000, dwell=Pareto(12), held=Held(share=share))
    stream = build(about, LABELS)
    plain = build(about.replace(held=None), LABELS)
    assert np.array_equal(stream.label, plain.label) and np.array_equal(stream.source, plain.source)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(stream.label)) + 1, [len(stream)]])
    held = [
        len(set(stream.index[start:stop].tolist())) == 1
        for start, stop in pairwise(edges.tolist())
        if stop - start > 1
    ]
    alike = [bool((np.diff(stream.index[a:b]) != 0).all()) for a, b in pairwise(edges.tolist()) if b - a > 1]
    assert [one != other for one, other in zip(held, alike, strict=True)] == [True] * len(held)
    assert abs(np.mean(held) - share) < 0.03
    parts = list(steps(about, LABELS, chunk=77))
    assert np.array_equal(np.concatenate([part.index for part in parts]), stream.index)


def test_shaken_bytes_are_the_same_on_all_machines():
    shaken = Shaker(Held(), 7).shake(pictures().x)
    assert hashlib.sha256(shaken.tobytes()).hexdigest()[:16] == "2021103903ecf4e0"


def shown(plan, data, **options):
    return np.concatenate([part.x for part in inputs(plan, data, "mnist_c", **options)])


@pytest.mark.slow
def test_a_held_stream_is_shaken_then_corrupted_and_chunks_do_not_matter():
    data = pictures()
    for kind in ("shot_noise", "fog"):
        about = describe(shifts=(Shift(kind, (1,)),), steps=700, held=Held(), dwell=Trace((9,)))
        stream = build(about, data.y)
        whole = shown(about, data, chunk=1000, seed=9)
        for plan, chunk in ((about, 33), (stream, 200)):
            assert np.array_equal(shown(plan, data, chunk=chunk, seed=9), whole)
        shaken = Shaker(Held(), 3).shake(data.x[stream.index])
        bad = stream.shift > 0
        assert bad.any() and np.array_equal(whole[~bad], shaken[~bad])
        index = np.arange(700) if kind in FRESH else stream.index
        wanted = corrupt(shaken[bad], "mnist_c", kind, 1, 9, index=index[bad])
        assert np.array_equal(whole[bad], wanted)
        assert all((one != other).any() for one, other in pairwise(whole[:30]))


def test_faults_take_the_input_away():
    data = pictures()
    kinds = ("attenuated", "blank", "saturated", "frozen")
    layout = Segments(mean=30, minimum=10)
    about = describe(
        shifts=tuple(Shift(kind, (1,)) for kind in kinds),
        steps=500,
        layout=layout,
        held=Held(share=0.5),
        dwell=Pareto(4),
    )
    stream, whole = build(about, data.y), shown(about, data)
    assert np.array_equal(shown(about, data, chunk=7), whole)
    clean = shown(about.replace(shifts=(), layout=Stationary()), data)
    seen = set()
    for start, stop, source in stream.spans():
        kind, seen = source.partition("/")[0], seen | {source}
        wanted = {
            "clean": clean[start:stop],
            "attenuated": np.rint(clean[start:stop] * 0.9),
            "blank": np.zeros_like(clean[start:stop]),
            "saturated": np.full_like(clean[start:stop], 255),
            "frozen": np.repeat(whole[max(start - 1, 0)][None], stop - start, axis=0),
        }[kind]
        assert np.abs(whole[start:stop].astype(int) - wanted.astype(int)).max() <= int(kind == "attenuated")
    assert len(seen) == 5
    with pytest.raises(ValueError, match="frozen input depends on the step before"):
        corrupt(data.x, "mnist_c", "frozen", 1)


# --- continuous sound


def words(count=20):
    return Dataset("toy", "dev", spoken(count), np.arange(count) % 5, "", "")


SPOKEN = words()


def heard(about, **options):
    parts = list(inputs(about, SPOKEN, "speech_c", noise=NOISE, **options))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def sliding(**changes) -> Description:
    fields = {"steps": 200, "dwell": Geometric(1), "layout": Stationary(), "shifts": (), "sliding": Sliding()}
    return describe(**{**fields, **changes})


def test_windows_slide_over_one_sound():
    x, y, shift = heard(sliding())
    assert x.shape == (200, 16000) and x.dtype == np.int16 and not shift.any()
    assert np.array_equal(x[1:, :-3200], x[:-1, 3200:])
    stream = build(sliding(), SPOKEN.y)
    assert np.array_equal(y, stream.label)
    middles = np.arange(200) * 3200 + 8000
    assert np.array_equal(np.diff(middles // 16000) != 0, np.diff(stream.index) != 0)
    assert set(runs_of(stream.index)[1:-1]) == {5}
