"""The paper's monitor: four signals, one head, and the best of eight settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.fitting import FitOptions, fit
from tcuq.fitting.logistic import fit_logistic
from tcuq.fitting.signal_table import FOLDS, folds
from tcuq.log.log import Log
from tcuq.log.quantize import choose_feature_scale
from tcuq.monitor.codec import COEF_LIMIT
from tcuq.monitor.monitor import Monitor, watch
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER, ordered, profile_signals

from ..method import Labeled
from ..objective import Measure, objective
from ..projection import WIDTH, Projection, projection
from .tcuq import Tcuq, projected

NEAR, FAR = (1, 2, 4), (1, 2, 4, 8, 16)
BIAS_LIMIT = 256.0


def signals_of(params: Params, log: Log) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the core's signals in use (T, k) as floats, and which steps have a past to speak of."""
    _, values = watch(Monitor(params), log, signals=True)
    settled = np.ones(len(log), dtype=bool)
    for piece in log.pieces():
        settled[piece.start] = False
    return values[:, [NUMBER[name] for name in params.signals]], settled


def _setting(**changes: Any) -> Mapping[str, Any]:
    return {"signals": None, "lags": NEAR, "features": None, "blend": 0.7, "l2": 1.0} | changes


NOW = _setting(signals=("doubt",), lags=())
"""The current posterior alone: what is kept where time does not help."""


class TcuqPaper(Tcuq):
    """Risk of the integer core, under the four signals of the paper.

    Settings: `signals` (None: those of the profile), `lags`, `blend` and `l2` as in `tcuq.fit`; `features`,
    the projection that features wider than 32 go through, or None for posteriors alone. The first setting
    looks at no past. Steps are held out by kind of shift, or by segment where kinds are not told apart.
    """

    name = "tcuq_paper"
    choice: ClassVar[str | None] = "tcuq_paper"
    profile = "paper"
    decided: ClassVar[Mapping[str, Any]] = {"level": "budget", "budget": 0.1, "run_length": 1000}
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = (
        NOW,
        _setting(),
        _setting(blend=1.0),
        _setting(features="average"),
        _setting(features="random"),
        _setting(features="pca"),
        _setting(features="pca", lags=FAR),
        _setting(features="pca", lags=(1, 2, 4, 8), blend=1.0, l2=100.0),
    )

    def quality(self, dev: Labeled, setting: Mapping[str, Any], measure: Measure = objective) -> float:
        """Return the mean over folds of a measure, each from a fit on the other folds."""
        log, _ = self._labeled(dev, setting)
        params = self._start(setting, log.classes, log.width)
        if log.features is not None:
            scale, zero_point = choose_feature_scale(log.features)
            params = params.replace(feature_scale=scale, feature_zero_point=zero_point)
        values, past = signals_of(params, log)
        wrong, fold = log.errors(), folds(log)
        found = []
        for number in range(FOLDS):
            inside = fold == number
            rest = past & ~inside
            if wrong[rest].any() and not wrong[rest].all():
                coef, bias = fit_logistic(values[rest], wrong[rest], setting["l2"], -COEF_LIMIT)
                by_name = dict(zip(params.signals, coef.tolist(), strict=True))
                trial = params.replace(coef=by_name, bias=float(np.clip(bias, -BIAS_LIMIT, BIAS_LIMIT)))
                risk = watch(Monitor(trial), log)["risk"]
                found.append(measure(risk, wrong, dev.kinds, dev.observed.segments, inside))
        known = [each for each in found if np.isfinite(each)]
        return float(np.mean(known)) if known else 0.0

    def _params(self, log: Log, setting: Mapping[str, Any]) -> Params:
        return fit(
            log,
            profile="paper",
            force=True,
            options=FitOptions(
                signals=setting["signals"],
                lags=setting["lags"],
                blend=setting["blend"],
                l2=setting["l2"],
                explain=False,
                drop_unused=False,  # variants are compared at the same cost
            ),
            **self.decided,
        )

    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        seen, kind = dev.observed, setting["features"]
        features, through = None, None
        if kind and seen.features is not None:
            through = projection(kind, seen.features[dev.kinds == 0], seed=setting.get("seed", 0))
            features = projected(through, seen)
        return Log(self.posteriors(seen), features, dev.labels, seen.segments, dev.kinds), through

    def _start(self, setting: Mapping[str, Any], classes: int, width: int) -> Params:
        """Return parameters with a setting's signals and stock coefficients."""
        used = width if setting["features"] else 0
        return Params(
            classes=classes,
            features=used,
            signals=ordered(setting["signals"] or profile_signals(self.profile, used)),
            lags=setting["lags"],
            blend=setting["blend"],
        )

    def _deployed(self) -> Params:
        """Return what a device is given; with stock coefficients, which take as much room, before a fit."""
        if self._dev is not None:
            return self.params
        from ...zoo.outputs import core

        width = min(WIDTH, core(self.network).width)
        return self._start(self.changed(self.setting), self.classes, width)
