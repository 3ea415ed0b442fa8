# SPDX-License-Identifier: MIT
"""Cases without a second head: shapes, masks, posteriors, features, streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_base import (
    COEF,
    ENDS,
    EVERY,
    MIXED,
    NEGATIVE,
    PAPER,
    Case,
    Dice,
    MakeU,
    MakeX,
    by_signal,
    clip8,
    dwell,
    from_u,
    make,
    one_hot,
    posterior,
)

from tcuq.reference import NAMES, SIGNAL_COUNT


def _grid() -> Iterable[Case]:
    """Yield the paper's profile, with and without features, over the shapes."""
    shapes = [
        (2, 16, (1,), 0),
        (2, 32, (1, 2, 4), 5),
        (2, 64, (1, 4, 16, 64), -128),
        (10, 16, (2, 7, 16), 127),
        (10, 32, tuple(range(1, 9)), -128),
        (10, 64, (1, 2, 3, 5, 8), 0),
        (35, 16, (1, 2, 4), 5),
        (35, 32, (1, 2, 3, 5, 8), 0),
        (200, 32, (1, 2, 3, 5, 8), 127),
        (200, 64, (1, 2, 4), -128),
    ]
    for classes, features, lags, zero_point in shapes:
        name = f"paper_L{classes}_d{features}_lag{lags[-1]}"
        steps = 10 if classes >= 200 else 70 if lags[-1] == 64 else 32
        params = make(PAPER, classes, features, lags, zero_point=zero_point)
        yield Case(name, "dwell, a corrupted part, dwell again", params, dwell(Dice(name), params, steps))
    for classes, lags, mask in (
        (2, (1, 2, 4), 13),
        (10, (1, 4, 16, 64), 0x1D),
        (10, (2, 7, 16), 13),
        (35, (1, 2, 3, 5, 8), 0x1D),
        (200, tuple(range(1, 9)), 13),
        (200, (1, 2, 4), 0x18),
        (1000, (1,), 13),
        (1000, (1, 2), 0x1D),
    ):
        name = f"posterior_only_{mask}_L{classes}"
        steps = 4 if classes == 1000 else 10 if classes == 200 else 66 if lags[-1] == 64 else 40
        params = make(mask, classes, 0, lags)
        yield Case(name, "no features at all", params, dwell(Dice(name), params, steps))
    name = "features_present_but_unread"
    params = make(13, 10, 16, (1, 2, 4))
    yield Case(name, "features of 16 values that no signal reads", params, dwell(Dice(name), params, 40))
    for mask in (PAPER, EVERY):
        name = f"widest_features_mask{mask}"
        params = make(mask, 10, 256, (1, 2, 4), zero_point=-128)
        yield Case(name, "256 features", params, dwell(Dice(name), params, 7))


def _masks() -> Iterable[Case]:
    """Yield each signal alone, and masks that leave parts of the memory out."""
    lags: tuple[int, ...]
    for n in (0, 1, 2, 3, 4, 6):
        name = f"only_{NAMES[n]}"
        coef = tuple(4500 if i == n else 777 for i in range(SIGNAL_COUNT))
        lags = (1, 2, 4) if n <= 2 else ()
        params = make(1 << n, 10, 16 if n in (1, 6) else 0, lags, coef=coef, bias=-3 * 65536)
        yield Case(name, f"signal {n} alone", params, dwell(Dice(name), params, 28))
    for name, mask, classes, features, lags in (
        ("mask_no_divergence", EVERY & ~1, 35, 32, (1, 2, 4)),
        ("mask_no_instability", EVERY & ~2, 35, 32, (1, 2, 3, 5, 8)),
        ("mask_no_divergence_no_instability", EVERY & ~3, 10, 16, (2, 7, 16)),
        ("mask_no_ring", EVERY & ~7, 10, 16, ()),
        ("mask_no_ring_lags_given", EVERY & ~7, 10, 16, (1, 2, 4)),
        ("mask_paper_no_divergence", 14, 200, 16, (1, 4, 16, 64)),
        ("mask_paper_no_instability_with_features", 13, 10, 32, (1, 2, 3, 5, 8)),
        ("mask_flips_magnitude", 0x44, 7, 5, (1, 3)),
    ):
        params = make(mask, classes, features, lags, bias=-2 * 65536)
        yield Case(
            name, f"signals 0x{mask:03X}", params, dwell(Dice(name), params, 14 if classes == 200 else 28)
        )


