"""What a report tells of answers, names, persistence, degradation and expected accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused
from report_pages import check_whole, packed, unpack, value
from streams import dwell_stream, learned_params

from tcuq import Log, Monitor, Params
from tcuq.monitor.monitor import run_over
from tcuq.report import render

EVIL = "<b>&\"'</script>"
NAMES = ("cat", EVIL, "cow", "emu", "fox", "gnu")


def stream(steps: int = 3000, seed: int = 0) -> Log:
    probs, _, truth, marks = dwell_stream(steps, 6, 0, np.random.default_rng(seed), dwell=12, shifted=True)
    return Log(probs, labels=truth, shifted=marks)


@pytest.fixture(scope="module")
def case() -> tuple[Params, Log, Any, str]:
    params, log = learned_params(6, names=NAMES), stream()
    steps = run_over(Monitor(params), log)
    assert ((steps["answer"] != steps["prediction"]) & (steps["prediction"] != log.labels)).any()
    return params, log, steps, render(steps, params, log)


def share(hits: Any) -> str:
    return f"{100 * float(np.mean(hits)):.1f} %"


def test_accuracy_is_that_of_the_answers(case: Any) -> None:
    _, log, steps, page = case
    check_whole(page)
    kept = ~steps["abstain"] & (steps["alarm"] == 0)
    for prefix, name in (("", "answer"), ("prediction-", "prediction")):
        right = steps[name] == log.labels
        assert value(page, f"{prefix}all-accuracy") == share(right)
        assert value(page, f"{prefix}act-accuracy") == share(right[kept])
    wrong = share((steps["answer"] != log.labels)[kept])
    assert f"{wrong.replace(' ', chr(160))} of those wrong" in page
    assert f"{wrong} of those were wrong" in value(page, "verdict")
    other = steps["answer"] != steps["prediction"]
    assert value(page, "changed") == f"{other.sum():,}"
    assert value(page, "mended") == f"{(other & (steps['answer'] == log.labels)).sum():,}"
    assert value(page, "broken") == f"{(other & (steps['prediction'] == log.labels)).sum():,}"
    assert "The risk speaks of the answer" in page
    assert "the risk is about the answer" in page


def test_accuracy_is_that_of_the_labels_where_the_risk_speaks_of_them() -> None:
    params, log = learned_params(6, about="prediction"), stream()
    steps = run_over(Monitor(params), log)
    page = render(steps, params, log)
    right = steps["prediction"] == log.labels
    assert value(page, "act-accuracy") == share(right[~steps["abstain"] & (steps["alarm"] == 0)])
    assert value(page, "all-accuracy") == share(right) and "answer-all-accuracy" not in page
    wrong = np.unpackbits(unpack(packed(page)["wrong"], "u1"), bitorder="little")[: len(log)]
    assert np.array_equal(wrong == 0, right) and packed(page)["about"] == "prediction"
    assert "The risk speaks of the answer" not in page


def test_the_confidence_is_judged_by_its_own_prediction(case: Any) -> None:
    """The curve of plain confidence has the predictions' errors, also where the risk speaks of the answer."""
    _, log, _, page = case
    plain = learned_params(6, about="prediction")
    other = render(run_over(Monitor(plain), log), plain, log)
    assert value(page, "aurc-plain") == value(other, "aurc-plain") and value(page, "ece") == value(
        other, "ece"
    )
    assert float(value(page, "aurc")) < float(value(page, "aurc-plain"))


def test_what_was_learned_is_shown(case: Any) -> None:
    _, log, steps, page = case
    assert value(page, "persistence") == f"{steps['persistence'][-1]:.3f}"
    assert value(page, "persistence-mean") == f"{steps['persistence'].mean():.3f}"
    assert value(page, "degradation") == f"{steps['degradation'][-1]:.2f}"
    assert value(page, "degradation-most") == f"{steps['degradation'].max():.2f}"
    right = steps["answer"] == log.labels
    assert value(page, "expected-accuracy") == share(steps["expected_accuracy"][-1])
    assert value(page, "recent-accuracy") == share(right[-200:])
    recent = np.array([right[t - 200 : t].mean() for t in range(201, len(right) + 1)])
    gap = np.abs(steps["expected_accuracy"][200:] - recent).mean()
    assert value(page, "accuracy-gap") == share(gap)
    assert "true, over the last 200 steps" in page


def test_without_labels_the_expected_accuracy_stands_alone(case: Any) -> None:
    params, log, steps, _ = case
    page = render(steps, params, Log(log.probs))
    check_whole(page)
    assert (
        value(page, "expected-accuracy") and "recent-accuracy" not in page and "over the last 200" not in page
    )


def test_names_are_escaped(case: Any) -> None:
    page = case[-1]
    assert EVIL not in page and "&lt;b&gt;&amp;&quot;&#x27;&lt;/script&gt;" in page
    assert page.count("</script>") == 4


def test_names_come_from_params_log_or_decisions(case: Any) -> None:
    params, log, steps, _ = case
    bare, other = params.replace(names=None), Log(log.probs, names=tuple("abcdef"))
    assert packed(render(steps, params, other))["names"] == list(NAMES)
    assert packed(render(steps, bare, other))["names"] == list("abcdef")
    assert packed(render(steps, bare, names=["x", ""]))["names"] == ["x", ""]
    assert packed(render(steps))["names"] is None
    with refused("value"):
        render(steps, names=["x\n"])
