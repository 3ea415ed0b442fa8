"""A corrupted dataset: the official archive where it lies in the data folder, else made here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..data import Dataset, data_folder, load, present
from ..data.dataset import entry
from ..data.official import tiny_classes, tiny_pictures
from ..data.packed import members
from .apply import corrupt
from .suite import suite_of

SEVERITIES = 5
"""Severities of a kind in the archive of CIFAR-10-C."""
SUFFIXES = (".jpeg", ".jpg")
DAMAGED = (ValueError, EOFError, TokenError, OverflowError, SyntaxError, MemoryError)
"""What numpy raises for files that are no arrays, or no longer."""


@dataclass(frozen=True, eq=False)
class Corrupted(Dataset):
    """One split of a dataset, corrupted."""

    official: bool  # whether the pictures are those of an official archive; else they were made here


def corrupted(
    name: str,
    split: str,
    kind: str,
    severity: int,
    seed: int = 0,
    workers: int = 1,
    official: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Corrupted:
    """Return one split of a dataset, corrupted.

    The official pictures of MNIST-C and CIFAR-10-C are the test split, in its order. Those of Tiny-ImageNet-C
    were cut again from ImageNet: they have the classes of the dataset, but no clean twins in it.
    """
    known = suite_of(name)
    known.setting(kind, severity)
    integer("seed", seed, 0, 2**63 - 1)
    integer("workers", workers, 1, 256)
    archive = find(name, split, kind, severity) if official else None
    if archive is not None and name.startswith("tinyimagenet"):
        return _tiny(archive, name, split, f"official Tiny-ImageNet-C {kind}, severity {severity}")
    clean = load(name, split)
    if archive is None:
        x = corrupt(clean.x, known.name, kind, severity, seed, workers=workers, progress=progress)
        done = f"corrupted here by {known.name} {kind}, severity {severity}, seed {seed}"
    elif name == "mnist":
        x, done = _mnist(archive, clean), f"official MNIST-C {kind}"
    else:
        x, done = _cifar(archive, clean, severity), f"official CIFAR-10-C {kind}, severity {severity}"
    source = f"{clean.source}; {done}"
    return Corrupted(name, split, x, clean.y, clean.license, source, archive is not None)


def find(name: str, split: str, kind: str, severity: int) -> Path | None:
    """Return the file or folder of an official archive that has these pictures; None without one."""
    paths = {
        ("mnist", "test"): f"mnist_c/{kind}/test_images.npy",
        ("cifar10", "test"): f"CIFAR-10-C/{kind}.npy",
        ("tinyimagenet", "test"): f"Tiny-ImageNet-C/{kind}/{severity}",
        ("tinyimagenet20", "val"): f"Tiny-ImageNet-C/{kind}/{severity}",
    }
    if (name, split) not in paths:
        return None
    path = data_folder() / paths[name, split]
    return path if path.exists() else None


def _mnist(path: Path, clean: Dataset) -> npt.NDArray[np.uint8]:
    x = _array(path, "u1", (*clean.x.shape, 1))
    _same_labels(path.with_name("test_labels.npy"), clean.y)
    return np.array(x[..., 0])


def _cifar(path: Path, clean: Dataset, severity: int) -> npt.NDArray[np.uint8]:
    count = len(clean.x)
    x = _array(path, "u1", (SEVERITIES * count, *clean.x.shape[1:]))
    _same_labels(path.with_name("labels.npy"), np.tile(clean.y, SEVERITIES))
    return np.array(x[count * (severity - 1) : count * severity])


def _tiny(folder: Path, name: str, split: str, done: str) -> Corrupted:
    """Return the pictures of the classes of a dataset, class by class and in the order of their names."""
    paths, labels = [], []
    for label, wnid in enumerate(_tiny_classes(name, split)):
        place = folder / wnid
        found = sorted(path for path in place.glob("[!.]*") if path.suffix.lower() in SUFFIXES)
        if not found:
            raise ValueError(f"{place}: holds no pictures; JPEG files of every class are needed")
        paths += found
        labels += [label] * len(found)
    source = f"{done}; cut again from ImageNet, so not paired with the clean pictures of {name} {split}"
    y = np.array(labels, np.int64)
    return Corrupted(name, split, tiny_pictures(paths), y, entry(name).license, source, True)


def _tiny_classes(name: str, split: str) -> list[str]:
    """Return the folders of the classes of a dataset, in the order of its labels."""
    form = present(name, split)
    if form is None:
        raise ValueError(f"{name} {split} is not in {data_folder()}; its list of classes is needed")
    where = data_folder() / form.files[0]
    if where.is_dir():
        return tiny_classes(where, 10 if name == "tinyimagenet20" else 1)
    return [str(wnid) for wnid in members(where, "wnid")["wnid"].tolist()]


def _array(path: Path, dtype: str | None, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of a file without reading all of it; it must have this dtype and shape."""
    try:
        # Unlike np.load, it takes no zip file for an archive, which it would leave open where it is broken.
        found = np.lib.format.open_memmap(path, mode="r")
    except DAMAGED:
        raise ValueError(f"{path}: is not a readable npy file, expected an array of numbers") from None
    if found.shape != shape or (found.dtype != dtype if dtype else found.dtype.kind not in "iu"):
        wanted = np.dtype(dtype).name if dtype else "integers"
        raise ValueError(f"{path}: is {found.dtype} {found.shape}, expected {wanted} {shape}")
    return found


def _same_labels(path: Path, labels: npt.NDArray[np.int64]) -> None:
    found = np.asarray(_array(path, None, labels.shape))
    differ = np.flatnonzero(found != labels)
    if len(differ):
        row = int(differ[0])
        raise ValueError(
            f"{path}: row {row} is {found[row]}, the dataset's label is {labels[row]}, expected "
            f"labels in the order of the dataset ({len(differ)} of {len(labels)} differ)"
        )
