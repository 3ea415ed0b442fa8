"""Pages of results: made from files alone, verdicts computed, nothing typed in."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import LAB, ROOT

from tcuq_lab.cli import main
from tcuq_lab.pages import build_pages
from tcuq_lab.pages.build import HTML, MARKDOWN
from tcuq_lab.pages.claim_rules import Point, points
from tcuq_lab.pages.claims import claims_from, load_claims
from tcuq_lab.pages.content import Content
from tcuq_lab.pages.figures import Figure, Found, Place
from tcuq_lab.pages.load import load_found
from tcuq_lab.pages.paper import Paper, Part, load_paper
from tcuq_lab.pages.verdicts import CANNOT, FAILS, HOLDS, MIXED, NOT_RUN, REPORTED, judge
from tcuq_lab.pages.wording import readable, sense
from tcuq_lab.reproduce.experiment import experiment_from, load_experiments
from tcuq_lab.reproduce.result_files import save_result
from tcuq_lab.reproduce.run_size import RUN_SIZES

RESULTS, DOCS = LAB / "results", ROOT / "docs"
INPUTS = ("paper.json", "claims.json", "targets.json")
KINDS = ("fog", "snow", "frost")
TASKS = ("mnist", "speech_commands", "cifar10")
NONE = Paper("", [])
GAIN = "AUPRC above the base's, unseen kinds"

Value = Callable[[str, float, str, str, str], float]


def level(task: str, dwell: float, row: str, column: str, kind: str) -> float:
    """A made-up figure: TCUQ is best, its lead grows with the dwell, delays are short where skill is high."""
    lead = {"tcuq": 0.04, "tcuq_paper": 0.01}.get(row, 0.0) * math.log2(2 * dwell)
    skill = 0.6 + lead + 0.01 * KINDS.index(kind) + 0.002 * len(row) * (not row.startswith("tcuq"))
    return 100 * (1 - skill) if "delay" in column or "per alarm" in column else skill


def write(folder: Path, name: str, value: Value = level, **changes: Any) -> None:
    """Write a result file of an experiment of the repository with made-up figures."""
    plain = json.loads((LAB / "experiments" / f"{name}.json").read_text())
    fields = json.loads((LAB / "experiments" / "fields.json").read_text())
    experiment = experiment_from({**plain, **changes}, fields)
    lines = []
    for task in experiment.tasks:
        for dwell in experiment.dwells:
            for row in (each.label for each in experiment.rows):
                for column in experiment.columns:
                    if column.title != GAIN:
                        lines.append(line(task, dwell, row, column.title, value))
            if name == "drop":
                for row in ("tcuq_paper", "tcuq"):
                    lines.append(
                        line(task, dwell, f"{row} - base", GAIN, lambda *place: 0.1)
                        | {"spans": {kind: [0.05, 0.15] for kind in KINDS}}
                    )
    save_result(folder / f"{name}.json", experiment, RUN_SIZES["reduced"], lines, 61.0)


def line(task: str, dwell: float, row: str, column: str, value: Value) -> dict[str, Any]:
    streams = {kind: value(task, dwell, row, column, kind) for kind in KINDS}
    mean = sum(streams.values()) / len(streams)
    about = {"task": task, "dwell": dwell, "row": row, "column": column}
    spread = {"value": mean, "low": mean - 0.01, "high": mean + 0.01, "seeds": [mean] * 3}
    return {**about, **spread, "streams": streams, "n": 9}


def change(path: Path, wanted: dict[str, Any], new: float) -> None:
    """Set the figures of one place of a result file."""
    content = json.loads(path.read_text())
    hit = [each for each in content["lines"] if all(each[key] == value for key, value in wanted.items())]
    assert len(hit) == 1
    hit[0]["value"], hit[0]["streams"] = new, dict.fromkeys(hit[0]["streams"], new)
    path.write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what the repository has beside results, and made-up results of three experiments."""
    home = tmp_path / "results"
    home.mkdir()
    for name in INPUTS:
        shutil.copy(RESULTS / name, home)
    for name in ("drop", "failure", "delay"):
        write(home, name)
    return home


