"""`LabelSampler`: which steps of one device to have labeled, each with a chance that is known."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError

U64 = npt.NDArray[np.uint64]


def seed_given(seed: int | None) -> int:
    """Return a seed, drawn at random where none is given: who chooses the input must not know it."""
    return secrets.randbits(63) if seed is None else integer("seed", seed, 0, 2**63 - 1)


def device_keys(version: str, devices: Iterable[str]) -> U64:
    """Return a number for each device of a version, of which `step_hashes` makes one for each step."""
    start = version.encode() + b"\0"
    raw = (start + name.encode("utf-8", "surrogatepass") for name in devices)
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in raw)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mixed(values: U64) -> U64:
    """Return numbers that look random, each a function of its value alone (the finalizer of splitmix64)."""
    bits = values + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)), dtype=np.uint64)


def step_hashes(seed: int, keys: U64, boots: npt.NDArray[Any], seqs: npt.NDArray[Any]) -> U64:
    """Return a number for each step, from the seed and from what names the step."""
    start = np.frombuffer(hashlib.blake2b(str(seed).encode(), digest_size=8).digest(), dtype="<u8")
    hashes = mixed(keys ^ start.astype(np.uint64))
    for part in (boots, seqs):
        hashes = mixed(hashes ^ mixed(np.asarray(part, dtype=np.int64).astype(np.uint64)))
    return hashes


FLOOR = 0.5
"""Share of the rate that every step has: where the monitor is sure it may be wrong, and a label that is
likely to be asked for bounds how often. Of 0.2, 0.5 and 1, this one gave the narrowest intervals."""

BURST = 8
"""Labels that may be asked for ahead of the rate, as when a stream turns doubtful."""


class Asked(NamedTuple):
    """Whether each step is to be labeled, and the chance of it, which was known before it was drawn."""

    asked: npt.NDArray[np.bool_]
    chance: npt.NDArray[np.float64]


def spread(uncertainty: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``sqrt(u * (1 - u))`` of each step: by how much its label may differ from what is expected."""
    return np.sqrt(uncertainty * (1 - uncertainty))


def drawn(
    seed: int, keys: U64, boots: npt.NDArray[Any], seqs: npt.NDArray[Any], chance: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Say which steps are asked for, each with its chance: a function of what names the step alone."""
    return np.asarray((step_hashes(seed, keys, boots, seqs) >> np.uint64(11)) * 2.0**-53 < chance)


class LabelSampler:
    """Ask for labels of one device at random, more often where the monitor is in doubt.

    The chance of a step is half the rate, plus what is proportional to ``sqrt(u * (1 - u))`` of its
    uncertainty u: there a label narrows `accuracy_from_labels` most. It depends on this step and on earlier
    ones alone. The draw is a hash of seed, device, boot and seq: the same however steps are batched, and
    after a restart. Keep the object with the monitor's state; `pickle` takes it. A fleet draws in the same
    way, with one budget a day for all devices: `tcuq_watch.engine.labels.Labels`.

    Parameters
    ----------
    rate : float
        Labels a step, above 0 and at most 1. After n steps, at most ``rate * n + 8`` are expected.
    seed : int, optional
        For the same draw again. Left out, it is drawn at random and kept in `seed`. Who chooses the input
        must not know it, or the interval of `accuracy_from_labels` may be wrong.
    device : str, default ""
        Its name: devices of the same seed draw differently.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> steps = Monitor(Params(classes=2)).run(np.tile([[1.0, 0.0], [0.6, 0.4]], (500, 1)))
    >>> asked, chance = LabelSampler(rate=0.1, seed=0).ask(steps["uncertainty"])
    >>> int(asked.sum()), bool(chance[1::2].min() > chance[0::2].max())
    (95, True)
    """

    def __init__(self, rate: float, seed: int | None = None, device: str = "") -> None:
        self.rate = number("rate", rate, 0, 1)
        if not self.rate:
            raise InputError("value", "rate is 0, expected above 0 and at most 1")
        self.seed = seed_given(seed)
        self.device = device
        self.steps, self.expected = 0, 0.0
        self._total = 0.5  # of sqrt(u * (1 - u)), as if one step had been in full doubt

    def ask(self, uncertainty: npt.ArrayLike, boots: Any = 0, seqs: npt.ArrayLike | None = None) -> Asked:
        """Say which of the next steps to have labeled.

        Parameters
        ----------
        uncertainty : array of n numbers, or one
            Of the steps, in their order: ``steps["uncertainty"]``.
        boots : int or array of n integers, default 0
            Which start of the device: the same boot and seq draw the same.
        seqs : array of n integers, optional
            Number of each step since then; default: they are counted here.
        """
        doubts = np.atleast_1d(np.asarray(uncertainty, dtype=np.float64))
        if doubts.ndim != 1 or not ((doubts >= 0) & (doubts <= 1)).all():
            raise InputError("value", "uncertainty is out of range, expected 0 to 1, one number per step")
        places = self.steps + np.arange(len(doubts)) if seqs is None else np.atleast_1d(np.asarray(seqs))
        starts = np.asarray(boots)
        starts = np.broadcast_to(starts, doubts.shape) if starts.ndim == 0 else starts
        for name, values in (("boots", starts), ("seqs", places)):
            if values.shape != doubts.shape or (values.size and values.dtype.kind not in "iu"):
                given = f"{name} are {values.dtype} {values.shape}"
                raise InputError("value", f"{given}, expected {len(doubts)} integers, one per step", name)
        chance = np.array([self._chance(each) for each in spread(doubts).tolist()])
        keys = np.repeat(device_keys("", [self.device]), len(doubts))
        return Asked(drawn(self.seed, keys, starts, places, chance), chance)

    def _chance(self, doubt: float) -> float:
        least = max(FLOOR * self.rate, 2 * self.rate - 1)  # so that a rate of 1 asks for all
        wanted = least + (self.rate - least) * doubt * (self.steps + 1) / self._total
        room = self.rate * (self.steps + 1) + BURST - self.expected
        chance = min(1.0, max(least, min(wanted, room)))
        self.steps, self.expected, self._total = self.steps + 1, self.expected + chance, self._total + doubt
        return chance
