# SPDX-License-Identifier: MIT
"""How far the mixture may fall behind an expert: the proof of SPEC.md, section 17, in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from gen_base import Dice, one_hot, posterior

from tcuq.reference import beliefs as mixture
from tcuq.reference.beliefs import GUARD, HEAD_START
from tcuq.reference.numbers import logarithm, power

BETA = 251 / 256
EPSILON = 0.00138
"""Nats a step that roundings may cost."""

LEAST = (1 / 37,) * 5 + (1 / 163841,)
"""The least share of each expert: beside a class mix counting 32, and of one counting 2^-15."""

UNIT = math.log(2) / 2048
EXPERTS = range(6)
STEPS = 5000

Totals = Sequence[int]


def forgetting_cost(share: float) -> float:
    """Return kappa: the most that forgetting costs a step, by golden-section search of its single maximum."""

    def cost(z: float) -> float:
        kept, whole = share + (1 - share) * math.exp(-BETA * z), share + (1 - share) * math.exp(-z)
        return math.log(kept / whole)

    low, high = 0.0, 30.0
    for _ in range(200):
        left, right = low + 0.381966 * (high - low), low + 0.618034 * (high - low)
        low, high = (left, high) if cost(left) < cost(right) else (low, right)
    return cost(low) + 1e-12


COSTS = [forgetting_cost(share) for share in LEAST]


@dataclass
class Run:
    """Losses in nats that add up over the steps."""

    deficits: list[int] = field(default_factory=lambda: [0] * 6)
    mixture: float = 0.0
    experts: tuple[float, ...] = (0.0,) * 6
    steps: int = 0
    behind: int = GUARD
    first: int = GUARD
    gained: float = 0.0

    def take(self, totals: Totals, behind: int = GUARD) -> None:
        faded = mixture.forgotten(self.deficits)
        w = mixture.weights(faded, behind)
        self.first = self.first if self.steps else behind
        self.gained += max(0, self.behind - behind) * UNIT if self.steps else 0.0
        self.behind = behind
        predicted = sum(a * b for a, b in zip(w, totals, strict=True))
        self.mixture += math.log(sum(w)) - math.log(predicted)
        self.experts = tuple(loss - math.log(t) for loss, t in zip(self.experts, totals, strict=True))
        self.deficits = mixture.settle(faded, totals)
        self.steps += 1

    def excess(self, expert: int, epsilon: float = EPSILON) -> float:
        """Return how far the mixture lies above the tight bound."""
        start = math.log(5 + math.exp(UNIT * (HEAD_START - self.first))) + (expert == 5) * 15 * math.log(2)
        bound = start + COSTS[expert] * (self.steps - 1) + self.gained + epsilon * self.steps
        return self.mixture - self.experts[expert] - bound

    def excess_plain(self, expert: int) -> float:
        """Return how far the mixture lies above the plain bound."""
        bound = math.log(196608) * (1 + (1 - BETA) * (self.steps - 1)) + self.gained + EPSILON * self.steps
        return self.mixture - self.experts[expert] - bound


# Sequences of totals that no posterior need have caused: the bound holds for them all.


def drawn(name: str) -> Iterator[Totals]:
    dice = Dice(name)
    for _ in range(STEPS):
        yield [1 + (dice.below(2**31 - 1) >> dice.below(31)) for _ in EXPERTS]


def near_ties(name: str) -> Iterator[Totals]:
    dice = Dice(name)
    base = 1 << 20
    for _ in range(STEPS):
        yield [base + dice.below(base >> 3) for _ in EXPERTS]


def constant(gap: int) -> Iterator[Totals]:
    for _ in range(STEPS):
        yield [(1 << 24) * (100 - (k * gap) % 97) // 100 for k in EXPERTS]


def equal() -> Iterator[Totals]:
    for t in range(STEPS):
        yield [1 + t * 401_957] * 6


def favorites(period: int) -> Iterator[Totals]:
    for t in range(STEPS):
        best = t // period * 5 % 6
        yield [(1 << 28) if k == best else (1 << 22) + k for k in EXPERTS]


def far_behind() -> Iterator[Totals]:
    for t in range(STEPS):
        yield [2**31 - 1 if (k == t // 40 % 6) else 1 for k in EXPERTS]


def first_total(a: int) -> int:
    """Return the least total with a gain of at least `a`."""
    low, high = 1, 2**31 - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if mixture.gain(middle) >= a else (middle + 1, high)
    return low


def tight() -> Iterator[Totals]:
    """Yield what costs most against expert 0: deficits that stay, and roundings that hide a part of them.

    The others stay z = 8781 behind. Of 251 * z, forgetting throws 127/256 away, the most there is.
    The gain of expert 0 is understated at each step, that of the others overstated.
    """
    z, a = 8781, mixture.gain(17145855)
    best, kept = first_total(a + 1) - 1, mixture.forgotten([z])[0]
    yield [best, *[first_total(a - z)] * 5]
    for _ in range(STEPS - 2):
        yield [best, *[first_total(a - (z - kept))] * 5]
    yield [2**31 - 1, *[1] * 5]


SEQUENCES: dict[str, Callable[[], Iterator[Totals]]] = {
    "drawn": lambda: drawn("drawn"),
    "near ties": lambda: near_ties("near ties"),
    "constant": lambda: constant(7),
    "constant far": lambda: constant(19),
    "equal": equal,
    "favorites 1": lambda: favorites(1),
    "favorites 17": lambda: favorites(17),
    "favorites 300": lambda: favorites(300),
    "far behind": far_behind,
    "tight": tight,
}


def calm(t: int) -> int:
    return GUARD


def without_alarm(t: int) -> int:
    return 0


def flickering(t: int) -> int:
    return GUARD * ((t + 1) % 2)


def climbing(t: int) -> int:
    return GUARD * (99 - t % 100) // 99


GUARDS: dict[str, Callable[[int], int]] = {
    "calm": calm,
    "without alarm": without_alarm,
    "flickering": flickering,
    "climbing": climbing,
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("name", SEQUENCES)
def test_no_sequence_breaks_the_bound(name: str, guard: str) -> None:
    out = Run()
    for totals in SEQUENCES[name]():
        out.take(totals, GUARDS[guard](out.steps))
        if out.steps in (1, 2, 10, 100, 1000, STEPS):
            assert max(out.excess(k) for k in EXPERTS) <= 0
            assert max(out.excess_plain(k) for k in EXPERTS) <= 0
    assert out.steps == STEPS


WHERE_IT_COSTS = (0, 0, 0, 0, 0, GUARD)
"""By what the class mix stands behind where forgetting costs most against each expert."""


def cost_of(deficits: Sequence[int], target: int) -> float:
    """Return what forgetting costs after these deficits, against one expert."""
    shares = [1.0] * 5 + [math.exp(UNIT * (HEAD_START - WHERE_IT_COSTS[target]))]
    behind = [UNIT * (v - deficits[target]) for v in deficits]
    kept = sum(share * math.exp(-BETA * z) for share, z in zip(shares, behind, strict=True))
    return math.log(kept / sum(share * math.exp(-z) for share, z in zip(shares, behind, strict=True)))


@pytest.mark.parametrize("target", EXPERTS)
def test_no_search_breaks_the_bound(target: int) -> None:
    """An adversary that takes, of some totals, those whose deficits will cost the mixture most."""
    dice = Dice(f"search {target}")
    out, span = Run(), 1 << 26
    for _ in range(STEPS // 2):
        faded = mixture.forgotten(out.deficits)
        trials = []
        for n in range(8):
            others = span - (span >> 2 + dice.below(8)) + dice.below(span >> 9)
            loose = [span - dice.below(span >> 4) for _ in EXPERTS]
            trials.append([span if k == target else loose[k] if n % 4 == 0 else others for k in EXPERTS])
        worst = max(trials, key=lambda totals: cost_of(mixture.settle(faded, totals), target))
        out.take(worst, WHERE_IT_COSTS[target])
        assert out.excess(target) <= 0
    # The search is no formality: it comes near to what forgetting may cost at all.
    assert out.mixture - out.experts[target] > 0.9 * COSTS[target] * out.steps


def test_a_tenth_of_epsilon_would_not_do() -> None:
    out = Run()
    for totals in tight():
        out.take(totals, 0)
    assert out.excess(0) <= 0
    assert out.excess(0, EPSILON / 10) > 0


# Sequences that posteriors cause, through the whole of the learned persistence.


def streams(name: str) -> Iterator[list[int]]:
    dice, classes = Dice(name), 5
    for t in range(STEPS):
        if name == "constant":
            yield one_hot(classes, 2, 200, 10)
        elif name == "uniform":
            yield [51] * classes
        elif name == "alternating":
            yield one_hot(classes, t % classes)
        elif name == "runs":
            yield posterior(dice, classes, t // 25 % classes, dice.between(100, 3000))
        elif name == "regimes":
            shown = t // 12 % classes if t // 60 % 2 else 3 * t % classes
            yield one_hot(classes, shown, 255, t % 3)
        elif name == "collapsing":
            yield one_hot(classes, 0 if t // 200 % 2 else dice.below(classes))
        else:
            yield [dice.below(256) for _ in range(classes)]


@pytest.mark.parametrize(
    "name", ["constant", "uniform", "alternating", "runs", "regimes", "collapsing", "bytes"]
)
def test_no_stream_breaks_the_bound(name: str) -> None:
    classes = 5
    even = [65536 // classes] * classes
    experts, class_mix, out = [even] * 4, even, Run()
    for u in streams(name):
        behind = climbing(out.steps)
        mixed = mixture.mixed(mixture.plain_likelihood(u), experts, class_mix, out.deficits, behind)
        out.take(mixed.totals, behind)
        assert mixed.deficits == out.deficits
        experts, class_mix = mixed.experts, mixed.class_mix
    assert max(out.excess(k) for k in EXPERTS) <= 0
    assert max(out.excess_plain(k) for k in EXPERTS) <= 0


# The numbers that the proof takes from the tables, over every argument that there is.


def test_roundings_add_up_to_epsilon() -> None:
    def off(x: int, true: int) -> float:
        return (logarithm(x) >> 5) - 2048 * math.log2(true / 65536)

    # A total beyond 16 bits loses its last bits: it lies anywhere from x to x + 1.
    errors = [off(x, x) for x in range(1, 65536)] + [off(x, x + 1) for x in range(32768, 65536)]
    gain_span = max(errors) - min(errors)
    assert gain_span <= 1.556
    assert all(mixture.gain(x << 15) == mixture.gain(x) + 15 * 2048 for x in range(32768, 65536, 97))

    rounding = [faded - 251 * v / 256 for v, faded in enumerate(mixture.forgotten(range(65536)))]
    forget_span = max(rounding) - min(rounding)
    assert forget_span == 255 / 256

    assert max(abs(power(f) - 16384 * 2 ** (-f / 2048)) for f in range(2048)) < 1.9
    pairs = [(mixture.weight(x), 16384 * 2 ** (-x / 2048)) for x in range(65536 + GUARD)]
    lowest = min(w / exact for w, exact in pairs)
    assert lowest > 1 - 0.000103
    # The sum of the weights is at most 1.000367 times that of the exact ones: the best expert has x = 0.
    most = 1.000367
    assert 16385 - most * 16384 + 5 * max(w - most * exact for w, exact in pairs) <= 0

    saturated = 163840 * 2 ** (-65535 / 2048)
    total = (gain_span + forget_span) * UNIT - math.log(lowest) + math.log(most) - math.log(1 - saturated)
    assert 0.9 * EPSILON < total <= EPSILON


def test_the_class_mix_is_ahead_at_the_limit_of_the_alarm_alone() -> None:
    for limit in (20_000, 65_537, 1_000_003, 2**30):
        half = limit >> 1
        assert mixture.guard(0, limit) == mixture.guard(half, limit) == GUARD
        assert mixture.guard(limit, limit) == mixture.guard(2**30, limit) <= 320
        between = [mixture.guard(half + half * n // 16, limit) for n in range(17)]
        assert between == sorted(between, reverse=True)
    assert all(0 <= mixture.guard(rise, limit) <= GUARD for limit in range(1, 300) for rise in range(300))
    assert mixture.guard(123, 0) == 0


def test_forgetting_costs_less_than_equal_shares() -> None:
    for share, cost in zip(LEAST, COSTS, strict=True):
        assert cost < (1 - BETA) * -math.log(share)
    assert COSTS[0] == pytest.approx(0.03801, abs=1e-5)
    assert COSTS[5] == pytest.approx(0.17411, abs=1e-5)
