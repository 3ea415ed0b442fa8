"""What a fleet must say, the slow way: a few lines of plain Python and a `Monitor` for each device."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Events


class NaiveDevice:
    """One device: its monitor, what is held, where it stands."""

    def __init__(self, params: Params, hold: int, bridge: int) -> None:
        self.monitor = Monitor(params)
        self.hold, self.bridge = hold, bridge
        self.held: dict[tuple[int, int], Any] = {}
        self.last: tuple[int, int] | None = None
        self.taken: set[tuple[int, int]] = set()
        self.counts = dict.fromkeys(("received", "missing", "late", "duplicates", "reboots"), 0)

    def told(self, boot: int, seq: int) -> tuple[int, int]:
        """Return where an event belongs that leaves its boot or its number open (-1)."""
        last_boot, last_seq = self.last or (-1, -1)
        if boot < 0:
            again = last_seq > 0 if seq == 0 else 0 < seq <= last_seq - 64
            boot = last_boot + again if self.last else 0
        if seq < 0:
            seq = last_seq + 1 if boot == last_boot else 0
        return boot, seq

    def take(self, boot: int, seq: int, row: Any) -> list[Any]:
        boot, seq = self.told(boot, seq)
        key, out = (boot, seq), []
        self.counts["received"] += 1
        if self.last is not None and key <= self.last:
            near = boot == self.last[0] and self.last[1] - seq < 64
            self.counts["duplicates" if near and key in self.taken else "late"] += 1
            return []
        if key in self.held:
            self.counts["duplicates"] += 1
            return []
        self.held[key] = row
        if seq == 0:
            while min(self.held) != key:
                out.append(self.release(min(self.held)))
            out.append(self.release(key))
        elif len(self.held) >= self.hold and not self.follows(min(self.held)):
            out.append(self.release(min(self.held)))
        while self.held and self.follows(min(self.held)):
            out.append(self.release(min(self.held)))
        return out

    def follows(self, key: tuple[int, int]) -> bool:
        return self.last is not None and key == (self.last[0], self.last[1] + 1)

    def release(self, key: tuple[int, int]) -> Any:
        boot, seq = key
        if self.last is not None:
            same = boot == self.last[0]
            gap = seq - self.last[1] - 1 if same else seq
            self.counts["missing"] += gap
            self.counts["reboots"] += not same
            if not same or gap > self.bridge:
                self.monitor.reset()
        self.last = key
        self.taken.add(key)
        probs, features, time, begins = self.held.pop(key)
        if begins:
            self.monitor.reset()
        step = self.monitor.run(probs[None], None if features is None else features[None])
        return boot, seq, time, np.asarray(step)[0]

    def flush(self) -> list[Any]:
        return [self.release(min(self.held)) for _ in range(len(self.held))]


class NaiveFleet:
    """Devices of one version, in the order in which they were first heard of."""

    def __init__(self, params: Params, hold: int = 32, bridge: int = 0) -> None:
        self.params, self.hold, self.bridge = params, hold, bridge
        self.devices: dict[str, NaiveDevice] = {}

    def take(self, events: Events) -> list[Any]:
        out = []
        for at, name in enumerate(events.devices):
            device = self.devices.setdefault(name, NaiveDevice(self.params, self.hold, self.bridge))
            features = None if events.features is None else events.features[at]
            time = np.nan if events.times is None else events.times[at]
            begins = events.begins is not None and events.begins[at]
            row = (events.probs[at], features, time, begins)
            found = device.take(int(events.boots[at]), int(events.seqs[at]), row)
            out.extend((name, *each) for each in found)
        return out

    def flush(self) -> list[Any]:
        return [(name, *each) for name, device in self.devices.items() for each in device.flush()]


def rows_of(decided: Any) -> str:
    """Return all that decisions say: equal texts are equal decisions, bit for bit."""
    columns = (decided.devices, decided.boots, decided.seqs, decided.times, np.asarray(decided.steps))
    return repr(list(zip(*(column.tolist() for column in columns), strict=True)))


def naive_rows(rows: list[Any]) -> str:
    """Return what a naive fleet said, as `rows_of` would."""
    return repr([(*row[:3], float(row[3]), row[4].tolist()) for row in rows])
