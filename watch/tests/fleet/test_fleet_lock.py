"""A fleet is used by one thread and one process at a time."""

from __future__ import annotations

import pytest
from forks import forked, needs_fork

from tcuq_watch.fleet.lock import NonBlockingLock


def enter(turn: NonBlockingLock) -> str:
    with turn:
        return "entered"


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_in_the_middle_is_told() -> None:
    turn = NonBlockingLock("the order")
    with turn:
        assert "was when this process was forked" in forked(lambda: enter(turn))
