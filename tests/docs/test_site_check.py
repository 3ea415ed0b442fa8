"""The check of the built site: it finds every planted fault, and the product's own pages pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
import site_keys
from devtools import Browser, Tab
from fleet_summaries import empty, summary, timelines
from live_fake import filled, served
from made_site import FAULTS, PAGE, write_site
from report_logs import dwell_log, params_for
from site_check import axe as axe_core
from site_check import keys, run
from site_check.drawings import drawing_problems, smallest
from site_check.links import Page, Site
from site_check.problems import Problem, lines
from site_check.visit import Place, event_problems, page_problems

from tcuq.fleet.page import write_page
from tcuq.report import write_report


def test_links_are_read_without_a_browser(tmp_path: Path) -> None:
    wanted = {"no-page", "no-anchor", "rooted", "leaves", "folder", "no-picture"}
    planted = tuple(fault for fault in FAULTS if fault.name in wanted)
    site = Site(write_site(tmp_path / "site", planted))
    assert site.names[:2] == ["folder.html", "index.html"]
    for fault in planted:
        (found,) = lines(site.problems(f"{fault.name}.html"))
        assert found.startswith(f"{fault.name}.html: ") and fault.said in found
    assert not list(site.problems("index.html"))


def test_what_a_page_names() -> None:
    page = Page(
        '<a href="a.html?x=1#y"></a><link rel="next" href="b.html"><link rel="stylesheet" href="c.css">'
        '<svg><use href="#z"/></svg><a name="old"></a><source srcset="d.png 1x, e.png 2x">'
        '<form action="f.html">'
    )
    assert page.links == ["a.html?x=1#y", "b.html", "f.html"] and page.anchors == {"old"}
    assert page.resources == ["c.css", "d.png", "e.png"]


def test_targets_of_all_forms(tmp_path: Path) -> None:
    (tmp_path / "a b.html").write_text('<p id="ü">')
    links = ["a%20b.html#%C3%BC", "#top", "mailto:a@b.c", "https://a.b/c", "?q=1", "data:,x"]
    wrong = ["http://[", "javascript:alert(1)", "//a.b/c.html", "A%20B.html"]
    text = "".join(f'<a href="{one}"></a>' for one in [*links, *wrong])
    (tmp_path / "c.html").write_text(text + '<img src="https://a.b/c.png">')
    found = [problem.what for problem in Site(tmp_path).problems("c.html")]
    assert [what.split()[2].rstrip(":") for what in found[:-1]] == wrong
    assert found[-1] == "resource https://a.b/c.png: on the network"


def test_what_the_browser_reports() -> None:
    place = Place("http://127.0.0.1:80/", None)
    request = {"requestId": "1", "request": {"url": "http://127.0.0.1:80/a.js"}}
    events: list[dict[str, Any]] = [{"method": "Network.requestWillBeSent", "params": request}]
    assert event_problems(events, place) == []
    failed = {"requestId": "1", "errorText": "net::ERR_FAILED"}
    events.append({"method": "Network.loadingFailed", "params": failed})
    answer = {"response": {"status": 404, "url": "http://127.0.0.1:80/b.js"}}
    events.append({"method": "Network.responseReceived", "params": answer})
    assert event_problems(events, place) == [
        "does not load (net::ERR_FAILED): http://127.0.0.1:80/a.js",
        "status 404: http://127.0.0.1:80/b.js",
    ]
    assert Place("file:///a/b.html", Path("/a")).refusal("file:///ab/c.js")
    assert not Place("file:///a/b.html", Path("/a")).refusal("file:///a/c/d.js")


def test_letters_of_drawings_shrink_with_them(tmp_path: Path) -> None:
    assert smallest('<svg width="100"><text>a</text></svg>') == 0.16
    assert smallest('<svg viewBox="0,0,400,9"><style>text{font:600 20px a}</style><text>a</text>') == 0.05
    assert smallest('<svg viewBox="0 0 9 9"><path/></svg>') is None
    path = tmp_path / "a b.svg"
    path.write_text('<svg viewBox="0 0 100 9"><text style="font-size: 4px">a</text></svg>')
    shown = [(path.as_uri(), 250.0), (path.as_uri(), 300.0), ("data:image/svg+xml,x", 1.0)]
    assert drawing_problems(shown, tmp_path) == ["letters of 10.0 px, expected 12: a b.svg"]
    assert drawing_problems(shown, None) == [] == drawing_problems(shown, tmp_path / "other")


def test_a_problem_is_one_line() -> None:
    problems = [
        Problem("a", "390", "light", "x"),
        Problem("a", "1280", "light", "x"),
        Problem("b", "", "", "x"),
    ]
    assert lines(problems) == ["a 390+1280 light: x", "b: x"]


def test_captions_of_the_menu_are_no_headings() -> None:
    context = {"furo_navigation_tree": '<p class="caption" role="heading">Start</p>', "title": "a"}
    site_keys.name_captions(None, "index", "page.html", context, None)
    assert context == {"furo_navigation_tree": '<p class="caption">Start</p>', "title": "a"}
    site_keys.name_captions(None, "index", "page.html", bare := {"title": "a"}, None)
    assert bare == {"title": "a"}


def test_missing_tools_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "browser_path", lambda: "chromium")
    assert run.main([str(tmp_path / "none")]) == 2
    assert "none is missing, expected a folder or a page" in capsys.readouterr().err
    monkeypatch.setattr(run, "browser_path", lambda: None)
    assert run.main([str(tmp_path)]) == 2
    assert "chromium is missing: install" in capsys.readouterr().err
    assert axe_core.find(tmp_path / "axe.js") is None


@pytest.fixture(scope="module")
def axe() -> axe_core.Axe:
    path = axe_core.install()
    if path is None:
        pytest.skip(f"axe-core is missing ({axe_core.INSTALL})")
    return axe_core.Axe(path)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    browser = Browser(tmp_path_factory.mktemp("browser"), offline=True)
    found = browser.tab()
    found.patience = 120.0
    yield found
    browser.close()


def checked(tab: Tab, path: Path, axe: axe_core.Axe, ready: str = "", site: bool = False) -> list[str]:
    """Problems of a file that is a page."""
    place = Place(path.as_uri(), path.parent)
    return lines(page_problems(tab, path.stem, path.as_uri(), place, axe, ready, site))


@pytest.mark.slow
def test_every_planted_fault_is_found(tmp_path: Path, tab: Tab, axe: axe_core.Axe) -> None:
    site = Site(write_site(tmp_path / "site", FAULTS))
    assert checked(tab, site.folder / "index.html", axe, site=True) == []
    missed = []
    for fault in FAULTS:
        path = site.folder / f"{fault.name}.html"
        found = [*lines(site.problems(path.name)), *checked(tab, path, axe, site=True)]
        if not any(fault.said in line for line in found):
            missed.append(f"{fault.name} gives {found}")
    assert not missed, "\n".join(missed)


@pytest.mark.slow
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if chromium.browser_path() is None:
        pytest.skip("chromium is missing (Debian package chromium)")
    site = write_site(tmp_path / "site")
    assert run.main([str(site), "--axe", str(tmp_path / "none.js")]) == 2
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith("2 pages, 0 problems, ") and "without axe-core (npm install" in told
    (site / "search.html").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(keys, "SEARCH_SECONDS", 1.5)
    assert run.main([str(site), "--only", "index.html", "--axe", str(tmp_path / "none.js")]) == 1
    out = capsys.readouterr().out
    assert 'index.html 1280: search for "alarm": no results within 1.5 s' in out
    assert "1 pages, 2 problems" in out


@pytest.mark.slow
def test_a_report_passes(tmp_path: Path, tab: Tab, axe: axe_core.Axe) -> None:
    from tcuq.monitor.log import watch
    from tcuq.monitor.monitor import Monitor

    log = dwell_log(2000)
    params = params_for(log)
    steps, signals = watch(Monitor(params), log, signals=True)
    write_report(tmp_path / "report.html", steps, params, log, signals)
    assert checked(tab, tmp_path / "report.html", axe) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trouble", "empty"])
def test_the_page_of_a_fleet_passes(tmp_path: Path, tab: Tab, axe: axe_core.Axe, name: str) -> None:
    known = summary(3000, trouble=True, versions=3) if name == "trouble" else empty()
    write_page(tmp_path / "fleet.html", known, timelines(known["worst"]))
    assert checked(tab, tmp_path / "fleet.html", axe) == []


@pytest.mark.slow
@pytest.mark.parametrize("dialog", ["", "w"])
def test_the_live_page_passes(tab: Tab, axe: axe_core.Axe, dialog: str) -> None:
    feed, _ = filled(600, trouble=(300, 450))
    server, _ = served(feed)
    try:
        ready = "document.documentElement.dataset.ready"
        if dialog:
            ready = f"{ready} && (document.querySelector('#wrong').open || document.querySelector('#wrong')"
            ready += ".showModal() || true)"
        found = lines(page_problems(tab, "live", server.url, Place(server.url), axe, ready))
        assert not found, "\n".join(found)
    finally:
        tab.send("Page.navigate", url="about:blank")
        server.close()
