"""A fleet's folder: one SQLite database with the versions' state, and Parquet files of the decisions.

A commit is one transaction. Large parts of a state are files beside the database, so that its journal stays
small. Decisions of small commits wait in the database until there are enough of them for a file. A file is on
the disk before the transaction that names it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import lock_file, make_folder, write_whole
from tcuq.base.errors import InputError, InputTypeError, one_line, wrong_value
from tcuq.base.json_text import from_json
from tcuq.monitor.params import Params

from ..engine.events import Decided
from ..engine.model_version import ModelVersion
from ..engine.order import BRIDGE, HOLD
from ..engine.packing import array_pieces, pack_arrays, unpack_arrays
from .decision_tables import as_table, decided_of, from_bytes, named_damage, to_bytes, to_parquet
from .guards import ENDLESS, check_database, check_files, copied, open_plain

Array = npt.NDArray[Any]

FORMAT, LAYOUT, BEFORE = "tcuq fleet", 4, 3  # that of 0.3 has no journals and is taken
DATABASE, LOCK, DECISIONS, STATES = "fleet.sqlite", "LOCK", "decisions", "states"
FILES = {DECISIONS: "SELECT name FROM file", STATES: "SELECT file FROM part"}  # which of them a commit names
HEAD = {"commit": int, "refused": dict, "about": dict}
ROLL = 20_000  # decisions that are enough for a file
MAX_VERSION = 64  # characters of a version's name
LARGE = 1 << 20  # bytes from which on a part of a state is a file: the journal would keep them twice
REPEATED, JOURNALS = 8, 256  # events a changed device, and commits, after which states are written again
PIECE = 1 << 16  # devices of one part of a state: a fleet of millions is never copied at once
BUSY = 30.0  # seconds that a transaction waits for one of another process

SCHEMA = """
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), content TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE version (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, params TEXT NOT NULL);
CREATE TABLE device (first INTEGER NOT NULL, version TEXT NOT NULL, names BLOB NOT NULL, crc INTEGER NOT NULL,
                     PRIMARY KEY (version, first));
CREATE TABLE part (id INTEGER PRIMARY KEY, version TEXT NOT NULL, number INTEGER NOT NULL, file TEXT,
                   content BLOB, crc INTEGER NOT NULL);
