"""One device while it runs: steps are judged or shown, kept, and told to whoever looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcuq._version import VERSION
from tcuq.base.errors import InputError, wrong_value
from tcuq.io.values import Softmax
from tcuq.monitor.class_names import checked_names
from tcuq.monitor.params import Params

from ..sources.blocks import Block
from ..sources.inbox import Chunk, Event, Source
from ..sources.reading import Got, Reading
from .folder import Folder
from .publisher import Publisher, Tell
from .recovery import recover
from .stream import Stream

PACE = 0.05
"""Seconds between two messages to a page, and between two writes."""


class Session:
    """Take what a source gives; what was received is kept before anything else is told.

    Parameters
    ----------
    params : Params
    folder : path
        What is kept, and where a session that was ended goes on.
    source : str
        Name of the source.
    save_every : int
        Steps between two saved states.
    softmax : callable, optional
        The source gives logits, and this makes posteriors of them.
    tell : sequence of callables
        Called with kind, text and step of each remark.
    decided : callable, optional
        Called with the lines of decisions as they are written.
    key : str, optional
        What the source is known by after a restart; its name by default.

    Attributes
    ----------
    publisher : Publisher
        With the feed of the page.
    stream : Stream
    """

    def __init__(
        self,
        params: Params,
        folder: str | Path,
        source: str,
        *,
        save_every: int = 1000,
        softmax: Softmax | None = None,
        tell: Sequence[Tell] = (),
        decided: Callable[[str], None] | None = None,
        key: str | None = None,
    ) -> None:
        self.params, self.source, self._save_every = params, source, save_every
        self.folder = Folder(folder, params)
        self.reading = Reading(params, softmax)
        self._told_broken = self._told_others = 0
        self._head, self._full = b"", False
        self._alone = threading.RLock()
        self._acks: list[Callable[[], None]] = []
        try:
            saved = self.folder.saved
            self.publisher = Publisher(params, self._about(), tell, saved.counts, saved.alarm)
            self.stream = Stream(params, self.folder, key or source, self.publisher, decided)
            self.stream.go_on(recover(self.folder, self.stream.judge, params))
        except BaseException:
            self.folder.close()
            raise

    def _about(self) -> dict[str, Any]:
        params, saved = self.params, self.folder.saved
        names = params.names or checked_names(saved.names, params.classes)
        return {
            "title": self.source,
            "source": self.source,
            "names": None if names is None else list(names),
            "classes": params.classes,
            "level": params.level,
            "budget": params.budget,
            "params": params.fingerprint,
            "version": VERSION,
            "signals": list(params.signals),
            "band": {"horizon": params.horizon, "error": params.accuracy_error},
            "decided_by": "device" if saved.by_device else "host",
            "first_step": saved.step,
            "read_only": False,
        }

    @property
    def step(self) -> int:
        """Number of the next step."""
        return self.stream.step

    @property
    def place(self) -> tuple[int, str]:
        """Where to go on in a file that is followed, and which file that is."""
        return self.stream.at, self.stream.identity

    def run(self, source: Source, stop: Callable[[], bool], ends: bool = True) -> None:
        """Take what comes until told to stop, or until a source that ends has ended.

        Parameters
        ----------
        source : Source
            Started.
        stop : callable
            Asked several times a second.
        ends : bool
            Return at the end of the source.
        """
        self._head = getattr(source, "head", b"")
        while not stop():
            begun = time.monotonic()
            items = source.take(0.2)
            ended = self.take(items)
            self.tick()
            if ended and ends:
                return
            if items:
                time.sleep(max(0.0, PACE - (time.monotonic() - begun)))

    def take(self, items: Iterable[Chunk | Event]) -> bool:
        """Take chunks and events in order; tell whether the source has ended."""
        with self._alone:  # a mark comes before or after them
            return self._take_all(items)

    def _take_all(self, items: Iterable[Chunk | Event]) -> bool:
        ended = False
        got: list[Got] = []
        at: int | None = None
        for item in items:
            if isinstance(item, Event):
                self._event(item, got, at)
                got, at, ended = [], None, ended or item.kind == "ended"
                continue
            found = self.reading.push(item.data, item.time)
            if item.again:
                found = [replace(each, again=True) if isinstance(each, Block) else each for each in found]
            got += found
            if item.end is not None:
                at = item.end - self.reading.held  # all before it was taken
                self.stream.identity = item.identity or self.stream.identity
            if item.ack is not None:
                self._acks.append(item.ack)
        self._take(got, at)
        self._tell_reading()
        self._acknowledge()
        if self.step - self.stream.saved_at >= self._save_every:
            self.stream.save()
        return ended

    def _acknowledge(self) -> bool:
        """Write the logs, and tell a broker what the disk has; what waits for room is told later."""
        kept = self.folder.flush() and (not self._acks or self.folder.sync())
        if kept:
            acks, self._acks = self._acks, []
            for ack in acks:
                ack()
        return kept

    def _take(self, got: list[Got], at: int | None) -> None:
        self.stream.take_names(self.reading.names)
        self.stream.take(got, at)

    def _event(self, event: Event, got: list[Got], at: int | None) -> None:
        kind = event.kind
        if kind in ("lost", "ended"):
            got = got + self.reading.end(kind == "ended", time.time())
        self._take(got, at)
        if kind == "refused":
            self.publisher.counts["broken"] += 1
            self.publisher.notices.often("broken", event.text, self.step)
            self.publisher.refresh()
            return
        if kind in ("lost", "ended"):
            self.publisher.connected = False
            self.stream.interrupted()
        if kind in ("connected", "opened"):
            self.publisher.connected = True
            self.reading.begin()
            if self._head:
                self.reading.prime(self._head)
                self._head = b""
        if kind == "opened":
            self.stream.opened(event.identity)
        self.publisher.counts["lost"] += kind == "lost"
        self._remark({"ended": "lost", "opened": "connected"}.get(kind, kind), event.text)
        self.publisher.refresh()

    def _tell_reading(self) -> None:
        reading, counts = self.reading, self.publisher.counts
        broken, others = reading.broken - self._told_broken, reading.others - self._told_others
        if broken:
            text = f"could not be read: {reading.why}"
            self.publisher.notices.often("broken", text, self.step, broken)
        if others and not self._told_others:
            self._remark("note", f"steps are left out: {reading.other}")
        counts["broken"] += broken
        counts["others"] += others
        self._told_broken, self._told_others = reading.broken, reading.others
        for note in reading.notes:
            self._remark("note", note)
        reading.notes.clear()
        if broken or others:
            self.publisher.refresh()

    def _remark(self, kind: str, text: str) -> None:
        self.publisher.notices.now(kind, text, self.step)

    def tick(self) -> None:
        """Do what is due: joined remarks, and writing what could not be written before."""
        self.publisher.notices.flush()
        with self._alone:
            wrote = self._acknowledge()
        self.publisher.counts["unkept"] = self.folder.lost
        if not wrote and not self._full and self.folder.error is not None:
            self._full = True
            self._remark("note", f"{self.folder.path}: {self.folder.error.strerror}; watching goes on")
        if wrote and self._full:
            self._full = False
            lost = f"{self.folder.lost:,} lines were lost" if self.folder.lost else "nothing was lost"
            self._remark("note", f"{self.folder.path} is written again; {lost}")

    def mark(self, step: int, label: int | None) -> str:
        """Keep that an answer was wrong, with the true class where it is known; any thread may call this.

        Where the params have feedback, the monitor takes it too, if it remembers the step.
        """
        with self._alone:
            if type(step) is not int or not 0 <= step < self.step:
                raise wrong_value("step", step, f"0 to {self.step - 1}")
            if label is not None and (type(label) is not int or not -1 <= label < self.params.classes):
                raise wrong_value("label", label, f"-1 to {self.params.classes - 1}")
            text = f"step {step:,} was {'wrong' if label is None else self.publisher.name(label)}"
            content = {"step": step, **({"wrong": 1} if label is None else {"label": label})}
            if self.stream.takes_labels:
                # The disk has the steps before it has a label that came after them.
                if not self.folder.flush() or not self.folder.sync():
                    raise InputError("failed", f"the mark was not kept: {self.folder.error}")
                content["at"] = self.step
            self.folder.mark(content)
            if self.stream.takes_labels:
                used = self.stream.label(step, label)
                text += "; the monitor uses it" if used else "; too long ago, or told before, for the monitor"
            self.publisher.notices.now("mark", text, step)
        return text

    def close(self, save: bool = True) -> None:
        """Save everything and free the folder; without `save`, what is there is left for the next start."""
        self.publisher.notices.flush(force=True)
        with self._alone:
            if save:
                self.stream.save(remark=False)
            self.publisher.feed.close()
            self.folder.close()
