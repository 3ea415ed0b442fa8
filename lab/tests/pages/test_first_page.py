"""The first screen: two tables and a plot from result files, and every place where ours is behind."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
from made_field import accuracy, alarms, answers, changed, questions

from tcuq_lab.pages.field import Field
from tcuq_lab.pages.first_tables import MOST_ROWS, alarm_rows, alarm_table, errors_table, leads
from tcuq_lab.pages.grids import MOST_LINES, paged
from tcuq_lab.pages.headline import LEFT, place
from tcuq_lab.pages.numbers import number
from tcuq_lab.pages.overview_plot import overview
from tcuq_lab.pages.questions import question_parts
from tcuq_lab.pages.shortfalls import section, shortfalls, worse_types
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
    assert len(rows) <= MOST_ROWS


def test_the_simple_rule_is_named_and_the_best_is_bold(lines: list[Line]) -> None:
    given = changed(lines, 0.0111, row="median", fit="untold", stream="class 16", column="errors at 90 %",
                    task="mnist")  # fmt: skip
    row = cells(errors_table(field("answers", given)))[1]
    assert row[2] == "**.011**<br><sub>median</sub>"
    assert not row[4].startswith("**")  # ours is not the best any more
    before = cells(errors_table(field("answers", lines)))[1]
    assert re.fullmatch(r"\*\*\.\d{3}\*\*\s±\.004<br>\u2212\.\d{3}\s±\.003", before[4])


def test_ours_are_the_untold_answer_and_the_risk_of_the_label(lines: list[Line]) -> None:
    given = changed(lines, 0.0123, row="tcuq answer", fit="untold", column="errors at 90 %")
    given = changed(given, 0.987, row="tcuq", fit="untold", column="error AUROC")
    given = changed(given, 0.5, row="tcuq answer", fit="told", column="errors at 90 %")
    for row in cells(errors_table(field("answers", given))):
        assert row[4].startswith("**.012**<br>") and row[8].startswith("**.987**<br>")
    assert leads(field("answers", given)) == (16, 16)


def test_differences_are_the_paired_ones(lines: list[Line]) -> None:
    given = changed(lines, -0.0987, 0.01, row="tcuq answer - base", fit="untold", column="errors at 90 %")
    here = place(field("answers", given), "mnist", "class 16", LEFT)
    assert here.gaps["confidence"].value == -0.0987 and here.gaps["confidence"].high == pytest.approx(-0.0887)


def test_every_place_where_ours_is_behind_is_listed(lines: list[Line]) -> None:
    for column, row, bad in (("errors at 90 %", "tcuq answer - base", 0.0765),
                             ("error AUROC", "tcuq - base", -0.0765)):  # fmt: skip
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
    given = changed(better, 0.02, 0.01, stream="type frost", task="mnist", **row)
    assert [line.stream for line in worse_types(field("answers", given))["mnist"]] == ["type frost"]
    assert "MNIST: frost **+.020** (.010 to .030)." in "\n".join(
        section({"answers": field("answers", given)})
    )


def test_rivals_of_alarm_and_accuracy_that_are_better_are_named() -> None:
    delays, distances = list(alarms(("mnist",))), list(accuracy(("mnist",)))
    both = {"alarms": field("alarms", delays), "accuracy": field("accuracy", distances)}
    assert "\n".join(section(both)).count("no rival is better on any of 7 streams") == 2
    delays = changed(delays, 1.0, row="CUSUM", column="delay (equal)", stream="class 4")
    distances = changed(distances, 0.001, row="DoC", stream="object 16")
    both = {"alarms": field("alarms", delays), "accuracy": field("accuracy", distances)}
    text = "\n".join(section(both))
    assert "a rival is better on 1 of 7 streams: MNIST class 4" in text and "against 1 of `CUSUM`" in text
    assert "MNIST object 16" in text and "of `DoC`" in text


def test_the_alarm_table_has_ours_the_best_and_the_plainest() -> None:
    given = list(alarms(TASKS))
    slow = [
        line._replace(value=900.0) if (line.row, line.column) == ("windowed mean", "delay (equal)") else line
        for line in given
    ]
    found = field("alarms", slow)
    assert alarm_rows(found)[:3] == ["tcuq", "tcuq no labels", "EWMA"]
    rows = cells(alarm_table(found))[:MOST_ROWS]
    assert rows[0][0] == "**ours**, fitted with labels" and rows[-1][0] == "`windowed mean` (the plainest)"
    assert all(len(row[1].split("\u00a0/\u00a0")) == len(TASKS) for row in rows)
    assert "more on the page of the [alarms]" in alarm_table(found)
    (line,) = [row for row in rows if row[0] == "`e-detector`"] or [
        ["", "", "", "", "", "never\u00a0/\u00a0never"]
    ]
    assert line[5] == "never\u00a0/\u00a0never"


def test_the_plot_is_svg_that_holds_every_stream(lines: list[Line]) -> None:
    text = overview(field("answers", lines))
    root = ET.fromstring(text)
    said = "".join(root.itertext())
    assert "MNIST, class 64: confidence" in said and "Speech Commands, continuous sound" in said
    assert "prefers-color-scheme:dark" in text and not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    moved = overview(field("answers", changed(lines, 0.001, row="tcuq answer", stream="class 4")))
    assert moved != text
    xs = [float(each) for each in re.findall(r'class="o" d="M([\d.]+) ', text)]
    assert xs and all(0 < x < 1000 for x in xs) and all(math.isfinite(x) for x in xs)


def test_every_question_has_its_variants() -> None:
    given = question_parts(field("questions", list(questions(TASKS))))
    parts = {part[0]: part[1] for part in given if len(part) == 2}
    labels = cells(parts["## What do labels add?"])
    assert [row[:2] for row in labels] == [
        ["`no labels`", "label error AUROC"],
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
