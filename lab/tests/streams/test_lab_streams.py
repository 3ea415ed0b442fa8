"""Streams of the lab: the laws they follow, and that a description always gives the same bytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
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

OOD_LABELS = {"letters": np.arange(90) % 4}


def made(**changes):
    return build(describe(**changes), LABELS, OOD_LABELS)


EVERY = {
    "segments": {},
    "reversed": {"layout": Segments(reversed=True)},
    "with OOD": {"ood": (Ood("letters"),)},
    "ramp": {"layout": Ramp(down=True)},
    "starts shifted": {"layout": StartsShifted(700)},
    "bursts": {"layout": Bursts(), "shifts": (), "ood": (Ood("letters"),)},
    "literal": {"layout": Literal(), "shifts": (SNOW,), "dwell": Geometric(1)},
    "stationary": {"layout": Stationary(), "shifts": ()},
    "shuffled": {"dwell": Geometric(1)},
    "trace": {"dwell": Trace((5, 9, 2))},
    "trace with classes": {"dwell": Trace((5, 9, 2), (1, 4, 0)), "ood": (Ood("letters"),)},
    "heavy tails": {"dwell": Pareto(16), "ood": (Ood("letters"),)},
    "changing": {"dwell": Changing((1, 4, 16, 64), 300), "ood": (Ood("letters"),)},
    "onset": {"layout": Segments(onset=60)},
    "onset reversed": {"layout": Segments(onset=60, reversed=True)},
    "held": {"held": Held(), "ood": (Ood("letters"),)},
    "held heavy tails": {"held": Held(1, 2, 30), "dwell": Pareto(8)},
    "sliding": {"sliding": Sliding(), "dwell": Geometric(1)},
    "one class": {"dwell": Pareto(12, 300, 0.7)},
    "held at times": {"held": Held(share=0.5), "dwell": Pareto(12)},
    "gradual": {"layout": Segments(onset=60, gradual=0.5, shifted=(60, 200))},
    "sliding slowly": {"sliding": Sliding(800, 20_000), "dwell": Trace((3, 1))},
}
DIGESTS = {
    "segments": "7b95ef8b71c041eac860a74f57b89409751d92917906ec16f2955d623e4ee0b2",
    "reversed": "424c9f66b2eef4c232f662e98041731df4b75a01a52f9fb0d8706ee0c04598f0",
    "with OOD": "537f1d6167ce0534329b72f23f7728baaac5188a558ef897ab6fce5b2c23a3de",
    "ramp": "8e1ba4473895942a51cdb330e1ed568aeedda5077e261289777406c74086d900",
    "starts shifted": "3babb5a4689a4611e4fee33d008963328e0238bfa88c09ffe2f30a332cfee2ad",
    "bursts": "0bbaeced353551901c0707183b9427f41443bdf124c407cedff209b0ada164c0",
    "literal": "572dd7a6cd8c0d25d32fb074517c8460eb6fd8c0c4e81cda442ea6a31ae0fb94",
    "stationary": "8e4221a2fc56a802770429b93640b0d1cd5bc9d86734051c8f03ac7a4ce3b700",
    "shuffled": "f18875879bb5ea9e440a39e4de7cdca34c271dfd99c5109688dacef93120536b",
    "trace": "664290dba187e3d0256897f4b768dbb6f6726ebc3af7e54b68d1247666f89a6c",
    "trace with classes": "f56c0f87708284cbf37abc78f34fd07dbf970f29bcd98ab54a6b764dbf562ea5",
    "heavy tails": "e86512a7a593ae256854688b73f8188b4f93b45580bc117199c965ac14d45c5b",
    "changing": "608ea68fe2a28c4cc31d63694d3cd6691fe87ec544960aa4362bfbaeeb49f3a9",
    "onset": "80500d2051af8607eca758771b0a129c97db06ade6e06c436d7c781ec8a2942e",
    "onset reversed": "dbbc51d6334fcbfb79ab09955a2cd2802a0a464968dbdb3e3e92a1d8cc4046a2",
    "held": "866d90d9e1c1e068405c9bed27f2ee5ee4e4042c05affa02734b39909b107d41",
    "held heavy tails": "1cccbcec7d1dea282b363f36d3ca2c5cbcf9020bfb15ba0e779dd9b0336f3e76",
    "sliding": "a2194d5bf16e69f450dd5cc0d52dc7cd2b887d7d4e1e80c20813daaa59385ce9",
    "one class": "0bb7ca24ebfb609a468b7efb51041039522035cea192bc5b8420da18de4cc912",
    "held at times": "3884728f74b30c8747267e724f3bbfc51d25eb4058052c555f51c726a4ae39c0",
    "gradual": "e8ecf26c70a30767d26edae3df4f12c9f64d6c50bd912385c0f4049ad2e03c9d",
    "sliding slowly": "762a9a7aca0f23d7fb335f9e1a017813151062bb34ee66b06bbc5f55583d3cb5",
}


# --- dwell


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


# --- layouts


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


# --- the same bytes


@pytest.mark.parametrize("name", EVERY)
def test_digests_do_not_change(name):
    assert made(**EVERY[name]).digest() == DIGESTS[name]


@pytest.mark.parametrize("name", EVERY)
def test_chunks_do_not_matter(name):
    whole = made(**EVERY[name])
    for size in (3, 1000, 100_000):
        chunks = list(steps(describe(**EVERY[name]), LABELS, OOD_LABELS, chunk=size))
        assert all(len(chunk.source) == size for chunk in chunks[:-1])
        for field in ("source", "index", "label", "shift"):
            assert np.array_equal(np.concatenate([getattr(c, field) for c in chunks]), getattr(whole, field))


# --- the description


@pytest.mark.parametrize("name", EVERY)
def test_a_description_survives_its_file(name, tmp_path):
    sealed = seal(describe(**EVERY[name]), LABELS, OOD_LABELS)
    sealed.save(tmp_path / "s.json")
    read = Description.load(tmp_path / "s.json")
    assert read == sealed and read.labels == labels_digest(LABELS)
    assert build(read, LABELS, OOD_LABELS).digest() == read.digest


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


# --- logs and inputs


def bank_of(stream, features=True, dtype=np.float32):
    rng = np.random.default_rng(0)
    rows = {source: 90 if source.startswith("ood/") else 3000 for source in stream.sources}
    return {
        source: (rng.random((n, 10)).astype(dtype), rng.random((n, 4)).astype(dtype) if features else None)
        for source, n in rows.items()
    }


def test_a_log_holds_what_the_bank_says_to_each_step():
    stream = made(**EVERY["with OOD"])
    bank = bank_of(stream)
    log = stream.log(bank)
    for step in range(0, 4000, 97):
        probs, features = bank[stream.sources[stream.source[step]]]
        assert np.array_equal(log.probs[step], probs[stream.index[step]])
        assert np.array_equal(log.features[step], features[stream.index[step]])
    assert np.array_equal(log.labels, stream.label) and np.array_equal(log.kinds, stream.shift)
    assert log.change_points() == stream.change_points()
    assert stream.log(bank_of(stream, features=False)).features is None


def pictures(count=60, side=8):
    x = np.random.default_rng(0).integers(0, 256, (count, side, side), dtype=np.uint8)
    return Dataset("toy", "dev", x, np.arange(count) % 5, "", "")


def test_inputs_are_the_bytes_of_the_whole_set_corrupted():
    data, letters = pictures(side=28), pictures(20, side=28)
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
    data = pictures()

    def work(count):
        about = describe(steps=count, shifts=(Shift("identity", (1,)),))
        for _ in inputs(about, data, "mnist_c") if what == "inputs" else steps(about, LABELS):
            pass

    work(1000)
    short = 4_000 if what == "inputs" else 20_000
    # Python itself keeps up to 2,000 freed tuples of a size, 128 kB of triples; a plan has 19 bytes a step.
    assert peak(lambda: work(10 * short)) < peak(lambda: work(short)) + 250_000
