"""Corrupt examples: the same bytes for the same seed, whatever the batch, the order or the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..parallel import workers as pool_of
from .draws import Draws
from .suite import Suite
from .suite import suite as find

CHUNK = 200
"""Examples that are corrupted together: enough for numpy to be quick, few enough to stay in the cache."""
VALUES = CHUNK * 32 * 32 * 3
"""Values that are corrupted together at most, so that large pictures do not fill the memory."""
SMALLEST = 8
"""Least side of a picture, in pixels."""
SHORTEST = 2048
"""Least length of sound, in samples, an eighth of a second: the windows of time_stretch and pitch_shift must
fit, and noise and rooms mean nothing on less."""

Job = tuple[npt.NDArray[Any], str, str, int, int, npt.NDArray[np.int64]]


def corrupt(
    x: npt.NDArray[Any],
    suite: str,
    kind: str,
    severity: int,
    seed: int = 0,
    *,
    index: npt.ArrayLike | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> npt.NDArray[Any]:
    """Return corrupted copies of examples.

    Every example is disturbed by its own random numbers, which depend on the seed, the suite, the kind
    and its place in the dataset, not on the severity: most kinds are one disturbance that grows. A part of
    a dataset is corrupted as the whole would be.
    """
    known = find(suite)
    known.setting(kind, severity)
    examples = _checked(x, known)
    integer("seed", seed, 0, 2**63 - 1)
    places = _places(index, len(examples))
    step = max(1, min(CHUNK, VALUES // examples[:1].size)) if len(examples) else CHUNK
    jobs = (
        (examples[part], suite, kind, severity, seed, places[part])
        for part in (slice(at, at + step) for at in range(0, len(examples), step))
    )
    out = np.empty(examples.shape, examples.dtype)
    done = 0
    for chunk in _run(jobs, integer("workers", workers, 1, 256), len(examples) <= step):
        out[done : done + len(chunk)] = chunk
        done += len(chunk)
        if progress is not None:
            progress(done, len(examples))
    return out


def _run(jobs: Iterator[Job], workers: int, alone: bool) -> Iterator[npt.NDArray[Any]]:
    if workers == 1 or alone:
        yield from map(_chunk, jobs)
        return
    with pool_of(workers) as pool:
        yield from pool.map(_chunk, jobs)


def _chunk(job: Job) -> npt.NDArray[Any]:
    x, suite, name, severity, seed, places = job
    known = find(suite)
    function, setting = known.kind(name).call(), known.setting(name, severity)
    draws = Draws(seed, f"{suite}/{name}", places)
    # Sums over another layout of memory are rounded otherwise.
    x = np.ascontiguousarray(x)
    if known.media == "sound":
        loud = function(x / 32768.0, draws, setting)
        return np.asarray(np.clip(np.rint(loud * 32768.0), -32768, 32767), dtype=np.int16)
    if known.media == "text":
        return np.asarray(function(x, draws, setting), dtype=np.uint8)
    if known.media == "motion":
        moved = function(x / 128.0 - 1, draws, setting)
        return np.asarray(np.clip(np.rint(128 * (moved + 1)), 0, 255), dtype=np.uint8)
    flat = x.ndim == 3
    bright = function((x[..., None] if flat else x) / 255.0, draws, setting)
    pixels = np.rint(np.clip(bright, 0, 1) * 255).astype(np.uint8)
    return np.asarray(pixels[..., 0] if flat else pixels)


def _checked(x: npt.NDArray[Any], suite: Suite) -> npt.NDArray[Any]:
    examples = np.asarray(x)
    shape = examples.shape
    wanted, kind, fits = {
        "sound": ("int16 (n, samples)", np.int16, len(shape) == 2),
        "text": ("uint8 (n, length)", np.uint8, len(shape) == 2),
        "motion": ("uint8 (n, samples, 1, 3)", np.uint8, len(shape) == 4 and shape[2:] == (1, 3)),
        "pictures": (
            "uint8 (n, height, width) or (n, height, width, 3)",
            np.uint8,
            len(shape) == 3 or (len(shape) == 4 and shape[3] == 3),
        ),
    }[suite.media]
    if not fits or examples.dtype != kind or 0 in shape[1:]:
        raise ValueError(f"x is {examples.dtype} {shape}; {suite.name} corrupts {wanted}")
    if suite.media == "pictures" and min(shape[1:3]) < SMALLEST:
        raise ValueError(f"x is {shape}, expected pictures of {SMALLEST} x {SMALLEST} or more")
    if suite.media == "sound" and shape[1] < SHORTEST:
        raise ValueError(f"x is {shape}, expected sound of {SHORTEST} samples or more")
    return examples


def _places(index: npt.ArrayLike | None, length: int) -> npt.NDArray[np.int64]:
    if index is None:
        return np.arange(length, dtype=np.int64)
    places = np.asarray(index)
    if not length and places.shape == (0,):
        return np.empty(0, np.int64)  # an empty list has no dtype of its own
    if places.shape != (length,) or places.dtype.kind not in "iu":
        raise ValueError(f"index is {places.dtype} {places.shape}, expected {length} integers")
    for extreme in (places.min(), places.max()) if length else ():
        if not 0 <= extreme < 2**63:
            raise ValueError(f"index holds {extreme}, expected 0 to {2**63 - 1}")
    return places.astype(np.int64)
