"""Where the tensors of a graph lie in one block of memory: places are used again, and overlap where they can.

A tensor lives from the step that makes it to the last that reads it; the input lives from the beginning, and
outputs of the graph live to the end. A step's scratch lives for that step. What never lives together may
share bytes. Beyond that, a target may lie over a source that its step reads for the last time, where the
order of the kernel allows it:

- a convolution writes pixels in their order and never looks further back than the kernel reaches, so its
  target may begin some rows before the source and run into it;
- sums, products, tables, dropout and softmax go from the first value to the last: the target may begin where
  a source of its size does;
- a pool writes pixels in their order, as a convolution does, but begins to write before it has read all of
  the first;
- a depthwise convolution reads a row ahead of what it writes, channel by channel: the target may begin where
  the source does, and only there, unless it is wider;
- a dense step reads a row before it writes one.

A view has the bytes of its source, and a constant has none here. A state lives from run to run: nothing else
ever lies there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..graph.model import Graph, Tensor
from ..graph.steps import (
    Add,
    Constant,
    Conv,
    Dense,
    Depthwise,
    Drop,
    FixedSoftmax,
    Keep,
    Mul,
    Pool,
    Softmax,
    Step,
    Table,
    TableAdd,
    View,
    sources_of,
)
from .pack import as_called, is_spread, kernel_of, scratch_of, up4

TRIES = 60
"""Orders that are tried when the first ones miss the bound."""
SCRATCH = "scratch of step "
"""Begins the name of a place that is not a tensor; no tensor's name has a blank."""


@dataclass(frozen=True)
class Place:
    """Bytes, a multiple of four, that a tensor, or a step's scratch, needs from step `first` to `last`."""

    name: str
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class ArenaLayout:
    """Offsets of all places, the bytes they take, and `bound`: no layout is smaller."""

    offsets: Mapping[str, int]
    size: int
    bound: int

    @property
    def bytes(self) -> int:
        """Bytes that a caller provides: one word at least, since C has no array of nothing."""
        return max(self.size, 4)

    def scratch(self, step: int) -> int:
        """Return the offset of a step's scratch."""
        return self.offsets[f"{SCRATCH}{step}"]


def lay_out(graph: Graph, overlap: bool = True, keep_input: bool = False) -> ArenaLayout:
    """Return where everything lies, the input among it: a run overwrites it once it has been read.

    With `keep_input` it lies elsewhere, and a run does not change it.
    """
    places = _merged(graph, _places(graph, keep_input))
    shifts = _shifts(graph, _by_name(graph, places)) if overlap else {}
    bound = _bound(places, shifts)
    best: dict[str, int] = {}
    size = 0
    for order in _orders(places):
        offsets = _place(order, shifts)
        found = max((offsets[place.name] + place.size for place in places), default=0)
        if not best or found < size:
            best, size = offsets, found
        if size <= bound:
            break
    return ArenaLayout(_shared(graph, best), size, bound)


