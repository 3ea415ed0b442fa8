"""Texts and arrays as bytes, without pickle: what a commit or a shard of Spark keeps."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def packed(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return texts as the bytes of their UTF-8, one after the other, and the end of each."""
    whole = "".join(texts).encode()
    lengths: Any = map(len, texts)
    if not whole.isascii():
        lengths = [len(text.encode()) for text in texts]
    ends = np.cumsum(np.fromiter(lengths, np.int64, len(texts)))
    return np.frombuffer(whole, dtype=np.uint8), ends


def unpacked(content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts that `packed` was given."""
    whole, places = content.tobytes(), ends.tolist()
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[a:b] for a, b in zip([0, *places], places, strict=False)]
    return [whole[a:b].decode() for a, b in zip([0, *places], places, strict=False)]


def pack_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return arrays as bytes, without pickle: the length of a JSON header, the header, the arrays."""
    header, parts = [], []
    for name, array in arrays.items():
        header.append([name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)])
        parts.append(np.ascontiguousarray(array).tobytes())
    text = json.dumps(header).encode()
    return b"".join([struct.pack("<I", len(text)), text, *parts])


def unpack_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that `pack_arrays` was given."""
    (length,) = struct.unpack_from("<I", content)
    at, found = 4 + length, {}
    for name, descr, shape in json.loads(content[4:at]):
        dtype = np.lib.format.descr_to_dtype(_tuples(descr))
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(content, dtype, count, at).reshape(shape).copy()
        at += count * dtype.itemsize
    return found


def _tuples(descr: Any) -> Any:
    """Return a description of a type as numpy wants it: JSON knows lists alone."""
    if not isinstance(descr, list):
        return descr
    return [(field[0], _tuples(field[1]), *(tuple(more) for more in field[2:])) for field in descr]
