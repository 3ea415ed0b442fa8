"""Variants of TCUQ that differ from it in one respect, to see what that is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tcuq.base.checks import known
from tcuq.fitting.alarms import choose_alarm
from tcuq.fitting.clean import rested_stretches
from tcuq.monitor.log import Log, watch
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import Params
from tcuq.monitor.signals import FEATURE_BASED, PROFILES, SIGNALS

from ..given import networks_of
from ..method import Floats, Labeled, Method, Observed
from ..scores import softmax
from ..temperature import fitted
from .tcuq import NEAR, NOW, Tcuq

if TYPE_CHECKING:
    from torch import nn

BELIEF = "disbelief_fast"
"""The signal without which a risk cannot lean on the belief."""
MOST_DEBT = 16_000.0
"""Flags beyond their share before a frozen threshold would move: more than a stream of the lab has steps."""


class TcuqTs(Tcuq):
    """Posteriors go through a temperature first, fitted to clean development steps."""

    name = "tcuq_ts"
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


class NoTemporal(Tcuq):
    """The doubt of the current posterior alone."""

    name = "tcuq_no_temporal"

    def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out all signals with a past."""
        return {**NOW, "blend": setting["blend"], "l2": setting["l2"]}


class NoConformal(Tcuq):
    """The same risk, under a threshold that stays where the development stream put it."""

    name = "tcuq_no_conformal"

    def settled(self, params: Params, log: Log) -> Params:
        """Freeze the threshold; the budget goes on."""
        return params.replace(slope=0.0, knee=MOST_DEBT)


class FrozenWeights(Tcuq):
    """All signals count the same: coefficients 1, and an uncertainty of one half at the clean means."""

    name = "tcuq_frozen_weights"
    decided: ClassVar[Mapping[str, Any]] = {**Tcuq.decided, "evidence": False}

    def settled(self, params: Params, log: Log) -> Params:
        """Replace what was learned from labels, and set threshold and alarm anew from clean steps."""
        assert params.clean_means is not None
        means = params.clean_means.values()
        equal = params.replace(coef=dict.fromkeys(params.signals, 1.0), bias=-sum(means))
        risk = watch(Monitor(equal), log)["risk"]
        runs = [risk[run] for run in rested_stretches(params, log)]
        alarm = choose_alarm(runs, self.decided["run_length"], np.random.default_rng(0))
        reference = float(np.quantile(np.concatenate(runs), 1 - params.level))
        return equal.replace(reference=reference, alarm=alarm)


class Nonnegative(Tcuq):
    """No coefficient below 0."""

    name = "tcuq_nonnegative"

    def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Confine the coefficients."""
        return {**setting, "nonnegative": True}


def only(signal: str, base: type[Tcuq] = Tcuq) -> type[Tcuq]:
    """Return a variant whose risk is one signal alone; the rest is as in the best setting with a past.

    Nothing is blended in: beside the confidence, which every risk may lean on, signals would look alike.

    Examples
    --------
    >>> only("flips").name
    'tcuq_only_flips'
    """
    known("signal", signal, SIGNALS)

    def changed(self: Tcuq, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        features = (setting["features"] or "average") if signal in FEATURE_BASED else None
        anchor = setting["anchor"] if signal == BELIEF else "confidence"
        alone = {
            "signals": (signal,),
            "lags": setting["lags"] or NEAR,
            "features": features,
            "anchor": anchor,
            "blend": 1.0,
        }
        return {**setting, **alone}

    # Evidence of other signals would not show what this one is worth.
    decided = {**base.decided, "evidence": False}
    return _made(f"{base.name}_only_{signal}", f"One signal: {signal}.", base, changed, decided=decided)


def without(signal: str, base: type[Tcuq] = Tcuq) -> type[Tcuq]:
    """Return a variant that lacks a signal; the rest is as in the best setting that looks at the past.

    Examples
    --------
    >>> without("doubt").name
    'tcuq_without_doubt'
    """
    known("signal", signal, SIGNALS)

    def changed(self: Tcuq, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        anchor = "confidence" if signal == BELIEF else setting["anchor"]
        return {**setting, "without": signal, "anchor": anchor}

    return _made(f"{base.name}_without_{signal}", f"All signals but {signal}.", base, changed)


def altered(full: Tcuq, **changes: Any) -> Tcuq:
    """Return a method like a fitted one, with something changed in its best setting that looks at the past.

    It is fitted to the same stream; the choice of that setting is not made again.

    Parameters
    ----------
    full : Tcuq
        Fitted.
    **changes
        Entries of a setting, such as `blend`, or of what `tcuq.fit` is told besides, such as `level`.
    """
    base = type(full)
    inside = {name: value for name, value in changes.items() if name in NOW}
    besides = {name: value for name, value in changes.items() if name not in NOW}

    def changed(self: Tcuq, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**base.changed(self, setting), **inside}

    doc, decided = f"Altered: {', '.join(changes) or 'nothing'}.", {**base.decided, **besides}
    found = _made(base.name, doc, base, changed, decided=decided)()
    found.follow(full)
    return found


class Widened(Tcuq):
    """A method on a widened backbone, whose cost is told in passes of the plain one.

    Parameters
    ----------
    networks : sequence of torch modules
        The widened one.
    reference : torch module, optional
        The backbone that was widened, of any weights. The cost is not known without.
    """

    def __init__(self, networks: Sequence[nn.Module] = (), reference: nn.Module | None = None) -> None:
        super().__init__(networks)
        given = () if reference is None else (reference,)
        self.reference = next(iter(networks_of(f"reference of {self.name}", given, self.recipe, 1)), None)

    def unit(self) -> nn.Module:
        """Return the plain backbone."""
        if self.reference is None:
            raise ValueError(f"{self.name} has no reference; the backbone that was widened is needed")
        return self.reference


def plus(base: type[Tcuq] = Tcuq, recipe: str = "plain", bank: str = "plain") -> type[Widened]:
    """Return the same method under the name of its widened backbone, whose weights it is to be given.

    Examples
    --------
    >>> plus().name, plus().recipe
    ('tcuq_plus', 'plain')
    """
    doc = "The same method on a widened backbone."
    body = _body(f"{base.name}_plus", doc, recipe=recipe, bank=bank)
    return type(f"{base.__name__}Plus", (Widened, base), body)


def _made(name: str, doc: str, base: type[Tcuq], changed: Any, **more: Any) -> type[Tcuq]:
    def eligible(self: Tcuq, setting: Mapping[str, Any]) -> bool:
        return setting["signals"] is None

    title = "".join(word.capitalize() for word in name.replace("_", " ").split())
    return type(title, (base,), _body(name, doc, changed=changed, eligible=eligible, **more))


def _body(name: str, doc: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "__doc__": doc, "__module__": __name__, **more}


TcuqPlus = plus()
VARIANTS: tuple[type[Tcuq], ...] = (TcuqTs, NoTemporal, NoConformal, FrozenWeights, Nonnegative, TcuqPlus)
ABLATIONS: tuple[type[Tcuq], ...] = (*map(only, SIGNALS), *map(without, PROFILES["extended"]))
"""Each signal alone, and each signal of the extended profile removed."""
