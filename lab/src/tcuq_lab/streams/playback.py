"""Real examples of a stream, corrupted as they are shown, so that no corrupted set has to be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..corruptions import Suite, corrupt, suite_of
from ..corruptions import suite as suite_named
from ..corruptions.suite import FROZEN
from ..data import Dataset
from ..data.ood import ood_labels, ood_name
from ..data.parts import keyword_labels, load_part, split_of
from .description import Description
from .held import FRESH, Shaker
from .plan import Chunk
from .sliding import check_words_stay, sliding_windows
from .stream import Stream, steps

Labels = npt.NDArray[np.int64]


def part_labels(name: str, part: str) -> Labels:
    """Return the labels of `load_part`, without decoding speech."""
    split = split_of(name, part)
    return keyword_labels(split) if name == "speech_commands" else load_part(name, part).y


def labels_for(description: Description) -> tuple[Labels, dict[str, Labels]]:
    """Return what `build` needs for a description: labels, and those of the OOD sets by name."""
    task, part = description.dataset, description.part
    for each in description.ood:
        accepted = ood_name(task, part)
        if each.name != accepted:
            raise ValueError(f"OOD set {each.name!r} does not go with {task} {part}; {accepted} does")
    return part_labels(task, part), {each.name: ood_labels(task, part) for each in description.ood}


class Shown(NamedTuple):
    """Some steps of a stream: examples, true labels, numbers of the kind of shift."""

    x: npt.NDArray[np.generic]
    y: npt.NDArray[np.int64]
    shift: npt.NDArray[np.uint8]


def inputs(
    plan: Stream | Description,
    data: Dataset,
    suite: str | None = None,
    *,
    ood: Mapping[str, Dataset] | None = None,
    noise: npt.NDArray[np.int16] | None = None,
    chunk: int = 200,
    seed: int = 0,
) -> Iterator[Shown]:
    """Give the examples of a stream, chunk by chunk; the memory does not grow with its length.

    Reversed segments are the exception; see `tcuq_lab.streams.steps`.

    An example is corrupted as it would be with the whole set: ``corrupt(data.x, suite, kind, severity,
    seed)`` has the same bytes in its row. A held picture is shaken before it is corrupted, and noise of the
    sensor (`held.FRESH`) is redrawn at every step. Continuous sound is corrupted before it is windowed.
    Where the input is frozen, every step shows what the last step before it showed.
    """
    about = plan if isinstance(plan, Description) else plan.description
    size = integer("chunk", chunk, 1, 2**31)
    if (data.name, data.split) != (about.dataset, about.part):
        raise ValueError(
            f"data is {data.name} {data.split}, expected {about.dataset} {about.part}, as the plan says"
        )
    sets = ood or {}
    corrupting = suite if suite is not None or not about.shifts else suite_of(about.dataset).name
    if corrupting is not None:
        known_kinds(about, suite_named(corrupting))
    for each in about.ood:
        if each.name not in sets:
            raise ValueError(f"ood lacks {each.name}; every OOD set of the stream is needed")
        found = sets[each.name].x
        if found.dtype != data.x.dtype or found.shape[1:] != data.x.shape[1:]:
            raise ValueError(
                f"examples of {each.name} are {found.dtype} {found.shape[1:]}, expected "
                f"{data.x.dtype} {data.x.shape[1:]}, as in {data.name}"
            )
    if isinstance(plan, Description):
        chunks = steps(plan, data.y, {each.name: sets[each.name].y for each in about.ood}, size)
    else:
        _fits(plan, data, sets)
        chunks = plan.chunks(size)
    if about.sliding is not None:
        if noise is None:
            raise ValueError("noise is not given; continuous sound needs seconds of noise")
        heard = sliding_windows(about, data.x, data.y, noise, chunk=size, seed=seed)
        shows: Iterator[Shown] = (
            Shown(x, part.label, part.shift) for x, part in zip(heard, chunks, strict=True)
        )
    else:
        if about.held is not None and (data.x.dtype != np.uint8 or data.x.ndim < 3):
            raise ValueError(f"data is {data.x.dtype} {data.x.shape}; held shakes uint8 pictures")
        shows = _shows(chunks, about, data, corrupting, sets, seed)
    return _freezing(shows, about.kinds.index(FROZEN)) if FROZEN in about.kinds else shows


def _freezing(shows: Iterator[Shown], kind: int) -> Iterator[Shown]:
    """Show, at every step of a kind of shift, what was shown last before it."""
    last: npt.NDArray[np.generic] | None = None
    for shown in shows:
        before = shown.x[:1] if last is None else last
        places = np.where(shown.shift == kind, 0, np.arange(1, len(shown.x) + 1))
        x = np.concatenate([before, shown.x])[np.maximum.accumulate(places)]
        last = x[-1:]
        yield shown._replace(x=x)


def known_kinds(description: Description, suite: Suite) -> None:
    """Refuse a description that shows a kind or a severity that a suite does not have."""
    for shift in description.shifts:
        for severity in shift.severities:
            suite.setting(shift.kind, severity)


def check_media(description: Description, media: str) -> None:
    """Refuse held sound, sliding pictures, and shifts that move the words of continuous sound."""
    for name, wanted in (("held", "pictures"), ("sliding", "sound")):
        if getattr(description, name) is not None and media != wanted:
            raise ValueError(f"{description.dataset} has {media}, expected {wanted} for a {name} stream")
    if description.sliding is not None:
        check_words_stay(description)


def _fits(stream: Stream, data: Dataset, ood: Mapping[str, Dataset]) -> None:
    """Refuse data that the stream was not built from."""
    for place, source in enumerate(stream.sources):
        index = stream.index[stream.source == place]
        kind, _, which = source.partition("/")
        found = ood[which] if kind == "ood" else data
        if index.max(initial=-1) >= len(found.x):
            raise ValueError(
                f"{found.name} {found.split} has {len(found.x)} examples; {source} needs {index.max() + 1}"
            )
    known = stream.label >= 0
    if not np.array_equal(data.y[stream.index[known]], stream.label[known]):
        raise ValueError(f"{data.name} {data.split} has other labels than the stream was built from")


def _shows(
    chunks: Iterator[Chunk],
    about: Description,
    data: Dataset,
    suite: str | None,
    ood: Mapping[str, Dataset],
    seed: int,
) -> Iterator[Shown]:
    """Show the examples of chunks in their order."""
    shaker = None if about.held is None else Shaker(about.held, about.seed)
    step = 0
    for chunk in chunks:
        x = np.empty((len(chunk.source), *data.x.shape[1:]), dtype=data.x.dtype)
        parts = []
        for place in np.unique(chunk.source).tolist():
            kind, _, which = about.sources[place].partition("/")
            rows = np.flatnonzero(chunk.source == place)
            x[rows] = (ood[which] if kind == "ood" else data).x[chunk.index[rows]]
            if kind not in ("clean", "ood", FROZEN):
                parts.append((kind, int(which), rows))
        if shaker is not None:
            x = shaker.shake(x)
        for kind, severity, rows in parts:
            index = step + rows if shaker is not None and kind in FRESH else chunk.index[rows]
            assert suite is not None  # a stream with corruptions has a suite
            x[rows] = corrupt(x[rows], suite, kind, severity, seed, index=index)
        step += len(x)
        yield Shown(x, chunk.label, chunk.shift)
