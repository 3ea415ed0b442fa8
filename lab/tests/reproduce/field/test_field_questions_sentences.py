"""Answers in words: what is measurable, what is nothing, what costs."""

from __future__ import annotations

import math

import pytest

from tcuq_lab.reproduce.field.asked.sentences import answered, answers
from tcuq_lab.reproduce.field.asked.wording import adds, measurable
from tcuq_lab.reproduce.field.lines import Found, Line

AUROC, LEFT = "prediction error AUROC", "errors at 90 %"


def line(row, value, low=None, high=None, stream="class 16", column=AUROC, task="cifar10"):
    low, high = value - 0.01 if low is None else low, value + 0.01 if high is None else high
    return Line(task, stream, row, "untold", column, value, low, high, 5)


def said(*lines):
    return answers(Found(lines))


def test_a_gain_on_one_stream_and_nothing_on_another():
    found = said(line("tcuq - no memory", 0.101), line("tcuq - no memory", 0.002, stream="class 1"))
    assert found == [
        "On CIFAR-10, memory adds 0.101 (0.091 to 0.111) to the AUROC of prediction errors at class 16; "
        "nothing measurable at class 1."
    ]


def test_nothing_on_any_stream_is_said_so():
    found = said(line("tcuq - no memory", 0.002), line("tcuq - no memory", -0.009, stream="class 1"))
    assert found == [
        "On CIFAR-10, memory adds nothing measurable to the AUROC of prediction errors on any stream."
    ]


def test_a_loss_is_not_hidden():
    found = said(
        line("tcuq - memory, always", -0.014, -0.016, -0.012, "class 1"),
        line("tcuq - memory, always", 0.03, stream="shuffled steps"),
    )
    assert found == [
        "On CIFAR-10, the gate adds 0.030 (0.020 to 0.040) to the AUROC of prediction errors at shuffled "
        "steps; it costs 0.014 (0.012 to 0.016) of the AUROC of prediction errors at class 1."
    ]


def test_fewer_errors_are_a_gain_and_more_a_loss():
    found = Found([line("tcuq answer - no memory", -0.11, column=LEFT)])
    assert "takes 0.110 (0.100 to 0.120) off the errors" in answers(found)[0]
    found = Found([line("tcuq answer - no memory", 0.11, column=LEFT)])
    assert "brings 0.110 (0.100 to 0.120) more of the errors" in answers(found)[0]


@pytest.mark.parametrize(
    ("value", "low", "high", "there"),
    [
        (0.01, 0.001, 0.02, True),
        (-0.01, -0.02, -0.001, True),
        (0.01, -0.001, 0.02, False),
        (0.0004, 0.0003, 0.0005, False),
        (0.01, math.nan, math.nan, False),
    ],
)
def test_what_is_measurable(value, low, high, there):
    assert measurable(line("a - b", value, low, high)) is there


def test_undefined_figures_are_left_out():
    found = Found([line("a - b", math.nan), line("a - b", 0.2, stream="class 1")])
    assert adds(found, "cifar10", "it", "a - b", AUROC, "AUROC") == (
        "it adds 0.200 (0.190 to 0.210) to AUROC at class 1"
    )
    assert adds(found, "mnist", "it", "a - b", AUROC, "AUROC") == ""


def test_signals_are_ranked_by_the_most_they_add():
    [text] = said(
        line("tcuq - without odds", 0.05, stream="class 1"),
        line("tcuq - without odds", 0.003, 0.001, 0.005),
        line("tcuq - without disbelief", 0.09),
        line("tcuq - without magnitude", 0.001),
        line("tcuq - without severity", -0.02),
    )
    assert text == (
        "On CIFAR-10, the most that a signal adds to the AUROC of prediction errors, beside the others, is: "
        "disbelief 0.090 (0.080 to 0.100) at class 16 and odds 0.050 (0.040 to 0.060) at class 1. The most "
        "that one costs is: severity 0.020 (0.010 to 0.030) at class 16. Taking out magnitude changes "
        "nothing measurable on any stream."
    )


def curve(behind, ahead):
    steps = ("250", "1,000", "16,000")
    rows = [line(f"tcuq - labels, {n} steps", v) for n, v in zip(steps, behind, strict=True)]
    rows += [line(f"labels, {n} steps - no labels", v) for n, v in zip(steps, ahead, strict=True)]
    return rows


def test_the_learning_curve_names_the_fewest_steps_that_are_enough():
    [text] = said(*curve((0.04, 0.004, 0.0), (-0.03, 0.0, 0.02)))
    assert "1,000 labeled steps reach" in text and "250 lose up to 0.040 (0.030 to 0.050)" in text
    assert "From 1,000 labeled steps on" in text


def test_a_curve_that_dips_is_not_enough_before_the_dip():
    [text] = said(*curve((0.001, 0.04, 0.0), (0.02, -0.03, 0.02)))
    assert "16,000 labeled steps reach" in text and "From 16,000 labeled steps on" in text


def test_the_curve_of_clean_steps_shows_what_alarms_do():
    [text] = said(
        line("clean, 250 steps", 0.8, column="found"),
        line("clean, 250 steps", 0.3, column="clean on"),
        line("clean, 1,000 steps", 0.9, column="found"),
        line("clean, 1,000 steps", 0.05, column="clean on"),
        line("clean, 4,000 steps", 0.9, column="found"),
    )
    assert text == (
        "On CIFAR-10, shifts found and clean time under alarm at class 16, without labels: 250 steps 0.800 "
        "(0.790 to 0.810) and 0.300 (0.290 to 0.310); 1,000 steps 0.900 (0.890 to 0.910) and 0.050 (0.040 "
        "to 0.060)."
    )


def test_tasks_and_questions_come_in_order_and_only_with_figures():
    found = answered(
        Found(
            [
                line("tcuq - no labels", 0.1),
                line("tcuq - no memory", 0.1, task="mnist"),
                line("tcuq - no memory", 0.1),
            ]
        )
    )
    assert [(each.question, each.task) for each in found] == [
        ("What does memory add?", "cifar10"),
        ("What does memory add?", "mnist"),
        ("What do labels add?", "cifar10"),
    ]


def test_assistance_says_what_it_does_to_the_network():
    row = "assisted network - plain network"
    [text] = said(
        line(row, -0.009, -0.017, -0.003),
        line(row, 0.097, stream="class 16, clean steps", column="errors"),
        line(row, 0.001, stream="class 16, shifted steps", column="errors"),
    )
    assert "costs 0.009 (0.003 to 0.017)" in text
    assert "changes by +0.097 (+0.087 to +0.107) on clean steps and not measurably on shifted steps" in text


def test_settings_name_the_worst_and_the_best_one():
    [text] = said(
        line("tcuq - blend 0", 0.05),
        line("tcuq - l2 10", -0.03),
        line("tcuq", 0.13, column="abstained"),
        line("tcuq", 0.17, column="errors answered"),
    )
    assert "blend 0 loses the most, 0.050" in text and "L2 10 gains the most, 0.030" in text
    assert "13.0 % abstained, 17.0 % of the rest wrong" in text
