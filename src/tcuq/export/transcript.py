"""Everything that a monitor gives at every step, in the core's integers, and a digest of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.monitor import Monitor

Int8 = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

BASIS, PRIME = 2166136261, 16777619
"""Of the 32-bit FNV-1a digest, here over whole words instead of bytes."""


@cache
def step_fields() -> tuple[str, ...]:
    """Return the fields of `tcuq_step_t` in the order of the core's own header.

    A field that the core gains is compared without a change here.

    Examples
    --------
    >>> {"prediction", "risk", "threshold", "abstain", "alarm"} <= set(step_fields())
    True
    """
    header = (resources.files("tcuq") / "core" / "tcuq.h").read_text(encoding="utf-8")
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = next(text for text, name in _structs(plain) if name == "tcuq_step_t")
    return tuple(re.findall(r"(\w+)\s*;", body))


def _structs(text: str) -> Iterable[tuple[str, str]]:
    return re.findall(r"typedef struct \{([^{}]*)\}\s*(\w+);", text)


@dataclass(frozen=True, eq=False)
class Transcript:
    """What a monitor gave, step by step.

    Parameters
    ----------
    fields : int array (steps, fields)
        `step_fields` of every step, risk and the like in units of 1/65536.
    signals : int array (steps, signals)
        In units of 1/65536, 0 where unused.
    """

    fields: Ints
    signals: Ints

    def __len__(self) -> int:
        return len(self.fields)

    def __add__(self, other: Transcript) -> Transcript:
        return Transcript(
            np.concatenate([self.fields, other.fields]), np.concatenate([self.signals, other.signals])
        )

    def __getitem__(self, part: slice) -> Transcript:
        return Transcript(self.fields[part], self.signals[part])

    def column(self, field: str) -> Ints:
        """Return one field of all steps."""
        return np.asarray(self.fields[:, step_fields().index(field)])

    def digest(self) -> int:
        """Return a digest of every field and signal of every step, as the exported C computes it."""
        return digest(np.concatenate([self.fields, self.signals], axis=1).ravel().tolist())


def digest(words: Iterable[int]) -> int:
    """Return the digest of 32-bit words.

    Each word permutes the digests, so two streams that differ in one word never have the same digest.

    Examples
    --------
    >>> digest([]) == BASIS, digest([0, -1]) == digest([0, 2**32 - 1]), digest([1]) == digest([2])
    (True, True, False)
    """
    found = BASIS
    for word in words:
        found = (found ^ (word & 0xFFFFFFFF)) * PRIME & 0xFFFFFFFF
    return found


def take(monitor: Monitor, probs: Int8, features: Int8) -> Transcript:
    """Run a monitor on rows and return everything that it gives."""
    given = features if monitor.params.features else None
    steps, signals = monitor.run(probs, given, signals=True)
    columns: list[Any] = [
        steps[name] * (ONE if steps.dtype[name].kind == "f" else 1) for name in step_fields()
    ]
    # What the parameters do not ask for is NaN in Python, 0 in the core.
    fields = np.stack([np.nan_to_num(column).astype(np.int64) for column in columns], axis=1)
    return Transcript(fields, np.asarray(signals * ONE).astype(np.int64))
