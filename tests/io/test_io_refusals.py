# SPDX-License-Identifier: MIT
"""Files that cannot be right: each is refused in one line that names the file, the place and the value."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq import Log, Monitor, Params
from tcuq.io import Decisions, read_decisions, read_log, rows, tables, write_decisions, write_log
from tcuq.io.decisions import COLUMNS

PARAMS = Params(classes=3, names=("cat", "dog", "owl"))
PROBS = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]])


def decided(path: Path) -> Path:
    made = Decisions(Monitor(PARAMS).run(PROBS), 0, fingerprint=PARAMS.fingerprint, names=PARAMS.names)
    write_decisions(path, made)
    return path


@pytest.mark.parametrize("answer", ["inf", "-inf", "nan", "1e300", "-1", "0.5"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_answer_that_is_no_class_is_refused_with_its_place(kind: str, answer: str, tmp_path: Path) -> None:
    path = decided(tmp_path / f"d.{kind}")
    if kind == "csv":
        header, first, *rest = path.read_text().splitlines()
        cells = first.split(",")
        cells[header.split(",").index("answer")] = answer
        path.write_text("\n".join([header, ",".join(cells), *rest]) + "\n")
    else:
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        place = table.column_names.index("answer")
        values = arrow.array([float(answer), 2.0, 1.0])
        parquet.write_table(table.set_column(place, "answer", values), path)
    with refused("value") as error:
        read_decisions(path)
    assert "\n" not in str(error.value)


def test_columns_of_decisions_with_other_types(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = decided(tmp_path / "d.parquet")
    table = parquet.read_table(path)

    def changed(name: str, values: Any) -> Path:
        parquet.write_table(table.set_column(table.column_names.index(name), name, values), path)
        return path

    with refused("value"):
        read_decisions(changed("risk", arrow.array(["a", "b", "c"])))
    with refused("value"):
        read_decisions(changed("reason", arrow.array([1, 2, 3])))
    coded = changed("reason", table["reason"].combine_chunks().dictionary_encode())
    assert read_decisions(coded).steps["reason"].tolist() == [255] * 3
    parquet.write_table(table.slice(0, 0), path)
    with refused("missing"):
        read_decisions(path)
    (tmp_path / "d.csv").write_text(",".join([*COLUMNS, "risk"]) + "\n")
    with refused("conflict"):
        read_decisions(tmp_path / "d.csv")


def test_names_of_other_classes_are_refused_where_they_are_read(tmp_path: Path) -> None:
    for ending in ("npz", "parquet"):
        write_log(tmp_path / f"log.{ending}", Log(PROBS, names=("cat", "owl", "dog")))
        with refused("value"):
            read_log(tmp_path / f"log.{ending}", params=PARAMS)


def test_a_line_that_is_too_wide_nests_deeply_or_has_no_end(tmp_path: Path) -> None:
    def refused(line: str) -> str:
        (tmp_path / "log.jsonl").write_text(line + "\n")
        with pytest.raises(ValueError, match=r"log\.jsonl, line 1: ") as error:
            read_log(tmp_path / "log.jsonl")
        return str(error.value)

    assert "probs has 1001 values, expected at most 1000" in refused(json.dumps({"probs": [0.001] * 1001}))
    wide = {"probs": [0.5, 0.5], "features": [1.0] * 257}
    assert "features has 257 values, expected at most 256" in refused(json.dumps(wide))
    for depth in (3, 300, 100_000):
        message = refused('{"probs": ' + "[" * depth + "]" * depth + "}")
        assert "\n" not in message and len(message) < 300
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert rows.short(deep) == "a deeply nested value"


def test_an_npz_of_inputs_says_which_command_wants_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 2)), y=np.zeros(3))
    with refused("missing"):
        read_log(tmp_path / "x.npz")
    np.savez(tmp_path / "s.npz", probs=PROBS, features=np.zeros((3, 1), np.int8), feature_scale=[1.0, 2.0])
    with refused("value"):
        read_log(tmp_path / "s.npz")


def test_memory_that_runs_out_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is not called damaged because the machine is small."""

    def full(*args: Any, **named: Any) -> None:
        raise MemoryError

    np.savez(tmp_path / "x.npz", probs=PROBS)
    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "read_array", full)
        with pytest.raises(MemoryError):
            read_log(tmp_path / "x.npz")
    with monkeypatch.context() as patch:
        patch.setattr(zipfile, "ZipFile", full)
        with pytest.raises(MemoryError):
            read_log(tmp_path / "x.npz")
    with pytest.raises(MemoryError), tables._whole("parquet", "x"):
        full()
    with pytest.raises(OSError, match="Input/output error: 'x'"), tables._whole("parquet", "x"):
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_log_of_posteriors_alone_is_a_table_too(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_log(tmp_path / f"log.{ending}", Log(PROBS))
    again = read_log(tmp_path / f"log.{ending}")
    assert again.features is None and again.labels is None and np.array_equal(again.probs, PROBS)


def test_one_sigmoid_output_has_no_sum(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("p\n0.25\n1.5\n")
    with refused("value"):
        read_log(tmp_path / "one.csv")
    np.savez(tmp_path / "none.npz", probs=np.zeros((0, 2)))
    with refused("missing"):
        read_log(tmp_path / "none.npz")


FORMULAS = ("=1+cmd|' /C calc'!A0", "-1+cmd|x", "+1", "@SUM(1)", "'=x", "'n", "n", '="a,b"')


def test_names_that_a_table_program_would_run_are_neutral_and_come_back(tmp_path: Path) -> None:
    steps = Monitor(Params(classes=8)).run(np.eye(8) * 0.9 + 0.0125)
    write_decisions(tmp_path / "d.csv", Decisions(steps, names=FORMULAS))
    with (tmp_path / "d.csv").open(newline="", encoding="utf-8") as file:
        cells = [row["answer_name"] for row in csv.DictReader(file)]
    assert len(set(cells)) > 2 and not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    names = read_decisions(tmp_path / "d.csv").names
    assert names is not None
    assert {name for name in names if name} == {FORMULAS[step] for step in steps["answer"].tolist()}


@pytest.mark.parametrize("name", ['"' + "x" * 200_000 + '"', '"a"\rb'])
def test_a_line_of_decisions_that_no_csv_has_is_named(name: str, tmp_path: Path) -> None:
    path = decided(tmp_path / "d.csv")
    header, first, *rest = path.read_bytes().decode().splitlines()
    cells = first.split(",")
    cells[header.split(",").index("answer_name")] = name
    path.write_bytes("\n".join([header, ",".join(cells), *rest, ""]).encode())
    with refused("damaged"):
        read_decisions(path)