CREATE TABLE label (name TEXT PRIMARY KEY, content BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE decided (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, content BLOB NOT NULL,
                      crc INTEGER NOT NULL);
CREATE TABLE file (name TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
                   bytes INTEGER NOT NULL, until REAL);
CREATE TABLE request (id TEXT PRIMARY KEY, time REAL NOT NULL, asked TEXT NOT NULL, answer TEXT);
CREATE TABLE mark (step INTEGER PRIMARY KEY, label INTEGER NOT NULL, time REAL NOT NULL);
"""


class Store:
    """The files of a fleet. One process at a time writes; others may look, and ask through `request`."""

    def __init__(self, folder: Path, read_only: bool) -> None:
        self.folder, self.read_only = folder, read_only
        self._path = folder / DATABASE
        self._uri = f"{self._path.resolve().as_uri()}?mode=ro"
        self._lock = -1
        self._litter: set[str] = set()  # folders with files that the last commit dropped
        self._check()
        if not read_only:
            for name in FILES:
                make_folder(folder / name)
        check_files(self._path)
        if not read_only:
            self._lock = _locked(folder)
        try:
            with self._damage():
                self._sql = self._connected()
                if not read_only:
                    self._clean()
        except BaseException:
            self._unlock()
            raise

    def _check(self) -> None:
        """Refuse what is not a folder of a fleet."""
        if self._path.is_file():
            return
        if self.read_only:
            raise InputError(
                "missing", f"{self.folder} holds no fleet, expected the folder of a Fleet (tcuq fleet run)"
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("value", f"{self.folder} is a file, expected a folder")
        for path in self.folder.iterdir() if self.folder.exists() else ():
            ours = path.name == LOCK or path.name.startswith(DATABASE)
            if not ours and not (path.name in FILES and path.is_dir() and not any(path.iterdir())):
                problem = f"holds {path.name!r} and no fleet, expected an empty folder or a fleet's"
                raise InputError("exists", f"{self.folder} {problem}")

    def _connected(self) -> sqlite3.Connection:
        options: dict[str, Any] = {"timeout": BUSY, "isolation_level": None, "check_same_thread": False}
        sql: sqlite3.Connection
        if self.read_only:
            sql = self._looked(options)
            sql.execute("BEGIN")  # all that is read is of one commit
        else:
            sql = sqlite3.connect(self._path, **options)
            for setting in ("page_size = 16384", "journal_mode = WAL", "synchronous = FULL"):
                sql.execute(f"PRAGMA {setting}")
            sql.set_progress_handler(lambda: 1, ENDLESS)
            if not sql.execute("SELECT 1 FROM sqlite_master").fetchone():
                sql.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {LAYOUT}; COMMIT")
        [layout] = sql.execute("PRAGMA user_version").fetchone()
        if layout not in (BEFORE, LAYOUT):
            sql.close()
            problem = f"{self._path} has layout {layout}, expected {LAYOUT}; use the release that wrote it"
            raise InputError("conflict", problem)
        check_database(sql, SCHEMA, self._path)
        if not self.read_only and layout != LAYOUT:
            sql.execute(f"PRAGMA user_version = {LAYOUT}")
        return sql

    def _looked(self, options: Mapping[str, Any]) -> sqlite3.Connection:
        """Return what is there to look at: a copy, or the database itself while somebody writes.

        SQLite keeps files beside a database even for who reads. A writer that comes touches the lock, so
        that a copy made meanwhile is known.
        """
        idle = _idle(self.folder)
        if idle is not None:
            sql = copied(self._path)
            if _idle(self.folder) == idle:
                return sql
            sql.close()
        sql = sqlite3.connect(self._uri, uri=True, **options)
        try:
            sql.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError as error:  # a folder of another user, where no lock can be kept
            sql.close()
            if "locked" in str(error):
                raise
            sql = copied(self._path)
        return sql

    def _clean(self, folders: Iterable[str] = FILES) -> None:
        """Remove files that no commit names, once the journal is empty: no loss of its end brings them back.

        Who reads an earlier commit keeps the journal, and so the files of that one.
        """
        self._sql.execute("PRAGMA busy_timeout = 0")
        [busy, *_] = self._sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._sql.execute(f"PRAGMA busy_timeout = {BUSY * 1000:.0f}")
        for folder in () if busy else folders:
            named = {name for (name,) in self._read(FILES[folder])}
            for path in (self.folder / folder).iterdir():
                if path.name not in named:
                    with contextlib.suppress(OSError):  # one that stays is removed another time
                        path.unlink()
            self._litter.discard(folder)

    def close(self) -> None:
        """Let other processes write."""
        with contextlib.suppress(sqlite3.Error):  # a full disk may keep it from tidying up
            self._sql.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            with contextlib.suppress(OSError):  # a lock ends with its file, whatever the disk says
                os.close(self._lock)
            self._lock = -1

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Say in one line what is wrong with the database."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise _os_error(error, str(self._path)) from None
        except (sqlite3.Error, UnicodeDecodeError) as error:
            problem = f"{self._path} is damaged: {one_line(str(error), 100)}"
            raise InputError("damaged", problem) from None

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._damage():
            return self._sql.execute(query, values).fetchall()

    def _put(self, table: str, *values: Any) -> None:
        self._sql.execute(f"REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def _sound(self, content: Any, crc: int) -> bytes:
        if not isinstance(content, bytes) or zlib.crc32(content) != crc:
            raise InputError("damaged", f"{self._path} is damaged: a checksum is another")
        return content

    @contextlib.contextmanager
    def commit(self) -> Iterator[None]:
        """Write all that is put inside, or nothing."""
        try:
            self._sql.execute("BEGIN IMMEDIATE")
            yield
            self._sql.execute("COMMIT")
        except BaseException as error:
            if self._sql.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._sql.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error, OSError, InputError):
                self._clean()
            if isinstance(error, sqlite3.OperationalError):
                raise _os_error(error, str(self._path)) from error
            raise
        if self._litter:
            with contextlib.suppress(sqlite3.Error, OSError):  # after the next commit, then
                self._clean([*self._litter])

    def head(self) -> dict[str, Any] | None:
        """Return what the last commit said of the whole fleet; None before the first."""
        for text, crc in self._read("SELECT CAST(content AS BLOB), crc FROM head"):
            head: dict[str, Any] = from_json(self._sound(text, crc))
            sound = isinstance(head, dict) and head.get("format") == FORMAT
            sound = sound and all(type(head.get(key, kind())) is kind for key, kind in HEAD.items())
            if not sound or {*map(type, head.get("refused", {}).values())} - {int}:
                raise InputError("damaged", f"{self._path} is not of a fleet")
            return head
        return None

    def put_head(self, head: Mapping[str, Any]) -> None:
        """Replace what is said of the whole fleet."""
        text = json.dumps({"format": FORMAT, **head}, allow_nan=False)
        self._put("head", 1, text, zlib.crc32(text.encode()))

    def versions(self) -> dict[str, str]:
        """Return the parameters of versions by name, as JSON."""
        texts = "CAST(name AS TEXT), CAST(params AS TEXT)"
        return dict(self._read(f"SELECT {texts} FROM version ORDER BY number"))

    def put_version(self, name: str, params: str) -> None:
        """Add a version."""
        self._put("version", None, name, params)

    def parts(self, version: str) -> Iterator[tuple[int, bytes]]:
        """Yield the parts of a version's state, oldest first, each with the number of its commit."""
        for (one,) in self._read("SELECT id FROM part WHERE version = ? ORDER BY id", version):
            row = "SELECT number, file, content, crc FROM part WHERE id = ?"
            [(number, name, content, crc)] = self._read(row, one)
            if name is not None:
                content = self._file(STATES, name)
            yield number, self._sound(content, crc)

    def put_part(self, version: str, number: int, pieces: Sequence[Any]) -> None:
        """Add a part to a version's state."""
        name, content, crc = None, None, 0
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
        if sum(map(len, pieces)) < LARGE:
            content = b"".join(pieces)
        else:
            [(count,)] = self._read("SELECT COUNT(*) FROM part WHERE number = ?", number)
            name = f"{number:08d}-{count}.state"
            write_whole(self.folder / STATES / name, pieces, links=False)
        self._put("part", None, version, number, name, content, crc)

    def drop_part(self, version: str, number: int) -> None:
        """Remove what a commit wrote: a later one holds all of it."""
        which = "FROM part WHERE version = ? AND number = ?"
        if self._read(f"SELECT 1 {which} AND file IS NOT NULL", version, number):
            self._litter.add(STATES)
        self._sql.execute(f"DELETE {which}", (version, number))

    def devices(self, version: str) -> list[str]:
        """Return the names of a version's devices, by slot."""
        rows = self._read("SELECT names, crc FROM device WHERE version = ? ORDER BY first", version)
        return [name for names, crc in rows for name in json.loads(self._sound(names, crc))]

    def put_devices(self, version: str, first: int, names: Sequence[str]) -> None:
        """Add the names of devices from a slot on."""
        content = json.dumps(names).encode()
        self._put("device", first, version, content, zlib.crc32(content))

    def labels(self) -> dict[str, Array]:
        """Return what is kept of labels."""
        rows = self._read("SELECT name, content, crc FROM label")
        return {name: unpack_arrays(self._sound(content, crc))["it"] for name, content, crc in rows}

    def put_labels(self, labels: Mapping[str, Array], kept: Mapping[str, Array]) -> None:
        """Keep labels in place of those that were kept; what is the same object has not changed."""
        for name in set(kept) - set(labels):
            self._sql.execute("DELETE FROM label WHERE name = ?", (name,))
        for name, array in labels.items():
            if kept.get(name) is not array:
                content = pack_arrays({"it": array})
                self._put("label", name, content, zlib.crc32(content))

    def put_decided(
        self, number: int, decided: Sequence[Decided], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Keep the decisions of a commit: in a file with those that wait, or with these until then.

        Another thread makes the file while this one does something else.
        """
        [(rows, first)] = self._read("SELECT COALESCE(SUM(rows), 0), MIN(number) FROM decided")
        count = sum(map(len, decided))
        if rows + count < ROLL:
            meanwhile()
            content = to_bytes(as_table(number, decided))
            self._put("decided", number, count, content, zlib.crc32(content))
            return
        first, waiting = first or number, self._waiting(0)
        path = self.folder / DECISIONS / f"{first:08d}-{number:08d}.parquet"

        def make() -> tuple[int, float | None]:
            content, until = to_parquet([*map(from_bytes, waiting), as_table(number, decided)])
            write_whole(path, content, links=False)
            return len(content), until

        with ThreadPoolExecutor(1) as pool:
            made = pool.submit(make)
            meanwhile()
        self._sql.execute("DELETE FROM decided")
        self._put("file", path.name, first, number, *made.result())

    def _waiting(self, first: int) -> list[bytes]:
        """Return the decisions that are in no file yet, from a commit on."""
        query = "SELECT content, crc FROM decided WHERE number >= ? ORDER BY number"
        return [self._sound(content, crc) for content, crc in self._read(query, first)]

    def drop_decided(self, most_bytes: int, since: float) -> None:
        """Remove the oldest files: those of before a time, and those beyond a size."""
        sizes = "SELECT name, until, SUM(bytes) OVER (ORDER BY first DESC) AS total FROM file"
        old = f"SELECT name FROM ({sizes}) WHERE total > ? OR until < ?"
        names = self._read(old, most_bytes, since)
        if names:
            with self.commit():
                self._sql.executemany("DELETE FROM file WHERE name = ?", names)
                self._litter.add(DECISIONS)

    def decided(self, first: int, params: Mapping[str, Params]) -> Iterator[tuple[int, list[Decided]]]:
        """Yield commits that have decisions, from one on, with these."""
        files = self._read("SELECT name FROM file WHERE last >= ? ORDER BY first", first)
        waiting = self._waiting(first)
        for (name,) in files:
            if self._read("SELECT 1 FROM file WHERE name = ?", name):  # else it was dropped meanwhile
                content = self._file(DECISIONS, name)
                yield from decided_of(content, params, first, str(self.folder / DECISIONS / name))
        for content in waiting:
            yield from decided_of(content, params, first, str(self._path))

    def _file(self, folder: str, name: str) -> bytes:
        """Return what is in a file that the commit names."""
        if not re.fullmatch(r"[0-9]+-[0-9]+\.(state|parquet)", str(name)):
            raise InputError("damaged", f"{self._path} is damaged: it names the file {str(name)[:60]!r}")
        path = self.folder / folder / name
        try:
            with os.fdopen(open_plain(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            problem = f"{path} was removed; put it back, or begin a new folder"
            raise InputError("missing", problem) from None

    def recent(self, most: int) -> int:
        """Return the number of the commit from which on the decisions take about so many bytes."""
        sizes = "SELECT first, SUM(bytes) OVER (ORDER BY first DESC) - bytes AS newer FROM file"
        [(first,)] = self._read(f"SELECT MIN(first) FROM ({sizes}) WHERE newer < ?", most)
        return first or 0

    def marks(self) -> dict[int, int]:
        """Return the labels of steps that a person marked, by the number of the step."""
        return dict(self._read("SELECT step, label FROM mark"))

    def put_marks(self, marks: Sequence[tuple[int, int, float]]) -> None:
        """Keep labels of steps, each with the time of its mark; the last one of a step counts."""
        for mark in marks:
            self._put("mark", *mark)

    def requests(self) -> list[tuple[str, str]]:
        """Return the requests of other processes that have no answer yet."""
        return self._read("SELECT id, asked FROM request WHERE answer IS NULL ORDER BY time")

    def answer(self, name: str, text: str, forget: float) -> None:
        """Answer a request; answers to those of before a time are removed: nobody waits for them."""
        with self.commit():
            self._sql.execute("UPDATE request SET answer = ? WHERE id = ?", (text, name))
            self._sql.execute("DELETE FROM request WHERE time < ?", (forget,))


def exchange(folder: Path) -> sqlite3.Connection:
    """Return a connection through which another process asks the one that writes."""
    check_files(folder / DATABASE)
    sql = sqlite3.connect(folder / DATABASE, timeout=BUSY, isolation_level=None)
    sql.execute("PRAGMA synchronous = FULL")
    return sql


def _idle(folder: Path) -> tuple[int, ...] | None:
    """Return when a writer last came, where none is there now; None where one is, or nobody can tell."""
    try:
        handle = open_plain(folder / LOCK)
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        return (found.st_ino, found.st_mtime_ns) if lock_file(handle, shared=True) else None
    finally:
        os.close(handle)


def _locked(folder: Path) -> int:
    """Return an open file that keeps other writers out until it is closed, or this process ends."""
    path = folder / LOCK
    handle = open_plain(path, os.O_RDWR | os.O_CREAT)
    try:
        locked = lock_file(handle)
        if locked is False:
            time.sleep(0.02)  # who only looks has it for a moment
            locked = lock_file(handle)
        if locked is False:
            owner = os.read(handle, 20).decode(errors="replace").strip() or "?"
            look = f"look at it with Fleet.open_read or tcuq fleet status {folder}"
            raise InputError("busy", f"{folder} is in use by process {owner}; {look}", "folder", owner)
        if locked is None and os.name == "posix":  # SQLite needs them as well
            problem = f"{folder} cannot be locked, expected a file system that keeps locks"
            raise InputError("unsupported", problem)
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    return handle


def _os_error(error: sqlite3.OperationalError, path: str) -> OSError:
    """Return what the system said, as far as SQLite tells."""
    text = str(error)
    if re.search("disk is full|max_page_count", text):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    if "locked" in text:
        return OSError(errno.EBUSY, f"the database is in use: {text}", path)
    return OSError(errno.EIO, text, path)


def named_params(params: Any) -> dict[str, Params]:
    """Return parameters by name; those without one are named by their fingerprint."""
    given = {params.fingerprint: params} if isinstance(params, Params) else dict(params or {})
    if not given:
        raise InputError("missing", "params are empty, expected Params or a dict of them; or read_only=True")
    for name, one in given.items():
        if not isinstance(one, Params):
            raise InputTypeError("value", f"params[{name!r}] is {type(one).__name__}, expected Params")
        if not isinstance(name, str) or not 1 <= len(name) <= MAX_VERSION or not name.isprintable():
            raise wrong_value("version", name, f"1 to {MAX_VERSION} printable characters")
    return given


def agreed_options(
    folder: Path, head: Mapping[str, Any] | None, given: Mapping[str, int | None]
) -> dict[str, int]:
    """Return the options that a folder was begun with, or is begun with now; refuse others."""
    wanted = {name: value for name, value in given.items() if value is not None}
    defaults = {"hold": HOLD, "bridge": BRIDGE}
    begun = {name: (head or wanted).get(name, default) for name, default in defaults.items()}
    for name, value in wanted.items():
        if value != begun[name]:
            problem = f"{name} is {value}, expected {begun[name]} as {folder} was begun with"
            raise InputError("conflict", f"{problem}; leave it out or begin a new folder")
    return begun


def agreed_versions(
    folder: Path, there: Mapping[str, Params], given: Mapping[str, Params] | None
) -> dict[str, Params]:
    """Return the given versions under their names in the folder; refuse others of the same name."""
    if given is None or not there:
        return dict(there if given is None else given)
    versions = {}
    for name, params in given.items():
        same = [held for held, old in there.items() if old.fingerprint == params.fingerprint]
        unnamed = name == params.fingerprint and name not in there and len(same) == 1
        versions[same[0] if unnamed else name] = params
    both = set(there) & set(versions)
    if not both:
        held, wanted = (
            ", ".join(f"{name!r} ({params.fingerprint})" for name, params in some.items())
            for some in (there, versions)
        )
        problem = "to roll out a new version, give the old one too, under its name here"
        text = f"{folder} holds versions {held}, given are {wanted}; {problem}"
        raise InputError("conflict", text, "versions")
    for name in both:
        old, new = there[name], versions[name]
        if (old.fingerprint, old.feature_scale) != (new.fingerprint, new.feature_scale):
            problem = f"has other parameters ({old.fingerprint}, given {new.fingerprint})"
            text = f"version {name!r} of {folder} {problem}; give the new ones a name of their own beside it"
            raise InputError("conflict", text)
    return versions


class Parts:
    """The parts of a model, oldest first; the first has all devices, and each has twice those of the next.

    A commit that writes states takes parts of about its own size into the new one: what it writes is in
    proportion to what has changed, times the logarithm of the fleet's size, and there are never more parts
    than that. Other commits write their events alone, a fraction of the states: those follow from them.
    """

    def __init__(self, store: Store, version: str) -> None:
        self.store, self.version = store, version
        self._slots: dict[int, npt.NDArray[np.int64]] = {}  # by number of the commit
        self._journals: dict[int, int] = {}  # events since then, by number of the commit
        self._named = 0  # devices whose names are on the disk

    def read(self, params: Params, **options: Any) -> ModelVersion:
        """Return the model that the store holds, or a new one."""
        ModelVersion(self.version, params, **options)  # refuses options that cannot be: they are no damage
        with named_damage(f"the state of version {self.version!r} in {self.store.folder}"):
            names = self.store.devices(self.version)
            states, journals = list[dict[str, Array]](), list[dict[str, Array]]()
            for number, content in self.store.parts(self.version):
                arrays = unpack_arrays(content)
                if "slots" in arrays:
                    before = self._slots.get(number, np.zeros(0, np.int64))
                    self._slots[number] = np.concatenate([before, arrays["slots"].astype(np.int64)])
                    states.append(arrays)
                else:
                    self._journals[number] = len(arrays["rows"])
                    journals.append(arrays)
            known = names[: int(states[-1]["count"][0])] if states else names
            self.model = ModelVersion.restored(self.version, params, states, known, **options)
            for arrays in journals:
                self.model.replay(arrays, names)
            if len(self.model.devices) != len(names):
                raise InputError("damaged", "a device is missing")
        self.model.stale = False
        self.model.journal = [] if states else None
        self._named = len(self.model.devices)
        return self.model

    def write(self, number: int) -> None:
        """Write what has changed; `settle` then says that it is on the disk."""
        slots, kept = self.model.changed(), dict(self._slots)
        events = -1 if self.model.journal is None else sum(len(rows) for _, rows in self.model.journal)
        known = sum(self._journals.values()) + events
        if events >= 0 and known < REPEATED * len(slots) and len(self._journals) < JOURNALS:
            self.store.put_part(self.version, number, array_pieces(self.model.events()))
            self._put_names()
            self._written = kept, {**self._journals, number: events}
            return
        while kept and len(kept[last := max(kept)]) < 2 * len(slots):
            taken = kept.pop(last)
            slots = np.union1d(slots, taken) if kept else np.arange(len(self.model.devices))
        if not self._slots:
            slots = np.arange(len(self.model.devices))
        for gone in {*self._slots, *self._journals} - set(kept):
            self.store.drop_part(self.version, gone)
        for first in range(0, len(slots), PIECE) or [0]:
            pieces = array_pieces(self.model.rows(slots[first : first + PIECE]))
            self.store.put_part(self.version, number, pieces)
        self._put_names()
        self._written = {**kept, number: slots}, {}

    def _put_names(self) -> None:
        if fresh := self.model.devices[self._named :]:
            self.store.put_devices(self.version, self._named, fresh)

    def settle(self) -> None:
        """Take what was written for what is on the disk."""
        (self._slots, self._journals), self._named = self._written, len(self.model.devices)
        if self._journals:
            self.model.stale = False
        else:
            self.model.settle()
        self.model.journal = []
