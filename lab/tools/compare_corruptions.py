"""How much the corruptions of pictures change, beside the package imagecorruptions.

    python lab/tools/compare_corruptions.py [--pictures 16] [--side 224] [--data NAME] [--kinds KIND ...]

Applies every kind and severity of the suite imagenet_c and the same of imagecorruptions 1.1.2, and prints
the mean absolute change of a pixel, from 0 to 255, of both and their ratio. Exit status 1 where a ratio is
outside 0.8 to 1.25 and nothing explains it. The pictures are cut from the photographs of scikit-image, or
those of a dataset (in the folder TCUQ_DATA) enlarged to the side.
Needs pip install . ./device './lab[compare]'.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq_lab.corruptions import corrupt, suite

PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")
LOW, HIGH = 0.8, 1.25
EXPLAINED: dict[str, str] = {}
"""Kinds that may differ more, and why; none needs to."""
REPEATS = {"frost": 8, "fog": 4}
"""How often each picture is corrupted: a few panes of ice or single clouds say little of the mean."""

Pictures = npt.NDArray[np.uint8]


class Row(NamedTuple):
    """Mean absolute change of a pixel, from 0 to 255."""

    kind: str
    severity: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Ours by theirs."""
        return self.ours / self.theirs

    @property
    def near(self) -> bool:
        """Whether both change pictures alike."""
        return LOW <= self.ratio <= HIGH


def photographs(count: int, side: int) -> Pictures:
    """Cut squares from the photographs of scikit-image, the same ones each time."""
    from skimage import data

    rng = np.random.default_rng(5)
    cuts = []
    for number in range(count):
        photo = getattr(data, PHOTOS[number % len(PHOTOS)])()
        top, left = (int(rng.integers(0, size - side + 1)) for size in photo.shape[:2])
        cuts.append(photo[top : top + side, left : left + side])
    return np.stack(cuts)


def enlarged(name: str, count: int, side: int) -> Pictures:
    """Take pictures of the last split of a dataset, evenly spread, and enlarge them."""
    from PIL import Image

    from tcuq_lab.data import load, splits

    x = load(name, splits(name)[-1]).x
    chosen = x[np.linspace(0, len(x) - 1, count).astype(int)]
    return np.stack(
        [np.asarray(Image.fromarray(each).resize((side, side), Image.Resampling.BICUBIC)) for each in chosen]
    )


def library() -> Any:
    """Import imagecorruptions and let it run with libraries that are newer than it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import imagecorruptions
        from imagecorruptions import corruptions as inner
        from skimage import filters

    def gaussian(image: Any, sigma: Any, multichannel: bool = False, **options: Any) -> Any:
        return filters.gaussian(image, sigma, channel_axis=-1 if multichannel else None, **options)

    # scikit-image has renamed an argument, numpy 2 has dropped a name.
    inner.gaussian = gaussian
    inner.np = SimpleNamespace(**{**vars(np), "float_": np.float64})
    return imagecorruptions


def compare(pictures: Pictures, kinds: Sequence[str], severities: Sequence[int]) -> list[Row]:
    """Corrupt pictures (n, h, w, 3) in both ways."""
    theirs = library()
    rows = []
    np.random.seed(1)  # noqa: NPY002
    for kind in kinds:
        clean = pictures.repeat(REPEATS.get(kind, 1), axis=0)
        for severity in severities:
            mine = corrupt(clean, "imagenet_c", kind, severity, seed=1)
            other = np.stack([theirs.corrupt(each, severity, kind) for each in clean])
            changes = (np.abs(each.astype(float) - clean).mean() for each in (mine, other))
            rows.append(Row(kind, severity, *changes))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = tuple(suite("imagenet_c").kinds)
    parser.add_argument("--pictures", type=int, default=16)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--data", metavar="NAME")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, metavar="KIND")
    options = parser.parse_args(arguments)
    if options.data:
        pictures = enlarged(options.data, options.pictures, options.side)
    else:
        pictures = photographs(options.pictures, options.side)
    print(f"{len(pictures)} pictures of {options.side} x {options.side}; mean change of a pixel, 0 to 255")
    print(f"{'':<20}{'severity':>8}{'tcuq':>9}{'package':>9}{'ratio':>8}")
    bad = 0
    for kind in options.kinds:
        rows = compare(pictures, [kind], range(1, 6))
        for row in rows:
            print(f"{row.kind:<20}{row.severity:>8}{row.ours:>9.2f}{row.theirs:>9.2f}{row.ratio:>8.2f}")
        far = [row.severity for row in rows if not row.near]
        if far and kind in EXPLAINED:
            print(f"  {kind} {far}: {EXPLAINED[kind]}")
        elif far:
            print(f"  {kind} {far}: outside {LOW} to {HIGH}")
            bad += len(far)
        sys.stdout.flush()
    print(f"{bad} ratios are outside {LOW} to {HIGH} without an explanation")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
