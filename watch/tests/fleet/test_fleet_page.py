"""The fleet's page and its text: whole, small, safe from names that devices choose, alive in a browser."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fleet_summaries import empty, summary, timelines
from report_pages import check_whole, opened

from tcuq_watch.pages.fleet_page import page, parts
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.words import alarmed, verdict

CASES = {
    "healthy": summary(1000),
    "trouble": summary(100_000, trouble=True),
    "single": summary(1, versions=1),
    "empty": empty(),
    "three": summary(3000, versions=3),
}


class Tree(HTMLParser):
    """Checks that every element is closed where it should be; keeps names, attributes and text."""

    VOID = ("meta", "input", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.mark.parametrize("name", CASES)
def test_every_page_is_whole(name: str) -> None:
    html, _ = page(CASES[name], timelines(CASES[name]["worst"]), title=name)
    check_whole(html)
    tree = Tree(html)
    ids = [found["id"] for _, found in tree.tags if "id" in found]
    assert len(ids) == len(set(ids))
    for tag, found in tree.tags:
        if "aria-labelledby" in found:
            assert found["aria-labelledby"] in ids
        if tag == "svg" and "viewbox" in found:
            assert "aria-hidden" in found or found.get("aria-label")
        if tag == "th":
            assert found.get("scope") in ("row", "col")
    assert verdict(CASES[name]) in " ".join(tree.words)
    assert not re.search(r"\b(nan|inf|None|undefined)\b", " ".join(tree.words))


EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></svg><b>",
    "&lt;b&gt;",
    "a\u202eb<!--",
    "{{7*7}}${alert(1)}",
)


@pytest.mark.parametrize("evil", EVIL)
def test_names_are_text_wherever_they_stand(evil: str) -> None:
    known = summary(4000, trouble=True)
    plain = Tree(page(known, timelines(known["worst"]), "plain")[0])
    known["worst"][0]["device"] = known["silent_devices"][0]["device"] = evil
    known["alarm"]["baseline_from"] = evil
    known["refused"] = {"bad posterior": 12, evil: 3, "unknown version": 41}
    for part in ("versions", "classes", "over_time", "worst", "rollouts"):
        for row in known[part]:
            if row["version"] == "v2":
                row["version"] = evil
    for row in known["classes"]:
        if row["name"] == "fall":
            row["name"] = evil
    found = Tree(page(known, timelines(known["worst"]), evil)[0])
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(each) for _, each in found.tags] == [sorted(each) for _, each in plain.tags]
    assert sum(evil in words for words in found.words) >= 7
    for html in parts(known, timelines(known["worst"]), "fleet").values():
        Tree(html)
    assert evil not in status_text({**known, "worst": [], "versions": [], "rollouts": [], "refused": {}})


def test_policy_allows_exactly_what_the_page_has() -> None:
    for served in (None, "fleet"):
        html, policy = page(CASES["trouble"], served=served)
        told = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
        assert told is not None and told[1] == policy
        scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
        assert len(scripts) == 1
        allowed = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        assert f"script-src 'sha256-{allowed}'" in told[1] and "default-src 'none'" in told[1]
        assert ("connect-src 'self'" in told[1]) == (served is not None)
        assert ("data-view" in html) == (served is not None)
        assert ('id="find"' in html) == (served is not None)


def test_verdicts() -> None:
    trouble, some = CASES["trouble"], copy.deepcopy(CASES["healthy"])
    assert alarmed(trouble) and not alarmed(some)
    assert "14 of 99,668 devices look degraded: sensor-" in verdict(trouble)
    said = {verdict(trouble), *(verdict(CASES[name]) for name in ("healthy", "single", "empty"))}
    some["alarm"] |= {"devices": 30, "of": 800, "unhealthy": False}
    said.add(verdict(some))
    some["alarm"] |= {"baseline": None, "p": None}
    said.add(verdict(some))
    some["alarm"] |= {"of": 0}
    some["named"] = {"of": 0, "count": 0}
    assert len(said | {verdict(some)}) == 7  # each case is told in words of its own


DRIVE = """
const seen = {};
const first = () => document.querySelector("table.worst tbody tr .device").textContent;
seen.before = first();
const steps = document.querySelector('.sort[data-key="steps"]');
steps.click();
seen.sorted = steps.closest("th").getAttribute("aria-sort");
seen.most = [...document.querySelectorAll("table.worst td.steps")].map((cell) => Number(cell.dataset.sort));
steps.click();
seen.again = steps.closest("th").getAttribute("aria-sort");
document.querySelector('.sort[data-key="device"]').click();
seen.byName = first();
const figure = document.querySelector(".reading");
figure.focus();
figure.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
seen.read = figure.querySelector(".read").textContent;
figure.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
seen.hidden = getComputedStyle(figure.querySelector(".read")).display;
seen.wide = document.documentElement.scrollWidth <= window.innerWidth;
document.documentElement.setAttribute("data-seen", JSON.stringify(seen));
"""


def test_in_a_browser(tmp_path: Path) -> None:
    known = CASES["trouble"]
    html, _ = page(known, timelines(known["worst"]))
    allowed = base64.b64encode(hashlib.sha256(DRIVE.encode()).digest()).decode()
    html = html.replace("script-src ", f"script-src 'sha256-{allowed}' ", 1)
    path = tmp_path / "fleet.html"
    path.write_text(html.replace("</body>", f"<script>{DRIVE}</script></body>"), encoding="utf-8")
    start = opened(path, tmp_path / "profile")
    found: dict[str, Any] = json.loads(re.search(r'data-seen="(\{.*\})"', start)[1])  # type: ignore[index]
    assert found["sorted"] == "descending" and found["most"] == sorted(found["most"], reverse=True)
    assert found["again"] == "ascending"
    assert found["byName"] == min(row["device"] for row in known["worst"])
    assert re.match(r"2026-\d\d-\d\d \d\d:\d\d UTCv1: [\d.]+ % of [\d,]+ devicesv2: ", found["read"])
    assert found["hidden"] == "none" and found["wide"]
