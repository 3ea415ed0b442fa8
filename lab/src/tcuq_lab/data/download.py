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

from .dataset import Archive, entry

try:
    import pooch
    import requests
except ImportError:
    raise ImportError("datasets are fetched by pooch: pip install pooch") from None

Show = Callable[[int, int, str], None]
CHUNK = 1 << 18


def archives(name: str) -> tuple[Archive, ...]:
    """Return the files that make up a dataset."""
    found = entry(name).archives
    if not found:
        raise ValueError(f"{name} has no official file of this form: make {name}.npz with tcuq-lab data pack")
    return found


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
