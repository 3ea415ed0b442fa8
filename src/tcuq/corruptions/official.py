"""A corrupted data set: the official archive where it lies in the data folder, else made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import Dataset, data_folder, load, present
from ..data.folders import decode_rgb
from ..data.packed import members
from .apply import corrupt
from .registry import suite_of

SEVERITIES = 5
"""Severities of a kind in the archives of CIFAR-10-C and Tiny-ImageNet-C."""


def corrupted(
    name: str,
    split: str,
    kind: str,
    severity: int,
    seed: int = 0,
    workers: int = 1,
    official: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Return one split of a data set, corrupted.

    Parameters
    ----------
    name, split : str
        As for `tcuq.data.load`.
    kind : str
        A kind of the suite that belongs to the data set, see `suite_of`.
    severity : int
        1 to the number of severities of the kind.
    seed, workers, progress
        As for `corrupt`; an official archive needs none of them.
    official : bool
        Take the official pictures where they lie in the data folder; they cover test or val alone.

    Returns
    -------
    Dataset
        In the order of the split itself; its `source` says who made it.

    Raises
    ------
    ValueError
        Where a name is unknown, the data set is not there, or an archive does not fit to it.
    """
    known = suite_of(name)
    known.setting(kind, severity)
    clean = load(name, split)
    archive = find(name, split, kind, severity) if official else None
    if archive is None:
        x = corrupt(clean.x, known.name, kind, severity, seed, workers=workers, progress=progress)
        done = f"corrupted here by {known.name} {kind}, severity {severity}, seed {seed}"
    elif name == "mnist":
        x, done = _mnist(archive, clean), f"official MNIST-C {kind}"
    elif name == "cifar10":
        x, done = _cifar(archive, clean, severity), f"official CIFAR-10-C {kind}, severity {severity}"
    else:
        x, done = _tiny(archive, clean), f"official Tiny-ImageNet-C {kind}, severity {severity}"
    return Dataset(name, split, x, clean.y, clean.licence, f"{clean.source}; {done}")


def find(name: str, split: str, kind: str, severity: int) -> Path | None:
    """Return the file or folder of an official archive that has these pictures; None without one.

    Parameters
    ----------
    name, split, kind : str
    severity : int
    """
    paths = {
        ("mnist", "test"): f"mnist_c/{kind}/test_images.npy",
        ("cifar10", "test"): f"CIFAR-10-C/{kind}.npy",
        ("tinyimagenet", "val"): f"Tiny-ImageNet-C/{kind}/{severity}",
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


def _tiny(folder: Path, clean: Dataset) -> npt.NDArray[np.uint8]:
    x = np.empty_like(clean.x)
    files = _tiny_files(clean)
    for index, file in enumerate(files):
        path = folder / file
        if not path.is_file():
            raise ValueError(f"{path}: is missing; all {len(files)} pictures of {clean.name} val are needed")
        pixels = decode_rgb(path.read_bytes(), str(path))
        if pixels.shape != x.shape[1:]:
            size = "x".join(map(str, x.shape[1:3]))
            raise ValueError(f"{path}: is {pixels.shape[0]}x{pixels.shape[1]}; {size} is accepted")
        x[index] = pixels
    return x


def _tiny_files(clean: Dataset) -> list[str]:
    """Return class/name of the pictures of a validation split, in its order."""
    form, folder = present(clean.name, clean.split), data_folder()
    if form is None:  # gone since it was loaded
        raise ValueError(f"{clean.name} {clean.split} is no longer in {folder}; put it back")
    where = folder / form.files[0]
    if where.is_dir():
        table = (where / "val" / "val_annotations.txt").read_text().splitlines()
        pairs = [line.split("\t")[:2] for line in table]
        every = 10 if clean.name.endswith("20") else 1
        classes = set(sorted((where / "wnids.txt").read_text().split())[::every])
        return [f"{wnid}/{name}" for name, wnid in pairs if wnid in classes]
    found = members(where, "path", "wnid", "y", "split")
    marked = found["split"] == 1
    rows = zip(found["path"][marked].tolist(), found["y"][marked].tolist(), strict=True)
    return [f"{found['wnid'][label]}/{name}" for name, label in rows]


def _array(path: Path, dtype: str | None, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of a file without reading all of it; it must have this dtype and shape."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise ValueError(f"{path}: is no readable npy file; an array of numbers is needed") from None
    if not isinstance(found, np.ndarray):
        found.close()
        raise ValueError(f"{path}: is no npy file; one array is needed")
    if found.shape != shape or (found.dtype != dtype if dtype else found.dtype.kind not in "iu"):
        wanted = np.dtype(dtype).name if dtype else "integers"
        raise ValueError(f"{path}: is {found.dtype} {found.shape}; {wanted} {shape} is accepted")
    return found


def _same_labels(path: Path, labels: npt.NDArray[np.int64]) -> None:
    found = np.asarray(_array(path, None, labels.shape))
    differ = np.flatnonzero(found != labels)
    if len(differ):
        row = int(differ[0])
        raise ValueError(
            f"{path}: row {row} is {found[row]}, the data set's label is {labels[row]}; "
            f"labels in the order of the data set are accepted ({len(differ)} of {len(labels)} differ)"
        )
