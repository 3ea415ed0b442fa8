"""Official files: idx (MNIST), binary CIFAR-10, MATLAB (SVHN), folders of JPEG and wav files."""

from __future__ import annotations

import gzip
import io
import math
import wave
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..home import library

Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]
GZIP = b"\x1f\x8b"
BYTES = 0x08  # the one element type that these datasets have
LIMIT = 1 << 30
PIXELS = 3 * 32 * 32
KEYWORDS = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes")
OTHER = len(KEYWORDS)
RATE = 16000
NOISE = "_background_noise_"
LISTS = {"validation": "validation_list.txt", "test": "testing_list.txt"}


def read_idx(path: str | Path, dimensions: int) -> npt.NDArray[np.uint8]:
    """Return the array of one idx file of unsigned bytes."""
    content, head, wanted = _content(path), 4 + 4 * dimensions, bytes([0, 0, BYTES, dimensions])
    if len(content) < head:
        about = f"an idx file of {dimensions} dimensions has {head} or more"
        raise ValueError(f"{path}: has {len(content)} bytes; {about}")
    if content[:4] != wanted:
        raise ValueError(f"{path}: begins with {content[:4].hex()}, expected {wanted.hex()}")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, 4))
    held, said = len(content) - head, math.prod(shape)
    if held != said:
        raise ValueError(f"{path}: holds {held} bytes after its header, expected {said}")
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


def _content(path: str | Path) -> bytes:
    with Path(path).open("rb") as file:
        zipped = file.read(2) == GZIP
        file.seek(0)
        try:
            content = (gzip.GzipFile(fileobj=file) if zipped else file).read(LIMIT + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path}: is damaged gzip ({error})") from None
    if len(content) > LIMIT:
        raise ValueError(f"{path}: has more than {LIMIT} bytes, expected up to that")
    return content


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
    scipy = library("scipy.io", f"to read {path}")
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


def decode_rgb(content: bytes, where: str) -> npt.NDArray[np.uint8]:
    """Return the pixels (height, width, 3) of an image file; gray ones become RGB."""
    image = library("PIL.Image", f"to read {where}")
    try:
        with image.open(io.BytesIO(content)) as opened:
            return np.asarray(opened.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, EOFError, image.DecompressionBombError) as error:
        raise ValueError(f"{where}: is not a readable image ({error})") from None


def read_tiny(folder: str | Path, split: str, every: int = 1, first: int = 500, start: int = 0) -> Arrays:
    """Return images (n, 64, 64, 3) and labels of TinyImageNet-200; of train, numbers `start` to `first`."""
    root = Path(folder)
    labels = {name: label for label, name in enumerate(tiny_classes(root, every))}
    numbers = range(start, first)
    images = list(_tiny_train(root, labels, numbers) if split == "train" else _tiny_val(root, labels))
    if not images:
        raise ValueError(f"{root}: holds no images of the split {split!r}; JPEG files are needed")
    x = tiny_pictures([path for path, _ in images])
    return x, np.array([label for _, label in images], dtype=np.uint8)


def tiny_pictures(paths: Sequence[Path]) -> npt.NDArray[np.uint8]:
    """Return the pixels (n, 64, 64, 3) of image files."""
    x = np.empty((len(paths), 64, 64, 3), np.uint8)
    for index, path in enumerate(paths):
        pixels = decode_rgb(path.read_bytes(), str(path))
        if pixels.shape != x.shape[1:]:
            raise ValueError(f"{path}: is {pixels.shape[0]}x{pixels.shape[1]}, expected 64x64")
        x[index] = pixels
    return x


def tiny_classes(folder: str | Path, every: int = 1) -> list[str]:
    """Return the names of the classes of TinyImageNet-200 in the order of their labels."""
    return sorted((Path(folder) / "wnids.txt").read_text().split())[::every]


def _tiny_train(root: Path, labels: dict[str, int], numbers: range) -> Iterator[tuple[Path, int]]:
    for name, label in labels.items():
        found = sorted((root / "train" / name / "images").glob("*.JPEG"), key=_number)
        if not found:
            raise ValueError(f"{root}: holds no training images of the class {name}; JPEG files are needed")
        yield from ((path, label) for path in found if _number(path) in numbers)


def _tiny_val(root: Path, labels: dict[str, int]) -> Iterator[tuple[Path, int]]:
    table = root / "val" / "val_annotations.txt"
    for line in table.read_text().splitlines():
        name, _, rest = line.partition("\t")
        wnid = rest.partition("\t")[0]
        if not wnid or Path(name).name != name:
            raise ValueError(f"{table}: holds the line {line!r}, expected a file name, a tab and a class")
        if wnid in labels:
            yield root / "val" / "images" / name, labels[wnid]


