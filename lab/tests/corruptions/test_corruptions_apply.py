"""What holds for all kinds of all suites: memory layouts, places, lengths, no examples, no libraries."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install 'tcuq-lab[vision]'")
pytest.importorskip("PIL", reason="Pillow is not installed: pip install 'tcuq-lab[vision]'")

from tcuq_lab.corruptions import corrupt, suite, suites
from tcuq_lab.corruptions.apply import SHORTEST

RNG = np.random.default_rng(8)
COLOR = RNG.integers(0, 256, (24, 8, 8, 3), dtype=np.uint8)  # so small, means often lie between two bytes
GRAY = COLOR[:3, ..., 0].copy()
SOUND = RNG.integers(-3000, 3000, (3, SHORTEST)).astype(np.int16)
TEXT = RNG.integers(32, 127, (3, 64), dtype=np.uint8)
SHOWN = {"pictures": [GRAY, COLOR], "sound": [SOUND], "text": [TEXT]}
ALL = [(name, kind) for name in suites() for kind in suite(name).kinds]


def every_second(x):
    wide = np.zeros([2 * size for size in x.shape], x.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    part[:] = x
    return part


def last_axis_moved(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 1)), 1, -1)


def read_only(x):
    kept = x.copy()
    kept.flags.writeable = False
    return kept


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_bytes_do_not_depend_on_the_layout_of_memory(name, kind):
    if name == "speech_c":
        pytest.importorskip("audiomentations", reason="not installed: pip install 'tcuq-lab[sound]'")
    for severity in {1, len(suite(name).kind(kind).settings)}:
        for x in SHOWN[suite(name).media]:
            expected = corrupt(x, name, kind, severity, seed=1)
            for layout in (np.asfortranarray, every_second, last_axis_moved, read_only):
                found = corrupt(layout(x), name, kind, severity, seed=1)
                assert np.array_equal(found, expected), (layout, severity)
                assert found.flags.c_contiguous and found.flags.writeable


@pytest.mark.parametrize("index", [None, [], range(0), np.arange(0)])
def test_no_examples_give_no_examples(index):
    for name in suites():
        empty = SHOWN[suite(name).media][-1][:0]
        found = corrupt(empty, name, next(iter(suite(name).kinds)), 1, index=index)
        assert found.shape == empty.shape and found.dtype == empty.dtype


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "index is float64 (0,), expected 3 integers"),
        ([0, 1], "index is int64 (2,), expected 3 integers"),
        ([0.0, 1.0, 2.0], "index is float64 (3,), expected 3 integers"),
        ([0, -1, 2], "index holds -1"),
        (np.array([0, 2**63, 1], np.uint64), "index holds 9223372036854775808"),
    ],
)
def test_places_out_of_range_are_refused_in_one_line(index, message):
    with pytest.raises(ValueError) as caught:
        corrupt(GRAY, "cifar10_c", "brightness", 1, index=index)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_the_greatest_place_is_accepted():
    last = np.full(3, 2**63 - 1, np.uint64)
    assert np.array_equal(
        corrupt(GRAY, "cifar10_c", "gaussian_noise", 1, index=last)[0],
        corrupt(GRAY[:1], "cifar10_c", "gaussian_noise", 1, index=[2**63 - 1])[0],
    )


def test_sound_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match=r"^x is \(3, 2047\), expected sound of 2048 samples or more$"):
        corrupt(SOUND[:, 1:], "speech_c", "time_mask", 1)


@pytest.mark.parametrize("kind", suite("text_c").kinds)
def test_text_is_disturbed_more_at_every_severity_and_keeps_its_length(kind):
    words = np.frombuffer(b"for name in words: total += count(name) or other; return x + y1\n", np.uint8)
    chunks = np.tile(words[:64], (200, 1))
    changed = []
    for severity in range(1, 6):
        found = corrupt(chunks, "text_c", kind, severity, seed=3)
        assert found.shape == chunks.shape and found.dtype == np.uint8
        changed.append((found != chunks).mean())
        assert np.array_equal(
            found[50:60], corrupt(chunks[50:60], "text_c", kind, severity, 3, index=range(50, 60))
        )
    assert changed[0] > 0 and (np.diff(changed) > 0).all(), changed


def test_text_must_be_chunks_of_bytes():
    with pytest.raises(ValueError, match=r"^x is int64 \(1, 4\); text_c corrupts uint8 \(n, length\)$"):
        corrupt(np.zeros((1, 4), np.int64), "text_c", "capitals", 1)


def without(libraries, code):
    """Run code in an interpreter that has none of the libraries."""
    blocked = f"import sys\nfor name in {libraries!r}: sys.modules[name] = None\n"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", blocked + code], capture_output=True, text=True, check=True
    )
    return ran.stdout


def test_lists_and_their_errors_need_no_library():
    code = """
from tcuq_lab.corruptions import suite, suites
for name in suites():
    kind = list(suite(name).kinds)[-1]
    for wrong in (lambda: suite(name).setting(kind, 9), lambda: suite(name).kind(kind + "x")):
        try: wrong()
        except ValueError as error: print(error)
"""
    lines = without(["scipy", "PIL", "audiomentations"], code).splitlines()
    assert len(lines) == 12
    assert lines[0].startswith("severity of canny_edges is 9")
    assert lines[9] == "corruption of speech_c 'pitch_shiftx' is unknown; did you mean pitch_shift?"


TRY = """
import numpy as np
from tcuq_lab.corruptions import corrupt
x, severity = np.zeros((1, 16, 16, 3), np.uint8), 1 if {suite!r} == "mnist_c" else 2
for kind in {kinds!r}:
    try: print(corrupt(x, {suite!r}, kind, severity).shape)
    except ImportError as error: print(error)
"""
NATURAL = set(suite("cifar10_c").kinds)
NEED_PILLOW = {"pixelate", "jpeg_compression"}
NEED_SCIPY = {"gaussian_blur", "defocus_blur", "glass_blur", "zoom_blur", "snow", "frost", "spatter"}
NEED_SCIPY |= {"elastic_transform"}


@pytest.mark.parametrize(
    ("library", "named", "needing", "spared"),
    [
        ("PIL", "Pillow", NEED_PILLOW, NATURAL - NEED_PILLOW),
        ("scipy", "scipy", NEED_SCIPY, NATURAL - NEED_SCIPY),
    ],
)
def test_only_kinds_that_use_a_library_need_it(library, named, needing, spared):
    def said(kinds):
        return without([library], TRY.format(kinds=sorted(kinds), suite="cifar10_c")).splitlines()

    message = f"{named} is needed to corrupt pictures: pip install 'tcuq-lab[vision]'"
    assert said(needing) == [message] * len(needing)
    assert said(spared) == ["(1, 16, 16, 3)"] * len(spared)


def test_kinds_of_digits_name_scipy_too():
    said = without(["scipy"], TRY.format(kinds=["canny_edges", "glass_blur", "fog"], suite="mnist_c"))
    message = "scipy is needed to corrupt pictures: pip install 'tcuq-lab[vision]'\n"
    assert said == 2 * message + "(1, 16, 16, 3)\n"
