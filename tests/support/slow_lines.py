# SPDX-License-Identifier: MIT
"""Lines that were made to take long, and a time for what reads them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SECONDS = 1.0
"""For 200 KB; what is linear takes hundredths of that."""


def attack(size: int) -> str:
    return "[" * 65 + '"' + '\\"' * (size // 2)


def in_time(act: Callable[[], Any]) -> Any:
    start = time.process_time()
    found = act()
    assert time.process_time() - start < SECONDS
    return found
