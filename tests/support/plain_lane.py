"""Order and monitors of devices, one event at a time in plain Python: what a fleet's lane must equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq import Bank, Params
from tcuq.fleet.events import Decided, Events
from tcuq.monitor.quantize import quantize_probs
from tcuq.monitor.steps import STEP_DTYPE, Steps

Held = dict[tuple[int, int], tuple[float, list[int]]]
"""(boot, seq) -> time and posterior of what has arrived too early."""


class PlainLane:
    """Slow and simple. Posteriors only."""

    def __init__(self, version: str, params: Params, hold: int = 32, bridge: int = 0) -> None:
        self.version, self.params, self.hold, self.bridge = version, params, hold, bridge
        self.devices: list[str] = []
        self.bank = Bank(params)
        self.at: dict[str, int] = {}
        self.last: list[tuple[int, int] | None] = []
        self.held: list[Held] = []

    def take(self, events: Events) -> Decided:
        probs = quantize_probs(events.probs)
        times = np.full(len(events), np.nan) if events.times is None else events.times
        rows: list[tuple[Any, ...]] = []
        for name, boot, seq, time, row in zip(
            events.devices.tolist(), events.boots.tolist(), events.seqs.tolist(), times, probs, strict=True
        ):
            slot = self._slot(name)
            last, held = self.last[slot], self.held[slot]
            if (last is not None and (boot, seq) <= last) or (boot, seq) in held:
                continue
            held[boot, seq] = (float(time), row.tolist())
            self._ready(slot, rows)
            while len(held) >= self.hold:
                self._release(slot, rows)
                self._ready(slot, rows)
        return self._decided(rows)

    def _slot(self, name: str) -> int:
        if name not in self.at:
            self.at[name] = self.bank.grow(1)[0]
            self.devices.append(name)
            self.last.append(None)
            self.held.append({})
        return self.at[name]

    def _ready(self, slot: int, rows: list[tuple[Any, ...]]) -> None:
        """Release what follows at once."""
        while self.held[slot]:
            first, last = min(self.held[slot]), self.last[slot]
            if last is None:
                follows = first[1] == 0
            else:
                follows = first == (last[0], last[1] + 1) or (first[0] > last[0] and first[1] == 0)
            if not follows:
                return
            self._release(slot, rows)

    def _release(self, slot: int, rows: list[tuple[Any, ...]]) -> None:
        place = min(self.held[slot])
        time, row = self.held[slot].pop(place)
        last = self.last[slot]
        if last is not None and (place[0] != last[0] or place[1] - last[1] - 1 > self.bridge):
            self.bank.reset([slot])
        self.last[slot] = place
        step = self.bank.run([slot], np.array([row], dtype=np.int8))
        rows.append((self.devices[slot], *place, time, np.asarray(step)[0]))

    def _decided(self, rows: list[tuple[Any, ...]]) -> Decided:
        columns = list(zip(*rows, strict=True)) if rows else [[]] * 5
        steps = np.array(list(columns[4]), dtype=STEP_DTYPE)
        return Decided(
            self.version,
            np.array(columns[0], dtype=object),
            np.array(columns[1], dtype=np.int64),
            np.array(columns[2], dtype=np.int64),
            np.array(columns[3], dtype=np.float64),
            Steps.of(steps, self.params.names),
        )

    def flush(self) -> Decided:
        rows: list[tuple[Any, ...]] = []
        for slot in range(len(self.devices)):
            while self.held[slot]:
                self._release(slot, rows)
        return self._decided(rows)

    def adopt(self, device: str, state: bytes, boot: int, seq: int) -> None:
        slot = self._slot(device)
        self.bank.load_many([slot], np.frombuffer(state, dtype=np.uint8)[None])
        self.last[slot] = (boot, seq)
        self.held[slot] = {place: what for place, what in self.held[slot].items() if place > (boot, seq)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        held = [[[*place, *what] for place, what in held.items()] for held in self.held]
        text = json.dumps([self.devices, self.last, held]).encode()
        return {
            "text": np.frombuffer(text, dtype=np.uint8),
            "states": self.bank.save_many(np.arange(len(self.devices))),
        }

    @classmethod
    def restored(
        cls,
        version: str,
        params: Params,
        arrays: Mapping[str, npt.NDArray[Any]],
        hold: int = 32,
        bridge: int = 0,
    ) -> PlainLane:
        lane = cls(version, params, hold, bridge)
        devices, last, held = json.loads(arrays["text"].tobytes())
        for name in devices:
            lane._slot(name)
        lane.bank.load_many(np.arange(len(devices)), np.array(arrays["states"]))
        lane.last = [None if place is None else (place[0], place[1]) for place in last]
        lane.held = [{(b, s): (time, row) for b, s, time, row in rows} for rows in held]
        return lane
