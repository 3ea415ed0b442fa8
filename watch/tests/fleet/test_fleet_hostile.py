"""The folder of a fleet made by a stranger: nothing outside is removed, read or written, nothing hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleet_runs import folder_in_memory
from refusals import refused
from streams import int8_stream

from tcuq import Params
from tcuq.cli import main
from tcuq_watch.fleet import Events, Fleet, store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and locks of POSIX")
PARAMS = Params(classes=3, warmup=0)
Capsys = pytest.CaptureFixture[str]
MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with folder_in_memory(tmp_path_factory.mktemp("fleet")) as folder:
        yield folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a fleet with a file of state and one of decisions, and labels to tell."""
    monkeypatch.setattr(store, "LARGE", 0)
    monkeypatch.setattr(store, "ROLL", 4)
    probs, _ = int8_stream(8, 3, 0)
    with Fleet(PARAMS, tmp_path / "f", labels_per_day=5, keep_events=True) as fleet:
        fleet.take(Events(["a"] * 8, [0] * 8, range(8), probs, times=[1.7e9] * 8), position=8)
    return tmp_path / "f"


def commands(folder: Path) -> dict[str, list[str]]:
    """Return all commands that read a folder."""
    out, params = folder.parent / "out", folder.parent / "params.json"
    PARAMS.save(params)
    return {
        "status": ["fleet", "status", str(folder)],
        "page": ["fleet", "page", str(folder), "-o", f"{out}.html"],
        "labels": ["fleet", "labels", str(folder), "-o", f"{out}.csv"],
        "merge": ["live", str(params), str(folder), "--merge", f"{out}.npz"],
    }


