"""Streams from plain examples: what is shown when, the same for every size of a batch, and fit for a fit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from tiny_models import NAMES, bar_net, bars, write_pictures

import tcuq
from tcuq.recording.rand import Numbers
from tcuq.recording.streams import Pace, Plan, Pool, joined, lay_out, make_plan, paces_of

LABELS = np.arange(3000) % 10
MIXED = paces_of("mixed")


def plan(paces: Any = MIXED, steps: int = 3000, kinds: Any = (1, 2, 3), seed: int = 0) -> Plan:
    return make_plan(LABELS, np.arange(len(LABELS)), steps, paces, kinds, seed)


def runs(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the lengths of runs of equal values."""
    edges = np.flatnonzero(np.diff(values)) + 1
    return np.diff(np.concatenate([[0], edges, [len(values)]]))


def test_a_seed_gives_one_plan_on_every_machine() -> None:
    made = plan()
    again, other = plan(), plan(seed=1)
    for column in ("examples", "kinds", "severities", "held", "segments", "paces"):
        np.testing.assert_array_equal(getattr(made, column), getattr(again, column))
    assert (made.examples != other.examples).mean() > 0.9
    digest = hashlib.sha256(made.examples.astype("<i8").tobytes() + made.kinds.tobytes()).hexdigest()
    assert digest[:16] == "0d81e6ed038109b5", "streams of former releases must stay as they are"


def test_classes_and_examples_stay_as_long_as_the_pace_says() -> None:
    dwell = plan([Pace("dwell", 16)])
    assert 13 < runs(LABELS[dwell.examples]).mean() < 19 and not dwell.held.any()
    held = plan([Pace("held", 8)])
    assert 6.5 < runs(held.examples).mean() < 9.5 and held.held.all()
    shuffled = plan([Pace("shuffled")])
    assert 1.05 < runs(LABELS[shuffled.examples]).mean() < 1.2 and not shuffled.held.any()


def test_no_example_is_shown_much_more_often_than_others() -> None:
    for paces in ([Pace("dwell", 16)], [Pace("shuffled")], paces_of("dwell=4,dwell=64,shuffled")):
        uses = np.bincount(plan(paces).examples, minlength=len(LABELS))
        assert uses.max() <= 2 and (uses > 0).mean() > 0.85, paces
    uses = np.bincount(plan([Pace("dwell", 16)], 30_000).examples, minlength=len(LABELS))
    assert uses.min() >= 8 and uses.max() <= 12


def test_rare_classes_stay_rare() -> None:
    labels = (np.arange(2000) >= 1900).astype(np.int64)
    for pace in (Pace("dwell", 8), Pace("shuffled"), Pace("held", 4)):
        made = make_plan(labels, np.arange(2000), 1500, [pace], [], 0)
        assert 0.02 < labels[made.examples].mean() < 0.09, pace
        assert pace.word == "held" or np.bincount(made.examples).max() <= 2, pace


def test_clean_steps_are_the_most_and_kinds_take_turns() -> None:
    for steps in (60, 333, 1000, 5000):
        for kinds in ((1,), (1, 2, 3, 4, 5, 6, 7)):
            made = plan(steps=steps, kinds=kinds)
            clean = np.cumsum(made.kinds == 0)
            assert (2 * clean >= np.arange(1, steps + 1) - 1).all(), (steps, kinds)
            assert ((made.severities > 0) == (made.kinds > 0)).all() and made.severities.max() <= 1
    shown = [each.kind for each in lay_out(20_000, [1, 2, 3], MIXED, 0) if each.kind]
    counts = np.bincount(shown)[1:]
    assert len(shown) > 30 and counts.max() - counts.min() <= 1
    assert all(shown[n : n + 3].count(shown[n]) == 1 for n in range(0, len(shown) - 2, 3))


def test_a_segment_has_one_pace_and_shifts_begin_inside_of_it() -> None:
    made = plan(steps=6000)
    assert len(np.unique(made.segments)) == 1 + made.segments[-1] and (np.diff(made.segments) >= 0).all()
    for segment in np.unique(made.segments):
        here = made.segments == segment
        assert len(np.unique(made.paces[here])) == 1
        assert made.kinds[here][0] == 0 and made.kinds[here].any()
    assert set(made.paces.tolist()) == {0, 1, 2, 3}
    # Folds of a fit are segments modulo 4: no fold may be one pace alone.
    folds = {number: set(made.paces[made.segments % 4 == number].tolist()) for number in range(4)}
    assert all(len(paces) > 1 for paces in folds.values())


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=60),
    st.integers(1, 300),
    st.lists(st.sampled_from(["shuffled", "dwell=1", "dwell=7", "held=3"]), min_size=1, max_size=3),
    st.integers(0, 5),
    st.integers(0, 99),
)
def test_any_plan_is_whole(labels: list[int], steps: int, words: list[str], kinds: int, seed: int) -> None:
    groups = np.array(labels)
    among = np.arange(len(labels))[:: 1 + seed % 2]
    made = make_plan(groups, among, steps, paces_of(",".join(words)), range(1, kinds + 1), seed)
    assert len(made) == steps == len(made.kinds) == len(made.segments)
    assert set(made.examples.tolist()) <= set(among.tolist()) and made.kinds.max() <= kinds
    assert (np.diff(made.segments) >= 0).all() and made.segments[0] == 0
    assert 2 * int((made.kinds == 0).sum()) >= steps


