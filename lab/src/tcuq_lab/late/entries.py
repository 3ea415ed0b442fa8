"""Methods of the benchmark's track with late labels: error control of the core, and rivals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tcuq import Monitor, Params

from ..bench.entry import Entry, entry_of
from ..bench.interface import MAX_ERROR, Dev, Said
from ..bench.told import LATE_BY
from .rules import RULES, Fixed
from .run import fitted


class Told:
    """The monitor that `tcuq.fit` makes with `max_error`."""

    name = "tcuq, max_error"
    params: Params

    def fit(self, dev: Dev) -> None:
        """Fit a monitor."""
        self.params = fitted(dev, LATE_BY + 1)

    @property
    def state_bytes(self) -> int:
        """Bytes that the core keeps between steps."""
        return self.params.state_bytes

    def start(self) -> None:
        """Begin a stream."""
        self.monitor = Monitor(self.params)

    def step(self, probs: np.ndarray, features: np.ndarray) -> Said:
        """Accept what the monitor accepts."""
        found = self.monitor.step(probs, features)
        return Said(found.risk, found.answer, accept=not found.abstain)

    def feedback(self, step: int, label: int) -> None:
        """Pass a label on."""
        self.monitor.feedback(step, label)


class Ruled(Told):
    """The same risk, answers and first threshold without `max_error`; a rule moves the threshold."""

    rule: ClassVar[type[Fixed]]
    state_bytes = None  # type: ignore[assignment]

    def start(self) -> None:
        """Begin a stream."""
        assert self.params.feedback is not None
        self.monitor = Monitor(self.params.replace(feedback=None))
        self.moved = self.rule(self.params.feedback.reference, MAX_ERROR)
        self.said: list[Said] = []

    def step(self, probs: np.ndarray, features: np.ndarray) -> Said:
        """Accept what is below the threshold."""
        found = self.monitor.step(probs, features)
        self.said.append(Said(found.risk, found.answer, accept=found.risk < self.moved.threshold))
        return self.said[-1]

    def feedback(self, step: int, label: int) -> None:
        """Let the rule learn."""
        then = self.said[step]
        self.moved.told(then.risk, then.answer != label, then.accept)


NAMES = ("fixed", "aci", "aci_fast", "dtaci", "pid", "retuned")
ENTRIES: Mapping[str, Any] = {
    "tcuq_max_error": Told,
    **{
        name: type(rule.__name__, (Ruled,), {"name": rule.name, "rule": rule})
        for name, rule in zip(NAMES, RULES, strict=True)
    },
}
"""Classes by the name that the command takes."""


def late_entry(name: str) -> Entry:
    """Return a built-in method of the track.

    Examples
    --------
    >>> late_entry("aci").name, late_entry("aci").told
    ('ACI, rate .02', True)
    """
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return entry_of(ENTRIES[name], "tcuq_lab/late/entries.py", digest, name)
