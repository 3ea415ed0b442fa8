"""TCUQ: monitors as `tcuq.fit` makes them, as methods, run as a device does; their alarms at any limit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tcuq.base.fixed import ONE
from tcuq.fitting import FitOptions, fit
from tcuq.fitting.arrays import added_in_run, compared, novelty
from tcuq.fitting.clean import in_format
from tcuq.log.log import MAX_FEATURES, Log
from tcuq.metrics.inputs import Bools, Ints
from tcuq.monitor.cost import cost
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER

from ..detectors.scores import Doubles
from ..detectors.switches import above, capped
from ..harness.types import Answers, Array, Outputs, Switch
from ..metrics.alarms import candidates, rested_sums
from ..metrics.drops import Measure, objective
from .method import Answer, Floats, Labeled, Method
from .projection import Projection, projection

if TYPE_CHECKING:
    from torch import nn


SETTINGS = ("signals", "lags", "features", "blend", "l2")
"""Names of a setting's entries; all else that `altered` is told goes to `tcuq.fit`."""
WORTH = 0.001
"""Held-out `objective` that a setting must add to an earlier one, which needs less."""


def _count(value: Any) -> int:
    """Return how many numbers there are in the fields of a monitor; none where there is no evidence head."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return len(value) if isinstance(value, (list, bytes)) else int(value is not None)


class Fitted(NamedTuple):
    """A monitor's parameters, and what its features go through before it sees them."""

    params: Params
    projection: Projection | None

    def log(self, probs: Floats, seen: Outputs) -> Log:
        """Return what the monitor is shown."""
        features = projected(self.projection, seen) if self.params.features else None
        return Log(probs, features, segments=seen.stretches)


def projected(through: Projection | None, seen: Outputs) -> Floats | None:
    """Return the features of a stream behind a projection, if there is one."""
    return seen.features if through is None or seen.features is None else through(seen.features)


def _key(setting: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(setting.items()))


