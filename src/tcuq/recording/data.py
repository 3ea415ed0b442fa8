"""Where inputs come from: arrays, NPZ and NPY files, folders of class folders, batches of a function."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import InputError, located
from ..base.limits import limits_given
from ..io.npz import arrays_of
from ..io.sources import read_bytes, shown
from ..monitor.class_names import texts_of
from .folders import Asked, read_folder
from .model import Array, failure
from .opening import is_reference, referred

COLUMNS = ("segments", "shifted", "shift_names", "names")
"""Arrays of an NPZ file that go into the log as they are."""

INPUTS, LABELS = ("x", "inputs"), ("y", "labels")
"""Names that the inputs and the true classes may have there."""


class Batch(NamedTuple):
    """Some inputs, and their labels if there are any."""

    x: Array
    y: Array | None = None


@dataclass(frozen=True)
class Data:
    """Inputs that can be gone through once."""

    name: str
    batches: Callable[[int], Iterator[Batch]]
    total: int = 0  # 0 where it is not known
    pixels: bool = False  # 0 to 255, as a picture file has them
    folder: bool = False  # labels are places in `names`, not what the model was trained with
    names: Sequence[str] | None = None
    segments: Array | None = None
    shifted: Array | None = None
    shift_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    take: Callable[[Array], Array] | None = None  # inputs at places; None where they come in one order only
    labels: Array | None = None  # of all inputs, where `take` can give them
    family: str | None = None  # "pictures" or "sound", where that is known


def open_data(x: Any, y: Any, asked: Asked) -> Data:
    """Return the data that someone means."""
    if isinstance(y, (str, Path)):
        if Path(y).suffix.lower() != ".npy":
            raise InputError("value", f"{shown(Path(y))}: is no .npy file; write labels with numpy.save")
        y = _npy(Path(y))
    if isinstance(x, (str, Path)):
        path = Path(x)
        if path.is_dir():
            return _folder(path, asked)
        if not path.exists() and is_reference(str(x)):
            return _made(referred(str(x), "DATA"), str(x))
        return _file(path, y)
    if callable(x) or isinstance(x, Iterator):
        return _made(x, getattr(x, "__name__", "x"))
    return _arrays(np.asarray(x), y, "x")


def _arrays(x: Array, y: Any, name: str, **more: Any) -> Data:
    if x.dtype.kind not in "iufb":
        raise InputError("value", f"{name}: x is {x.dtype}, expected numbers")
    if x.ndim < 2:
        raise InputError("value", f"{name}: x has {x.ndim} dimensions, expected one row an input")
    if not x.size:
        raise InputError("missing", f"{name}: holds no inputs, expected at least one of at least one value")
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.ndim != 1:
        hint = "; for one-hot rows, y.argmax(axis=1)" if labels.ndim == 2 and labels.shape[1] > 1 else ""
        raise InputError("value", f"{name}: y has shape {labels.shape}, expected one class an input{hint}")
    if labels is not None and len(labels) != len(x):
        raise InputError("conflict", f"{name}: y has {len(labels):,} labels, x has {len(x):,} inputs")

    def batches(size: int) -> Iterator[Batch]:
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            yield Batch(np.asarray(x[part]), None if labels is None else labels[part])

    return Data(name, batches, len(x), take=lambda places: np.asarray(x[places]), labels=labels, **more)


def _file(path: Path, y: Any) -> Data:
    kind, where = path.suffix.lower(), shown(path)
    if not kind and not path.exists():  # a folder that is not there
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", where)
    if kind not in (".npz", ".npy"):
        expected = ".npz, .npy, a folder of class folders, or module:function"
        raise InputError("unknown", f"{where}: extension {kind!r} is unknown, expected {expected}")
    if kind == ".npy":
        return _arrays(_npy(path), y, where)
    given = limits_given()
    content = read_bytes(path, given, "inputs")
    arrays = arrays_of(content, where, (*INPUTS, *LABELS, *COLUMNS), (INPUTS,), given, "inputs")
    x_name = next(each for each in INPUTS if each in arrays)
    y_name = next((each for each in LABELS if each in arrays), "")
    more: dict[str, Any] = {key: arrays[key] for key in COLUMNS if key in arrays}
    for key, each in (("names", "class"), ("shift_names", "kind of shift")):
        if key not in more:
            continue
        if more[key].ndim != 1:
            raise InputError("value", f"{where}: {key} has shape {more[key].shape}, expected a name a {each}")
        with located(where):
            more[key] = texts_of(more[key])
    labels = arrays.get(y_name) if y is None else y
    return _arrays(arrays[x_name], labels, where, **more)


def _npy(path: Path) -> Array:
    """Return an array that is read from the disk as far as it is used."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, about what a damaged header looks like
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise type(error)(error.errno, error.strerror, shown(path)) from None
    except Exception:  # damage comes as whatever numpy and the reader of its header run into
        problem = "is not an NPY file of numbers, or is damaged; write it with numpy.save"
        raise InputError("damaged", problem, where=shown(path)) from None


def _folder(path: Path, asked: Asked) -> Data:
    folder = read_folder(path, asked)
    labels = np.array([label for _, label in folder.files])

    def take(places: Array) -> Array:
        return np.stack([folder.read(folder.files[place][0]) for place in places])

    def batches(size: int) -> Iterator[Batch]:
        for start in range(0, len(labels), size):
            places = np.arange(start, min(start + size, len(labels)))
            yield Batch(take(places), labels[places])

    family = "pictures" if folder.pixels else "sound"
    more: dict[str, Any] = {"take": take, "labels": labels, "family": family}
    return Data(
        shown(path), batches, len(labels), folder.pixels, True, folder.names, notes=folder.notes, **more
    )


def _made(source: Any, name: str) -> Data:
    """Return data that a function or an iterator gives batch by batch, or as arrays at once."""
    try:
        given = source() if callable(source) else source
    except Exception as error:  # of the user's own code
        raise InputError("failed", f"{name}: failed: {failure(error)}") from error
    if isinstance(given, np.ndarray):
        return _arrays(given, None, name)
    if isinstance(given, tuple) and len(given) == 2:
        return _arrays(np.asarray(given[0]), given[1], name)
    if not isinstance(given, Iterable):
        raise InputError("value", f"{name}: gives {type(given).__name__}, expected batches (x, y)")

    def batches(size: int) -> Iterator[Batch]:
        for each in _guarded(given, name):
            pair = isinstance(each, (tuple, list)) and len(each) == 2
            x, y = each if pair else (each, None)
            yield Batch(np.asarray(x), None if y is None else np.asarray(y))

    return Data(name, batches)


def _guarded(given: Iterable[Any], name: str) -> Iterator[Any]:
    """Yield what an iterator of the user gives; its errors are not those of this program."""
    source = iter(given)
    while True:
        try:
            each = next(source)
        except StopIteration:
            return
        except Exception as error:
            raise InputError("failed", f"{name}: failed: {failure(error)}") from error
        yield each