def _posteriors() -> Iterable[Case]:
    """Yield posteriors that no softmax gives, or that it gives at its limits."""

    def case(name: str, why: str, mask: int, classes: int, make_u: MakeU, steps: int = 28) -> Case:
        features = 5 if mask & 0x42 else 0
        params = make(mask, classes, features, (1, 2, 4), coef=COEF)
        dice = Dice(name)
        return Case(name, why, params, from_u(dice, params, [make_u(dice, t) for t in range(steps)]))

    def tied(dice: Dice, t: int) -> list[int]:
        u = [dice.below(10) for _ in range(10)]
        for c in dice.shuffled(10)[: 2 + t % 4]:
            u[c] = 60
        return u

    def boundary(dice: Dice, t: int) -> list[int]:
        mass = (126, 127, 128, 129, 254, 255, 256, 257, 258)[t % 9]
        top = 63 + dice.below(30)
        return [top - 40, 40, mass - top - 30, 30, 0, 0, 0, 0, 0, 0]

    def halves(classes: int) -> MakeU:
        return lambda dice, t: [255 if (c < classes // 2) == (t // 3 % 2 == 0) else 0 for c in range(classes)]

    yield case("post_saturated", "255 at one class", EVERY, 10, lambda dice, t: one_hot(10, t // 6 * 3 % 10))
    yield case("post_saturated_L2", "255 at one of two", EVERY, 2, lambda dice, t: one_hot(2, t // 5 % 2))
    yield case("post_tied", "two to five classes share the top", EVERY, 10, tied)
    yield case("post_equal", "all classes equal", EVERY, 10, lambda dice, t: [25 + t % 2] * 10)
    yield case("post_equal_L2", "128 and 128", EVERY, 2, lambda dice, t: [128, 128])
    yield case("post_all_255", "every class at 255", EVERY, 35, lambda dice, t: [255] * 35, 24)
    yield case(
        "post_all_255_L1000",
        "every class at 255, the largest sums",
        0x1D,
        1000,
        lambda dice, t: [255] * 1000,
        4,
    )
    yield case("post_all_0", "no mass at all", EVERY, 10, lambda dice, t: [0] * 10)
    yield case(
        "post_none_or_all",
        "every class at 0 or at 255",
        EVERY,
        10,
        lambda dice, t: [255 * dice.below(2)] * 10 if t % 3 else [0, 255] * 5,
    )
    yield case("post_heavy", "random bytes", EVERY, 35, lambda dice, t: [dice.below(256) for _ in range(35)])
    yield case(
        "post_heavy_L200",
        "a heavy posterior",
        0x1D,
        200,
        lambda dice, t: [94 + dice.below(3)] * 200,
        20,
    )
    yield case("post_disjoint_heavy", "divergence is exactly 1", 0x1D, 10, halves(10))
    yield case("post_disjoint_heavy_L200", "divergence is exactly 1", 13, 200, halves(200), 20)
    yield case(
        "post_nearly_same",
        "steps of one unit: the table error is larger than the divergence",
        0x1D,
        10,
        lambda dice, t: [190 + 5 * c + dice.below(2) for c in range(10)],
    )
    yield case(
        "post_low_mass",
        "most is lost",
        EVERY,
        35,
        lambda dice, t: [dice.below(1 + t // 4) for _ in range(35)],
    )
    yield case(
        "post_low_mass_L200",
        "near-equal classes round to nothing",
        0x1D,
        200,
        lambda dice, t: posterior(dice, 200, t // 7, 1 + 3 * (t % 5)),
        24,
    )
    yield case(
        "post_mass_boundaries",
        "around a half and around the whole",
        EVERY,
        10,
        boundary,
    )
    yield case(
        "post_white_noise", "no dwell", EVERY, 10, lambda dice, t: posterior(dice, 10, dice.below(10), 150)
    )


def _features() -> Iterable[Case]:
    """Yield feature vectors at the corners of the cosine."""

    def case(name: str, why: str, zero_point: int, make_x: MakeX, features: int = 16) -> Case:
        params = make(EVERY, 10, features, (1, 2, 4), zero_point=zero_point)
        dice = Dice(name)
        rows = [
            (probs, [clip8(zero_point + make_x(dice, t, j)) for j in range(features)])
            for t, (probs, _) in enumerate(dwell(dice, params, 26))
        ]
        return Case(name, why, params, rows)

    yield case("feat_zero", "always the zero vector", 5, lambda dice, t, j: 0)
    yield case(
        "feat_sometimes_zero",
        "zero vectors now and then",
        0,
        lambda dice, t, j: 0 if t % 5 < 2 else 9 * j - 40,
    )
    yield case(
        "feat_opposite", "the sign turns", 0, lambda dice, t, j: (7 * j + 3) * (-1 if t // 4 % 2 else 1)
    )
    yield case("feat_tiny", "components of -1, 0, 1", -128, lambda dice, t, j: dice.below(3) - 1)
    yield case(
        "feat_one_component", "orthogonal axes", 127, lambda dice, t, j: -255 if j == t // 6 % 16 else 0
    )
    yield case(
        "feat_largest", "all at the end of the range", -128, lambda dice, t, j: 255 - dice.below(2), 256
    )
    yield case(
        "feat_largest_negative", "all at the other end", 127, lambda dice, t, j: dice.below(2) - 255, 64
    )
    yield case("feat_noise", "white noise", 5, lambda dice, t, j: dice.between(-128, 127), 32)

    name = "feat_magnitude"
    params = make(0x40, 2, 7, (), zero_point=127)
    rows = [
        (one_hot(2, 0, 72, -128), [127 - v, *[127 - w] * 6]) for v in (0, 1, 255, 254, 7) for w in (0, 1, 255)
    ]
    yield Case(name, "from the zero vector to the largest", params, rows)


def _streams() -> Iterable[Case]:
    """Yield constant and pinned streams, extreme and negative coefficients, permuted classes."""
    name = "stream_constant"
    params = make(EVERY, 10, 16, (1, 2, 3, 5, 8))
    yield Case(name, "the same inference again and again", params, dwell(Dice(name), params, 1) * 60)

    silent: dict[str, Any] = {"coef": (0,) * SIGNAL_COUNT, "blend": 65536}
    for name, bias, reference in (("stream_risk_max", 256, 60000), ("stream_risk_min", -256, 3000)):
        params = make(13, 10, 0, (1, 2, 4), bias=bias * 65536, reference=reference, **silent)
        yield Case(name, "risk is pinned: the debt meets its bound", params, dwell(Dice(name), params, 50))
    name = "stream_risk_jumps"
    params = make(
        8,
        2,
        0,
        (),
        coef=by_signal(0, 0, 0, 32767, 0, 0, 0, 0, 0),
        bias=-32 * 65536,
        blend=65536,
        doubt_mix=65536,
    )
    rows = from_u(Dice(name), params, [one_hot(2, 0, 255 if t // 20 % 2 else 128, 120) for t in range(120)])
    yield Case(name, "from the least risk to the largest and back", params, rows)

    for name, coef, bias in (
        ("coef_largest", 32767, 256),
        ("coef_least", -32768, -256),
        ("coef_largest_against_bias", 32767, -256),
    ):
        params = make(
            EVERY,
            10,
            16,
            (1, 2, 4),
            coef=(coef,) * SIGNAL_COUNT,
            bias=bias * 65536,
            clean_mean=ENDS,
        )
        yield Case(name, "coefficients at the end of their range", params, dwell(Dice(name), params, 40))
    for name, mask, classes in (("coef_negative_paper", PAPER, 10), ("coef_negative_mixed", MIXED, 35)):
        params = make(mask, classes, 6, (1, 2, 4), coef=NEGATIVE, bias=-65536)
        yield Case(name, "negative coefficients", params, dwell(Dice(name), params, 50))

    for name, mask, classes, lags in (
        ("permuted_paper", PAPER, 10, (1, 2, 4)),
        ("permuted_mixed", MIXED, 35, (1, 2, 3, 5, 8)),
    ):
        params = make(mask, classes, 4, lags)
        dice = Dice(name)
        rows = [(untied(probs), x) for probs, x in dwell(dice, params, 36)]
        order = dice.shuffled(classes)
        yield Case(f"{name}_a", "with its twin: only predictions may differ", params, rows)
        twin = [([probs[order[c]] for c in range(classes)], x) for probs, x in rows]
        yield Case(f"{name}_b", "the same stream, classes permuted", params, twin)


def untied(probs: list[int]) -> list[int]:
    """Return `probs` with a single largest value, by lowering the others that share it."""
    top = max(probs)
    at = probs.index(top)
    return [value if c == at else min(value, top - 1) for c, value in enumerate(probs)]


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_grid, _masks, _posteriors, _features, _streams):
        yield from group()
