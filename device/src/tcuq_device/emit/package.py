"""Build a package to measure it, then write all of its files or none."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tcuq.base.errors import InputError, wrong_value
from tcuq.export.package import put

from ..boards import Board, board, names
from ..firmware.build import fresh, linked
from ..firmware.image import Image, TooLarge, sizes_of
from ..firmware.stack import OPTION, bound_of
from ..tools import MissingTool, call, path_of, version
from .application import Application
from .readme import Figures, readme
from .text import LINKING, OPTIONS, defines, groups, linker_script, texts

COMPILER = "arm-none-eabi-gcc"
NO_BOARD = "none"


@dataclass(frozen=True)
class Emitted:
    """What was written.

    Parameters
    ----------
    files : list of Path
    figures : Figures, optional
        Of the image; None without a board or a compiler.
    missing : str
        What to say of a compiler that is missing, else empty.
    """

    files: list[Path]
    figures: Figures | None
    missing: str


def flashed_board(name: str) -> Board | None:
    """Return a board whose start-up is known; None for "none"."""
    if name == NO_BOARD:
        return None
    known = [each for each in names() if board(each).chip is not None]
    if name not in known:
        raise wrong_value(
            "board", name, f"{', '.join(known)}, or {NO_BOARD} for a package without a start-up"
        )
    return board(name)


def emit(
    application: Application, folder: str | Path, on: Board | None = None, force: bool = False
) -> Emitted:
    """Write a network and its monitor as one C package, all files or none.

    Parameters
    ----------
    application : Application
    folder : path
        Made when it does not exist; the folder around it must.
    on : Board, optional
        One with a chip, whose start-up goes along.
    force : bool
        Replace files that are there already.

    Raises
    ------
    TooLarge
        When it does not fit the board.
    """
    files = texts(application, on)
    figures, missing = None, ""
    if on is not None:
        try:
            figures = measured(application, files, on)
        except MissingTool as error:
            missing = str(error)
    files["README.md"] = readme(application, on, figures)
    return Emitted(put(files, folder, force), figures, missing)


def measured(application: Application, files: dict[str, str], on: Board) -> Figures:
    """Build a package and return what its image takes; a stack that can get too deep is refused."""
    with tempfile.TemporaryDirectory() as folder:
        image = build_package(application, files, on, Path(folder) / "build")
        stack = bound_of(image)
        if stack.bytes > on.stack_bytes:
            raise InputError(
                "limit",
                f"the stack of {application.name} takes up to {stack.bytes} bytes, "
                f"expected at most the {on.stack_bytes} of {on.title}",
            )
        return Figures(image.sizes, stack, version(COMPILER))


def build_package(
    application: Application, files: Mapping[str, str], board: Board, folder: str | Path
) -> Image:
    """Compile and link a package for its board, a usage file of the stack beside each object."""
    work = fresh(folder)
    for file, text in files.items():
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text(text, encoding="utf-8")
    objects = []
    for group, level in groups(application, board):
        for file in group:
            target = f"{Path(file).with_suffix('').as_posix().replace('/', '_')}.o"
            options = [*OPTIONS, *board.compiler, *level, OPTION, *defines(application), "-I.", "-Iboard"]
            call(COMPILER, [*options, "-c", file, "-o", target], work)
            objects.append(target)
    tool = [path_of(COMPILER), *board.compiler, *LINKING]
    over = linked([*tool, "-T", "board/link.ld", *objects, "-o", "image.elf"], work)
    if over:
        (work / "wide.ld").write_text(linker_script(board, wide=True), encoding="utf-8")
        linked([*tool, "-T", "wide.ld", *objects, "-o", "wide.elf"], work, wide=True)
        raise TooLarge(application.name, board, over, sizes_of(work / "wide.elf"))
    return Image(board, work / "image.elf", sizes_of(work / "image.elf"))
