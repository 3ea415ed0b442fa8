"""The steps of one device: which are new, what is decided on them, in which order all is kept and told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from tcuq.monitor.class_names import checked_names
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import Params

from ..sources.blocks import Block, DeviceState, joined
from ..sources.reading import Got
from .folder import Folder, Saved
from .judge import GAP, Judge, Order, sort_out
from .publisher import DecisionLines, Publisher, received_lines
from .recovery import Recovered


class Stream:
    """Take steps in the order of their arrival; what came is in the log before its decision is."""

    def __init__(
        self,
        params: Params,
        folder: Folder,
        source: str,
        publisher: Publisher,
        decided: Callable[[str], None] | None,
    ) -> None:
        saved = folder.saved
        self.params, self.folder, self.source, self.publisher = params, folder, source, publisher
        self.by_device, self.step = saved.by_device, saved.step
        self.names = params.names or checked_names(saved.names, params.classes)
        self.judge = Judge(Monitor(params), saved.segment, saved.given_segment, saved.step == 0)
        self.order = Order.restored(saved.order)
        self.at, self.identity, self._since = saved.at, saved.identity, saved.since
        self._time = saved.time
        self._lines, self._decided = DecisionLines(params, self._written_names()), decided
        self._adopted = 0.0
        self._skip = 0
        self._check_gap = not folder.fresh
        self.saved_at = self.step

    def _written_names(self) -> tuple[str, ...] | None:
        """Return the names that decisions are written with: all lines of a log have the same columns."""
        first = self.folder.decisions.read(0, 4096).partition(b"\n")[0]
        return self.names if not first or b'"answer_name"' in first else None

    def opened(self, identity: str) -> None:
        """Begin with a file that is read from its beginning."""
        if self.at or identity != self.identity:
            self._skip = 0
        self.at, self.identity = 0, identity
        self.save(remark=False)

    def interrupted(self) -> None:
        """Note that steps may have been lost without a number that tells it."""
        self._check_gap = True

    def take_names(self, names: tuple[str, ...] | None) -> None:
        """Take names of classes that the device told."""
        if names is not None and self.names is None:
            self.names = names
            self.publisher.feed.about["names"] = list(names)
            self._lines = DecisionLines(self.params, self._written_names())

    def go_on(self, found: Recovered) -> None:
        """Go on where an earlier session ended; run again what came after its last saved state."""
        fresh, before = self.folder.fresh, self.folder.saved.source
        self._decided_by(found.by_device)
        for first, block, segments in found.again:
            self._since, self.step = self._since if first == self.step else first, first
            self._label_again(found)
            for boot, seq, key in zip(block.boots, block.seqs, block.keys(), strict=True):
                back = None not in (seq, self.order.seq) and seq <= self.order.seq  # type: ignore[operator]
                self.order.note(boot, seq, key, back or boot not in (None, self.order.boot))
            self._time = block.times[-1]
            if found.by_device:
                self._show(block, block.steps, None)
                continue
            last, self.judge.segment = self.judge.segment, segments[-1]
            told = [each for each in block.segments if each is not None]
            self.judge.given = told[-1] if told else self.judge.given
            steps, signals = self.judge.run(block, last, segments)
            self._put_decisions(block, steps, max(0, found.decided + 1 - self.step))
            self._show(block, steps, signals)
        self._label_again(found)
        if found.at is not None:
            self.at, self._skip = found.at, found.after if self.identity else 0
        if not fresh and self.step:
            self.publisher.notices.now(
                "restart", f"started again at step {self.step:,}{found.text}", self.step
            )
        if not fresh and self.step and before != self.source:
            self.publisher.notices.now(
                "note", f"steps came from {before} before, now from {self.source}", self.step
            )
            self._time, self.at, self._skip, self.identity = 0.0, 0, 0, ""
        self.folder.flush()
        self.save(remark=False)

    def _label_again(self, found: Recovered) -> None:
        while found.labels and found.labels[0][0] <= self.step:
            self.label(*found.labels.pop(0)[1:])

    @property
    def takes_labels(self) -> bool:
        """Whether labels change what is decided here."""
        return self.params.feedback is not None and self.by_device is False

    def label(self, step: int, label: int | None) -> bool:
        """Tell the monitor the truth about a step, None or -1 for a wrong answer; say whether it takes it."""
        monitor, ago = self.judge.monitor, self.step - 1 - step
        if step < self._since or not 0 <= ago < monitor.steps:
            return False
        return monitor.feedback(monitor.steps - 1 - ago, -1 if label is None else label)

    def take(self, got: list[Got], at: int | None = None) -> None:
        """Take steps, and states of the device between them; `at` is the place in a file after them."""
        blocks: list[Block] = []
        for number, each in enumerate(got, 1):
            if isinstance(each, Block):
                blocks.append(each)
            if not isinstance(each, Block) or number == len(got):
                self._take_blocks(blocks, at if number == len(got) else None)
                blocks = []
            if isinstance(each, DeviceState):
                self._adopt(each)
        self.at = self.at if at is None else at

    def _take_blocks(self, blocks: list[Block], at: int | None) -> None:
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
                self._take_block(block, at if number == len(found) else None)

    def _decided_by(self, device: bool | None) -> None:
        self.by_device = device
        self.publisher.feed.about["decided_by"] = "device" if device else "host"

    def _leave_out(self, block: Block) -> None:
        if not self.publisher.counts["others"]:
            given, kept = ("decisions", "posteriors") if block.by_device else ("posteriors", "decisions")
            self.publisher.notices.now(
                "note", f"the device sends {given} beside {kept}; they are left out", self.step
            )
        self.publisher.counts["others"] += len(block)

    def _new(self, block: Block) -> Block:
        """Leave out what came before a restart already, where a file is read on."""
        start = min(self._skip, len(block))
        self._skip -= start
        return block.at(list(range(start, len(block)))) if start else block

    def _take_block(self, block: Block, at: int | None) -> None:
        found = sort_out(self.order, block)
        counts, often = self.publisher.counts, self.publisher.notices.often
        for name in ("missing", "duplicates", "late"):
            counts[name] += getattr(found, name)
        if found.missing:
            what = "step is" if found.missing == 1 else "steps are"
            often("missing", f"{found.missing:,} {what} missing", self.step)
        if found.duplicates or found.late:
            often("note", f"{found.duplicates + found.late:,} repeated or late steps left out", self.step)
        for place, text in found.reboots:
            counts["reboots"] += 1
            often("reboot", text, self.step + place)
        block = block.at(found.taken)
        if not len(block):
            return
        unnumbered = block.seqs[0] is None and not self.identity
        if self._check_gap and unnumbered and block.times[0] - self._time > GAP:
            found.resets.add(0)
        self._check_gap, self._time = False, block.times[-1]
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
        self.publisher.steps(first, steps, block.times, signals)

    def _adopt(self, given: DeviceState) -> None:
        """Take over the state of the device's own monitor: the device knows what the host did not receive."""
        if self.by_device or (self.order.boot, self.order.seq) != (given.boot, given.seq):
            return
        if time.monotonic() - self._adopted < 1.0:  # each is saved, which takes a while
            return
        try:
            self.judge.monitor.load(given.state)
        except ValueError as error:
            self.publisher.counts["broken"] += 1
            self.publisher.notices.often("broken", f"a state of the device: {error}", self.step)
            return
        self._adopted, self._since = time.monotonic(), self.step
        self.save(remark=False)  # so that a restart goes on from it

    def save(self, remark: bool = True) -> bool:
        """Save the state after all that was received; tell whether that was possible."""
        self.saved_at = self.step
        saved = Saved(
            self.params.fingerprint,
            self.source,
            self.step,
            self.judge.segment,
            self.judge.given,
            self.by_device,
            None if self.names is None else list(self.names),
            time=self._time,
            at=self.at,
            identity=self.identity,
            order=self.order.saved(),
            counts=self.publisher.counts,
            alarm=self.publisher.alarm,
            since=self._since,
        )
        try:
            self.folder.save(saved, b"" if self.by_device else self.judge.monitor.save())
        except OSError as error:
            self.publisher.notices.often("note", f"the state was not saved: {error.strerror}", self.step)
            return False
        if remark:
            self.publisher.notices.often("saved", f"state saved at step {self.step:,}", self.step)
        return True
