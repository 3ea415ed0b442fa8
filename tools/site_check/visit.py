# SPDX-License-Identifier: MIT
"""One page in the browser at every width and in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from chromium import Tab

from site_check.axe import Axe
from site_check.problems import Problem

WIDTHS = (390, 1280)
HEIGHT, PHONE = 900, 600
MODES = ("light", "dark")
SCRIPT = (Path(__file__).with_name("page.js")).read_text(encoding="utf-8")
LAYOUT = ("overflow", "boxes")
# Elements are the same in both modes, their colors are not.
ONCE_A_WIDTH = ("headings", "pointerOnly")
EACH = ("pictures", "focus")


class Place:
    """Where a page may read: a folder of files, or one server of this machine."""

    def __init__(self, url: str, folder: Path | None = None) -> None:
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.folder = folder.resolve() if folder else None

    def refusal(self, url: str) -> str:
        """Say why a request is not allowed, or nothing."""
        parts = urlsplit(url)
        if parts.scheme in ("data", "blob", "about"):
            return ""
        if parts.scheme == "file":
            path = Path(unquote(parts.path)).resolve()
            if self.folder and (path == self.folder or self.folder in path.parents):
                return ""
            return "asks for a file outside of the site"
        return "" if f"{parts.scheme}://{parts.netloc}" == self.origin else "asks the network"


def event_problems(events: list[dict[str, Any]], place: Place) -> list[str]:
    """Return what the browser reported: errors, failed requests, requests to elsewhere.

    Examples
    --------
    >>> params = {"requestId": "1", "request": {"url": "https://example.org/a.js"}}
    >>> event_problems([{"method": "Network.requestWillBeSent", "params": params}], Place("file:///a.html"))
    ['asks the network: https://example.org/a.js']
    """
    problems, urls = [], {}
    for event in events:
        params = event["params"]
        if event["method"] == "Network.requestWillBeSent":
            url = urls[params["requestId"]] = params["request"]["url"]
            refused = place.refusal(url)
            if refused:
                problems.append(f"{refused}: {url[:150]}")
        elif event["method"] == "Network.responseReceived":
            if params["response"]["status"] >= 400:
                problems.append(f"status {params['response']['status']}: {params['response']['url'][:150]}")
        elif event["method"] == "Network.loadingFailed":
            url = urls.get(params["requestId"], "?")
            if not params.get("canceled") and not place.refusal(url):
                problems.append(f"does not load ({params['errorText']}): {url[:150]}")
        elif event["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details["text"]
            problems.append(f"error in a script: {text.splitlines()[0][:200]}")
        elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            said = " ".join(str(one.get("value", one.get("description", ""))) for one in params["args"])
            problems.append(f"error on the console: {said[:200]}")
        elif event["method"] == "Log.entryAdded":
            entry = params["entry"]
            # Failed requests are told above, with the reason.
            if entry["level"] == "error" and entry["source"] != "network":
                problems.append(f"error on the console: {entry['text'][:200]}")
    return list(dict.fromkeys(problems))


def page_problems(
    tab: Tab, name: str, url: str, place: Place, axe: Axe | None, ready: str = ""
) -> Iterator[Problem]:
    """Yield what is wrong with a page; `ready` is true in it when it has drawn itself."""
    tab.send("Emulation.setFocusEmulationEnabled", enabled=True)
    for width in WIDTHS:
        tab.size(width, HEIGHT, phone=width < PHONE)
        tab.media(prefers_color_scheme=MODES[0])
        if width == WIDTHS[0]:
            tab.load(url)
            if ready:
                tab.wait(ready)
            tab.js(SCRIPT)
        tab.js("siteCheck.settle()")
        tab.js("siteCheck.unfold()")
        for mode in MODES:
            if mode != MODES[0]:
                tab.media(prefers_color_scheme=mode)
                tab.js("siteCheck.settle()")
            for what in _looks(tab, width, mode, axe):
                yield Problem(name, str(width), mode, what)
    for what in event_problems(tab.events, place):
        yield Problem(name, "", "", what)


def _looks(tab: Tab, width: int, mode: str, axe: Axe | None) -> list[str]:
    """Run the checks of what is drawn; both modes share the layout."""
    first = mode == MODES[0]
    checks = (*(LAYOUT if first else ()), *(ONCE_A_WIDTH if first else ()), *EACH)
    found: list[str] = tab.js("[" + ", ".join(f"siteCheck.{check}()" for check in checks) + "].flat()")
    if axe:
        found += axe.structure(tab) if first else []
        found += axe.targets(tab) if first and width < PHONE else []
        found += axe.contrast(tab)
    return found
