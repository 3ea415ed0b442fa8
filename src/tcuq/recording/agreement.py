"""What to say of labels and answers that hardly agree: scale or order of the classes are likely reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..monitor.label_check import SHOWN, other_order

Ints = npt.NDArray[np.int64]


def order_note(labels: Ints, answers: Ints, classes: int, names: Sequence[str] | None) -> str | None:
    """Say that the classes are probably in another order than the outputs, and how to put it right."""
    order = other_order(labels, answers, classes)
    if order is None:
        return None
    said = _reordered(labels, answers, order)
    if names is None:
        numbers = f", y = numpy.array({order.tolist()})[y]" if classes <= SHOWN else ""
        return f"{said}: labels are probably numbered otherwise than the outputs; renumber them{numbers}"
    told = "=" + ",".join(names[at] for at in np.argsort(order).tolist()) if classes <= SHOWN else ""
    hint = "" if told else " in the order of the outputs"
    return f"{said}: names are probably sorted otherwise than the outputs; pass `names{told}`{hint}"


def _reordered(labels: Ints, answers: Ints, order: Ints) -> str:
    before, after = (np.mean(each == answers) for each in (labels, np.where(labels < 0, -1, order[labels])))
    said = (
        f"{before:.1%} of the predictions are right, and {after:.1%} would be in another order of the classes"
    )
    return said.replace("%", " %")
