"""What a source hands over: bytes with their time, and what happened to the connection."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

PACE = 0.02
"""Seconds between two reads of a source: many small reads would cost more than the steps in them."""

LIMIT = 32 << 20
"""Bytes that wait at most; a source that is read faster than steps are taken then waits itself."""


@dataclass(frozen=True)
class Chunk:
    """Bytes that arrived together."""

    data: bytes
    time: float = field(default_factory=time.time)  # unix seconds
    end: int | None = None  # place in the file after the last byte, where the source is a file
    ack: Callable[[], None] | None = None
    identity: str = ""  # of the file, as far as it was read
    again: bool = False  # the bytes may have come before: a broker says that it sends them once more


@dataclass(frozen=True)
class Event:
    """Something that happened to a connection.

    `kind` is "connected", "lost" (half a line is dropped), "ended" (nothing more will come), "opened" (a
    file, at its beginning), "refused" (counted as broken) or "note".
    """

    kind: str
    text: str
    identity: str = ""  # of a file that was opened


class Source:
    """Where steps come from; a thread reads, and `take` gives what has come.

    What happens after it was opened is told by events.
    """

    name = ""
    """As it stands in messages and on the page, without a password."""

    @property
    def key(self) -> str:
        """What stays the same when a source is named in another way."""
        return self.name

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[Chunk | Event] = deque()
        self._bytes = 0
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._opened_once = False

    def open(self) -> None:
        """Open the source; raise in one line where that is not possible."""
        self._open()
        self._opened_once = True

    def start(self) -> None:
        """Begin to read; the source is opened if that was not done before."""
        if not self._opened_once:
            self.open()
        self._thread = threading.Thread(target=self._run, name=f"tcuq {self.name}", daemon=True)
        self._thread.start()

    def take(self, timeout: float) -> list[Chunk | Event]:
        """Return what has come; wait for it up to `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closing.is_set(), timeout)
            found = list(self._items)
            self._items.clear()
            self._bytes = 0
            self._changed.notify_all()
        return found

    def stop(self) -> None:
        """End the reading; the connection stays, so that what is taken now can be acknowledged."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(2.0)

    def close(self) -> None:
        """End the reading and free what was opened; what was read before can still be taken."""
        self.stop()
        self._shut()

    def put(self, item: Chunk | Event) -> None:
        """Hand over; waits while too much was not taken yet."""
        size = len(item.data) if isinstance(item, Chunk) else 0
        with self._changed:
            self._changed.wait_for(lambda: self._bytes + size <= LIMIT or self._closing.is_set())
            self._items.append(item)
            self._bytes += size
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait; tell whether the source is being closed."""
        return self._closing.wait(seconds)

    @property
    def closing(self) -> bool:
        """Whether `close` was called."""
        return self._closing.is_set()

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # a thread that ends without a word would look like a silent device
            if not self.closing:
                self.put(Event("ended", f"{self.name}: reading ended: {type(error).__name__}: {error}"))

    def _open(self) -> None:
        raise NotImplementedError

    def _read(self) -> None:
        raise NotImplementedError

    def _shut(self) -> None:
        """Free what was opened."""


class Backoff:
    """Waits that grow from a tenth of a second to `most` seconds.

    Examples
    --------
    >>> backoff = Backoff(1.0)
    >>> [round(backoff.next(), 1) for _ in range(5)]
    [0.1, 0.2, 0.4, 0.8, 1.0]
    """

    def __init__(self, most: float = 2.0) -> None:
        self._most, self._next = most, 0.1

    def next(self) -> float:
        """Return how long to wait now."""
        now, self._next = self._next, min(self._most, 2 * self._next)
        return now

    def reset(self) -> None:
        """Begin again with a short wait."""
        self._next = 0.1