def test_the_pages_of_the_repository_are_what_its_results_give() -> None:
    pages = build_pages(RESULTS)
    text = (DOCS / MARKDOWN).read_text(encoding="utf-8")
    assert text == pages[MARKDOWN], f"{MARKDOWN} is stale: run tcuq-lab results --write"
    # The HTML page is built where it is wanted: it is not under version control.
    found = load_found(RESULTS)
    assert found and HTML in (ROOT / ".gitignore").read_text()
    for name, each in found.items():
        assert escape(each.title) in pages[HTML], name
    assert len(pages[HTML]) > 500_000


@pytest.mark.slow
def test_a_figure_changes_the_page_and_flips_verdicts(folder: Path) -> None:
    place = {"task": "mnist", "dwell": 16.0, "row": "vote", "column": "AUPRC, unseen kinds"}
    before, judged = build_pages(folder), verdicts(folder, "drop-best", "drops")
    assert judged["drops", "tcuq"] == HOLDS
    change(folder / "drop.json", place, 0.95)
    after = build_pages(folder)
    assert before[MARKDOWN] != after[MARKDOWN] and before[HTML] != after[HTML]
    for name, page in after.items():  # a third of what is left to 1 is less than 0.05
        assert "bar 0.967 from vote" in page and "from vote" not in before[name]
    flipped = verdicts(folder, "drop-best", "drops")
    assert flipped["drops", "tcuq"] == MIXED
    assert flipped["drop-best", "tcuq"] == judged["drop-best", "tcuq"] == HOLDS  # vote is no rival there
    change(folder / "drop.json", {**place, "row": "deep"}, 0.95)
    assert verdicts(folder, "drop-best", "drops")["drop-best", "tcuq"] == MIXED


def verdicts(folder: Path, *names: str) -> dict[tuple[str, str], str]:
    content = Content.of(folder)
    found = [*content.targets_judged, *content.claims_judged]
    return {(j.claim.name, v.row): v.word for j in found for v in j.verdicts if j.claim.name in names}


def test_without_results_nothing_has_a_verdict(tmp_path: Path) -> None:
    for name in INPUTS:
        shutil.copy(RESULTS / name, tmp_path)
    content = Content.of(tmp_path)
    words = {
        v.word for each in (*content.targets_judged, *content.claims_judged) for v in each.verdicts if each
    }
    assert words == {NOT_RUN, CANNOT}
    pages = build_pages(tmp_path)
    assert all("no result files" in page for page in pages.values())


def test_what_cannot_be_tested_has_a_reason_and_no_rule() -> None:
    for each in load_claims(RESULTS / "claims.json").claims:
        assert (each.rule is None) == bool(each.cannot)
        if each.rule is None:
            assert len(each.cannot) > 40, each.name


@pytest.mark.parametrize("name", ["claims.json", "targets.json"])
def test_claims_ask_for_rows_and_columns_that_experiments_have(name: str) -> None:
    known = load_experiments(LAB / "experiments")
    asked = [
        each for each in load_claims(RESULTS / name).claims if each.rule and each.rule.experiment in known
    ]
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


