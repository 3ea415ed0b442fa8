"""What holds for all kinds of all suites: memory layouts, places, lengths, no examples, no libraries."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")
pytest.importorskip("PIL", reason="Pillow is not installed: pip install pillow")

from tcuq_lab.corruptions import corrupt, suite, suites
from tcuq_lab.corruptions.apply import SHORTEST

RNG = np.random.default_rng(8)
COLOR = RNG.integers(0, 256, (24, 8, 8, 3), dtype=np.uint8)  # so small, means often lie between two bytes
GRAY = COLOR[:3, ..., 0].copy()
SOUND = RNG.integers(-3000, 3000, (3, SHORTEST)).astype(np.int16)
TEXT = RNG.integers(32, 127, (3, 64), dtype=np.uint8)
MOTION = RNG.integers(64, 192, (3, 64, 1, 3), dtype=np.uint8)
SHOWN = {"pictures": [GRAY, COLOR], "sound": [SOUND], "text": [TEXT], "motion": [MOTION]}
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
        pytest.importorskip("audiomentations", reason="not installed: pip install audiomentations")
    for severity in {1, len(suite(name).kind(kind).settings)}:
        for x in SHOWN[suite(name).media]:
            expected = corrupt(x, name, kind, severity, seed=1)
            for layout in (np.asfortranarray, every_second, last_axis_moved, read_only):
                found = corrupt(layout(x), name, kind, severity, seed=1)
                assert np.array_equal(found, expected), (layout, severity)
                assert found.flags.c_contiguous and found.flags.writeable


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


NEED_SCIPY = {"gaussian_blur", "defocus_blur", "glass_blur", "zoom_blur", "snow", "frost", "spatter"}
NEED_SCIPY |= {"elastic_transform"}
