# SPDX-License-Identifier: MIT
"""Names of devices that a table program would run: neutral in CSV, and read back as they were."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tcuq_watch.cli.fleet_labels import asked_text, read_labels

NAMES = ("=1+cmd|' /C calc'!A0", "-1+cmd|x", "+1", "@SUM(1)", "'=x", "'n", "n", '="a,b"')


START = ("=", "+", "-", "@", "\t", "\r")


def test_labels_come_back_with_names_of_devices_and_classes(tmp_path: Path) -> None:
    about = {"boot": 0, "seq": 1, "risk": 0.5}
    rows = [{"device": name, "version": name, "answer_name": name, **about} for name in NAMES]
    text = asked_text(rows)  # type: ignore[arg-type]
    filled = io.StringIO()
    given = list(csv.DictReader(io.StringIO(text, newline="")))
    writer = csv.DictWriter(filled, given[0])
    writer.writeheader()
    for row in given:
        assert not any(row[key].startswith(START) for key in ("device", "version", "answer_name"))
        writer.writerow({**row, "label": row["answer_name"]})
    (tmp_path / "l.csv").write_text(filled.getvalue(), encoding="utf-8")
    found = read_labels(tmp_path / "l.csv")
    assert [(row["device"], row["version"], row["label"]) for row in found] == [(name,) * 3 for name in NAMES]
