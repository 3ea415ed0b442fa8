"""What is checked of a fleet's folder before it is used: whoever sent it may have made it by hand."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import tempfile
from pathlib import Path

from tcuq.base.errors import InputError, one_line
from tcuq.base.limits import limits_given

NAMED = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a further file: SQLite removes that one
ENDLESS = 1 << 20  # instructions of SQLite that reading a schema may take; ours takes some hundreds
OPEN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))  # no link, no wait


def refuse_special(path: Path, found: os.stat_result | None = None) -> None:
    """Refuse what is no plain file of this folder alone, or is beyond the limit; a missing file is fine."""
    try:
        found = found or path.lstat()
    except FileNotFoundError:
        return
    size, limits = found.st_size, limits_given()
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        problem = f"{path} is a link, has a hard link, or is no plain file; expected one of this folder alone"
        raise InputError("unsupported", f"{problem}; remove it, or use a copy of the folder (cp -r)")
    if size > limits.file:
        raise InputError("limit", f"{path}: has {size:,} bytes, {limits.beyond('file', size)}")


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


def check_files(database: Path) -> None:
    """Refuse links and special files in the folder of a database, and a journal that names a further file."""
    for path in database.parent.iterdir():  # opening and closing one would free locks that this process has
        if path.is_symlink() or not path.is_dir():
            refuse_special(path)
    journal = Path(f"{database}-journal")
    with contextlib.suppress(FileNotFoundError), os.fdopen(open_plain(journal), "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - len(NAMED)))
        if file.read(len(NAMED)) == NAMED:
            problem = "names a file to remove, which no journal of a fleet does"
            raise InputError("unsupported", f"{journal} {problem}; do not trust this folder")


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


def _tables(sql: sqlite3.Connection) -> list[str]:
    return sorted(map(str, sql.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")))


def check_database(sql: sqlite3.Connection, schema: str, path: Path) -> None:
    """Refuse, and close, what is not our tables alone (a view may have no end) on pages that form them."""
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        sql.set_progress_handler(lambda: 1, ENDLESS)
        found = "ok" if _tables(sql) == _tables(ours) else "its tables are not those of a fleet"
        sql.set_progress_handler(None, 0)
    if found == "ok":
        [found] = sql.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        sql.close()
        raise InputError("damaged", f"{path} is damaged: {one_line(found, 100)}")