def _number(path: Path) -> int:
    tail = path.stem.rpartition("_")[2]
    if not tail.isdecimal():
        raise ValueError(f"{path}: is not named like an image of TinyImageNet, expected NAME_NUMBER.JPEG")
    return int(tail)


def label_of(word: str) -> int:
    """Return the label of a word: its place among the keywords, or that of all other words."""
    return KEYWORDS.index(word) if word in KEYWORDS else OTHER


def read_speech(folder: str | Path, split: str) -> Arrays:
    """Return one-second clips (n, 16000) of int16 and their labels, in the order of the files' names."""
    names = speech_names(folder, split)
    labels = [label_of(name.partition("/")[0]) for name in names]
    return _clips(Path(folder), names), np.array(labels, dtype=np.uint8)


def read_speech_test(folder: str | Path) -> Arrays:
    """Return the clips of the test set of twelve classes: keywords, then other words, then silence."""
    root, classes = Path(folder), (*KEYWORDS, "_unknown_", "_silence_")
    names = sorted(
        path.relative_to(root).as_posix() for name in classes for path in root.glob(f"{name}/*.wav")
    )
    if not names:
        raise ValueError(f"{root}: holds no clips of {', '.join(classes)}; wav files are needed")
    labels = [classes.index(name.partition("/")[0]) for name in names]
    return _clips(root, names), np.array(labels, dtype=np.uint8)


def _clips(root: Path, names: Sequence[str]) -> npt.NDArray[np.int16]:
    x = np.zeros((len(names), RATE), np.int16)
    for index, name in enumerate(names):
        samples = read_wav(root / name)
        if len(samples) > RATE:
            raise ValueError(f"{root / name}: has {len(samples)} samples, expected 0 to {RATE}")
        x[index, : len(samples)] = samples
    return x


def speech_names(folder: str | Path, split: str) -> list[str]:
    """Return the clips of a split as WORD/FILE.wav, in order; at least one."""
    root = Path(folder)
    listed = {name: _listed(root / file) for name, file in LISTS.items()}
    if split in listed:
        names = sorted(listed[split])
    else:
        taken = listed["validation"] | listed["test"]
        every = (path.relative_to(root).as_posix() for path in root.glob("*/*.wav"))
        names = sorted(name for name in every if not name.startswith((NOISE, ".")) and name not in taken)
    if not names:
        raise ValueError(f"{root}: holds no clips of the split {split!r}; wav files are needed")
    return names


def _listed(path: Path) -> set[str]:
    names = set(path.read_text().split())
    for name in names:
        parts = name.split("/")
        if len(parts) != 2 or "\\" in name or parts[0] in ("", ".", "..") or not name.endswith(".wav"):
            raise ValueError(f"{path}: lists {name!r}, expected WORD/FILE.wav")
    return names


def read_noise(folder: str | Path) -> Arrays:
    """Return the background recordings cut in whole seconds, and the number of the recording of each."""
    paths = sorted((Path(folder) / NOISE).glob("*.wav"))
    if not paths:
        raise ValueError(f"{Path(folder) / NOISE}: holds no recordings; wav files are needed")
    cut = [samples[: len(samples) // RATE * RATE].reshape(-1, RATE) for samples in map(read_wav, paths)]
    return np.concatenate(cut), np.repeat(np.arange(len(cut)), [len(part) for part in cut])


def read_wav(path: str | Path) -> npt.NDArray[np.int16]:
    """Return the samples of a wav file of one channel, 16 bits and 16 kHz."""
    with Path(path).open("rb") as file:
        try:
            with wave.open(file) as clip:
                form = (clip.getnchannels(), 8 * clip.getsampwidth(), clip.getframerate())
                frames, content = clip.getnframes(), clip.readframes(clip.getnframes())
        except (wave.Error, EOFError, RuntimeError) as error:
            raise ValueError(
                f"{path}: is not a readable wav file ({str(error) or 'it ends too early'})"
            ) from None
    if form != (1, 16, RATE):
        raise ValueError(
            f"{path}: has {form[0]} channels of {form[1]} bits at {form[2]} Hz, expected 1 of 16 at {RATE}"
        )
    if len(content) != 2 * frames:
        raise ValueError(f"{path}: holds {len(content)} bytes of samples, expected {2 * frames}")
    return np.frombuffer(content, "<i2").astype(np.int16, copy=False)
