"""The first screen: two tables and a plot from result files, and every place where ours is behind."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
from made_field import accuracy, alarms, answers, changed, questions

from tcuq_lab.pages.field import SIMPLE, Field
from tcuq_lab.pages.field_answers import accuracy as accuracy_answer
from tcuq_lab.pages.field_answers import questions as questions_answer
from tcuq_lab.pages.first_alarms import (
    BETWEEN,
    MOST_ROWS,
    alarm_rows,
    alarm_table,
    alarm_title,
    harder_table,
    read_harder,
)
from tcuq_lab.pages.first_tables import errors_table, helped, leads, read_errors, unlabeled
from tcuq_lab.pages.grids import MOST_LINES, paged
from tcuq_lab.pages.headline import LEFT, place
from tcuq_lab.pages.mixed_table import mixed_table
from tcuq_lab.pages.numbers import around, beyond, cell, number
from tcuq_lab.pages.overview_plot import WIDTH, overview
from tcuq_lab.pages.questions import question_parts
from tcuq_lab.pages.shortfalls import section, shortfalls, worse_laws, worse_types
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


def test_the_first_table_has_four_streams_a_task(lines: list[Line]) -> None:
    rows = cells(errors_table(field("answers", lines)))
    assert [row[0] for row in rows] == [
        *(f"MNIST, {name}" for name in ("shuffled", "class 16", "object 16", "unknown pace")),
        *(
            f"Speech Commands, {name}"
            for name in ("shuffled", "class 16", "continuous sound", "unknown pace")
        ),
    ]
    assert len(rows) <= MOST_ROWS and {len(row) for row in rows} == {9}


@pytest.mark.parametrize("rule", SIMPLE)
def test_the_simple_rule_is_named_and_the_best_is_bold(lines: list[Line], rule: str) -> None:
    given = changed(lines, 0.0111, row=rule, stream="class 16", column="errors at 90 %", task="mnist")
    row = cells(errors_table(field("answers", given)))[1]
    assert row[2] == f"**.011**<br><sub>{rule}</sub>" and f"`{rule}`" in read_errors()
    assert not row[4].startswith("**")  # ours is not the best any more
    before = cells(errors_table(field("answers", lines)))[1]
    assert re.fullmatch(r"\*\*\.\d{3}\*\*\s±\.004<br>\(\u2212\.\d{3}\s±\.003\)", before[4])


def test_a_rule_that_was_told_the_pace_is_no_rival(lines: list[Line]) -> None:
    given = changed(lines, 0.0001, row="belief_told", fit="told", column="errors at 90 %")
    assert errors_table(field("answers", given)) == errors_table(field("answers", lines))


def test_ours_are_the_untold_answer_and_the_risk_of_the_prediction(lines: list[Line]) -> None:
    given = changed(lines, 0.0123, row="tcuq answer", fit="untold", column="errors at 90 %")
    given = changed(given, 0.987, row="tcuq", fit="untold", column="prediction error AUROC")
    given = changed(given, 0.999, row="deep", fit="untold", column="error AUROC")  # of its own errors
    given = changed(given, 0.5, row="tcuq answer", fit="told", column="errors at 90 %")
    given = changed(given, 0.0456, row="tcuq no labels", fit="untold", column="errors at 90 %")
    found = field("answers", given)
    for row in cells(errors_table(found)):
        assert row[4].startswith("**.012**") and row[8].startswith("**.987**")
    assert leads(found) == (16, 16) and leads(found, lambda each: each.deep) == (0, 16)


def test_where_ours_without_labels_is_worse_is_said(lines: list[Line]) -> None:
    better = changed(lines, 0.001, row="tcuq no labels", fit="untold", column="errors at 90 %")
    better = changed(better, 0.999, row="tcuq no labels", fit="untold", column="prediction error AUROC")
    assert "nowhere worse than confidence (16 cells)" in unlabeled(field("answers", better))
    where = {"row": "tcuq no labels", "fit": "untold", "task": "mnist", "stream": "changing pace"}
    worse = changed(better, 0.9, column="errors at 90 %", **where)
    said = unlabeled(field("answers", worse))
    assert "by errors left on MNIST unknown pace (.900, not " in said and "AUROC" not in said


def test_the_lead_says_where_the_monitor_helps(lines: list[Line]) -> None:
    where = {"row": "tcuq answer - base", "fit": "untold", "column": "errors at 90 %", "stream": "class 16"}
    better = changed(lines, -0.03, 0.01, **where)
    assert helped(field("answers", better)).startswith("The monitor helps when the same class stays")
    half = changed(better, -0.03, 0.04, task="mnist", **where)
    assert helped(field("answers", half)).startswith("The monitor helps on 1 of 2 tasks when")
    none = changed(lines, 0.03, 0.01, **where)
    said = helped(field("answers", none))
    assert said.startswith("The monitor does not help") and "class 16 Speech Commands" in said


def test_differences_are_the_paired_ones(lines: list[Line]) -> None:
    given = changed(lines, -0.0987, 0.01, row="tcuq answer - base", fit="untold", column="errors at 90 %")
    here = place(field("answers", given), "mnist", "class 16", LEFT)
    assert here.gaps["confidence"].value == -0.0987 and here.gaps["confidence"].high == pytest.approx(-0.0887)


def test_every_place_where_ours_is_behind_is_listed(lines: list[Line]) -> None:
    for column, row, bad in (("errors at 90 %", "tcuq answer - base", 0.0765),
                             ("prediction error AUROC", "tcuq - base", -0.0765)):  # fmt: skip
        where = {
            "task": "speech_commands",
            "stream": "class 64",
            "fit": "untold",
            "row": row,
            "column": column,
        }
        before = {(each.task, each.stream) for each in shortfalls(field("answers", lines))}
        assert ("speech_commands", "class 64") not in before
        beyond = changed(lines, bad, 0.01, **where)
        text = "\n".join(section({"answers": field("answers", beyond)}))
        (row_,) = [each for each in text.splitlines() if each.startswith("| Speech Commands, class 64")]
        assert f"**{number(column, bad) if bad < 0 else '+' + number(column, bad)}**" in row_
        within = "\n".join(section({"answers": field("answers", changed(lines, bad, 0.1, **where))}))
        (row_,) = [each for each in within.splitlines() if each.startswith("| Speech Commands, class 64")]
        assert "**" not in row_ and re.search(r"[.]07[67]", row_)


def test_types_on_which_answers_are_worse_are_named(lines: list[Line]) -> None:
    row = {"row": "tcuq answer - base", "fit": "untold", "column": "errors"}
    better = [line._replace(value=-0.01) if line.row == row["row"] else line for line in lines]
    assert worse_types(field("answers", better)) == {}
    assert "On no stream of one corruption type" in "\n".join(section({"answers": field("answers", better)}))
    tiny = changed(better, 0.0004, 0.0001, stream="type frost", task="mnist", **row)
    assert worse_types(field("answers", tiny)) == {}  # prints as 0
    given = changed(better, 0.02, 0.01, stream="type frost", task="mnist", **row)
    assert [line.stream for line in worse_types(field("answers", given))["mnist"]] == ["type frost"]
    assert "than the network's prediction on frost **+.020** (.010 to .030)." in "\n".join(
        section({"answers": field("answers", given)})
    )


def test_laws_on_which_answers_are_worse_are_named(lines: list[Line]) -> None:
    row = {"row": "tcuq answer - base", "fit": "untold", "column": "errors"}
    better = [line._replace(value=-0.01) if line.row == row["row"] else line for line in lines]
    assert worse_laws(field("answers", better)) == []
    given = changed(better, 0.02, 0.01, stream="object 16", task="mnist", **row)
    assert (
        "Our answer is wrong more often than the network's prediction on MNIST object 16 **+.020**"
        in "\n".join(section({"answers": field("answers", given)}))
    )


def test_rivals_of_alarm_and_accuracy_that_are_better_are_named() -> None:
    delays, distances = list(alarms(("mnist",))), list(accuracy(("mnist",)))
    for row in ("tcuq", "tcuq no labels"):
        delays = changed(delays, 2.0, row=row, column="delay (equal)")
    both = {"alarms": field("alarms", delays), "accuracy": field("accuracy", distances)}
    assert "\n".join(section(both)).count("no rival is better on any of 13 streams") == 3
    assert "than `about='prediction'`: none on any of 13 streams; than" in section(both)[-1]
    delays = changed(delays, 1.5, row="CUSUM", column="delay (equal)", stream="class 4")
    delays = changed(delays, 1.0, row="tcuq", column="delay (equal)", stream="class 4")
    delays = changed(delays, math.inf, row="tcuq no labels", column="delay (equal)", stream="class 1")
    distances = changed(distances, 0.001, row="DoC", stream="object 16")
    both = {"alarms": field("alarms", delays), "accuracy": field("accuracy", distances)}
    labeled, bare, near, single = section(both)[1:]
    assert labeled.endswith("ours fitted with labels: no rival is better on any of 13 streams.")
    assert "fitted without labels: the best rival is better on 2 of 13 streams" in bare
    assert "`CUSUM` on MNIST class 4 (by 0.5)" in bare and "(ours never on shuffled, " in bare
    assert "better on 1 of 13 streams: `DoC` on MNIST object 16 (by " in near
    assert "than `about='prediction'`: `DoC` on 1 of 13 streams (MNIST 1 of 13), on 0 of them" in single


def test_a_rival_that_is_better_everywhere_is_said_once() -> None:
    distances = changed(list(accuracy(("mnist",))), 0.001, row="DoC")
    said, single = section({"accuracy": field("accuracy", distances)})[1:]
    assert "`DoC` on 13 of 13 streams (MNIST 13 of 13)" in single
    assert "`DoC` on MNIST all 13 streams (by " in said


def test_an_estimate_of_one_network_that_is_closer_is_said_for_both_fits() -> None:
    given = [line for line in accuracy(("mnist",)) if line.row in ("tcuq", "ATC")]
    more = [line._replace(row="tcuq answer", value=0.9) for line in given if line.row == "tcuq"]
    gap = {"value": 0.01, "low": 0.005, "high": 0.015}
    pairs = [line._replace(row="tcuq answer - ATC", **gap) for line in more]
    five = [line._replace(row="ATC, deep", value=0.0001) for line in given if line.row == "ATC"]
    said = section({"accuracy": field("accuracy", [*given, *more, *pairs, *five])})[-1]
    assert "deep" not in said
    assert "the default, `about='answer'`: `ATC` on 13 of 13 streams (MNIST 13 of 13), on 13 of" in said


def test_the_page_of_accuracy_names_rivals_of_one_pass_and_our_own_variants() -> None:
    given = list(accuracy(("mnist",)))
    at = ("mnist", "changing pace")
    more = [Line(*at, row, "", "accuracy error", value, value, value, 5)
            for row, value in (("ATC, deep", 0.002), ("tcuq label, window mean", 0.003))]  # fmt: skip
    given = changed(given, 0.004, row="ATC")
    said = accuracy_answer(field("accuracy", given + more))
    assert ".004 of `ATC`, the best of one pass, and .002 of `ATC, deep`, of five passes" in said
    assert "(our variant `tcuq label, window mean`: .003)" in said
    assert "variant" not in accuracy_answer(field("accuracy", given))


def test_every_question_has_one_sentence() -> None:
    lines_ = list(questions(("mnist",)))
    said = questions_answer(field("questions", lines_))
    assert said.count("\n- ") == len([line for line in said.splitlines() if line.startswith("- ")]) > 2
    where = {"row": "tcuq - no labels", "column": "prediction error AUROC", "stream": "changing pace"}
    said = questions_answer(field("questions", changed(lines_, -0.05, 0.01, **where)))
    (line,) = [each for each in said.splitlines() if each.startswith("- What do labels add?")]
    assert "better than the standard monitor: `no labels` on MNIST (by .050)" in line


def test_intervals_of_one_point_are_not_printed() -> None:
    line = Line("mnist", "type fog", "tcuq answer - base", "untold", "errors", 0.01, 0.01, 0.01, 5)
    assert around(line, signed=True) == cell(line, signed=True) == "+.010" and not beyond(line)
    assert cell(line._replace(value=0.0004), signed=True) == ".000"


def test_harder_streams_of_the_alarm_have_a_table() -> None:
    given = list(alarms(TASKS))
    given = changed(given, math.inf, row="tcuq", column="delay (equal)", stream="object 16")
    found = field("alarms", given)
    rows = cells(harder_table(found))
    assert [row[0] for row in rows][:2] == ["MNIST, object 16", "MNIST, unknown pace"] and len(rows) == 4
    assert rows[0][1] == "never" and rows[1][1] != "never"
    assert read_harder(found).endswith(
        "half of the costly shifts or more, fitted with labels: MNIST object 16."
    )


def test_the_alarm_table_has_ours_the_best_and_the_plainest() -> None:
    given = list(alarms(TASKS))
    slow = [
        line._replace(value=900.0) if (line.row, line.column) == ("windowed mean", "delay (equal)") else line
        for line in given
    ]
    found = field("alarms", slow)
    assert alarm_rows(found)[:3] == ["tcuq", "tcuq no labels", "EWMA"]
    rows = cells(alarm_table(found))[:MOST_ROWS]
    assert (
        rows[0][0] == "**ours**, fitted with labels, `about='prediction'`"
        and rows[-1][0] == "`windowed mean` (the plainest)"
    )
    assert all(len(row[1].split(BETWEEN)) == len(TASKS) for row in rows)
    came = changed(slow, 7.2, row="tcuq", column="false per 10,000")
    title = alarm_title(field("alarms", came))
    assert "asked for 5 false alarms per 10,000 clean steps" in title and f"7{BETWEEN}7 came" in title
    (line,) = [row for row in rows if row[0] == "`e-detector`"] or [
        ["", "", "", "", "", f"never{BETWEEN}never"]
    ]
    assert line[5] == f"never{BETWEEN}never"


def test_the_plot_is_svg_that_holds_every_stream(lines: list[Line]) -> None:
    text = overview(field("answers", lines))
    root = ET.fromstring(text)
    said = "".join(root.itertext())
    assert "MNIST, class 64: confidence" in said and "Speech Commands, continuous sound" in said
    assert "prefers-color-scheme:dark" in text and not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    moved = overview(field("answers", changed(lines, 0.001, row="tcuq answer", stream="class 4")))
    assert moved != text
    xs = [float(each) for each in re.findall(r'class="o" d="M([\d.]+) ', text)]
    assert xs and all(0 < x < WIDTH for x in xs) and all(math.isfinite(x) for x in xs)


def test_every_question_has_its_variants() -> None:
    given = question_parts(field("questions", list(questions(TASKS))))
    parts = {part[0]: part[1] for part in given if len(part) == 2}
    labels = cells(parts["## What do labels add?"])
    assert [row[:2] for row in labels] == [
        ["`no labels`", "prediction error AUROC"],
        ["`no labels`", "found, class 16"],
    ]
    steps = [row[0] for row in cells(parts["## How many labeled or clean steps are enough?"])]
    assert steps == ["`labels, 1,000 steps`", "`clean, 250 steps`", "`labels, 1,000 steps - no labels`"]
    assert [row[0] for row in cells(parts["## What does gating add?"])][-1] == "`gate told, told`"
    assert [row[0] for row in cells(parts["## Other variants"])] == ["`something else`"]


def test_long_pages_are_cut_between_sections() -> None:
    sections = [[f"## {number}", "x\n" * 90] for number in range(8)]
    pages = paged("drop", ["# Drop", "Question"], sections, "<!-- made -->")
    assert list(pages) == ["drop.md", "drop_2.md", "drop_3.md"]
    assert all(len(text.splitlines()) <= MOST_LINES for text in pages.values())
    assert "[page 2](drop_2.md)" in pages["drop.md"] and "Goes on" not in pages["drop_3.md"]
    assert [number for text in pages.values() for number in re.findall(r"## (\d)", text)] == list("01234567")
    assert all("<!-- made -->" in text for text in pages.values())


def test_mixed_streams_have_a_table_with_a_row_for_each_network() -> None:
    small = Line("mnist_pairs", "mixed", "tcuq", "told", "costly on", 0.8, 0.7, 0.9, 3)
    given = [
        small,
        small._replace(stream="mixed, fast", value=0.4),
        small._replace(fit="untold", stream="mixed, long runs", value=0.0),  # not what is shown
        small._replace(stream="mixed, short shifts", value=0.0),  # whose shifts do not last
        small._replace(column="clean on", stream="mixed, clean", value=0.05),
        small._replace(task="mnist", stream="class 16", fit="untold"),
    ]
    (row,) = cells(mixed_table({"alarms": field("alarms", given)}))
    assert row[0] == "MNIST pairs, 100 classes" and [each for each in row[1:] if each] == [".600", ".050"]
    assert mixed_table({"alarms": field("alarms", given[-1:])}) == ""
    table = alarm_table(field("alarms", [*alarms(TASKS), small]))
    assert table == alarm_table(field("alarms", list(alarms(TASKS))))
