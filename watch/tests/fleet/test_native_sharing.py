# SPDX-License-Identifier: MIT
"""Orders, tallies and fleets that threads, forks and copies share."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forks import forked, needs_fork

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.order import Order
from tcuq_watch.engine.tallies import Tallies
from tcuq_watch.fleet import Events, Fleet

PARAMS = Params(classes=3, warmup=0, reference=0.3, names=("a", "b", "c"))
COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_copies_of_an_order_share_no_cells(copied: Callable[[Any], Any]) -> None:
    order = Order(1, 4, 0)
    order.grow(2)
    rows = np.arange(6, dtype=np.uint8)[:, None]
    order.take([0, 0], [0, 0], [0, 2], rows[:2])
    other = copied(order)
    other.take([1, 1, 1], [0, 0, 0], [0, 2, 4], rows[2:5])
    assert order.take([0], [0], [1], rows[5:]).rows.ravel().tolist() == [5, 1]
    tallies = Tallies(PARAMS)
    tallies.grow(1)
    twin = copied(tallies)
    zeros = np.zeros(1, np.int64)
    twin.update(zeros, np.zeros(1), np.zeros(1, STEP_DTYPE))
    assert (int(twin.devices["steps"][0]), int(tallies.devices["steps"][0])) == (1, 0)


@pytest.mark.parametrize("kind", ["tallies", "order"])
def test_a_second_thread_is_turned_away(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    order, tallies, zeros = Order(1, 4, 0), Tallies(PARAMS), np.zeros(1, np.int64)
    order.grow(1)
    tallies.grow(1)

    def use() -> None:
        if kind == "order":
            order.take(zeros, zeros, zeros, np.zeros((1, 1), np.uint8))
        else:
            tallies.update(zeros, np.zeros(1), np.zeros(1, STEP_DTYPE))

    def second(*given: Any) -> None:
        if kind == "order":
            given[0][0] = 1  # the event is taken

        def other() -> None:
            for call in (use, lambda: (order if kind == "order" else tallies).grow(1)):
                with pytest.raises(RuntimeError, match=f"the {kind} is in use by another thread") as caught:
                    call()
                said.append(str(caught.value))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    name = "tally" if kind == "tallies" else "order"
    with monkeypatch.context() as patched:
        patched.setattr(f"tcuq_watch.engine.{kind}._native", type("Seen", (), {name: staticmethod(second)}))
        use()
    assert len(said) == 2 and all("\n" not in each for each in said)
    use()  # free again


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fleet_is_not_used_in_a_fork(tmp_path: Path) -> None:
    with Fleet(PARAMS, tmp_path / "f") as fleet:
        event = Events(["d"], [0], [0], [[0.9, 0.05, 0.05]])
        for work in (lambda: fleet.take(event), fleet.flush, fleet.commit, lambda: fleet.refuse("bad line")):
            said = forked(lambda work=work: str(work()))  # type: ignore[misc]
            assert said.startswith("RuntimeError: fleet ") and "open it after a fork" in said
        assert len(fleet.take(event)) == 1
    assert Fleet.open_read(tmp_path / "f").commit_number == 1
