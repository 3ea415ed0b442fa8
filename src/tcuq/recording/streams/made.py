"""Plain examples as a stream: what is checked, chosen and said before the model runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base.checks import integer
from ...base.errors import InputError
from ..data import Data
from ..model import Array, Info
from ..shifts import Chosen, choose, listed
from ..shifts.chosen import Shifts
from .plan import UNLABELED, Ints, Pace, Plan, arrange, make_plan

FEWEST = 50
"""Examples from which on a stream is made."""

MOST_STEPS = 10_000_000


def asks_for_stream(stream: bool | str | None, shifts: Shifts) -> bool:
    """Tell whether the user wants a stream: by name, or by shifts, which need one."""
    return stream not in (None, False) or bool(listed(shifts))


def streamed(
    data: Data, paces: Sequence[Pace], usual: bool, shifts: Shifts, steps: int | None, seed: int, info: Info
) -> Data:
    """Return data as a stream."""
    refuse_unfit(data, FEWEST)
    integer("seed", seed, 0, 2**31)
    length = data.total if steps is None else integer("steps", steps, 1, MOST_STEPS)
    paces, notes = fitting_paces(data, paces, usual)
    chosen = choose(shifts, data, info=info, held=any(each.word == "held" for each in paces))
    kinds = range(1, len(chosen.kinds) + 1)
    everything = np.arange(data.total)
    plan = make_plan(groups_of(data), everything, length, paces, kinds, seed)
    notes = (*notes, *chosen.notes, *_said(chosen, length, data.total), *no_room(chosen, plan))
    made = arrange(data, plan, chosen, seed)
    return replace(made, notes=(*without_order(data.notes), *notes))


def _said(chosen: Chosen, steps: int, total: int) -> list[str]:
    notes = ["the stream has no shifted stretches; `shifts` makes some, from which the alarm learns"]
    if chosen.kinds:
        notes = ["`shifted` holds " + ", ".join(f"{n} {k.name}" for n, k in enumerate(chosen.kinds, 1))]
    if steps > 2 * total:
        notes.append(f"each of the {total:,} examples is shown about {steps / total:.0f} times")
    return notes


def shown_kinds(plan: Plan) -> list[int]:
    """Return the numbers of the shifts that a plan shows: a short one has not room for all."""
    return [each for each in np.unique(plan.kinds).tolist() if each]


def no_room(chosen: Chosen, *plans: Plan) -> tuple[str, ...]:
    """Say which shifts no plan shows."""
    shown = {number for plan in plans for number in shown_kinds(plan)}
    missing = [kind.name for number, kind in enumerate(chosen.kinds, 1) if number not in shown]
    if not missing:
        return ()
    return (f"the stream is too short to show {', '.join(missing)}; more examples, or `steps`, make room",)


def without_order(notes: Sequence[str]) -> tuple[str, ...]:
    """Leave out what is said of the order of files, which a stream changes anyway."""
    return tuple(each for each in notes if not each.startswith("files are mixed"))


def refuse_unfit(data: Data, fewest: int) -> None:
    """Refuse data that cannot be arranged as a stream."""
    if data.take is None:
        problem = "gives batches in one order only, no stream can be made of them"
        raise InputError("unsupported", f"{data.name}: {problem}; pass arrays (NPZ or NPY) or a folder")
    if data.segments is not None or data.shifted is not None:
        have = "segments" if data.segments is not None else "shifted"
        problem = f"has {have}, so it is a stream already; leave out `stream` and `shifts`"
        raise InputError("conflict", f"{data.name}: {problem}")
    if data.total < fewest:
        raise InputError("value", f"{data.name}: holds {data.total} examples, a stream needs {fewest}")


def fitting_paces(data: Data, paces: Sequence[Pace], usual: bool) -> tuple[Sequence[Pace], tuple[str, ...]]:
    """Return the paces that data allow, and what to say of it."""
    if data.labels is not None or not any(each.word == "dwell" for each in paces):
        return paces, ()
    if not usual:
        problem = f"{data.name}: has no labels, by which dwell finds examples of one class"
        raise InputError("missing", f'{problem}; pass labels, or `stream="held=8,shuffled"`')
    shown = ",".join(map(str, UNLABELED))
    return UNLABELED, (f"without labels no class can stay: the stream is {shown}",)


def groups_of(data: Data) -> Ints:
    """Return the class of each example as a number, 0 or above; all 0 where there are no labels."""
    if data.labels is None:
        return np.zeros(data.total, dtype=np.int64)
    labels: Array = data.labels
    if labels.dtype.kind in "if":
        labels = np.maximum(labels, -1)  # below 0: none of the classes
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64).reshape(-1)
