"""`ModelVersion`: all devices that run one set of parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, located
from tcuq.base.limits import limits_given
from tcuq.base.step_hashes import U64, device_keys
from tcuq.monitor.bank import Bank
from tcuq.monitor.params import Params
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.steps import STEP_DTYPE, Steps

from .events import (
    HEAD,
    KINDS,
    LATEST,
    MAX_NUMBER,
    Decided,
    Events,
    checked,
    heads_of,
    joined,
    name_problem,
    read_features,
    row_bytes,
)
from .order import BRIDGE, HOLD, PLACE_DTYPE, Integers, Order, Released
from .packing import packed, unpacked
from .tallies import DEVICE_DTYPE, Tallies


class ModelVersion:
    """Events of one set of parameters: put in order, run through a bank of monitors, counted.

    A model is kept in memory alone; `Fleet` commits models to a folder.

    Parameters
    ----------
    version : str
        Name of the parameters.
    params : Params
        Of the monitors.
    hold : int, default 8
        Events that are held back a device.
    bridge : int, default 16
        Missing events that a monitor passes over; after more it forgets its past, as after a new boot.
    labels : Labels, optional
        Who is offered each step as one to be labeled.
    known : container of str, optional
        Devices that are accepted; default: all.
    keep_events : bool, default False
        Whether `Decided` also has what the monitors saw.

    Attributes
    ----------
    devices : list of str
        Names by slot.
    refused : Counter
        Events that could not be taken, by kind.
    tallies : Tallies
        Counts by device, class and time.
    by_device : bool or None
        Whether devices decide themselves and send what they decided; None before the first event. What comes
        of the other kind is refused.

    Examples
    --------
    >>> model = ModelVersion("v1", Params(classes=2))
    >>> decided = model.take(Events(["a", "b", "a"], [0, 0, 0], [0, 0, 2], [[0.9, 0.1]] * 3))
    >>> decided.devices.tolist(), model.places["held"].tolist()
    (['a', 'b'], [1, 0])
    """

    def __init__(
        self,
        version: str,
        params: Params,
        hold: int = HOLD,
        bridge: int = BRIDGE,
        labels: Any = None,
        known: Container[str] | None = None,
        keep_events: bool = False,
    ) -> None:
        self.version = version
        self.params = params
        self.labels = labels
        self.known = known
        self.keep_events = keep_events
        self.by_device: bool | None = None
        self._limits = limits_given()
        self._most = self._limits.devices
        self.devices: list[str] = []
        self.refused: Counter[str] = Counter()
        self.bank = Bank(params)
        self.tallies = Tallies(params)
        self._order = Order(row_bytes(params), hold, bridge)
        self._slot_of: dict[str, int] = {}
        self._names = np.empty(0, dtype=object)
        self._keys: U64 = np.empty(0, dtype=np.uint64)
        self._stale = False

    @property
    def places(self) -> npt.NDArray[Any]:
        """Where devices stand, by slot: rows of `PLACE_DTYPE`."""
        return self._order.places

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """When devices were last heard of, by slot, events that are held included; NaN: never with a time."""
        found = self.tallies.devices["last_time"].copy()
        slots, cells = self._order.held()
        np.fmax.at(found, slots, heads_of(cells["row"])["time"])
        return found

    @property
    def hold(self) -> int:
        """Events that are held back a device."""
        return self._order.hold

    @property
    def bridge(self) -> int:
        """Missing events that a monitor passes over."""
        return self._order.bridge

    @property
    def stale(self) -> bool:
        """Whether anything has changed since `settle`."""
        return self._stale

    def slot(self, device: str) -> int | None:
        """Return the slot of a device, None for one that was not heard of."""
        return self._slot_of.get(device)

    def take(self, events: Events, latest: float = LATEST) -> Decided:
        """Take events in the order of arrival; return what monitors say of those that are released.

        Parameters
        ----------
        events : Events
            Of this version, in the order of arrival.
        latest : float, default 8589934592.0
            Seconds since 1970 after which a time can only be that of a wrong clock.

        Returns
        -------
        Decided
            Decisions on the released events.
        """
        self._stale = True
        if not self._takes(events):
            return self._decide(self._order.release([], [], []))
        good, rows, refused = checked(self.params, events, latest)
        self.refused.update(refused)
        slots = self._slots(events.devices[good])
        if (slots < 0).any():
            keep = slots >= 0
            good, rows, slots = good[keep], rows[keep], slots[keep]
        return self._decide(self._order.take(slots, events.boots[good], events.seqs[good], rows))

    def _takes(self, events: Events) -> bool:
        """Tell whether events are of the kind that came first: posteriors, or decisions."""
        by_device = events.steps is not None
        if self.by_device is None and len(events):
            self._choose(by_device)
        if self.by_device not in (None, by_device):
            kind = "decisions among posteriors" if by_device else "posteriors among decisions"
            self.refused[kind] += len(events)
            return False
        return True

    def _choose(self, by_device: bool) -> None:
        self.by_device = by_device
        if by_device:
            order = Order(row_bytes(self.params, True), self.hold, self.bridge)
            order.grow(len(self.devices))
            self._order = order

    def flush(self) -> Decided:
        """Release all that is held back, as at the end of the input.

        Returns
        -------
        Decided
            Decisions on the events that were held.
        """
        self._stale = True
        return self._decide(self._order.release_all())

    def adopt(self, device: str, state: bytes, boot: int, seq: int) -> Decided:
        """Take over the state that a device saved after its event (boot, seq); seq -1 is before the first.

        Events up to there that are held are released first, by the old state; those that come later are
        late. What is held and follows at once is released by the new state.

        Parameters
        ----------
        device : str
            Whose state it is.
        state : bytes
            As `Monitor.save` or the C package gives it.
        boot, seq : int
            The last event that the state has seen.

        Returns
        -------
        Decided
            Events that were held and became free.

        Raises
        ------
        ValueError
            For a state that is damaged, of other parameters, or older than the last released event; it is
            counted in `refused`, and nothing else changes.
        """
        self._stale = True
        try:
            boot, seq = self._check_state(device, state, boot, seq)
        except InputError as error:
            self.refused["old state" if error.code == "conflict" else "bad state"] += 1
            raise
        slot = int(self._slots(np.array([device], dtype=object))[0])
        parts = [self._decide(self._order.release([slot], [boot], [seq]))]
        self._order.move(slot, boot, seq)
        self.bank.load_many([slot], np.frombuffer(state, dtype=np.uint8)[None])
        while parts[-1] or len(parts) == 1:
            place = self.places[slot]
            following = self._order.release([slot], [place["boot"]], [place["seq"] + 1])
            parts.append(self._decide(following))
        return joined(parts)

    def feedback(self, rows: Iterable[tuple[str, int, int, int]]) -> int:
        """Give monitors the truth about steps that they remember; it needs `Params.feedback`.

        Which of the monitor's steps an event was is known for the last 64 events of a device's present start,
        up to the last one that is missing.
        """
        found = []
        for device, boot, seq, label in rows:
            slot = self._slot_of.get(device, -1)
            last_boot, last_seq, seen = self.places[slot].tolist()[:3] if slot >= 0 else (-1, -1, 0)
            ago = last_seq - seq
            every = (2 << ago) - 1 if 0 <= ago < 64 else -1
            if boot == last_boot and seen & every == every:
                found.append((slot, ago, label))
        slots, agos, labels = np.array(found, dtype=np.int64).reshape(-1, 3).T
        self._order.touch(slots)
        self._stale |= bool(found)
        return int(self.bank.feedback(slots, agos, labels).sum())

    def _check_state(self, device: str, state: bytes, boot: int, seq: int) -> tuple[int, int]:
        problem = name_problem(device)
        if problem:
            raise InputError("value", f"device {problem}")
        slot = self._slot_of.get(device)
        if self.known is not None and device not in self.known:
            raise InputError(
                "unknown", f"device {device!r} is unknown, expected one that the fleet was opened with"
            )
        if slot is None and len(self._slot_of) >= self._most:
            count = len(self._slot_of) + 1
            expected = self._limits.beyond("devices", count, "devices")
            raise InputError("limit", f"device {device!r} would be number {count:,}, {expected}")
        place = integer("boot", boot, 0, MAX_NUMBER - 1), integer("seq", seq, -1, MAX_NUMBER - 1)
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise InputError("value", f"state of {device} is {type(state).__name__}, expected bytes")
        if self.by_device:
            raise InputError("value", f"state of {device} comes among decisions, expected more of these")
        content = np.frombuffer(state, dtype=np.uint8)
        if len(content) != self.params.state_bytes:
            expected = f"expected {self.params.state_bytes}"
            raise InputError("value", f"state of {device} has {len(content)} bytes, {expected}")
        with located(f"state of {device}"):
            Bank(self.params, 1).load_many([0], content[None])
        if slot is not None and place < (at := self.places[slot].tolist()[:2]):
            said = f"state of {device} is of boot {boot}, seq {seq}; it is already at {at[0]}, {at[1]}"
            raise InputError("conflict", said)
        return place

    def _slots(self, names: npt.NDArray[Any]) -> Integers:
        """Return slots of devices, -1 for those that are refused; new ones are added."""
        try:
            slots = np.fromiter(map(self._slot_of.get, names, repeat(-1)), np.int64, len(names))
        except TypeError:  # a name that cannot be looked up
            names = np.array([each if isinstance(each, str) else None for each in names], dtype=object)
            slots = np.fromiter(map(self._slot_of.get, names, repeat(-1)), np.int64, len(names))
        fresh: list[str] = []
        for at in np.flatnonzero(slots < 0).tolist():
            name = names[at]
            slot = self._slot_of.get(name)
            if slot is None:
                if name_problem(name):
                    self.refused["bad name"] += 1
                    continue
                if self.known is not None and name not in self.known:
                    self.refused["unknown device"] += 1
                    continue
                if len(self._slot_of) >= self._most:
                    self.refused["too many devices"] += 1
                    continue
                name = str(name)
                slot = self._slot_of[name] = len(self.devices) + len(fresh)
                fresh.append(name)
            slots[at] = slot
        self._grow(fresh)
        if self.known is not None:  # devices that were accepted before may not be any more
            out = np.fromiter((name not in self.known for name in names), bool, len(names)) & (slots >= 0)
            self.refused["unknown device"] += int(out.sum())
            slots[out] = -1
        return slots

    def _grow(self, fresh: list[str]) -> None:
        if not fresh:
            return
        first = len(self.devices)
        self.devices.extend(fresh)
        if len(self.devices) > len(self._names):
            room = max(len(self.devices), len(self._names) * 5 // 4 + 16)
            self._names = np.concatenate([self._names[:first], np.empty(room - first, dtype=object)])
        self._names[first : len(self.devices)] = fresh
        if not self.by_device:
            self.bank.grow(len(fresh))
        self.tallies.grow(len(fresh))
        self._order.grow(len(fresh))

    def _decide(self, released: Released) -> Decided:
        slots, boots, seqs, rows, resets = released
        head, content = heads_of(rows), rows[:, HEAD.itemsize :]
        probs = features = signals = None
        resets = resets | (head["begins"] > 0)
        if self.by_device:
            steps = Steps.of(np.ascontiguousarray(content).view(STEP_DTYPE)[:, 0], self.params.names)
        else:
            probs = np.ascontiguousarray(content[:, : self.params.classes]).view(np.int8)
            if read_features(self.params):
                features = np.ascontiguousarray(content[:, self.params.classes :]).view(np.int8)
            steps, signals = self._run(slots, probs, features, resets)
        times, devices = head["time"].astype(np.float64), self._names[slots]
        if len(slots):
            self.tallies.update(slots, times, boots, seqs, steps)
            if self.labels is not None:
                self.labels.offer(self.version, devices, boots, seqs, times, steps, self._label_keys()[slots])
        decided = Decided(self.version, devices, boots, seqs, times, steps, slots=slots)
        if not self.keep_events:
            return decided
        labels = head["label"].astype(np.int64)
        seen = replace(decided, probs=probs, features=features, labels=labels)
        return replace(seen, resets=resets, signals=signals)

    def _label_keys(self) -> U64:
        """Return what the choice of labels knows devices by, by slot."""
        if len(self._keys) < len(self.devices):
            fresh = device_keys(self.version, self.devices[len(self._keys) :])
            self._keys = np.concatenate([self._keys, fresh])
        return self._keys

    def _run(
        self, slots: Integers, probs: Any, features: Any, resets: npt.NDArray[np.bool_]
    ) -> tuple[Steps, Any]:
        """Run events in their order; each device forgets its past where it is told to."""
        if not resets.any():
            return self._some(slots, probs, features)
        order = np.argsort(slots, kind="stable")
        sorted_slots, flags = slots[order], resets[order].astype(np.int64)
        begins = np.r_[True, sorted_slots[1:] != sorted_slots[:-1]]
        turn = np.cumsum(flags)
        rounds = np.empty(len(slots), dtype=np.int64)
        rounds[order] = turn - np.maximum.accumulate(np.where(begins, turn - flags, 0))
        by_round = np.argsort(rounds, kind="stable")
        steps = np.empty(len(slots), dtype=STEP_DTYPE)
        signals = np.empty((len(slots), len(SIGNALS))) if self.keep_events else None
        for some in np.split(by_round, np.cumsum(np.bincount(rounds))[:-1]):
            if rounds[some[:1]].any():
                self.bank.reset(slots[some[resets[some]]])
            more = None if features is None else features[some]
            steps[some], found = self._some(slots[some], probs[some], more)
            if signals is not None:
                signals[some] = found
        return Steps.of(steps, self.params.names), signals

    def _some(self, slots: Integers, probs: Any, features: Any) -> tuple[Steps, Any]:
        found = self.bank.run(slots, probs, features, signals=self.keep_events)
        return found if self.keep_events else (found, None)

    def changed(self) -> Integers:
        """Return the slots of which something has changed since `settle`."""
        return self._order.touched()

    def settle(self) -> None:
        """Say that all that has changed is kept elsewhere."""
        self._order.settle()
        self._stale = False

    def rows(self, slots: Integers) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of these devices, and the counts of all."""
        names, name_ends = packed([self.devices[slot] for slot in slots.tolist()])
        kept: dict[str, npt.NDArray[Any]] = {
            "count": np.array([len(self.devices), -1 if self.by_device is None else int(self.by_device)]),
            "names": names,
            "name_ends": name_ends,
            "slots": slots.astype(np.uint32),
            "states": self.bank.save_many([] if self.by_device else slots),
            "refused": np.array([self.refused[kind] for kind in KINDS], dtype=np.int64),
            **self._order.rows(slots),
        }
        for name, array in self.tallies.arrays().items():
            kept[f"tallies.{name}"] = array[slots] if name in Tallies.PER_SLOT else array
        return kept

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that `restored` needs."""
        return self.rows(np.arange(len(self.devices)))

    @classmethod
    def restored(
        cls,
        version: str,
        params: Params,
        parts: Iterable[Mapping[str, npt.NDArray[Any]]],
        **options: Any,
    ) -> ModelVersion:
        """Return a model from what `rows` gave, oldest first; later rows of a device replace earlier ones."""
        model = cls(version, params, **options)
        names = np.empty(0, dtype=object)
        places, tallied = np.zeros(0, dtype=PLACE_DTYPE), np.zeros(0, dtype=DEVICE_DTYPE)
        newest = np.zeros(0, dtype=np.int64)  # the part that has the last word on a device
        held: list[tuple[Integers, ...]] = []
        arrays: Mapping[str, npt.NDArray[Any]] = {}
        for number, arrays in enumerate(parts):
            count, kind = arrays["count"].tolist()
            slots = arrays["slots"].astype(np.int64)
            if kind >= 0 and model.by_device is None:
                model._choose(bool(kind))
            names, places, tallied, newest = (_longer(a, count) for a in (names, places, tallied, newest))
            names[slots] = unpacked(arrays["names"], arrays["name_ends"])
            places[slots], tallied[slots], newest[slots] = arrays["places"], arrays["tallies.devices"], number
            if not model.by_device:
                model.bank.grow(count - len(model.bank))
                model.bank.load_many(slots, arrays["states"])
            held.append((arrays["held_slots"], arrays["held_keys"], arrays["held_rows"]))
        if arrays:
            model._restore(names, places, tallied, arrays)
            owners, keys, rows = (np.concatenate(each) for each in zip(*held, strict=True))
            parts_of = np.repeat(np.arange(len(held)), [len(each[0]) for each in held])
            last = newest[owners] == parts_of
            waiting = {"held_slots": owners[last], "held_keys": keys[last], "held_rows": rows[last]}
            model._order.load({"places": places, **waiting})
        model.settle()
        return model

    def _restore(self, names: Any, places: Any, tallied: Any, last: Mapping[str, npt.NDArray[Any]]) -> None:
        if any(name_problem(name) for name in names) or len(set(names)) < len(names):
            raise InputError("damaged", "a device is missing, or is there twice")
        self.devices, self._names = names.tolist(), names
        self._slot_of = dict(zip(self.devices, range(len(names)), strict=True))
        self._order.grow(len(names))
        self.refused = +Counter(dict(zip(KINDS, last["refused"].tolist(), strict=False)))
        counts = {key.partition(".")[2]: last[key] for key in last if key.startswith("tallies.")}
        self.tallies = Tallies.restored(self.params, counts | {"devices": tallied})


def _longer(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    return np.concatenate([array, np.zeros(max(0, count - len(array)), dtype=array.dtype)])
