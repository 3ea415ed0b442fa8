"""Pages as GitHub shows them, turned into pages of the site: what they include and where their links lead.

Pages are plain Markdown with links between files of the checkout. Nothing of Sphinx is needed here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

PAGE = re.compile(r"\A<!-- page: (\S+) -->")
FENCE = re.compile(r"^\s*(?:>\s*)*(?:[-*]\s+)?(`{3,}|~{3,})")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^()\s]+)((?:\s+\"[^\"]*\")?)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
NAMED = re.compile(r"^(\s*\[[^\]]+\]:\s+)(\S+)")
PICTURE = re.compile(r"<picture>.*?</picture>", re.DOTALL)
ATTRIBUTE = re.compile(r"\b(src|srcset|alt|media)=\"([^\"]*)\"")
ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
COPIED = (".ipynb",)
"""Ends of files that a reader takes from the site: they are copied into it."""


def included(text: str, page: Path) -> Path | None:
    """Return the file that a wrapper page stands for, if it is one.

    Parameters
    ----------
    text : str
        Content of the page.
    page : Path
        Where it lies.

    Examples
    --------
    >>> included("<!-- page: ../../SPEC.md -->", Path("/docs/reference/spec.md")).as_posix()
    '/SPEC.md'
    >>> included("# Title", Path("/docs/index.md"))
    """
    found = PAGE.match(text)
    return Path(os.path.normpath(page.parent / found[1])) if found else None


def page_map(docs: Path) -> dict[Path, Path]:
    """Return the page of the site for each file that is one: pages themselves, and what wrappers stand for.

    Parameters
    ----------
    docs : Path
        The folder that the site is built from.
    """
    pages: dict[Path, Path] = {}
    for path in sorted(docs.rglob("*.md")):
        if any(part.startswith(("_", ".")) for part in path.relative_to(docs).parts):
            continue
        pages[path] = path
        other = included(path.read_text(encoding="utf-8"), path)
        if other is not None:
            pages[other] = path
    if docs / "index.md" in pages:
        pages[docs.parent / "README.md"] = docs / "index.md"
    for name in ("README.md", "index.md"):
        found = {
            path.parent: page for path, page in pages.items() if path.name == name and docs in path.parents
        }
        pages.update(found)
    return pages


@dataclass
class Links:
    """Where the links of pages lead in the site.

    Parameters
    ----------
    root : Path
        The checkout.
    pages : dict
        As `page_map` gives it.
    url : str
        Address of the repository, to which links to sources go.
    tag : str
        The state of it that they show.
    missing : list of str
        Links that lead nowhere, as they are met.
    """

    root: Path
    pages: dict[Path, Path]
    url: str
    tag: str
    missing: list[str] = field(default_factory=list)

    def target(self, link: str, home: Path, page: Path, image: bool = False) -> str:
        """Return where a link of a file leads on its page.

        Parameters
        ----------
        link : str
            As it is written.
        home : Path
            The file that it is written in.
        page : Path
            The page that shows the file.
        image : bool
            What it leads to is shown, not visited.
        """
        if ELSEWHERE.match(link) or link.startswith("#"):
            return link
        name, mark, anchor = link.partition("#")
        path = Path(os.path.normpath(home.parent / unquote(name)))
        if not path.exists() or self.root not in (path, *path.parents):
            self.missing.append(f"{home.relative_to(self.root).as_posix()}: {link} is not in the checkout")
            return link
        if image or path in self.pages or path.suffix in COPIED:
            return (
                os.path.relpath(self.pages.get(path, path), page.parent).replace(os.sep, "/") + mark + anchor
            )
        kind = "tree" if path.is_dir() else "blob"
        return f"{self.url}/{kind}/{self.tag}/{path.relative_to(self.root).as_posix()}{mark}{anchor}".rstrip(
            "/"
        )

    def rewrite(self, text: str, home: Path, page: Path) -> str:
        """Return the text of a file with links as its page needs them; code stays as it is.

        Parameters
        ----------
        text : str
            Markdown.
        home, page : Path
            As of `target`.
        """

        def moved(link: str, image: bool = False) -> str:
            return self.target(link, home, page, image)

        def shown(found: re.Match[str]) -> str:
            return self._image(found[1], found[2], home, moved)

        def followed(found: re.Match[str]) -> str:
            return f"]({moved(found[1])}{found[2]})"

        def named(found: re.Match[str]) -> str:
            return found[1] + moved(found[2])

        def picture(found: re.Match[str]) -> str:
            given = dict(ATTRIBUTE.findall(found[0][found[0].rindex("<img") :]))
            return f"![{given.get('alt', '')}]({given['src']})"

        parts = []
        for code, part in in_and_out_of_fences(text):
            if not code:
                part = PICTURE.sub(picture, part)
                kept: list[str] = []
                for line in part.splitlines(keepends=True):
                    line = NAMED.sub(named, line)
                    # Pictures first; what they became is no link of the page any more.
                    pieces = re.split(r"(!\[[^\]]*\]\([^()\s]+\))", line)
                    kept += [
                        outside_code(piece, IMAGE, shown) if at % 2 else outside_code(piece, LINK, followed)
                        for at, piece in enumerate(pieces)
                    ]
                part = "".join(kept)
            parts.append(part)
        return "".join(parts)

    def _image(self, alt: str, link: str, home: Path, moved: Callable[[str, bool], str]) -> str:
        """Return a picture, or both of its forms where it has a dark one.

        A picture without a word for its form may follow the system; readers may have chosen otherwise here.
        """
        stem, dot, ending = link.rpartition(".")
        stem = re.sub("-(dark|light)$", "", stem)
        dark, light = (f"{stem}-{form}{dot}{ending}" for form in ("dark", "light"))
        if ELSEWHERE.match(link) or not (home.parent / dark).exists():
            return f"![{alt}]({moved(link, True)})"
        light = light if (home.parent / light).exists() else f"{stem}{dot}{ending}"
        shown = f"![{alt}]({moved(light, True)}){{.only-light}}"
        return f"{shown} ![{alt}]({moved(dark, True)}){{.only-dark}}"


def in_and_out_of_fences(text: str) -> Iterator[tuple[bool, str]]:
    r"""Yield stretches of Markdown in order, each with whether it is a fenced block.

    Examples
    --------
    >>> list(in_and_out_of_fences("a\n```sh\nb\n```\nc\n"))
    [(False, 'a\n'), (True, '```sh\nb\n```\n'), (False, 'c\n')]
    """
    held: list[str] = []
    mark = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if not mark and found:
            yield False, "".join(held)
            held, mark = [line], found[1]
        elif mark and found and found[1].startswith(mark) and line.strip().strip(">").strip() == found[1]:
            yield True, "".join([*held, line])
            held, mark = [], ""
        else:
            held.append(line)
    yield bool(mark), "".join(held)


def outside_code(line: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> str:
    """Return a line with matches changed that do not begin within a span of code.

    Examples
    --------
    >>> outside_code("`a` a `b a`", re.compile("a"), lambda found: "x")
    '`a` x `b a`'
    """
    spans = [found.span() for found in CODE.finditer(line)]

    def once(found: re.Match[str]) -> str:
        if any(low < found.start() < high for low, high in spans):
            return found[0]
        return change(found)

    return pattern.sub(once, line)
