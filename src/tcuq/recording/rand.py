"""Random numbers by seed and name: integers that are the same everywhere, and a generator a place."""

# `Numbers` uses only the raw 64-bit integers of a bit generator, which numpy promises to keep; its
# distributions carry no such promise, and floating point none at all.

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

ONE = 2**64  # the chance of an event that is certain
BLOCK = 256  # raw numbers that `waits` reads at a time; the result does not depend on it


def chance(share: Fraction) -> int:
    """Return a share as a whole number of 2**64ths, at most all of them."""
    return min(ONE, ONE * share.numerator // share.denominator)


class Numbers:
    """A sequence of random integers, drawn one by one or at once; each seed and name has its own."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.blake2b(f"stream/{seed}/{name}".encode(), digest_size=16).digest()
        self._bits = np.random.Philox(key=np.frombuffer(digest, dtype="<u8").astype(np.uint64))

    def raw(self, count: int) -> npt.NDArray[np.uint64]:
        """Return integers from 0 to 2**64 - 1."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)

    def below(self, count: int, bound: int | Sequence[int]) -> npt.NDArray[np.int64]:
        """Return integers from 0 to bound - 1, for bounds up to 2**31: one for all, or one each."""
        # The product of 32 random bits and the bound is cut, so shares are off by up to 2**-32 each.
        high = self.raw(count) >> np.uint64(32)
        return np.asarray((high * np.asarray(bound, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)

    def events(self, count: int, of: int) -> npt.NDArray[np.bool_]:
        """Return independent events of a chance in 2**64ths."""
        drawn = self.raw(count)
        return np.ones(count, dtype=np.bool_) if of >= ONE else np.asarray(drawn < np.uint64(of))

    def shuffled(self, count: int, times: int = 1) -> npt.NDArray[np.int64]:
        """Return the integers 0 to count - 1 in random order, `times` orders as rows."""
        # The order of distinct random keys; equal ones (once in 2**64 pairs) stay in place everywhere.
        return np.argsort(self.raw(count * times).reshape(times, count), axis=1, kind="stable")


def waits(numbers: Numbers, mean: Fraction) -> Iterator[int]:
    """Give geometric numbers, 0 or above, without end: failures before a success."""
    of = chance(1 / (mean + 1))
    failures = 0
    while True:
        last = -1
        for hit in np.flatnonzero(numbers.events(BLOCK, of)).tolist():
            yield failures + hit - last - 1
            failures, last = 0, hit
        failures += BLOCK - 1 - last


class Generators:
    """Gives each place a random generator of its own, which depends on no other place."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
        self._key = np.frombuffer(digest, dtype="<u8")

    def at(self, place: int) -> np.random.Generator:
        """Return a fresh generator of a place, 0 or above."""
        counter = np.array([0, 0, place, 0], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=self._key, counter=counter))
