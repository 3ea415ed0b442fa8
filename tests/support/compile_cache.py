"""Compiled C that tests share: one object per source, headers and flags, for all workers of a session.

Many tests build the same files of the core with the same flags. `install` lets `subprocess.run` answer such a
command from what an earlier test has built; every other command runs as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "TCUQ_TEST_OBJECTS"
"""Of the environment: the folder of a session, which workers inherit."""

COMPILERS = re.compile(r"(?:[\w.]+-)*(?:cc|gcc|clang|g\+\+|clang\+\+)(?:-\d+)?")
FLAGS = re.compile(
    r"-(?:std=.*|O\w*|g|W(?!l,).*|D.*|I.+|m.*|pedantic|pedantic-errors|nostartfiles|specs=.*|shared|static|c|Wl,.*|l\w+"
    r"|f(?:sanitize=.*|no-sanitize-recover=.*|PIC|function-sections|data-sections|no-inline|no-exceptions|no-rtti"
    r"|freestanding|no-tree-vectorize|wrapv|strict-aliasing|short-enums|no-builtin|no-common))"
)
"""Flags whose only output is the object or the program."""

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:(["<])([^">\n]+)[">]|(\w))', re.M)

Run = Callable[..., "subprocess.CompletedProcess[Any]"]


class _Unknown(Exception):
    """A command that is better left alone."""


def install(run: Run = subprocess.run) -> None:
    """Let `subprocess.run` use what was built before."""

    def cached(command: Any, *more: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
        try:
            known = not more and options.keys() <= {"cwd", "check", "capture_output", "text", "timeout"}
            if known and isinstance(command, (list, tuple)):
                said = _built([os.fspath(word) for word in command], Path(options.get("cwd") or "."), run)
                if not options.get("capture_output"):
                    return subprocess.CompletedProcess(command, 0)
                empty: Any = "" if options.get("text") else b""
                shown = said if options.get("text") else said.encode()
                return subprocess.CompletedProcess(command, 0, empty, shown)
        except (_Unknown, OSError, TypeError, UnicodeError):
            pass
        return run(command, *more, **options)

    subprocess.run = cached  # type: ignore[assignment]


def _built(command: Sequence[str], cwd: Path, run: Run) -> str:
    """Do what a compiler would, and return its warnings."""
    compiler = shutil.which(command[0]) if VARIABLE in os.environ else None
    if compiler is None or not COMPILERS.fullmatch(Path(command[0]).name):
        raise _Unknown
    sources, flags, link, target, at = [], [], [], None, 1
    while at < len(command):
        word = command[at]
        if word in ("-o", "-T"):
            at += 1
            if word == "-o":
                target = cwd / command[at]
            else:
                link += [word, str(cwd / command[at])]
        elif word.endswith((".c", ".cpp")):
            sources.append(cwd / word)
            link.append("")
        elif word.endswith((".o", ".a")):
            link.append(str(cwd / word))
        elif FLAGS.fullmatch(word):
            flags.append(f"-I{cwd / word[2:]}" if word.startswith("-I") else word)
            link += [word] if word != "-c" else []
        else:
            raise _Unknown
        at += 1
    objects = "-c" in flags
    if (target is None and not objects) or (target is not None and objects and len(sources) != 1):
        raise _Unknown
    compiling = [each for each in flags if not each.startswith(("-Wl,", "-l")) and each != "-c"]
    made = [_object(compiler, compiling, source, run) for source in sources]
    said = "".join(each.with_suffix(".txt").read_text() for each in made)
    if target is None or objects:
        for source, each in zip(sources, made, strict=True):
            shutil.copyfile(each, target or cwd / f"{source.stem}.o")
        return said
    rest = iter(made)
    words = [word or str(next(rest)) for word in link]
    digest = hashlib.sha256(repr([compiler, words]).encode())
    for word in words:
        if word.endswith((".o", ".a", ".ld")) and Path(word).parent != _folder():
            digest.update(Path(word).read_bytes())
    program = _folder() / f"{digest.hexdigest()}.out"
    if not program.exists():
        _make([compiler, *words], program, run)
    shutil.copy(program, target)
    return said + program.with_suffix(".txt").read_text()


def _folder() -> Path:
    return Path(os.environ[VARIABLE])


def _object(compiler: str, flags: list[str], source: Path, run: Run) -> Path:
    places = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
    plain = [flag for flag in flags if not flag.startswith("-I")]
    digest = hashlib.sha256(repr([compiler, source.suffix, plain]).encode())
    for path in _inputs(source, places):
        digest.update(path.name.encode() + path.read_bytes())
    found = _folder() / f"{digest.hexdigest()}.o"
    if not found.exists():
        _make([compiler, *flags, "-c", str(source)], found, run)
    return found


def _inputs(source: Path, places: list[Path]) -> list[Path]:
    """Return a source and all headers of ours that it may include, in order."""
    found, wanted = [], [source]
    while wanted:
        path = wanted.pop().resolve()
        if path in found:
            continue
        found.append(path)
        for quoted, name, macro in INCLUDE.findall(path.read_bytes()):
            if macro:
                raise _Unknown
            folders = [path.parent, *places] if quoted == b'"' else places
            wanted += [each / name.decode() for each in folders if (each / name.decode()).is_file()][:1]
    return found


def _make(command: list[str], target: Path, run: Run) -> None:
    """Run a compiler; what fails is left to the test that asked, which runs it again."""
    part = target.with_name(f"{target.name}.{os.getpid()}{target.suffix}")
    done = run([*command, "-o", str(part)], capture_output=True, text=True)
    if done.returncode != 0:
        raise _Unknown
    target.with_suffix(".txt").write_text(done.stderr)
    part.replace(target)
