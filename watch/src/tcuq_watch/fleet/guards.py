"""What is checked of a fleet's folder before it is used: whoever sent it may have made it by hand."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import stat
import tempfile
from functools import cache
from pathlib import Path

from tcuq.base.errors import InputError, one_line
from tcuq.base.limits import limits_given

NAMED = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a further file: SQLite removes that one
ENDLESS = 1 << 20  # instructions of SQLite that reading a schema may take; ours takes some hundreds
FOUND = "SELECT type, name, tbl_name, sql FROM sqlite_master"
OPEN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))  # no link, no wait


def refuse_special(path: Path, found: os.stat_result | None = None) -> None:
    """Refuse what is no plain file of this folder alone, or is beyond the limit; a missing file is fine."""
    try:
        found = found or path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        kind = "a second name of a file" if stat.S_ISREG(found.st_mode) else "no plain file"
        said = f"{path} is {kind}, expected a plain file of this folder alone"
        raise InputError("unsupported", f"{said}; copy the folder with cp -r and use the copy")
    if found.st_size > limits_given().file:
        beyond = limits_given().beyond("file", found.st_size)
        raise InputError("limit", f"{path}: has {found.st_size:,} bytes, {beyond}")


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a plain file of this folder alone."""
    refuse_special(path)
    handle = os.open(path, flags | OPEN, 0o666)
    try:
        refuse_special(path, os.fstat(handle))  # what was opened may be another file
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_named(folder: Path, name: object) -> bytes:
    """Return what is in a file that a database names: one of our names, in this folder."""
    if not re.fullmatch(r"[0-9]+-[0-9]+\.(state|parquet)", str(name)):
        raise InputError("damaged", f"{folder.parent} is damaged: it names the file {str(name)[:60]!r}")
    with os.fdopen(open_plain(folder / str(name)), "rb") as file:
        return file.read()


def check_files(database: Path) -> None:
    """Refuse links and special files in the folder of a database, and a journal that names a further file."""
    for path in database.parent.iterdir():  # opening and closing one would free locks that this process has
        if path.is_symlink() or not path.is_dir():
            refuse_special(path)
    journal = Path(f"{database}-journal")
    with contextlib.suppress(FileNotFoundError), os.fdopen(open_plain(journal), "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - len(NAMED)))
        if file.read(len(NAMED)) == NAMED:
            said = "names a file to remove, which no journal of a fleet does"
            raise InputError("unsupported", f"{journal} {said}; do not trust this folder")


def copied(database: Path) -> sqlite3.Connection:
    """Return a database in memory, with what a kill left rolled back there; the files stay as they are."""
    with tempfile.TemporaryDirectory(prefix="tcuq-") as place:
        copy = Path(place) / database.name
        for end in ("", "-journal", "-wal"):
            if os.path.lexists(f"{database}{end}"):
                handle = open_plain(Path(f"{database}{end}"))
                with os.fdopen(handle, "rb") as file, open(f"{copy}{end}", "wb") as other:
                    shutil.copyfileobj(file, other)
        check_files(copy)
        sql = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with contextlib.closing(sqlite3.connect(copy)) as source:
            source.backup(sql)
    return sql


@cache
def _tables(schema: str) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as sql:
        sql.executescript(schema)
        return sql.execute(FOUND).fetchall()


def check_database(sql: sqlite3.Connection, schema: str, path: Path) -> None:
    """Refuse what is not our tables alone (a view may have no end), and pages that do not form tables."""
    sql.set_progress_handler(lambda: 1, ENDLESS)
    tables = sql.execute(FOUND).fetchall()
    sql.set_progress_handler(None, 0)
    if tables != _tables(schema):
        other = sorted({str(name) for _, name, *_ in set(tables) ^ set(_tables(schema))})[0]
        said = f"{other[:60]!r} is missing or not as a fleet has it"
        raise InputError("damaged", f"{path} is damaged: {said}")
    [told] = sql.execute("PRAGMA quick_check(1)").fetchone()
    if told != "ok":
        raise InputError("damaged", f"{path} is damaged: {one_line(told, 100)}")
