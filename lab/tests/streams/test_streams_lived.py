"""Streams as devices meet them: uneven and changing dwell, slow shifts, held pictures, continuous sound."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from sounds import spoken
from toy_streams import describe, runs_of

from tcuq_lab.corruptions import corrupt
from tcuq_lab.data import Dataset
from tcuq_lab.streams import (
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
)
from tcuq_lab.streams.held import FRESH, Shaker

NOISE = np.random.default_rng(3).integers(-400, 400, (9, 16000)).astype(np.int16)


# --- dwell


# --- onset


# --- held pictures


def pictures(count=60, side=28, name="toy"):
    x = np.random.default_rng(0).integers(0, 256, (count, side, side), dtype=np.uint8)
    return Dataset(name, "dev", x, np.arange(count) % 5, "", "")


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
