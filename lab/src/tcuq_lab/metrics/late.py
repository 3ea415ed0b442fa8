"""What accepted answers of the second half of a stream are worth, where labels come late."""

from __future__ import annotations

import numpy as np

from ..harness.declare import Case
from ..harness.figures import Mean
from ..harness.intervals import Drawn, drawn
from ..harness.types import MAX_ERROR

WRONG, EXCESS, ACCEPTED = "wrong of accepted", "excess", "accepted"


def late(case: Case) -> dict[str, Drawn]:
    """Return figures by share of labels; no answer is no excess."""
    truth, said, setting = case.truth, case.answers, case.play.late
    assert setting is not None
    second = (np.arange(len(truth)) >= len(truth) // 2) & truth.judged
    stretches, accept = truth.stretches[second], said.accept[second]
    count = len(np.unique(stretches))
    wrong = drawn(Mean(case.wrong[second], stretches, accept), count, case.draws)
    above = np.fmax(0, wrong.replicates - np.float32(MAX_ERROR))
    figures = {
        EXCESS: wrong._replace(value=float(np.fmax(0, wrong.value - MAX_ERROR)), replicates=above),
        WRONG: wrong,
        ACCEPTED: drawn(Mean(accept, stretches), count, case.draws),
    }
    return {f"{column}, {setting.rate:.0%}": each for column, each in figures.items()}
