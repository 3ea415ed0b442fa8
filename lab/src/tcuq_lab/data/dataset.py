"""What the datasets are called, where their files lie, and how one is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

from . import folders, official, packed

VARIABLE = "TCUQ_DATA"
Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """One split of a dataset, decoded."""

    name: str  # name of the dataset
    split: str  # which split of it
    x: npt.NDArray[Any]  # an example a row: uint8 images, channels last, or int16 sound at 16 kHz
    y: npt.NDArray[np.int64]  # a label a row
    license: str  # under which terms it may be used
    source: str  # where the examples come from, and what was done to them


@dataclass(frozen=True)
class Form:
    """One way in which a split can lie in the data folder: files, and who reads them."""

    files: tuple[str, ...]
    read: Callable[..., Arrays]
    source: str


@dataclass(frozen=True)
class Entry:
    """What is known of a dataset without looking at its files."""

    splits: tuple[str, ...]
    license: str
    source: str


_SPEECH = ("train", "validation", "test")
_RECORDED = ("train", "dev", "test")
_IMAGENET = "ImageNet terms: non-commercial research and education"
_GOOGLE = "Speech Commands v{} (P. Warden, Google)"
_ENTRIES = {
    "mnist": Entry(("train", "test"), "commonly given as CC BY-SA 3.0", "MNIST (LeCun, Cortes, Burges)"),
    "fashion_mnist": Entry(("train", "test"), "MIT", "Fashion-MNIST (Zalando SE)"),
    "cifar10": Entry(("train", "test"), "none given; cite Krizhevsky 2009", "CIFAR-10 (A. Krizhevsky)"),
    "svhn": Entry(("train", "test"), "non-commercial use only", "SVHN (Netzer et al. 2011)"),
    "tinyimagenet": Entry(("train", "val"), _IMAGENET, "TinyImageNet-200 (Stanford CS231n)"),
    "tinyimagenet20": Entry(("train", "val"), _IMAGENET, "TinyImageNet, every 10th class (Stanford CS231n)"),
    "speech_commands": Entry(_SPEECH, "CC BY 4.0", _GOOGLE.format("0.01")),
    "speech_commands_v2": Entry(_SPEECH, "CC BY 4.0", _GOOGLE.format("0.02")),
    "signs": Entry(
        _RECORDED,
        "none given; cite Stallkamp et al. 2012",
        "GTSRB, training tracks (INI, Ruhr-Universität Bochum)",
    ),
    "motion": Entry(
        _RECORDED,
        "own research only; cite Bruno et al. 2013",
        "WHARF, bimanual recordings (University of Genoa)",
    ),
    "speech_noise": Entry(("all",), "CC BY 4.0", _GOOGLE.format("0.01") + ", background noise"),
}


def names() -> tuple[str, ...]:
    """Return the names of all datasets."""
    return tuple(_ENTRIES)


def entry(name: str) -> Entry:
    """Return what is known of a dataset."""
    return _ENTRIES[known("dataset", name, _ENTRIES, " (tcuq-lab data list shows all)")]


def splits(name: str) -> tuple[str, ...]:
    """Return the splits of a dataset.

    Examples
    --------
    >>> splits("mnist")
    ('train', 'test')
    """
    return entry(name).splits


def data_folder(make: bool = False) -> Path:
    """Return the folder of the datasets, which the environment variable TCUQ_DATA names."""
    value = os.environ.get(VARIABLE)
    filled = "that 'tcuq-lab data get NAME' fills, or that holds official or packed files of the datasets"
    if not value:
        raise ValueError(f"{VARIABLE} is not set; set it to a folder {filled}")
    folder = Path(value)
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        raise ValueError(f"{VARIABLE} is {value!r}, which is not a folder; set it to one {filled}")
    return folder


def present(name: str, split: str, folder: Path | None = None) -> Form | None:
    """Return the form in which a split lies in the data folder, official files first; None without one."""
    accepted = splits(name)
    if split not in accepted:
        raise ValueError(f"split {split!r} of {name} is unknown, expected one of {', '.join(accepted)}")
    root = data_folder() if folder is None else folder
    for form in _forms(name, split):
        if all((root / file).exists() for file in form.files):
            return form
    return None


def load(name: str, split: str) -> Dataset:
    """Return one split of a dataset."""
    form, folder = present(name, split), data_folder()
    if form is None:
        wanted = " or ".join(", ".join(form.files) for form in _forms(name, split))
        raise ValueError(
            f"{name} {split} is not in {folder}; run 'tcuq-lab data get {name}' or put there {wanted}"
        )
    x, y = form.read(*(folder / file for file in form.files))
    known = _ENTRIES[name]
    return Dataset(name, split, x, y.astype(np.int64), known.license, f"{known.source}; {form.source}")


def _forms(name: str, split: str) -> Iterator[Form]:
    """Give the ways in which a split can lie in the data folder, in the order they are tried."""
    if name in ("mnist", "fashion_mnist"):
        stem = f"{name}/{'t10k' if split == 'test' else split}"
        for end in ("", ".gz"):
            files = (f"{stem}-images-idx3-ubyte{end}", f"{stem}-labels-idx1-ubyte{end}")
            yield Form(files, official.read_pair, "official idx files")
        yield Form((f"{name}_{split}.npz",), packed.read_plain, "packed, bit-exact")
    elif name == "cifar10":
        batches = tuple(f"data_batch_{n}" for n in range(1, 6)) if split == "train" else ("test_batch",)
        binary = tuple(f"cifar-10-batches-bin/{batch}.bin" for batch in batches)
        yield Form(binary, official.read_cifar, "official binary version")
        parts = ("train_a", "train_b") if split == "train" else ("test",)
        mosaics = tuple(f"cifar10_{part}.npz" for part in parts)
        yield Form(mosaics, packed.read_mosaics, "packed, bit-exact")
    elif name == "svhn":
        yield Form((f"svhn/{split}_32x32.mat",), official.read_svhn, "official 32x32 format")
        crops = partial(packed.read_plain, split=int(split == "test"))
        note = "packed subset, cut from full numbers: not the pixels of the official 32x32 format"
        yield Form(("svhn_crops.npz",), crops, note)
    elif name in ("tinyimagenet", "tinyimagenet20"):
        twenty = name.endswith("20")
        read = partial(
            folders.read_tiny, split=split, every=10 if twenty else 1, first=400 if twenty else 500
        )
        yield Form(("tiny-imagenet-200",), read, "official JPEG files")
        if twenty:
            marked = partial(packed.read_jpegs, split=int(split == "val"))
            yield Form(("tinyimagenet20.npz",), marked, "packed, the official JPEG files")
    elif name == "signs":
        marked = partial(packed.read_mosaics, split=_RECORDED.index(split))
        yield Form(("signs.npz",), marked, "packed: boxes cut out, 32 x 32, lossy")
    elif name == "motion":
        marked = partial(packed.read_plain, split=_RECORDED.index(split))
        yield Form(("motion.npz",), marked, "packed: right wrist, windows of 64 samples at 25 Hz, 8 bits")
    else:
        yield from _speech(name, split)


def _speech(name: str, split: str) -> Iterator[Form]:
    lossy = "packed subset, lossy: quantized MDCT"
    folder = f"speech_commands_v0.0{2 if name.endswith('v2') else 1}"
    if name == "speech_noise":
        yield Form((folder,), folders.read_noise, "official wav files, cut in seconds")
        yield Form(("speech_noise.npz",), packed.read_noise, lossy)
        return
    yield Form((folder,), partial(folders.read_speech, split=split), "official wav files")
    if name == "speech_commands":
        file = "speech_train.npz" if split == "train" else "speech_eval.npz"
        yield Form((file,), partial(packed.read_speech, split=_SPEECH.index(split)), lossy)
