"""Datasets that come as folders of files: TinyImageNet-200 (JPEG) and Speech Commands (wav)."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

KEYWORDS = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes")
OTHER = len(KEYWORDS)
RATE = 16000
NOISE = "_background_noise_"
LISTS = {"validation": "validation_list.txt", "test": "testing_list.txt"}
Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def decode_rgb(content: bytes, where: str) -> npt.NDArray[np.uint8]:
    """Return the pixels (height, width, 3) of an image file; gray ones become RGB."""
    try:
        image: Any = import_module("PIL.Image")
    except ImportError:
        raise ImportError(f"{where}: an image needs Pillow (pip install pillow)") from None
    try:
        with image.open(io.BytesIO(content)) as opened:
            return np.asarray(opened.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, EOFError, image.DecompressionBombError) as error:
        raise ValueError(f"{where}: is not a readable image ({error})") from None


def read_tiny(folder: str | Path, split: str, every: int = 1, first: int = 500) -> Arrays:
    """Return images (n, 64, 64, 3) and labels of TinyImageNet-200."""
    root = Path(folder)
    labels = {name: label for label, name in enumerate(tiny_classes(root, every))}
    images = list(_tiny_train(root, labels, first) if split == "train" else _tiny_val(root, labels))
    if not images:
        raise ValueError(f"{root}: holds no images of the split {split!r}; JPEG files are needed")
    x = np.empty((len(images), 64, 64, 3), np.uint8)
    for index, (path, _) in enumerate(images):
        pixels = decode_rgb(path.read_bytes(), str(path))
        if pixels.shape != (64, 64, 3):
            raise ValueError(f"{path}: is {pixels.shape[0]}x{pixels.shape[1]}, expected 64x64")
        x[index] = pixels
    return x, np.array([label for _, label in images], dtype=np.uint8)


def tiny_classes(folder: str | Path, every: int = 1) -> list[str]:
    """Return the names of the classes of TinyImageNet-200 in the order of their labels."""
    return sorted((Path(folder) / "wnids.txt").read_text().split())[::every]


def _tiny_train(root: Path, labels: dict[str, int], first: int) -> Iterator[tuple[Path, int]]:
    for name, label in labels.items():
        found = sorted((root / "train" / name / "images").glob("*.JPEG"), key=_number)
        if not found:
            raise ValueError(f"{root}: holds no training images of the class {name}; JPEG files are needed")
        yield from ((path, label) for path in found if _number(path) < first)


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
    """Return the label of a word: its place among the keywords, or that of all other words.

    Examples
    --------
    >>> label_of("down"), label_of("yes"), label_of("marvin")
    (0, 9, 10)
    """
    return KEYWORDS.index(word) if word in KEYWORDS else OTHER


def read_speech(folder: str | Path, split: str) -> Arrays:
    """Return one-second clips (n, 16000) of int16 and their labels, in the order of the files' names."""
    root, names = Path(folder), speech_names(folder, split)
    x = np.zeros((len(names), RATE), np.int16)
    for index, name in enumerate(names):
        samples = read_wav(root / name)
        if len(samples) > RATE:
            raise ValueError(f"{root / name}: has {len(samples)} samples, expected 0 to {RATE}")
        x[index, : len(samples)] = samples
    return x, np.array([label_of(name.partition("/")[0]) for name in names], dtype=np.uint8)


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
    paths: Sequence[Path] = sorted((Path(folder) / NOISE).glob("*.wav"))
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
