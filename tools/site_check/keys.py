# SPDX-License-Identifier: MIT
"""A page used with the keyboard alone: Tab, the skip link, the menu of a phone, the search."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from chromium import BrowserError, Tab

MOST_STOPS, MENU_STOPS = 600, 12
SEARCH_SECONDS = 5.0
MENU = re.compile(r"menu|navigation", re.I)
# A skip link passes what stands before the content, so the next stop lies in the content or behind it.
PASSED = """(() => {
  const content = document.querySelector(siteCheck.CONTENT), at = document.activeElement;
  if (!content || at === document.body) return true;
  return content.contains(at) || !!(content.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING);
})()"""
RESULTS = "[...document.querySelectorAll('#search-results li a')].map((one) => one.href)"


def walk(tab: Tab, most: int = MOST_STOPS) -> list[dict[str, Any]]:
    """Press Tab until the focus leaves the page or comes back; return where it stood."""
    stops: list[dict[str, Any]] = []
    while len(stops) < most:
        tab.key("Tab")
        at = tab.js("siteCheck.here()")
        if at is None or any(at["order"] == stop["order"] for stop in stops):
            break
        stops.append(at)
    return stops


def _some(what: str, found: list[str]) -> list[str]:
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return [f"{what}: {'; '.join(found[:3])}{more}"] if found else []


def stops_problems(tab: Tab, stops: list[dict[str, Any]]) -> list[str]:
    """Say where the focus goes out of sight and what it never reaches."""
    problems = _some("Tab goes where nothing is seen", [one["named"] for one in stops if not one["seen"]])
    if len(stops) < MOST_STOPS:
        problems += _some("Tab never reaches", tab.js("siteCheck.missed()"))
    return problems


def skip_problems(tab: Tab, stops: list[dict[str, Any]]) -> list[str]:
    """Say what is wrong with the skip link."""
    if not stops:
        return ["Tab reaches nothing, expected a skip link"]
    first = stops[0]
    if not first["link"].startswith("#") or len(first["link"]) < 2:
        return [f"first stop of Tab is {first['named']}, expected a skip link"]
    if not first["seen"]:
        return ["skip link cannot be seen when it has the focus"]
    tab.js(f"siteCheck.walked[{first['order']}].focus()")
    tab.key("Enter")
    tab.key("Tab")
    if not tab.js(PASSED):
        return [f"skip link leads to {tab.js('siteCheck.here().named')}, expected the content"]
    return []


def reach_problems(stops: list[dict[str, Any]]) -> list[str]:
    """Say which parts of a page of the site Tab never reaches."""
    return [
        f"Tab never reaches the {part}"
        for part in ("search", "navigation")
        if not any(stop.get(part) for stop in stops)
    ]


def menu_problems(tab: Tab, stops: list[dict[str, Any]]) -> list[str]:
    """Open and close the menu of a phone; say what does not work."""
    if not tab.js("siteCheck.links().length") or tab.js("siteCheck.reached()"):
        return []
    menus = [stop for stop in stops if MENU.search(stop["named"])]
    if not menus:
        return ["menu cannot be reached with Tab"]
    tab.js(f"siteCheck.walked[{menus[0]['order']}].focus()")
    if not _pressed(tab, ("Enter", " "), "siteCheck.reached()"):
        return ["menu does not open with Enter or Space"]
    problems = []
    inner = [tab.js("siteCheck.here()") or {}, *walk(tab, MENU_STOPS)]
    problems += [f"{one} of the open menu" for one in reach_problems(inner)]
    out_of_sight = [stop["named"] for stop in inner if stop.get("navigation") and not stop["seen"]]
    problems += _some("Tab goes where nothing is seen in the open menu", out_of_sight)
    tab.js(f"siteCheck.walked[{menus[0]['order']}].focus()")
    if not _pressed(tab, ("Escape",), "!siteCheck.reached()"):
        problems.append("menu does not close with Escape")
        if not _pressed(tab, ("Enter", " "), "!siteCheck.reached()"):
            problems.append("menu does not close with Enter or Space")
    return problems


def _pressed(tab: Tab, keys: tuple[str, ...], wanted: str) -> bool:
    for key in keys:
        tab.key(key)
        limit = time.monotonic() + 0.4
        while time.monotonic() < limit:
            if tab.js(wanted):
                return True
            time.sleep(0.02)
    return False


def search_problems(tab: Tab, word: str, expected: bool) -> list[str]:
    """Type a word into the search of the page and wait for results."""
    if not tab.js("!!siteCheck.first(siteCheck.SEARCH)"):
        return ["search is missing"]
    tab.js("siteCheck.first(siteCheck.SEARCH).focus()")
    for letter in word:
        tab.key(letter)
    tab.events.clear()
    tab.key("Enter")
    try:
        tab.loaded(SEARCH_SECONDS)
        if expected:
            tab.wait(f"{RESULTS}.length", SEARCH_SECONDS)
        else:
            tab.wait("/did not match|no results|nothing/i.test(document.body.innerText)", SEARCH_SECONDS)
    except (BrowserError, TimeoutError):
        got = "no results" if expected else "nothing that says so"
        return [f"search for {json.dumps(word)}: {got} within {SEARCH_SECONDS:g} s"]
    if not expected and tab.js(f"{RESULTS}.length"):
        return [f"search for {json.dumps(word)}: results, expected none"]
    return []
