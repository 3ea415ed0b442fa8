"""Methods on a stream of outputs: against plain loops, causal, segment by segment, as a device runs them."""

from __future__ import annotations

import re
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tcuq import SIGNALS, FitOptions, Monitor, Params, fit
from tcuq.export.csource import params_source
from tcuq.log.log import Log
from tcuq.monitor.cost import cost
from tcuq_lab.methods.method import Labeled, Observed
from tcuq_lab.methods.paper import NoConformal, TcuqPaper, TcuqTs
from tcuq_lab.methods.registry import STREAM_METHODS
from tcuq_lab.methods.rules import MeanAnswer, MeanPosterior, Median, Streaming, Suppress, Vote
from tcuq_lab.methods.tcuq import Tcuq, TcuqStandard
from tcuq_lab.streams import Description, Geometric, Segments, Shift, build

SHIFTS = ("fog", "frost", "snow")
LABELS = np.arange(1000) % 5
WIDTH = 48
STEPS = 1000


def simulated_bank(seed: int = 0) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return posteriors and features that tell classes apart the less, the more severe a source is."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 1, (5, WIDTH))
    bank = {}
    for name in ("clean", *(f"{kind}/{severity}" for kind in SHIFTS for severity in (2, 4))):
        severity = int(name.partition("/")[2] or 0)
        logits = rng.normal(0, 1, (len(LABELS), 5))
        logits[np.arange(len(LABELS)), LABELS] += 3.5 - 0.6 * severity
        exp = np.exp(logits)
        features = np.maximum(0, centers[LABELS] + rng.normal(0, 0.5 + 0.2 * severity, (len(LABELS), WIDTH)))
        bank[name] = ((exp / exp.sum(1, keepdims=True)).astype(np.float32), features.astype(np.float16))
    return bank


BANK = simulated_bank()


def made(dwell: float, seeds: tuple[int, ...]) -> Labeled:
    """Return streams of several seeds, a segment each."""
    fixed: dict[str, Any] = {"dataset": "toy", "part": "dev", "steps": STEPS, "dwell": Geometric(dwell)}
    shifts = tuple(Shift(kind, (2, 4)) for kind in SHIFTS)
    plans = [Description(seed=seed, layout=Segments(), shifts=shifts, **fixed) for seed in seeds]
    logs = [build(plan, LABELS).log(BANK) for plan in plans]
    assert all(log.features is not None and log.labels is not None and log.kinds is not None for log in logs)
    seen = Observed(
        np.concatenate([log.probs for log in logs]),
        np.concatenate([log.features for log in logs]),
        stretches=np.repeat(np.arange(len(logs)), STEPS),
    )
    labels, kinds = (np.concatenate([getattr(log, name) for log in logs]) for name in ("labels", "kinds"))
    return Labeled(seen, labels, kinds)


DEV, TEST = made(12, (0, 1)), made(12, (100, 101))


def part(seen: Observed, index: slice) -> Observed:
    assert seen.features is not None and seen.stretches is not None
    return Observed(seen.probs[index], seen.features[index], stretches=seen.stretches[index])


@pytest.fixture(scope="module")
def fitted() -> dict[str, Streaming]:
    full = TcuqPaper()
    full.fit(DEV)
    found: dict[str, Streaming] = {}
    for kind in STREAM_METHODS:
        made = kind()
        if isinstance(made, TcuqPaper) and kind is not TcuqTs:
            made.follow(full)
        else:
            made.fit(DEV)
        found[kind.name] = made
    return found


@pytest.fixture(params=[kind.name for kind in STREAM_METHODS])
def method(request: pytest.FixtureRequest, fitted: dict[str, Streaming]) -> Streaming:
    return fitted[request.param]


def ragged() -> Observed:
    rng = np.random.default_rng(3)
    return Observed(rng.dirichlet(np.ones(4), 60), stretches=np.repeat([4, 2, 9, 5], [1, 25, 4, 30]))


def windows(seen: Observed, last: int) -> list[list[int]]:
    """Return for each step the steps that it may look at, itself last."""
    found = []
    for piece in seen.pieces():
        for step in range(piece.start, piece.stop):
            found.append(list(range(max(piece.start, step - last + 1), step + 1)))
    return found


