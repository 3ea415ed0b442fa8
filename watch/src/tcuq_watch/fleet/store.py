"""Files of a fleet: each whole or not there at all, and a HEAD that names those that count.

A commit writes new files, waits until the disk has them, and then replaces HEAD by renaming. Files that no
HEAD names are removed afterwards, or at the next opening.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import NO_LINK, refuse_links, sync_folder
from tcuq.base.errors import InputError, one_line
from tcuq.base.json_text import from_json
from tcuq.base.limits import read_limited
from tcuq.monitor.steps import STEP_DTYPE, Steps

from ..engine.events import Decided, packed, unpacked

FORMAT = "tcuq fleet"
LAYOUT = 1
HEAD, LOCK = "HEAD", "LOCK"
STATE, DECISIONS, VERSIONS, REQUESTS = "state", "decisions", "versions", "requests"
PART = ".part"
"""End of the name of a file that is being written."""

BUFFER = 1 << 20


class _Stream:
    """A file that is written from its beginning to its end, without a step back."""

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush


def make_folders(folder: Path) -> None:
    """Make the folder of a fleet, and those in it, where they are not there; refuse links among them."""
    refuse_links(folder, STATE, DECISIONS, VERSIONS, REQUESTS)
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()][::-1]
    missing += [
        each for each in (folder / name for name in (STATE, DECISIONS, VERSIONS)) if not each.is_dir()
    ]
    for each in missing:
        each.mkdir(exist_ok=True)
    for parent in dict.fromkeys(each.parent for each in missing):
        sync_folder(parent)


def _own(path: str, flags: int) -> int:
    """Open a file, but not through a symbolic link."""
    return os.open(path, flags | NO_LINK, 0o666)


def _written(path: Path, fill: Any) -> int:
    part = path.with_name(path.name + PART)
    with open(part, "wb", BUFFER, opener=_own) as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    os.replace(part, path)
    return size


def write_bytes(path: Path, content: bytes) -> int:
    """Write a file whole; the disk has it, but perhaps not yet its name. Return its bytes."""
    return _written(path, lambda file: file.write(content))


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> int:
    """Write arrays whole, as `numpy.load` reads them: each with a CRC, none pickled. Return the bytes."""

    def fill(file: Any) -> None:
        stream: Any = _Stream(file)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)

    return _written(path, fill)


def read_arrays(path: Path, size: int | None = None) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file; one that is damaged is refused in one line."""
    found = path.stat().st_size
    if size is not None and found != size:
        raise InputError("damaged", f"{path} is damaged: it has {found} bytes, expected {size}")
    try:
        with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, about what a damaged header looks like
            return {
                info.filename.removesuffix(".npy"): _array(archive, info, found)
                for info in archive.infolist()
            }
    except MemoryError:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a place before the beginning is damage, not the disk
            raise
        raise InputError("damaged", f"{path} is damaged: it is no archive of arrays") from None
    except Exception as error:  # damage comes as whatever the decoder of the day runs into
        raise InputError("damaged", f"{path} is damaged: {error}") from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> npt.NDArray[Any]:
    """Return an array; nothing is packed in a fleet's files, so that none is larger than its file."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > size:
        raise InputError("damaged", f"{info.filename!r} is packed, expected stored bytes")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version != (1, 0):
            raise InputError("damaged", f"{info.filename!r} has another version of the format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize > size:
            raise InputError("damaged", f"{info.filename!r} takes more than the file has")
    with archive.open(info) as member:
        return np.asarray(np.lib.format.read_array(member, allow_pickle=False))


def remove(path: Path) -> None:
    """Remove a file that nobody needs; one that stays is removed at the next opening."""
    with contextlib.suppress(OSError):
        path.unlink()


def write_head(folder: Path, head: Mapping[str, Any]) -> None:
    """Replace HEAD: from here on its files count. The disk must have them by now."""
    line = json.dumps({"format": FORMAT, "layout": LAYOUT, **head}, allow_nan=False).encode()
    write_bytes(folder / HEAD, line + f"\n{zlib.crc32(line):08x}\n".encode())
    sync_folder(folder)


def read_head(folder: Path) -> dict[str, Any] | None:
    """Return what HEAD says, None for a folder without one."""
    path = folder / HEAD
    try:
        line, _, rest = read_limited(path).partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        head = from_json(line)
        known, layout = head["format"], head["layout"]
    except (ValueError, KeyError, TypeError):
        raise InputError("damaged", f"{path} is damaged or not of a fleet") from None
    if known != FORMAT:
        raise InputError("damaged", f"{path} is of {one_line(repr(known), 60)}, expected {FORMAT!r}")
    if layout != LAYOUT:
        shown = one_line(str(layout), 60)
        raise InputError(
            "conflict", f"{path} has layout {shown}, expected {LAYOUT}; use the release that wrote it"
        )
    if rest.strip() != f"{zlib.crc32(line):08x}".encode():
        raise InputError("damaged", f"{path} is damaged: its checksum is another")
    _check_head(path, head)
    return dict(head)


def _check_head(path: Path, head: Mapping[str, Any]) -> None:
    """Refuse a HEAD whose values have other types than this package writes."""
    kinds: dict[str, Any] = {"commit": int, "refused": dict, "hold": int, "bridge": int, "versions": list}
    entry = {"name": str, "fingerprint": str, "params": str, "files": list, "feature_scale": (int, float)}
    file = {"name": str, "bytes": int}

    def has(found: Any, wanted: Mapping[str, Any]) -> bool:
        if not isinstance(found, dict):
            return False
        return all(isinstance(found.get(key), kind) for key, kind in wanted.items())

    good = has(head, kinds) and "position" in head and "labels" in head
    good = good and type(head.get("decisions", 0)) is int
    good = good and all(type(count) is int for count in head["refused"].values())
    good = good and (head["labels"] is None or has(head["labels"], file))
    for each in head["versions"] if good else ():
        good = good and has(each, entry) and all(has(one, file) for one in each["files"])
    names = [] if not good else [each["params"] for each in head["versions"]]
    names += [] if not good else [one["name"] for each in head["versions"] for one in each["files"]]
    names += [head["labels"]["name"]] if good and head["labels"] else []
    # Files of a fleet lie in its folder: no name leads out of it.
    good = good and all(re.fullmatch(r"(state|versions)/[0-9A-Za-z_-]+\.(npz|json)", name) for name in names)
    if not good:
        raise InputError("damaged", f"{path} is damaged: it lacks something, or names what cannot be")


def check_new(folder: Path) -> None:
    """Refuse a folder without HEAD that holds other things than an opening that was cut short leaves."""
    if folder.exists() and not folder.is_dir():
        raise InputError("value", f"{folder} is a file, expected a folder")
    own = {STATE, DECISIONS, VERSIONS, LOCK, HEAD + PART}
    others = sorted(each.name for each in folder.iterdir() if each.name not in own) if folder.is_dir() else []
    if others:
        raise InputError(
            "exists", f"{folder} holds {others[0]!r} and no fleet, expected an empty folder or a fleet's"
        )


def locked(folder: Path) -> Any:
    """Return a file that keeps other writers out until it is closed, or this process ends."""
    path = folder / LOCK
    file = open(path, "a+b", opener=_own)  # noqa: SIM115
    try:
        _lock(file)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            file.close()
            raise InputError(
                "unsupported",
                f"{folder} cannot be locked ({error.strerror}), expected a file system that keeps locks",
            ) from None
        file.seek(0)
        owner = file.read(20).decode(errors="replace").strip() or "?"
        file.close()
        said = f"{folder} is in use by process {owner}; open it with read_only=True to look"
        raise InputError("busy", said, "folder", owner) from None
    try:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
    except OSError as error:
        with contextlib.suppress(OSError):
            file.close()
        raise type(error)(error.errno, error.strerror, str(path)) from None
    return file


def _lock(file: Any) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        windows: Any = msvcrt
        file.seek(1 << 20)  # beyond the number of the process, which others read
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def clean(folder: Path, named: set[str], last: int) -> None:
    """Remove what no HEAD names: files of a commit that was cut short, or that a later one replaced."""
    for name in (STATE, DECISIONS, VERSIONS):
        for path in sorted((folder / name).iterdir()):
            mine = f"{name}/{path.name}" in named
            decided = name == DECISIONS and path.suffix == ".npz" and path.stem.isdigit()
            if not mine and not (decided and int(path.stem) <= last):
                remove(path)
    if (folder / (HEAD + PART)).exists():
        remove(folder / (HEAD + PART))


def write_decided(path: Path, parts: Sequence[Decided]) -> int:
    """Write decisions whole; return the bytes.

    The file has a column for each field of a step, numbers in the least width that holds them exactly, and
    `boots`, `seqs`, `times`; `device` and `version` count from 0 in the lists of names, which are UTF-8 in
    `names` and `versions`, each up to its end in `name_ends` and `version_ends`.
    """
    devices = np.concatenate([part.devices for part in parts])
    names = list(dict.fromkeys(devices.tolist()))
    numbers = dict(zip(names, range(len(names)), strict=True))
    steps = [np.asarray(part.steps) for part in parts]
    arrays: dict[str, npt.NDArray[Any]] = {
        "device": np.fromiter(map(numbers.__getitem__, devices), np.uint32, len(devices)),
        "version": np.repeat(np.arange(len(parts), dtype=np.uint16), [len(part) for part in parts]),
        "boots": np.concatenate([part.boots for part in parts]),
        "seqs": np.concatenate([part.seqs for part in parts]),
        "times": np.concatenate([part.times for part in parts]),
    }
    for name in STEP_DTYPE.names or ():
        arrays[name] = _narrow(np.concatenate([each[name] for each in steps]))
    arrays["names"], arrays["name_ends"] = packed(names)
    arrays["versions"], arrays["version_ends"] = packed([part.version for part in parts])
    return write_arrays(path, arrays)


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.float64:
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values


def read_decided(path: Path, class_names: Mapping[str, Sequence[str] | None] | None = None) -> list[Decided]:
    """Return the decisions of a file, one item a version, each row as it was."""
    try:
        return _decided(read_arrays(path), class_names or {})
    except (MemoryError, OSError):
        raise
    except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
        if isinstance(error, InputError) and error.code == "damaged":
            raise
        raise InputError("damaged", f"{path} is damaged: {type(error).__name__}: {error}") from None


def _decided(
    arrays: Mapping[str, npt.NDArray[Any]], class_names: Mapping[str, Sequence[str] | None]
) -> list[Decided]:
    names = np.array([*unpacked(arrays["names"], arrays["name_ends"]), None], dtype=object)[:-1]
    steps = np.zeros(len(arrays["device"]), dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = arrays[name]
    found = []
    for number, version in enumerate(unpacked(arrays["versions"], arrays["version_ends"])):
        mine = arrays["version"] == number
        boots, seqs, times = (arrays[name][mine] for name in ("boots", "seqs", "times"))
        said = Steps.of(steps[mine], class_names.get(version))
        found.append(Decided(version, names[arrays["device"][mine]], boots, seqs, times, said))
    return found
