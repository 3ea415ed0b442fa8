"""SVHN in its 32x32 format: MATLAB 5 files.

These are read here, strictly, and not through scipy, whose reader can crash the process on a damaged file.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HEAD = 128
LIMIT = 1 << 30  # bytes that one variable may inflate to
INT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 5, 6, 14, 15
NUMBERS = {
    1: "<i1",
    2: "<u1",
    3: "<i2",
    4: "<u2",
    5: "<i4",
    6: "<u4",
    7: "<f4",
    9: "<f8",
    12: "<i8",
    13: "<u8",
}
CLASSES = range(6, 16)  # double to uint64: plain numbers
COMPLEX = 0x0800


def read_mat(path: str | Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return images (n, 32, 32, 3) and labels 0 to 9 of ``train_32x32.mat`` and its kin."""
    content = Path(path).read_bytes()
    try:
        return _digits(parse_mat(content, ("X", "y")))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{path}: {error}") from None


def _digits(found: dict[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if "X" not in found or "y" not in found:
        raise ValueError(f"holds {', '.join(found) or 'nothing'} of X and y; both are needed")
    x, labels = found["X"], found["y"].reshape(-1)
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or x.shape[:3] != (32, 32, 3):
        raise ValueError(f"X is {x.dtype} {x.shape}, expected uint8 (32, 32, 3, n)")
    x = x.reshape(32, 32, 3, -1)  # MATLAB drops a last dimension of one
    if len(labels) != x.shape[3]:
        raise ValueError(f"holds {len(labels)} labels, expected {x.shape[3]}, one an image")
    if not np.isin(labels, np.arange(1, 11)).all():
        raise ValueError("y holds other labels than digits, expected 1 to 10, 10 for zero")
    return np.ascontiguousarray(x.transpose(3, 0, 1, 2)), (labels % 10).astype(np.uint8)


def parse_mat(content: bytes, names: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
    """Return the named arrays of numbers in a little-endian MATLAB 5 file; others are passed over."""
    if len(content) < HEAD or content[124:HEAD] != b"\x00\x01IM":
        raise ValueError("is no MATLAB 5 file, expected little-endian ones of version 0x0100")
    found: dict[str, npt.NDArray[Any]] = {}
    for kind, part in _elements(memoryview(content)[HEAD:]):
        inner = list(_elements(_inflated(part))) if kind == COMPRESSED else [(kind, part)]
        if [kind for kind, _ in inner] != [MATRIX]:
            raise ValueError(f"holds an element of type {inner[0][0] if inner else 'none'}, expected 14")
        name, array = _matrix(inner[0][1], names)
        if array is not None:
            found[name] = array
    return found


def _inflated(part: memoryview) -> memoryview:
    reader = zlib.decompressobj()
    content = reader.decompress(part, LIMIT)
    if not reader.eof:
        raise ValueError(f"holds a damaged variable, or one of over {LIMIT} bytes")
    return memoryview(content)


def _elements(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Give the type and the bytes of each element."""
    at = 0
    while at < len(content):
        if len(content) - at < 8:
            raise ValueError(f"ends {8 - len(content) + at} bytes too early")
        kind, size = struct.unpack_from("<II", content, at)
        start = at + 8
        end = start + size + (0 if kind == COMPRESSED else -size % 8)
        if kind >> 16:  # a small element: size, type and up to four bytes in eight
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
            if size > 4:
                raise ValueError(f"holds a small element of {size} bytes, expected 1 to 4")
        if start + size > len(content):
            raise ValueError(f"ends {start + size - len(content)} bytes too early")
        yield kind, content[start : start + size]
        at = end


def _matrix(content: memoryview, names: tuple[str, ...]) -> tuple[str, npt.NDArray[Any] | None]:
    parts = list(_elements(content))
    if [kind for kind, _ in parts[:3]] != [UINT32, INT32, INT8] or len(parts[0][1]) != 8:
        raise ValueError("holds a variable without flags, dimensions and name; all three are needed")
    name = bytes(parts[2][1]).decode("latin-1")
    if name not in names:
        return name, None
    flags = int.from_bytes(parts[0][1][:4], "little")
    if flags & 0xFF not in CLASSES or flags & COMPLEX or len(parts) != 4 or parts[3][0] not in NUMBERS:
        raise ValueError(f"{name} is not an array of plain numbers; one is needed")
    kind, raw = np.dtype(NUMBERS[parts[3][0]]), parts[3][1]
    shape = tuple(size for (size,) in struct.iter_unpack("<i", parts[1][1][: len(parts[1][1]) // 4 * 4]))
    if len(shape) < 2 or min(shape) < 0 or math.prod(shape) * kind.itemsize != len(raw):
        raise ValueError(f"{name} has {len(raw)} bytes, which do not fill the shape {shape}")
    return name, np.frombuffer(raw, kind).reshape(shape, order="F")
