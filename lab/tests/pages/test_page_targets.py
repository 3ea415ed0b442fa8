"""Targets: rules over result files, judged by the figure farthest from them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tcuq_lab.pages.field import Field
from tcuq_lab.pages.targets import Verdict, judge, targets_from
from tcuq_lab.reproduce.field.lines import Found, Line


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
