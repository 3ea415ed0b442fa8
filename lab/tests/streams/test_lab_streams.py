"""Streams of the lab: the laws they follow, the same bytes from a description, what devices meet."""

from __future__ import annotations

import hashlib
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from sounds import spoken
from toy_streams import FOG, LABELS, SNOW, describe, runs_of

from tcuq_lab.corruptions import corrupt
from tcuq_lab.data import Dataset
from tcuq_lab.streams import (
    Bursts,
    Changing,
    Description,
    Geometric,
    Held,
    Literal,
    Mismatch,
    Ood,
    Pareto,
    Ramp,
    Segments,
    Shift,
    Sliding,
    StartsShifted,
    Stationary,
    Trace,
    build,
    inputs,
    labels_digest,
    seal,
    steps,
)
from tcuq_lab.streams.held import FRESH, Shaker

NOISE = np.random.default_rng(3).integers(-400, 400, (9, 16000)).astype(np.int16)
OOD_LABELS = {"letters": np.arange(90) % 4}


def made(**changes):
    return build(describe(**changes), LABELS, OOD_LABELS)


EVERY = {
    "segments": ({}, "7b95ef8b71c041ea"),
    "reversed": ({"layout": Segments(reversed=True)}, "424c9f66b2eef4c2"),
    "with OOD": ({"ood": (Ood("letters"),)}, "537f1d6167ce0534"),
    "ramp": ({"layout": Ramp(down=True)}, "8e1ba4473895942a"),
    "starts shifted": ({"layout": StartsShifted(700)}, "3babb5a4689a4611"),
    "bursts": ({"layout": Bursts(), "shifts": (), "ood": (Ood("letters"),)}, "0bbaeced35355190"),
    "literal": ({"layout": Literal(), "shifts": (SNOW,), "dwell": Geometric(1)}, "572dd7a6cd8c0d25"),
    "stationary": ({"layout": Stationary(), "shifts": ()}, "8e4221a2fc56a802"),
    "shuffled": ({"dwell": Geometric(1)}, "f18875879bb5ea9e"),
    "trace": ({"dwell": Trace((5, 9, 2))}, "664290dba187e3d0"),
    "trace with classes": (
        {"dwell": Trace((5, 9, 2), (1, 4, 0)), "ood": (Ood("letters"),)},
        "f56c0f87708284cb",
    ),
    "heavy tails": ({"dwell": Pareto(16), "ood": (Ood("letters"),)}, "e86512a7a593ae25"),
    "changing": ({"dwell": Changing((1, 4, 16, 64), 300), "ood": (Ood("letters"),)}, "608ea68fe2a28c4c"),
    "onset": ({"layout": Segments(onset=60)}, "80500d2051af8607"),
    "onset reversed": ({"layout": Segments(onset=60, reversed=True)}, "dbbc51d6334fcbfb"),
    "held": ({"held": Held(), "ood": (Ood("letters"),)}, "866d90d9e1c1e068"),
    "held heavy tails": ({"held": Held(1, 2, 30), "dwell": Pareto(8)}, "1cccbcec7d1dea28"),
    "sliding": ({"sliding": Sliding(), "dwell": Geometric(1)}, "a2194d5bf16e69f4"),
    "one class": ({"dwell": Pareto(12, 300, 0.7)}, "0bb7ca24ebfb609a"),
    "held at times": ({"held": Held(share=0.5), "dwell": Pareto(12)}, "3884728f74b30c87"),
    "gradual": ({"layout": Segments(onset=60, gradual=0.5, shifted=(60, 200))}, "e8ecf26c70a30767"),
    "sliding slowly": ({"sliding": Sliding(800, 20_000), "dwell": Trace((3, 1))}, "762a9a7aca0f23d7"),
}
"""What is changed in the usual description, and how the digest of its plan begins."""


@pytest.mark.parametrize(("mean", "classes"), [(4, 2), (16, 10), (64, 16), (2.5, 10)])
def test_the_mean_run_is_the_one_asked_for(mean, classes):
    stream = build(describe(steps=400_000, dwell=Geometric(mean)), np.arange(3000) % classes)
    runs = runs_of(stream.label)
    assert abs(runs.mean() / mean - 1) < 0.03
    # Geometric: the chance to stay does not depend on how long the class has been there.
    assert abs((runs > mean).mean() - (1 - 1 / mean) ** int(mean)) < 0.02
    # Shares are as even as so many runs of random length can be: four standard deviations.
    even = 4 * (2 * mean * classes / len(stream)) ** 0.5
    assert abs(np.bincount(stream.label) / len(stream) * classes - 1).max() < even


def test_the_literal_stream_shows_everything_once_then_again_at_rising_severity():
    stream = made(layout=Literal(), shifts=(SNOW,), dwell=Geometric(1), steps=6000)
    assert np.array_equal(np.sort(stream.index[:3000]), np.arange(3000))
    assert np.array_equal(np.sort(stream.index[3000:]), np.arange(3000))
    assert [(stop - start, source) for start, stop, source in stream.spans()] == [
        (3000, "clean"), *((600, f"snow/{n}") for n in range(1, 6)),
    ]  # fmt: skip
    part = made(layout=Literal(), shifts=(FOG,), dwell=Geometric(1), steps=1000)
    assert len(np.unique(part.index[:500])) == 500 == len(np.unique(part.index[500:]))
    assert [span.source for span in part.spans()] == ["clean", "fog/3"]
    with pytest.raises(ValueError, match="steps is 6010, expected at most 6000 with 3000 exam"):
        made(layout=Literal(), shifts=(SNOW,), dwell=Geometric(1), steps=6010)


