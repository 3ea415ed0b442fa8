"""Claims of the paper: rules, verdicts, and files that ask for what experiments have."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from made_results import KINDS
from places import LAB

from tcuq_lab.pages.claim_lines import claims_table, marks
from tcuq_lab.pages.claim_points import Point
from tcuq_lab.pages.claim_rules import points
from tcuq_lab.pages.claims import claims_from, load_claims
from tcuq_lab.pages.figures import Figure, Found, Place
from tcuq_lab.pages.older_pages import cautions
from tcuq_lab.pages.paper import Paper, Part, load_paper
from tcuq_lab.pages.verdicts import FAILS, HOLDS, NOT_RUN, REPORTED, judge
from tcuq_lab.pages.wording import readable, sense
from tcuq_lab.reproduce.paper import load_experiments

RESULTS = LAB / "results"
NONE = Paper("", [])


def test_what_cannot_be_tested_has_a_reason_and_no_rule() -> None:
    for each in load_claims(RESULTS / "claims.json").claims:
        assert (each.rule is None) == bool(each.cannot)
        if each.rule is None:
            assert len(each.cannot) > 40, each.name


def test_claims_ask_for_rows_and_columns_that_experiments_have() -> None:
    known = load_experiments(LAB / "experiments")
    claims = load_claims(RESULTS / "claims.json").claims
    asked = [each for each in claims if each.rule and each.rule.experiment in known]
    assert asked
    for claim in asked:
        assert claim.rule is not None
        experiment = known[claim.rule.experiment]
        assert set(claim.rule.columns) <= {readable(column.title) for column in experiment.columns}, (
            claim.name
        )
        for row in (*claim.rule.rows, *claim.rule.more.get("than", ())):
            assert _stem(row) in {each.label for each in experiment.rows}, (claim.name, row)
        assert set(claim.rule.tasks) <= set(experiment.tasks), claim.name
        assert set(claim.rule.dwells) <= set(experiment.dwells), claim.name


def _stem(row: str) -> str:
    """A kind of measurement may make several rows of one: "tcuq, float64", "tcuq - base"."""
    return re.split(r", (?:integers|float64|blend|level|warmup|lags|fitted at)| - ", row)[0]


def test_figures_of_the_paper_stand_beside_rows_and_columns_that_experiments_have() -> None:
    known = load_experiments(LAB / "experiments")
    parts = [part for part in load_paper(RESULTS / "paper.json").parts if part.experiment in known]
    assert parts
    for part in parts:
        experiment = known[part.experiment]
        assert part.column in {readable(column.title) for column in experiment.columns}, part
        assert part.task in experiment.tasks, part
        assert set(part.rows) <= {row.label for row in experiment.rows}, part


def test_every_table_and_figure_of_the_paper_is_there() -> None:
    parts = load_paper(RESULTS / "paper.json").parts
    figures: dict[str, int] = {}
    for part in parts:
        figures[part.where] = figures.get(part.where, 0) + len(part.rows)
        for value in part.rows.values():
            assert 0 < value < (6 if "NLL" in part.column else 1), part
    # Rows times columns as the paper prints them, counted by hand.
    assert figures == {
        "Table 1": 7 * 2,
        "figure of severities, CIFAR-10-C": 7 * 5,
        "figure of severities, TinyImageNet-C": 7 * 5,
        "Table 2": 7 * 6,
        "table of temperature scaling": 9 * 3,
        "table of temperature scaling, drops": 3 * 2 + 3 * 5,
        "table of PostNets": 4 * 3,
        "table of temporal signals": 4 * 6,
        "table of temporal assistance": 2 * 6,
        "figure of the number of exits": 6 * 2,
        "table of calibration on clean data": 6 * 4 * 2 + 7 * 4 * 2,
        "table of the last exit": 2 * 3,
        "table of exit heads": 2 * 6 - 3,  # full heads on clean data stand in the table of the last exit
        "figure of ResNet-50": 3 * 5,
    }


def test_columns_are_read_the_right_way_round() -> None:
    low = ("delay", "missed", "nll", "brier", "ece", "aurc", "error", "curve_error", "violations", "risk_gap")
    high = ("auprc", "auroc", "accuracy", "f1", "lift", "gain")
    seen = set()
    for experiment in load_experiments(LAB / "experiments").values():
        for column in experiment.columns:
            if column.metric.startswith(low):
                assert sense(column.title) == -1, column
            elif column.metric.endswith(high):
                assert sense(column.title) == 1, column
            seen.add(sense(column.title))
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"kind": "above"}, "lacks than"),
        ({"kind": "reaches"}, "other than one of least"),
        ({"kind": "reported", "more": 1}, "'more' is unknown"),
        ({"kind": "above", "than": ["a"], "better": "up"}, "better is 'up'"),
        ({"kind": "reported", "columns": []}, "lacks columns"),
    ],
)
def test_bad_rules_are_refused(rule: dict[str, Any], message: str) -> None:
    whole = {"experiment": "x", "rows": ["a"], "columns": ["c"], **rule}
    with pytest.raises(ValueError, match=message):
        one_claim(whole)


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
    assert point.low == pytest.approx(
        margin, abs=1e-9
    )  # kinds do not differ, so nothing is drawn differently


def test_the_rival_that_leaves_the_least_lead_decides() -> None:
    figures = {("a", "c"): flat(0.7), ("b", "c"): flat(0.6), ("d", "c"): flat(0.69)}
    (point,) = asked({"kind": "above", "than": ["some"]}, figures)
    assert point.against == "d" and point.margin == pytest.approx(0.01)
    (point,) = asked({"kind": "above", "than": ["some"], "better": "lower"}, figures)
    assert point.against == "b" and point.margin == pytest.approx(-0.1) and not point.met
    (point,) = asked({"kind": "below", "than": ["some"]}, figures)
    assert point.against == "b" and point.margin == pytest.approx(-0.1) and not point.met


def test_differences_are_paired_by_kind() -> None:
    uneven = {"fog": 0.2, "snow": 0.5, "frost": 0.8}
    ours = Figure(0.52, streams={kind: value + 0.02 for kind, value in uneven.items()})
    (point,) = asked(
        {"kind": "above", "than": ["b"]}, {("a", "c"): ours, ("b", "c"): Figure(0.5, streams=uneven)}
    )
    assert point.margin == pytest.approx(0.02)
    assert point.low == pytest.approx(0.02) and point.high == pytest.approx(
        0.02
    )  # kinds vary, the lead does not
    fewer = Figure(0.65, streams={"snow": 0.5, "frost": 0.8})
    (point,) = asked({"kind": "above", "than": ["b"]}, {("a", "c"): ours, ("b", "c"): fewer})
    assert point.margin == pytest.approx(0.02) and "2 of 3 corruption types" in point.note


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


def test_no_kind_may_fall_below_its_own_interval() -> None:
    spans = {"fog": (-0.05, 0.01), "snow": (0.1, 0.2)}
    figure = Figure(0.06, streams={"fog": -0.02, "snow": 0.15}, spans=spans)
    (point,) = asked({"kind": "no_kind_below"}, {("a", "c"): figure})
    assert point.met and "fog" in point.words and point.margin == pytest.approx(0.01)
    fallen = Figure(0.06, streams=figure.streams, spans={**spans, "fog": (-0.05, -0.001)})
    (point,) = asked({"kind": "no_kind_below"}, {("a", "c"): fallen})
    assert not point.met and point.note == "below: fog"
    (point,) = asked({"kind": "no_kind_below"}, {("a", "c"): Figure(0.06)})
    assert point.met is None


def test_not_worse_looks_at_the_interval() -> None:
    base = Figure(0.5, streams=dict.fromkeys(KINDS, 0.5))
    near = Figure(0.49, streams={"fog": 0.44, "snow": 0.52, "frost": 0.51})
    far = Figure(0.48, streams={"fog": 0.47, "snow": 0.48, "frost": 0.49})
    for ours, met in ((near, True), (far, False)):
        (point,) = asked({"kind": "not_worse", "than": ["b"]}, {("a", "c"): ours, ("b", "c"): base})
        assert point.met is met and point.figure < 0


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


def test_what_is_not_there_is_left_out() -> None:
    figures = {("a", "c"): flat(0.5), ("b", "c"): flat(0.4)}
    assert asked({"kind": "above", "than": ["gone"]}, figures) == []
    (point,) = asked({"kind": "above", "than": ["gone", "b"]}, figures)
    assert point.met and point.against == "b"
    assert asked({"kind": "reported", "columns": ["k"]}, figures) == []
    assert asked({"kind": "reported", "dwells": [16]}, figures) == []
    assert len(asked({"kind": "reported", "columns": ["c", "later"]}, figures)) == 1
    assert asked({"kind": "reported", "experiment": "y"}, figures) == []
    verdict = judge(one_claim({"experiment": "x", "rows": ["a"], "columns": ["k"], "kind": "reported"}),
                    small(figures), NONE)[0].verdicts[0]  # fmt: skip
    assert verdict.word == NOT_RUN and "no such rows or columns" in verdict.said()


def test_all_rivals_are_the_rows_that_are_not_ours() -> None:
    figures = {(row, "c"): flat(value) for row, value in (("tcuq", 0.7), ("tcuq_paper", 0.9), ("b", 0.6))}
    (point,) = asked({"kind": "above", "rows": ["tcuq"], "than": ["all rivals"]}, figures)
    assert point.met and point.against == "b"


def test_verdicts_are_counted_over_places() -> None:
    def word(rule: dict[str, Any], figures: dict[tuple[str, str], Figure]) -> str:
        whole = one_claim({"experiment": "x", "rows": ["a"], "columns": ["c"], **rule})
        return judge(whole, small(figures), NONE)[0].verdicts[0].said()

    two = {("a", "c"): flat(0.5), ("a", "e"): flat(0.7)}
    assert word({"kind": "reaches", "least": 0.4}, two) == HOLDS
    assert word({"kind": "reaches", "least": 0.6}, two) == FAILS
    assert (
        word({"kind": "reaches", "least": 0.6, "columns": ["c", "e"]}, two)
        == "mixed: holds at 1 of 2, MNIST (e)"
    )
    assert word({"kind": "reported"}, two) == REPORTED
    late = {"kind": "reaches", "least": 0.4, "tasks": ["mnist", "cifar10"]}
    assert word(late, two) == "holds: not run yet: CIFAR-10"
    assert word({"kind": "reported", "experiment": "y"}, two) == "not run yet: y"


def marked(rule: dict[str, Any], figures: dict[tuple[str, str], Figure]) -> list[str]:
    whole = one_claim({"experiment": "x", "rows": ["tcuq"], "columns": ["AUPRC, all"], **rule})
    found = small(figures)
    (judged,) = judge(whole, found, NONE)
    return marks(judged.claim, judged.verdicts, found, NONE)


def test_claims_that_the_plain_network_meets_are_marked() -> None:
    figures = {
        ("tcuq", "AUPRC, all"): flat(0.9),
        ("base", "AUPRC, all"): flat(0.8),
        ("deep", "AUPRC, all"): flat(0.7),
    }
    rule = {"kind": "above", "than": ["base", "deep"]}
    assert marked(rule, figures) == ["also met by the plain network"]
    assert marked({"kind": "above", "than": ["base"]}, figures) == []  # it cannot be above itself
    assert marked({"kind": "reaches", "least": 0.85}, figures) == []
    assert marked({"kind": "reaches", "least": 0.75}, figures) == ["also met by the plain network"]
    assert marked(rule, {**figures, ("deep", "AUPRC, all"): flat(0.85)}) == []


def test_a_lead_over_rivals_is_not_asked_of_the_plain_network() -> None:
    figures = {(row, column): flat(value) for row, values in
               (("tcuq", (0.5, 0.9)), ("base", (0.4, 0.9)), ("deep", (0.4, 0.5)))
               for column, value in zip(("AUPRC, 1", "AUPRC, 5"), values, strict=True)}  # fmt: skip
    rule = {"kind": "widens", "than": ["deep"], "columns": ["AUPRC, 1", "AUPRC, 5"]}
    assert marked(rule, figures) == []


def test_metrics_that_say_little_are_marked() -> None:
    figures = {("tcuq", "AUPRC, all"): flat(0.9), ("base", "AUPRC, all"): flat(0.8)}
    share = ("base", "share of drop events, all")
    rule = {"kind": "reaches", "least": 0.85}
    assert marked(rule, {**figures, share: flat(0.4)}) == []
    (mark,) = marked(rule, {**figures, share: flat(0.7)})
    assert mark.startswith("vacuous") and mark.endswith("MNIST 0.700")
    (_, mark) = marked({"kind": "reaches", "least": 0.5}, {**figures, ("base", "AUPRC, all"): flat(0.995)})
    assert mark == "saturated: the plain network has 0.995"


def test_pages_warn_of_figures_that_say_little() -> None:
    figures = {("base", "AUPRC, all"): flat(0.8), ("base", "share of drop events"): flat(0.6)}
    figures[("base", "AUROC, clean")] = flat(0.995)
    first, second = cautions(small(figures)["x"])
    assert "MNIST 0.600" in first and "AUROC, clean on MNIST" in second
    figures[("base", "share of drop events")] = figures[("base", "AUROC, clean")] = flat(0.4)
    assert cautions(small(figures)["x"]) == []


def test_a_claim_is_one_line_with_verdict_and_figure() -> None:
    whole = one_claim({"experiment": "x", "rows": ["a"], "columns": ["c"], "kind": "reaches", "least": 0.4})
    found = small({("a", "c"): flat(0.5)})
    *_, table = claims_table(judge(whole, found, NONE), found, NONE)
    (line,) = table.splitlines()[2:]
    assert "`a` **holds**, 0.500, margin +0.100" in line and "[x](x.md)" in line