def lag_of(step: Step, source: Tensor, target: Tensor) -> int | None:
    """Return by how many bytes a target must begin before the source that it may overwrite.

    A negative lag means that it may begin that much later. None: only apart, or, for most depthwise
    steps, at the very place.

    Examples
    --------
    >>> w = np.zeros((16, 3, 3, 16), np.int8)
    >>> n = np.zeros(16, np.int32)
    >>> x, y = Tensor("x", (32, 32, 16), 1.0, 0), Tensor("y", (32, 32, 16), 1.0, 0)
    >>> lag_of(Conv("x", "y", w, n, n, (1, 1), (1, 1, 1, 1), np.zeros(16, np.int8)), x, y)
    528
    """
    if isinstance(step, (Add, Drop, Softmax, Table, FixedSoftmax)):
        return 0
    if isinstance(step, (TableAdd, Mul)):
        return 0 if source.size == target.size else None
    if isinstance(step, Dense):
        outputs, inputs = step.weights.shape
        rows = np.arange(1, source.size // inputs)
        return int((rows * (outputs - inputs)).max(initial=-source.size))
    if not isinstance(step, (Conv, Pool)):
        return None
    dilation = step.dilation if isinstance(step, Conv) else (1, 1)
    corners = [np.arange(target.shape[at]) * step.stride[at] - step.padding[at] for at in (0, 1)]
    # The first row and column of each kernel that may lie inside.
    y, x = (
        np.minimum(np.where(corner < 0, corner % dilation[at], corner), source.shape[at])
        for at, corner in enumerate(corners)
    )
    _, width, channels = source.shape
    # First byte that each pixel reads, and the lowest of all pixels after it.
    begin = ((y[:, None] * width + x[None, :]) * channels).ravel()
    later = np.minimum.accumulate(begin[::-1])[::-1][1:]
    written = np.arange(1, len(begin)) * target.shape[2]
    return int((written - later).max(initial=0 if isinstance(step, Pool) else -source.size))


def _keeps_place(step: Step, source: Tensor, target: Tensor) -> bool:
    """Return whether a depthwise step may write over its own input.

    Each four channels go through the whole picture before the next, and a value lands on one of its own
    channel. So only rows matter: what is written must not lie beyond the rows that have been read.
    """
    if not isinstance(step, Depthwise) or is_spread(step):
        return False
    step, source, target = as_called(step, source, target)
    rows = np.arange(target.shape[0])
    read = rows * step.stride[0] - step.padding[0] + kernel_of(step)[0] - 1
    written = ((rows + 1) * target.shape[1] - 1) // source.shape[1]
    return bool((written <= read).all())


def scratch_in(graph: Graph, step: Step) -> int:
    """Return the bytes of scratch that a step of a graph takes."""
    if isinstance(step, (View, Constant)):
        return 0
    return scratch_of(step, graph.tensors[sources_of(step)[0]], graph.tensors[step.target])


def _places(graph: Graph, keep_input: bool) -> list[Place]:
    first: dict[str, int] = {graph.input: 0}
    last: dict[str, int] = {graph.input: 0}
    found = []
    for number, step in enumerate(graph.steps):
        if not isinstance(step, Keep):
            first[step.target] = last[step.target] = number
        for source in sources_of(step):
            last[source] = number
        size = scratch_in(graph, step)
        if size:
            found.append(Place(f"{SCRATCH}{number}", up4(size), number, number))
    for name in (*graph.outputs.values(), *graph.states):
        last[name] = len(graph.steps)
    first |= dict.fromkeys(graph.states, 0)
    if keep_input:
        del first[graph.input]
    found += [Place(name, up4(graph.tensors[name].size), first[name], last[name]) for name in first]
    return found


# Which pairs (target, source) may overlap, and how: a lag, or "same" place.
_Shifts = dict[tuple[str, str], "int | str"]


def _shifts(graph: Graph, places: Mapping[str, Place]) -> _Shifts:
    found: _Shifts = {}
    for number, step in enumerate(graph.steps):
        for name in sources_of(step):
            if name not in places or places[name].last != number:
                continue
            source, target = graph.tensors[name], graph.tensors[step.target]
            lag = lag_of(step, source, target)
            root = places[name].name
            if lag is not None:
                found[step.target, root] = lag
            elif _keeps_place(step, source, target):
                found[step.target, root] = "same"
    return found


def _orders(places: Sequence[Place]) -> list[list[Place]]:
    """Return orders of placing: by size, by time, then shuffles of the first that are the same every time."""
    by_size = sorted(places, key=lambda place: (-place.size, place.first, place.name))
    late = sorted(places, key=lambda place: (-place.size, -place.first, place.name))
    in_time = sorted(places, key=lambda place: (place.first, -place.size, place.name))
    orders = [by_size, late, in_time, in_time[::-1]]
    draw = random.Random(0)
    for _ in range(TRIES):
        orders.append(sorted(places, key=lambda place: (-place.size * draw.uniform(0.5, 1.5), place.name)))
    return orders


def _apart(a: Place, at: int, b: Place, bt: int) -> bool:
    return a.last < b.first or b.last < a.first or at + a.size <= bt or bt + b.size <= at


def _fits(a: Place, at: int, b: Place, bt: int, shifts: _Shifts) -> bool:
    """Return whether two places may lie at two offsets."""
    if _apart(a, at, b, bt):
        return True
    for target, to, source, begin in ((a, at, b, bt), (b, bt, a, at)):
        shift = shifts.get((target.name, source.name))
        if shift == "same" and to == begin:
            return True
        if isinstance(shift, int) and to + shift <= begin:
            return True
    return False


def _place(order: Sequence[Place], shifts: _Shifts) -> dict[str, int]:
    """Put every place at the lowest offset that those before it leave."""
    done: list[tuple[Place, int]] = []
    for place in order:
        near = [
            (other, at) for other, at in done if not (place.last < other.first or other.last < place.first)
        ]
        candidates = {0}
        for other, at in near:
            candidates.add(at + other.size)
            above, below = shifts.get((other.name, place.name)), shifts.get((place.name, other.name))
            if above == "same" or below == "same":
                candidates.add(at)
            if isinstance(above, int):
                candidates.add(max(0, up4(at + above)))
            if isinstance(below, int) and at >= below:
                candidates.add((at - below) // 4 * 4)
        offset = min(c for c in candidates if all(_fits(place, c, other, at, shifts) for other, at in near))
        done.append((place, offset))
    return {place.name: offset for place, offset in done}


def _bound(places: Sequence[Place], shifts: _Shifts) -> int:
    """Return what the fullest step needs."""
    highest = 0
    for number in range(max((place.last for place in places), default=-1) + 1):
        live = {place.name: place for place in places if place.first <= number <= place.last}
        total = sum(place.size for place in live.values())
        spared = [0]
        for (target, source), shift in shifts.items():
            if target in live and source in live and live[target].first == number:
                over, under = live[target].size, live[source].size
                lag = 0 if isinstance(shift, str) else max(0, up4(shift))
                spared.append(over + under - max(over, lag + under))
        highest = max(highest, total - max(spared))
    return highest


def roots(graph: Graph) -> dict[str, str]:
    """Return, for every tensor, the one whose bytes it is: itself, or what it is a view of."""
    found = {name: name for name in graph.tensors}
    for step in graph.steps:
        if isinstance(step, View):
            found[step.target] = found[step.source]
    return found


def in_flash(graph: Graph) -> set[str]:
    """Return the tensors that are constant, and views of such."""
    constant = {step.target for step in graph.steps if isinstance(step, Constant)}
    return {name for name, root in roots(graph).items() if root in constant}


def _merged(graph: Graph, places: list[Place]) -> list[Place]:
    """Return the places that need bytes of the arena: a tensor lives as long as the last of its views."""
    whose, flash = roots(graph), in_flash(graph)
    last: dict[str, int] = {}
    for place in places:
        root = whose.get(place.name, place.name)
        last[root] = max(last.get(root, 0), place.last)
    return [
        replace(place, last=last[place.name])
        for place in places
        if place.name not in flash and whose.get(place.name, place.name) == place.name
    ]


def _by_name(graph: Graph, places: list[Place]) -> dict[str, Place]:
    """Return places by the names of all tensors that lie there, and of scratch."""
    found = {place.name: place for place in places}
    whose = roots(graph)
    return found | {name: found[root] for name, root in whose.items() if root in found}


def _shared(graph: Graph, offsets: Mapping[str, int]) -> dict[str, int]:
    """Return offsets with those of views."""
    whose = roots(graph)
    return {**offsets, **{name: offsets[root] for name, root in whose.items() if root in offsets}}
