"""What a reader does with input that is too large, and with columns that it does not know."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from tcuq.base.limits import read_limited
from tcuq.io import InputNote, Limits, read_decisions, read_log

MAX_LINE = Limits().line
GOOD = '{"probs": [0.5, 0.5], "label": 1}\n'


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def bomb(rows: int, claimed: int | None = None, key: str = "probs") -> bytes:
    """Return an NPZ whose array is all zeros, or whose header claims more rows than there are."""
    header = io.BytesIO()
    shape = (rows if claimed is None else claimed, 10)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(f"{key}.npy", "w", force_zip64=True) as member,
    ):
        member.write(header.getvalue())
        for _ in range(rows * 80 // 1_000_000):
            member.write(bytes(1_000_000))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_line_that_is_too_long_is_a_bad_line_and_is_never_held(
    tmp_path: Path, kind: str, ending: str
) -> None:
    row = GOOD if kind == "jsonl" else "0.5,0.5,1\n"
    head = "" if kind == "jsonl" else "p0,p1,label\n"
    path = tmp_path / f"a.{kind}"
    path.write_text(head + row + "[" * (40 << 20) + ending + ("" if not ending else row))
    with refused("limit") as error:
        read_log(path)
    assert error.value.where.endswith(f"line {2 + (kind == 'csv')}")
    told: list[str] = []
    tracemalloc.start()
    log = read_log(path, on_bad=told.append)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        len(log) == (2 if ending else 1)
        and len(told) == 1
        and f"TCUQ_LIMITS=line={41 if ending else 40}M" in told[0]
    )
    assert most < 8 * MAX_LINE  # the line has 40 of them


def test_a_long_header_or_a_long_line_of_decisions(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("p0," * MAX_LINE)
    for read in (read_log, read_decisions):
        with refused("limit"):
            read(path)


def test_an_npz_that_unpacks_to_too_much_is_refused_by_its_headers(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(bomb(2_000_000))
    assert path.stat().st_size < 2_000_000  # 160 MB of zeros
    tracemalloc.start()
    with refused("limit"):
        read_log(path, max_bytes=100_000_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5_000_000


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for claimed in (10**6, 10**15, 2**61):
        path.write_bytes(bomb(100_000, claimed))
        with refused("damaged"):
            read_log(path)


def test_arrays_that_are_not_used_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(npz(probs=np.full((3, 2), 0.5), notes=np.array([{}], dtype=object)))
    with pytest.warns(InputNote, match=r"a\.npz: array 'notes' is not used\.$"):
        assert len(read_log(path)) == 3


def test_unknown_columns_are_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,p0,p1,lable\n12:30,0.5,0.5,1\n12:31,0.25,0.75,1\n")
    with pytest.warns(InputNote, match=r"'time', 'lable' are not used. Is 'lable' meant to be 'label'\?"):
        log = read_log(tmp_path / "a.csv")
    assert log.labels is None and log.probs.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    lines = ['{"probs": [0.5, 0.5], "t": 1}', '{"probs": [0.5, 0.5], "t": 2, "who": {"a": []}}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.warns(InputNote) as seen:
        assert len(read_log(tmp_path / "a.jsonl")) == 2
    assert [str(note.message) for note in seen] == [f"{tmp_path / 'a.jsonl'}: key 't' is not used."]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("a.jsonl", '{"prob": [0.5, 0.5]}\n', "missing"), ("a.csv", "P0,P1\n0.5,0.5\n", "missing")],
)
def test_a_typo_in_what_is_needed_is_an_error_with_a_guess(
    tmp_path: Path, name: str, content: str, code: str
) -> None:
    (tmp_path / name).write_text(content)
    with refused(code):
        read_log(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.jsonl"])
def test_a_file_as_large_as_the_limit_is_read_and_one_byte_more_is_not(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    texts = {"a.csv": "p0,p1\n" + "0.5,0.5\n" * 40, "a.jsonl": GOOD * 40}
    path.write_bytes(texts[name].encode() if name in texts else npz(probs=np.full((40, 2), 0.5)))
    size = path.stat().st_size
    assert len(read_log(path, limits=Limits(file=size))) == 40
    with refused("limit"):
        read_log(path, limits=Limits(file=size - 1))
    assert len(read_limited(path, "file", Limits(file=size))) == size
    for most in (size, size - 1):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
        with refused("limit") if most < size else nullcontext():
            assert len(read_log("-", name[2:], limits=Limits(file=most))) == 40


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.jsonl"])
def test_a_label_beyond_the_classes_is_refused(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "a.npz", probs=np.full((2, 2), 0.5), labels=[1, 2])
    (tmp_path / "a.csv").write_text("p0,p1,label\n0.5,0.5,1\n0.5,0.5,2\n")
    (tmp_path / "a.jsonl").write_text(GOOD + GOOD.replace("1}", "2}"))
    with refused("value", "label" if name != "a.npz" else None):
        read_log(tmp_path / name)
