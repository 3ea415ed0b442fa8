"""Arguments of the compiled part of a fleet, as the engine hands them over."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.order import Order
from tcuq_watch.engine.tallies import Tallies


def order_call() -> list[Any]:
    """Return what `_native.order` is given for three events of three devices."""
    order = Order(1, 4, 0)
    order.grow(3)
    rows = np.zeros((3, 1), np.uint8)
    return _arguments("order", lambda: order.take([0, 1, 2], [0, 0, 0], [0, 1, 2], rows))


def tally_call() -> list[Any]:
    """Return what `_native.tally` is given for three steps of three devices."""
    tallies = Tallies(Params(classes=3))
    tallies.grow(3)
    return _arguments("tally", lambda: tallies.update(np.arange(3), np.zeros(3), np.zeros(3, STEP_DTYPE)))


def columns_call() -> list[Any]:
    """Return what `_native.columns` is given for three steps."""
    out = (np.zeros((6, 3), np.float32), np.zeros(3), np.zeros((2, 3), np.int32), np.zeros((9, 3), np.uint8))
    return [*out, np.zeros(3, STEP_DTYPE).view(np.uint8)]


def _arguments(name: str, act: Callable[[], Any]) -> list[Any]:
    calls: list[Any] = []
    module = {"order": "order", "tally": "tallies"}[name]
    with patch(f"tcuq_watch.engine.{module}._native", SimpleNamespace(**{name: lambda *a: calls.extend(a)})):
        act()
    return calls
