"""Methods on a stream of outputs: against plain loops and scikit-learn, and as a device runs them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from tcuq import SIGNALS, FitOptions, Monitor, Params, fit
from tcuq.export.csource import params_source
from tcuq.log.log import Log
from tcuq.metrics import auroc
from tcuq.monitor.cost import cost
from tcuq_lab.harness.types import Outputs
from tcuq_lab.methods import METHODS
from tcuq_lab.methods.belief import Belief, BeliefStay, BeliefTold, Hmm, expected
from tcuq_lab.methods.confidence import Stacked
from tcuq_lab.methods.ensembles import DeepBelief
from tcuq_lab.methods.method import Labeled, Method
from tcuq_lab.methods.paper import NoConformal, TcuqPaper, TcuqTs
from tcuq_lab.methods.projection import projection
from tcuq_lab.methods.rules import (
    Mean8,
    MeanAnswer,
    MeanPosterior,
    Median,
    Ring,
    Streaming,
    Suppress,
    Vote,
    Vote8,
)
from tcuq_lab.methods.tcuq import Tcuq, TcuqStandard
from tcuq_lab.streams import Description, Geometric, Segments, Shift, build

SHIFTS = ("fog", "frost", "snow")
LABELS = np.arange(1000) % 5
CLASSES, WIDTH, STEPS, DWELL = 5, 48, 1000, 12


def simulated_bank(seed: int = 0) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return posteriors and features that tell classes apart the less, the more severe a source is."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 1, (CLASSES, WIDTH))
    bank = {}
    for name in ("clean", *(f"{kind}/{severity}" for kind in SHIFTS for severity in (2, 4))):
        severity = int(name.partition("/")[2] or 0)
        logits = rng.normal(0, 1, (len(LABELS), CLASSES))
        logits[np.arange(len(LABELS)), LABELS] += 1.7 - 0.3 * severity
        exp = np.exp(logits)
        features = np.maximum(0, centers[LABELS] + rng.normal(0, 0.5 + 0.2 * severity, (len(LABELS), WIDTH)))
        bank[name] = ((exp / exp.sum(1, keepdims=True)).astype(np.float32), features.astype(np.float16))
    return bank


BANK = simulated_bank()


def made(seeds: tuple[int, ...]) -> Labeled:
    """Return streams of several seeds, a segment each."""
    fixed: dict[str, Any] = {"dataset": "toy", "part": "dev", "steps": STEPS, "dwell": Geometric(DWELL)}
    shifts = tuple(Shift(kind, (2, 4)) for kind in SHIFTS)
    plans = [Description(seed=seed, layout=Segments(), shifts=shifts, **fixed) for seed in seeds]
    logs = [build(plan, LABELS).log(BANK) for plan in plans]
    probs, features, labels, kinds = (
        np.concatenate([getattr(log, name) for log in logs])
        for name in ("probs", "features", "labels", "kinds")
    )
    stretches = np.repeat(np.arange(len(logs)), STEPS)
    return Labeled(Outputs(probs, features, stretches=stretches), labels, kinds)


DEV, TEST = made((0, 1)), made((100, 101))
NOBODY = np.full(len(DEV.labels), -1)
STREAM = [each for each in METHODS.values() if issubclass(each, (Ring, Tcuq)) and each not in (Vote8, Mean8)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Streaming]:
    full = TcuqPaper()
    full.fit(DEV)
    found: dict[str, Streaming] = {}
    for kind in STREAM:
        made = kind()
        if isinstance(made, TcuqPaper) and kind is not TcuqTs:
            made.follow(full)
        else:
            made.fit(DEV)
        found[kind.name] = made
    return found


def ragged(seed: int = 3) -> Outputs:
    probs = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), 60)
    return Outputs(probs, stretches=np.repeat([4, 2, 9, 5], [1, 25, 4, 30]))


def windows(seen: Outputs, last: int) -> list[list[int]]:
    """Return for each step the steps that it may look at, itself last."""
    pieces = [(piece.start, step) for piece in seen.pieces() for step in range(piece.start, piece.stop)]
    return [list(range(max(start, step - last + 1), step + 1)) for start, step in pieces]


def plain_score(kind: type[Method], seen: Outputs, setting: Any, window: list[int]) -> float:
    probs, now = seen.probs, window[-1]
    doubt, labels = 1 - probs.max(1), probs.argmax(1)
    if kind is Vote:
        return sum(labels[i] != labels[now] for i in window) / len(window) + setting["weight"] * doubt[now]
    if kind is Median:
        return median(doubt[i] for i in window)
    if kind is Suppress:
        return doubt[window].mean()
    mean = probs[window].mean(0)
    return 1 - (mean.max() if setting["answer"] == "mean" else mean[labels[now]])


@pytest.mark.parametrize("kind", [Vote, MeanPosterior, MeanAnswer, Median, Suppress])
def test_rules_are_plain_counts_means_and_medians(kind: type[Method]) -> None:
    seen = ragged()
    for setting in kind.grid:
        wanted = [plain_score(kind, seen, setting, each) for each in windows(seen, setting["last"])]
        found = kind().score(seen, setting)
        np.testing.assert_allclose(found.score, wanted, rtol=0, atol=1e-12)
        assert kind is MeanAnswer or found.probs is seen.probs


def test_a_vote_is_the_majority_and_the_latest_of_equal_ones() -> None:
    seen = TEST.observed
    labels, found, ties = seen.probs.argmax(1).tolist(), Vote8().answer(seen), 0
    for steps in windows(seen, 8):
        last = [labels[step] for step in steps]
        most = max(Counter(last).values())
        tied = [label for label, count in Counter(last).items() if count == most]
        ties += len(tied) > 1
        assert found.predictions()[steps[-1]] == next(label for label in reversed(last) if label in tied)
        against = 1 - most / len(last)
        assert against <= found.score[steps[-1]] < against + 0.02 + 1e-9
    assert ties > 50


def errors(found: Method) -> npt.NDArray[np.bool_]:
    return np.asarray(found.answer(TEST.observed).predictions() != TEST.labels)


def test_rules_answer_better_than_the_network_where_classes_stay() -> None:
    rates = {}
    for kind in (Vote8, Mean8, Belief, BeliefTold, Hmm):
        found = kind()
        found.fit(DEV)
        rates[kind.name] = errors(found).mean()
    assert max(rates.values()) < (TEST.observed.probs.argmax(1) != TEST.labels).mean()
    assert rates["belief_told"] < min(rates["vote_8"], rates["mean_8"])


@pytest.mark.parametrize(("dwell", "redraw"), [(None, 1 / 16), (12.0, 5 / 48), (1.0, 1.0), (1.25, 1.0)])
def test_a_belief_is_a_bayes_filter(dwell: float | None, redraw: float) -> None:
    found: Belief = Belief()
    if dwell is not None:
        found = BeliefTold()
        found.tell(dwell)
    answer, even, wanted = found.answer(TEST.observed), [1 / CLASSES] * CLASSES, []
    for step, row in enumerate(TEST.observed.probs.astype(float).tolist()):
        prior = even if step % STEPS == 0 else wanted[-1]
        raw = [
            ((1 - redraw) * each + redraw / CLASSES) * (p + 0.01 / CLASSES)
            for each, p in zip(prior, row, strict=True)
        ]
        wanted.append([each / sum(raw) for each in raw])
    np.testing.assert_allclose(answer.probs, wanted, rtol=1e-9)
    np.testing.assert_allclose(answer.score, 1 - np.max(wanted, axis=1), rtol=0, atol=1e-12)


def test_how_long_classes_stay_is_told_learned_or_chosen() -> None:
    told, hmm, deep = BeliefTold(), Hmm(), DeepBelief()
    told.fit(DEV)
    assert told.setting["dwell"] == pytest.approx(DWELL, rel=0.25)
    hmm.fit(Labeled(DEV.observed, NOBODY, DEV.kinds))  # reads no labels
    assert hmm.setting["redraw"] == pytest.approx(CLASSES / (DWELL * (CLASSES - 1)), rel=0.3)
    stay = BeliefStay()
    for each in (stay, deep):
        each.fit(DEV)
        assert each.setting in ({"dwell": 8.0}, {"dwell": 16.0})
    np.testing.assert_array_equal(deep.answer(TEST.observed).probs, stay.answer(TEST.observed).probs)
    with pytest.raises(ValueError, match=r"dwell is 0\.5"):
        told.tell(0.5)
    with pytest.raises(ValueError, match="no step of the stream has a class, expected one or more"):
        told.fit(Labeled(DEV.observed, NOBODY, DEV.kinds))


def test_expected_states_are_those_of_all_paths() -> None:
    redraw, heard = 0.3, np.random.default_rng(2).dirichlet(np.ones(3), (1, 4))
    states, redrawn = np.zeros((4, 3)), np.zeros(4)
    for path in itertools.product(range(3), repeat=4):
        for drawn in itertools.product((False, True), repeat=3):
            weight = np.prod([heard[0, at, each] + 0.01 / 3 for at, each in enumerate(path)])
            for before, now, anew in zip(path[:-1], path[1:], drawn, strict=True):
                weight *= redraw / 3 if anew else (1 - redraw) * (before == now)
            states[np.arange(4), path] += weight
            redrawn[1:] += weight * np.array(drawn)
    found, anew = expected(heard, redraw)
    np.testing.assert_allclose(found[0], states / states.sum(1, keepdims=True))
    np.testing.assert_allclose(anew[0], redrawn / states[0].sum())


def test_the_stacked_regression_is_that_of_scikit_learn_and_says_how_often_it_errs() -> None:
    found, plain = Stacked(), BeliefStay()
    found.fit(DEV)
    answer, wrong, own = found.answer(TEST.observed), errors(found), found.answer(DEV.observed)
    values = (found.values(DEV.observed, own.probs) - found.usual[0]) / found.usual[1]
    judge = LogisticRegression(class_weight="balanced", tol=1e-8)
    judge.fit(values, own.predictions() != DEV.labels)
    np.testing.assert_allclose(found.coef, judge.coef_[0], atol=0.05)
    plain.setting = found.setting
    assert auroc(answer.score, wrong) > auroc(plain.answer(TEST.observed).score, wrong)
    assert answer.score.mean() == pytest.approx(wrong.mean(), abs=0.03)


@pytest.mark.parametrize("kind", ["average", "pca", "random"])
def test_projections_keep_what_their_kind_promises(kind: str) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(600, 40)) * np.linspace(5, 0.1, 40) + rng.integers(0, 3, (600, 1)) * 3.0 + 7.0
    found = projection(kind, wide, kept=8)
    assert found is not None
    made = wide @ found.matrix + found.offset
    if kind == "average":
        assert found.parameters == found.multiply_adds == 0
        np.testing.assert_allclose(made, wide.reshape(600, 8, 5).mean(axis=2))
        return
    assert found.parameters == 40 * 8 + 8 * (kind == "pca") and found.multiply_adds == 40 * 8
    np.testing.assert_allclose(found.matrix.T @ found.matrix, np.eye(8), atol=1e-12)
    if kind == "pca":  # no eight directions around the mean hold more variance
        assert np.abs(made.mean(axis=0)).max() < 1e-9
        np.testing.assert_allclose(made.var(axis=0), np.linalg.eigvalsh(np.cov(wide.T, bias=True))[::-1][:8])


def test_tcuq_gives_what_a_monitor_gives(fitted: dict[str, Streaming]) -> None:
    method, seen = fitted["tcuq_paper"], TEST.observed
    assert isinstance(method, TcuqPaper)
    for setting in (method.grid[1], method.grid[5]):
        params, through = method._monitor(setting)
        assert params.features == (32 if setting["features"] else 0)
        assert params.evidence is None and params.instant is None
        score = method.score(seen, setting).score
        for piece in seen.pieces():
            rows = None if through is None else through(seen.features[piece])  # type: ignore[index]
            assert (score[piece] == Monitor(params).run(seen.probs[piece], rows)["risk"]).all()
    found = method.steps(seen)
    flagged, abstained = (found[name].astype(bool) for name in ("flagged", "abstain"))
    for piece in seen.pieces():
        assert abs(flagged[piece].mean() - 0.1) <= method.params.flag_bound(STEPS)
        assert abstained[piece].sum() <= 0.1 * STEPS + method.params.burst
    assert not (abstained & ~flagged).any() and abstained.any()


def test_the_standard_monitor_is_what_fit_gives_by_default(fitted: dict[str, Streaming]) -> None:
    method, seen = fitted["tcuq_standard"], DEV.observed
    assert isinstance(method, TcuqStandard)
    log = Log(seen.probs, seen.features, DEV.labels, seen.stretches, DEV.kinds)
    assert method.params == fit(log, about="prediction", options=FitOptions(explain=False))
    again, found, head = TcuqStandard(), method.answer(TEST.observed), method.params.evidence
    again.restore(DEV, method.fit_record())
    for one, other in zip(found, again.answer(TEST.observed), strict=True):
        np.testing.assert_array_equal(one, other)
    assert head is not None and head.reach > 256 and found.evidence is not None
    for piece, given in zip(TEST.observed.pieces(), TEST.observed.split(), strict=True):
        steps, signals = Monitor(method.params).run(given.probs, given.features, signals=True)
        np.testing.assert_array_equal(found.score[piece], steps["risk"])
        slow = [head.coef.get(name, 0.0) for name in ("degradation", "drift")]
        places = [SIGNALS.index(name) for name in ("degradation", "drift")]
        added = np.clip(head.bias + signals[:, places] @ slow, -head.clip, head.clip) * steps["novelty"]
        np.testing.assert_allclose(found.evidence[piece], added - head.allowance, atol=0.02)
    with pytest.raises(ValueError, match="tcuq_standard is not fitted; a development stream is needed first"):
        TcuqStandard().state()


def test_no_conformal_has_the_same_scores_and_a_frozen_threshold(fitted: dict[str, Streaming]) -> None:
    full, frozen = fitted["tcuq_paper"], fitted["tcuq_paper_no_conformal"]
    assert isinstance(full, Tcuq) and isinstance(frozen, NoConformal)
    score = full.answer(TEST.observed).score
    assert (frozen.answer(TEST.observed).score == score).all()
    found, moving = (each.steps(TEST.observed)["flagged"].astype(bool) for each in (frozen, full))
    assert (found == (score >= full.params.reference)).all() and (found != moving).any()


def constants_in_c(params: Params) -> int:
    """Count the numbers of an exported monitor in its C text; a checksum of the others is none of them."""
    text = params_source(params, "toy").replace("0u, /* reserved */", "")
    text = re.sub(r"0x[0-9a-f]{8}u, /\* fingerprint", "/*", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("TCUQ_PARAMS_VERSION", "1")
    return len(re.findall(r"[={,]\s*(-?(?:0x)?[0-9A-F]+)u?\s*(?=[,}])", text.replace(",", ",,")))


@pytest.mark.parametrize("name", [kind.name for kind in STREAM])
def test_costs_are_those_of_the_plain_network(name: str, fitted: dict[str, Streaming]) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    from tcuq_lab.zoo.backbones import backbone
    from tcuq_lab.zoo.outputs import multiply_adds, parameters

    method, network, shape = fitted[name], backbone("cnn4", classes=5, width=4), (1, 28, 28)
    method.networks = (network,)
    found, more = method.cost(shape), 0
    if isinstance(method, Tcuq):
        through = method._monitor(method.setting).projection
        stored = constants_in_c(method.params) + (name == "tcuq_paper_ts")
        stored += method.params.features > 0  # the scale of the features, which C has as a comment
        if through is not None:
            more, stored = through.multiply_adds, stored + through.parameters
        assert found.state == cost(method.params).ram_bytes < 1024
    else:
        stored = {"vote": 2, "suppress": 3}.get(name, 1)
        entry = 5 if name.startswith("mean") else 1  # bytes a step: a posterior, or one number
        assert (method.setting["last"] - 1) * entry < found.state <= (method.setting["last"] - 1) * entry + 6
    assert found.multiply_adds == multiply_adds(network, shape) + more
    assert found.parameters == parameters(network) + stored
    assert found.passes == pytest.approx(found.multiply_adds / multiply_adds(network, shape))
    assert not found.gradient
