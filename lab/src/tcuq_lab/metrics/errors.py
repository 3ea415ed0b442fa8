"""Whose answers are wrong, how many errors are left, and what is accepted where labels come late."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..harness.declare import Case
from ..harness.figures import Auroc, Figure, LeftAt, Mean
from ..harness.intervals import Drawn, averaged, drawn
from ..harness.types import MAX_ERROR, confidence

AUROC, PREDICTION_AUROC, ERRORS = "error AUROC", "prediction error AUROC", "errors"
LEFT = {"errors at 90 %": 0.9, "errors at 80 %": 0.8}
NINETY = "errors at 90 %"
RELATIVE, OF_CONFIDENCE = "relative errors", "errors of confidence at 90 %"
LEAST = 0.005
"""Added to both shares of errors before they are compared: a stream with hardly any error must not decide."""
BLOCK = 50
"""Steps of a shuffled stream that are drawn together: its only memory is that of the row."""


def errors(case: Case) -> dict[str, Figure]:
    """Return the share of the row's own answers that is wrong."""
    return {ERRORS: Mean(case.wrong, case.truth.stretches, case.truth.judged)}


def ranking(case: Case) -> dict[str, Figure]:
    """Return how well the risk ranks the row's own errors."""
    return {AUROC: Auroc(case.answers.risk, case.wrong, case.truth.stretches, case.truth.judged)}


def left(case: Case, *columns: str) -> dict[str, Figure]:
    """Return the errors that are left among the steps of lowest risk, at all coverages or some."""
    given = case.answers.risk, case.wrong, case.truth.stretches
    return {each: LeftAt(*given, LEFT[each], case.truth.judged) for each in columns or LEFT}


def prediction_ranking(case: Case) -> dict[str, Figure]:
    """Return how well a risk ranks the errors of the plain network's prediction."""
    said, prediction = case.answers, case.seen.probs.argmax(axis=1)
    risk = said.prediction_risk
    if risk is None and said.probs is not None:  # the sum of the others: 1 less a share would be rounded
        others = np.array(said.probs, dtype=np.float64)
        others[np.arange(len(others)), prediction] = 0.0
        risk = others.sum(axis=1)
    elif risk is None and said.answer is None:
        risk = said.risk
    if risk is None:
        return {}
    wrong = prediction != case.truth.labels
    return {PREDICTION_AUROC: Auroc(risk, wrong, case.truth.stretches, case.truth.judged)}


def relative(case: Case) -> dict[str, Figure | Drawn]:
    """Return the errors left at 90 %, those that confidence leaves, and their ratio."""
    plain = confidence(case.seen)
    base = LeftAt(plain.risk, plain.answer != case.truth.labels, case.truth.stretches, 0.9, case.truth.judged)
    own, other = (drawn(each, case.truth.count, case.draws) for each in (left(case, NINETY)[NINETY], base))
    return {NINETY: own, OF_CONFIDENCE: other, RELATIVE: over(own, other)}


def over(first: Drawn, second: Drawn) -> Drawn:
    """Return a paired ratio, with `LEAST` added to both."""
    ratios = (first.replicates + LEAST) / (second.replicates + LEAST)
    value = (first.value + LEAST) / (second.value + LEAST)
    return first._replace(value=value, replicates=ratios.astype(np.float32))


def errors_by_blocks(case: Case) -> dict[str, Drawn]:
    """Return the error rate of a shuffled stream: the mean over stretches, whose blocks are drawn again."""
    pieces = enumerate(case.truth.pieces())
    return {
        ERRORS: averaged([by_blocks(case.wrong[piece], f"{case.draws} {number}") for number, piece in pieces])
    }


def by_blocks(wrong: npt.NDArray[Any], name: str) -> Drawn:
    """Return the error rate of a stretch whose blocks are drawn again."""
    blocks = np.minimum(np.arange(len(wrong)) // BLOCK, max(1, len(wrong) // BLOCK) - 1)
    return drawn(Mean(wrong, blocks), int(blocks[-1]) + 1, name)


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
