"""What a page is told: the last steps and remarks, kept for those who look and passed on as they come."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any


class Feed:
    """Messages to pages, in one order; any thread may add, any number may follow.

    Parameters
    ----------
    about : mapping
        What stays the same: names of classes, level, budget, where steps come from.
    keep : int
        Steps that a page sees that is opened later.

    Examples
    --------
    >>> feed = Feed({"names": ["cat", "dog"]})
    >>> feed.add_steps(0, {"risk": [0.25, 0.5]})
    >>> feed.add_remark("lost", "the device went away", step=2)
    >>> kinds = [kind for kind, _ in feed.after(0)[1]]
    >>> kinds
    ['steps', 'remark']
    """

    def __init__(self, about: Mapping[str, Any], keep: int = 20_000) -> None:
        self.about = dict(about)
        self.keep = keep
        self._changed = threading.Condition()
        self._messages: deque[tuple[int, str, dict[str, Any]]] = deque()
        self._next, self._steps, self.closed = 1, 0, False

    def add_steps(self, first: int, columns: Mapping[str, list[Any]]) -> None:
        """Tell of steps from number `first` on, a column each."""
        count = len(next(iter(columns.values())))
        self._add("steps", {"first": first, "count": count, "columns": dict(columns)})

    def add_remark(self, kind: str, text: str, step: int) -> None:
        """Tell of something that happened before step number `step`."""
        self._add("remark", {"kind": kind, "text": text, "step": step})

    def close(self) -> None:
        """Tell that nothing more will come."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def after(self, number: int) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
        """Return the number of the last message and all that came after message `number`, 0 for all."""
        with self._changed:
            return self._next - 1, [(kind, content) for n, kind, content in self._messages if n > number]

    def wait(self, number: int, timeout: float) -> bool:
        """Wait for a message after `number`; tell whether one is there or the feed was closed."""
        with self._changed:
            return self._changed.wait_for(lambda: self.closed or self._next - 1 > number, timeout)

    def _add(self, kind: str, content: dict[str, Any]) -> None:
        with self._changed:
            self._messages.append((self._next, kind, content))
            self._next += 1
            self._steps += content.get("count", 0)
            while self._steps - self._messages[0][2].get("count", 0) >= self.keep:
                self._steps -= self._messages.popleft()[2].get("count", 0)
            self._changed.notify_all()
