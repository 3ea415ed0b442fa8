"""The first screen: figures of Table 1, and every place where ours is behind."""

from __future__ import annotations

import re

import pytest
from made_field import answers, changed

from tcuq_lab.pages.field import SIMPLE, Field
from tcuq_lab.pages.first_tables import behind_table, errors_table, read_errors
from tcuq_lab.reproduce.field.lines import Found, Line

TASKS = ("mnist", "speech_commands")


def field(name: str, lines: list[Line]) -> Field:
    about = {"name": name, "title": "", "command": "", "setting": {}, "versions": {}}
    return Field(about, Found(lines))


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return list(answers(TASKS))


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.splitlines()[2:]]


@pytest.mark.parametrize("rule", list(SIMPLE)[::5])
def test_the_simple_rule_is_named_and_the_best_is_bold(lines: list[Line], rule: str) -> None:
    given = changed(lines, 0.0111, row=rule, stream="class 16", column="errors at 90 %", task="mnist")
    row = cells(errors_table(field("answers", given)))[1]
    assert row[2] == f"**.011**<br><sub>{rule}</sub>" and f"`{rule}`" in read_errors()
    assert not row[4].startswith("**")  # ours is not the best any more
    before = cells(errors_table(field("answers", lines)))[1]
    assert re.fullmatch(r"\*\*\.\d{3}\*\*\s±\.004<br>\(\u2212\.\d{3}\s±\.003\)", before[4])


def test_ours_are_the_untold_answer_and_the_risk_of_the_prediction(lines: list[Line]) -> None:
    given = changed(lines, 0.0123, row="tcuq answer", fit="untold", column="errors at 90 %")
    given = changed(given, 0.987, row="tcuq", fit="untold", column="prediction error AUROC")
    given = changed(given, 0.999, row="deep", fit="untold", column="error AUROC")  # of its own errors
    given = changed(given, 0.5, row="tcuq answer", fit="told", column="errors at 90 %")
    given = changed(given, 0.0456, row="tcuq no labels", fit="untold", column="errors at 90 %")
    found = field("answers", given)
    for row in cells(errors_table(found)):
        assert row[4].startswith("**.012**") and row[8].startswith("**.987**")


def test_every_place_where_ours_is_behind_is_listed(lines: list[Line]) -> None:
    pair = {"stream": "class 4", "column": "errors at 90 %", "task": "mnist"}
    before = behind_table(field("answers", lines))
    worse = changed(lines, 0.02, row="tcuq answer - base", **pair)
    after = behind_table(field("answers", worse))
    assert "+.020" not in before and [row[0] for row in cells(after) if "+.020" in row[1]] == [
        "MNIST, class 4"
    ]
    level = changed(lines, 0.0004, row="tcuq answer - base", **pair)  # prints as 0
    assert behind_table(field("answers", level)) == before