@pytest.mark.parametrize("setting", Vote.grid, ids=repr)
def test_vote_is_a_plain_count(setting: dict[str, Any]) -> None:
    seen = ragged()
    labels = seen.probs.argmax(1)
    expected = [
        sum(labels[i] != labels[window[-1]] for i in window) / len(window)
        + setting["weight"] * (1 - seen.probs[window[-1]].max())
        for window in windows(seen, setting["last"])
    ]
    assert np.allclose(Vote().score(seen, setting).score, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", [*MeanPosterior.grid, *MeanAnswer.grid], ids=repr)
def test_mean_posterior_is_a_plain_mean(setting: dict[str, Any]) -> None:
    seen = ragged()
    means = np.array([seen.probs[window].mean(0) for window in windows(seen, setting["last"])])
    found = MeanPosterior().score(seen, setting)
    if setting["answer"] == "mean":
        assert np.allclose(found.probs, means, rtol=0, atol=1e-12)
        assert np.allclose(found.score, 1 - means.max(1), rtol=0, atol=1e-12)
    else:
        assert found.probs is seen.probs
        at_label = means[np.arange(len(seen)), seen.probs.argmax(1)]
        assert np.allclose(found.score, 1 - at_label, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", Median.grid, ids=repr)
def test_median_is_a_plain_median(setting: dict[str, Any]) -> None:
    seen = ragged()
    doubt = (1 - seen.probs.max(1)).tolist()
    expected = [median(doubt[i] for i in window) for window in windows(seen, setting["last"])]
    assert np.allclose(Median().score(seen, setting).score, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", Suppress.grid, ids=repr)
def test_suppress_is_a_mean_with_silences(setting: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    seen = replace(ragged(), probs=rng.dirichlet(np.full(3, 0.2), 60))
    method = Suppress()
    method.setting = setting
    doubt = 1 - seen.probs.max(1)
    expected = np.array([doubt[window].mean() for window in windows(seen, setting["last"])])
    assert np.allclose(method.answer(seen).score, expected, rtol=0, atol=1e-12)
    fired, held = [False] * 60, [False] * 60
    for piece in seen.pieces():
        reported: tuple[int, int] | None = None
        for step in range(piece.start, piece.stop):
            label = int(seen.probs[step].argmax())
            if 1 - expected[step] < setting["threshold"]:
                continue
            if reported is None or label != reported[0] or step - reported[1] > setting["silence"]:
                fired[step], reported = True, (label, step)
            else:
                held[step] = True
    found = method.decisions(seen)
    assert found.fired.tolist() == fired
    assert found.suppressed.tolist() == held
    assert found.fired.any()


def test_tcuq_gives_what_a_monitor_gives(fitted: dict[str, Streaming]) -> None:
    method = fitted["tcuq_paper"]
    assert isinstance(method, TcuqPaper)
    for setting in (method.grid[1], method.grid[5]):
        params, through = method._monitor(setting)
        assert params.features == (32 if setting["features"] else 0)
        assert params.evidence is None and params.instant is None
        features = None if through is None else through(TEST.observed.features)  # type: ignore[arg-type]
        score = method.score(TEST.observed, setting).score
        for piece in TEST.observed.pieces():
            rows = None if features is None else features[piece]
            assert (score[piece] == Monitor(params).run(TEST.observed.probs[piece], rows)["risk"]).all()
    assert (method.answer(TEST.observed).probs == TEST.observed.probs).all()


def test_the_standard_monitor_is_what_fit_gives_by_default(fitted: dict[str, Streaming]) -> None:
    method, seen = fitted["tcuq_standard"], DEV.observed
    assert isinstance(method, TcuqStandard)
    log = Log(seen.probs, seen.features, DEV.labels, seen.stretches, DEV.kinds)
    assert method.params == fit(log, about="prediction", options=FitOptions(explain=False))
    assert method.params.instant is not None and method.params.features == WIDTH
    again = TcuqStandard()
    again.restore(DEV, method.fit_record())
    found, head = method.answer(TEST.observed), method.params.evidence
    for one, other in zip(found, again.answer(TEST.observed), strict=True):
        np.testing.assert_array_equal(one, other)
    assert head is not None and head.reach > 256 and found.evidence is not None
    for piece in TEST.observed.pieces():
        given = part(TEST.observed, piece)
        steps, signals = Monitor(method.params).run(given.probs, given.features, signals=True)
        np.testing.assert_array_equal(found.score[piece], steps["risk"])
        slow = [head.coef.get(name, 0.0) for name in ("degradation", "drift")]
        places = [SIGNALS.index(name) for name in ("degradation", "drift")]
        added = np.clip(head.bias + signals[:, places] @ slow, -head.clip, head.clip) * steps["novelty"]
        np.testing.assert_allclose(found.evidence[piece], added - head.allowance, atol=0.02)
    with pytest.raises(ValueError, match="tcuq_standard is not fitted; a development stream is needed first"):
        TcuqStandard().state()


def test_decisions_keep_level_and_budget(fitted: dict[str, Streaming]) -> None:
    method = fitted["tcuq_paper"]
    assert isinstance(method, Tcuq)
    found = method.decisions(TEST.observed)
    for piece in TEST.observed.pieces():
        assert abs(found.flagged[piece].mean() - 0.1) <= method.params.flag_bound(STEPS)
        assert found.abstained[piece].sum() <= 0.1 * STEPS + method.params.burst
    assert not (found.abstained & ~found.flagged).any()
    assert found.abstained.any()


def test_no_conformal_has_the_same_scores_and_a_frozen_threshold(fitted: dict[str, Streaming]) -> None:
    full, frozen = fitted["tcuq_paper"], fitted["tcuq_paper_no_conformal"]
    assert isinstance(full, Tcuq) and isinstance(frozen, NoConformal)
    score = full.answer(TEST.observed).score
    assert (frozen.answer(TEST.observed).score == score).all()
    assert frozen.params.reference == full.params.reference
    found = frozen.decisions(TEST.observed)
    assert (found.flagged == (score >= full.params.reference)).all()
    assert (found.flagged != full.decisions(TEST.observed).flagged).any()


def constants_in_c(params: Params) -> int:
    """Count the numbers of an exported monitor in its C text; a checksum of the others is none of them."""
    text = params_source(params, "toy").replace("0u, /* reserved */", "")
    text = re.sub(r"0x[0-9a-f]{8}u, /\* fingerprint", "/*", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("TCUQ_PARAMS_VERSION", "1")
    values = re.findall(r"[={,]\s*(-?(?:0x)?[0-9A-F]+)u?\s*(?=[,}])", text.replace(",", ",,"))
    return len(values)


def test_costs_are_those_of_the_plain_network(method: Streaming) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    from tcuq_lab.zoo.backbones import backbone
    from tcuq_lab.zoo.outputs import multiply_adds, parameters

    network, shape = backbone("cnn4", classes=5, width=4), (1, 28, 28)
    method.networks = (network,)
    found = method.cost(shape)
    more = 0
    stored = {"vote": 2, "mean_posterior": 1, "mean_answer": 1, "suppress": 3, "median": 1}.get(
        method.name, 0
    )
    state = {"vote": 1, "mean_posterior": 5, "mean_answer": 5, "suppress": 1, "median": 1}
    if isinstance(method, Tcuq):
        through = method._monitor(method.setting).projection
        stored = constants_in_c(method.params) + (method.name == "tcuq_paper_ts")
        if method.params.features:
            stored += 1  # the scale of the features, which C has as a comment
        if through is not None:
            more, stored = through.multiply_adds, stored + through.parameters
        assert found.state == cost(method.params).ram_bytes < 1024
    else:
        ring = (method.setting["last"] - 1) * state[method.name]
        assert ring < found.state <= ring + 6
    assert found.multiply_adds == multiply_adds(network, shape) + more
    assert found.parameters == parameters(network) + stored
    assert found.passes == pytest.approx(found.multiply_adds / multiply_adds(network, shape))
    assert not found.gradient
