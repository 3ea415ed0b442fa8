"""The fleet's page and its text: whole, small, safe from names that devices choose, alive in a browser."""

from __future__ import annotations

import argparse
import copy
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from devtools import chromium
from fleet_summaries import empty, summary, timelines
from report_pages import check_whole
from streams import seeing_params, seen_log

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.cli import fleet_page
from tcuq_watch.fleet import Events, Fleet
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.pages.fleet_page import timelines as drawn
from tcuq_watch.pages.server import serve
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.summary import Only
from tcuq_watch.verdicts.words import verdict

CASES = {
    "healthy": summary(1000),
    "trouble": summary(100_000, trouble=True),
    "single": summary(1, versions=1),
    "empty": empty(),
    "three": summary(3000, versions=3),
}


class Tree(HTMLParser):
    """Checks that every element is closed where it should be; keeps names, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, list[str]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, sorted(name for name, _ in attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.mark.parametrize("name", CASES)
def test_every_page_is_whole(name: str) -> None:
    html, _ = page(CASES[name], timelines(CASES[name]["worst"]), title=name)
    check_whole(html)
    words = " ".join(Tree(html).words)
    assert verdict(CASES[name]) in words and not re.search(r"\b(nan|inf|None|undefined)\b", words)


@pytest.mark.parametrize("span", [5, 7200, 20 * 86400])
def test_no_time_stands_twice_under_a_chart(span: int, tmp_path: Path) -> None:
    times, probs = 1.7e9 + np.linspace(0, span, 40), np.full((40, 3), 1 / 3)
    with Fleet(Params(classes=3), tmp_path) as fleet:
        fleet.take(Events(["a"] * 40, [0] * 40, range(40), probs, times=times))
        found = fleet.summary()
        html, _ = page(found, drawn(fleet, found["worst"], found["time"]), title="ticks")
    charts = re.findall(r'<div class="plot [a-z-]+">.*?</div></div></div>', html, re.S) or [html]
    for chart in charts:
        shown = re.findall(r">(\d\d-\d\d \d\d:\d\d)<", chart)
        assert shown and len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    "evil", ['"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "</style></svg><b>&lt;<!--"]
)
def test_names_are_text_wherever_they_stand(evil: str) -> None:
    known = summary(4000, trouble=True)
    plain = Tree(page(known, timelines(known["worst"]), "plain", Only("x"))[0])
    known["worst"][0]["device"] = known["silent_devices"][0]["device"] = evil
    known["alarm"]["baseline_from"] = evil
    known["refused"] = {"bad posterior": 12, evil: 3, "unknown version": 41}
    for part in ("versions", "over_time", "worst", "rollouts"):
        for row in known[part]:
            if row["version"] == "v2":
                row["version"] = evil
    tree = Tree(page(known, timelines(known["worst"]), evil, Only(evil))[0])
    assert tree.tags == plain.tags
    assert sum(evil in words for words in tree.words) >= 7
    assert evil not in status_text({**known, "worst": [], "versions": [], "rollouts": [], "refused": {}})


def test_a_served_page_keeps_itself_up_to_date(tmp_path: Path) -> None:
    known, asked = copy.deepcopy(CASES["trouble"]), []

    def shown(given: Mapping[str, str]) -> tuple[str, str]:
        asked.append(given.get("find", ""))
        return page(known, timelines(known["worst"]), "Fleet", Only(asked[-1]))

    browser = chromium()
    with serve(None, port=0, page=shown) as server:
        tab = browser.tab()
        tab.size(390, 800)
        tab.open(server.url)
        tab.wait("document.readyState === 'complete'")
        assert tab.js("document.documentElement.scrollWidth <= window.innerWidth")
        policy = tab.js("document.querySelector('meta[http-equiv]').content")
        assert "default-src 'none'; script-src 'sha256-" in policy and "connect-src" not in page(known)[1]
        tab.js("document.querySelector('#find').value = 'sensor'")
        tab.js("document.querySelector('.find').requestSubmit()")
        tab.wait("location.search === '?find=sensor&version=' && document.readyState === 'complete'")
        assert asked == ["", "sensor"]
        known["worst"][0]["device"] = "a new one"
        tab.wait("document.querySelector('.worst .device').textContent === 'a new one'", 60)
        assert not tab.errors() and asked[-1] == "sensor"
    tab.wait("document.querySelector('#state').textContent.includes('not up to date')", 60)
    browser.close()


def test_a_scrape_is_answered_while_a_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Fleet(Params(classes=2), tmp_path / "f").close()
    look = fleet_page.Look(
        argparse.Namespace(folder=str(tmp_path / "f"), healthy=None, now=False, tags=None, by=None)
    )
    first, begun, done, read = look(), threading.Event(), threading.Event(), Fleet.open_read

    def slow(folder: Path) -> Fleet:
        begun.set()
        assert done.wait(20)
        return read(folder)

    monkeypatch.setattr(Fleet, "open_read", slow)
    monkeypatch.setattr(look, "_until", time.monotonic() - 1)  # what was seen is no longer fresh
    with ThreadPoolExecutor() as pool:
        page = pool.submit(look)
        assert begun.wait(20) and look() is first
        done.set()
        assert page.result() is not first


def fallen(tmp_path: Path) -> Path:
    """A fleet of 300 devices at two sites: 120 of the north are on hold for an hour."""
    params, rng = Params(classes=3, horizon=16), np.random.default_rng(0)
    names = [f"{'north' if n < 150 else 'south'}-{n:03d}" for n in range(300)]
    with Fleet({"v1": params, "v2": params.replace(level=0.2)}, tmp_path / "fleet") as fleet:
        for hour in range(20):
            for version, part in (("v1", names[:200]), ("v2", names[200:])):
                steps = np.zeros(len(part), dtype=STEP_DTYPE)
                bad = (np.arange(len(part)) < 120) & (version == "v1") & (hour >= 18)
                steps["risk"], steps["threshold"], steps["moved"], steps["alarm"] = 0.2, 0.5, 255, bad
                steps["abstain"] = rng.random(len(part)) < 0.3
                steps["expected_accuracy"] = np.where(bad, 0.8 - np.arange(len(part)) / 200, 0.9)
                times = np.full(len(part), 1.7e9 + 3600.0 * hour)
                zeros = np.zeros(len(part), int)
                fleet.take(Events(part, zeros, zeros + hour, times=times, version=version, steps=steps))
    tags = "".join(f"{name},{name[:5]}\n" for name in names)
    (tmp_path / "tags.csv").write_text("device,site\n" + tags)
    return tmp_path / "fleet"


def look_of(folder: Path, tags: bool = True) -> fleet_page.Look:
    path = str(folder.parent / "tags.csv") if tags else None
    given = {"healthy": ["1700000000", "1700054000"], "now": False, "tags": path, "by": None}
    return fleet_page.Look(argparse.Namespace(folder=str(folder), **given))


def named_in(html: str) -> list[str]:
    return re.findall(r'<span class="device">([^<]*)</span>', html)


def test_who_needs_someone_stands_first_with_a_day_of_its_own(tmp_path: Path) -> None:
    """All are listed, worst first; what they have in common is said; a click opens the day; words filter."""
    folder = fallen(tmp_path)
    html = look_of(folder).page()[0]
    check_whole(html)
    shown = html.replace("\u00a0", " ")
    assert named_in(shown) == [f"north-{n:03d}" for n in reversed(range(120))], "by the drop of the accuracy"
    assert "120 devices need you: 120 on hold; 180 fine." in shown and "(was 90 %)" in shown
    assert "120 of 120 are in north, which has 150 of all 300 devices" in shown and "began from" in shown
    text = status_text(Fleet.open_read(folder).summary())
    assert "110 more need you" in text and text.index("north-119") < text.index("north-118")
    (tmp_path / "fleet.html").write_text(html)
    browser = chromium()
    tab = browser.tab()
    tab.size(1200, 900)
    tab.open((tmp_path / "fleet.html").as_uri())
    day = "[...document.querySelectorAll('.own-day')].filter((day) => day.offsetHeight).map((day) => day.id)"
    assert tab.js(day) == []
    tab.js("document.querySelectorAll('table.worst a')[2].click()")
    tab.wait(f"{day}.join() === 'day-2'")
    assert "north-117: HOLD" in tab.text("#day-2") and tab.js(
        "document.querySelector('#day-2 svg path.risk') !== null"
    )
    visible = (
        "[...document.querySelectorAll('table.worst tbody tr')].filter((row) => row.offsetHeight).length"
    )
    for query, value, count in (("#find", "NORTH-01", 10), ("#find", "", 120), ("#version", "v2", 0)):
        tab.js(f"document.querySelector('{query}').value = '{value}'")
        tab.js(f"document.querySelector('{query}').dispatchEvent(new Event('input', {{ bubbles: true }}))")
        assert tab.js("document.querySelector('#worst details').open") and tab.js(visible) == count
    assert not tab.errors()
    browser.close()


def test_a_served_page_searches_filters_and_turns_over(tmp_path: Path) -> None:
    look = look_of(fallen(tmp_path))

    def asked(**words: str) -> tuple[list[str], str]:
        html = look.page(words)[0].replace("\u00a0", " ")
        part = re.search(r'<div data-part="found">.*?(?=<div data-part="worst">)', html, re.S)
        return ([], html) if part is None else (named_in(part[0]), part[0])

    names, part = asked(find="NORTH-11")
    assert names == [f"north-{n}" for n in reversed(range(110, 120))] and "10 devices, those" in part
    names, part = asked(site="south")
    assert len(names) == 100 and "150 devices, 1 to 100" in part and "site=south&amp;from=100" in part
    assert len(asked(site="south", **{"from": "100"})[0]) == 50
    assert asked(version="v2", site="north")[1].count("No such device") == 1
    assert asked(**{"from": "100"})[0] == [f"north-{n:03d}" for n in reversed(range(20))]
    assert asked(**{"from": "-1"})[0] == asked(**{"from": "x"})[0] == []


def test_a_page_of_a_large_fleet_stays_small(tmp_path: Path) -> None:
    html = page(CASES["trouble"], timelines(CASES["trouble"]["worst"][:200]), "Fleet", Only())[0]
    assert len(named_in(html)) == 200 and len(html) < 400_000 and 'href="?from=200"' in html


def test_steps_without_gauges_are_said(tmp_path: Path) -> None:
    params, log = seeing_params(), seen_log(seeing_params())
    probs, places = log.probs[:60], np.arange(60)
    for gauges, lacks in ((log.gauges[:60], 0), (None, 60)):
        with Fleet(params, tmp_path / str(lacks), hold=1) as fleet:
            fleet.take(Events(["a"] * 60, [0] * 60, places, probs, gauges=gauges, times=1.7e9 + places), 1)
        with Fleet.open_read(tmp_path / str(lacks)) as fleet:
            found = fleet.summary()
        assert found["versions"][0]["without_gauges"] == lacks
        for text in (" ".join(status_text(found).split()), page(found)[0]):
            assert ("60 of 60 steps of version" in text and "the outputs alone" in text) == bool(lacks)
