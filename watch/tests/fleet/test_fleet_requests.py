# SPDX-License-Identifier: MIT
"""Requests in a fleet's folder: what a killed process leaves there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

from tcuq_watch.fleet import requests


def test_an_answer_that_nobody_took_is_removed_later(tmp_path: Path) -> None:
    place = tmp_path / requests.REQUESTS
    place.mkdir()
    for name, age in (("old.told.json", requests.KEPT + 60), ("new.told.json", 5)):
        (place / name).write_text("{}")
        os.utime(place / name, (time.time() - age, time.time() - age))
    assert requests.answer_requests(SimpleNamespace(folder=tmp_path)) == 0
    assert [each.name for each in place.iterdir()] == ["new.told.json"]
