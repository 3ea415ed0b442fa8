"""Logs as NPZ: one named array a column."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, located, one_line
from ..base.limits import Limits, limits_given
from ..base.unknown import guess, note_unknown
from ..monitor.data_frames import DETAIL_KEYS
from ..monitor.log import Log
from .values import ALIASES, Softmax, make_log, refuse_bad_rows

KEYS = ("probs", "features", "labels", "segments", "shifted", *DETAIL_KEYS)

_RATIOS = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""Bytes that one byte can unpack to, by the way of packing; others can make far more of it."""

LONGEST_KEY = 200
"""Characters of an array's name."""


def arrays_of(
    content: bytes,
    where: str,
    accepted: Sequence[str] | None = None,
    needed: Sequence[str | tuple[str, ...]] = (),
    limits: Limits | None = None,
    name: str = "file",
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an NPZ file; anything pickled is refused.

    Sizes are read from the headers, and judged, before any array is unpacked. Arrays that are not accepted
    are not unpacked at all; a note names them. `name` is that of the limit that all arrays together have.
    """
    given = limits_given(limits)
    # Each entry of an archive's directory becomes an object, however small it is.
    entries = content.count(b"PK\x01\x02")
    if entries > given.fields:
        expected = given.beyond("fields", entries, "arrays")
        raise InputError("limit", f"{where}: is an archive of {entries:,} files, {expected}")
    # Damage comes as whatever the decoder of the day runs into: too many kinds to name them.
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except MemoryError:
        raise
    except Exception:
        raise InputError("damaged", f"{where}: is damaged, or not NPZ; write it with numpy.savez") from None
    with archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if odd := [key for key in members if not key.isprintable() or len(key) > LONGEST_KEY]:
            expected = f"expected at most {LONGEST_KEY} printable characters"
            raise InputError("value", f"{where}: has an array named {one_line(repr(odd[0]), 60)}, {expected}")
        for each in needed:
            key, *others = (each,) if isinstance(each, str) else each
            if not any(name in members for name in (key, *others)):
                names = ", ".join(accepted[:6]) if accepted is not None else key
                hint = guess(list(members), key)
                has = f"; it has {', '.join(list(members)[:6])}" if members and not hint else ""
                if key == "probs" and "x" in members:
                    has += ": are these inputs? `tcuq record` runs a model over them"
                raise InputError("missing", f"{where}: array {key!r} is missing, expected {names}{hint}{has}")
        wanted = [key for key in members if accepted is None or key in accepted]
        most: int = getattr(given, name)
        total = 0
        for key in wanted:
            size = _unpacked_size(archive, members[key], key, where, len(content))
            total += size
            if total > most:
                taken = f"its arrays take {total:,} bytes up to {key!r} when unpacked"
                raise InputError("limit", f"{where}: {taken}, {given.beyond(name, total)}")
        arrays = {}
        for key in wanted:
            with _whole(key, where), archive.open(members[key]) as member:
                arrays[key] = np.asarray(np.lib.format.read_array(member, allow_pickle=False))
    if accepted is not None:
        note_unknown("array", list(members), accepted, where)
    return arrays


@contextmanager
def _whole(key: str, where: str) -> Iterator[None]:
    """Turn whatever a damaged array leads to into one message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, about what a damaged header looks like
            yield
    except MemoryError:
        raise
    except Exception:
        problem = f"array {key!r} is damaged or holds objects, expected numbers, as numpy.savez writes"
        raise InputError("damaged", f"{where}: {problem}") from None


def _unpacked_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo, key: str, where: str, stored: int) -> int:
    """Return the bytes that an array will take, from its header alone.

    The `stored` bytes of the archive bound what can be in it.
    """
    if info.compress_type not in _RATIOS:
        problem = f"array {key!r} is packed by method {info.compress_type} of ZIP"
        raise InputError("unsupported", f"{where}: {problem}, expected 0 or 8 as numpy.savez writes it")
    with _whole(key, where), archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version](member)
        if dtype.hasobject:
            raise InputError("value", "objects")
        size = math.prod(shape) * int(dtype.itemsize)
        # A header that promises more than the archive holds is damage, whatever the limit.
        most = min(info.file_size, stored * _RATIOS[info.compress_type])
        # An array without values may have a long side all the same, and be as many empty lists.
        if size > most or max(shape, default=0) > max(most, 1 << 16):
            raise InputError("damaged", "truncated")
    return size


def read_npz(content: bytes, where: str, limits: Limits | None = None, softmax: Softmax | None = None) -> Log:
    """Read a log from the bytes of an NPZ file."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    found = arrays_of(content, where, (*KEYS, *ALIASES.values()), ("probs",), limits)
    for key, values in found.items():
        if ALIASES.get(key, key) in arrays:
            raise InputError("conflict", f"{where}: array {key!r} is there under two names; remove one")
        arrays[ALIASES.get(key, key)] = values
    with located(where):
        log = make_log(**arrays, softmax=softmax)
    refuse_bad_rows(log, where)
    return log


def encode_log(log: Log) -> bytes:
    """Return a log as the bytes of an NPZ file."""
    columns = {key: getattr(log, "kinds" if key == "shifted" else key) for key in KEYS}
    file = io.BytesIO()
    np.savez_compressed(file, **{k: v for k, v in columns.items() if v is not None})
    return file.getvalue()
