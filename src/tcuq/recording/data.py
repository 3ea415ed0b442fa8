"""Where inputs come from: arrays, NPZ and NPY files, folders of class folders, batches of a function."""

from __future__ import annotations

import errno
import struct
import warnings
import wave
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import InputError, located
from ..base.limits import limits_given
from ..base.spelling import option
from ..io.sources import read_bytes, shown
from ..io.tables import arrays_of
from ..log.class_names import texts_of
from .model import OWN_OUTPUTS, Array, needed, users_code
from .opening import is_reference, referred

PICTURES, SOUNDS = (".png", ".jpg", ".jpeg", ".bmp"), (".wav",)  # extensions of the files that are read
MODES = {1: "L", 3: "RGB"}  # Pillow's names for gray and for colored pictures

Shape = tuple[int | None, ...] | None  # of one input of a model, as far as it is known


def sound_reader(shape: Shape, where: str) -> Callable[[Path], Array]:
    """Return a function that reads a WAV file as float32 in [-1, 1), the mean of its channels."""
    long = [each for each in shape or () if each != 1]
    if len(long) != 1 or long[0] is None:
        way = "or compute the model's own features and pass them as NPZ"
        wanted = f"one length for waveforms; give it with {option('input_shape')}, {way}"
        raise _unfit(shape, wanted, where)
    length, rates = long[0], dict[int, Path]()

    def read(path: Path) -> Array:
        try:
            with wave.open(str(path), "rb") as file:
                width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
                raw = file.readframes(length)
                raw = raw[: len(raw) // (width * channels) * width * channels]  # of a file that is cut short
        # A chunk that claims to be longer than the file comes as an error of seeking or of the number.
        except (wave.Error, EOFError, RuntimeError, ValueError, OverflowError, struct.error):
            raise InputError("damaged", f"{shown(path)}: is damaged, or no WAV file of plain PCM") from None
        first = next(iter(rates), rate)
        if rate != first:
            problem = f"has {rate} samples per second, {shown(rates[first])} {first}; resample them first"
            raise InputError("conflict", problem, where=shown(path))
        rates.setdefault(rate, path)
        if not channels or width not in (1, 2, 3, 4):
            raise InputError("unsupported", f"{shown(path)}: has samples of {width} bytes, expected 1 to 4")
        samples = _waveform(raw, width).reshape(-1, channels).mean(axis=1)
        full = np.zeros(tuple(each or 0 for each in shape or ()), np.float32)  # cut or filled at its end
        full.reshape(-1)[: len(samples)] = samples[:length]
        return full

    return read


def _waveform(raw: bytes, width: int) -> Array:
    """Return PCM samples as float32 in [-1, 1)."""
    if width == 1:
        values = np.frombuffer(raw, np.uint8).astype(np.int64) - 128
    elif width == 3:
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values, width = padded.reshape(-1).view("<i4").astype(np.int64), 4
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.int64)
    return np.asarray(values / 2.0 ** (8 * width - 1), np.float32)


def _axis_of_channels(shape: Shape, where: str) -> int | None:
    """Return which axis of a model's input has the channels; None for (height, width)."""
    if shape is not None and None not in shape:
        if len(shape) == 2:
            return None
        for axis in (2, 0):
            if len(shape) == 3 and shape[axis] in MODES:
                return axis
    wanted = "(height, width, channels) with 1 or 3 channels for pictures"
    raise _unfit(shape, f"{wanted}; give the shape with {option('input_shape')}, or arrays as NPZ", where)


def _unfit(shape: Shape, expected: str, where: str) -> InputError:
    taken = "does not say its input" if shape is None else f"takes {shape}"
    return InputError("value", f"the model {taken}, expected {expected}", where=where)


def picture_reader(shape: Shape, where: str) -> Callable[[Path], Array]:
    """Return a function that reads a picture as uint8 of the given shape, stretched if it must be."""
    pil = needed("PIL.Image", "pillow", "a folder of pictures")
    axis, sizes = _axis_of_channels(shape, where), [each or 0 for each in shape or ()]
    channels = 1 if axis is None else sizes.pop(axis)
    height, width = sizes

    def read(path: Path) -> Array:
        try:
            # Pillow warns of large pictures; ours is an error, before anything is unpacked.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pil.open(path) as file:
                    if (pixels := file.size[0] * file.size[1]) > (given := limits_given()).pixels:
                        problem = f"has {pixels:,} pixels, {given.beyond('pixels', pixels, 'pixels')}"
                        raise InputError("limit", problem, where=shown(path))
                    picture = file.convert(MODES[channels])
        except (InputError, MemoryError):
            raise
        except Exception:  # damage comes as whatever the decoder of the day runs into
            raise InputError("damaged", f"{shown(path)}: not a picture, or damaged; remove it") from None
        if picture.size != (width, height):
            picture = picture.resize((width, height), pil.Resampling.BILINEAR)  # averages where it shrinks
        values = np.asarray(picture, np.uint8)
        if channels == 3:
            return values.transpose(2, 0, 1) if axis == 0 else values
        return values if axis is None else np.expand_dims(values, axis)

    return read


INPUTS, LABELS = ("x", "inputs"), ("y", "labels")
COLUMNS = ("segments", "shifted", "shift_names", "names")
"""Arrays of an NPZ file: names that inputs and true classes may have, and what goes into the log as it is."""


class Batch(NamedTuple):
    """Some inputs, their labels if there are any, and what inputs were before shifts of ours."""

    x: Array
    y: Array | None = None
    given: Array | None = None


