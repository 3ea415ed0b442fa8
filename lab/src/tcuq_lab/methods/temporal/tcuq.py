"""TCUQ: the monitor of this package as a method, fitted to a development stream and run as a device does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tcuq.fitting import fit
from tcuq.fitting.folds import FOLDS, folds
from tcuq.fitting.logistic import calibrated_bias, fit_logistic
from tcuq.fitting.projection import WIDTH, Projection, projection
from tcuq.fitting.signal_table import signals_of
from tcuq.monitor.cost import cost
from tcuq.monitor.log import Log, watch
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import COEF_LIMIT, Params
from tcuq.monitor.quantize import choose_feature_scale
from tcuq.monitor.signals import FEATURE_BASED, ordered, profile_signals

from ..method import Answer, FlaggedSteps, Floats, Labeled, Method, MethodCost, Monitored, Observed
from ..objective import Measure, objective
from .reading import reads_features
from .streaming import Streaming

if TYPE_CHECKING:
    from torch import nn

NEAR, FAR = (1, 2, 4), (1, 2, 4, 8, 16)
BIAS_LIMIT = 256.0
WORTH = 0.001
"""Held-out `objective` that a setting must add to an earlier one, which needs less."""


def _setting(**changes: Any) -> Mapping[str, Any]:
    plain = {"signals": None, "lags": NEAR, "features": None, "blend": 0.7, "l2": 1.0, "anchor": "confidence"}
    return plain | changes


def _leaning(**changes: Any) -> Mapping[str, Any]:
    """Return a setting whose risk leans on the belief in the answer."""
    return _setting(anchor="belief", **changes)


INSTANT = ("odds", "magnitude")
"""Signals of the current step alone that the evidence of the alarm reads."""
NOW = _setting(signals=("doubt",), lags=())
"""The current posterior alone: what is kept where time does not help."""


def _count(value: Any) -> int:
    """Return how many numbers there are in the fields of a monitor; none where there is no evidence head."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return len(value) if isinstance(value, (list, bytes)) else int(value is not None)


class Fitted(NamedTuple):
    """A monitor's parameters, and what its features go through before it sees them."""

    params: Params
    projection: Projection | None

    def log(self, probs: Floats, seen: Observed) -> Log:
        """Return what the monitor is shown."""
        features = _projected(self.projection, seen) if self.params.features else None
        return Log(probs, features, segments=seen.segments)


def _key(setting: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(setting.items()))


def _projected(through: Projection | None, seen: Observed) -> Floats | None:
    return seen.features if through is None or seen.features is None else through(seen.features)


