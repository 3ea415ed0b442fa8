"""Continuous sound: plans that can be rebuilt, labels that are right, and memory that stays flat."""

import hashlib
import json
import tracemalloc
from itertools import islice, pairwise

import numpy as np
import pytest
from sounds import real, real_words

from tcuq_lab.audio import SoundPlan, Word, voiced, windows
from tcuq_lab.audio.continuous import _Marks
from tcuq_lab.audio.tape import LEVEL

RNG = np.random.default_rng(11)
NOISE = RNG.integers(-500, 500, (7, 16000)).astype(np.int16)


def made(count=12):
    """Words of different lengths: bursts of a tone of their own in silence."""
    clips = np.zeros((count, 16000), np.int16)
    for place in range(count):
        first, length = 320 * (5 + place), 320 * (12 + 2 * place)
        tone = np.sin(2 * np.pi * (300 + 200 * place) * np.arange(length) / 16000)
        clips[place, first : first + length] = 6000 * tone
    return clips


CLIPS, LABELS = made(), np.arange(12) % 11


def run(plan, **options):
    return list(windows(plan, CLIPS, LABELS, NOISE, **options))


def joined(plan, **options):
    return [np.concatenate(parts) for parts in list(zip(*run(plan, **options), strict=True))[1:]]


def test_the_voiced_part_is_found():
    clip = np.zeros((3, 16000), np.int16)
    clip[0, 3200:6400] = 900
    clip[1] = RNG.integers(-30, 30, 16000)
    clip[1, 4800:8000] = 5000
    clip[1, 10000:12000] = 5000  # within 0.2 s: the same word
    assert voiced(clip).tolist() == [[2880, 6720], [4480, 12480], [0, 640]]
    clip[1, 10000:12000] = 0
    clip[1, 14000:15000] = 2000  # a knock that is far away
    assert voiced(clip)[1].tolist() == [4480, 8320]
    with pytest.raises(ValueError, match=r"clips is float64 \(1, 400\), expected int16"):
        voiced(np.zeros((1, 400)))