class Tcuq(Method):
    """Risk of the integer core; a later setting is kept if it does better, by `WORTH`, on held-out steps."""

    keeps_fit: ClassVar[bool] = True
    """Whether `fit_record` holds all that `fit` finds, so that `restore` may take its place."""
    decided: ClassVar[Mapping[str, Any]] = {}
    """What `tcuq.fit` is told beside a setting, which the score does not depend on."""

    def __init__(self, networks: Sequence[nn.Module] = ()) -> None:
        super().__init__(networks)
        self.held_out: tuple[float, ...] = ()
        """Held-out `objective` of each setting of the grid."""
        self._dev: Labeled | None = None
        self._fitted: dict[tuple[tuple[str, Any], ...], Fitted] = {}

    def posteriors(self, seen: Outputs) -> Floats:
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

    def quality(self, dev: Labeled, setting: Mapping[str, Any], measure: Measure = objective) -> float:
        """Return a measure of a setting on steps that it was not fitted to; 0 where there is one setting."""
        return 0.0

    @abstractmethod
    def _params(self, log: Log, setting: Mapping[str, Any]) -> Params:
        """Return parameters that are fitted to a log."""

    @abstractmethod
    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        """Return a development stream as a log, and what its features went through."""

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
        self._choose(full._dev, full.held_out)
        self._monitor(self.setting)

    def fit_record(self) -> dict[str, Any]:
        """Return the held-out measures and the parameters."""
        return {"held_out": self.held_out, "params": self.params.to_dict()}

    def restore(self, dev: Labeled, record: Mapping[str, Any]) -> None:
        """Take up what `fit_record` gave after a fit to the same stream, which is not computed again."""
        if not self.keeps_fit:
            raise ValueError(f"{self.name} fits more than parameters; fit is needed")
        for entry in ("held_out", "params"):
            if entry not in record:
                raise ValueError(f"{entry} is missing")
        if len(record["held_out"]) != len(self.grid):
            raise ValueError(f"held_out has {len(record['held_out'])} entries, expected {len(self.grid)}")
        params = Params.from_dict(record["params"])
        self._choose(dev, tuple(record["held_out"]))
        _, through = self._labeled(dev, self.changed(self.setting))
        self._fitted[_key(self.setting)] = Fitted(params, through if params.features else None)

    def _choose(self, dev: Labeled, held_out: tuple[float, ...]) -> None:
        self._dev, self._fitted, self.held_out = dev, {}, held_out
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

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the posteriors as they are, and the risk that a device would compute."""
        monitor, probs = self._monitor(setting), self.posteriors(seen)
        return Answer(probs, run_over(Monitor(monitor.params), monitor.log(probs, seen))["risk"])

    def log(self, seen: Outputs) -> Log:
        """Return what the monitor is shown of a stream."""
        return self.fitted.log(self.posteriors(seen), seen)

    def altered(self, **changes: Any) -> Tcuq:
        """Return a method with something changed in its best setting that looks at the past."""
        base = type(self)
        inside = {name: value for name, value in changes.items() if name in SETTINGS}
        besides = {name: value for name, value in changes.items() if name not in SETTINGS}

        class Altered(base):  # type: ignore[misc,valid-type]
            decided: ClassVar[Mapping[str, Any]] = {**base.decided, **besides}

            def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
                return {**base.changed(self, setting), **inside}

            def eligible(self, setting: Mapping[str, Any]) -> bool:
                return setting["signals"] is None

        found: Tcuq = Altered()
        found.follow(self)
        return found

    def steps(self, seen: Outputs) -> Array:
        """Return what a device decides at each step; each segment has a monitor of its own."""
        log = self.log(seen)
        parts = [np.asarray(run_over(Monitor(self.params), log.take(piece))) for piece in seen.pieces()]
        return np.concatenate(parts)

    @property
    def needs(self) -> Mapping[str, Any]:
        """Store the numbers of the exported `tcuq_params_t`, keep the monitor, project the features."""
        params, through = self._deployed(), self._through()
        more, stored = (0, 0) if through is None else (through.multiply_adds, through.parameters)
        # The count of the lags is implied by their list here; features have a scale.
        stored += _count(params.integers()) + 1 + int(params.features > 0)
        return {"stored": stored, "state": cost(params).ram_bytes, "more": more}

    def _deployed(self) -> Params:
        """Return what a device is given."""
        return self.params

    def _through(self) -> Projection | None:
        return None if self._dev is None else self._monitor(self.setting).projection

    def _monitor(self, setting: Mapping[str, Any]) -> Fitted:
        """Return what was fitted for a setting, fitting it where that has not been asked for before."""
        if self._dev is None:
            raise ValueError(f"{self.name} is not fitted; a development stream is needed first")
        key = _key(setting)
        if key not in self._fitted:
            used = self.changed(setting)
            log, through = self._labeled(self._dev, used)
            params = self._params(log, used)
            self._fitted[key] = Fitted(self.settled(params, log), through if params.features else None)
        return self._fitted[key]


class TcuqStandard(Tcuq):
    """What `tcuq.fit` makes of a development stream by default, speaking of the network's prediction.

    Only features that are wider than a monitor takes go through a projection.
    """

    name = "tcuq_standard"
    decided: ClassVar[Mapping[str, Any]] = {"about": "prediction"}
    grid = ({"signals": None, "features": "all"},)

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer as `TcuqPaper` does, with a fresh monitor for each segment: what it learns outlives a reset.

        Evidence is what the alarm of a device looks at: how far clean data are, over its limit.
        """
        monitor, probs = self._monitor(setting), self.posteriors(seen)
        params, log = monitor.params, monitor.log(probs, seen)
        parts = [run_over(Monitor(params), log.take(piece)) for piece in seen.pieces()]
        names = ["risk"] if params.sight is None else ["risk", "degradation"]
        columns = (np.concatenate([np.asarray(part[name], np.float64) for part in parts]) for name in names)
        return Answer(probs, *columns)

    def _params(self, log: Log, setting: Mapping[str, Any]) -> Params:
        return fit(log, force=True, options=FitOptions(explain=False), **self.decided)

    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        seen, through = dev.observed, None
        features = seen.features
        if features is not None and features.shape[1] > MAX_FEATURES:
            through = projection("pca", features[dev.kinds == 0])
            features = None if through is None else through(features)
        return Log(self.posteriors(seen), features, dev.labels, seen.stretches, dev.kinds), through


