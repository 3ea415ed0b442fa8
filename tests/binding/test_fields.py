"""Parameters as Python hands them to the core: a dict of integers, refused by name, value and range."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tcuq import SIGNALS, Alarm, AlarmSide, EvidenceHead, Feedback, Params, Sight
from tcuq._core import Core
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.made import ROWS, Row
from tcuq.monitor.signals import PROFILES

EVIDENCE = EvidenceHead({"doubt": 1.0}, [0.0, 0.0, 0.0])
USED = tuple(name for name in (*PROFILES["paper"], "odds") if name != "instability")
INSTANT = InstantHead({"doubt": 1.0}, 0.0)
SIGHT = Sight([0.0] * 4, [1.0] * 4, [[0.0] * 4] * 3, [1.0] * 10, ("dark", "noise"), reach=300)
HEADS = ("evidence", "instant", "sight", "feedback")


def fields(seeing: bool = False, **changes: Any) -> dict[str, Any]:
    """Return parameters with all heads that may stand beside each other: evidence or sight."""
    heads: dict[str, Any] = {"evidence": EVIDENCE}
    if seeing:
        heads = {"sight": SIGHT, "alarm": Alarm(rise=AlarmSide(0.0, 2.0))}
    params = Params(classes=3, signals=USED, instant=INSTANT, feedback=Feedback(), **heads)
    return {**params.integers(), **changes}


def test_the_dict_holds_the_fields_of_the_core() -> None:
    for part, given in (("params", fields()), *((head, fields(head == "sight")[head]) for head in HEADS)):
        rows = {row.name for row in ROWS if row.part == part}
        assert set(given) == rows - {"lag_count", "fingerprint"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.part} {row.name}")
def test_a_number_outside_its_range_is_named_with_it(row: Row) -> None:
    if row.name in ("lag_count", "fingerprint", "centers", "class_mean") or row.kind == "part":
        return  # counted, computed, bytes
    expected = f"expected {row.low}" if row.low == row.high else f"expected {row.low} to {row.high}"
    for value in (row.low - 1, row.high + 1, 10**30):
        changed = fields(row.part == "sight")
        target = changed[row.part] if row.part in HEADS else changed
        shown = f"{row.part} {row.name}" if row.part in HEADS else row.name
        if row.kind == "one":
            target[row.name] = value
        else:
            target[row.name][1] = value
            shown += "[1]"
        with pytest.raises(ValueError) as refused:
            Core(changed)
        assert str(refused.value) == f"{shown} is {value}, {expected}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slope": 90, "steep_slope": 70}, "slope is 90, expected at most steep_slope"),
        ({"lags": [1, 4, 2]}, "lags is [1, 4, 2], expected ascending numbers from 1 to 64"),
        ({"lag_weights": [1, 2]}, "lag_weights has 2 entries, expected 3"),
        ({"lags": [1] * 65}, "lags has 65 entries, expected at most 64"),
        ({"coef": [0] * 14}, f"coef has 14 entries, expected {len(SIGNALS)}"),
        ({"centers": b""}, "centers is b'', expected given exactly when the signal distance is used"),
        ({"centers": b"1"}, "centers has 1 entries, expected 0"),
        (
            {"feedback": {**Feedback().integers(), "error_num": 1}},
            f"feedback is {Feedback().integers() | {'error_num': 1}}, expected error_num less than "
            "error_den, and a rise_cap up to 2^28",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Core(fields(**changes))
    assert str(refused.value) == message


def test_what_is_missing_or_no_number() -> None:
    for name in fields():
        if name not in (*HEADS, "centers"):
            with pytest.raises(KeyError, match=name):
                Core({key: value for key, value in fields().items() if key != name})
    with pytest.raises(TypeError):
        Core(fields(classes="3"))
    for head in HEADS:
        with pytest.raises(TypeError, match=f"{head} must be a dict or None"):
            Core(fields(**{head: 7}))


SHRINKING = """
import gc
from tcuq import EvidenceHead, Params
from tcuq._core import Core

head = EvidenceHead({"doubt": 1.0}, [0.0, 0.0, 0.0])
fields = Params(classes=3, signals=("doubt", "odds"), lags=(), evidence=head).integers()

class Taker:
    def __index__(self):
        fields["evidence"] = None
        gc.collect()
        return 65536

head = dict(fields["evidence"], clip=Taker())
fields["evidence"] = head
del head
print(Core(fields).counters())
"""


def test_a_head_that_is_taken_away_while_it_is_read() -> None:
    """Reading a number may run Python code, which may drop the last reference to the head."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SHRINKING], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "(0, 0, 0, 0, 0, 0)\n"), done.stderr
