"""Plain C files in one folder, with a program that tries them on a computer."""

from __future__ import annotations

import shlex

from ..contents import Contents
from ..csource import banner, main_text
from ..watch import send_text
from .form import Form
from .texts import IN_C, SEND_EXAMPLE

_USE = (
    """\
## Use

"""
    + IN_C
    + """\
Build as C99 or as C++11 and later, with no flags in particular:

    arm-none-eabi-gcc -mthumb -mcpu=cortex-m4 -Os -c {sources}

On a computer, rows of integers in, decisions out (the self-check runs first):

    cc -std=c99 main.c {sources} -o try_{name} && ./try_{name} < rows.txt
"""
)

_TOGETHER = """\
They share the files that begin with `tcuq`: compile those once. Export
into one folder (the second time with `--force`; README.md and main.c are then those of the last one), or into
two and compile the `tcuq` files of one of them: those of both would define every function twice, which the
linker refuses."""


def _files(contents: Contents) -> dict[str, str]:
    return {"main.c": main_text(contents), "examples/send_frames.c": banner() + send_text(contents)}


def _hints(contents: Contents, folder: str) -> list[str]:
    compiled = " ".join(contents.sources)
    return [
        f"try it: cd {shlex.quote(folder)} && cc -std=c99 main.c {compiled} -o try_{contents.name}",
        f"smaller: compile with {contents.flags}",
    ]


C = Form(
    name="c",
    files=_files,
    hints=_hints,
    use=_USE,
    together=_TOGETHER,
    rows={
        "main.c": "an example for a computer; no part of a firmware",
        "examples/send_frames.c": "an example that sends frames; no part of a firmware either",
    },
    frames=SEND_EXAMPLE,
    title="{name}",
)
