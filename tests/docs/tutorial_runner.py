"""Run the blocks of a Markdown page in page order, in one folder, as a reader would.

A comment on the lines before a block says what to do with it:

- ``<!-- not run: REASON -->``: nothing.
- ``<!-- fails: 2 -->``: it must end with that status.
- ``<!-- needs: NAME, NAME -->``: it is left out where a program or a package is missing.
- ``<!-- prints: -->`` before a `text` block: its lines must occur in what the block before it printed; `...`
  stands for anything.

A `text` block right after a block that ran is compared as well, with all numbers taken as equal and, in long
lines, a few words as well: training and timing give other figures on another machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

RUN = ("sh", "python")
PATIENCE = 300
"""Seconds that a block of a shell may take."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
MARK = re.compile(r"<!-- *(.*?) *-->")
NUMBER = re.compile(r"\b[0-9a-f]{8}\b|[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")
LONG, ALIKE = 50, 0.85
"""Characters of a line in which a word may differ, and how much of it must be the same."""
DONE = "\x00done\x00"
DRIVER = f"""
import ast, json, sys
space = {{"__name__": "__main__"}}
sys.path.insert(0, "")
for line in sys.stdin:
    text, name = json.loads(line)
    tree = ast.parse(text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
        if hasattr(value, "_repr_svg_"):
            assert "<svg" in value._repr_svg_()
        elif value is not None:
            print(repr(value))
    print({DONE!r}, flush=True)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block and the comments right before it."""

    language: str
    text: str
    marks: tuple[str, ...]
    line: int

    def mark(self, name: str) -> str | None:
        """Return what a comment says after its name, or None where there is none."""
        found = [each.partition(":")[2].strip() for each in self.marks if each.split(":")[0] == name]
        return found[0] if found else None


def blocks_of(page: str) -> Iterator[Block]:
    """Return the blocks of a page."""
    for found in FENCE.finditer(page):
        marks: list[str] = []
        for above in reversed(page[: found.start()].splitlines()):
            mark = MARK.fullmatch(above.strip())
            if mark is None:
                break
            marks.insert(0, mark.group(1))
        yield Block(found.group(1), found.group(2), tuple(marks), page[: found.start()].count("\n") + 1)


def masked(text: str) -> list[str]:
    """Return lines with every number as #, and the space between words as one.

    >>> masked("12 files,  3.5 % of them\\n")
    ['# files, # % of them']
    """
    return [" ".join(NUMBER.sub("#", line).split()) for line in text.splitlines() if line.strip()]


def agrees(wanted: str, printed: str, exact: bool) -> bool:
    """Say whether a line of a page is the one that was printed; `...` stands for anything.

    >>> agrees("a ... c", "a b c", True), agrees("a", "b", True)
    (True, False)
    """
    pattern = ".*".join(map(re.escape, re.split(r"\s*\.\.\.\s*", wanted.strip())))
    if re.fullmatch(pattern, printed.strip()):
        return True
    return not exact and len(wanted) >= LONG and SequenceMatcher(None, wanted, printed).ratio() >= ALIKE


def missing_lines(wanted: list[str], printed: list[str], exact: bool = True) -> list[str]:
    """Return lines that do not occur in what was printed, in this order.

    >>> missing_lines(["a ... c", "e"], ["a b c", "d", "e"]), missing_lines(["e", "d"], ["d", "e"])
    ([], ['d'])
    """
    lost, at = [], 0
    for line in wanted:
        if line.strip() == "...":
            continue
        places = [n for n in range(at, len(printed)) if agrees(line, printed[n], exact)]
        if places:
            at = places[0] + 1
        else:
            lost.append(line)
    return lost


class Session:
    """A folder, a shell's environment, and one Python that remembers what blocks have set."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder, self.python = folder, python
        more = {"PATH": search_path(python), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        self.environment = {**os.environ, **more}
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> int:
        """End the Python of this session; return its status."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        with process:
            if process.stdin is not None:
                process.stdin.close()
            return process.wait(PATIENCE)

    def shell(self, text: str) -> tuple[int, str]:
        """Run a block of a shell; it ends at the first command that fails."""
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=self.folder, env=self.environment, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout

    def cell(self, text: str, name: str) -> tuple[int, str]:
        """Run a block of Python; the last expression is shown, as a notebook does it."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-c", DRIVER], cwd=self.folder, env=self.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([text, name]) + "\n")
        self.process.stdin.flush()
        printed: list[str] = []
        for line in self.process.stdout:
            if line.strip() == DONE:
                return 0, "".join(printed)
            printed.append(line)
        return self._end(), "".join(printed)


def is_missing(name: str) -> bool:
    """Say whether neither a program nor a package of this name is here."""
    return shutil.which(name, path=search_path(sys.executable)) is None and find_spec(name) is None


def search_path(python: str) -> str:
    """Return where programs are looked for: beside Python first."""
    return os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])


def run_page(page: Path, folder: Path) -> tuple[int, list[str]]:
    """Run a page; return how many blocks ran, and what was left out where a program is missing."""
    ran, printed = 0, ""
    left_out: list[str] = []
    with Session(folder) as session:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            where = f"{page.name}, line {block.line}"
            if block.language == "text" and printed:
                exact = block.mark("prints") is not None
                wanted = block.text.splitlines() if exact else masked(block.text)
                found = printed.splitlines() if exact else masked(printed)
                lost = missing_lines([line for line in wanted if line.strip()], found, exact)
                assert not lost, f"{where}: not printed: {lost}\nprinted was:\n{printed}"
            printed = ""
            if block.language not in RUN or block.mark("not run") is not None:
                continue
            absent = [name for name in re.findall(r"[^,\s]+", block.mark("needs") or "") if is_missing(name)]
            if absent:
                left_out.append(f"{where} needs {' and '.join(absent)}")
                continue
            run = session.shell(block.text) if block.language == "sh" else session.cell(block.text, where)
            status, printed = run
            assert status == int(block.mark("fails") or 0), f"{where}: status {status}\n{printed}"
            ran += 1
    return ran, left_out