@dataclass(frozen=True)
class Data:
    """Inputs that can be gone through once."""

    name: str
    batches: Callable[[int], Iterator[Batch]]
    total: int = 0  # 0 where it is not known
    names: Sequence[str] | None = None
    segments: Array | None = None
    shifted: Array | None = None
    shift_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    take: Callable[[Array], Array] | None = None  # inputs at places; None where they come in one order only
    labels: Array | None = None  # of all inputs, where `take` can give them
    family: str | None = None  # "pictures" or "sound" of files in class folders

    @property
    def pixels(self) -> bool:
        """Values are 0 to 255, as a picture file has them."""
        return self.family == "pictures"

    @property
    def folder(self) -> bool:
        """Labels are places in `names`, not what the model was trained with."""
        return self.family is not None


def in_order(
    take: Callable[[Array], Array], count: int, labels: Array | None
) -> Callable[[int], Iterator[Batch]]:
    """Return what gives inputs one after the other, so many at a time."""

    def batches(size: int) -> Iterator[Batch]:
        for start in range(0, count, size):
            places = np.arange(start, min(start + size, count))
            yield Batch(take(places), None if labels is None else labels[places])

    return batches


def open_data(x: Any, y: Any, shape: Shape = None, names: Sequence[str] | None = None) -> Data:
    """Return the data that someone means; a folder is read for inputs of a shape, with known classes."""
    if isinstance(y, (str, Path)):
        if Path(y).suffix.lower() != ".npy":
            raise InputError("value", f"{shown(Path(y))}: is not an .npy file; write labels with numpy.save")
        y = _npy(Path(y))
    if isinstance(x, (str, Path)):
        path = Path(x)
        if path.is_dir():
            return _folder(path, shape, names)
        if not path.exists() and is_reference(str(x)):
            return _made(referred(str(x), "DATA"), str(x))
        return _file(path, y)
    if callable(x) or isinstance(x, Iterator):
        return _made(x, getattr(x, "__name__", "x"))
    return _arrays(np.asarray(x), y, "x")


def _arrays(x: Array, y: Any, name: str, **more: Any) -> Data:
    if x.dtype.kind not in "iufb":
        way = OWN_OUTPUTS if x.dtype.kind in "UO" else ""
        raise InputError("value", f"{name}: x is {x.dtype}, expected numbers{way}")
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

    def take(places: Array) -> Array:
        return np.asarray(x[places])

    return Data(name, in_order(take, len(x), labels), len(x), take=take, labels=labels, **more)


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


def _folder(path: Path, shape: Shape, known: Sequence[str] | None) -> Data:
    """Return the files of class folders; they are read later, one by one."""
    where = shown(path)
    folders = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not folders:
        raise InputError("missing", f"{where}: has no class folders, expected one a class: {where}/cat")
    names = tuple(each.name for each in folders) if known is None else tuple(known)
    unknown = [each.name for each in folders if each.name not in names]
    if unknown:
        some = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
        raise InputError("unknown", f"{where}/{unknown[0]}: is not a class, expected one of {some}")
    files: list[tuple[Path, int]] = []
    for each in folders:
        inside = sorted(file for file in each.rglob("*") if file.suffix.lower() in (*PICTURES, *SOUNDS))
        if not inside:
            kinds = f"no pictures ({', '.join(PICTURES)}) and no sounds ({', '.join(SOUNDS)})"
            raise InputError("missing", f"holds {kinds}; fill or remove it", where=shown(each))
        files += [(file, names.index(each.name)) for file in inside]
    sounds = [file.suffix.lower() in SOUNDS for file, _ in files]
    if any(sounds) and not all(sounds):
        raise InputError("conflict", f"{where}: holds pictures and sounds, expected one kind")
    read = (sound_reader if all(sounds) else picture_reader)(shape, where)
    # Class after class would read as a stream in which a class stays for as long as its folder lasts.
    files = [files[n] for n in np.random.default_rng(0).permutation(len(files))]
    labels = np.array([label for _, label in files])

    def take(places: Array) -> Array:
        return np.stack([read(files[place][0]) for place in places])

    notes = ("files are mixed, as a folder is not a stream; pass a stream as NPZ with `segments`",)
    more: dict[str, Any] = {"take": take, "labels": labels, "family": "sound" if all(sounds) else "pictures"}
    return Data(where, in_order(take, len(labels), labels), len(labels), names=names, notes=notes, **more)


def _made(source: Any, name: str) -> Data:
    """Return data that a function or an iterator gives batch by batch, or as arrays at once."""
    with users_code(f"{name}: failed"):
        given = source() if callable(source) else source
    if isinstance(given, np.ndarray):
        return _arrays(given, None, name)
    if isinstance(given, tuple) and len(given) == 2:
        return _arrays(np.asarray(given[0]), given[1], name)
    if not isinstance(given, Iterable):
        raise InputError("value", f"{name}: gives {type(given).__name__}, expected batches (x, y)")

    def batches(size: int) -> Iterator[Batch]:
        source: Iterator[Any] = iter(given)
        end: Any = object()
        while True:
            with users_code(f"{name}: failed"):
                each = next(source, end)
            if each is end:
                return
            pair = isinstance(each, (tuple, list)) and len(each) == 2
            x, y = each if pair else (each, None)
            yield Batch(np.asarray(x), None if y is None else np.asarray(y))

    return Data(name, batches)
