"""Decisions of one commit as a file that `numpy.load` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.steps import STEP_DTYPE, Steps

from .events import Decided
from .store import packed, read_arrays, unpacked, write_arrays


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
