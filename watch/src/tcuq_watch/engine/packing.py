"""Values and arrays as bytes, without pickle: what a commit or a shard of Spark keeps."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def row_dtype(text: str) -> np.dtype[Any]:
    """Return the type of rows whose fields are named, each with its type."""
    return np.dtype([(name, kind) for name, kind in (field.split(":") for field in text.split())])


def to_json(content: Any) -> npt.NDArray[np.uint8]:
    """Return texts, numbers and lists of them as an array of bytes."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def from_json(content: npt.NDArray[np.uint8]) -> Any:
    """Return what `to_json` was given."""
    return json.loads(content.tobytes().decode("utf-8", "surrogatepass"))


def array_pieces(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
    """Return arrays as pieces of bytes: the length of a JSON header, the header, the arrays."""
    header, parts = [], []
    for name, array in arrays.items():
        header.append([name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)])
        parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    text = json.dumps(header).encode()
    return [struct.pack("<I", len(text)), text, *parts]


def pack_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return arrays as bytes, without pickle."""
    return b"".join(array_pieces(arrays))


def unpack_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that `pack_arrays` was given."""
    (length,) = struct.unpack_from("<I", content)
    start, arrays = 4 + length, {}
    for name, descr, shape in json.loads(content[4:start]):
        dtype = np.dtype([tuple(field) for field in descr] if isinstance(descr, list) else descr)
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(content, dtype, count, start).reshape(shape).copy()
        start += count * dtype.itemsize
    return arrays
