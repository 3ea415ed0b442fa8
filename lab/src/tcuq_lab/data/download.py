"""Fetching the official files of the datasets: resumed, checked, and there whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .dataset import entry
from .extract import unpack

Show = Callable[[int, int, str], None]
CHUNK = 1 << 18
GIB = 1 << 30


@dataclass(frozen=True)
class Archive:
    """A file to fetch."""

    url: str
    # Published md5 or sha256 in hexadecimal, told apart by length; without one the file goes unchecked
    digest: str | None
    folder: str = ""  # where in the data folder the file goes
    unpacked: str = ""  # folder that it is unpacked to; empty for a file that is used as it is
    limit: int = GIB  # bytes that it may unpack to

    @property
    def file(self) -> str:
        """The name of the file, without its folder."""
        return self.url.rpartition("/")[2]


_IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
_TORONTO = "https://www.cs.toronto.edu/~kriz"
_HOUSES = "http://ufldl.stanford.edu/housenumbers"
_GOOGLE = "https://storage.googleapis.com/download.tensorflow.org/data"
_MNIST_MD5 = (
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
_FASHION_MD5 = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
_CIFAR = (
    ("binary", 3, "c32a1d4ab5d03f1284b67883e8d87530"),
    ("python", 2, "c58f30108f718f92721af3b95e74349a"),
)
_SPEECH_SHA = (
    "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
    "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
)


def archives(name: str) -> tuple[tuple[Archive, ...], ...]:
    """Return the files that make up a dataset; where there are several ways, one tuple each, best first."""
    entry(name)
    if name in ("mnist", "fashion_mnist"):
        base, sums = (_MNIST, _MNIST_MD5) if name == "mnist" else (_FASHION, _FASHION_MD5)
        return (tuple(Archive(f"{base}/{i}-ubyte.gz", s, name) for i, s in zip(_IDX, sums, strict=True)),)
    if name == "cifar10":
        return tuple(
            (Archive(f"{_TORONTO}/cifar-10-{kind}.tar.gz", md5, unpacked=f"cifar-10-batches-{kind[:end]}"),)
            for kind, end, md5 in _CIFAR
        )
    if name == "svhn":
        train = Archive(f"{_HOUSES}/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", name)
        return ((train, Archive(f"{_HOUSES}/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", name)),)
    if name in ("tinyimagenet", "tinyimagenet20"):
        url = "https://cs231n.stanford.edu/tiny-imagenet-200.zip"
        return ((Archive(url, None, unpacked="tiny-imagenet-200"),),)
    if name in ("signs", "motion"):
        raise ValueError(
            f"{name} has no official file of this form: make {name}.npz with lab/tools/pack_recordings.py"
        )
    version = 2 if name.endswith("v2") else 1
    folder = f"speech_commands_v0.0{version}"
    url = f"{_GOOGLE}/{folder}.tar.gz"
    return ((Archive(url, _SPEECH_SHA[version - 1], unpacked=folder, limit=8 * GIB),),)


def get(name: str, folder: Path, show: Show) -> list[dict[str, Any]]:
    """Fetch a dataset, unless it is there already, and say of each file what was done.

    A file that was put into the folder by hand is checked and unpacked like one that was fetched.
    """
    ways = archives(name)

    def at_hand(way: tuple[Archive, ...]) -> bool:
        return all(_target(item, folder).exists() or _place(item, folder).exists() for item in way)

    return [_settle(item, folder, show) for item in next(filter(at_hand, ways), ways[0])]


def _place(archive: Archive, folder: Path) -> Path:
    return folder / archive.folder / archive.file


def _target(archive: Archive, folder: Path) -> Path:
    return folder / archive.unpacked if archive.unpacked else _place(archive, folder)


def _settle(archive: Archive, folder: Path, show: Show) -> dict[str, Any]:
    target, place = _target(archive, folder), _place(archive, folder)
    checked = archive.digest is not None
    if target.exists() and archive.unpacked:
        return {"path": str(target), "done": "already there", "checked": False}
    by_hand = place.exists()
    if by_hand and archive.digest:
        _verify(place, archive.digest, place, "replace it")
    if not by_hand:
        fetch(archive, place, show)
    if archive.unpacked:
        try:
            unpack(place, target, archive.limit)
        finally:
            if not by_hand:
                place.unlink()
    return {"path": str(target), "done": "already there" if by_hand else "fetched", "checked": checked}


def fetch(archive: Archive, place: Path, show: Show) -> None:
    """Fetch one file; what an earlier try has left in ``FILE.part`` is gone on with if it can be checked."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(place.name + ".part")
    start = part.stat().st_size if part.exists() and archive.digest else 0
    advice = f"put {archive.file} into {place.parent} and run this again"
    try:
        with _answer(archive.url, start) as answer:
            if answer.status != 206:
                start = 0
            elif not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                raise ValueError(f"{archive.url}: gave another part than asked for; remove {part}")
            length = answer.headers.get("Content-Length", "")
            total = start + int(length) if length.isdecimal() else 0
            _room(place, total - start)
            size = _store(answer, part, place, start, lambda done: show(done, total, archive.file))
        if total and size != total:
            raise ValueError(f"{archive.url}: ended after {size} of {total} bytes; run this again")
        if archive.digest:
            _verify(part, archive.digest, archive.url, f"run this again, or {advice}", remove=True)
        os.replace(part, place)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416 or not start:
            raise ValueError(f"{archive.url}: answered {error.code} {error.reason}; {advice}") from None
        part.unlink()  # not shorter than the file itself, so it was part of another
        fetch(archive, place, show)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.filename is not None:  # of this machine, not of the network
            raise
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise ValueError(f"{archive.url}: cannot be fetched ({reason}); {advice}") from None
    finally:
        if not archive.digest:
            part.unlink(missing_ok=True)


def _answer(url: str, start: int) -> Any:
    headers = {"User-Agent": "tcuq", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60)


def _room(place: Path, needed: int) -> None:
    free = shutil.disk_usage(place.parent).free
    if needed > free:
        raise ValueError(f"{place}: needs {needed} bytes; {free} are free in {place.parent}")


def _store(answer: IO[bytes], part: Path, place: Path, start: int, show: Callable[[int], None]) -> int:
    """Append what comes to the part; return its size. Without room for it, the part goes."""
    done = start
    with part.open("ab" if start else "wb") as out:
        while chunk := answer.read(CHUNK):
            try:
                out.write(chunk)
                out.flush()
            except OSError as error:
                part.unlink(missing_ok=True)
                raise OSError(error.errno, error.strerror, str(place)) from None
            done += len(chunk)
            show(done)
    return done


def _verify(path: Path, digest: str, about: object, advice: str, remove: bool = False) -> None:
    kind = "md5" if len(digest) == 32 else "sha256"
    found = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found.update(chunk)
    if found.hexdigest() != digest:
        if remove:
            path.unlink()
        raise ValueError(f"{about}: {kind} is {found.hexdigest()}, published is {digest}; {advice}")