class Ours:
    """A fitted monitor; a fresh one watches each stretch, as what one learns outlives a reset."""

    def __init__(
        self, params: Params, about: str = "prediction", second: Params | None = None, movable: bool = False
    ) -> None:
        self.params, self.about, self.second = params, about, second
        self.movable = movable  # the limit of its alarm may be moved; stretches are as long as each other

    def watch(self, seen: Outputs) -> Answers:
        """Say risk, class, alarm and accuracy; a second monitor may speak of the prediction."""
        steps, signals = run(self.params, seen, self.movable)
        accuracy = steps["expected_accuracy"]
        about = steps["risk"] if self.about == "prediction" else None
        if self.second is not None:
            about = run(self.second, seen)[0]["risk"]
        return Answers(
            steps["risk"],
            steps[self.about].astype(np.int64),
            self._alarm(seen, steps, signals),
            None if np.isnan(accuracy).any() else accuracy,
            ~steps["abstain"].astype(bool),
            about,
        )

    def _alarm(self, seen: Outputs, steps: Array, signals: Array | None) -> Any:
        on = np.asarray(steps["alarm"] > 0)
        if signals is None or (self.params.evidence is None and self.params.sight is None):
            return on
        pieces = seen.pieces()
        if self.params.sight is not None:
            return _switch_of(np.stack([steps["degradation"][at] for at in pieces]), on)
        added = np.stack(
            [added_to(self.params, seen.taken(at).log(), steps[at], signals[at]) for at in pieces]
        )
        alarm = self.params.alarm.integers()
        limit, back = int(alarm["rise_limit"]), alarm["rise_limit"] - alarm["rise_clear"]
        if not limit:
            return on

        def path(settled: Bools) -> Doubles:
            tried = candidates(rested_sums(added, settled))
            return tried[tried >= 1]

        found = Switch(partial(capped, added, back=back, hold=alarm["least_raised"]), path, limit)
        differ = float((found.at_limit() != on.reshape(added.shape)).mean())
        if differ:
            raise RuntimeError(f"the alarm is not what its sum says at {differ:.2%} of the steps")
        return found

    @property
    def choice(self) -> str:
        """What the fit decided, in one line."""
        notes = self.params.notes["fit"]
        said = [
            f"signals {' '.join(self.params.signals)}",
            f"{notes['steps']} steps",
            f"persistence {notes.get('persistence', float('nan')):.3g}",
            f"alarm {notes.get('evidence', {}).get('chosen', 'unknown')}",
            f"{len(notes.get('warnings', ()))} warnings",
        ]
        return ", ".join(said)


def _switch_of(distance: Doubles, on: Bools) -> Switch:
    """Return an alarm on a distance: as the monitor has it at its own limit, 1, else while it is that far."""
    own = on.reshape(distance.shape)

    def moved(limits: Floats) -> Bools:
        return np.where((limits == 1)[:, None, None], own, above(distance, limits))

    return Switch(moved, lambda settled: candidates(distance[settled]), 1.0)


def run(params: Params, seen: Outputs, signals: bool = False) -> tuple[Array, Array | None]:
    """Return what a fresh monitor says to each stretch, and its signals if they are asked for."""
    logs = [part.log() for part in seen.split()]
    if not signals:
        return np.concatenate([np.asarray(run_over(Monitor(params), log)) for log in logs]), None
    both = [run_over(Monitor(params), log, signals=True) for log in logs]
    said, seen_signals = (np.concatenate([np.asarray(each) for each in of]) for of in zip(*both, strict=True))
    return said, seen_signals


def fitted(log: Log, clean: Log | None, explain: bool = False, **options: Any) -> Params:
    """Return the monitor that `tcuq.fit` makes."""
    return fit(log, clean=clean, force=True, options=FitOptions(explain=explain), **options)


def added_to(params: Params, log: Log, steps: Any, signals: Doubles) -> Ints:
    """Return what a fresh monitor adds to the rise side of its alarm at each step, Q16.16."""
    head, still = params.evidence, None
    assert head is not None
    if head.frozen:
        odds = np.round(signals[:, NUMBER["odds"]] * ONE).astype(np.uint16)
        values = compared(in_format(log, params), None if "distance" in params.signals else odds)
        _, stillness = novelty(values, head.reach, np.arange(len(log)) == 0)
        still = stillness > head.frozen
    return added_in_run(params, steps, signals, still)
