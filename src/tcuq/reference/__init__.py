"""The monitor of SPEC.md in plain Python integers: slow, literal, and without a line of the core.

Written from SPEC.md alone, so that a number on which core and reference agree was derived twice. Section
numbers are those of SPEC.md. `numbers` has sections 1, 4 to 6 as functions, `params` section 2, `beliefs` the
experts of section 6, `signals` sections 3, 5 and 6, `decide` sections 8 to 11, `labels` section 19, `state`
section 12, `gauges` section 20, `sight` section 21 and `step` what is left, in the order of a step.
`decide` also runs alone, on what a log has.
"""

from __future__ import annotations

from .decide import Decider, Decision
from .params import Evidence, Feedback, Instant, Params, Sight
from .signals import NAMES, SIGNAL_COUNT
from .step import Monitor, Step

__all__ = [
    "NAMES",
    "SIGNAL_COUNT",
    "Decider",
    "Decision",
    "Evidence",
    "Feedback",
    "Instant",
    "Monitor",
    "Params",
    "Sight",
    "Step",
]
