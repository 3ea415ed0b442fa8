"""What happened, told to a page and to a terminal: many remarks of a kind as one."""

from __future__ import annotations

import time
from collections.abc import Callable

from tcuq.base.errors import one_line

Tell = Callable[[str, str, int], None]
"""Takes kind, text and step of a remark."""

EVERY = 1.0
"""Seconds between two remarks of a kind that may come often."""


class Remarks:
    """Pass remarks on; of a kind that comes often, one a second with a count.

    Examples
    --------
    >>> told = []
    >>> remarks = Remarks([lambda kind, text, step: told.append(text)], clock=lambda: 0.0)
    >>> for seq in range(3):
    ...     remarks.often("broken", "a line that could not be read", 7)
    >>> remarks.flush(force=True)
    >>> told
    ['a line that could not be read', '2 times: a line that could not be read']
    """

    def __init__(self, tell: list[Tell], clock: Callable[[], float] = time.monotonic) -> None:
        self.tell, self._clock = tell, clock
        self._last: dict[str, float] = {}
        self._waiting: dict[str, tuple[int, str, int]] = {}

    def now(self, kind: str, text: str, step: int) -> None:
        """Pass a remark on at once; it may hold words of a device or a server, so it is made one line."""
        text = one_line(text)
        for tell in self.tell:
            tell(kind, text, step)

    def often(self, kind: str, text: str, step: int, count: int = 1) -> None:
        """Pass a remark on, or join it with others of its kind."""
        if count == 1 and kind not in self._waiting and self._due(kind):
            self._last[kind] = self._clock()
            self.now(kind, text, step)
            return
        before, _, first = self._waiting.get(kind, (0, "", step))
        self._waiting[kind] = before + count, text, first
        self.flush()

    def flush(self, force: bool = False) -> None:
        """Pass on what was joined and is due."""
        for kind in [each for each in self._waiting if force or self._due(each)]:
            count, text, step = self._waiting.pop(kind)
            self._last[kind] = self._clock()
            self.now(kind, text if count == 1 else f"{count:,} times: {text}", step)

    def _due(self, kind: str) -> bool:
        return kind not in self._last or self._clock() - self._last[kind] >= EVERY
