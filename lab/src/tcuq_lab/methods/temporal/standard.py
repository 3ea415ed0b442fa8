"""The standard monitor: two heads between which the persistence of the stream decides; nothing is tuned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tcuq.base.fixed import ONE
from tcuq.fitting import FitOptions, fit
from tcuq.fitting.arrays import added_in_run
from tcuq.log.log import MAX_FEATURES, Log
from tcuq.monitor.monitor import Monitor, watch
from tcuq.monitor.params import Params

from ..method import Answer, Labeled, Observed
from ..objective import Measure, objective
from ..projection import Projection, projection
from .tcuq import Tcuq


class TcuqStandard(Tcuq):
    """What `tcuq.fit` makes of a development stream by default, speaking of the network's prediction.

    Features are taken as they are; only those that are wider than a monitor takes go through a projection to
    the directions of most variance of clean steps.
    """

    name = "tcuq_standard"
    profile = "standard"
    decided: ClassVar[Mapping[str, Any]] = {"about": "prediction"}
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"signals": None, "features": "all"},)

    def quality(self, dev: Labeled, setting: Mapping[str, Any], measure: Measure = objective) -> float:
        """Return 0: there is one setting."""
        return 0.0

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer as `TcuqPaper` does, with a fresh monitor for each segment: what it learns outlives a reset.

        Evidence is what the alarm of a device adds, by how new each step is.
        """
        monitor, probs = self._monitor(setting), self.posteriors(seen)
        params, log = monitor.params, monitor.log(probs, seen)
        risk, evidence = np.empty(len(seen)), np.empty(len(seen))
        for piece in seen.pieces():
            steps, signals = watch(Monitor(params), log.take(piece), signals=True)
            risk[piece] = steps["risk"]
            if params.evidence is not None:
                evidence[piece] = added_in_run(params, steps, signals) / ONE
        return Answer(probs, risk, None if params.evidence is None else evidence)

    def _params(self, log: Log, setting: Mapping[str, Any]) -> Params:
        return fit(log, force=True, options=FitOptions(explain=False), **self.decided)

    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        seen, through = dev.observed, None
        features = seen.features
        if features is not None and features.shape[1] > MAX_FEATURES:
            through = projection("pca", features[dev.kinds == 0])
            features = None if through is None else through(features)
        return Log(self.posteriors(seen), features, dev.labels, seen.segments, dev.kinds), through
