"""Draw what one step computes, in its order (SPEC.md, "Order of one step"; src/tcuq/core/tcuq.c, tcuq_step).

python tools/pictures/step.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.drawing import Drawing, forms, write
from pictures.style import SMALL

TITLE = "What the monitor computes in one step"
ALT = (
    "The posterior goes to six experts, each of which assumes another pace. Their mixed belief gives the "
    "answer, and how much the sticky ones count is the persistence. The novelty says whether this input "
    "shows something new. Posterior, features and belief give the signals. Two heads, without and with the "
    "past, weigh the signals; persistence says how much the past counts. They give the "
    "uncertainty, whose slow mean is the expected accuracy. Risk blends uncertainty and belief. Where it "
    "reaches the threshold, which adapts, the step is flagged and has a reason. The budget decides whether a "
    "flagged step abstains or is accepted. A head of its own turns the signals into evidence of degraded "
    "input; its slow mean and the drift of the features are summed by novelty, and raise the alarm at "
    "a limit that is frozen."
)
WORDS = (
    "posterior", "features", "signals", "belief", "answer", "persistence", "novelty", "uncertainty", "risk",
    "threshold", "flagged", "reason", "budget", "accept", "abstain", "expected accuracy", "evidence", "alarm",
)  # fmt: skip


def draw() -> Drawing:
    """Return the drawing."""
    d = Drawing(642, TITLE, ALT)
    out, judge = "fall", "risk"
    heads = (("Input", 72), ("Memory and signals", 257), ("Judgment", 465), ("Output", 652))
    for text, x in heads:
        d.text(x, 32, text, size=SMALL, role="muted bold", anchor="middle")

    posterior = d.box(20, 50, 108, 72, "Posterior", ["int8 softmax"])
    experts = d.box(
        164, 50, 186, 72, "Six experts", ["each assumes another", "pace; a mixed belief"], role=judge
    )
    answer = d.box(564, 50, 176, 72, "Answer", ["the class to act on"], role=out)
    d.arrow([posterior.right(), experts.left()])
    d.arrow([experts.right(0.3), answer.left(0.3)])
    d.text(457, 66, "most likely class", size=SMALL, role="ink", anchor="middle")

    two = d.box(400, 166, 130, 72, "Two heads", ["without and", "with the past"], role=judge)
    expected = d.box(
        564, 166, 176, 72, "Expected accuracy", ["slow mean of one", "minus uncertainty"], role=out
    )
    d.arrow([experts.right(0.78), (465, experts.right(0.78)[1]), two.top()])
    d.text(358, 99, "persistence", size=SMALL, role="ink")
    d.arrow([two.right(), expected.left()])

    signals = d.box(
        164,
        292,
        186,
        92,
        "Signals",
        ["odds, disbelief,", "magnitude, distance,", "degradation, drift"],
        role=judge,
    )
    features = d.box(20, 330, 108, 54, "Features", ["optional"])
    d.arrow([posterior.bottom(), (posterior.bottom()[0], 312), (signals.x, 312)])
    d.arrow([features.right(), (signals.x, features.right()[1])])
    d.arrow([(194, experts.y + experts.high), (194, signals.y)])
    d.text(188, 210, "belief", size=SMALL, role="ink", anchor="end")
    d.arrow([signals.right(0.2), (424, signals.right(0.2)[1]), (424, two.y + two.high)])

    risk = d.box(448, 278, 82, 54, "Risk", ["+ belief"], role=judge)
    d.arrow([(489, two.y + two.high), risk.top()])
    d.text(497, 262, "uncertainty", size=SMALL, role="ink")
    threshold = d.box(390, 362, 140, 72, "Threshold", ["adapts to flag a", "set share"], role=judge)
    d.arrow([risk.bottom(), (risk.bottom()[0], threshold.y)])
    reason = d.box(564, 362, 176, 72, "Reason", ["of a flagged step: the", "signal against it"], role=out)
    d.arrow([threshold.right(), reason.left()])
    budget = d.box(390, 464, 140, 72, "Budget", ["caps abstentions,", "also in a burst"], role=judge)
    d.arrow([threshold.bottom(), budget.top()])
    d.text(468, 454, "flagged", size=SMALL, role="ink")
    abstain = d.box(564, 464, 176, 72, "Accept or abstain", ["act on the answer,", "or not"], role="abstain")
    d.arrow([budget.right(), abstain.left()])

    evidence = d.box(
        164, 556, 186, 72, "Evidence", ["a head of its own:", "is the input degraded?"], role=judge
    )
    novelty = d.box(20, 556, 108, 72, "Novelty", ["new input,", "or a repeat?"], role=judge)
    total = d.box(390, 556, 140, 72, "Sum", ["against a limit", "that is frozen"], role=judge)
    alarm = d.box(564, 556, 176, 72, "Alarm", ["raised at the limit,", "cleared by evidence"], role="rise")
    d.arrow([signals.bottom(), evidence.top()])
    d.arrow([features.bottom(), novelty.top()])
    d.arrow([novelty.right(), evidence.left()])
    d.arrow([evidence.right(), total.left()])
    d.arrow([total.right(), alarm.left()])
    return d


def files() -> dict[str, str]:
    """Return the files of the picture."""
    return forms("step", draw())


if __name__ == "__main__":
    write(files())
