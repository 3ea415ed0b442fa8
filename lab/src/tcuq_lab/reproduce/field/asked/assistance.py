"""What weights trained with temporal assistance cost: the same monitor behind other networks."""

from __future__ import annotations

import numpy as np

from tcuq.log.log import Log

from ....methods.confidence import Base
from ...rows import Row
from ..plan import DEV
from ..stretch_figures import Auroc, Mean
from ..units import PLAIN
from .fits import fitted
from .judging import ERRORS, PACED, PREDICTION_AUROC, Judge, said

PLAIN_NETWORK, ASSISTED = "plain network", "assisted network"
ROW = Row(ASSISTED, Base, "_assisted")
CLEAN_STEPS, SHIFTED_STEPS = ", clean steps", ", shifted steps"


def ask(judge: Judge) -> bool:
    """Judge both networks on one law; return whether there is an assisted one of this seed.

    Both are judged together or not at all, so that means are of the same seeds.
    """
    unit = judge.unit
    if not unit.has(ROW):
        return False
    for name, row in ((PLAIN_NETWORK, PLAIN), (ASSISTED, ROW)):
        known = unit.labeled(DEV, row)
        dev = known.observed
        params = fitted(Log(dev.probs, dev.features, known.labels, dev.segments, known.kinds))
        seen, shown = unit.observed(f"test {PACED}", row), unit.shown(f"test {PACED}")
        wrong = seen.probs.argmax(axis=1) != shown.labels
        steps = said(params, Log(seen.probs, seen.features, segments=seen.segments))
        judge.put(PACED, name, PREDICTION_AUROC, Auroc(steps["risk"], wrong, shown.segments, shown.judged))
        clean = np.asarray(shown.shifts == 0)
        for part, kept in ((CLEAN_STEPS, clean), (SHIFTED_STEPS, ~clean)):
            judge.put(PACED, name, ERRORS, Mean(wrong, shown.segments, shown.judged & kept), part=part)
    return True
