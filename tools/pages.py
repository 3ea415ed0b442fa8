# SPDX-License-Identifier: MIT
"""Open every page of the built site in Chromium and print what is wrong with it, one line a problem.

    python tools/pages.py out/site
    python tools/pages.py report.html http://127.0.0.1:8000/

A folder is a site; a file or an address is one page. Each page is opened as wide as a phone and as a desktop,
in light and dark: axe's rules of WCAG A and AA, what is wider than the window, focus that cannot be seen,
pictures and requests that fail, requests to elsewhere, errors of scripts, links between pages. Exit status:
0, 1 when something is wrong, 2 when Chromium or a page is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urlsplit

from axe_playwright_python.sync_playwright import Axe
from browser import Browser, Tab, browser_path

WIDTHS, MODES = (390, 1280), ("light", "dark")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ELSEWHERE = {name: {"enabled": False} for name in ("color-contrast", "target-size")}
FIRST = {
    "when not to use": "concepts/when_not.html",
    "limitations": "concepts/when_not.html",
    "install": "START.html",
    "drift": "results/alarms.html",
}
"""What newcomers search for, and the page that must come first."""
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

Named = dict[str, list[str]]


def looked(tab: Tab, url: str, home: str) -> tuple[list[str], Named]:
    """Return what is wrong with one page, and the links and anchors that it names."""
    found: dict[str, None] = {}
    tab.forget()
    tab.page.goto(url, wait_until="load")
    for width in WIDTHS:
        tab.size(width, 900)
        for mode in MODES:
            tab.page.emulate_media(color_scheme="dark" if mode == "dark" else "light")
            tab.page.add_script_tag(content=SCRIPT)
            tab.js("settle()")
            said = [*tab.js("look()")]
            said += [broken(each) for each in rules_of(tab, width, mode)]
            found |= dict.fromkeys(f"{width} {mode}: {text}" for text in said)
    elsewhere = [each for each in tab.asked if not each.startswith((home, "data:", "blob:", "about:"))]
    for text in (*tab.told, *tab.failed, *(f"asks elsewhere: {each}" for each in elsewhere)):
        found[text] = None
    return list(found), tab.js("named()")


def rules_of(tab: Tab, width: int, mode: str) -> list[dict[str, Any]]:
    """Return the rules of axe that do not hold: colors in each mode, targets on a phone, the others once."""
    wide = width == WIDTHS[-1]
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    asked = [{"type": "rule", "values": ["color-contrast"]}] if wide else []
    asked += [{"type": "rule", "values": ["target-size"]}] if not wide and mode == MODES[0] else []
    asked += [{"type": "tag", "values": RULES}] if wide and mode == MODES[0] else []
    found = []
    for only in asked:
        more = {"rules": ELSEWHERE} if only["type"] == "tag" else {}
        found += Axe().run(tab.page, options={**options, "runOnly": only, **more}).response["violations"]
    return found


def broken(rule: dict[str, Any]) -> str:
    """Return a rule of axe that does not hold, in words."""
    first = rule["nodes"][0]
    return f"axe {rule['id']}: {rule['help']} ({len(rule['nodes'])} times, first {first['html'][:120]})"


def dead(pages: dict[str, Named]) -> Iterator[tuple[str, str]]:
    """Yield links between pages that lead to no file or no anchor, each with its page."""
    for page, named in pages.items():
        for link in dict.fromkeys(named["links"]):
            target, anchor = urldefrag(link)
            if target.startswith("file:") and not Path(unquote(urlsplit(target).path)).is_file():
                yield page, f"link to {link}: no such file"
            elif anchor and target in pages and unquote(anchor) not in pages[target]["anchors"]:
                yield page, f"link to {link}: no such anchor"


def ranked(tab: Tab, search: str, home: str) -> Iterator[str]:
    """Yield the searches whose first hit is another page than it should be."""
    for words, wanted in FIRST.items():
        tab.open(f"{search}?q={quote(words)}")
        hit = tab.wait("document.querySelector('#search-results li a')?.href", 30)
        if hit.partition("?")[0].partition("#")[0] != home + wanted:
            yield f"{words!r} finds {hit} first, expected {wanted}"


def main(places: list[str]) -> int:
    """Check sites and pages."""
    missing = [each for each in places if "://" not in each and not Path(each).exists()]
    if browser_path() is None or missing or not places:
        wanted = f"{missing[0]} is missing" if missing else "chromium is missing: apt-get install chromium"
        print(wanted if places else "usage: pages.py FOLDER|PAGE|ADDRESS ...", file=sys.stderr)
        return 2
    problems: list[tuple[str, str]] = []
    pages: dict[str, Named] = {}
    browser = Browser(offline=True)
    tab = browser.tab(bypass_csp=True)
    for place in places:
        path = Path(place).resolve()
        files = sorted(path.rglob("*.html")) if path.is_dir() else [path]
        home = place if "://" in place else (path if path.is_dir() else path.parent).as_uri() + "/"
        for url in [place] if "://" in place else [file.as_uri() for file in files]:
            found, pages[url] = looked(tab, url, home)
            found += ranked(tab, url, home) if url == home + "search.html" else []
            problems += [(url, text) for text in found]
    browser.close()
    problems += dead(pages)
    print(*(f"{url.rpartition('/')[2]}: {text}" for url, text in problems), sep="\n")
    print(f"{len(pages)} pages, {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
