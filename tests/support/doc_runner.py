"""Run the blocks of a page as a reader would: one folder, one shell, one Python, in their order."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from doc_blocks import Block, Page
from places import CORE, ROOT

PRELUDES = ROOT / "tests" / "docs" / "preludes"
HOLE = "/* the block */\n"
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only")
SECONDS = 300
"""Longest time of one block: a busy machine is no failure, a block that hangs is one."""


@dataclass(frozen=True)
class Done:
    """How a block ended and what it printed, errors among it."""

    status: int
    printed: str


class Reader:
    """Someone who types the blocks of a page into a shell and into Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._here = str(folder)
        self._notes = Path(tempfile.mkdtemp(prefix="reader-"))
        own = {name: value for name, value in os.environ.items() if not name.startswith(("TCUQ_", "PYTHON"))}
        first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**own, "PATH": first, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._python: subprocess.Popen[str] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        if self._python is not None:
            assert self._python.stdin is not None and self._python.stdout is not None
            self._python.stdin.close()
            self._python.wait(SECONDS)
            self._python.stdout.close()
        shutil.rmtree(self._notes)

    def shell(self, code: str, until: str = "") -> Done:
        """Run commands; folder and exported variables stay for the next ones."""
        variables, folder = self._notes / "variables", self._notes / "folder"
        kept = f"export -p > {shlex.quote(str(variables))}; pwd > {shlex.quote(str(folder))}"
        before = f". {shlex.quote(str(variables))}\n" if variables.exists() else ""
        script = f"{before}trap 'status=$?; {kept}; exit $status' EXIT\nset -e\n{code}"
        if until:  # the program itself gets the signal, not a shell that waits for it
            script = f"{before}exec env {code}"
        out = self._notes / "out"
        with open(out, "w") as printed:
            running = subprocess.Popen(
                ["sh", "-c", script],
                cwd=self._here,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            status = _ended(running, out, until)
        if folder.exists():
            self._here = folder.read_text().rstrip("\n")
        return Done(status, out.read_text(encoding="utf-8", errors="replace"))

    def python(self, code: str, place: str) -> Done:
        """Run Python code; its names stay for the next."""
        if self._python is None:
            warnings = ["-W", "error::DeprecationWarning:__main__"]
            self._python = subprocess.Popen(
                [sys.executable, *warnings, ROOT / "tests/support/doc_python.py"],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._python.stdin is not None and self._python.stdout is not None
        self._python.stdin.write(json.dumps({"code": code, "place": place, "folder": self._here}) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        if not answer:
            return Done(self._python.wait(SECONDS), "Python ended within the block")
        return Done(**json.loads(answer))

    def compiler(self, block: Block) -> Done:
        """Compile a block with the headers that the page has made so far, then those of the core."""
        prelude = block.marks["compiles"]
        text = (PRELUDES / f"{prelude}.c").read_text() if prelude else HOLE
        assert text.count(HOLE) == 1, f"the prelude {prelude} has no single place for a block"
        source = self._notes / f"block.{block.language}"
        source.write_text(text.replace(HOLE, block.code))
        headers = sorted(self.folder.rglob("*.h"), key=lambda path: -path.stat().st_mtime_ns)
        made = dict.fromkeys(str(path.parent) for path in headers)  # the last one first
        plain = block.language == "c"
        command = ["gcc", "-std=c99"] if plain else ["g++", "-std=c++11"]
        command += [*STRICT, *(f"-I{each}" for each in [*made, str(CORE)]), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        return Done(done.returncode, done.stderr)


def _ended(running: subprocess.Popen[bytes], out: Path, until: str) -> int:
    """Wait for the end of a program, after an interrupt where it goes on forever; return its status."""
    limit = time.monotonic() + SECONDS
    try:
        while until and running.poll() is None and until not in out.read_text(errors="replace"):
            if time.monotonic() > limit:
                raise subprocess.TimeoutExpired("sh", SECONDS)
            time.sleep(0.02)
        if until and running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
        return running.wait(SECONDS)
    except BaseException:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        raise


def missing(names: str) -> str:
    """Return the first of these programs and packages that is not here, or an empty text."""
    for name in re.findall(r"[^,\s]+", names):
        if shutil.which(name) is None and find_spec(name.replace("-", "_")) is None:
            return str(name)
    return ""


NUMBER = re.compile(r"\b[0-9a-f]{8}\b|[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")


def masked(text: str) -> str:
    """Return a text with every number as #: training and timing give other figures on another machine."""
    return "\n".join(" ".join(NUMBER.sub("#", line).split()) for line in text.splitlines())


def unprinted(shown: str, printed: str) -> str:
    """Return the first line of a page that was not printed after those before it, or an empty text.

    Examples
    --------
    >>> unprinted("a\\n...\\nb 1 ... c\\n", "a\\nx\\nb 1 22 c\\n")
    ''
    >>> unprinted("b\\na\\n", "a\\nb\\n")
    'a'
    """
    lines = iter(line.strip() for line in printed.splitlines())
    for line in filter(None, (line.strip() for line in shown.splitlines())):
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        if line != "..." and not any(re.fullmatch(pattern, each) for each in lines):
            return line
    return ""


def run_page(page: Page, reader: Reader, bring: Callable[[Iterable[str]], None], slow: bool) -> list[str]:
    """Run the blocks of a page, slow ones only where asked for; return what had to be left out."""
    bring(setups_of(page.marks))
    left_out: list[str] = []
    printed: str | None = ""
    blocks = page.tested
    while slow and blocks and not page.slow(blocks[-1]):
        blocks = blocks[:-1]  # the quick tests run it, and no slow block needs it
    for block in blocks:
        if page.slow(block) and not slow:
            continue
        if block.language == "text":
            exact = "prints" in block.marks
            wanted, given = (block.code, printed) if exact else (masked(block.code), masked(printed or ""))
            lacks = "" if printed is None else unprinted(wanted, given or "")
            assert not lacks, f"{block.place}: not printed: {lacks!r}; printed was:\n{printed}"
            continue
        tool = missing(block.marks.get("needs", "") + (" gcc" if block.language == "c" else ""))
        if tool or (block.language == "cpp" and (tool := missing("g++"))):
            left_out.append(f"{block.place} needs {tool}")
            printed = None
            continue
        bring(setups_of(block.marks))
        if block.compiles:
            done = reader.compiler(block)
        elif block.language == "python":
            done = reader.python(block.code, block.place)
        else:
            done = reader.shell(block.code, block.marks.get("until", ""))
        wanted = int(block.marks.get("fails", "0"))
        assert done.status == wanted, (
            f"{block.place}: ended with status {done.status}, expected {wanted}:\n{done.printed}"
        )
        printed = done.printed
    return left_out


def setups_of(marks: Mapping[str, str]) -> list[str]:
    """Return the set-ups that marks name."""
    words = re.split(r"[,\s]+", marks.get("run", "with")) if "run" in marks else []
    assert not words or (words[0] == "with" and len(words) > 1), f"run: {marks['run']}, expected with NAME"
    return words[1:]
