"""Parts of the datasets that share nothing, and examples that are none of the classes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tcuq_lab.data import data_folder, load, present
from tcuq_lab.data.dataset import Dataset
from tcuq_lab.data.official import KEYWORDS
from tcuq_lab.data.ood import OTHER_WORDS, load_ood, ood_labels, ood_name
from tcuq_lab.data.packed import members
from tcuq_lab.data.parts import HELD_OUT, load_part, part, split_of
from tcuq_lab.streams import Description, Geometric, Ood, Segments, labels_for, part_labels

TASKS = ("mnist", "cifar10", "speech_commands", "tinyimagenet20")


def need(*pairs):
    for name, split in pairs:
        if present(name, split) is None:
            pytest.skip(f"{name} {split} is not in the folder that TCUQ_DATA names (see tcuq-lab data get)")


def test_dev_never_shows_the_set_of_the_test():
    for task in TASKS:
        assert ood_name(task, "dev") != ood_name(task, "test") and task not in (
            ood_name(task, "dev"),
            ood_name(task, "test"),
        )


def test_a_description_may_show_the_ood_set_of_its_part_alone():
    about = Description(
        dataset="cifar10",
        part="test",
        seed=0,
        steps=10,
        dwell=Geometric(1),
        layout=Segments(),
        ood=(Ood("fashion_mnist"),),
    )
    with pytest.raises(ValueError, match="OOD set 'fashion_mnist' does not go with cifar10 test; svhn does"):
        labels_for(about)


def speech(data_home, *words, split=1):
    np.savez(
        data_home / "speech_eval.npz",
        word=np.arange(len(words)),
        words=np.array(words),
        split=np.full(len(words), split),
    )


def test_other_words_are_fixed(data_home, monkeypatch):
    noise = Dataset("speech_noise", "all", np.zeros((6, 16000), np.int16), np.arange(6), "", "")
    monkeypatch.setattr("tcuq_lab.data.ood.load", lambda *_: noise)
    assert len(OTHER_WORDS) == 20 and list(OTHER_WORDS) == sorted(set(OTHER_WORDS) - set(KEYWORDS))
    speech(data_home, *OTHER_WORDS, *KEYWORDS, "backward", "visual")
    assert ood_labels("speech_commands", "dev").tolist() == list(range(13))
    speech(data_home, *OTHER_WORDS, *KEYWORDS, "backward", "visual", split=2)
    assert ood_labels("speech_commands", "test").tolist() == list(range(13))
    speech(data_home, *(word for word in OTHER_WORDS if word != "cat"))
    with pytest.raises(
        ValueError, match="speech_commands validation has no clip of cat; all of bed, bird,"
    ) as e:
        ood_labels("speech_commands", "dev")
    assert "nine" not in str(e.value) and "\n" not in str(e.value)


@pytest.fixture(scope="module")
def once():
    """Decode every split once."""
    cached = functools.cache(load)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tcuq_lab.data.parts.load", cached)
        patch.setattr("tcuq_lab.data.ood.load", cached)
        yield cached


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("mnist", (55000, 5000, 10000)),
        pytest.param("cifar10", (45000, 5000, 10000), marks=pytest.mark.slow),
        pytest.param("tinyimagenet20", (5600, 800, 800), marks=pytest.mark.slow),
    ],
)
def test_parts_share_no_example(once, name, counts):
    need(*((name, split_of(name, which)) for which in ("train", "dev", "test")))
    rows = {which: part(name, which) for which in ("train", "dev", "test")}
    assert tuple(len(index) for _, index in rows.values()) == counts
    assert rows["train"][0] == rows["dev"][0] != rows["test"][0]
    assert not np.intersect1d(rows["train"][1], rows["dev"][1]).size


@pytest.mark.data
def test_sixteen_classes_are_known_and_four_held_out(once):
    need(("tinyimagenet20", "val"))
    whole, known = once("tinyimagenet20", "val"), load_part("tinyimagenet20", "test")
    other = load_ood("tinyimagenet20", "test")
    assert np.bincount(known.y).tolist() == [50] * 16 and np.bincount(other.y).tolist() == [50] * 4
    assert len(known.x) + len(other.x) == len(whole.x)
    assert np.array_equal(other.x[other.y == 1], whole.x[whole.y == HELD_OUT[1]])
    assert np.array_equal(known.x[known.y == 4], whole.x[whole.y == 5])
    assert part_labels("tinyimagenet20", "test").tolist() == known.y.tolist()


@pytest.mark.data
def test_real_words_of_dev_and_test_differ(once):
    need(("speech_commands", "validation"), ("speech_commands", "test"), ("speech_noise", "all"))
    heard = {which: ood_labels("speech_commands", which) for which in ("dev", "test")}
    assert all(set(each.tolist()) == set(range(13)) for each in heard.values())
    known = {which: part_labels("speech_commands", which) for which in ("dev", "test")}
    assert all(set(each.tolist()) == set(range(10)) for each in known.values())
    form = present("speech_commands", "test")
    if form is not None and form.files[0].endswith(".npz"):
        found = members(data_folder() / form.files[0], "word", "split", "speaker")
        assert len(known["test"]) == ((found["word"] < 10) & (found["split"] == 2)).sum()
        train = members(data_folder() / "speech_train.npz", "speaker")["speaker"]
        dev, test = (set(found["speaker"][found["split"] == mark].tolist()) for mark in (1, 2))
        speakers = (set(train.tolist()), dev, test)
        assert [*map(len, speakers)] == [1444, 187, 186] and len(set.union(*speakers)) == 1444 + 187 + 186
