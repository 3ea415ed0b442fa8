"""The interactive page: whole, small, without outside resources, and with every figure."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import chromium
import pytest
from made_field import answers, write_field
from places import LAB
from site_check import axe
from site_check.problems import lines
from site_check.visit import Place, page_problems

from tcuq.report.document import content_hash
from tcuq_lab.pages.content import Content
from tcuq_lab.pages.viewer import NEVER, Entry, packed, viewer
from tcuq_lab.reproduce.field.lines import Line


class Reader(HTMLParser):
    """Collects what a page refers to, and checks that elements are closed in order."""

    VOID = ("meta", "input", "br")

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
            if name in ("href", "src", "action", "srcset", "style") or (name or "").startswith("on"):
                self.outside.append(f"{name}={value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("viewed")
    for name in ("paper.json", "claims.json", "targets.json"):
        shutil.copy(LAB / "results" / name, home)
    lines = [
        line._replace(row=line.row.replace("median", "</script><i>median")) for line in answers(("mnist",))
    ]
    write_field(home, "answers", lines)
    return home


@pytest.fixture(scope="module")
def page(home: Path) -> str:
    return viewer(Content.of(home))


def test_the_page_is_whole_and_asks_for_nothing_outside(page: str) -> None:
    reader = Reader()
    reader.feed(page)
    assert reader.open == [] and reader.outside == []
    assert len(reader.ids) == len(set(reader.ids)) and set(reader.wanted) <= set(reader.ids)
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp|eval\(|innerHTML", page)
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page


def test_the_policy_lets_in_exactly_its_own_scripts(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 2 and all(content_hash(each) in policy for each in scripts)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    assert content_hash(style) in policy and "default-src 'none'" in policy


def test_names_cannot_end_the_data(page: str) -> None:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    rows = json.loads(data)["experiments"][0]["rows"]
    assert "</script><i>median" in rows and "<i>median" not in data


def test_figures_survive_the_packing() -> None:
    entries = [
        Entry("mnist", "class 1", "errors", "base", "", 0.25, 0.24, 0.265),
        Entry("mnist", "class 1", "errors", "tcuq", "told", 0.2, float("nan"), 0.21),
        Entry("mnist", "class 1", "delay", "tcuq", "told", float("inf"), 30.0, float("inf")),
        Entry("mnist", "class 1", "delay", "base", "", 31.5, 30.0, 33.0),
        Entry("mnist", "class 4", "delay", "base", "", 31.5, 31.5, 31.5),  # one point is no interval
    ]
    found = packed("answers", "", "", entries)
    assert found["scale"] == [1000, 10] and found["better"] == [-1, -1]
    assert found["data"] == [
        [0, 0, 0, [0, 250, 10, 15, 3, 200, None, 10]],
        [0, 0, 1, [3, NEVER, None, None, 0, 315, 15, 15]],
        [0, 1, 1, [0, 315, None, None]],
    ]


def test_a_page_that_is_too_large_leaves_figures_to_others(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    content = Content.of(home)
    whole = viewer(content)
    assert "Only in docs/results" not in whole and '"other"' in whole
    size = len(whole)
    for most, words in ((size - 1, "differences"), (1, "fits of the same or another pace.")):
        monkeypatch.setattr("tcuq_lab.pages.viewer.MOST_BYTES", most)
        page = viewer(content)
        assert len(page) < size and re.search(rf"Only in docs/results: .*{words}", page)
    assert '"other"' not in page and '"tcuq answer"' in page  # mixed streams keep their one fit, "told"


def opened(page: str, folder: Path, place: str) -> str:
    """What a browser makes of the page at a place."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to open the page with")
    path = folder / "results.html"
    path.write_text(page, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
               "--dump-dom", f"file://{path}#{place}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "<tbody" not in done.stdout:
        pytest.skip(f"Chromium does not run here: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


@pytest.mark.slow
def test_an_interval_up_to_never_ends_at_the_edge(home: Path, tmp_path: Path) -> None:
    here = Path(shutil.copytree(home, tmp_path / "results"))
    row = Line("mnist", "class 16", "tcuq", "untold", "delay", 20.0, 10.0, math.inf, 5)
    write_field(here, "alarms", [row, row._replace(row="CUSUM", value=30.0, low=25.0, high=40.0)])
    found = opened(viewer(Content.of(here)), tmp_path, "alarms/mnist/class%2016/delay")
    body = found[found.index("<tbody") : found.index("</tbody>")]
    spans = re.findall(r'<i style="left: ([\d.]+)%; width: ([\d.]+)%', body)
    assert len(spans) == 2 and all(float(left) + float(wide) <= 100 for left, wide in spans)
    assert "10 to never" in body
    assert re.findall(r'id="title"[^>]*>(.*?)</h2>', found) == ["median delay, steps: MNIST, class 16"]


@pytest.mark.slow
def test_the_script_shows_and_switches_figures(page: str, tmp_path: Path) -> None:
    found = opened(page, tmp_path, "answers/mnist/class%2016/errors%20at%2090%20%25")
    title = re.findall(r'id="title"[^>]*>(.*?)</h2>', found)
    assert title == ["errors at 90 %: MNIST, class 16"]
    body = found[found.index("<tbody") : found.index("</tbody>")]
    assert body.count("<tr") > 20 and 'class="ours"' in body and "tcuq answer" in body
    assert "tcuq answer, other" not in body  # fits of other paces are behind a box


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "alarms/mnist/class%2016/delay"])
def test_it_reads_well_on_a_phone_in_the_dark_and_with_keys(page: str, tmp_path: Path, place: str) -> None:
    if chromium.browser_path() is None:
        pytest.skip("chromium is missing (Debian package chromium)")
    found = axe.install()
    if found is None:
        pytest.skip(f"axe-core is missing ({axe.INSTALL})")
    path = tmp_path / "results.html"
    path.write_text(page, encoding="utf-8")
    browser = chromium.Browser(tmp_path / "profile", offline=True)
    try:
        url = f"{path.as_uri()}#{place}"
        tab = browser.tab()
        tab.patience = 120.0
        told = lines(page_problems(tab, "results", url, Place(url, tmp_path), axe.Axe(found)))
        assert not told, "\n".join(told)
    finally:
        browser.close()
