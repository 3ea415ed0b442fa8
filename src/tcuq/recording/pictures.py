"""Pictures as inputs: opened with Pillow, turned gray or RGB, resized to what the model takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..base.limits import limits_given
from ..io.sources import shown
from .model import Array, needed

PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
"""Extensions of the files that are read."""

MODES = {1: "L", 3: "RGB"}
"""Pillow's name for gray pictures and for colored ones."""


class Layout(NamedTuple):
    """Height, width and channels of an input, and where its channels are."""

    height: int
    width: int
    channels: int
    axis: int | None


def layout(shape: tuple[int | None, ...] | None, where: str) -> Layout:
    """Return how a picture lies in an input of a model."""
    if shape is not None and None not in shape:
        sizes = [each for each in shape if each is not None]
        if len(sizes) == 2:
            return Layout(sizes[0], sizes[1], 1, None)
        if len(sizes) == 3 and sizes[2] in MODES:
            return Layout(sizes[0], sizes[1], sizes[2], 2)
        if len(sizes) == 3 and sizes[0] in MODES:
            return Layout(sizes[1], sizes[2], sizes[0], 0)
    taken = "does not say its input" if shape is None else f"takes {shape}"
    raise InputError(
        "value",
        f"{where}: the model {taken}, expected (height, width, channels) with 1 or 3 channels for pictures; "
        "give the shape with `input_shape`, or arrays as NPZ",
    )


class TooLarge(ValueError):
    """A picture has more pixels than are allowed."""


def check_pixels(size: tuple[int, int], path: Path) -> None:
    """Refuse a picture that is too large, by what its header says.

    Examples
    --------
    >>> check_pixels((64, 64), Path("a.png"))
    """
    pixels, given = size[0] * size[1], limits_given()
    if pixels > given.pixels:
        raise TooLarge(f"{shown(path)}: has {pixels:,} pixels, {given.beyond('pixels', pixels, 'pixels')}")


def picture_reader(shape: tuple[int | None, ...] | None, where: str) -> Callable[[Path], Array]:
    """Return a function that reads a picture as uint8 of the given shape.

    The whole picture is resized by Pillow's bilinear filter, which averages where it shrinks; its sides are
    stretched where the proportions differ.
    """
    pil = needed("PIL.Image", "tcuq[pictures]", "a folder of pictures")
    wanted = layout(shape, where)

    def read(path: Path) -> Array:
        try:
            # Pillow warns of large pictures; ours is an error, before anything is unpacked.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pil.open(path) as file:
                    check_pixels(file.size, path)
                    picture = file.convert(MODES[wanted.channels])
        except (TooLarge, MemoryError):
            raise
        except Exception:  # damage comes as whatever the decoder of the day runs into
            raise InputError("damaged", f"{shown(path)}: is no picture, or is damaged; remove it") from None
        if picture.size != (wanted.width, wanted.height):
            picture = picture.resize((wanted.width, wanted.height), pil.Resampling.BILINEAR)
        pixels = np.asarray(picture, np.uint8)
        if wanted.axis is None or wanted.channels == 3:
            return pixels.transpose(2, 0, 1) if wanted.axis == 0 else pixels
        return np.expand_dims(pixels, wanted.axis)

    return read
