"""Official files of one array or a few: idx (MNIST, Fashion-MNIST), binary CIFAR-10, MATLAB (SVHN)."""

from __future__ import annotations

import gzip
import math
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]
GZIP = b"\x1f\x8b"
BYTES = 0x08  # the one element type that these datasets have
LIMIT = 1 << 30


def read_idx(path: str | Path, dimensions: int) -> npt.NDArray[np.uint8]:
    """Return the array of one idx file of unsigned bytes."""
    try:
        return parse_idx(_content(Path(path)), dimensions)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_idx(content: bytes, dimensions: int) -> npt.NDArray[np.uint8]:
    """Return the array that the bytes of an idx file stand for.

    Examples
    --------
    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), 1).tolist()
    [7, 9]
    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7]), 1)
    Traceback (most recent call last):
    ...
    ValueError: holds 1 bytes after its header, expected 2
    """
    head = 4 + 4 * dimensions
    if len(content) < head:
        raise ValueError(
            f"has {len(content)} bytes; an idx file of {dimensions} dimensions has {head} or more"
        )
    wanted = bytes([0, 0, BYTES, dimensions])
    if content[:4] != wanted:
        raise ValueError(f"begins with {content[:4].hex()}, expected {wanted.hex()}")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, 4))
    if math.prod(shape) != len(content) - head:
        raise ValueError(f"holds {len(content) - head} bytes after its header, expected {math.prod(shape)}")
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def read_pair(images: str | Path, labels: str | Path) -> Arrays:
    """Return images and labels, which lie in a file each."""
    x, y = read_idx(images, 3), read_idx(labels, 1)
    if len(x) != len(y):
        raise ValueError(f"{images}: holds {len(x)} images, expected {len(y)}, as many as labels")
    if x.shape[1:] != (28, 28):
        raise ValueError(f"{images}: holds images of {x.shape[1]}x{x.shape[2]}, expected 28x28")
    if y.size and y.max() > 9:
        raise ValueError(f"{labels}: holds the label {y.max()}, expected 0 to 9")
    return x, y


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        zipped = file.read(2) == GZIP
        file.seek(0)
        if not zipped:
            return _bounded(file.read(LIMIT + 1))
        try:
            with gzip.open(file) as inner:
                return _bounded(inner.read(LIMIT + 1))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"is damaged gzip ({error})") from None


def _bounded(content: bytes) -> bytes:
    if len(content) > LIMIT:
        raise ValueError(f"has more than {LIMIT} bytes, expected up to that")
    return content


PIXELS = 3 * 32 * 32


def read_cifar(*paths: str | Path) -> Arrays:
    """Return images (n, 32, 32, 3) and labels of files of the binary version, one after the other."""
    record, parts = 1 + PIXELS, []
    for path in paths:
        content = Path(path).read_bytes()
        if not content or len(content) % record:
            raise ValueError(
                f"{path}: has {len(content)} bytes, expected a multiple of {record} from {record} on"
            )
        parts.append(np.frombuffer(content, np.uint8).reshape(-1, record))
        if parts[-1][:, 0].max() > 9:
            raise ValueError(f"{path}: holds the label {parts[-1][:, 0].max()}, expected 0 to 9")
    rows = np.concatenate(parts)
    return np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), rows[:, 0]


def read_svhn(path: str | Path) -> Arrays:
    """Return images (n, 32, 32, 3) and labels 0 to 9 of ``train_32x32.mat`` and its kin."""
    try:
        scipy: Any = import_module("scipy.io")
    except ImportError:
        raise ImportError(f"{path}: a MATLAB file needs scipy (pip install scipy)") from None
    try:
        found = scipy.loadmat(path, variable_names=("X", "y"))
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged file can fail in many ways
        raise ValueError(f"{path}: is not a readable MATLAB file ({error})") from None
    if "X" not in found or "y" not in found:
        raise ValueError(f"{path}: lacks X or y; both are needed")
    x, labels = found["X"], found["y"].reshape(-1)
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or x.shape[:3] != (32, 32, 3):
        raise ValueError(f"{path}: X is {x.dtype} {x.shape}, expected uint8 (32, 32, 3, n)")
    x = x.reshape(32, 32, 3, -1)  # MATLAB drops a last dimension of one
    if len(labels) != x.shape[3]:
        raise ValueError(f"{path}: holds {len(labels)} labels, expected {x.shape[3]}, one an image")
    if not np.isin(labels, np.arange(1, 11)).all():
        raise ValueError(f"{path}: y holds other labels than digits, expected 1 to 10, 10 for zero")
    return np.ascontiguousarray(x.transpose(3, 0, 1, 2)), (labels % 10).astype(np.uint8)