def journal(database: Path, names: Path | None) -> None:
    """Leave a journal of SQLite without pages, ready to be rolled back, beside a database."""
    size, pages = 16384, database.stat().st_size // 16384
    content = (MAGIC + struct.pack(">5I", 0, 0, pages, 512, size)).ljust(512, b"\0")
    if names is not None:
        name = os.fsencode(names)
        content += struct.pack(">I", (1 << 30) // size + 1) + name
        content += struct.pack(">2I", len(name), sum(name)) + MAGIC
    Path(f"{database}-journal").write_bytes(content)


@pytest.mark.parametrize("command", ["status", "page", "labels", "merge", "write", "exchange"])
def test_a_journal_removes_no_file_elsewhere(command: str, folder: Path, capsys: Capsys) -> None:
    theirs = folder.parent / "theirs.txt"
    theirs.write_text("kept")
    journal(folder / store.DATABASE, theirs)
    if command in commands(folder):
        assert main(commands(folder)[command]) == 2 and capsys.readouterr().err.count("\n") == 1
    else:
        with refused("unsupported"):
            Fleet(PARAMS, folder) if command == "write" else store.exchange(folder).execute("SELECT 1")
    assert theirs.read_text() == "kept"


def told(folder: Path, capsys: Capsys) -> set[str]:
    """Run all commands that read a folder; each ends with 0, or with 2 and one line. Return these lines."""
    lines = set()
    for words in commands(folder).values():
        status, error = main(words), capsys.readouterr().err
        assert (status, error.count("\n")) in ((0, 0), (0, 1), (2, 1)) and "bug" not in error, error
        lines |= {error} if status else set()
    return lines


def changed(folder: Path, *orders: str) -> None:
    """Change a database by hand."""
    with contextlib.closing(sqlite3.connect(folder / store.DATABASE, isolation_level=None)) as sql:
        sql.create_function("crc", 1, lambda content: zlib.crc32(content.encode()))
        for order in orders:
            sql.execute(order)


ENDLESS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n)"
SCHEMAS = {
    "view": ("DROP TABLE head", f"CREATE VIEW head AS {ENDLESS} SELECT k AS content, 0 AS crc FROM n"),
    "trigger": ("CREATE TRIGGER t AFTER INSERT ON request BEGIN DELETE FROM part; END",),
    "column": ("ALTER TABLE head ADD COLUMN more TEXT AS (hex(zeroblob(1000000000)))",),
    "index": ("CREATE INDEX more ON part (version)",),
    "table": ("DROP TABLE mark",),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_other_tables_than_ours_are_refused_at_once(name: str, folder: Path, capsys: Capsys) -> None:
    changed(folder, *SCHEMAS[name])
    lines = told(folder, capsys)
    assert lines and all("tables are not those" in line for line in lines)
    with refused("damaged"):
        Fleet(PARAMS, folder)


def test_pages_that_lead_in_circles_are_refused_at_once(folder: Path, capsys: Capsys) -> None:
    changed(folder, f"INSERT INTO mark {ENDLESS} SELECT k, 0, 0 FROM n LIMIT 20000")
    path = folder / store.DATABASE
    with contextlib.closing(sqlite3.connect(path)) as sql:
        [root] = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = 'mark'").fetchone()
    content = bytearray(path.read_bytes())
    page, own = 16384 * (root - 1), struct.pack(">I", root)
    (cells,) = struct.unpack_from(">H", content, page + 3)
    assert content[page] == 5 and cells > 3  # a page of pages
    for (cell,) in struct.iter_unpack(">H", content[page + 12 : page + 12 + 2 * cells]):
        content[page + cell : page + cell + 4] = own
    path.write_bytes(content)
    lines = told(folder, capsys)
    assert lines and all("is damaged" in line for line in lines)


VALUES = ("zeroblob(0)", "zeroblob(70000)", "NULL", "-1", "'x'", "1e999", "9223372036854775807")
COLUMNS = {
    "head": ("content", "crc"), "version": ("name", "params"), "device": ("names", "crc", "first"),
    "part": ("version", "number", "file", "content", "crc"), "label": ("name", "content"),
    "file": ("name", "first", "last", "bytes", "until"), "mark": ("label",),
}  # fmt: skip


@pytest.mark.parametrize("table", COLUMNS)
def test_any_value_in_any_place_is_one_line(table: str, folder: Path, capsys: Capsys) -> None:
    said = set()
    changed(folder, "INSERT INTO mark VALUES (2, 1, 0)")
    for column in COLUMNS[table]:
        for value in VALUES:
            copy = folder.parent / f"{column}-{value}"
            shutil.copytree(folder, copy)
            with contextlib.suppress(sqlite3.IntegrityError):
                changed(copy, f"UPDATE {table} SET {column} = {value}")
            said |= told(copy, capsys)
    assert said


HEADS = ('[]', '{"format":"x"}', *(f'{{"format":"tcuq fleet","{name}":{value}}}' for name, value in (
    ("commit", '"x"'), ("refused", "3"), ("refused", '{"a":"b"}'), ("about", "5"), ("hold", '"x"'),
    ("bridge", "1e9"), ("about", '{"names":7}'), ("position", "[" * 60 + "]" * 60))))  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
def test_any_head_with_a_good_checksum_is_one_line(head: str, folder: Path, capsys: Capsys) -> None:
    changed(folder, f"UPDATE head SET content = '{head}', crc = crc('{head}')")
    told(folder, capsys)


FILES: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda place, theirs: place.symlink_to(theirs),
    "hard link": lambda place, theirs: place.hardlink_to(theirs),
    "pipe": lambda place, _: os.mkfifo(place),
    "large": lambda place, _: os.truncate(os.open(place, os.O_CREAT | os.O_WRONLY), 1 << 32),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("where", ["fleet.sqlite", "-journal", "-wal", "-shm", "LOCK", "state", "parquet"])
def test_files_of_other_kinds_are_refused(kind: str, where: str, folder: Path) -> None:
    theirs = folder.parent / "theirs"
    theirs.write_bytes(b"kept" * 5000)
    found = {"state": "states/*", "parquet": "decisions/*", "LOCK": "LOCK"}.get(where, store.DATABASE)
    [place] = folder.glob(found)
    if where.startswith("-"):
        place = Path(f"{place}{where}")
    place.unlink(missing_ok=True)
    FILES[kind](place, theirs)
    code = "limit" if kind == "large" else "unsupported"
    code = "missing" if (where, kind) == (store.DATABASE, "pipe") else code
    with refused(code), Fleet.open_read(folder) as fleet:
        [*fleet.decisions()]
    if where != "parquet":  # which a writer replaces, or removes
        with pytest.raises(ValueError):
            Fleet(PARAMS, folder)
    assert theirs.read_bytes() == b"kept" * 5000


@pytest.mark.parametrize("name", ["decisions", "states"])
def test_a_link_to_a_folder_elsewhere_is_refused(name: str, folder: Path) -> None:
    theirs = (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(theirs)
    (theirs / "theirs").write_text("kept")
    for look in (Fleet.open_read, lambda folder: Fleet(PARAMS, folder)):
        with refused("unsupported"):
            look(folder)
    assert (theirs / "theirs").read_text() == "kept"


@pytest.mark.parametrize("name", ["../../theirs", "/dev/zero", "0-0.state/../../LOCK", "\n.state", "", "."])
def test_a_name_in_the_database_leads_nowhere_else(name: str, folder: Path, capsys: Capsys) -> None:
    for order, words in (
        (f"UPDATE part SET file = '{name}'", "status"),
        (f"UPDATE file SET name = '{name}'", "merge"),
    ):
        copy = folder.parent / words
        shutil.copytree(folder, copy)
        changed(copy, order)
        assert main(commands(copy)[words]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "names the file" in error


def looked(folder: Path) -> bool:
    """Tell whether all of a folder can be read, as a user who may not write there."""
    with Fleet.open_read(folder) as fleet:
        return bool(fleet.position == 8 and sum(map(len, fleet.decisions())) == 8)


@pytest.mark.parametrize("left", ["nothing", "a log", "a journal"])
def test_a_folder_that_cannot_be_written_is_read_whatever_a_kill_left(left: str, folder: Path) -> None:
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    if left == "a log":
        with Fleet(PARAMS, folder) as fleet:
            fleet.refuse("broken line")
            fleet.commit()
            shutil.copytree(folder, copy, dirs_exist_ok=True)
        Path(f"{copy / store.DATABASE}-shm").unlink()
    if left == "a journal":
        journal(copy / store.DATABASE, None)
    assert looked(folder)  # all that is imported is there before the user changes
    for path in (folder.parent, copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            if os.getuid() == 0:
                os.setuid(65534)
            os._exit(0 if looked(copy) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    folder.parent.chmod(0o700)
    copy.chmod(0o700)


@pytest.mark.parametrize("left", ["nothing", "a log", "a log alone", "a journal"])
def test_looking_changes_nothing_whatever_a_kill_left(left: str, folder: Path, capsys: Capsys) -> None:
    copy = folder.parent / "copy"
    with Fleet(PARAMS, folder) as fleet:
        fleet.refuse("broken line")
        fleet.commit()
        if left.startswith("a log"):
            shutil.copytree(folder, copy)
    if not copy.exists():
        shutil.copytree(folder, copy)
    if left == "a log alone":
        Path(f"{copy / store.DATABASE}-shm").unlink()
    if left == "a journal":
        journal(copy / store.DATABASE, None)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert looked(copy) and not told(copy, capsys)
    with Fleet.open_read(copy) as fleet:
        assert fleet.refused["broken line"] == 1
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    with Fleet(PARAMS, copy) as fleet:
        assert fleet.position == 8
    assert not Path(f"{copy / store.DATABASE}-journal").exists()


def test_a_writer_that_comes_while_a_copy_is_made_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was copied may then be of two commits."""
    copied, copies = store.copied, []

    def disturbed(database: Path) -> sqlite3.Connection:
        copies.append(copied(database))
        with Fleet(PARAMS, folder) as fleet:
            fleet.refuse("broken line")
            fleet.commit()
        return copies[-1]

    monkeypatch.setattr(store, "copied", disturbed)
    with Fleet.open_read(folder) as fleet:
        assert len(copies) == 1 and fleet.refused["broken line"] == 1


def test_names_do_not_reach_a_terminal_as_they_are(folder: Path, capsys: Capsys) -> None:
    changed(folder, """UPDATE device SET names = '["\\u001b[2J\\n"]', crc = crc('["\\u001b[2J\\n"]')""")
    changed(folder, "UPDATE device SET names = CAST(names AS BLOB)")
    assert main(commands(folder)["status"]) == 0
    shown = capsys.readouterr().out
    assert "\\x1b[2J\\n" in shown and "\x1b" not in shown


def test_a_small_file_that_unpacks_to_far_too_much_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "file=1M")
    [path] = folder.glob("decisions/*")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path).take([0] * 50_000)
    parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 1 << 18
    with Fleet.open_read(folder) as fleet, refused("limit"):
        [*fleet.decisions()]


@pytest.mark.parametrize("name", ["decisions/theirs.csv", "states/theirs.csv", "decisions.csv"])
def test_a_folder_of_the_user_without_a_fleet_is_left_alone(name: str, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("kept")
    with refused("exists"):
        Fleet(PARAMS, tmp_path / "theirs")
    assert theirs.read_text() == "kept"
