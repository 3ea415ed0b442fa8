"""Decisions with the columns of version 0.3 are read as those of today."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from streams import int8_stream, learned_params

from tcuq import Monitor
from tcuq.io import Decisions, read_decisions, write_decisions

OLD = {"novelty": "look", "degradation": "severity"}


def decided() -> Decisions:
    params = learned_params()
    return Decisions(Monitor(params).run(int8_stream(300, 4, 0, seed=1)[0]), fingerprint=params.fingerprint)


@pytest.mark.parametrize("format", ["csv", "jsonl", "npz", "parquet"])
def test_columns_of_0_3_are_those_of_today(format: str, tmp_path: Path) -> None:
    decisions, path = decided(), tmp_path / f"decisions.{format}"
    assert "degradation" in decisions.steps.dtype.names
    write_decisions(path, decisions)
    if format == "npz":
        with np.load(path) as arrays:
            np.savez(path, **{OLD.get(name, name): arrays[name] for name in arrays})
    elif format == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        parquet.write_table(table.rename_columns([OLD.get(n, n) for n in table.column_names]), path)
    else:
        text = path.read_text()
        for new, old in OLD.items():
            text = (
                text.replace(f"{new},", f"{old},", 1)
                if format == "csv"
                else text.replace(f'"{new}"', f'"{old}"')
            )
        path.write_text(text)
    assert read_decisions(path).steps.tolist() == decisions.steps.tolist()


def test_a_reason_of_0_3_is_that_of_today_and_a_column_of_a_user_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    write_decisions(path, decided())
    first = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps({**first, "reason": "severity", "severity": "of a user"}) + "\n")
    with pytest.warns(Warning, match="severity"):
        found = read_decisions(path).steps
    assert found["reason"].tolist() == [5] and found["degradation"] == pytest.approx(
        first["degradation"], abs=1e-5
    )
