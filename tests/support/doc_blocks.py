"""Code blocks of Markdown pages, and the comments before them that say what a test does with each.

A mark is an HTML comment on the line before a block; several stand on lines of their own or in one.

``run: with NAME, ...``
    the folder starts with these set-ups (tests/docs/setups.py); at the top of a page for all of it
``slow``
    run by `make test-slow` alone; at the top of a page for all of it
``not run: REASON``
    not run, in a few plain words
``fails: STATUS``
    must exit with this status
``until: TEXT``
    goes on until it is interrupted; it is, once it has printed this text
``needs: NAME, ...``
    left out where a program or a Python package of this name is missing
``prints:``
    before a `text` block: its lines occur in what the block before it printed, in order; `...` is anything
``compiles`` or ``compiles: NAME``
    C or C++ that compiles, put into tests/docs/preludes/NAME.c where it is no whole file
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from places import ROOT

RUN = ("sh", "python")
COMPILED = ("c", "cpp")
SHOWN = ("text", "json")
"""Languages that need no mark: words, and JSON, which tests/docs/test_page_commands.py reads."""
MARKS = ("run", "slow", "not run", "fails", "until", "needs", "prints", "compiles")
OF_A_PAGE = ("run", "slow")
ALIASES = {"bash": "sh", "shell": "sh", "zsh": "sh", "py": "python", "python3": "python", "c++": "cpp"}
"""Other names of a language, under which a block would be missed."""
FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([^`\n]*)$")
COMMENTS = re.compile(r"^\s*(?:<!--.*?-->\s*)+$")


@dataclass(frozen=True)
class Block:
    """One block: where it stands, what it holds, what is said about it."""

    page: str
    line: int
    language: str
    code: str
    marks: Mapping[str, str] = field(default_factory=dict)
    closed: bool = True

    @property
    def place(self) -> str:
        """Return page and line, as an editor takes them."""
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        """Return whether a test runs it as a program."""
        return self.language in RUN and "not run" not in self.marks

    @property
    def compiles(self) -> bool:
        return self.language in COMPILED and "compiles" in self.marks


@dataclass(frozen=True)
class Page:
    """A page: its name, its own marks and its blocks in their order."""

    name: str
    blocks: tuple[Block, ...]
    marks: Mapping[str, str]
    problems: tuple[str, ...]
    """What is wrong with its marks and its blocks, a line each."""

    @property
    def tested(self) -> tuple[Block, ...]:
        """Return the blocks that a test runs, compiles or compares."""
        shown = [before.runs for before in self.blocks] if self.name.startswith("docs/tutorials/") else []
        return tuple(
            each
            for number, each in enumerate(self.blocks)
            if each.runs
            or each.compiles
            or "prints" in each.marks
            or (number and each.language == "text" and shown[number - 1 : number] == [True])
        )

    def slow(self, block: Block) -> bool:
        return "slow" in self.marks or "slow" in block.marks


def marks_of(line: str) -> dict[str, str]:
    found = [text.strip().partition(":") for text in re.findall(r"<!--(.*?)-->", line)]
    return {name.strip(): value.strip() for name, _, value in found}


def parse(text: str, name: str) -> Page:
    """Return the blocks of a page and what is wrong with them.

    Examples
    --------
    >>> page = parse("# T\\n\\n<!-- fails: 2 -->\\n```sh\\nfalse\\n```\\n", "t.md")
    >>> [(each.place, each.code, dict(each.marks)) for each in page.blocks], page.problems
    ([('t.md:4', 'false\\n', {'fails': '2'})], ())
    """
    blocks: list[Block] = []
    own: dict[str, str] = {}
    marks: dict[str, str] = {}
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if fence:
            end = _end_of(lines, at, fence[2])
            inside = [each.removeprefix(fence[1]) for each in lines[at + 1 : end]]
            language = (fence[3].split() or [""])[0]
            code = "\n".join([*inside, ""])
            if not language.startswith("{"):  # a directive, such as a table of contents
                blocks.append(Block(name, at + 1, language, code, marks, closed=end < len(lines)))
            marks, at = {}, end
        elif COMMENTS.match(lines[at]):
            marks |= marks_of(lines[at])
        else:
            own |= {key: value for key, value in marks.items() if key in OF_A_PAGE and not blocks}
            marks = {}
        at += 1
    problems = [
        f"{block.place}: {each}"
        for block, before in zip(blocks, [None, *blocks], strict=False)
        for each in _problems(block, before, own)
    ]
    return Page(name, tuple(blocks), own, tuple(problems))


def page_files() -> list[Path]:
    """Return the pages of the documentation, the READMEs of all distributions among them."""
    places = ("*.md", "docs/**/*.md", "*/README.md")
    found = {path for place in places for path in ROOT.glob(place)}
    return sorted(path for path in found if path.name != "CHANGELOG.md")  # which speaks of the past


def documentation() -> list[Page]:
    """Return all pages, each named from the root."""
    return [
        parse(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()) for path in page_files()
    ]


def _end_of(lines: list[str], start: int, fence: str) -> int:
    """Return the line that closes a fence, or the end of the page."""
    for at in range(start + 1, len(lines)):
        found = FENCE.match(lines[at])
        if found and not found[3].strip() and found[2].startswith(fence):
            return at
    return len(lines)


def _problems(block: Block, before: Block | None, own: Mapping[str, str]) -> Iterator[str]:
    """Give what is wrong with a block, in words: one that no test would look at must say so."""
    marks, language = block.marks, block.language.lower()
    if not language or language in ALIASES or not block.closed:
        yield f"the language is {language!r}, expected text, {ALIASES.get(language, 'sh')} or so, and an end"
    if unknown := [name for name in marks if name not in MARKS]:
        yield f"the mark is {unknown[0]!r}, expected one of {', '.join(MARKS)}"
    if "not run" in marks and (len(marks) > 1 or not marks["not run"]):
        yield "is marked as not run, expected a reason and no other mark"
    if language not in ("", *RUN, *SHOWN, *ALIASES) and not {"compiles", "not run"} & set(marks):
        yield f"is {language}, which nothing runs, expected the mark compiles, or not run with a reason"
    if "prints" in marks and (language != "text" or before is None or not before.runs):
        yield "shows what was printed, expected a text block behind a block that is run"
    elif "prints" in marks and before and "slow" in before.marks and "slow" not in {**own, **marks}:
        yield "shows what a slow block prints, expected slow here too"
