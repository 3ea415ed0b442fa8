"""The experiment on streams of any pace as a whole: figures, result file, verdicts, page, command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from made_up import drawn, made_unit

from tcuq import Log
from tcuq_lab.cli import main
from tcuq_lab.pages.any_stream import page, summary
from tcuq_lab.reproduce.any_stream import run as running
from tcuq_lab.reproduce.any_stream import units as loading
from tcuq_lab.reproduce.any_stream.drawn import draw
from tcuq_lab.reproduce.any_stream.lines import Found, Line, entries, from_entries
from tcuq_lab.reproduce.any_stream.plan import BACKBONES, StreamSizes, UnitPlan
from tcuq_lab.reproduce.any_stream.run import load_result, measured, result_text
from tcuq_lab.reproduce.any_stream.units import load_unit
from tcuq_lab.reproduce.any_stream.verdicts import BELOW, Bound, judged, not_below, verdicts
from tcuq_lab.streams import Changing, Geometric

CLASS_STREAMS = ("class 1", "class 4", "class 16", "class 64")


@pytest.fixture(scope="module")
def lines():
    patch = pytest.MonkeyPatch()
    for part in ("ranking", "answering", "alarming", "expecting"):
        patch.setattr(f"tcuq_lab.reproduce.any_stream.{part}.draw", partial(draw, replicates=20))
    try:
        return measured("cifar10", [made_unit(seed) for seed in (0, 1)])
    finally:
        patch.undo()


def test_all_rows_are_measured_on_all_streams_and_ours_is_compared_with_each(lines):
    found = Found(lines)
    for stream in CLASS_STREAMS:
        for column, ours in (
            ("AUROC of label errors", "risk"),
            ("errors at 90 % coverage", "risk of the answer"),
        ):
            rows = [row for row in found.rows(column) if " - " not in row]
            assert len(rows) >= 7
            for row in rows:
                here = found.get("cifar10", stream, row, column)
                assert here is not None and 0 <= here.low <= here.high <= 1
                if row != ours:
                    gap = found.get("cifar10", stream, f"{ours} - {row}", column)
                    best = found.get("cifar10", stream, ours, column)
                    assert gap.value == pytest.approx(best.value - here.value)
    # Where classes stay, the past tells wrong labels from right ones.
    column = "AUROC of label errors"
    assert found.get("cifar10", "class 64", "risk - float confidence", column).low > 0
    told = found.get("cifar10", "class 64", "belief, told the stream", column)
    assert told.value > found.get("cifar10", "class 64", "float confidence", column).value


def test_errors_by_type_and_over_all_types_agree(lines):
    found = Found(lines)
    by_type = [found.get("cifar10", f"type {kind}", "label", "errors").value for kind in ("easy", "hard")]
    assert found.get("cifar10", "all types, shuffled", "label", "errors").value == pytest.approx(
        np.mean(by_type)
    )
    assert found.get("cifar10", "type clean", "label", "errors").value < by_type[1]


def test_the_result_file_is_read_back_and_made_again_to_the_byte(lines, tmp_path):
    text = result_text(lines, (0, 1))
    (tmp_path / "any_stream.json").write_text(text)
    about, found = load_result(tmp_path / "any_stream.json")
    assert about["setting"]["seeds"] == [0, 1] and about["command"] == "tcuq-lab anystream --write"
    assert result_text(found.lines, (0, 1)) == text
    assert len(found.lines) == len(lines)
    line = Line("mnist", "s", "r", "c", math.inf, 3.0, math.inf)
    assert from_entries(json.loads(json.dumps(running.plain(entries([line]))))) == [line]
    (tmp_path / "other.json").write_text('{"format": "x"}')
    with pytest.raises(ValueError, match="is no result of this experiment, expected the format"):
        load_result(tmp_path / "other.json")
    with pytest.raises(ValueError, match="1 figures come twice, expected each once"):
        Found([line, line])


def test_measuring_again_gives_the_same_figures():
    whole = made_unit(0, 400)
    unit = replace(whole, streams={"class 16": whole.streams["class 16"]})
    assert repr(measured("mnist", [unit])) == repr(measured("mnist", [unit]))


def figure(value, low=math.nan, high=math.nan, stream="class 16"):
    return Line("mnist", stream, "a - b", "c", value, low, high)


@pytest.mark.parametrize(
    "given, bound, words",
    [
        ([figure(0.04, 0.03, 0.05)], Bound(low=0.03), "met"),
        ([figure(0.04, 0.01, 0.05)], Bound(low=0.03), "met, within the interval"),
        ([figure(0.02, 0.01, 0.05)], Bound(low=0.03), "missed, within the interval"),
        ([figure(0.02, 0.01, 0.025)], Bound(low=0.03), "missed"),
        ([figure(9.0, 3.0, math.inf)], Bound(high=8.0), "missed, within the interval"),
        ([figure(math.inf, 9.0, math.inf)], Bound(high=8.0), "missed"),
        ([figure(0.5)], Bound(0.5, 2.0), "met"),
        ([figure(-0.1, -0.2, 0.0)], BELOW, "met, within the interval"),
        ([figure(0.0, 0.0, 0.0)], BELOW, "missed"),
        ([figure(0.5), figure(2.5)], Bound(0.5, 2.0), "missed"),
        ([figure(0.5), None], Bound(0.5, 2.0), "not measured"),
        ([], Bound(0.5, 2.0), "not measured"),
    ],
)
def test_verdicts_say_whether_the_interval_settles_them(given, bound, words):
    assert judged("x", "y", "mnist", given, bound).words == words


def test_a_difference_is_below_only_with_its_whole_interval():
    near, far = figure(-0.01, -0.03, 0.001), figure(-0.02, -0.03, -0.001, "class 1")
    assert not_below("x", "y", "mnist", [near]).words == "met"
    assert not_below("x", "y", "mnist", [figure(0.5, 0.4, 0.45), near]).line is near
    missed = not_below("x", "y", "mnist", [near, far])
    assert missed.words == "missed" and missed.line is far
    assert not_below("x", "y", "mnist", [near, None]).words == "not measured"


def test_verdicts_name_the_figure_farthest_from_the_target(lines):
    made = verdicts(Found(lines))
    errors = next(each for each in made if each.target.startswith("errors of the answer at most .005"))
    gaps = [each for each in lines if each.column == "errors" and each.row == "answer - label"]
    worst = max(each.value for each in gaps if not each.stream.startswith("type "))
    assert errors.line.value == worst and errors.met == (worst <= 0.005)
    goal = [each for each in made if each.target.startswith("goal")]
    assert len(goal) == 2 and all(each.words == "not measured" for each in goal)  # no objects were shown


def test_the_page_shows_verdicts_first_and_every_figure(lines, tmp_path):
    (tmp_path / "any_stream.json").write_text(result_text(lines))
    text = page(tmp_path / "any_stream.json")
    heads = [each for each in text.splitlines() if each.startswith("## ")]
    assert heads[0] == "## Are the targets met?" and len(heads) == 6
    shown = Found(lines).get("cifar10", "class 64", "risk", "AUROC of label errors")
    assert "| risk | " in text and f"{shown.value:.3f} ({shown.low:.3f} to {shown.high:.3f})" in text
    assert "| hard | " in text and "| all types, shuffled | " in text
    assert len(summary(Found(lines)).splitlines()) == len(verdicts(Found(lines)))


class MadeLogs:
    """Gives made-up logs of the right length, and remembers which streams were asked for."""

    def __init__(self, *given):
        self.asked = []

    def log(self, description, network, *, seed=None):
        self.asked.append(description)
        rng = np.random.default_rng(description.seed)
        return drawn(np.full(description.steps, "clean"), 4, rng)

    def joined(self, descriptions, network, *, seed=None):
        logs = [self.log(each, network) for each in descriptions]
        whole = loading.one_stream(logs)
        numbers = np.repeat(np.arange(len(logs)), [len(each) for each in logs])
        return Log(whole.probs, whole.features, whole.labels, numbers, whole.kinds)


SMALL = StreamSizes(800, 4, 200, 300, 300, 600, 200, 30)


@pytest.mark.parametrize("task", BACKBONES)
def test_a_unit_holds_the_streams_of_its_plan(task, monkeypatch):
    monkeypatch.setattr(loading, "labels_for", lambda about: (np.arange(500) % 10, {}))
    logs, plan = MadeLogs(), UnitPlan(task, 1, SMALL)
    unit = load_unit(plan, logs)
    assert {each.to_json() for each in logs.asked} == {each.to_json() for each in plan.all()}
    assert len(unit.dev) == 800 and len(unit.dev.pieces()) == 4 and len(unit.clean_test) == 200
    assert len(unit.streams["class 16"].log) == 600 and len(unit.streams["class 4"].log) == 300
    for shown in (*unit.streams.values(), *unit.kinds.values()):
        assert len(shown.sources) == len(shown.log)
    assert set(unit.streams["class 1"].sources[:50]) == {"clean"}  # streams begin clean
    kind = next(each for each in unit.kinds if each != "clean")
    assert {each.partition("/")[0] for each in unit.kinds[kind].sources} == {kind}


@pytest.mark.parametrize("task", BACKBONES)
def test_development_sees_no_unseen_type_no_test_example_and_no_dwell(task):
    from tcuq_lab.corruptions import suite_of

    plan = UnitPlan(task, 0)
    seen = set(suite_of(task).seen)
    for each in (*plan.dev(), plan.clean_dev()):
        assert each.part == "dev" and each.dwell == Changing((1, 4, 16, 64))
        assert {shift.kind for shift in each.shifts} <= seen
    for name in plan.streams:
        assert plan.test(name).part == "test" and plan.told_dev(name).part == "dev"
        assert not {shift.kind for shift in plan.test(name).shifts} & seen
        assert plan.test(name).dwell == plan.told_dev(name).dwell
    assert plan.test("class 16").dwell == Geometric(16)
    seeds = [each.seed for other in range(3) for each in UnitPlan(task, other).all()]
    assert len(set(seeds)) == len(seeds)
    mixed = UnitPlan(task, 0, development="mixed").dev()
    assert sum(each.steps for each in mixed) == 16_000 and len([e for e in mixed if e.held or e.sliding]) == 1
    with pytest.raises(ValueError, match="development 'held' is unknown"):
        UnitPlan(task, 0, development="held")
    with pytest.raises(ValueError, match="stream 'class 2' is unknown"):
        plan.test("class 2")


def test_fill_asks_for_every_stream_once():
    logs, given = MadeLogs(), [UnitPlan("mnist", seed, SMALL) for seed in (0, 1)]
    said = []
    running.fill(given, logs, lambda *told: said.append(told))
    assert len(logs.asked) == sum(len(list(each.all())) for each in given) == said[-1][0] == said[-1][1]


def test_the_command_compares_before_it_writes(lines, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="pip install 'tcuq-lab[all]'")
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    docs.mkdir()
    monkeypatch.setattr(running, "run", lambda *given, **more: lines)
    command = ["anystream", "--results", str(results), "--docs", str(docs), "--cache", str(tmp_path)]
    assert main(command) == 0
    told = capsys.readouterr()
    assert "any_stream.json: new file" in told.err and "nothing written; --write writes" in told.err
    assert "CIFAR-10: AUROC not below int8 confidence" in told.out
    assert not (results / "any_stream.json").exists()
    assert main([*command, "--write"]) == 0 and (docs / "ANY_STREAM.md").exists()
    assert main(command) == 0 and "any_stream.json: no change" in capsys.readouterr().err
    assert main([*command, "--page", "--check"]) == 0
    moved = [line._replace(value=0.5) if number == 0 else line for number, line in enumerate(lines)]
    monkeypatch.setattr(running, "run", lambda *given, **more: moved)
    assert main(command) == 0
    assert "lines cifar10 risk AUROC of label errors class 1 value: " in capsys.readouterr().err
    (docs / "ANY_STREAM.md").write_text("old")
    assert main([*command, "--page", "--check"]) == 1
    assert main([*command, "--page", "--write"]) == 0
    assert main([*command, "--page", "--check"]) == 0


@pytest.mark.parametrize(
    "given, message",
    [
        (["--write", "--seeds", "0"], "--write stores the whole experiment: leave out --task and --seeds"),
        (["--task", "svhn"], "task 'svhn' is unknown"),
        (["--dev", "held"], "dev 'held' is unknown"),
        (["--check"], "--check goes with --page"),
        (["--page", "--write", "--check"], "--write and --check exclude each other"),
    ],
)
def test_what_the_command_refuses(given, message, capsys):
    assert main(["anystream", *given]) == 2
    assert message in capsys.readouterr().err


def test_the_stored_page_is_that_of_the_stored_result():
    from places import LAB

    if not (LAB / "results" / "any_stream.json").exists():
        pytest.skip("the experiment has not been stored yet")
    text = page(LAB / "results" / "any_stream.json")
    assert (LAB.parent / "docs" / "ANY_STREAM.md").read_text(encoding="utf-8") == text
