"""Targets: rules over result files, judged by the figure farthest from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from made_field import answers, changed, write_field
from places import LAB

from tcuq_lab.pages.field import Field, load_fields
from tcuq_lab.pages.targets import Verdict, judge, load_targets, targets_from
from tcuq_lab.reproduce.field.lines import Found, Line
from tcuq_lab.reproduce.field.plan import FAMILY, NETWORKS

AT = ("mnist", "class 16")


def field(lines: list[Line]) -> dict[str, Field]:
    return {"answers": Field({"name": "answers"}, Found(lines))}


def asked(lines: list[Line], **rule: Any) -> Verdict:
    one = {
        "id": "it",
        "about": "",
        "text": "",
        "experiment": "answers",
        "row": "tcuq",
        "column": "errors",
        "streams": ["class 16"],
        "tasks": ["mnist"],
        **rule,
    }
    whole = targets_from({"about": "", "several_passes": ["deep"], "targets": [one]})
    (verdict,) = judge(whole, field(lines))
    return verdict


def value(row: str, given: float, wide: float = 0.0, stream: str = "class 16", fit: str = "untold") -> Line:
    return Line("mnist", stream, row, fit, "errors", given, given - wide, given + wide, 5)


@pytest.mark.parametrize(
    ("given", "wide", "rule", "words"),
    [
        (0.05, 0.01, {"most": 0.1}, "met"),
        (0.09, 0.02, {"most": 0.1}, "met, within the interval"),
        (0.11, 0.02, {"most": 0.1}, "missed, within the interval"),
        (0.15, 0.02, {"most": 0.1}, "missed"),
        (0.10, 0.0, {"most": 0.1}, "met"),
        (0.10, 0.0, {"most": 0.1, "strict": True}, "missed, within the interval"),
        (0.05, math.nan, {"most": 0.1}, "not settled"),
        (0.15, math.nan, {"most": 0.1}, "not settled"),
        (0.15, math.nan, {"most": 0.1, "beyond": True}, "not settled"),
        (0.95, 0.01, {"least": 0.9}, "met"),
        (0.45, 0.1, {"least": 0.5, "most": 2}, "missed, within the interval"),
        (2.5, 0.1, {"least": 0.5, "most": 2}, "missed"),
        (0.15, 0.1, {"most": 0.1, "beyond": True}, "met"),
        (0.15, 0.01, {"most": 0.1, "beyond": True}, "missed"),
        (math.inf, math.nan, {"most": 8}, "not settled"),
    ],
)
def test_bounds_and_intervals(given: float, wide: float, rule: dict[str, Any], words: str) -> None:
    assert asked([value("tcuq", given, wide)], **rule).words == words


def test_a_figure_that_settles_a_miss_outweighs_one_without_an_interval() -> None:
    lines = [value("tcuq", 0.5, math.nan), value("tcuq", 0.2, 0.01, "class 64")]
    rule: dict[str, Any] = {"streams": ["class 16", "class 64"]}
    verdict = asked(lines, most=0.1, **rule)
    assert verdict.words == "missed" and verdict.clear and verdict.line == lines[1]
    verdict = asked(lines, most=0.3, **rule)
    assert verdict.words == "not settled" and not verdict.clear and verdict.line == lines[0]


def test_the_worst_stream_and_rival_decide() -> None:
    lines = [
        *(value("tcuq", 0.1, 0.01, stream) for stream in ("class 16", "class 64")),
        value("base", 0.2, fit=""),
        value("base", 0.11, stream="class 64", fit=""),
        value("vote", 0.3),
        value("vote", 0.09, stream="class 64"),
        value("deep", 0.01),
        value("tcuq answer", 0.01),
        value("tcuq - base", -0.1, 0.005),
        value("tcuq - base", -0.01, 0.005, "class 64"),
        value("tcuq - vote", -0.2, 0.005),
        value("tcuq - vote", 0.01, 0.005, "class 64"),
    ]
    rule = {"streams": ["class 16", "class 64"], "most": 0, "strict": True}
    verdict = asked(lines, than=["base"], **rule)
    assert verdict.words == "met" and verdict.line is not None
    assert verdict.line.stream == "class 64" and verdict.line.value == pytest.approx(-0.01)
    verdict = asked(lines, than=["every rival of one pass"], **rule)  # neither deep nor ours
    assert verdict.words == "missed" and verdict.line is not None and verdict.line.row == "tcuq - vote"
    assert asked(lines, than=["gone"], **rule).words == "not run yet"


def test_paired_lines_are_used_where_there_are_any() -> None:
    lines = [
        value("tcuq", 0.1),
        value("base", 0.2, fit=""),
        value("tcuq - base", -0.1, 0.02),
        value("belief_told", 0.2, fit="told"),
        value("belief_told", 0.4),
        value("tcuq - belief_told", -0.3, 0.01),
        value("tcuq - belief_told, told", -0.1, 0.03),
        value("tcuq / base", 0.5, 0.04),
    ]
    paired = asked(lines, than=["base"], most=0).line
    assert paired is not None and paired.high == pytest.approx(-0.08)
    told = asked(lines, than=["belief_told"], than_fit="told", most=0).line
    assert told is not None and told.high == pytest.approx(-0.07)
    untold = asked(lines, than=["belief_told"], most=0).line
    assert untold is not None and untold.high == pytest.approx(-0.29)
    ratio = asked(lines, than=["base"], of="/", most=0.75).line
    assert ratio is not None and ratio.high == pytest.approx(0.54)


def test_groups_of_streams() -> None:
    lines = [value("tcuq", 0.5 if law == "class 1" else 0.1, stream=law) for law in ("class 1", "class 4")]
    lines += [value("tcuq", 0.3, stream="object 16"), value("tcuq", 0.9, stream="type fog")]
    worst = {
        group: asked(lines, streams=[group], most=1).line
        for group in ("laws", "persistent", "class laws", "lived", "types")
    }
    assert {name: line and line.value for name, line in worst.items()} == {
        "laws": 0.5,
        "persistent": 0.3,
        "class laws": 0.5,
        "lived": 0.3,
        "types": 0.9,
    }


def test_a_figure_flips_the_verdict_of_the_repository_s_targets(tmp_path: Path) -> None:
    targets = load_targets(LAB / "results" / "targets.json")
    lines = list(answers(("mnist",)))

    def words(given: list[Line]) -> dict[str, str]:
        write_field(tmp_path, "answers", given)
        found = judge(targets, load_fields(tmp_path))
        return {each.target.name: each.words for each in found if each.task == "mnist"}

    before = words(lines)
    assert before["left"] == "met" and before["delay"] == "not run yet"
    names = {each.name for each in targets.targets if each.experiment == "answers" and "mnist" in each.tasks}
    assert all(before[name] != "not run yet" for name in names)  # every row and column is there
    after = words(
        changed(lines, 0.02, 0.01, stream="class 64", row="tcuq answer - mean_8", fit="untold",
                column="errors at 90 %")
    )  # fmt: skip
    assert after["left"] == "missed"
    assert {name for name in before if before[name] != after[name]} == {"left"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "x"}, "entry of target it 'kind' is unknown"),
        ({"tasks": ["minst"]}, "did you mean mnist"),
        ({"of": "+"}, "of '\\+' is unknown"),
    ],
)
def test_bad_targets_are_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        asked([value("tcuq", 0.1)], most=1, **entry)


def test_a_mean_over_streams_is_judged_with_a_narrower_interval() -> None:
    streams = ["mixed", "mixed, long runs", "mixed, one class 70 %", "mixed, fast"]
    lines = [
        value("tcuq", given, 0.02, stream, "told")
        for given, stream in zip((0.6, 0.7, 0.8, 0.9), streams, strict=True)
    ]
    rule: dict[str, Any] = {"streams": ["lasting"], "fit": "told", "least": 0.735}
    assert asked(lines, **rule).words == "missed"
    verdict = asked(lines, mean=True, **rule)
    assert verdict.words == "met" and verdict.line is not None
    assert verdict.line.value == pytest.approx(0.75) and verdict.line.low == pytest.approx(0.74)
    assert asked(lines[:3], mean=True, **rule).words == "not run yet"


def test_mixed_streams_have_groups_of_their_own() -> None:
    lines = [
        *(value("tcuq", 0.1, 0.01, stream) for stream in ("class 1", "class 16")),
        *(value("tcuq", 0.5, 0.01, stream, "told") for stream in FAMILY),
    ]
    assert asked(lines, streams=["laws"], most=0.2).words == "met"
    assert asked(lines, streams=["mixed"], fit="told", most=0.2).words == "missed"


def test_the_targets_of_mixed_streams_are_judged_for_every_network(tmp_path: Path) -> None:
    whole = load_targets(LAB / "results" / "targets.json")
    mixed = {each.name: each for each in whole.targets if each.fit == "told"}
    assert all(each.tasks == tuple(NETWORKS) for each in mixed.values())
    lines: dict[tuple[str, Line], None] = {}
    for task in NETWORKS:
        for name in FAMILY:
            at = {"task": task, "stream": name, "fit": "told", "networks": 3}
            for target in mixed.values():
                column = target.column
                if name == "mixed, clean" and column in ("costly on", "benign on", "collapse found"):
                    continue
                good = 0.0 if target.high < 1 else 1.0
                one = Line(row=target.row, column=column, value=good, low=good, high=good, **at)
                lines[target.experiment, one] = None
                for rival in target.than:
                    lines[target.experiment, one._replace(row=f"{target.row} - {rival}")] = None
    fields = {
        name: Field({"name": name}, Found([each for of, each in lines if of == name]))
        for name in ("answers", "alarms", "accuracy")
    }
    words = {each.words for each in judge(whole, fields) if each.target.name in mixed}
    assert words == {"met"} and len(mixed) == 8
