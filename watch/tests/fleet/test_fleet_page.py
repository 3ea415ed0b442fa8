"""The fleet's page and its text: whole, small, safe from names that devices choose, alive in a browser."""

from __future__ import annotations

import argparse
import copy
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from devtools import Browser
from fleet_summaries import empty, summary, timelines
from report_pages import check_whole

from tcuq import Params
from tcuq_watch.cli import fleet_page
from tcuq_watch.fleet import Events, Fleet
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.pages.fleet_page import timelines as drawn
from tcuq_watch.pages.server import serve
from tcuq_watch.verdicts.status import status_text
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
        html, _ = page(found, drawn(fleet, found["worst"]), title="ticks")
    shown = re.findall(r">(\d\d-\d\d \d\d:\d\d)<", html)
    assert shown and len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    "evil", ['"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "</style></svg><b>&lt;<!--"]
)
def test_names_are_text_wherever_they_stand(evil: str) -> None:
    known = summary(4000, trouble=True)
    plain = Tree(page(known, timelines(known["worst"]), "plain", "x")[0])
    known["worst"][0]["device"] = known["silent_devices"][0]["device"] = evil
    known["alarm"]["baseline_from"] = evil
    known["refused"] = {"bad posterior": 12, evil: 3, "unknown version": 41}
    for part in ("versions", "over_time", "worst", "rollouts"):
        for row in known[part]:
            if row["version"] == "v2":
                row["version"] = evil
    tree = Tree(page(known, timelines(known["worst"]), evil, evil)[0])
    assert tree.tags == plain.tags
    assert sum(evil in words for words in tree.words) >= 7
    assert evil not in status_text({**known, "worst": [], "versions": [], "rollouts": [], "refused": {}})


def test_a_served_page_keeps_itself_up_to_date(tmp_path: Path) -> None:
    known, asked = copy.deepcopy(CASES["trouble"]), []

    def shown(find: str) -> tuple[str, str]:
        asked.append(find)
        return page(known, timelines(known["worst"]), "Fleet", find)

    browser = Browser(tmp_path / "profile")
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
        tab.wait("location.search === '?find=sensor' && document.readyState === 'complete'")
        assert asked == ["", "sensor"]
        known["worst"][0]["device"] = "a new one"
        tab.wait("document.querySelector('.worst .device').textContent === 'a new one'", 60)
        assert not tab.errors() and asked[-1] == "sensor"
    tab.wait("document.querySelector('#state').textContent.includes('not up to date')", 60)
    browser.close()


def test_a_scrape_is_answered_while_a_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Fleet(Params(classes=2), tmp_path / "f").close()
    look = fleet_page.Look(argparse.Namespace(folder=str(tmp_path / "f"), healthy=None, now=False))
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
