"""Methods on a stream of outputs: against plain loops and scikit-learn, and as a device runs them."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.export.csource import params_source
from tcuq.log.log import Log
from tcuq.metrics import auroc
from tcuq.monitor.cost import cost
from tcuq_lab.harness.types import Outputs
from tcuq_lab.methods import METHODS
from tcuq_lab.methods.belief import BeliefStay, BeliefTold, Hmm, expected
from tcuq_lab.methods.confidence import Stacked
from tcuq_lab.methods.ensembles import DeepBelief
from tcuq_lab.methods.method import Labeled, Method
from tcuq_lab.methods.paper import NoConformal, TcuqPaper, TcuqTs
from tcuq_lab.methods.projection import projection
from tcuq_lab.methods.rules import (
    Mean8,
    Ring,
    Streaming,
    Vote8,
)
from tcuq_lab.methods.tcuq import Tcuq, TcuqStandard
from tcuq_lab.streams import Description, Geometric, Segments, Shift, build

pytestmark = pytest.mark.slow

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


def errors(found: Method) -> npt.NDArray[np.bool_]:
    return np.asarray(found.answer(TEST.observed).predictions() != TEST.labels)


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
    again, found = TcuqStandard(), method.answer(TEST.observed)
    again.restore(DEV, method.fit_record())
    for one, other in zip(found, again.answer(TEST.observed), strict=True):
        np.testing.assert_array_equal(one, other)
    assert method.params.sight is not None and found.evidence is not None
    for piece, given in zip(TEST.observed.pieces(), TEST.observed.split(), strict=True):
        steps = Monitor(method.params).run(given.probs, given.features)
        np.testing.assert_array_equal(found.score[piece], steps["risk"])
        np.testing.assert_array_equal(found.evidence[piece], steps["degradation"])
    with pytest.raises(ValueError, match="tcuq_standard is not fitted; a development stream is needed first"):
        _ = TcuqStandard().needs


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
