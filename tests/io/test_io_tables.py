"""Parquet and Arrow files in and out: the same log, the same decisions, and files that cannot be right."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import tcuq
from tcuq.io import InputNote, read_decisions, read_log, write_log
from tcuq.io.logs import read_parts

pa = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow: pip install pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ENDINGS = ("parquet", "arrow", "feather")


def make_log(count: int = 600, kind: Any = np.float32, **more: Any) -> tcuq.Log:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(3, 0.4), count)
    features: Any = rng.normal(size=(count, 4))
    if kind == np.int8:
        probs, features = np.round(probs * 255) - 128, np.clip(features * 20, -128, 127)
    else:
        more.pop("feature_scale", None), more.pop("feature_zero_point", None)
    where = np.arange(count)
    return tcuq.Log(
        probs.astype(kind),
        features.astype(kind),
        rng.integers(-1, 3, count),
        where // 100,
        (where // 50) % 3,
        **more,
    )


def same_log(a: tcuq.Log, b: tcuq.Log) -> None:
    for name in ("probs", "features", "labels", "segments", "kinds"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype and np.array_equal(left, right), name
    assert a.names == b.names
    assert (a.feature_scale, a.feature_zero_point) == (b.feature_scale, b.feature_zero_point)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8])
def test_a_log_comes_back_as_it_was(tmp_path: Path, ending: str, kind: Any) -> None:
    log = make_log(kind=kind, names=["a", "b", "c"], feature_scale=0.05, feature_zero_point=-3)
    write_log(tmp_path / f"log.{ending}", log)
    same_log(read_log(tmp_path / f"log.{ending}"), log)


def columns_of(log: tcuq.Log) -> dict[str, Any]:
    assert log.features is not None
    columns: dict[str, Any] = {f"p{i}": log.probs[:, i] for i in range(3)}
    columns |= {f"f{i}": log.features[:, i] for i in range(4)}
    return columns | {"label": log.labels, "segment": log.segments, "shifted": log.kinds}


def lists_of(log: tcuq.Log, made: Any) -> dict[str, Any]:
    assert log.features is not None
    columns: dict[str, Any] = {"probs": pa.array(log.probs.tolist(), made(pa.float32()))}
    columns["features"] = pa.array(log.features.tolist(), made(pa.float32()))
    return columns | {"labels": log.labels, "segments": log.segments, "shifted": log.kinds}


LAYOUTS = {
    "columns": columns_of,
    "lists": lambda log: lists_of(log, pa.list_),
    "large lists": lambda log: lists_of(log, pa.large_list),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_and_lists_in_many_pieces(tmp_path: Path, layout: str, ending: str) -> None:
    log = make_log()
    table, path = pa.table(LAYOUTS[layout](log)), tmp_path / f"log.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=70)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:  # a stream, not a file
            writer.write_table(table, max_chunksize=70)
    same_log(read_log(path), log)


def test_the_convention_is_that_of_csv(tmp_path: Path) -> None:
    log = make_log(80, np.float64)
    columns = {"time": np.arange(80), **columns_of(log), "f1_score": np.ones(80)}
    names = list(columns)
    rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    text = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows)])
    (tmp_path / "log.csv").write_text(text)
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    said = []
    for ending in ("csv", "parquet"):
        with pytest.warns(InputNote) as seen:
            found = read_log(tmp_path / f"log.{ending}")
        same_log(found, log)
        said.append(str(seen[0].message).partition(": ")[2])
    assert said == ["columns 'time', 'f1_score' are not used."] * 2


BAD = {
    "lists of other lengths": ("value", {"probs": [[0.5, 0.5], [1.0]]}),
    "no list": ("missing", {"probs": [[0.5, 0.5], None]}),
    "no label": ("missing", {"p0": [0.5], "p1": [0.5], "label": pa.array([None], pa.int64())}),
    "a label by name": ("value", {"p0": [0.5], "p1": [0.5], "label": ["cat"]}),
    "no number": ("value", {"p0": ["x"], "p1": ["y"]}),
    "no posterior": ("value", {"p0": [None], "p1": [0.5]}),
    "a gap": ("missing", {"p0": [0.5], "p2": [0.5]}),
    "none": ("missing", {"prob": [[0.5, 0.5]]}),
    "both": ("conflict", {"p0": [0.5], "p1": [0.5], "probs": [[0.5, 0.5]]}),
    "no rows": ("missing", {"p0": pa.array([], pa.float32())}),
    "pictures": ("limit", {"p0": [0.5], "p1": [0.5], "features": [[0.0] * 257]}),
    "too little": ("value", {"p0": [0.5], "p1": [0.4]}),
}


def in_batches(path: Path, first: Any) -> None:
    """Write posteriors of two classes, 500 rows at a time, the second one 0.5."""
    table = pa.table({"p0": first, "p1": np.full(len(first), 0.5)})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=500)


@pytest.mark.parametrize("name", BAD)
def test_tables_that_cannot_be_right_are_refused(tmp_path: Path, name: str) -> None:
    code, columns = BAD[name]
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    with refused(code) as caught:
        read_log(tmp_path / "log.parquet")
    assert str(caught.value).startswith(str(tmp_path / "log.parquet"))


def test_a_table_may_take_so_much_memory_and_no_more(tmp_path: Path) -> None:
    write_log(tmp_path / "log.parquet", make_log(5000))
    with refused("limit"):
        read_log(tmp_path / "log.parquet", max_bytes=10_000)
    write_log(tmp_path / "log.arrow", make_log(5000))
    with refused("limit"):
        read_log(tmp_path / "log.arrow", max_bytes=10_000)
    in_batches(tmp_path / "log.arrow", np.full(2000, 0.5))
    assert len(read_log(tmp_path / "log.arrow", max_bytes=32_000)) == 2000
    with refused("limit"):  # of all batches together
        read_log(tmp_path / "log.arrow", max_bytes=31_999)


def test_a_bad_row_has_its_number_in_the_whole_file(tmp_path: Path) -> None:
    first = np.full(2000, 0.5)
    first[777] = 0.2
    in_batches(tmp_path / "log.arrow", first)
    for read in (read_log, lambda path: list(read_parts(path))):
        with refused("value") as caught:
            read(tmp_path / "log.arrow")
        assert "log.arrow, row 777: probs sum to 0.7" in str(caught.value)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_files_are_one_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    write_log(path, make_log(200, names=["a", "b", "c"]))
    whole, draw = path.read_bytes(), random.Random(7)
    refused = 0
    for attempt in range(250):
        content = bytearray(whole)
        if attempt % 5 == 0:
            content = content[: draw.randrange(len(whole))]
        else:
            for _ in range(draw.choice((1, 2, 8))):
                end = len(content) - 1 - draw.randrange(min(1500, len(content)))
                content[draw.choice((end, draw.randrange(len(content))))] = draw.choice((0, 127, 128, 255))
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputNote)  # a damaged name is another column
            try:
                read_log(path)
            except ValueError as error:
                assert str(error).startswith(path.as_posix()) and "\n" not in str(error)
                refused += 1
    assert refused > 100


def test_decisions_with_names_and_without_accuracy(tmp_path: Path) -> None:
    params = tcuq.Params(classes=3, names=("cat", "dog", "owl"))
    steps = tcuq.Monitor(params).run(make_log(50).probs)
    made = tcuq.io.Decisions(steps, 0, fingerprint=params.fingerprint, names=params.names)
    tcuq.io.write_decisions(tmp_path / "d.parquet", made)
    table = pq.read_table(tmp_path / "d.parquet")
    assert table["expected_accuracy"].null_count == 50
    assert set(table["answer_name"].to_pylist()) == {"cat", "dog", "owl"}
    again = read_decisions(tmp_path / "d.parquet")
    assert again.names == params.names and np.isnan(again.steps["expected_accuracy"]).all()
    pq.write_table(table.drop_columns(["risk"]), tmp_path / "d.parquet")
    with refused("missing"):
        read_decisions(tmp_path / "d.parquet")
    odd = table.set_column(table.column_names.index("reason"), "reason", pa.array(["luck"] * 50))
    pq.write_table(odd, tmp_path / "d.parquet")
    with refused("value", "reason"):
        read_decisions(tmp_path / "d.parquet")


@pytest.mark.parametrize("args", [["fit", "dev.parquet", "-o", "m.json"], ["run", "m.json", "dev.feather"]])
def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path, args: list[str]) -> None:
    tcuq.Params(classes=2).save(tmp_path / "m.json")
    (tmp_path / "dev.parquet").touch()
    (tmp_path / "dev.feather").touch()
    code = f"import sys; sys.modules['pyarrow'] = None; from tcuq.cli import main; sys.exit(main({args}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "needs the package pyarrow; install it with: pip install pyarrow" in done.stderr
