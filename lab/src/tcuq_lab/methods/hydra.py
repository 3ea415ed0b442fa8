"""HYDRA: one body with several heads, each taught by one member of an ensemble."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from .members import KINDS, risk
from .method import Answer, Method, MethodCost, Observed, Recorded
from .scores import softmax

if TYPE_CHECKING:
    from ..zoo.heads import Heads

FEWER = 3
"""Heads of the smaller ensemble that is tried beside all heads."""


class Hydra(Method):
    """The mean posterior of the heads, and the kinds of `members.risk`.

    All heads or the first `FEWER` are used, for the answer, the risk and the cost alike. What tells heads
    apart is also tried on warmer posteriors. The temperature at which heads were taught is a matter of the
    weights: see `tcuq_lab.methods.networks`.
    """

    name = "hydra"
    recipe = "hydra"
    bank = "hydra"
    reads_features = False
    grid = (
        *({"kind": kind, "heads": None, "temperature": 1.0} for kind in KINDS),
        {"kind": "information", "heads": None, "temperature": 2.0},
        {"kind": "max", "heads": FEWER, "temperature": 1.0},
        {"kind": "information", "heads": FEWER, "temperature": 1.0},
        {"kind": "information", "heads": FEWER, "temperature": 2.0},
    )

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the body once and all heads."""
        from .passes import parts

        _, features, *heads = parts(self.network, x, device)
        logits = np.stack(heads, axis=1)
        probs = softmax(logits).mean(axis=1).astype(np.float32)
        return Recorded(probs, features, {"heads": logits})

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return the mean posterior of the heads that are used, and its risk."""
        used = seen.extra["heads"][:, : setting["heads"]]
        probs = softmax(used).mean(axis=1)
        return Answer(probs, risk(used, probs.argmax(axis=1), setting["kind"], setting["temperature"]))

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return the body and the heads that are used."""
        from .counting import counted

        cut = cast("Heads", copy.deepcopy(self.network))
        more = None if self.setting["heads"] is None else self.setting["heads"] - 1
        cut.tails, cut.classifiers = cut.tails[:more], cut.classifiers[:more]
        return counted([cut], shape)
