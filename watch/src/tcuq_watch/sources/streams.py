"""What all sources share, and streams: standard input, pipes and Python iterables, read by a thread."""

from __future__ import annotations

import math
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tcuq.base.errors import InputError
from tcuq.io.sources import STANDARD

from ..engine.events import Events
from .arrivals import Arrived, Bad, Notice
from .step_reader import StepReader

PACE, TICK, IDLE = 0.02, 0.1, 0.2
"""Seconds between two reads of a source (many small ones would cost more than the steps in them), after which
a thread looks whether it is to end, and between two words that nothing has come."""

SMALL, MOST = 1 << 15, 1 << 18
"""Bytes of a read after which the next one waits for `PACE`, and of one read at most."""

WAITING, MOST_GIVEN = 32 << 20, 1000
"""Bytes that wait at most, and items of a program; a source that is read faster then waits itself."""


class Source:
    """Gives events in batches, each with a position: a JSON value that is committed with the batch.

    A source that is opened again goes on from the last committed position, so that nothing is taken twice
    or left out. `where` stands in messages and on a page, without a password, and `key` stays the same after
    a restart. `ended`: all of the input was given, and nothing more will come; it was not stopped before. One
    that never waits for input cuts batches by their count alone.
    """

    waits, restarted = True, False

    def __init__(self, where: str, key: str | None = None, **options: Any) -> None:
        self.where, self.key, self.bad, self.ended = where, key or where, Bad(), False
        self.reader = StepReader(where, self.bad, **options)
        self._stopping = self._is_open = False
        self._failed: BaseException | None = None

    def open(self) -> None:
        """Open files and connections, so that an error comes early; `batches` does it else."""
        if not self._is_open:
            self._open()
            self._is_open = True

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives after a position, about `count` events at a time.

        A batch is given at latest `every` seconds after it began. While nothing arrives, None is given every
        now and then.
        """
        self._begun, self.ended = position, False
        own = isinstance(position, dict) and position.get("source") == self.key
        self._resume(position if own else {})
        self.open()
        rows, since = self.reader.rows, time.monotonic()
        every = every if self.waits else math.inf
        while not (self.ended or self._stopping or self._failed):
            begun, pause = bool(rows), every if rows else max(every, IDLE)
            self._take_some(count, max(0.001, min(since + pause - time.monotonic(), TICK)))
            now = time.monotonic()
            if rows and not begun:
                since = now
            if rows.count >= count or (rows and (now - since >= every or self._stalls(now))):
                yield rows.flush(self._position())
                since = now
            elif not rows and now - since >= max(every, IDLE):
                since = now
                yield None
        self._drain()
        if rows:
            yield rows.flush(self._position())
        if self._failed is not None:
            raise self._failed

    def committed(self, arrived: Arrived) -> None:
        """Hear that a batch is safe."""

    def stop(self) -> None:
        """End `batches` soon; may be called by a signal handler."""
        self._stopping = True

    def close(self) -> None:
        """Let go of files and connections."""
        self.stop()
        if self._is_open:
            self._shut()
            self._is_open = False

    def _resume(self, position: dict[str, Any]) -> None:
        """Begin where a position of this source says; an empty one says nothing."""
        self.reader.recall(position)

    def _position(self) -> Any:
        kept = self.reader.memory()
        return {"source": self.key, **kept} if kept else self._begun

    def _take_some(self, count: int, timeout: float) -> bool:
        """Take what there is, or wait for it; tell whether there was something."""
        raise NotImplementedError

    def _stalls(self, now: float) -> bool:
        """Tell whether whoever sends may be waiting for a commit."""
        return False

    def _nothing(self) -> None:
        """Stand for what a source need not do: open, free what was opened, take what was read at the end."""

    _open = _shut = _drain = _nothing


class Stream(Source):
    """A source whose input comes by a thread, which runs `_read`."""

    def __init__(self, where: str, line: str = "live_line", stream: bool = True, **options: Any) -> None:
        super().__init__(where, line=line, stream=stream, **options)
        self._items: queue.SimpleQueue[tuple[float, Any]] = queue.SimpleQueue()
        self._came = self._taken = 0  # bytes; each number is written by one thread alone
        self._thread: threading.Thread | None = None

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # a thread that ends without a word would look like a silent device
            if not self._stopping:
                self._items.put((0.0, error))

    def _read(self) -> None:
        raise NotImplementedError

    def _take_some(self, count: int, timeout: float) -> bool:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"tcuq {self.where}", daemon=True)
            self._thread.start()
        try:
            when, item = self._items.get(timeout=timeout)
        except queue.Empty:
            return False
        if isinstance(item, bytes):
            self._taken += len(item)
            self.reader.push(item, when)
        elif isinstance(item, Notice):
            if item.kind in ("lost", "ended"):
                self.reader.end(whole=item.kind == "ended")
                self.reader.interrupted()
            self.ended = self.ended or item.kind == "ended"
            self.reader.rows.notices.append(item)
        elif isinstance(item, BaseException):
            self._failed = item
        elif item is not None:
            self._take(when, item)
        return True

    def _take(self, when: float, item: Any) -> None:
        """Take what is neither bytes nor a notice."""

    def _drain(self) -> None:
        if self._thread is not None:
            self._thread.join(2 * TICK)
        while self._take_some(0, 0):
            pass

    def stop(self) -> None:
        """End `batches` soon."""
        super().stop()
        self._items.put((0.0, None))  # in a signal handler too: this queue allows it

    def close(self) -> None:
        """End the thread and free what was opened."""
        self.stop()
        if self._thread is not None:
            self._thread.join(2.0)
        super().close()

    def put(self, item: Any) -> None:
        """Hand over from the thread; waits while too much was not taken yet."""
        if isinstance(item, bytes):
            while self._came - self._taken > WAITING and not self._stopping:
                time.sleep(PACE)
            self._came += len(item)
        self._items.put((time.time(), item))
        if isinstance(item, bytes) and len(item) < SMALL:
            time.sleep(PACE)


class Pipe(Stream):
    """Standard input or another open file, which ends with its writer."""

    def __init__(self, handle: int | None = None, **options: Any) -> None:
        super().__init__("standard input", "line", key=STANDARD, **options)
        if handle is None and sys.stdin is None:
            raise InputError("missing", "standard input is closed")
        self._handle = handle

    def _read(self) -> None:
        handle = sys.stdin.fileno() if self._handle is None else self._handle
        self.put(Notice("connected", f"reading {self.where}"))
        while not self._stopping:
            # Windows cannot wait for a pipe; there the thread is left behind at the end.
            if os.name == "posix" and not select.select([handle], [], [], TICK)[0]:
                continue
            try:
                data = os.read(handle, MOST)
            except OSError:
                data = b""
            if not data:
                self.put(Notice("ended", f"{self.where} ended"))
                return
            self.put(data)


class IterableSource(Stream):
    """What a program gives: dicts as JSON lines have them, lists of them, or `Events`.

    It has no position: a program that goes on after a restart knows itself what it has given. A dict without
    a `time` has none. An error of the iterable ends `batches`, after what came before it.

    Examples
    --------
    >>> source = IterableSource({"device": "door-1", "seq": n, "probs": [0.9, 0.1]} for n in range(3))
    >>> [arrived.count for arrived in source.batches(None, 100, 1.0) if arrived]
    [3]
    """

    def __init__(self, iterable: Iterable[Any], where: str = "a program", **options: Any) -> None:
        super().__init__(where, stream=False, **options)
        self._iterable = iterable

    def _read(self) -> None:
        for given, item in enumerate(self._iterable):
            while given - self._taken > MOST_GIVEN and not self._stopping:
                time.sleep(PACE / 10)
            if self._stopping:
                return
            self._items.put((0.0, [] if item is None else item))
        self._items.put((0.0, Notice("ended", f"{self.where} ended")))

    def _take(self, when: float, item: Any) -> None:
        self._taken += 1
        if isinstance(item, Events):
            self.reader.rows.add_events(item)
        else:
            self.reader.take(item)
