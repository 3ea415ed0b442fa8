"""Corruptions of pictures change as much as those of the package imagecorruptions."""

import warnings

import pytest

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import imagecorruptions  # noqa: F401
except ImportError:
    pytest.skip("needs imagecorruptions: pip install 'tcuq-lab[compare]'", allow_module_level=True)

from compare_corruptions import EXPLAINED, compare, main, photographs

from tcuq_lab.corruptions import suite


@pytest.fixture(scope="module")
def photos():
    return photographs(16, 64)


@pytest.mark.parametrize("kind", suite("imagenet_c").kinds)
@pytest.mark.filterwarnings("ignore")
def test_mean_changes_are_within_a_fifth(photos, kind):
    # In the package these take up to a second a picture.
    few = photos[:6] if kind in ("glass_blur", "frost") else photos
    far = [row for row in compare(few, [kind], range(1, 6)) if not row.near]
    assert not far or kind in EXPLAINED


@pytest.mark.filterwarnings("ignore")
def test_the_tool_prints_a_row_a_severity(capsys):
    assert main(["--pictures", "8", "--side", "48", "--kinds", "contrast", "pixelate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 10 + 1 and lines[-1].startswith("0 ratios")
