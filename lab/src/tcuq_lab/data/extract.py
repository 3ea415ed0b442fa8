"""Unpacking tar and zip archives that nobody has to trust."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

CHUNK = 1 << 20
Members = Generator[tuple[PurePosixPath, IO[bytes] | None], None, None]


def unpack(archive: Path, target: Path, limit: int) -> None:
    """Unpack an archive into a folder that is there whole or not at all.

    Members may be plain files and folders below the target, nothing else. Where the archive holds a folder
    of the target's name, that folder becomes the target.
    """
    free = shutil.disk_usage(target.parent).free
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tcuq."))
    try:
        whole = made / "whole"  # unlike a temporary folder, it has the permissions of any new one
        whole.mkdir()
        _fill(archive, whole, limit, free)
        inner = whole / target.name
        os.replace(inner if inner.is_dir() else whole, target)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"{archive}: holds {Path(error.filename).name!r} twice, expected once") from None
    except (
        gzip.BadGzipFile,
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        lzma.LZMAError,
    ) as error:
        raise ValueError(f"{archive}: is damaged ({error})") from None
    except OSError as error:
        if error.errno == errno.EINVAL:  # zipfile goes where a damaged archive sends it
            raise ValueError(f"{archive}: is damaged ({error.strerror})") from None
        raise OSError(error.errno, error.strerror, str(target)) from None
    except (RuntimeError, NotImplementedError) as error:  # zipfile's: encrypted, unknown compression
        raise ValueError(f"{archive}: cannot be unpacked ({error})") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(archive: Path, made: Path, limit: int, free: int) -> None:
    written = 0
    opened = _zip(archive) if zipfile.is_zipfile(archive) else _tar(archive)
    with closing(opened) as members:
        for name, file in members:
            path = made / name
            if file is None:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with file, path.open("xb") as out:
                while chunk := file.read(CHUNK):
                    written += len(chunk)
                    if written > limit:
                        raise ValueError(
                            f"{archive}: unpacks to more than {limit} bytes, expected up to that"
                        )
                    if written > free:
                        raise ValueError(f"{archive}: unpacks to more than the {free} bytes that are free")
                    out.write(chunk)


def _tar(archive: Path) -> Members:
    with tarfile.open(archive) as opened:
        for member in opened:
            name = safe_name(archive, member.name)
            if not (member.isfile() or member.isdir()):
                raise ValueError(f"{archive}: member {member.name!r} is a link or device, expected files")
            yield name, opened.extractfile(member)
        # The padding, and with it the checksum of a compressed archive, which tarfile leaves unread.
        if opened.fileobj is not None and opened.fileobj.read(CHUNK) and opened.fileobj.read(1):
            raise ValueError(f"{archive}: goes on after its end, expected padding of up to {CHUNK} bytes")


def _zip(archive: Path) -> Members:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = safe_name(archive, member.filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ValueError(f"{archive}: member {member.filename!r} is a link or device, expected files")
            yield name, None if member.is_dir() else opened.open(member)


def safe_name(archive: Path, name: str) -> PurePosixPath:
    """Return the path of a member, which must stay below the folder it is unpacked in.

    Examples
    --------
    >>> safe_name(Path("a.tar"), "./data/x.bin")
    PurePosixPath('data/x.bin')
    >>> safe_name(Path("a.tar"), "../x")
    Traceback (most recent call last):
    ...
    ValueError: a.tar: member '../x' leaves the folder, expected relative names without '..'
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or any(sign in name for sign in "\\:\0"):
        raise ValueError(
            f"{archive}: member {name!r} leaves the folder, expected relative names without '..'"
        )
    return path