def test_joined_plans_keep_their_segments_apart() -> None:
    first, second = plan(steps=400), plan(steps=300, seed=1)
    both = joined(first, second)
    assert (
        len(both) == 700 and len(np.unique(both.segments)) == 1 + first.segments[-1] + 1 + second.segments[-1]
    )
    np.testing.assert_array_equal(both.examples[400:], second.examples)


def test_a_pool_gives_each_example_once_before_any_again() -> None:
    pool = Pool([np.arange(6), np.arange(6, 8)], Numbers(0, "pool"))
    assert sorted(pool.take(0) for _ in range(6)) == list(range(6)) and pool.left(0) == 0
    assert pool.draw() == 1, "a class that has none left is not drawn"
    pool.take(1), pool.take(1)
    assert {pool.draw() for _ in range(40)} == {0, 1} and (pool.left(0), pool.left(1)) == (6, 2)


def test_the_log_does_not_depend_on_the_batch_or_the_form_of_the_data(tmp_path: Path) -> None:
    x, y = bars(300)
    options: dict[str, Any] = {"stream": True, "shifts": True, "seed": 3}
    log = tcuq.record(bar_net, x, y, **options)
    np.savez(tmp_path / "d.npz", x=x, y=y)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    others = [
        tcuq.record(bar_net, x, y, batch=7, **options),
        tcuq.record(bar_net, tmp_path / "d.npz", batch=300, **options),
        tcuq.record(bar_net, tmp_path / "x.npy", tmp_path / "y.npy", **options),
    ]
    for other in others:
        np.testing.assert_array_equal(log.probs, other.probs)
        np.testing.assert_array_equal(log.labels, other.labels)
        np.testing.assert_array_equal(log.kinds, other.kinds)
        np.testing.assert_array_equal(log.segments, other.segments)
    assert len(log) == 300 and log.kinds is not None and len(set(log.kinds.tolist())) > 2
    changed = tcuq.record(bar_net, x, y, stream=True, shifts=True, seed=4)
    assert (changed.probs != log.probs).any()
    assert len(tcuq.record(bar_net, x, y, stream="dwell=4", steps=777)) == 777


def test_frozen_input_repeats_the_last_frame_and_labels_go_on() -> None:
    x, y = bars(300)
    seen: list[npt.NDArray[Any]] = []

    def net(batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
        seen.extend(batch.copy())
        return bar_net(batch)[0]

    log = tcuq.record(net, x, y, stream="held=3,shuffled", shifts=True, steps=2000, batch=64)
    assert log.shift_names is not None and log.kinds is not None and log.labels is not None
    assert log.shift_names[-3:] == ("blank", "saturated", "frozen")
    shown = seen[-2000:]
    stretches = [part for part in log.stretches() if log.kinds[part.start] == 10]
    assert len(stretches) > 1
    for part in stretches:
        assert log.kinds[part.start - 1] == 0
        for frame in shown[part]:
            np.testing.assert_array_equal(frame, shown[part.start - 1])
        assert len(set(log.labels[part].tolist())) > 1, "what should have been seen goes on"
        assert (shown[part.stop] != shown[part.start - 1]).any()


def test_a_folder_becomes_a_stream(tmp_path: Path) -> None:
    write_pictures(tmp_path / "p", 60)
    log = tcuq.record(bar_net, tmp_path / "p", input_shape=(8, 8, 1), shifts=True, batch=5)
    assert len(log) == 60 and log.names == NAMES
    assert not any("mixed" in note or "taken as" in note for note in log.notes)


def test_without_labels_examples_are_held_or_shuffled() -> None:
    x, _ = bars(120)
    log = tcuq.record(bar_net, x, stream=True)
    assert log.labels is None and "without labels no class can stay" in log.notes[0]
    assert log.shifted is None and "no shifted stretches" in log.notes[2]
    assert log.notes[1].startswith("inputs are taken as pictures of 8 x 8"), "held examples are shaken"
    refuses("missing", tcuq.record, bar_net, x, stream="dwell=4")


def test_what_cannot_be_a_stream_is_refused(tmp_path: Path) -> None:
    x, y = bars(120)

    def given() -> Iterator[Any]:
        yield x, y

    np.savez(tmp_path / "real.npz", x=x, y=y, segments=np.zeros(120, np.int64))
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (given, {"stream": True}, "unsupported"),
        (tmp_path / "real.npz", {"shifts": True}, "conflict"),
        (x[:20], {"stream": True}, "value"),
        (x, {"stream": "fast"}, "value"),
        (x, {"stream": "dwell=long"}, "value"),
        (x, {"stream": "held=0"}, "value"),
        (x, {"steps": 10}, "conflict"),
        (x, {"stream": True, "steps": 0}, "value"),
        (x, {"stream": True, "seed": -1}, "value"),
    ]
    for data, options, code in cases:
        refuses(code, tcuq.record, bar_net, data, **options)
    refuses("value", tcuq.record, bar_net, x, stream=4)
