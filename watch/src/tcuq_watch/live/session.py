"""One device while it runs: a fleet of one, and what is told of it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.base.errors import InputError, wrong_value
from tcuq.io.decisions import Decisions, RowText
from tcuq.log.class_names import checked_names
from tcuq.monitor.params import Params
from tcuq.monitor.steps import codes_of, moved_name

from ..engine.events import MAX_NUMBER, Decided, Events
from ..engine.marks import RIGHT, WRONG, Mark, code_of
from ..fleet.fleet import Fleet
from ..fleet.requests import answer_requests
from ..fleet.store import DATABASE
from ..sources import Arrived, Notice, Source
from ..verdicts.words import accuracy, promised
from .publisher import Publisher, Tell, told_numbers

DEVICE = "device"
"""Name of the only one, whatever its lines say."""

EVERY, COUNT, COMMIT = 0.05, 5000, 1.0
"""Seconds between two messages to a page, steps of one at most, and seconds between two commits, unless a
broker waits for one: a kill loses no more of a stream that cannot be read again."""

AGAIN = 1 << 20
"""Bytes of decisions, the newest, that a page is told of after a restart."""

WAITING, PLACES = 100_000, 4096
"""Decisions that wait at most while nothing can be written (more are lost, and counted), and steps whose boot
and number are remembered, for labels that come late."""

MOST_ASKED = 8
"""Steps to label that a page lists."""

OTHERS = ("unknown version", "decisions among posteriors", "posteriors among decisions")
"""What is refused because it is of another kind, not because it is broken."""


class Session:
    """Take what a source gives, decide, tell, and keep it in a folder, where the next session goes on.

    Options are those of `Fleet`, but that a new folder holds one event back: a page waits for nothing. `tell`
    takes kind, text and step of each notice, `decided` the decisions as lines of JSON.
    """

    def __init__(
        self,
        params: Params,
        folder: str | Path,
        source: str,
        *,
        hold: int | None = None,
        name: str | None = None,
        place: str | None = None,
        labels_per_day: int | None = None,
        tell: Sequence[Tell] = (),
        decided: Callable[[str], None] | None = None,
    ) -> None:
        self.params, self.source, self._decided = params, source, decided
        fresh = not (Path(folder) / DATABASE).exists()
        options: dict[str, Any] = {"hold": 1 if fresh and hold is None else hold, "keep_events": True}
        self.fleet = Fleet(params, folder, labels_per_day=labels_per_day, **options)
        [self.model] = self.fleet.models.values()
        self._lock = threading.RLock()
        self._full, self._due = False, 0.0
        self._lacks_gauges = params.sight is not None and bool(params.sight.gauges)
        self._uncommitted: list[Arrived] = []
        self._places: deque[tuple[int, int]] = deque(maxlen=PLACES)
        kept = self.fleet.about
        self.names = params.names or checked_names(kept.get("names"), params.classes)
        rows = self.model.tallies.devices
        self.step = int(rows["steps"].sum())
        alarm = int(rows["alarm"][0]) if len(rows) else 0
        self.publisher = Publisher(params, self._about(name, place), tell, self._counted(kept), alarm)
        if self.step:
            self._tell_again()
            self._notice("restart", f"started again at step {self.step:,}")
        self._tell_labels()

    def _tell_again(self) -> None:
        """Tell the page of the last steps of before a restart; labels may come for them as well."""
        parts: list[Decided] = []
        with contextlib.suppress(OSError, InputError):  # a file that is gone is told where it is needed
            parts = [*self.fleet.decisions(self.fleet.store.recent(AGAIN))]
        first = self.step - sum(map(len, parts))
        self.publisher.alarm = 0
        for part in parts:
            self._places.extend(zip(part.boots.tolist(), part.seqs.tolist(), strict=True))
            times = np.nan_to_num(part.times, nan=time.time()).tolist()
            self.publisher.steps(first, np.asarray(part.steps), times, part.signals, part.gauges, again=True)
            first += len(part)
        [row] = self.model.tallies.devices
        if row["alarm"] and np.isfinite(row["alarm_since"]):
            self.publisher.feed.now["since"] = float(row["alarm_since"])
        self.publisher.alarm = int(row["alarm"])
        self.publisher.refresh()

    def _about(self, name: str | None, place: str | None) -> dict[str, Any]:
        params, sight = self.params, self.params.sight
        return {
            "title": name or self.source,
            "place": place,
            "falls": params.alarm is not None and params.alarm.fall is not None,
            "source": self.source,
            "numbers": () if sight is None else told_numbers(sight),
            "far": 1.0 if sight is not None else None if params.evidence is None else 0.0,
            "names": None if self.names is None else list(self.names),
            "classes": params.classes,
            "level": params.level,
            "budget": params.budget,
            "params": params.fingerprint,
            "version": VERSION,
            "signals": params.signals,
            "moved": {code: moved_name(code, params.sight) for code in codes_of(params.sight)},
            "decided_by": "device" if self.model.by_device else "host",
        }

    def _counted(self, kept: dict[str, Any]) -> dict[str, int]:
        """Return what the folder says was counted before."""
        rows, places = self.model.tallies.devices, self.model.places
        names = {"steps": "steps", "flagged": "flagged", "abstained": "abstained", "alarms": "onsets"}
        counts = {name: int(rows[field].sum()) for name, field in names.items()}
        counts |= {name: int(places[name].sum()) for name in ("missing", "duplicates", "late", "reboots")}
        refused = self.fleet.refused
        counts["others"] = sum(refused.get(kind, 0) for kind in OTHERS)
        counts["broken"] = sum(refused.values()) - counts["others"] - refused.get("bad time", 0)
        return counts | {name: kept.get(name, 0) for name in ("lost", "unkept")}

    def run(self, source: Source, stop: Callable[[], bool], ends: bool = True) -> None:
        """Take what comes until told to stop, or until a source that ends has ended.

        Without `ends`, wait to be stopped after the end of the source: somebody may look at its page.
        """
        for arrived in source.batches(self.fleet.position, COUNT, EVERY):
            if arrived is not None:
                self.take(arrived, source)
            self.tick(source)
            if stop():
                source.stop()
        self.tick(source, now=True)
        while not ends and not stop():
            self.tick(source)
            time.sleep(EVERY)

    def take(self, arrived: Arrived, source: Source) -> None:
        """Take what arrived, and tell of it."""
        with self._lock:  # a mark comes before or after it
            before, counts = Counter(self.fleet.refused), dict(self.publisher.counts)
            for kind, count in arrived.refused.items():
                self.fleet.refuse(kind, count)
            if arrived.names is not None and self.names is None and len(arrived.names) == self.params.classes:
                self.names = arrived.names
                self.publisher.feed.about["names"] = self.fleet.about["names"] = list(arrived.names)
            self._happened(notice for notice in arrived.notices if notice.kind == "connected")
            decided = self.fleet.take([*map(self._own, arrived.batch)], arrived.position, commit=False)
            self._uncommitted.append(arrived)
            for part in decided:
                self._show(part)
            if marks := sum(isinstance(item, Mark) for item in arrived.batch):
                self.publisher.notices.often("mark", "labels came with the steps", self.step, marks)
                self._tell_labels()
            self.publisher.counts = self._counted(self.fleet.about)
            self._tell_counted(
                Counter(self.publisher.counts) - Counter(counts), Counter(self.fleet.refused) - before, source
            )
            self._happened(notice for notice in arrived.notices if notice.kind != "connected")
            self.publisher.refresh()
            if arrived.tokens:
                self._commit(source)

    def _own(self, item: Any) -> Any:
        """Return events and states as those of the one device; what has no time has that of its arrival."""
        if isinstance(item, Events):
            times = np.full(len(item), time.time()) if item.times is None else item.times
            return replace(item, devices=np.full(len(item), DEVICE, dtype=object), times=times)
        return item._replace(device=DEVICE)

    def _show(self, part: Decided) -> None:
        first, self.step = self.step, self.step + len(part)
        places = [*zip(part.boots.tolist(), part.seqs.tolist(), strict=True)]
        self._places.extend(places)
        self.publisher.feed.about["decided_by"] = "device" if self.model.by_device else "host"
        if self._lacks_gauges and not self.model.by_device:
            if part.gauges is None or np.isnan(part.gauges).all():
                problem = "the first steps bring no gauges that the monitor was fitted to"
                self._notice("note", f"{problem}: the alarm sees the outputs alone")
            self._lacks_gauges = False  # told once
        times, steps = np.nan_to_num(part.times, nan=time.time()).tolist(), np.asarray(part.steps)
        if self._decided is not None:  # lines that `tcuq report` and `tcuq audit` read
            decisions = Decisions(
                steps,
                first,
                fingerprint=self.params.fingerprint,
                names=self.names,
                sight=self.params.sight,
            )
            line = RowText(decisions.columns, "jsonl").line
            self._decided(
                "".join(
                    f'{line(row)[:-2]}, "time": {when:.3f}, "boot": {boot}, "seq": {seq}}}\n'
                    for row, when, (boot, seq) in zip(decisions.rows(), times, places, strict=True)
                )
            )
        self.publisher.steps(first, steps, times, part.signals, part.gauges)

    def _tell_counted(self, more: Counter[str], refused: Counter[str], source: Source) -> None:
        """Tell of steps that are missing, left out or could not be read."""
        often, params = self.publisher.notices.often, self.params
        if more["missing"]:
            often("missing", f"steps are missing: {more['missing']:,}", self.step)
        if again := more["duplicates"] + more["late"]:
            often("note", f"{again:,} repeated or late steps left out", self.step)
        if more["reboots"]:
            boot, seq = self._places[-1] if self._places else (0, 0)
            often("reboot", f"the device has started again: now at boot {boot}, step {seq}", self.step)
        words = {
            "bad gauges": "gauges are not numbers, or not those of the params",
            "wrong width": f"expected {params.classes} classes and {params.features} features",
            "bad features": f"features are missing or not numbers, expected {params.features}",
            "bad posterior": "a posterior does not add up to 1 (--logits reads logits)",
            "unknown version": f"made with other parameters, expected {params.fingerprint}",
        }
        for kind, count in refused.items():
            why = source.bad.last.get(kind) or words.get(kind, kind)
            if kind in OTHERS:
                often("note", f"steps are left out: {why}", self.step)
            elif kind != "bad time":
                often("broken", f"could not be read: {why}", self.step, count)

    def _happened(self, notices: Iterable[Notice]) -> None:
        for kind, text in notices:
            self.publisher.connected = kind == "connected"
            if kind == "lost":
                self.fleet.about["lost"] = self.fleet.about.get("lost", 0) + 1
                self.publisher.counts["lost"] += 1
            self._notice("lost" if kind == "ended" else kind, text)

    def _notice(self, kind: str, text: str) -> None:
        self.publisher.notices.now(kind, text, self.step)

    def tick(self, source: Source, now: bool = False) -> None:
        """Do what is due: joined notices, and a commit."""
        self.publisher.notices.flush(force=now)
        if now or time.monotonic() >= self._due:
            with self._lock:
                self._commit(source)

    def _commit(self, source: Source) -> None:
        """Write what was taken; what cannot be written now waits, or is lost where it is too much."""
        self._due = time.monotonic() + COMMIT
        about, place = self.fleet.about, self.fleet.folder
        try:
            self.fleet.commit()
        except OSError as error:
            if not self._full:
                self._notice("note", f"{place}: {error.__cause__ or error}; watching goes on")
            self._full = True
            about["unkept"] = about.get("unkept", 0) + self.fleet.drop_waiting(WAITING)
            return
        if self._full:
            self._notice("note", f"{place} is written again; {about.get('unkept', 0):,} steps were lost")
            self._full = False
        done, self._uncommitted = self._uncommitted, []
        for arrived in done:
            source.committed(arrived)
        if answer_requests(self.fleet) or self.fleet.label_choice is not None:
            self._tell_labels()

    def _tell_labels(self) -> None:
        """Tell the page what labels say, and which steps to label next."""
        lines, ask = [], []
        if (choice := self.fleet.label_choice) is not None:
            lines.append(accuracy(choice.summary()))
            numbers = {place: number for number, place in enumerate([*self._places][::-1])}
            for row in choice.waiting()[:MOST_ASKED]:
                if (ago := numbers.get((row[2], row[3]))) is not None:
                    ask.append(self.step - 1 - ago)
        if (promise := self.model.promise.summary()) is not None:
            lines.append(promised(promise))
        told = {"lines": lines, "ask": ask}
        if told != self.publisher.feed.labels:
            self.publisher.feed.labels = told

    def mark(self, asked: Mapping[str, Any]) -> str:
        """Keep what a step really was; any thread may call this.

        `asked` has `step` and `label`: a class or its name, True where the answer was right, False or None
        where it was wrong. Where the params have feedback, the monitor takes it too, if it remembers it.
        """
        step, label = asked.get("step"), asked.get("label")
        with self._lock:
            if type(step) is not int or not 0 <= step < self.step:
                raise wrong_value("step", step, f"0 to {self.step - 1}")
            code = code_of(False if label is None else label, self.params.replace(names=self.names))
            names = self.names or [f"class {number}" for number in range(self.params.classes)]
            said = {RIGHT: "right", WRONG: "wrong"}.get(code or 0)
            text = f"step {step:,} was {said or names[code or 0]}"
            ago = self.step - 1 - step
            boot, seq = self._places[-1 - ago] if ago < len(self._places) else (0, MAX_NUMBER - 1)
            row = {"device": DEVICE, "boot": boot, "seq": seq, "step": step}
            row["label"] = True if code == RIGHT else code
            try:
                used = self.fleet.tell([row], failed=True).get("used")
                if self.params.feedback is not None and not self.model.by_device:
                    text += (
                        "; the monitor uses it" if used else "; too late, or marked before, for the monitor"
                    )
            except OSError as error:
                text += f"; it waits for the disk ({error.__cause__ or error})"
            self.publisher.notices.now("mark", text, step)
            self._tell_labels()
        return text

    def unready(self) -> str:
        """Return why steps are not taken and kept at the moment, "" where they are."""
        if self._full:
            return "steps cannot be written"
        return "" if self.publisher.connected else "the source is not connected"

    def close(self) -> None:
        """Free the folder; what no commit has written is dropped."""
        self.publisher.notices.flush(force=True)
        with self._lock:
            self.publisher.feed.close()
            self.fleet.close()
