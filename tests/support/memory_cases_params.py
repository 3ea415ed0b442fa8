# SPDX-License-Identifier: MIT
"""Parameters that use every part of the binding."""

from __future__ import annotations

from tcuq import EvidenceHead, Feedback, Params
from tcuq.monitor.heads import InstantHead

FULL = Params(
    classes=3,
    features=2,
    signals=("doubt", "distance", "magnitude"),
    centers=((1, 0), (0, 1), (1, 1)),
    feature_scale=0.25,
    horizon=16,
    expected_start=0.5,
    evidence=EvidenceHead({"doubt": 1.0}, [0.0, 0.0, 0.0]),
    instant=InstantHead({"doubt": 1.0}, 0.0),
    feedback=Feedback(max_error=0.1),
)
