"""Logs as NPZ: one named array a column."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.log import Log
from .values import ALIASES, Softmax, bad_features, bad_posteriors, logits_hint, make_log

KEYS = ("probs", "features", "labels", "segments", "shifted")


def arrays_of(
    content: bytes, where: str, accepted: Sequence[str] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an NPZ file; refuse keys that are not accepted, and anything pickled.

    Parameters
    ----------
    content : bytes
    where : str
        Name of the file in messages.
    accepted : sequence of str, optional
        All keys are by default.
    """
    # Damage comes as whatever the decoder of the day runs into: too many kinds to name them.
    try:
        archive = np.load(io.BytesIO(content), allow_pickle=False)
    except MemoryError:
        raise
    except Exception:
        archive = None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError(f"{where}: is not an NPZ file, or is damaged")
    with archive:
        for key in archive.files:
            if accepted is not None and key not in accepted:
                raise ValueError(f"{where}: key {key!r} is unknown; {', '.join(accepted)} are accepted")
        arrays = {}
        for key in archive.files:
            try:
                arrays[key] = np.asarray(archive[key])
            except MemoryError:
                raise
            except Exception:
                raise ValueError(
                    f"{where}: array {key!r} is damaged or holds objects; numbers are accepted"
                ) from None
    return arrays


def read_npz(content: bytes, where: str, softmax: Softmax | None = None) -> Log:
    """Read a log from the bytes of an NPZ file.

    Parameters
    ----------
    content : bytes
    where : str
        Name of the file in messages.
    softmax : callable, optional
        Makes posteriors of ``probs``, which are logits then.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.savez(file, probs=np.array([[0.75, 0.25]]), labels=np.array([0]))
    >>> len(read_npz(file.getvalue(), "log.npz"))
    1
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for key, values in arrays_of(content, where, (*KEYS, *ALIASES.values())).items():
        if ALIASES.get(key, key) in arrays:
            raise ValueError(f"{where}: key {key!r} stands twice, under another name")
        arrays[ALIASES.get(key, key)] = values
    if "probs" not in arrays:
        raise ValueError(f"{where}: key 'probs' is missing; {', '.join(KEYS)} are accepted")
    try:
        log = make_log(**arrays, softmax=softmax)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None
    if not len(log):
        raise ValueError(f"{where}: holds no steps; at least one row is needed")
    bad: dict[int, str] = {}
    if log.features is not None and log.features.dtype.kind == "f":
        bad.update(bad_features(log.features))
    if log.probs.dtype.kind == "f":
        for row, message in bad_posteriors(log.probs).items():
            bad[row] = message + logits_hint(log.probs[row])
    if bad:
        row = min(bad)
        raise ValueError(f"{where}, row {row}: {bad[row]}")
    return log
