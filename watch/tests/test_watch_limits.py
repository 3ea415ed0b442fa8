# SPDX-License-Identifier: MIT
"""What devices may send, and what folders of live runs and fleets may hold, at its limits."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Events
from tcuq_watch.fleet import Fleet
from tcuq_watch.live.folder import Folder

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


def test_a_fleet_unpacks_nothing(tmp_path: Path) -> None:
    from tcuq_watch.fleet.store import read_arrays

    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros(10_000_000, np.uint8))
    with refused("damaged"):
        read_arrays(path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    with refused("damaged"):
        read_arrays(path)


def test_heads_of_sessions_and_fleets(tmp_path: Path) -> None:
    for name in ("session.json", "HEAD"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)  # no disk has it: nothing of it may be read
    with refused("damaged"):
        Folder(tmp_path, PARAMS)
    with refused("limit"):
        Fleet.open_read(tmp_path)
