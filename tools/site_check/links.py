# SPDX-License-Identifier: MIT
"""Links and resources of the files of a site, read without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from site_check.problems import Problem

LINKS = {"a": "href", "area": "href", "form": "action"}
RESOURCES = {
    **{"img": ("src", "srcset"), "source": ("src", "srcset"), "script": ("src",), "link": ("href",)},
    **{"video": ("src", "poster"), "audio": ("src",), "iframe": ("src",), "embed": ("src",)},
    **{"object": ("data",), "track": ("src",), "image": ("href", "xlink:href")},
}
# A link element with one of these is no resource that the page shows.
NOT_LOADED = {"index", "search", "next", "prev", "canonical", "alternate", "author", "copyright", "top", "up"}


class Page(HTMLParser):
    """What one file names: its anchors, its links and its resources.

    Examples
    --------
    >>> page = Page('<h1 id="a">A</h1><a href="b.html#c">b</a><img srcset="x.png 1x, y.png 2x">')
    >>> page.anchors, page.links, page.resources
    ({'a'}, ['b.html#c'], ['x.png', 'y.png'])
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names."""
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag in LINKS and LINKS[tag] in found:
            self.links.append(found[LINKS[tag]])
        if tag == "link" and NOT_LOADED & set(found.get("rel", "").lower().split()):
            if found.get("href"):
                self.links.append(found["href"])
            return
        for name in RESOURCES.get(tag, ()):
            if found.get(name):
                self.resources += _sources(found[name]) if name == "srcset" else [found[name]]

    handle_startendtag = handle_starttag


def _sources(value: str) -> list[str]:
    return [part.split()[0] for part in value.split(",") if part.strip()]


class Site:
    """The pages of a folder, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.names = sorted(
            path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html") if path.is_file()
        )
        self._read: dict[Path, Page] = {}

    def page(self, path: Path) -> Page:
        """Return what a file names."""
        if path not in self._read:
            self._read[path] = Page(path.read_text(encoding="utf-8", errors="replace"))
        return self._read[path]

    def problems(self, name: str) -> Iterator[Problem]:
        """Yield links without a target and resources that are not there."""
        path = self.folder / name
        page = self.page(path)
        for target in dict.fromkeys(page.links):
            wrong = self._wrong(path, target, loaded=False)
            if wrong:
                yield Problem(name, "", "", f"link to {target or 'nothing'}: {wrong}")
        for target in dict.fromkeys(page.resources):
            wrong = self._wrong(path, target, loaded=True)
            if wrong:
                yield Problem(name, "", "", f"resource {target[:100]}: {wrong}")

    def _wrong(self, path: Path, target: str, loaded: bool) -> str:
        """Say what is wrong with a target, or nothing."""
        try:
            parts = urlsplit(target.strip())
        except ValueError:
            return "not an address"
        if parts.scheme == "data" or (parts.scheme in ("http", "https", "mailto") and not loaded):
            return ""
        if parts.scheme or parts.netloc:
            return "on the network" if loaded else f"scheme {parts.scheme or 'of the page'}, expected https"
        if parts.path.startswith("/"):
            return "begins at the root of the server, expected a relative path"
        aimed = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if aimed != self.folder and self.folder not in aimed.parents:
            return "leaves the site"
        if aimed.is_dir():
            return "a folder, expected a file"
        if not aimed.is_file():
            return "no such file"
        anchor = unquote(parts.fragment)
        if anchor and anchor != "top" and not loaded and aimed.suffix == ".html":
            anchors = self.page(aimed).anchors
            if anchor not in anchors and parts.fragment not in anchors:
                return "no such anchor"
        return ""