class Tcuq(Streaming):
    """Risk of the integer core, under the extended profile of signals.

    Settings: `signals` (None: those of the profile), `lags`, `blend`, `l2` and `anchor` as in `tcuq.fit`;
    `features`, the projection that features wider than 32 go through, or None for posteriors alone. The
    first setting looks at no past. It is kept unless another one does better in the `objective`, by
    `WORTH`, on steps that the coefficients were not fitted to: held out by kind of shift, or by segment
    where kinds are not told apart.
    """

    name = "tcuq"
    choice: ClassVar[str | None] = "tcuq"
    has_monitor = True
    keeps_fit: ClassVar[bool] = True
    profile: ClassVar[str] = "extended"
    calibrated: ClassVar[bool] = True
    """Whether the uncertainty reads as a probability of error; see `tcuq.fit`."""
    decided: ClassVar[Mapping[str, Any]] = {
        "level": "budget",
        "budget": 0.1,
        "run_length": 1000,
        "evidence": "auto",
    }
    """How `tcuq.fit` sets threshold, budget and alarm, which the score does not depend on."""
    alarmed: ClassVar[str] = "pca"
    """Projection of the features that the evidence of the alarm may read where the risk reads none."""
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = (
        NOW,
        *(_leaning(blend=blend) for blend in (1.0, 0.7, 0.3, 0.1)),
        *(_leaning(features="pca", blend=blend) for blend in (1.0, 0.7, 0.1)),
    )

    def __init__(self, networks: Sequence[nn.Module] = ()) -> None:
        super().__init__(networks)
        self.held_out: tuple[float, ...] = ()
        """Held-out `objective` of each setting of the grid."""
        self._dev: Labeled | None = None
        self._with_features: dict[tuple[str, str], bool] = {}
        self._fitted: dict[tuple[tuple[str, Any], ...], Fitted] = {}

    def posteriors(self, seen: Observed) -> Floats:
        """Return the posteriors that the monitor sees and the method stands by."""
        return seen.probs

    def fit_posteriors(self, dev: Labeled) -> None:
        """Fit nothing: a monitor watches posteriors and changes none."""

    def eligible(self, setting: Mapping[str, Any]) -> bool:
        """Return whether a setting may be chosen."""
        return True

    def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the setting that is fitted in place of the one chosen; variants differ here."""
        return setting

    def settled(self, params: Params, log: Log) -> Params:
        """Return what is kept of fitted parameters; variants differ here."""
        return params

    def fit(self, dev: Labeled) -> None:
        """Choose a setting on held-out steps, then fit it to the whole stream."""
        measure = self.measure or objective
        self._choose(dev, tuple(self.quality(dev, setting, measure) for setting in self.grid))
        self._monitor(self.setting)

    def follow(self, full: Method) -> None:
        """Fit to the stream of a fitted method with the same grid, whose choice is not made again."""
        if not isinstance(full, Tcuq) or self.grid != full.grid:
            raise ValueError(f"{self.name} has another grid than {full.name}; the same is needed")
        if type(self).posteriors is not type(full).posteriors:
            raise ValueError(f"{self.name} sees other posteriors than {full.name}; fit is needed")
        if full._dev is None:
            raise ValueError(f"{full.name} is not fitted; a development stream is needed first")
        self._choose(full._dev, full.held_out, full._with_features)
        self._monitor(self.setting)

    def fit_record(self) -> dict[str, Any]:
        """Return the held-out measures and the parameters."""
        return {"held_out": self.held_out, "params": self.params.to_dict()}

    def restore(self, dev: Labeled, record: Mapping[str, Any]) -> None:
        """Take up what `fit_record` gave after a fit to the same stream."""
        for entry in ("held_out", "params"):
            if entry not in record:
                raise ValueError(f"{entry} is missing")
        self.resume(dev, record["held_out"], Params.from_dict(record["params"]))

    def resume(self, dev: Labeled, held_out: Sequence[float], params: Params) -> None:
        """Take up what an earlier fit to the same stream found, which is not computed again.

        Parameters
        ----------
        dev : Labeled
        held_out : sequence of float
        params : Params
            Both as they are after that `fit`.
        """
        if not self.keeps_fit:
            raise ValueError(f"{self.name} fits more than parameters; fit is needed")
        if len(held_out) != len(self.grid):
            raise ValueError(f"held_out has {len(held_out)} entries, expected {len(self.grid)}")
        self._choose(dev, tuple(held_out))
        used = self.changed(self.setting)
        if params.features and not used["features"]:  # read by the evidence alone
            used = {**used, "features": self.alarmed}
        _, through = self._labeled(dev, used)
        self._fitted[_key(self.setting)] = Fitted(params, through if params.features else None)

    def _choose(
        self,
        dev: Labeled,
        held_out: tuple[float, ...],
        with_features: dict[tuple[str, str], bool] | None = None,
    ) -> None:
        self._dev, self._fitted, self.held_out = dev, {}, held_out
        # Shared with those that follow: the answer depends on the stream alone, and takes a while.
        self._with_features = {} if with_features is None else with_features
        best = -1.0
        for setting, quality in zip(self.grid, held_out, strict=True):
            if self.eligible(setting) and quality >= best + WORTH:
                best, self.setting = quality, setting

    @property
    def fitted(self) -> Fitted:
        """Parameters and projection, with the setting that was kept."""
        return self._monitor(self.setting)

    @property
    def params(self) -> Params:
        """Parameters of the monitor, with the setting that was kept."""
        return self.fitted.params

    @property
    def time_helps(self) -> bool:
        """Whether the order of the steps helps; see `tcuq.fitting`. It takes a fit of its own."""
        if self._dev is None:
            raise ValueError(f"{self.name} is not fitted; a development stream is needed first")
        used, weighed = self._used(self.setting)
        found = self._params(self._labeled(self._dev, used)[0], used, weighed, explain=True)
        return bool(found.notes["fit"]["time_helps"])

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the posteriors as they are, the risk that a device would compute, and its evidence."""
        monitor, probs = self._monitor(setting), self.posteriors(seen)
        params, log = monitor.params, monitor.log(probs, seen)
        if params.evidence is None:
            return Answer(probs, watch(Monitor(params), log)["risk"])
        steps, signals = watch(Monitor(params), log, signals=True)
        return Answer(probs, steps["risk"], params.evidence.values(signals, steps["prediction"]))

    def monitored(self) -> Monitored:
        """Return this method: it is its monitor."""
        return self

    def log(self, seen: Observed) -> Log:
        """Return what the monitor is shown of a stream."""
        return self.fitted.log(self.posteriors(seen), seen)

    def altered(self, **changes: Any) -> Tcuq:
        """Return a method like this one with something changed; see `variants.altered`."""
        from .variants import altered

        return altered(self, **changes)

    def decisions(self, seen: Observed) -> FlaggedSteps:
        """Return flags and abstentions; each segment has a monitor of its own."""
        monitor = self._monitor(self.setting)
        log = monitor.log(self.posteriors(seen), seen)
        found = FlaggedSteps(np.zeros(len(seen), dtype=bool), np.zeros(len(seen), dtype=bool))
        for piece in seen.pieces():
            steps = watch(Monitor(monitor.params), log.take(piece))
            found.flagged[piece], found.abstained[piece] = steps["flagged"], steps["abstain"]
        return found

    def state(self) -> int:
        """Return the bytes of the monitor, with 32-bit pointers."""
        return cost(self._deployed()).ram_bytes

    def stored(self) -> int:
        """Return the constants of the monitor and those of the projection.

        They are all numbers of the exported `tcuq_params_t`, its tables of lags and its evidence head where
        it has one, entries of unused signals too, since a device stores these as well; and the feature scale
        where features are used. Tables in the code of the core, which are the same for every monitor, are
        not counted.
        """
        params, through = self._deployed(), self._through()
        numbers = _count(params.integers())
        lag_count = 1  # implied by the list of lags here, a field there
        scale = int(params.features > 0)
        return numbers + lag_count + scale + (0 if through is None else through.parameters)

    def unit(self) -> nn.Module | None:
        """Return the network in whose passes the cost is told; None for the own one."""
        return None

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass, the projection of its features, the monitor's constants and memory."""
        from ..counting import counted

        through = self._through()
        return counted(
            self.loaded(),
            shape,
            reference=self.unit(),
            more=0 if through is None else through.multiply_adds,
            stored=self.stored(),
            state=self.state(),
        )

    def _deployed(self) -> Params:
        """Return what a device is given; with stock coefficients, which take as much room, before a fit."""
        if self._dev is not None:
            return self.params
        from ...zoo.outputs import core

        width = min(WIDTH, core(self.network).width)
        return self._start(self.changed(self.setting), self.classes, width)

    def _through(self) -> Projection | None:
        return None if self._dev is None else self._monitor(self.setting).projection

    def _monitor(self, setting: Mapping[str, Any]) -> Fitted:
        """Return what was fitted for a setting, fitting it where that has not been asked for before."""
        if self._dev is None:
            raise ValueError(f"{self.name} is not fitted; a development stream is needed first")
        key = _key(setting)
        if key not in self._fitted:
            used, weighed = self._used(setting)
            log, through = self._labeled(self._dev, used)
            params = self._params(log, used, weighed)
            self._fitted[key] = Fitted(self.settled(params, log), through if params.features else None)
        return self._fitted[key]

    def _used(self, setting: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Return what is fitted in place of a setting, and those of its signals that the risk weighs."""
        assert self._dev is not None
        used = self.changed(setting)
        weighed = self._start(used, self._dev.observed.probs.shape[1], self._width(used)).signals
        return self._alarmed(used), weighed

    def _params(
        self, log: Log, setting: Mapping[str, Any], weighed: tuple[str, ...], explain: bool = False
    ) -> Params:
        """Return parameters that are fitted to a log; what signals add is left out unless asked for."""
        start = self._start(setting, log.classes, log.width)
        return fit(
            log,
            signals=start.signals,
            risk_signals=weighed,
            lags=start.lags,
            window=start.window,
            blend=start.blend,
            l2=setting["l2"],
            anchor=start.anchor,
            calibrate=self.calibrated,
            nonnegative=setting.get("nonnegative", False),
            use_features=start.features > 0,
            explain=explain,
            drop_unused=False,  # variants are compared at the same cost
            **self.decided,
        )

    def _width(self, setting: Mapping[str, Any]) -> int:
        """Return how wide the features are that a setting reads."""
        assert self._dev is not None
        given = self._dev.observed.features
        return 0 if given is None or not setting["features"] else min(WIDTH, given.shape[1])

    def _alarmed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a setting that also has the signals which the evidence of the alarm reads.

        Where nothing remembers the past, only those of the current step are added.
        """
        if not self.decided["evidence"] or not (setting["features"] or self._reads()):
            return setting
        signals = setting["signals"]
        if signals is not None:
            signals = (*signals, *(name for name in INSTANT if name not in signals))
        return {**setting, "features": setting["features"] or self.alarmed, "signals": signals}

    def _reads(self) -> bool:
        """Return whether the evidence of the alarm reads features; found once for a development stream."""
        assert self._dev is not None
        if self._dev.observed.features is None or not (self._dev.kinds > 0).any():
            return False
        key = self.profile, self.alarmed
        if key not in self._with_features:
            setting = _leaning(features=self.alarmed)
            log, _ = self._labeled(self._dev, setting)
            self._with_features[key] = reads_features(self._scaled(setting, log), log)
        return self._with_features[key]

    def _scaled(self, setting: Mapping[str, Any], log: Log) -> Params:
        """Return parameters with a setting's signals, stock coefficients and the scale of the features."""
        params = self._start(setting, log.classes, log.width)
        if params.features and log.features is not None:
            scale, zero_point = choose_feature_scale(log.features)
            params = params.replace(feature_scale=scale, feature_zero_point=zero_point)
        return params

    def _start(self, setting: Mapping[str, Any], classes: int, width: int) -> Params:
        """Return parameters with a setting's signals and stock coefficients."""
        used = width if setting["features"] else 0
        signals = ordered(setting["signals"] or profile_signals(self.profile, used))
        signals = tuple(name for name in signals if name != setting.get("without"))
        return Params(
            classes=classes,
            features=used if set(signals) & set(FEATURE_BASED) else 0,  # nobody would read them
            signals=signals,
            lags=setting["lags"],
            window=max(16, *setting["lags"], 0),
            blend=setting["blend"],
            anchor=setting["anchor"],
        )

    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        seen, through = dev.observed, None
        if setting["features"] and seen.features is not None:
            through = projection(
                setting["features"], seen.features[dev.kinds == 0], seed=setting.get("seed", 0)
            )
        features = _projected(through, seen) if setting["features"] else None
        return Log(self.posteriors(seen), features, dev.labels, seen.segments, dev.kinds), through

    def quality(self, dev: Labeled, setting: Mapping[str, Any], measure: Measure = objective) -> float:
        """Return the mean over folds of a measure, each from a fit on the other folds."""
        log, _ = self._labeled(dev, setting)
        params = self._scaled(setting, log)
        values, past = signals_of(params, log)
        wrong, fold = log.errors(), folds(log)
        found = []
        for number in range(FOLDS):
            inside = fold == number
            rest = past & ~inside
            if wrong[rest].any() and not wrong[rest].all():
                coef, bias = fit_logistic(values[rest], wrong[rest], setting["l2"], -COEF_LIMIT)
                if self.calibrated:
                    bias = calibrated_bias(values[rest] @ coef, float(wrong[rest].mean()))
                by_name = dict(zip(params.signals, coef.tolist(), strict=True))
                trial = params.replace(coef=by_name, bias=float(np.clip(bias, -BIAS_LIMIT, BIAS_LIMIT)))
                risk = watch(Monitor(trial), log)["risk"]
                found.append(measure(risk, wrong, dev.kinds, dev.observed.segments, inside))
        known = [each for each in found if np.isfinite(each)]
        return float(np.mean(known)) if known else 0.0


class TcuqPaper(Tcuq):
    """Risk of the integer core, under the four signals of the paper."""

    name = "tcuq_paper"
    choice = "tcuq_paper"
    profile = "paper"
    calibrated = False
    decided: ClassVar[Mapping[str, Any]] = {**Tcuq.decided, "evidence": False}
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
