"""Fetching the official files of the datasets: resumed, checked, and there whole or not at all."""

from __future__ import annotations

import logging
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .dataset import entry

try:
    import pooch
    import requests
except ImportError:
    raise ImportError("datasets are fetched by pooch: pip install pooch") from None

Show = Callable[[int, int, str], None]
CHUNK = 1 << 18


@dataclass(frozen=True)
class Archive:
    """A file to fetch."""

    url: str
    # Published md5 or sha256 in hexadecimal, told apart by length; without one the file goes unchecked
    digest: str | None
    folder: str = ""  # where in the data folder the file goes
    unpacked: str = ""  # folder that it is unpacked to; empty for a file that is used as it is

    @property
    def file(self) -> str:
        """The name of the file, without its folder."""
        return self.url.rpartition("/")[2]

    @property
    def known_hash(self) -> str | None:
        """The digest with its kind."""
        return self.digest and f"{'md5' if len(self.digest) == 32 else 'sha256'}:{self.digest}"


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
_CIFAR_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
_SPEECH_SHA = (
    "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
    "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
)


def archives(name: str) -> tuple[Archive, ...]:
    """Return the files that make up a dataset."""
    entry(name)
    if name in ("mnist", "fashion_mnist"):
        base, sums = (_MNIST, _MNIST_MD5) if name == "mnist" else (_FASHION, _FASHION_MD5)
        return tuple(Archive(f"{base}/{i}-ubyte.gz", s, name) for i, s in zip(_IDX, sums, strict=True))
    if name == "cifar10":
        return (Archive(f"{_TORONTO}/cifar-10-binary.tar.gz", _CIFAR_MD5, unpacked="cifar-10-batches-bin"),)
    if name == "svhn":
        train = Archive(f"{_HOUSES}/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", name)
        return train, Archive(f"{_HOUSES}/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", name)
    if name in ("tinyimagenet", "tinyimagenet20"):
        url = "https://cs231n.stanford.edu/tiny-imagenet-200.zip"
        return (Archive(url, None, unpacked="tiny-imagenet-200"),)
    if name in ("signs", "motion"):
        raise ValueError(
            f"{name} has no official file of this form: make {name}.npz with lab/tools/pack_recordings.py"
        )
    version = 2 if name.endswith("v2") else 1
    folder = f"speech_commands_v0.0{version}"
    return (Archive(f"{_GOOGLE}/{folder}.tar.gz", _SPEECH_SHA[version - 1], unpacked=folder),)


def get(name: str, folder: Path, show: Show) -> list[dict[str, Any]]:
    """Fetch a dataset, unless it is there already, and say of each file what was done.

    A file that was put into the folder by hand is checked and unpacked like one that was fetched.
    """
    return [_settle(item, folder, show) for item in archives(name)]


def _settle(archive: Archive, folder: Path, show: Show) -> dict[str, Any]:
    place = folder / archive.folder / archive.file
    target = folder / archive.unpacked if archive.unpacked else place
    if target.exists() and archive.unpacked:
        return {"path": str(target), "done": "already there", "checked": False}
    by_hand = place.exists()
    if not by_hand:
        fetch(archive, place, show)
    elif archive.known_hash:
        kind, _, published = archive.known_hash.partition(":")
        found = pooch.file_hash(str(place), kind)
        if found != published:
            raise ValueError(f"{place}: {kind} is {found}, published is {published}; replace it")
    if archive.unpacked:
        try:
            unpack(place, target)
        finally:
            if not by_hand:
                place.unlink()
    done = "already there" if by_hand else "fetched"
    return {"path": str(target), "done": done, "checked": archive.digest is not None}


@dataclass(frozen=True)
class Resumed:
    """Fetches a file for pooch, from where an earlier try has left it."""

    part: Path  # what has come so far
    show: Show

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Fetch what is missing; a server that cannot give a part of a file gives all of it."""
        start = self.part.stat().st_size if self.part.exists() else 0
        asked = {"User-Agent": "tcuq", "Accept-Encoding": "identity"}
        asked |= {"Range": f"bytes={start}-"} if start else {}
        with requests.get(url, headers=asked, stream=True, timeout=60) as answer:
            if answer.status_code == 416 and start:
                self.part.unlink()  # not shorter than the file itself, so it was part of another
                return self(url, output_file, pooch)
            answer.raise_for_status()
            start = start if answer.status_code == 206 else 0
            total = start + int(answer.headers["Content-Length"]) if "Content-Length" in answer.headers else 0
            with self.part.open("ab" if start else "wb") as out:
                for chunk in answer.iter_content(CHUNK):
                    out.write(chunk)
                    self.show(out.tell(), total, url.rpartition("/")[2])
        os.replace(self.part, output_file)


def fetch(archive: Archive, place: Path, show: Show) -> None:
    """Fetch one file; what an earlier try has left in ``FILE.part`` is gone on with if it can be checked."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(place.name + ".part")
    if not archive.digest:
        part.unlink(missing_ok=True)
    advice = f"put {archive.file} into {place.parent} and run this again"
    logging.getLogger("pooch").setLevel(logging.WARNING)
    try:
        pooch.retrieve(
            archive.url, archive.known_hash, place.name, place.parent, downloader=Resumed(part, show)
        )
    except requests.HTTPError as error:
        answer = error.response
        said = f"{answer.status_code} {answer.reason}" if answer is not None else str(error)
        raise ValueError(f"{archive.url}: answered {said}; {advice}") from None
    except requests.RequestException as error:
        raise ValueError(f"{archive.url}: cannot be fetched ({error}); {advice}") from None
    except ValueError as error:  # of another digest
        raise ValueError(f"{error}; run this again, or {advice}") from None
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(place)) from None


def unpack(archive: Path, target: Path) -> None:
    """Unpack an archive into a folder that is there whole or not at all; no member may leave it.

    Where the archive holds a folder of the target's name, that folder becomes the target.
    """
    whole = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tcuq.")) / "whole"
    try:
        if zipfile.is_zipfile(archive):
            shutil.unpack_archive(archive, whole, "zip")
        else:
            shutil.unpack_archive(archive, whole, filter="data")
        inner = whole / target.name
        os.replace(inner if inner.is_dir() else whole, target)
    except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{archive}: cannot be unpacked ({error})") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        shutil.rmtree(whole.parent, ignore_errors=True)
