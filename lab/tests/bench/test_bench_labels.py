"""Error control by late labels: the stored figures, the page, and rules that move a threshold."""

import json
from pathlib import Path

import numpy as np
import pytest

from tcuq_lab.benchmark.late import RULES, Fixed
from tcuq_lab.experiments.labels import on_page, table

LAB = Path(__file__).parents[2]


def stored() -> list:
    return json.loads((LAB / "results" / "late" / "labels.json").read_text())["rows"]


def test_the_page_shows_the_stored_figures() -> None:
    page = (LAB.parent / "docs" / "LABELS.md").read_text()
    assert on_page(page, table(stored())) == page
    assert on_page(page, table(stored()[:-1])) != page


def test_no_debt_is_above_what_is_certain() -> None:
    assert max(row["debt"] for row in stored() if row["debt"] is not None) <= 1


@pytest.mark.parametrize("rule", RULES[1:])
def test_a_rule_is_stricter_after_errors_and_looser_after_none(rule: type[Fixed]) -> None:
    risks = np.random.default_rng(0).uniform(0, 0.2, 400)
    strict, loose = rule(0.1, 0.05), rule(0.1, 0.05)
    for risk in risks.tolist():
        strict.told(risk, True, risk < strict.threshold)
        loose.told(risk, False, risk < loose.threshold)
    assert strict.threshold < 0.05 and loose.threshold > 0.1
    assert Fixed(0.1, 0.05).threshold == 0.1
