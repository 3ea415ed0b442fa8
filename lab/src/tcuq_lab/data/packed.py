"""Packed datasets: one ``.npz`` file each, of plain arrays, image files or coded speech."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .official import OTHER, RATE, decode_rgb

HOP = 256  # coefficients of a frame of speech; a frame reaches over twice as many samples
FRAMES = 64  # of a clip
# What numpy and zipfile raise on damaged files; RuntimeError for encrypted ones, or so they look.
UNREADABLE = (ValueError, EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
Members = dict[str, npt.NDArray[Any]]
Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def members(path: str | Path, *names: str) -> Members:
    """Return the named arrays of a packed file; object arrays are refused."""
    found: Members = {}
    with Path(path).open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                for name in names:
                    found[name] = archive[name]
        except KeyError:
            raise ValueError(f"{path}: lacks the member {name!r}, expected {', '.join(names)}") from None
        except UNREADABLE as error:
            raise ValueError(f"{path}: is not a readable npz file ({error})") from None
        except (TypeError, AttributeError):
            raise ValueError(f"{path}: is not an npz file, expected one with {', '.join(names)}") from None
    return found


def read_plain(path: str | Path, split: int | None = None) -> Arrays:
    """Return the arrays ``x`` and ``y`` as they lie in the file."""
    x, y = members(path, "x", "y").values()
    if x.ndim < 2 or y.shape != x.shape[:1]:
        raise ValueError(f"{path}: x is {x.shape} and y {y.shape}, expected a label for each row of x")
    return _rows(path, x, y, split)


def read_mosaics(*paths: str | Path, split: int | None = None) -> Arrays:
    """Return images and labels that lie as WebP mosaics, file after file."""
    parts = [_rows(path, *_mosaics(path), split) for path in paths]
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def _mosaics(path: str | Path) -> Arrays:
    found = members(path, "webp", "webp_len", "shape", "cols", "y")
    shape, cols = found["shape"].tolist(), int(found["cols"])
    if len(shape) != 4 or min(shape) < 1 or shape[3] != 3 or cols < 1:
        raise ValueError(f"{path}: shape is {shape} and cols {cols}, expected (n, height, width, 3) and 1 on")
    count, height, width, _ = shape
    tiles = []
    for number, content in enumerate(_pieces(path, found["webp"].tobytes(), found["webp_len"])):
        sheet = decode_rgb(content, f"{path}: mosaic {number}")
        if sheet.shape[0] % height or sheet.shape[1] != cols * width:
            raise ValueError(f"{path}: mosaic {number} is {sheet.shape}, expected {cols} images in a row")
        strips = sheet.reshape(-1, height, cols, width, 3)
        tiles.append(strips.swapaxes(1, 2).reshape(-1, height, width, 3))
    x = np.concatenate(tiles) if tiles else np.empty((0, height, width, 3), np.uint8)
    if not 0 <= len(x) - count < cols or found["y"].shape != (count,):
        raise ValueError(f"{path}: holds {len(x)} images and {found['y'].size} labels, expected {count}")
    return x[:count], found["y"]


def read_jpegs(path: str | Path, split: int) -> Arrays:
    """Return images and labels that lie as JPEG files in one xz stream."""
    found = members(path, "jpeg_xz", "jpeg_len", "y", "split")
    lengths, marks = found["jpeg_len"], found["split"]
    if not lengths.shape == marks.shape == found["y"].shape:
        raise ValueError(f"{path}: jpeg_len, split and y differ in length, expected one each an image")
    whole = int(lengths.sum(dtype=np.int64))
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        content = reader.decompress(found["jpeg_xz"].tobytes(), max_length=max(0, whole) + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{path}: jpeg_xz is damaged ({error})") from None
    if not reader.eof:
        raise ValueError(
            f"{path}: jpeg_xz does not end after {whole} bytes; as many as jpeg_len says are needed"
        )
    wanted = np.flatnonzero(marks == split).tolist()
    pieces = list(_pieces(path, content, lengths))
    images = [decode_rgb(pieces[row], f"{path}: image {row}") for row in wanted]
    if not images or len({image.shape for image in images}) != 1:
        raise ValueError(f"{path}: has no images of one size marked {split}, expected at least one")
    return np.stack(images), found["y"][wanted]


def read_speech(path: str | Path, split: int | None = None) -> Arrays:
    """Return clips (n, 16000) of int16 and their labels: 0 to 9 the keywords, 10 any other word."""
    found = members(path, "word", "split")
    x = np.concatenate(list(speech_blocks(path)))
    if not found["word"].shape == found["split"].shape == x.shape[:1]:
        raise ValueError(f"{path}: holds {len(x)} clips, but not as many in word and split")
    return _rows(path, x, np.minimum(found["word"], OTHER), split)


def read_noise(path: str | Path) -> Arrays:
    """Return seconds of noise and the number of the recording that each was cut from."""
    y, x = members(path, "name")["name"], np.concatenate(list(speech_blocks(path)))
    if y.shape != x.shape[:1]:
        raise ValueError(f"{path}: holds {len(x)} clips, but {y.size} in name")
    return x, y


def speech_blocks(path: str | Path) -> Iterator[npt.NDArray[np.int16]]:
    """Decode speech, block by block.

    A clip is 64 frames of 256 MDCT coefficients, which were divided by a step and rounded to int8. The step
    of a coefficient is ``q`` times the level of its band; levels go up by 3 dB from 1/4 and are stored as
    differences from frame to frame. Blocks of up to ``block`` clips are deflated, levels (``scale``) and
    coefficients (``coef``) apart.
    """
    found = members(path, "scale", "scale_len", "coef", "coef_len", "edges", "q", "block", "n")
    edges, count, most = found["edges"], int(found["n"]), int(found["block"])
    if edges.ndim != 1 or edges[0] != 0 or edges[-1] != HOP or (np.diff(edges) < 1).any():
        raise ValueError(f"{path}: edges are {edges.tolist()}, expected growing from 0 to {HOP}")
    if found["q"].shape != (HOP,) or count < 1 or most < 1:
        raise ValueError(f"{path}: q, n or block is out of range, expected {HOP} steps and 1 on")
    band = np.repeat(np.arange(len(edges) - 1), np.diff(edges))  # of each coefficient
    waves = _waves()
    levels = _pieces(path, found["scale"].tobytes(), found["scale_len"])
    coefs = _pieces(path, found["coef"].tobytes(), found["coef_len"])
    done = 0
    for level, coef in zip(levels, coefs, strict=False):
        clips = min(most, count - done)
        steps = _inflated(path, level, (clips, FRAMES, len(edges) - 1)).cumsum(axis=1, dtype=np.int32)
        gain = np.exp2(np.float32(0.5) * steps - 2).astype(np.float32)
        lines = _inflated(path, coef, (clips, FRAMES, HOP)) * (
            gain[:, :, band] * found["q"].astype(np.float32)
        )
        yield _overlapped(lines.astype(np.float32) @ waves)
        done += clips
    if done != count:
        raise ValueError(f"{path}: holds {done} clips, expected {count}")


def _waves() -> npt.NDArray[np.float32]:
    """Return what each coefficient sounds like: a cosine under a sine window, (256, 512)."""
    time = np.arange(2 * HOP) + 0.5
    tone = np.arange(HOP) + 0.5
    cosines = np.cos(np.outer(tone, time + HOP / 2) * (np.pi / HOP))
    shaped: npt.NDArray[np.float64] = cosines * np.sin(time * (np.pi / (2 * HOP))) * np.sqrt(2 / HOP)
    return shaped.astype(np.float32)


def _overlapped(frames: npt.NDArray[np.float32]) -> npt.NDArray[np.int16]:
    """Add the second half of each frame to the first half of the next one, and round."""
    sound = frames[:, :-1, HOP:] + frames[:, 1:, :HOP]
    samples: npt.NDArray[np.float32] = np.rint(sound.reshape(len(frames), -1)[:, :RATE])
    return samples.clip(-32768, 32767).astype(np.int16)


def _inflated(path: str | Path, content: bytes, shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    size = int(np.prod(shape))
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(content, size + 1)
    except zlib.error as error:
        raise ValueError(f"{path}: is damaged ({error})") from None
    if len(raw) != size or not reader.eof:
        raise ValueError(f"{path}: a block inflates to {len(raw)} bytes, expected {size}")
    return np.frombuffer(raw, np.int8).reshape(shape)


def _pieces(path: str | Path, content: bytes, lengths: npt.NDArray[Any]) -> Iterator[bytes]:
    """Cut joined files apart."""
    ends = np.cumsum(lengths, dtype=np.int64)
    if not len(ends) or lengths.min() < 1 or ends[-1] != len(content):
        raise ValueError(f"{path}: holds {len(content)} bytes of parts, which their lengths do not add up to")
    return (content[end - size : end] for end, size in zip(ends.tolist(), lengths.tolist(), strict=True))


def _rows(path: str | Path, x: Any, y: Any, split: int | None) -> Arrays:
    """Return the rows that a file marks with a split; all without one."""
    if split is None:
        return x, y
    taken = members(path, "split")["split"] == split
    if taken.shape != y.shape or not taken.any():
        raise ValueError(f"{path}: split marks no rows with {split}, expected at least one")
    return x[taken], y[taken]
