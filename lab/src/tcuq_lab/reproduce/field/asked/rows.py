"""Names of the variants, question by question, and which of them are compared."""

from __future__ import annotations

from tcuq.monitor.signals import PROFILES

from ..experiment import Comparison
from ..plan import CHANGING, MIXED, TOLD, UnitPlan
from .assistance import ASSISTED, PLAIN_NETWORK
from .confidence import FLOAT_CONFIDENCE, INT8_CONFIDENCE
from .fits import CURVE
from .judging import (
    ABSTAINED,
    ANSWERED,
    CLEAN_ON,
    ERRORS,
    FOUND,
    LEFT,
    OWN_AUROC,
    PREDICTION_AUROC,
    SHUFFLED,
)

TCUQ = "tcuq"
NO_MEMORY, ALWAYS = "no memory", "memory, always"
ALWAYS_SHUFFLED = "memory, always, and shuffle"
GATE_TOLD = "gate told"
POSTERIORS = "posteriors only"
NO_LABELS, CLEAN_LABELS = "no labels", "labels, clean only"
RISK_ALARM = "alarm on risk"
ANSWER, BARE_ANSWER = "tcuq answer", "tcuq no labels"
CLEAN_ANSWER, POSTERIOR_ANSWER = "answer, labels, clean only", "answer, posteriors only"
SIGNALS = PROFILES["standard"]

BLENDS = (0.0, 0.4, 1.0)
"""Shares of the uncertainty in the risk; the default is 0.7."""
PENALTIES = (0.1, 10.0, 100.0)
"""Strengths of the penalty; the default is 1."""
BUDGETS = (0.05, 0.3)
"""Largest shares of abstentions; the default is 0.15."""
CONFIDENT = "anchor confidence"
OTHER_PAST = "other lags and window"
RISK_CHANGE = "risk change"


def without(signal: str) -> str:
    """Return the row that lacks a signal.

    Examples
    --------
    >>> without("odds")
    'without odds'
    """
    return f"without {signal}"


def only(signal: str) -> str:
    """Return the row that has one signal beside the odds of the current posterior."""
    return f"only {signal}"


def labels_of(steps: int) -> str:
    """Return the row of a fit to so many labeled steps.

    Examples
    --------
    >>> labels_of(1000), clean_of(250)
    ('labels, 1,000 steps', 'clean, 250 steps')
    """
    return f"labels, {steps:,} steps"


def clean_of(steps: int) -> str:
    """Return the row of a fit without labels to so many clean steps."""
    return f"clean, {steps:,} steps"


def blend_of(value: float) -> str:
    """Return the row of another blend."""
    return f"blend {value:g}"


def penalty_of(value: float) -> str:
    """Return the row of another penalty."""
    return f"l2 {value:g}"


def budget_of(value: float) -> str:
    """Return the row of another budget."""
    return f"budget {value:g}"


def laws_of(plan: UnitPlan) -> tuple[str, ...]:
    """Return the laws on which questions are asked.

    Examples
    --------
    >>> laws_of(UnitPlan("mnist", 0))
    ('shuffled steps', 'class 1', 'class 16', 'class 64', 'object 16', 'changing pace', 'mixed')
    """
    return (SHUFFLED, "class 1", "class 16", "class 64", plan.lived, CHANGING, MIXED)


SETTINGS = (
    *map(blend_of, BLENDS),
    CONFIDENT,
    *map(penalty_of, PENALTIES),
)
"""Rows with another setting, judged by how they rank."""

RANKED = (
    NO_MEMORY,
    ALWAYS,
    ALWAYS_SHUFFLED,
    POSTERIORS,
    *map(without, SIGNALS),
    *map(only, SIGNALS),
    NO_LABELS,
    CLEAN_LABELS,
    *map(labels_of, CURVE),
    *SETTINGS,
)
"""Rows that `tcuq` is compared with by how they rank errors of the prediction."""

ALARMED = (
    POSTERIORS,
    NO_LABELS,
    CLEAN_LABELS,
    RISK_ALARM,
    *(without(name) for name in ("odds", "magnitude", "distance")),
    *map(clean_of, CURVE),
)
"""Rows whose alarm is compared with that of `tcuq`."""

LEFT_BY_PREDICTION = (NO_MEMORY, ALWAYS, POSTERIORS, NO_LABELS)
ANSWERING = (BARE_ANSWER, CLEAN_ANSWER, POSTERIOR_ANSWER)

COMPARISONS = (
    *(Comparison(TCUQ, row, PREDICTION_AUROC) for row in RANKED),
    Comparison(TCUQ, GATE_TOLD, PREDICTION_AUROC, second_fit=TOLD),
    *(Comparison(labels_of(steps), NO_LABELS, PREDICTION_AUROC) for steps in CURVE),
    *(Comparison(TCUQ, row, column) for row in ALARMED for column in (FOUND, CLEAN_ON)),
    *(Comparison(TCUQ, row, LEFT) for row in LEFT_BY_PREDICTION),
    *(Comparison(ANSWER, row, column) for row in ANSWERING for column in (OWN_AUROC, ERRORS, LEFT)),
    Comparison(ANSWER, NO_MEMORY, LEFT),
    Comparison(INT8_CONFIDENCE, FLOAT_CONFIDENCE, PREDICTION_AUROC),
    *(Comparison(ASSISTED, PLAIN_NETWORK, column) for column in (PREDICTION_AUROC, ERRORS)),
    *(Comparison(TCUQ, budget_of(value), column) for value in BUDGETS for column in (ABSTAINED, ANSWERED)),
)

NOTES = (
    "`shuffled steps` has the steps of class 1 in random order, so that neither classes nor shifts stay. On "
    "class 1 itself shifts last: how doubtful recent steps were tells much even where classes do not stay.",
    "The belief behind the signal disbelief weighs six experts by how well they predict. The core has no "
    "switch for it: with `memory, always` the heads have no gate, but the belief still learns the pace. "
    "That head learns from the log alone, the two heads from log and shuffle; `memory, always, and shuffle` "
    "learns from both.",
    "The expert of the class mix cannot be turned off, so what it adds is not measured.",
    "Rows `only X` weigh the odds of the current posterior and X. Those without disbelief lean on the "
    "confidence, as does `without disbelief`; they keep the gate.",
    "Lags and window read nothing in the standard profile, which has no signal that looks back by a lag: "
    "`other lags and window` shows that no risk changes.",
    "`labels, N steps` is fitted without labels where N steps hold too few errors to learn from, as the "
    "message of the fit advises; the choices say where.",
    "`clean, N steps` is fitted without labels to N clean steps. Without errors to learn from, its ranking "
    "hardly depends on N by construction, so it is judged by its alarm: `found` and `clean on`.",
    "What int8 networks cost, beside int8 posteriors and features, is measured in docs/DEVICE.md.",
    "`plain network` and `assisted network` are of the seeds that have both.",
)
"""What could not be taken out, and how rows are to be read."""
