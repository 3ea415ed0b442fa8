"""Decisions of one commit as a file that `numpy.load` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.steps import STEP_DTYPE, Steps
from .events import Decided
from .store import read_arrays, write_arrays


def write_decided(path: Path, parts: Sequence[Decided]) -> int:
    """Write decisions whole; return the bytes.

    The file has a column for each field of a step, numbers in the least width that holds them exactly, and
    `boots`, `seqs`, `times`; `device` and `version` count from 0 in the lists of names, which are UTF-8 in
    `names` and `versions`, each up to its end in `name_ends` and `version_ends`.
    """
    devices = np.concatenate([part.devices for part in parts])
    numbers = dict.fromkeys(devices.tolist())
    numbers = {name: number for number, name in enumerate(numbers)}
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
    for name, texts in (("names", list(numbers)), ("versions", [part.version for part in parts])):
        encoded = [text.encode() for text in texts]
        arrays[name] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        arrays[name[:-1] + "_ends"] = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    return write_arrays(path, arrays)


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.float64:
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values


def _texts(content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> list[str]:
    whole, places = content.tobytes(), ends.tolist()
    return [whole[a:b].decode() for a, b in zip([0, *places], places, strict=False)]


def read_decided(path: Path, class_names: Mapping[str, Sequence[str] | None] | None = None) -> list[Decided]:
    """Return the decisions of a file, one item a version, each row as it was.

    Parameters
    ----------
    path : path
    class_names : mapping of str to sequence of str, optional
        Names of the classes, by version.
    """
    arrays = read_arrays(path)
    names = np.array([*_texts(arrays["names"], arrays["name_ends"]), None], dtype=object)[:-1]
    steps = np.zeros(len(arrays["device"]), dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = arrays[name]
    found = []
    for number, version in enumerate(_texts(arrays["versions"], arrays["version_ends"])):
        mine = arrays["version"] == number
        boots, seqs, times = (arrays[name][mine] for name in ("boots", "seqs", "times"))
        said = Steps.of(steps[mine], (class_names or {}).get(version))
        found.append(Decided(version, names[arrays["device"][mine]], boots, seqs, times, said))
    return found
