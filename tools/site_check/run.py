# SPDX-License-Identifier: MIT
"""Open every page of the built site in headless Chromium and report what is wrong.

    python tools/site_check/run.py out/site [--only PAGE] [--axe PATH | --get-axe]
    python tools/site_check/run.py report.html http://127.0.0.1:8000/

A folder is a site; a file or an address is one page of its own. Each page is opened at phone and desktop
width, in light and dark. Needs Chromium; axe-core is used where it is found (out/axe). Exit status: 0, or 1
when something is wrong, or 2 when Chromium or axe-core is missing and nothing else is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chromium import Browser, BrowserError, Tab, browser_path

from site_check import axe as axe_core
from site_check.links import Site
from site_check.problems import Problem, lines
from site_check.visit import Place, page_problems

SEARCH = "search.html"
FIRST = {
    "when not to use": "concepts/when_not.html",
    "limitations": "concepts/when_not.html",
    "install": "START.html",
    "drift": "results/alarms.html",
}
"""What newcomers search for, and the page that must come first."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", nargs="+", help="folder of a site, file of a page, or address of a page")
    parser.add_argument(
        "--only", metavar="PAGE", action="append", help="check this page of the site; repeatable"
    )
    parser.add_argument(
        "--axe", metavar="PATH", type=Path, help="axe.min.js, expected below out/axe otherwise"
    )
    parser.add_argument(
        "--get-axe", action="store_true", help="install axe-core below out/axe with npm if missing"
    )
    asked = parser.parse_args(arguments)
    if browser_path() is None:
        print("chromium is missing: install the Debian package chromium", file=sys.stderr)
        return 2
    for what in asked.what:
        if "://" not in what and not Path(what).exists():
            print(
                f"{what} is missing, expected a folder or a page (make docs writes out/site)", file=sys.stderr
            )
            return 2
    path = axe_core.install() if asked.get_axe and not asked.axe else axe_core.find(asked.axe)
    axe = axe_core.Axe(path) if path else None
    began, problems, pages = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            browser = Browser(Path(folder) / "profile", offline=True)
        except BrowserError as wrong:
            print(f"{wrong}, expected a browser that runs", file=sys.stderr)
            return 2
        try:
            tab = browser.tab()
            tab.patience = 120.0
            for what in asked.what:
                for found in _visits(tab, what, axe, asked.only):
                    pages += 1
                    for line in lines(found):
                        problems += 1
                        print(line, flush=True)
        finally:
            browser.close()
    if not pages:
        print(f"no page was found below {', '.join(asked.what)}", file=sys.stderr)
        return 2
    took = time.monotonic() - began
    used = f"axe-core {axe.version}" if axe else f"without axe-core ({axe_core.INSTALL})"
    print(f"{pages} pages, {problems} problems, {took:.0f} s ({took / pages:.2f} s a page), {used}")
    return 1 if problems else 0 if axe else 2


def _visits(tab: Tab, what: str, axe: axe_core.Axe | None, only: list[str] | None) -> Iterator[list[Problem]]:
    """Yield the problems of each page."""
    if "://" in what:
        yield _checked(tab, what, what, Place(what), axe)
    elif Path(what).is_file():
        path = Path(what).resolve()
        yield _checked(tab, what, path.as_uri(), Place(path.as_uri(), path.parent), axe)
    else:
        site = Site(Path(what))
        for name in site.names:
            if only and name not in only:
                continue
            url = (site.folder / name).as_uri()
            place = Place(url, site.folder)
            found = [*site.problems(name), *_checked(tab, name, url, place, axe)]
            yield found + (_ranked(tab, url) if name == SEARCH else [])


def _ranked(tab: Tab, url: str) -> list[Problem]:
    """Return the searches whose first hit is another page than it should be."""
    found = []
    for words, wanted in FIRST.items():
        tab.load(f"{url}?{urlencode({'q': words})}")
        try:
            hit = str(tab.wait("document.querySelector('#search-results li a')?.getAttribute('href')"))
        except BrowserError:
            hit = "nothing"
        if hit.partition("?")[0].partition("#")[0] != wanted:
            found.append(Problem(SEARCH, "", "", f"{words!r} finds {hit} first, expected {wanted}"))
    return found


def _checked(tab: Tab, name: str, url: str, place: Place, axe: axe_core.Axe | None) -> list[Problem]:
    found: list[Problem] = []
    try:
        for problem in page_problems(tab, name, url, place, axe):
            found.append(problem)
    except (BrowserError, TimeoutError) as wrong:
        found.append(Problem(name, "", "", f"check ended early: {str(wrong)[:300]}"))
    return found


if __name__ == "__main__":
    sys.exit(main())