def test_a_description_goes_through_json():
    plan = SoundPlan(
        3, 90, shifts=[["room_reverb", 2], ("gaussian_noise", 5)], mean_clean=20, mean_shifted=9.5
    )
    again = SoundPlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan and hash(again) == hash(plan)
    assert again.shifts == (("room_reverb", 2), ("gaussian_noise", 5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"tempo": 1},
            "field of a sound plan 'tempo' is unknown, expected one of seed, seconds, mean_pause, ",
        ),
        ({"seconds": 0}, "seconds is 0"),
        ({"seed": -1}, "seed is -1, expected 0 to"),
        ({"hop": 16001}, "hop is 16001"),
        ({"inside": 0.5}, "inside is 0.5"),
        ({"mean_pause": float("nan")}, "mean_pause is nan"),
        ({"shifts": [["room", 1]]}, "corruption of speech_c 'room' is unknown; did you mean room_reverb"),
        ({"shifts": [["room_reverb", 6]]}, "severity of room_reverb is 6"),
        ({"shifts": None}, "shifts is None, expected a list of kinds and severities"),
        ({"shifts": 5}, "shifts is 5, expected a list of kinds and severities"),
        ({"shifts": "room_reverb"}, "shifts is 'room_reverb', expected a list of kinds and severities"),
        ({"shifts": ["room_reverb"]}, "shift is 'room_reverb', expected a kind and a severity"),
        (
            {"shifts": [["time_stretch", 1]]},
            "shift 'time_stretch' moves words in continuous sound, expected one of gau",
        ),
    ],
)
def test_a_description_out_of_range_is_refused_in_one_line(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        SoundPlan.from_dict({"seed": 1, "seconds": 10} | change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [None, [1, 10], "seed", 3])
def test_a_description_that_is_no_mapping_is_refused(values):
    with pytest.raises(ValueError, match=r"^a sound plan is .*, expected a mapping of its fields$"):
        SoundPlan.from_dict(values)


def test_numbers_of_numpy_become_plain():
    plan = SoundPlan(
        np.int64(3),
        np.uint8(90),
        mean_pause=np.float32(0.5),
        hop=np.int32(4000),
        snr_db=np.int64(20),
        shifts=[["room_reverb", np.int64(2)]],
        mean_clean=np.float64(20),
        mean_shifted=np.float16(8),
        inside=np.float64(0.8),
    )
    assert SoundPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert plan == SoundPlan(3, 90, 0.5, 4000, 20, (("room_reverb", 2),), 20, 8, 0.8)


def test_a_description_without_its_seed_is_refused():
    with pytest.raises(ValueError, match="field 'seed' of a sound plan is missing"):
        SoundPlan.from_dict({"seconds": 10})


def test_a_plan_is_the_same_on_all_machines():
    plan = SoundPlan(20, 3000, shifts=(("room_reverb", 1), ("pitch_shift", 2), ("time_mask", 3)))
    words, stretches = list(plan.words([4000, 5120, 9600])), list(plan.stretches())
    noise = list(islice(plan.noise(398), 1000))
    text = json.dumps([words, stretches, noise]).encode()
    assert words[:2] == [(1, 6433, 5120), (1, 15705, 5120)]
    assert hashlib.sha256(text).hexdigest()[:16] == "64f9aeffad7c2b77"


def test_words_keep_their_pauses_and_do_not_overlap():
    plan = SoundPlan(1, 2000, mean_pause=0.5)
    lengths = [3200, 6400, 16000]
    words = list(plan.words(lengths))
    gaps = np.array([after.start - word.start - word.length for word, after in pairwise(words)])
    assert gaps.min() >= 2000 and gaps.max() <= 14000 and abs(gaps.mean() - 8000) < 300
    assert words[-1].start + words[-1].length <= plan.samples
    assert np.bincount([word.clip for word in words]).min() > 0.25 * len(words)


def test_stretches_alternate_and_cover_everything():
    plan = SoundPlan(4, 5000, shifts=(("room_reverb", 1), ("pitch_shift", 2)), mean_clean=60, mean_shifted=30)
    stretches = list(plan.stretches())
    assert stretches[0].start == 0 and stretches[-1].stop == plan.samples
    assert all(one.stop == other.start for one, other in pairwise(stretches))
    assert [stretch.shift for stretch in stretches[:6]] == [0, 1, 0, 2, 0, 1]
    seconds = [(stretch.stop - stretch.start) / 16000 for stretch in stretches[:-1]]
    assert min(seconds[::2]) >= 30 and max(seconds[::2]) <= 90 and abs(np.mean(seconds[::2]) - 60) < 8
    assert min(seconds[1::2]) >= 15 and max(seconds[1::2]) <= 45 and abs(np.mean(seconds[1::2]) - 30) < 4
    assert [stretch.shift for stretch in SoundPlan(4, 50).stretches()] == [0]


def test_windows_slide_over_one_sound():
    plan = SoundPlan(2, 20, hop=4000)
    sound, labels, judged, shifts = joined(plan)
    assert sound.shape == (77, 16000) == (plan.windows, 16000) and sound.dtype == np.int16
    assert labels.shape == judged.shape == shifts.shape == (77,) and not shifts.any()
    assert np.array_equal(sound[1:, :12000], sound[:-1, 4000:])


def test_chunks_and_runs_do_not_matter():
    plan = SoundPlan(2, 30, shifts=(("gaussian_noise", 3), ("room_reverb", 2)), mean_clean=6, mean_shifted=5)
    once = joined(plan)
    for chunk in (1, 7, 500):
        for one, other in zip(once, joined(plan, chunk=chunk), strict=True):
            assert np.array_equal(one, other)
    assert [part.first for part in run(plan, chunk=50)] == [0, 50, 100]
    small = list(windows(plan, CLIPS, LABELS.astype(np.uint8), NOISE))
    assert np.array_equal(np.concatenate([part.labels for part in small]), once[1])


def test_labels_follow_the_words():
    plan = SoundPlan(8, 120, hop=1000, mean_pause=0.9, snr_db=40)
    parts = voiced(CLIPS)
    words = list(plan.words((parts[:, 1] - parts[:, 0]).tolist()))
    _, labels, judged, _ = joined(plan, keywords=10)
    kinds = set()
    for place in range(plan.windows):
        begin = place * 1000
        shares = [
            max(0, min(w.start + w.length, begin + 16000) - max(w.start, begin)) / w.length for w in words
        ]
        inside = [w for w, share in zip(words, shares, strict=True) if share >= 0.8]
        touched = sum(share > 0.2 for share in shares)
        if len(inside) == 1 and touched == 1:
            name = LABELS[inside[0].clip]
            assert judged[place] and labels[place] == (name if name < 10 else -1)
            kinds.add("keyword" if name < 10 else "other")
        else:
            assert not judged[place] and labels[place] == -1
            kinds.add(f"{min(2, len(inside))} inside, {min(2, touched)} touched")
    assert {"keyword", "other", "0 inside, 0 touched", "0 inside, 1 touched"} <= kinds and len(kinds) > 4


@pytest.mark.parametrize("inside", [0.8, 0.7, 0.9, 0.6])
def test_shares_at_the_limit_are_exact(inside):
    """Exactly the rest of another word may lie in a window, and exactly `inside` of its own is enough."""
    tenths = round(10 * inside)
    for length in (1000, 3330, 7770):
        plan = SoundPlan(1, 4, inside=inside)
        rest = (10 - tenths) * length // 10
        for more, judged in ((0, True), (1, False)):
            words = [Word(0, 16000 + 2000, length), Word(1, 32000 - rest - more, length)]
            assert (_Marks(plan, iter(words)).at(16000)[0] is not None) == judged
            words = [Word(0, 16000 - rest - more, length)]
            assert (_Marks(plan, iter(words)).at(16000)[0] is not None) == judged


def test_masks_leave_something_of_every_word():
    plan = SoundPlan(5, 60, hop=16000, snr_db=60)
    masked = SoundPlan(
        5, 60, hop=16000, snr_db=60, shifts=(("time_mask", 5),), mean_clean=1, mean_shifted=100
    )
    clean, sound = (joined(each)[0].reshape(-1).astype(float) for each in (plan, masked))
    parts = voiced(CLIPS)
    kept = []
    for word in plan.words((parts[:, 1] - parts[:, 0]).tolist()):
        there = slice(word.start, word.start + word.length)
        kept.append((sound[there] ** 2).sum() / (clean[there] ** 2).sum())
    assert min(kept) > 0.2 and 0.7 < np.mean(kept) < 0.9


def test_words_sound_where_the_plan_has_them():
    plan = SoundPlan(8, 60, hop=16000, snr_db=30)
    parts = voiced(CLIPS)
    sound = joined(plan)[0].reshape(-1).astype(float)
    covered = np.zeros(len(sound), bool)
    for word in plan.words((parts[:, 1] - parts[:, 0]).tolist()):
        voice = sound[word.start : word.start + word.length]
        covered[word.start : word.start + word.length] = True
        assert abs(np.sqrt((voice**2).mean()) / LEVEL - 1) < 0.02
        tone = np.abs(np.fft.rfft(voice)).argmax() * 16000 / word.length
        assert abs(tone - (300 + 200 * word.clip)) < 5
    floor = np.sqrt((sound[~covered] ** 2).mean())
    assert abs(20 * np.log10(LEVEL / floor) - 30) < 1


def test_only_shifted_stretches_are_changed():
    shifts = (("low_pass_filter", 5), ("background_noise", 5))
    plan = SoundPlan(5, 60, hop=16000, shifts=shifts, mean_clean=10, mean_shifted=10)
    clean = joined(SoundPlan(5, 60, hop=16000))[0].reshape(-1)
    sound, _, _, marks = joined(plan)
    changed = sound.reshape(-1) != clean
    fade = 1600  # of a shift into the next stretch
    assert {stretch.shift for stretch in plan.stretches()} == {0, 1, 2}
    for stretch in plan.stretches():
        inner = changed[stretch.start + fade : stretch.stop]
        assert inner.mean() > 0.9 if stretch.shift else not inner.any()
        for place in range(-(-(stretch.start - 8000) // 16000), -(-(stretch.stop - 8000) // 16000)):
            assert marks[place] == stretch.shift


def test_a_stretch_keeps_its_filter_and_changes_its_noise():
    lasting = SoundPlan(5, 40, hop=16000, shifts=(("high_shelf_filter", 3),), mean_clean=2, mean_shifted=30)
    stretch = list(lasting.stretches())[1]
    clean = joined(SoundPlan(5, 40, hop=16000))[0].reshape(-1).astype(float)
    sound = joined(lasting)[0].reshape(-1).astype(float)
    ratios = []
    for start in range(stretch.start + 2000, stretch.stop - 16000, 16000):
        power = [np.abs(np.fft.rfft(each[start : start + 16000]))[5000:7500].sum() for each in (sound, clean)]
        ratios.append(20 * np.log10(power[0] / power[1]))
    assert len(ratios) > 9 and np.ptp(ratios) < 1 and abs(np.mean(ratios)) > 15
    noisy = SoundPlan(5, 40, hop=16000, shifts=(("gaussian_noise", 5),), mean_clean=2, mean_shifted=30)
    noise = joined(noisy)[0].reshape(-1).astype(float) - clean
    block = noise[stretch.start + 4000 : stretch.start + 60000]
    again = noise[stretch.start + 4000 + 64000 : stretch.start + 60000 + 64000]
    assert abs(np.corrcoef(block, again)[0, 1]) < 0.05


def test_memory_does_not_grow_with_the_sound():
    shifts = (("gaussian_noise", 3), ("background_noise", 2))

    def most(seconds):
        plan = SoundPlan(6, seconds, hop=8000, shifts=shifts, mean_clean=8, mean_shifted=4)
        tracemalloc.start()
        count = sum(len(part.labels) for part in windows(plan, CLIPS, LABELS, NOISE))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == plan.windows
        return peak

    most(30)  # imports
    short, long = most(30), most(300)
    assert long < 1.1 * short and long < 32e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clips": CLIPS / 2}, r"clips is float64 \(12, 16000\), expected int16 \(n, samples\)"),
        ({"labels": LABELS[:3]}, r"labels is int64 \(3,\), expected 12 integers from 0 on"),
        ({"labels": LABELS - 1}, "expected 12 integers from 0 on"),
        ({"noise": NOISE[:, :100]}, r"noise is int16 \(7, 100\), expected int16 \(m, 16000\)"),
        ({"noise": NOISE[:0]}, r"noise is int16 \(0, 16000\)"),
        (
            {"clips": np.where(np.arange(12)[:, None] == 7, 0, CLIPS).astype(np.int16)},
            "^clips: row 7 is silence, expected a word in every row$",
        ),
        ({"chunk": 0}, "chunk is 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_at_once(change, message):
    given = {"clips": CLIPS, "labels": LABELS, "noise": NOISE} | change
    with pytest.raises(ValueError, match=message):
        windows(SoundPlan(1, 2), **given)


@pytest.mark.parametrize("plan", [None, {"seed": 1, "seconds": 2}])
def test_a_plan_of_another_type_is_refused_at_once(plan):
    with pytest.raises(TypeError, match=r"^plan is of type (NoneType|dict), expected a SoundPlan$"):
        windows(plan, CLIPS, LABELS, NOISE)


@real
def test_real_words_are_mostly_trimmed_and_always_there():
    clips = real_words()
    parts = voiced(clips)
    seconds = (parts[:, 1] - parts[:, 0]) / 16000
    kept = [
        (clip[a:b].astype(float) ** 2).sum() / (clip.astype(float) ** 2).sum()
        for clip, (a, b) in zip(clips, parts, strict=True)
    ]
    assert 0.3 < np.median(seconds) < 0.7 and np.median(kept) > 0.98
