"""One step: from an inference to what the monitor says (sections 6 to 8, and the order of a step)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .beliefs import Mixed, guard, mixed, plain_likelihood
from .decide import slow_mean, weighed
from .numbers import log_odds, logistic, mix, note, sat, word
from .signals import SLOW_MAX, Reading, blocks, far, masses, momentary, squares
from .state import State

NO_REASON = 255
ERROR_REASON = 254


@dataclass(frozen=True)
class Step:
    """What one step says, in the order of a `step` line."""

    threshold: int
    degradation: int
    prediction: int
    answer: int
    risk: int
    uncertainty: int
    persistence: int
    novelty: int
    expected_accuracy: int
    flagged: int
    abstain: int
    alarm: int
    warming_up: int
    reason: int
    low_mass: int
    action: int
    changed: int
    moved: int
    signals: tuple[int, ...]


class Monitor(State):
    """A monitor: its state and the step over it."""

    def step(self, probs: list[int], features: list[int], gauges: Sequence[int] | None = None) -> Step:
        """Take one inference in: int8 values as section 3 describes them, gauges as section 20 does."""
        p = self.params
        u = masses(probs)
        mixture = self._believe(u)
        reading = self._read(probs, features, mixture)
        signals = momentary(p, reading)
        self.ring = [(reading.prediction, probs, features), *self.ring][: p.depth]
        novelty, evidence, frozen = 0, 0, False
        head = p.evidence if p.evidence is not None else p.sight
        if head is not None:
            novelty, frozen = self.novelty(head, blocks(features) if p.uses(7) else [signals[4]])
        if p.sight is not None:
            inputs = gauges if p.sight.gauges else blocks(features) if p.uses(7) else None
            self.look(p.sight, signals, inputs, reading.subject, novelty)
        if p.evidence is not None:
            evidence = self.add_evidence(p.evidence, signals, reading.subject, novelty, frozen)
            signals[9] = self._drift(reading.gaps, novelty)
        self.has_last = True

        persistence = 0 if mixture is None else mixture.persistence
        bias, coef = self._head(persistence >> 1)
        uncertainty = logistic(bias + weighed(coef, signals, self.used))
        if frozen:
            guess = 65536 - 65536 // p.classes
            note("frozen above a guess" if uncertainty > guess else "frozen a guess")
            uncertainty = max(uncertainty, guess)
        of_subject = 256 * u[reading.subject]
        if p.anchor and mixture is not None:
            of_subject = mixture.belief[reading.subject]
        risk = mix(uncertainty, sat(65536 - of_subject), p.blend)

        degradation, changed, moved = 0, 0, 255
        if p.evidence is not None:
            degradation = self.degradation
        if p.sight is not None:
            degradation, changed = self.over(), int(frozen or self.rise >= p.sight.changed)
            moved = 254 if frozen else self.moved if changed else 255
        rising = self.rising(risk, signals, evidence, novelty)
        seen: tuple[bool, int] | tuple[()] = ()
        if p.sight is not None:
            against = log_odds(uncertainty) + log_odds(65536 - of_subject) >> 1
            own = p.sight.accuracy_odds != 0 and not frozen
            seen = frozen, logistic(self.right(p.sight, against)) if own else 65535 - uncertainty
        decided = self.decide(risk, uncertainty, reading.answer, rising, *seen)
        reason = self._reason(signals, coef) if decided.flagged else NO_REASON
        if reason == NO_REASON and decided.abstain and decided.doubtful:
            reason = ERROR_REASON
        return Step(
            threshold=decided.threshold,
            degradation=degradation,
            prediction=reading.prediction,
            answer=reading.answer,
            risk=risk,
            uncertainty=uncertainty,
            persistence=persistence,
            novelty=sat(256 * novelty),
            expected_accuracy=decided.expected_accuracy,
            flagged=decided.flagged,
            abstain=decided.abstain,
            alarm=decided.alarm,
            warming_up=decided.warming_up,
            reason=reason,
            low_mass=int(sum(u) < 128),
            action=decided.action,
            changed=changed,
            moved=moved,
            signals=tuple(signals),
        )

    def _believe(self, u: list[int]) -> Mixed | None:
        """Let the experts take a posterior in; None without an `instant` head."""
        p, head, classes = self.params, self.params.instant, self.params.classes
        if head is None:
            return None
        if not self.has_last:
            self.experts = [65536 // classes] * (4 * classes)
        q = plain_likelihood(u)
        guarded = (p.evidence is not None or p.sight is not None) and not self.alarm & 1
        behind_by = guard(self.rise, p.rise_limit) if guarded else 0
        experts = [self.experts[k * classes : (k + 1) * classes] for k in range(4)]
        mixture = mixed(q, experts, self.class_mix, self.deficits, behind_by)
        self.experts = [value for expert in mixture.experts for value in expert]
        self.class_mix, self.deficits, self.started = mixture.class_mix, mixture.deficits, True
        if 65535 in self.deficits:
            note("deficit saturated")
        if 1 in mixture.weights:
            note("weight 1")
        return mixture

    def _read(self, probs: list[int], features: list[int], mixture: Mixed | None) -> Reading:
        """Return an inference as section 3 reads it."""
        p = self.params
        prediction = probs.index(max(probs))
        answer = mixture.answer if p.about and mixture is not None else prediction
        if answer != prediction:
            note("answer is not the prediction")
        subject = answer if p.about else prediction
        gaps = []
        if p.centers is not None:
            center = p.centers[subject * p.features : (subject + 1) * p.features]
            gaps = [a - b for a, b in zip(features, center, strict=True)]
        lags = zip(p.lags, p.lag_weights, strict=True)
        past = [(w, *self.ring[lag - 1]) for lag, w in lags if lag <= len(self.ring)]
        belief = None if mixture is None else mixture.belief
        return Reading(probs, features, prediction, answer, subject, belief, past, gaps)

    def _drift(self, gaps: list[int], novelty: int) -> int:
        """Let the mean gaps take a step in; return the signal 9."""
        if not self.params.uses(9):
            return 0
        targets = (256 * gap for gap in blocks(gaps))
        self.slow = [
            slow_mean(old, new, SLOW_MAX, novelty) for old, new in zip(self.slow, targets, strict=True)
        ]
        drifts = [abs(value) >> 6 for value in self.slow]
        if max(drifts) > 16383:
            note("drift clipped")
        return far(squares([min(drift, 16383) for drift in drifts]))

    def _head(self, h: int) -> tuple[int, list[int]]:
        """Return bias and coef of section 7: between those of two heads where there is an `instant` one."""
        p, head = self.params, self.params.instant
        if head is None:
            return p.bias, list(p.coef)
        coef = [low + (word((c - low) * h) >> 15) for c, low in zip(p.coef, head.coef, strict=True)]
        return head.bias + (word(((p.bias - head.bias) >> 10) * h) >> 5), coef

    def _reason(self, signals: list[int], coef: list[int]) -> int:
        """Return the signal that adds most to the risk, section 8."""
        best, reason = 0, NO_REASON
        for n in self.used:
            pull = word(coef[n] * (signals[n] - self.params.clean_mean[n]))
            if pull > best:
                best, reason = pull, n
        return reason
