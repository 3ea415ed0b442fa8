"""What is made of the schema is up to date, and the reference has the same ranges in words of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from places import ROOT

from tcuq import Alarm, AlarmSide, EvidenceHead, Feedback, Params
from tcuq._core import Core
from tcuq.monitor.heads import InstantHead, Sight
from tcuq.monitor.made import ROWS, Row
from tcuq.reference import Params as Reference

SIGNALS = ("divergence", "flips", "doubt", "odds", "disbelief")
WHOLE = Params(
    classes=3,
    signals=SIGNALS,
    horizon=16,
    evidence=EvidenceHead({"odds": 1.0}, [0.0] * 3),
    instant=InstantHead({"odds": 1.0}),
    feedback=Feedback(max_error=0.5),
    slope=0.0,
)
SEEING = WHOLE.replace(
    evidence=None,
    sight=Sight([0.0] * 3, [1.0] * 3, [[0.0] * 3] * 3, [1.0] * 6, gauges=["level"]),
    alarm=Alarm(rise=AlarmSide(0.0, 1.5, cap=64.0, clear=1.0)),
)
NUMBERS = [row for row in ROWS if row.kind == "one" and row.name not in ("lag_count", "fingerprint")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tools/schema.py reads TOML with a module of 3.11")
def test_what_is_made_of_the_schema_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/schema.py", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def accepted(kind: Any, fields: dict[str, Any]) -> bool:
    """Return whether parameters are taken."""
    try:
        kind(fields)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: f"{row.part} {row.name}")
def test_core_and_reference_accept_the_same_numbers(row: Row) -> None:
    """Just inside and just outside each range, and what rules between parameters make of it."""
    for value in (row.low - 1, row.low, row.low + 1, row.high - 1, row.high, row.high + 1):
        fields = (SEEING if row.part == "sight" else WHOLE).integers()
        (fields if row.part == "params" else fields[row.part])[row.name] = value
        assert accepted(Core, fields) == accepted(Reference.of, fields), value