@pytest.mark.parametrize("name", EVERY)
def test_a_description_gives_the_same_bytes_from_its_file_and_in_chunks(name, tmp_path):
    about, digest = describe(**EVERY[name][0]), EVERY[name][1]
    whole = build(about, LABELS, OOD_LABELS)
    assert whole.digest().startswith(digest)
    sealed = seal(about, LABELS, OOD_LABELS)
    sealed.save(tmp_path / "s.json")
    read = Description.load(tmp_path / "s.json")
    assert read == sealed and (read.labels, read.digest) == (labels_digest(LABELS), whole.digest())
    for size in (3, 1000, 100_000):
        chunks = list(steps(about, LABELS, OOD_LABELS, chunk=size))
        assert all(len(chunk.source) == size for chunk in chunks[:-1])
        for field in ("source", "index", "label", "shift"):
            assert np.array_equal(np.concatenate([getattr(c, field) for c in chunks]), getattr(whole, field))


def test_other_data_and_other_plans_are_noticed():
    sealed = seal(describe(ood=(Ood("letters"),)), LABELS, OOD_LABELS)
    with pytest.raises(
        Mismatch, match=r"^the labels of toy dev have the digest [0-9a-f]{64}, expected [0-9a-f]{64}$"
    ):
        build(sealed, LABELS[::-1], OOD_LABELS)
    with pytest.raises(Mismatch, match="the labels of letters have"):
        build(sealed, LABELS, {"letters": np.arange(91) % 4})
    with pytest.raises(Mismatch, match="the plan has the digest"):
        build(sealed.replace(seed=4, digest=sealed.digest), LABELS, OOD_LABELS)
    assert sealed.replace(seed=4).digest is None
    with pytest.raises(ValueError, match="ood_labels lack letters"):
        build(sealed, LABELS)


def bank_of(stream, features=True, dtype=np.float32):
    rng = np.random.default_rng(0)
    rows = {source: 90 if source.startswith("ood/") else 3000 for source in stream.sources}
    return {
        source: (rng.random((n, 10)).astype(dtype), rng.random((n, 4)).astype(dtype) if features else None)
        for source, n in rows.items()
    }


def test_a_log_holds_what_the_bank_says_to_each_step():
    stream = made(**EVERY["with OOD"][0])
    bank = bank_of(stream)
    log = stream.log(bank)
    for step in range(0, 4000, 97):
        probs, features = bank[stream.sources[stream.source[step]]]
        assert np.array_equal(log.probs[step], probs[stream.index[step]])
        assert np.array_equal(log.features[step], features[stream.index[step]])
    assert np.array_equal(log.labels, stream.label) and np.array_equal(log.kinds, stream.shift)
    assert log.change_points() == stream.change_points()
    assert stream.log(bank_of(stream, features=False)).features is None


def pictures(count=60, side=28):
    x = np.random.default_rng(0).integers(0, 256, (count, side, side), dtype=np.uint8)
    return Dataset("toy", "dev", x, np.arange(count) % 5, "", "")


def test_inputs_are_the_bytes_of_the_whole_set_corrupted():
    data, letters = pictures(), pictures(20)
    kind = "shot_noise"
    about = describe(shifts=(Shift(kind, (1,)),), ood=(Ood("letters"),), steps=900)
    stream = build(about, data.y, {"letters": letters.y})
    whole = {
        "clean": data.x,
        f"{kind}/1": corrupt(data.x, "mnist_c", kind, 1, 9),
        "ood/letters": letters.x,
    }
    assert not np.array_equal(whole["clean"], whole[f"{kind}/1"])
    wanted = np.stack([whole[stream.sources[s]][i] for s, i in zip(stream.source, stream.index, strict=True)])
    for plan, chunk in ((stream, 64), (about, 200), (about, 1000)):
        shown = list(inputs(plan, data, "mnist_c", ood={"letters": letters}, chunk=chunk, seed=9))
        assert len(shown[0].x) == min(chunk, 900)
        assert np.array_equal(np.concatenate([part.x for part in shown]), wanted)
        assert np.array_equal(np.concatenate([part.y for part in shown]), stream.label)
        assert np.array_equal(np.concatenate([part.shift for part in shown]), stream.shift)


def peak(work) -> int:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("what", ["plan", "inputs"])
def test_memory_does_not_grow_with_the_length(what):
    data = pictures(side=8)

    def work(count):
        about = describe(steps=count, shifts=(Shift("identity", (1,)),))
        for _ in inputs(about, data, "mnist_c") if what == "inputs" else steps(about, LABELS):
            pass

    work(1000)
    short = 4_000 if what == "inputs" else 20_000
    # Python itself keeps up to 2,000 freed tuples of a size, 128 kB of triples; a plan has 19 bytes a step.
    assert peak(lambda: work(10 * short)) < peak(lambda: work(short)) + 250_000


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
