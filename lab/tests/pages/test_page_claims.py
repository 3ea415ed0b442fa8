"""Claims of the paper: rules, verdicts, and files that ask for what experiments have."""

from __future__ import annotations

import math
from typing import Any

import pytest
from made_results import KINDS

from tcuq_lab.pages.claim_rules import Point, points
from tcuq_lab.pages.claims import claims_from
from tcuq_lab.pages.figures import Figure, Found, Place
from tcuq_lab.pages.paper import Paper, Part

NONE = Paper("", [])


def one_claim(rule: dict[str, Any]) -> Any:
    claim = {"id": "it", "where": "", "text": "", "rule": rule}
    return claims_from({"about": "", "limits": {}, "rows": {"some": ["b", "d"]}, "claims": [claim]})


def small(figures: dict[tuple[str, str], Figure]) -> dict[str, Found]:
    """An experiment "x" with one task and dwell; keys are row and column."""
    made = {Place("mnist", 4.0, row, column): figure for (row, column), figure in figures.items()}
    return {"x": Found("x", "X", "", "", {}, {}, math.nan, made)}


def asked(rule: dict[str, Any], figures: dict[tuple[str, str], Figure], paper: Paper = NONE) -> list[Point]:
    whole = one_claim({"experiment": "x", "rows": ["a"], "columns": ["c"], **rule})
    return points(whole.claims[0].rule, small(figures), paper)


def flat(value: float, **more: float) -> Figure:
    """A figure that is the same on every kind."""
    return Figure(value, value - 0.01, value + 0.01, (value,), dict.fromkeys(KINDS, value) | more)


@pytest.mark.parametrize(
    ("more", "ours", "rival", "margin", "met"),
    [
        ({}, 0.70, 0.60, 0.10, True),
        ({}, 0.60, 0.60, 0.0, False),
        ({"ties": True}, 0.60, 0.60, 0.0, True),
        ({"by": 0.05}, 0.65, 0.60, 0.0, True),
        ({"by": 0.05}, 0.64, 0.60, -0.01, False),
        ({"by": 0.05, "share": 1 / 3}, 0.935, 0.91, -0.005, False),  # a third of 0.09 is 0.03
        ({"by": 0.05, "share": 1 / 3}, 0.945, 0.91, 0.005, True),
        ({"by": -0.01}, 0.595, 0.60, 0.005, True),
        ({"better": "lower"}, 0.60, 0.70, 0.10, True),
        ({"better": "lower", "by": 0.2}, 0.60, 0.70, -0.10, False),
    ],
)
def test_above_asks_for_the_whole_margin(
    more: dict[str, Any], ours: float, rival: float, margin: float, met: bool
) -> None:
    (point,) = asked(
        {"kind": "above", "than": ["some"], **more},
        {("a", "c"): flat(ours), ("b", "c"): flat(rival), ("d", "c"): flat(math.nan)},
    )
    assert point.margin == pytest.approx(margin, abs=1e-9) and point.met is met and point.against == "b"


def test_ratios_know_of_alarms_that_never_come() -> None:
    rule = {"kind": "ratio", "than": ["some"], "most": 0.7}
    for ours, first, second, met in (
        (7.0, 10.0, math.inf, True),
        (7.1, 10.0, math.inf, False),
        (50.0, math.inf, math.inf, True),
        (math.inf, math.inf, math.inf, False),
        (math.inf, 10.0, 20.0, False),
    ):
        figures = {("a", "c"): Figure(ours), ("b", "c"): Figure(first), ("d", "c"): Figure(second)}
        (point,) = asked(rule, figures)
        assert point.met is met, (ours, first, second)


def test_reaching_a_bar() -> None:
    figures = {("a", "c"): flat(0.8)}
    for more, met in (
        ({"least": 0.8}, True),
        ({"least": 0.81}, False),
        ({"most": 0.8}, True),
        ({"most": 0.79}, False),
        ({"below": 0.8}, False),
        ({"below": 0.81}, True),
    ):
        (point,) = asked({"kind": "reaches", **more}, figures)
        assert point.met is met, more
    paper = Paper("", [Part("T", "x", "mnist", "c", {"tcuq_paper": 0.75})])
    (point,) = asked({"kind": "reaches", "paper": True}, figures, paper)
    assert point.met and point.bar == 0.75 and point.against == "the paper"
    (point,) = asked({"kind": "reaches", "paper": True, "better": "lower"}, figures, paper)
    assert not point.met
    with pytest.raises(ValueError, match="the paper has no c of x on mnist"):
        asked({"kind": "reaches", "paper": True}, figures)


def test_rules_over_several_columns_or_rows() -> None:
    def values(row: str, *given: float) -> dict[tuple[str, str], Figure]:
        return {(row, f"c{number}"): Figure(value) for number, value in enumerate(given)}

    columns = {"columns": ["c0", "c1", "c2"]}
    assert asked({"kind": "rises", **columns}, values("a", 0.1, 0.2, 0.2))[0].met
    assert not asked({"kind": "rises", **columns}, values("a", 0.1, 0.3, 0.2))[0].met
    assert not asked({"kind": "rises", **columns}, values("a", 0.2, 0.2, 0.2))[0].met
    wider = values("a", 0.2, 0.4, 0.9) | values("b", 0.1, 0.3, 0.6)
    (point,) = asked({"kind": "widens", "than": ["b"], **columns}, wider)
    assert point.met and point.margin == pytest.approx(0.2)
    (point,) = asked({"kind": "widens", "than": ["a"], "rows": ["b"], **columns}, wider)
    assert not point.met
    rows = {("a", "c"): Figure(0.1), ("b", "c"): Figure(0.3), ("d", "c"): Figure(0.2)}
    assert asked({"kind": "turns", "rows": ["a", "b", "d"]}, rows)[0].met
    assert not asked({"kind": "turns", "rows": ["a", "d", "b"]}, rows)[0].met
    near = {("a", "c"): Figure(0.500), ("b", "c"): Figure(0.504)}
    assert asked({"kind": "near", "than": ["b"], "within": 0.005}, near)[0].met
    assert not asked({"kind": "near", "than": ["b"], "within": 0.004}, near)[0].met
