"""CIFAR-10: the binary version, and the python version read without running what a pickle asks for."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PIXELS = 3 * 32 * 32
_INSTRUCTIONS = """
PROTO FRAME STOP MARK PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE BUILD
DICT EMPTY_DICT SETITEM SETITEMS LIST EMPTY_LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8
UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
INT BININT BININT1 BININT2 LONG LONG1 LONG4 NONE NEWTRUE NEWFALSE
"""
Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def read_binary(*paths: str | Path) -> Arrays:
    """Return images (n, 32, 32, 3) and labels of files of the binary version, one after the other."""
    return _joined(paths, _binary)


def read_python(*paths: str | Path) -> Arrays:
    """Return images (n, 32, 32, 3) and labels of files of the python version, one after the other."""
    return _joined(paths, _python)


def _joined(paths: Sequence[str | Path], read: Callable[[bytes], Arrays]) -> Arrays:
    parts = []
    for path in paths:
        content = Path(path).read_bytes()
        try:
            parts.append(read(content))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def _binary(content: bytes) -> Arrays:
    record = 1 + PIXELS
    if not content or len(content) % record:
        raise ValueError(f"has {len(content)} bytes, expected a multiple of {record} from {record} on")
    rows = np.frombuffer(content, np.uint8).reshape(-1, record)
    return _images(rows[:, 1:]), _labels(rows[:, 0])


def _python(content: bytes) -> Arrays:
    found = unpickle(content)
    if not isinstance(found, dict):
        raise ValueError(f"holds a {type(found).__name__}, expected a dict")
    named = {
        name.decode("latin-1") if isinstance(name, bytes) else name: value for name, value in found.items()
    }
    data, labels = named.get("data"), named.get("labels")
    if not isinstance(data, _Array) or not isinstance(labels, list):
        raise ValueError("lacks an array 'data' and a list 'labels'; both are needed")
    pixels = data.pixels()
    if len(labels) != len(pixels) or not all(type(label) is int for label in labels):
        raise ValueError(f"holds {len(labels)} labels, expected {len(pixels)} integers, one an image")
    return _images(pixels), _labels(np.array(labels, dtype=object))


def _images(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    wrong = labels[(labels < 0) | (labels > 9)]
    if len(wrong):
        raise ValueError(f"holds the label {wrong[0]}, expected 0 to 9")
    return labels.astype(np.uint8)


def unpickle(content: bytes) -> Any:
    r"""Return what a pickle of plain values and byte arrays holds; arrays come as inert stand-ins.

    Examples
    --------
    >>> unpickle(pickle.dumps({"labels": [1, 2]}))
    {'labels': [1, 2]}
    >>> unpickle(b"cos\nsystem\n(S'true'\ntR.")
    Traceback (most recent call last):
    ...
    ValueError: asks for os.system, expected only dict, list, bytes, str, int and arrays of bytes
    """
    try:
        accepted = frozenset(_INSTRUCTIONS.split())
        for code, _, _ in pickletools.genops(content):
            if code.name not in accepted:
                raise ValueError(
                    f"holds the instruction {code.name}, expected those of plain values and arrays"
                )
        return _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except ValueError:
        raise
    except MemoryError:
        raise ValueError("asks for more memory than there is, expected a CIFAR-10 batch") from None
    except Exception as error:  # a damaged pickle can fail in every way there is
        raise ValueError(f"is not a readable pickle ({type(error).__name__}: {error})") from None


class _Array:
    """Stands for a numpy array in the making; does nothing but keep its state."""

    def __init__(self, *_: Any) -> None:
        self._state: Any = None

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def pixels(self) -> npt.NDArray[np.uint8]:
        """Return the rows of a C-ordered array of unsigned bytes, 3072 wide; refuse all else."""
        expected = f"expected uint8 in C order, (n, {PIXELS})"
        if not isinstance(self._state, tuple) or len(self._state) != 5:
            raise ValueError(f"'data' is not a whole array, {expected}")
        _, shape, kind, fortran, raw = self._state
        if not isinstance(kind, _Kind) or kind.code not in ("u1", b"u1") or fortran:
            raise ValueError(f"'data' is of another type or order, {expected}")
        if not isinstance(raw, bytes) or shape != (len(raw) // PIXELS, PIXELS) or len(raw) % PIXELS:
            raise ValueError(f"'data' is of shape {shape}, {expected}")
        return np.frombuffer(raw, np.uint8).reshape(-1, PIXELS)


class _Kind:
    """Stands for a numpy dtype."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Ignore the state: byte order and fields mean nothing for single bytes."""


def _reconstruct(*_: Any) -> _Array:
    return _Array()


class _Unpickler(pickle.Unpickler):
    """Knows the three names that a pickled array asks for, and answers each with a stand-in."""

    def find_class(self, module: str, name: str) -> Any:
        """Answer a name that the pickle asks for, or refuse."""
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _reconstruct
        if module == "numpy" and name in ("ndarray", "dtype"):
            return _Array if name == "ndarray" else _Kind
        raise ValueError(
            f"asks for {module}.{name}, expected only dict, list, bytes, str, int and arrays of bytes"
        )
