# SPDX-License-Identifier: MIT
"""What devices may send, and what folders of live runs and fleets may hold, at its limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Events
from tcuq_watch.fleet import Fleet

PARAMS = Params(classes=2, warmup=0)


def test_devices_of_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "devices=2")
    state = Monitor(PARAMS).save()
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        fleet.take(Events(["a", "b", "c", "c", "a"], [0] * 5, [0, 0, 0, 1, 1], [[0.5, 0.5]] * 5))
        assert fleet.refused == {"too many devices": 2}
        with refused("limit"):
            fleet.adopt("d", state, 0, 3)
        fleet.adopt("a", state, 0, 3)
    with Fleet.open_read(tmp_path / "fleet") as fleet:
        assert fleet.refused["too many devices"] == 2
