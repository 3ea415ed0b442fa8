"""One device while it runs: steps are judged or shown, kept, and told to whoever looks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from .._version import VERSION
from ..io.values import Softmax
from ..monitor.class_names import checked_names
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from .blocks import Block, DeviceState, joined
from .folder import Folder, Saved
from .inbox import Chunk, Event, Source
from .judge import GAP, Judge, sort_out
from .lines import DecisionLines, received_lines
from .order import Order
from .reading import Got, Reading
from .recovery import Recovered, recover
from .remarks import Tell
from .telling import Telling

PACE = 0.05
"""Seconds between two messages to a page, and between two writes."""

REWIND = 2 * 4096
"""Bytes of a followed file that are read again after a restart where it holds frames, which may be cut."""


class Session:
    """Take what a source gives; what was received is kept before anything else is told.

    Parameters
    ----------
    params : Params
    folder : path
        What is kept, and where a session that was ended goes on.
    source : str
        Name of the source.
    title : str, optional
    save_every : int
        Steps between two saved states.
    softmax : callable, optional
        The source gives logits, and this makes posteriors of them.
    tell : sequence of callables
        Called with kind, text and step of each remark.
    decided : callable, optional
        Called with the lines of decisions as they are written.

    Attributes
    ----------
    telling : Telling
        With the feed of the page.
    step : int
        Number of the next step.
    """

    def __init__(
        self,
        params: Params,
        folder: str | Path,
        source: str,
        *,
        title: str | None = None,
        save_every: int = 1000,
        softmax: Softmax | None = None,
        tell: Sequence[Tell] = (),
        decided: Callable[[str], None] | None = None,
    ) -> None:
        self.params, self.source, self._save_every = params, source, save_every
        self.folder = Folder(folder, params)
        saved = self.folder.saved
        self.reading = Reading(params, softmax)
        self.by_device, self.step = saved.by_device, saved.step
        self.names = params.names or checked_names(saved.names, params.classes)
        self.judge = Judge(Monitor(params), saved.segment, saved.given_segment, saved.step == 0)
        self.order = Order.restored(saved.order)
        self._time, self._at, self._identity = saved.time, saved.at, saved.identity
        self._lines, self._decided = DecisionLines(params, self.names), decided
        self.telling = Telling(params, self._about(title or source), tell, saved.counts)
        self._saved_at, self._adopted, self._full = self.step, 0.0, False
        self._told_broken = self._told_others = 0
        self._head, self._skip, self._resuming = b"", 0, False
        self._check_gap = not self.folder.fresh
        self._marking = threading.Lock()
        try:
            self._go_on(recover(self.folder, self.judge, params))
        except BaseException:
            self.folder.close()
            raise

    def _about(self, title: str) -> dict[str, Any]:
        params = self.params
        return {
            "title": title,
            "source": self.source,
            "names": None if self.names is None else list(self.names),
            "classes": params.classes,
            "level": params.level,
            "budget": params.budget,
            "params": params.fingerprint,
            "version": VERSION,
            "signals": list(params.signals),
            "decided_by": "device" if self.by_device else "host",
            "first_step": self.step,
            "read_only": False,
        }

    def _go_on(self, found: Recovered) -> None:
        """Go on where an earlier session ended; run again what came after its last saved state."""
        fresh, before = self.folder.fresh, self.folder.saved.source
        self._decided_by(found.by_device)
        for self.step, block, segments in found.again:
            for boot, seq, key in zip(block.boots, block.seqs, block.keys(), strict=True):
                back = None not in (seq, self.order.seq) and seq <= self.order.seq  # type: ignore[operator]
                self.order.note(boot, seq, key, back or boot not in (None, self.order.boot))
            self._time = block.times[-1]
            if found.by_device:
                self._show(block, block.steps, None)
                continue
            last, self.judge.segment = self.judge.segment, segments[-1]
            steps, signals = self.judge.run(block, last, segments)
            self._put_decisions(block, steps, max(0, found.decided + 1 - self.step))
            self._show(block, steps, signals)
        if found.at is not None:
            self._at, self._skip = found.at, found.after
        if not fresh and self.step:
            self._resuming = self._at > 0
            self._remark("restart", f"started again at step {self.step:,}{found.text}")
        if not fresh and self.step and before != self.source:
            self._remark("note", f"steps came from {before} before, now from {self.source}")
            self._time = self._at = self._skip = 0
            self._identity, self._resuming = "", False
        self.folder.flush()
        self.save(remark=False)

    @property
    def place(self) -> tuple[int, str]:
        """Where to go on in a file that is followed, and which file that is."""
        return self._at, self._identity

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
        ended, acks = False, []
        got: list[Got] = []
        for item in items:
            if isinstance(item, Event):
                self._event(item, got)
                got, ended = [], ended or item.kind == "ended"
                continue
            got += self.reading.push(item.data, item.time)
            if item.end is not None and (line := item.data.rfind(b"\n")) >= 0:
                self._at = item.end - len(item.data) + line + 1
            if item.ack is not None:
                acks.append(item.ack)
        self._run(got)
        self._tell_reading()
        if self.folder.flush():
            for ack in acks:
                ack()
        if self.step - self._saved_at >= self._save_every:
            self.save()
        return ended

    def _event(self, event: Event, got: list[Got]) -> None:
        kind = event.kind
        if kind in ("lost", "ended"):
            got = got + self.reading.end(kind == "ended", time.time())
        self._run(got)
        if kind in ("lost", "ended"):
            self.telling.connected, self._check_gap = False, True
        if kind in ("connected", "opened"):
            self.telling.connected = True
            self.reading.begin()
            if self._head:
                self.reading.prime(self._head)
                self._head = b""
        if kind == "opened":
            self._at, self._identity = 0, event.identity
            self._skip, self._resuming = 0, False
            self.save(remark=False)
        self.telling.counts["lost"] += kind == "lost"
        self._remark({"ended": "lost", "opened": "connected"}.get(kind, kind), event.text)
        self.telling.refresh()

    def _run(self, got: list[Got]) -> None:
        """Take steps; states of the device lie between them."""
        blocks: list[Block] = []
        for number, each in enumerate(got, 1):
            if isinstance(each, Block):
                blocks.append(each)
            if not isinstance(each, Block) or number == len(got):
                self._take_blocks(blocks, number == len(got))
                blocks = []
            if isinstance(each, DeviceState):
                self._adopt(each)

    def _take_blocks(self, blocks: list[Block], last: bool) -> None:
        self._take_names()
        found = joined(blocks)
        for number, block in enumerate(found, 1):
            if self.by_device is None:
                self._decided_by(block.by_device)
            if block.by_device != self.by_device:
                self._leave_out(block)
                continue
            block = self._new(block)
            if len(block):
                # The place in the file holds for the last step of all that was read.
                self._take_block(block, last and number == len(found))

    def _take_names(self) -> None:
        if self.reading.names is not None and self.names is None:
            self.names = self.reading.names
            self.telling.feed.about["names"] = list(self.names)
            if not self.folder.decisions.size:  # all lines of a log have the same columns
                self._lines = DecisionLines(self.params, self.names)

    def _decided_by(self, device: bool | None) -> None:
        self.by_device = device
        self.telling.feed.about["decided_by"] = "device" if device else "host"

    def _leave_out(self, block: Block) -> None:
        if not self.telling.counts["others"]:
            given, kept = ("decisions", "posteriors") if block.by_device else ("posteriors", "decisions")
            self._remark("note", f"the device sends {given} beside {kept}; they are left out")
        self.telling.counts["others"] += len(block)

    def _new(self, block: Block) -> Block:
        """Leave out what came before a restart already, where a file is read on."""
        start = 0
        while self._resuming and start < len(block):
            boot, seq = block.boots[start], block.seqs[start]
            if seq is not None and self.order.seq is not None:
                self._resuming = (boot or 0, seq) <= (self.order.boot or 0, self.order.seq)
            else:
                self._resuming = self._skip > 0
                self._skip -= 1
            start += self._resuming
        return block.at(list(range(start, len(block))))

    def _take_block(self, block: Block, last: bool) -> None:
        found = sort_out(self.order, block)
        counts, often = self.telling.counts, self.telling.remarks.often
        for name in ("missing", "duplicates", "late"):
            counts[name] += getattr(found, name)
        if found.missing:
            what = "step is" if found.missing == 1 else "steps are"
            often("missing", f"{found.missing:,} {what} missing", self.step)
        if found.duplicates or found.late:
            often("note", f"{found.duplicates + found.late:,} repeated or late steps left out", self.step)
        for place, text in found.reboots:
            counts["reboots"] += 1
            self.telling.remarks.now("reboot", text, self.step + place)
        block = block.at(found.taken)
        if not len(block):
            return
        unnumbered = block.seqs[0] is None and not self._identity
        if self._check_gap and unnumbered and block.times[0] - self._time > GAP:
            found.resets.add(0)
        self._check_gap, self._time = False, block.times[-1]
        at = None
        if last and self._identity:
            # A frame may be cut anywhere, so it is read again; its numbers tell what came already.
            at = max(0, self._at - REWIND) if block.framed else self._at
        if self.by_device:
            self._put_decisions(block, block.steps, 0, at)
            self._show(block, block.steps, None)
            return
        before = self.judge.segment
        segments = self.judge.segments(block, found.resets)
        if not self.step and self.names is not None:
            self.folder.received.add(json.dumps({"names": self.names}, ensure_ascii=False) + "\n", 0)
        self.folder.received.add(received_lines(self.step, block, segments, at), len(block))
        steps, signals = self.judge.run(block, before, segments)
        self._put_decisions(block, steps)
        self._show(block, steps, signals)

    def _put_decisions(self, block: Block, steps: Any, skip: int = 0, at: int | None = None) -> None:
        if skip < len(block):
            places = block.times[skip:], block.boots[skip:], block.seqs[skip:]
            text = self._lines.lines(self.step + skip, steps[skip:], *places, at)
            self.folder.decisions.add(text, len(block) - skip)
            if self._decided is not None:
                self._decided(text)

    def _show(self, block: Block, steps: npt.NDArray[Any] | None, signals: Any) -> None:
        assert steps is not None
        first, self.step = self.step, self.step + len(block)
        self.telling.steps(first, steps, block.times, signals)

    def _adopt(self, given: DeviceState) -> None:
        """Take over the state of the device's own monitor: the device knows what the host did not receive."""
        if self.by_device or (self.order.boot, self.order.seq) != (given.boot, given.seq):
            return
        if time.monotonic() - self._adopted < 1.0:  # each is saved, which takes a while
            return
        try:
            self.judge.monitor.load(given.state)
        except ValueError as error:
            self.reading.broken += 1
            self.reading.why = f"a state of the device: {error}"
            return
        self._adopted = time.monotonic()
        self.save(remark=False)  # so that a restart goes on from it

    def _tell_reading(self) -> None:
        reading, counts = self.reading, self.telling.counts
        broken, others = reading.broken - self._told_broken, reading.others - self._told_others
        if broken:
            text = f"could not be read: {reading.why}"
            self.telling.remarks.often("broken", text, self.step, broken)
        if others and not self._told_others:
            self._remark("note", f"steps are left out: {reading.why}")
        counts["broken"] += broken
        counts["others"] += others
        self._told_broken, self._told_others = reading.broken, reading.others
        for note in reading.notes:
            self._remark("note", note)
        reading.notes.clear()
        if broken or others:
            self.telling.refresh()

    def _remark(self, kind: str, text: str) -> None:
        self.telling.remarks.now(kind, text, self.step)

    def tick(self) -> None:
        """Do what is due: joined remarks, and writing what could not be written before."""
        self.telling.remarks.flush()
        wrote = self.folder.flush()
        self.telling.counts["unkept"] = self.folder.lost
        if not wrote and not self._full and self.folder.error is not None:
            self._full = True
            self._remark("note", f"{self.folder.path}: {self.folder.error.strerror}; watching goes on")
        if wrote and self._full:
            self._full = False
            lost = f"{self.folder.lost:,} lines were lost" if self.folder.lost else "nothing was lost"
            self._remark("note", f"{self.folder.path} is written again; {lost}")

    def save(self, remark: bool = True) -> bool:
        """Save the state after all that was received; tell whether that was possible."""
        self._saved_at = self.step
        saved = Saved(
            self.params.fingerprint,
            self.source,
            self.step,
            self.judge.segment,
            self.judge.given,
            self.by_device,
            None if self.names is None else list(self.names),
            time=self._time,
            at=self._at,
            identity=self._identity,
            order=self.order.saved(),
            counts=self.telling.counts,
        )
        try:
            self.folder.save(saved, b"" if self.by_device else self.judge.monitor.save())
        except OSError as error:
            self.telling.remarks.often("note", f"the state was not saved: {error.strerror}", self.step)
            return False
        if remark:
            self.telling.remarks.often("saved", f"state saved at step {self.step:,}", self.step)
        return True

    def mark(self, step: int, label: int | None) -> str:
        """Keep that an answer was wrong, with the true class where it is known; any thread may call this."""
        if type(step) is not int or not 0 <= step < self.step:
            raise ValueError(f"step is {step!r}, expected 0 to {self.step - 1}")
        if label is not None and (type(label) is not int or not -1 <= label < self.params.classes):
            raise ValueError(f"label is {label!r}, expected -1 to {self.params.classes - 1}")
        with self._marking:
            self.folder.mark({"step": step, **({"wrong": 1} if label is None else {"label": label})})
        text = f"step {step:,} was {'wrong' if label is None else self.telling.name(label)}"
        self.telling.remarks.now("mark", text, step)
        return text

    def close(self) -> None:
        """Save everything and free the folder."""
        self.telling.remarks.flush(force=True)
        self.save(remark=False)
        self.telling.feed.close()
        with self._marking:
            self.folder.close()
