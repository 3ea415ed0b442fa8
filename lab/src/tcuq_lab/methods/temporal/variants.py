"""Variants of the paper's monitor that differ from it in one respect, to see what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tcuq.fitting.alarms import choose_alarm
from tcuq.fitting.clean import rested_stretches
from tcuq.fitting.logistic import fit_logistic
from tcuq.log.log import Log
from tcuq.monitor.monitor import Monitor, watch
from tcuq.monitor.params import Params

from ..method import Floats, Labeled, Method, Observed
from ..scores import softmax
from ..temperature import fitted
from .paper import BIAS_LIMIT, NOW, TcuqPaper, signals_of
from .tcuq import Tcuq

MOST_DEBT = 16_000.0
"""Flags beyond their share before a frozen threshold would move: more than a stream of the lab has steps."""


class TcuqTs(TcuqPaper):
    """Posteriors go through a temperature first, fitted to clean development steps."""

    name = "tcuq_paper_ts"
    choice = None  # posteriors at another temperature rank settings otherwise
    keeps_fit = False  # the temperature is fitted too
    temperature = 1.0

    def fit(self, dev: Labeled) -> None:
        """Fit the temperature, then the rest."""
        self.fit_posteriors(dev)
        super().fit(dev)

    def fit_posteriors(self, dev: Labeled) -> None:
        """Fit the temperature."""
        clean = (dev.kinds == 0) & (dev.labels >= 0)
        self.temperature = fitted(_logs(dev.observed.probs[clean]), dev.labels[clean])

    def follow(self, full: Method) -> None:
        """Refuse: what was found on other posteriors does not hold for these."""
        raise ValueError(f"{self.name} sees other posteriors than {full.name}; fit is needed")

    def posteriors(self, seen: Observed) -> Floats:
        """Return the posteriors at the temperature."""
        return softmax(_logs(seen.probs), self.temperature)

    def stored(self) -> int:
        """Return the constants, the temperature among them."""
        return super().stored() + 1


def _logs(probs: Floats) -> Floats:
    """Return logits up to a constant a row, which neither a softmax nor a likelihood sees."""
    return np.asarray(np.log(np.maximum(probs.astype(np.float64), np.finfo(np.float64).tiny)))


class NoTemporal(TcuqPaper):
    """The doubt of the current posterior alone."""

    name = "tcuq_paper_no_temporal"

    def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out all signals with a past."""
        return {**NOW, "blend": setting["blend"], "l2": setting["l2"]}


class NoConformal(TcuqPaper):
    """The same risk, under a threshold that stays where the development stream put it."""

    name = "tcuq_paper_no_conformal"

    def settled(self, params: Params, log: Log) -> Params:
        """Freeze the threshold; the budget goes on."""
        return params.replace(slope=0.0, knee=MOST_DEBT)


class FrozenWeights(TcuqPaper):
    """All signals count the same: coefficients 1, and an uncertainty of one half at the clean means."""

    name = "tcuq_paper_frozen_weights"

    def settled(self, params: Params, log: Log) -> Params:
        """Replace what was learned from labels, and set threshold and alarm again from clean steps."""
        assert params.clean_means is not None
        means = params.clean_means.values()
        equal = params.replace(coef=dict.fromkeys(params.signals, 1.0), bias=-sum(means))
        return _limited(equal, log, self.decided["run_length"])


def _limited(params: Params, log: Log, run_length: int) -> Params:
    """Set threshold and alarm again from clean steps."""
    risk = watch(Monitor(params), log)["risk"]
    runs = [risk[run] for run in rested_stretches(params, log)]
    alarm = choose_alarm(runs, run_length, np.random.default_rng(0))
    return params.replace(reference=float(np.quantile(np.concatenate(runs), 1 - params.level)), alarm=alarm)


class Nonnegative(TcuqPaper):
    """No coefficient below 0."""

    name = "tcuq_paper_nonnegative"

    def settled(self, params: Params, log: Log) -> Params:
        """Learn the coefficients again within their bounds; threshold and alarm follow."""
        values, past = signals_of(params, log)
        coef, bias = fit_logistic(values[past], log.errors()[past], params.notes["fit"]["l2"], 0.0)
        bias = min(max(bias, -BIAS_LIMIT), BIAS_LIMIT)
        learned = params.replace(coef=dict(zip(params.signals, coef.tolist(), strict=True)), bias=bias)
        return _limited(learned, log, self.decided["run_length"])


def altered(full: Tcuq, **changes: Any) -> Tcuq:
    """Return a method like a fitted one, with something changed in its best setting that looks at the past.

    It is fitted to the same stream; the choice of that setting is not made again.
    """
    base = type(full)
    inside = {name: value for name, value in changes.items() if name in NOW}
    besides = {name: value for name, value in changes.items() if name not in NOW}

    class Altered(base):  # type: ignore[misc,valid-type]
        decided: ClassVar[Mapping[str, Any]] = {**base.decided, **besides}

        def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
            return {**base.changed(self, setting), **inside}

        def eligible(self, setting: Mapping[str, Any]) -> bool:
            return setting["signals"] is None

    found = Altered()
    found.follow(full)
    return found


VARIANTS: tuple[type[TcuqPaper], ...] = (TcuqTs, NoTemporal, NoConformal, FrozenWeights, Nonnegative)
