"""A folder of class folders with pictures or sounds."""

from __future__ import annotations

import struct
import warnings
import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..base.limits import limits_given
from ..io.sources import shown
from .model import Array, needed

SOUNDS = (".wav",)
"""Extensions of the files that are read."""


class SoundReader:
    """Reads a WAV file as float32 in [-1, 1), the mean of its channels, cut or filled at its end."""

    def __init__(self, shape: tuple[int | None, ...] | None, where: str) -> None:
        long = [each for each in shape or () if each != 1]
        if len(long) != 1 or long[0] is None:
            way = "give it with `input_shape`, or compute the model's own features and pass them as NPZ"
            raise _unfit(shape, f"one length for waveforms; {way}", where)
        self._length = long[0]
        self._shape = tuple(each or 0 for each in shape or ())
        self._rate: tuple[int, Path] | None = None

    def __call__(self, path: Path) -> Array:
        """Return the waveform of a file."""
        try:
            with wave.open(str(path), "rb") as file:
                width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
                raw = file.readframes(self._length)
                raw = raw[: len(raw) // (width * channels) * width * channels]  # of a file that is cut short
        # A chunk that claims to be longer than the file comes as an error of seeking or of the number.
        except (wave.Error, EOFError, RuntimeError, ValueError, OverflowError, struct.error):
            raise InputError("damaged", f"{shown(path)}: is damaged, or no WAV file of plain PCM") from None
        first, other = self._rate or (rate, path)
        if rate != first:
            problem = f"has {rate} samples per second, {shown(other)} {first}; resample them first"
            raise InputError("conflict", problem, where=shown(path))
        self._rate = first, other
        if not channels or width not in (1, 2, 3, 4):
            raise InputError("unsupported", f"{shown(path)}: has samples of {width} bytes, expected 1 to 4")
        samples = waveform(raw, width).reshape(-1, channels).mean(axis=1)
        full = np.zeros(self._length, np.float32)
        full[: len(samples)] = samples[: self._length]
        return full.reshape(self._shape)


def waveform(raw: bytes, width: int) -> Array:
    r"""Return PCM samples as float32 in [-1, 1)."""
    if width == 1:
        values = np.frombuffer(raw, np.uint8).astype(np.int64) - 128
    elif width == 3:
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values, width = padded.reshape(-1).view("<i4").astype(np.int64), 4
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.int64)
    return np.asarray(values / 2.0 ** (8 * width - 1), np.float32)


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
    wanted = "(height, width, channels) with 1 or 3 channels for pictures"
    raise _unfit(shape, f"{wanted}; give the shape with `input_shape`, or arrays as NPZ", where)


def _unfit(shape: tuple[int | None, ...] | None, expected: str, where: str) -> InputError:
    taken = "does not say its input" if shape is None else f"takes {shape}"
    return InputError("value", f"the model {taken}, expected {expected}", where=where)


def check_pixels(size: tuple[int, int], path: Path) -> None:
    """Refuse a picture that is too large, by what its header says."""
    pixels, given = size[0] * size[1], limits_given()
    if pixels > given.pixels:
        problem = f"has {pixels:,} pixels, {given.beyond('pixels', pixels, 'pixels')}"
        raise InputError("limit", problem, where=str(shown(path)))


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
        except (InputError, MemoryError):
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


class Asked(NamedTuple):
    """What a folder is read for."""

    shape: tuple[int | None, ...] | None = None
    names: Sequence[str] | None = None


class Folder(NamedTuple):
    """The files of a folder with their classes, and how one is read."""

    files: list[tuple[Path, int]]
    names: tuple[str, ...]
    read: Callable[[Path], Array]
    pixels: bool
    notes: tuple[str, ...]


def read_folder(path: Path, asked: Asked) -> Folder:
    """Return what lies in a folder; files are read later, one by one."""
    where = shown(path)
    folders = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not folders:
        raise InputError("missing", f"{where}: has no class folders, expected one a class: {where}/cat")
    names = tuple(asked.names) if asked.names is not None else tuple(each.name for each in folders)
    unknown = [each.name for each in folders if each.name not in names]
    if unknown:
        some = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
        raise InputError("unknown", f"{where}/{unknown[0]}: is no class, expected one of {some}")
    endings = (*PICTURES, *SOUNDS)
    found = {each: sorted(f for f in each.rglob("*") if f.suffix.lower() in endings) for each in folders}
    empty = [each for each, files in found.items() if not files]
    if empty:
        kinds = f"no pictures ({', '.join(PICTURES)}) and no sounds ({', '.join(SOUNDS)})"
        raise InputError("missing", f"holds {kinds}; fill or remove it", where=shown(empty[0]))
    files = [(file, names.index(each.name)) for each, inside in found.items() for file in inside]
    sounds = [file.suffix.lower() in SOUNDS for file, _ in files]
    if any(sounds) and not all(sounds):
        raise InputError("conflict", f"{where}: holds pictures and sounds, expected one kind")
    # Class after class would read as a stream in which a class stays for as long as its folder lasts.
    files = [files[n] for n in np.random.default_rng(0).permutation(len(files))]
    notes = ("files are mixed, as a folder is no stream; pass a stream as NPZ with `segments`",)
    if all(sounds):
        return Folder(files, names, SoundReader(asked.shape, where), False, notes)
    return Folder(files, names, picture_reader(asked.shape, where), True, notes)
