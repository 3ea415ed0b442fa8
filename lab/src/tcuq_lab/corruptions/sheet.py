"""A contact sheet: every kind of a suite at every severity, beside the original."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..data import Dataset
from ..data.official import decode_rgb
from ..data.parts import places
from ..home import library
from .apply import corrupt
from .suite import Suite

WINDOW, HOP = 512, 160  # samples of a column, and from one to the next: 100 columns to a second
FLOOR = 70  # decibels below what is drawn white that are drawn black


def spectrogram(
    sound: npt.NDArray[np.int16], loudest: npt.NDArray[np.float64] | float
) -> npt.NDArray[np.uint8]:
    """Return sound (n, samples) as pictures (n, height, width): time to the right, frequency upwards."""
    levels = 20 * np.log10(np.maximum(magnitude(sound), 1e-9) / loudest)
    return np.rint(255 * np.clip(1 + levels / FLOOR, 0, 1)).astype(np.uint8)


def magnitude(sound: npt.NDArray[np.int16]) -> npt.NDArray[np.float64]:
    """Return short-time magnitudes (n, 64, columns) of sound (n, samples), four bins to a row.

    Examples
    --------
    >>> tone = 9000 * np.sin(2 * np.pi * 2000 * np.arange(16000) / 16000)
    >>> found = magnitude(tone[None].astype(np.int16))
    >>> found.shape, int(found[0, :, 60].argmax())  # 2000 of 8000 Hz: a quarter from below
    ((1, 64, 100), 47)
    """
    framed = np.pad(sound, ((0, 0), (WINDOW // 2, WINDOW // 2)))
    starts = np.arange(0, max(1, sound.shape[1]), HOP)
    frames = framed[:, starts[:, None] + np.arange(WINDOW)] * np.hanning(WINDOW)
    bins = np.abs(np.fft.rfft(frames, axis=2))[:, :, : WINDOW // 2]
    found: npt.NDArray[np.float64] = bins.reshape(*bins.shape[:2], -1, 4).mean(axis=3)
    return found.transpose(0, 2, 1)[:, ::-1]


Bytes = npt.NDArray[np.uint8]
FOR = "for a contact sheet"
SIDE_BY_SIDE = 50
"""Most examples of a sheet."""
GAP = 2
"""Pixels between tiles."""
HEAD = 14
"""Pixels of the line of severities at the top."""
SIDES = {"mnist_c": 28, "cifar10_c": 32, "tinyimagenet_c": 64}
"""Sides of the pictures that a suite is made for, in pixels."""
MOST = 150_000
"""Bytes that a sheet should not exceed; shades are given up for that, down to 64 colors or 16 grays."""


def draw(
    data: Dataset,
    suite: Suite,
    examples: int = 1,
    seed: int = 0,
    scale: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Any:
    """Return a sheet as a Pillow image: a row a kind, the original first, then a column a severity."""
    library("PIL.Image", FOR)  # before the long part, not after it
    if not suite.kinds:
        raise ValueError(f"suite {suite.name} has no corruption types, expected at least one for a sheet")
    count = integer("examples", examples, 1, min(SIDE_BY_SIDE, len(data.y)))
    # The first example of each class, then the second of each, and so on.
    rows = np.lexsort((data.y, places(data.y)))[:count]
    clean = data.x[rows]
    tiles = []
    for number, name in enumerate(suite.kinds):
        if progress is not None:
            progress(number, len(suite.kinds), name)
        severities = range(1, len(suite.kind(name).settings) + 1)
        made = (corrupt(clean, suite.name, name, each, seed, index=rows) for each in severities)
        tiles.append(np.stack([_visible(each, clean) for each in (clean, *made)], axis=1))
    width = tiles[0].shape[3]
    enlarged = integer("scale", max(1, round(64 / width)) if scale is None else scale, 1, 32)
    return _assembled(list(suite.kinds), tiles, enlarged)


def own_picture(path: str, suite: Suite) -> Dataset:
    """Return a picture file as a dataset of one example: its middle square, in the size of the suite."""
    if suite.name not in SIDES:
        raise ValueError(f"{suite.name} corrupts {suite.media}; a picture is for one of {', '.join(SIDES)}")
    image = library("PIL.Image", FOR)
    content = Path(path).read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd tag does no harm
        warnings.simplefilter("error", image.DecompressionBombWarning)
        try:
            pixels = decode_rgb(content, path)
        except (image.DecompressionBombWarning, TypeError) as error:  # the second for broken TIFF tags
            raise ValueError(f"{path}: is not a readable image ({error})") from None
    whole = image.fromarray(pixels).convert("L" if suite.name == "mnist_c" else "RGB")
    least = min(whole.size)
    left, top = (whole.width - least) // 2, (whole.height - least) // 2
    side = SIDES[suite.name]
    box = (left, top, left + least, top + least)
    small = np.asarray(whole.resize((side, side), image.Resampling.LANCZOS, box), dtype=np.uint8)
    return Dataset("picture", path, small[None], np.zeros(1, dtype=np.int64), "", path)


def png(sheet: Any) -> bytes:
    """Return a sheet as a small PNG file."""
    pixels = np.asarray(sheet)
    gray = bool((pixels == pixels[..., :1]).all())
    content = b""
    for colors in (256, 128, 64, *((32, 16) if gray else ())):
        file = io.BytesIO()
        sheet.quantize(colors, dither=0).save(file, "PNG", optimize=True)
        content = file.getvalue()
        if len(content) <= MOST:
            break
    return content


def _visible(x: npt.NDArray[Any], clean: npt.NDArray[Any]) -> Bytes:
    """Return examples as color pictures (n, height, width, 3)."""
    if x.dtype == np.int16:
        loudest = np.maximum(magnitude(clean).max(axis=(1, 2), keepdims=True), 1)
        x = spectrogram(x, loudest)
    return np.repeat(x[..., None], 3, axis=3) if x.ndim == 3 else x


def _assembled(names: list[str], tiles: list[Bytes], scale: int) -> Any:
    """Put tiles (examples, columns, height, width, 3) of each kind in a row, with words beside and above."""
    image, drawing, fonts = (library(f"PIL.{part}", FOR) for part in ("Image", "ImageDraw", "ImageFont"))
    font = fonts.load_default()
    left = 2 * GAP + max(int(np.ceil(font.getlength(name))) for name in names)
    examples, _, height, width, _ = tiles[0].shape
    columns = max(each.shape[1] for each in tiles)
    across, down, apart = width * scale + GAP, height * scale + GAP, 3 * GAP
    block = columns * across + apart
    size = left + examples * block - apart, HEAD + len(names) * down
    sheet = image.new("RGB", size, "white")
    pen = drawing.Draw(sheet)
    for example in range(examples):
        for column in range(columns):
            title = str(column) if column else _title(font, width * scale)
            x = left + example * block + column * across
            pen.text((x + (width * scale - font.getlength(title)) / 2, 1), title, "black", font)
            for row, of_kind in enumerate(tiles):
                if column < of_kind.shape[1]:
                    pixels = of_kind[example, column].repeat(scale, axis=0).repeat(scale, axis=1)
                    sheet.paste(image.fromarray(pixels), (x, HEAD + row * down))
    for row, name in enumerate(names):
        pen.text((GAP, HEAD + row * down + down / 2 - 7), name, "black", font)
    return sheet


def _title(font: Any, room: int) -> str:
    fitting = (text for text in ("original", "orig") if font.getlength(text) <= room)
    return next(fitting, "0")