class Reader(HTMLParser):
    """Collects what a page refers to, and checks that elements are closed in order."""

    VOID = ("meta", "input", "br", "path")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.wanted: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("for", "aria-labelledby"):
                self.wanted.append(value or "")
            if name == "href" and value and value.startswith("#"):
                self.wanted.append(value[1:])
            elif name in ("href", "src", "action", "srcset") or (name or "").startswith("on"):
                self.outside.append(f"{name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_page_is_whole_and_asks_for_nothing_outside(folder: Path) -> None:
    for name in ("severity", "transfer", "literal"):
        write(folder, name)
    page = build_pages(folder)[HTML]
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert set(reader.wanted) <= set(reader.ids)
    assert reader.outside == []
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp", page)
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page
    assert page.count("<svg") > 30


def test_every_dwell_can_be_chosen_without_a_script(folder: Path) -> None:
    page = build_pages(folder)[HTML]
    drop = re.search(r'<section id="x-drop".*?</section>', page, re.S)
    assert drop is not None
    assert re.findall(r'<input type="radio"[^>]* value="(\d+)"( checked)?>', drop[0]) == [
        ("1", ""),
        ("4", ""),
        ("16", " checked"),
        ("64", ""),
    ]
    assert drop[0].count('class="panel"') == 4
    style = page[: page.index("</style>")]
    for number in range(1, 9):
        assert f"input:nth-of-type({number}):checked ~ .panel:nth-of-type({number})" in style


def test_markdown_shows_one_dwell_whole_and_the_others_cut(folder: Path) -> None:
    page = build_pages(folder)[MARKDOWN]
    drop = page[page.index("## Accuracy-drop detection") : page.index("## Failure detection")]
    whole = drop[drop.index("**MNIST, dwell 16**") :]
    whole = whole[: whole.index("**MNIST, dwell 16, differences**")]
    assert len(re.findall(r"\n\| `\w+`", whole)) == 19 and "`godin_energy`" in whole
    cut = drop[drop.index("**MNIST, dwell 4**") :]
    cut = cut[: cut.index("**MNIST, dwell 4, differences**")]
    assert re.findall(r"\n\| `(\w+)`", cut) == ["base", "deep", "mean_posterior", "tcuq_paper", "tcuq"]
    assert "(14 more rows" in cut
    assert "| 0.66 |" in whole  # the paper's figure beside tcuq_paper


def test_both_rows_of_tcuq_are_judged(folder: Path) -> None:
    content = Content.of(folder)
    for name in ("drop-best", "delay-best", "errors-best"):
        (judged,) = [each for each in content.claims_judged if each.claim.name == name]
        assert [verdict.row for verdict in judged.verdicts] == ["tcuq_paper", "tcuq"]
        assert {point.task for point in judged.verdicts[0].points} <= set(TASKS)


def test_the_page_says_what_was_run_and_how_long(folder: Path) -> None:
    for page in build_pages(folder).values():
        said = page[page.index("What was run") :]
        for words in (
            "tcuq-lab reproduce drop --setting reduced",
            "61 s",
            "6,000",
            "0, 1, 2",
            f"numpy {np.__version__}",
        ):
            assert words in said


def trained(question: str, backbone: str, dataset: str, settings: dict[str, Any], nll: float) -> list[Any]:
    figures = {"accuracy": 0.8, "f1": 0.8, "brier": 0.3, "nll": nll, "ece": 0.05}
    about = {"ablations": [question], "backbone": backbone, "dataset": dataset, "settings": settings}
    curve = [2 - step / 100 for step in range(101)]
    return [
        {
            **about,
            "seed": seed,
            "seconds": 5.0,
            "epochs": 30,
            "test": figures,
            "curves": {"exit_1": curve} if settings else {},
        }
        for seed in (0, 1)
    ]


@pytest.mark.slow
def test_trainings_become_experiments(folder: Path) -> None:
    networks = []
    for count, nll in ((0, 2.0), (2, 1.9), (4, 1.8), (6, 1.7), (8, 1.5), (10, 1.6)):
        settings = {"exits": count} if count else {}
        networks += trained("exits", "mobilenetv2", "tinyimagenet20", settings, nll)
    for name in TASKS:
        for first in (2, 3, 4, 5):
            settings = {"first": first, "step": 0.5, "probe": 0}
            networks += trained("weights", "x", name, settings, 1 - first / 10)
        for settings in ({}, {"probe": 0}, {"probe": 1}):
            networks += trained("assistance", "x", name, settings, 1.0)
    content = {"format": "tcuq-assistance", "version": "1", "trial": False, "networks": networks}
    path = folder / "trainings.json"
    path.write_text(json.dumps(content))
    found = load_found(folder)
    exits = found["trainings_exits"].get("tinyimagenet20", 1.0, "8 exits", "NLL, nats")
    assert exits.value == 1.5 and exits.seeds == (1.5, 1.5)
    loss = found["trainings"].get("cifar10", 1.0, "probe", "loss of exit 1, 20 % of training")
    assert loss.value == pytest.approx(1.8)
    words = verdicts(folder, "exits-eight", "exits-nll", "exits-weights", "assistance-loss", "exits-accuracy")
    assert words["exits-eight", "8 exits"] == words["exits-nll", "2 exits"] == HOLDS
    assert words["exits-weights", "4 + 0.5 k"] == FAILS  # made up to fall
    assert words["assistance-loss", "assisted"] == HOLDS and words["exits-accuracy", ""] == FAILS
    assert "Number of assisting exits" in build_pages(folder)[HTML]
    path.write_text(json.dumps({**content, "trial": True}))
    with pytest.raises(ValueError, match="trainings on a few examples"):
        load_found(folder)


def test_names_are_escaped(folder: Path) -> None:
    path = folder / "drop.json"
    content = json.loads(path.read_text())
    content["title"] = "<script>alert(1)</script>"
    for each in content["lines"]:
        each["row"] = each["row"].replace("median", "<i>median")
    path.write_text(json.dumps(content))
    for name in ("failure", "delay"):
        (folder / f"{name}.json").unlink()
    targets = (folder / "targets.json").read_text()
    (folder / "targets.json").write_text(targets.replace('"median"', '"<i>median"'))
    page = build_pages(folder)[HTML]
    assert "<script>alert" not in page and "<i>median" not in page and "&lt;i&gt;median" in page


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_process(folder: Path) -> None:
    code = (
        "import sys, hashlib; from tcuq_lab.pages import build_pages; "
        "print(*(hashlib.sha256(t.encode()).hexdigest() for t in build_pages(sys.argv[1]).values()))"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        seen.add(done.stdout)
    assert len(seen) == 1


@pytest.mark.slow
def test_the_command_writes_and_checks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs"
    out.mkdir()
    where = ["--results", str(folder), "--out", str(out)]
    assert main(["results", "--check", *where]) == 1
    assert main(["results", *where]) == 0
    assert not list(out.iterdir())
    assert "nothing written; run 'tcuq-lab results --write'" in capsys.readouterr().out
    assert main(["results", "--write", *where]) == 0
    assert {path.name for path in out.iterdir()} == {MARKDOWN, HTML}
    assert main(["results", "--check", *where]) == 0
    place = {"task": "mnist", "dwell": 1.0, "row": "base", "column": "AUPRC, unseen kinds"}
    before = (out / MARKDOWN).read_text()
    change(folder / "drop.json", place, 0.1234)
    capsys.readouterr()
    assert main(["results", "--check", *where]) == 1
    said = capsys.readouterr().out
    assert f"{MARKDOWN}: " in said and " -> " in said and "0.123" in said
    assert (out / MARKDOWN).read_text() == before
    (out / HTML).unlink()  # is in nobody's repository, so that its absence is no fault
    (folder / "drop.json").unlink()
    write(folder, "drop")
    assert main(["results", "--check", *where]) == 0
    assert main(["results", "--check", "--write", *where]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "change_", "message"),
    [
        ("drop.json", lambda c: {**c, "name": "x"}, "name is 'x', expected 'drop'"),
        ("drop.json", lambda c: {**c, "lines": []}, "there are 0 lines"),
        ("drop.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "line 1 repeats mnist"),
        ("drop.json", lambda c: {**c, "lines": [{"task": "a"}]}, "line 0 lacks dwell"),
        ("drop.json", lambda c: {**c, "lines": [{**c["lines"][0], "value": "x"}]}, "number is 'x'"),
        ("paper.json", lambda c: {**c, "format": "x"}, "expected 'tcuq paper 1'"),
        ("paper.json", lambda c: {**c, "parts": [{"where": ""}]}, "part 0 lacks experiment"),
        ("paper.json", lambda c: {**c, "parts": [c["parts"][0]] * 2}, "part 1 repeats drop"),
        ("claims.json", lambda c: {**c, "claims": [{"id": "a"}]}, "claim a: where is None"),
        ("claims.json", lambda c: {**c, "claims": [c["claims"][0]] * 2}, "comes twice"),
        ("targets.json", lambda c: {k: v for k, v in c.items() if k != "rows"}, "lacks rows"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    folder: Path,
    name: str,
    change_: Callable[[dict[str, Any]], dict[str, Any]],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / name
    path.write_text(json.dumps(change_(json.loads(path.read_text()))))
    assert main(["results", "--results", str(folder), "--out", str(folder)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and message in said and name in said
    assert not (folder / HTML).exists()


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


def test_what_is_not_there_is_named_or_left_out() -> None:
    figures = {("a", "c"): flat(0.5)}
    with pytest.raises(ValueError, match="row of x 'b' is unknown; did you mean a"):
        asked({"kind": "above", "than": ["b"]}, figures)
    with pytest.raises(ValueError, match="column of x 'k' is unknown; did you mean c"):
        asked({"kind": "reported", "columns": ["k"]}, figures)
    with pytest.raises(ValueError, match="dwell of x is 16, expected 4"):
        asked({"kind": "reported", "dwells": [16]}, figures)
    assert len(asked({"kind": "reported", "columns": ["c", "later"]}, figures)) == 1
    assert asked({"kind": "reported", "experiment": "y"}, figures) == []


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
