"""`ModelVersion`: all devices that run one set of parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from tcuq.monitor.steps import STEP_DTYPE, Steps

from .events import (
    KINDS,
    LATEST,
    MAX_NUMBER,
    TIME_BYTES,
    Decided,
    Events,
    checked,
    joined,
    name_problem,
    packed,
    read_features,
    row_bytes,
    times_of,
    unpacked,
)
from .order import BRIDGE, HOLD, Integers, Order, Released, Touched
from .tallies import Tallies


@dataclass(frozen=True)
class Changes:
    """What has changed since some moment: numbers of rows, and the devices that were there then."""

    devices: int
    touched: Touched

    def united(self, other: Changes) -> Changes:
        """Return what has changed in either."""
        pairs = zip(self.touched, other.touched, strict=True)
        return Changes(min(self.devices, other.devices), Touched(*(_union(*pair) for pair in pairs)))


def _union(one: Integers, other: Integers) -> Integers:
    found = np.zeros(max(int(one.max(initial=-1)), int(other.max(initial=-1))) + 1, dtype=bool)
    found[one] = found[other] = True
    return np.flatnonzero(found)


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

    Attributes
    ----------
    devices : list of str
        Names by slot.
    refused : Counter
        Events that could not be taken, by kind.
    tallies : Tallies
        Counts by device, class and time.

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
    ) -> None:
        self.version = version
        self.params = params
        self.labels = labels
        self.known = known
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
        self._settled = 0
        self._stale = False

    @property
    def places(self) -> npt.NDArray[Any]:
        """Where devices stand, by slot: rows of `PLACE_DTYPE`."""
        return self._order.places

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """When devices were last heard of, by slot, events that are held included; NaN: never with a time."""
        found = self.tallies.devices["last_time"].copy()
        slots, rows = self._order.held()
        np.fmax.at(found, slots, times_of(rows))
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
        good, rows, refused = checked(self.params, events, latest)
        self.refused.update(refused)
        slots = self._slots(events.devices[good])
        if (slots < 0).any():
            keep = slots >= 0
            good, rows, slots = good[keep], rows[keep], slots[keep]
        return self._decide(self._order.take(slots, events.boots[good], events.seqs[good], rows))

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
        self.bank.grow(len(fresh))
        self.tallies.grow(len(fresh))
        self._order.grow(len(fresh))

    def _decide(self, released: Released) -> Decided:
        slots, boots, seqs, rows, resets = released
        features = read_features(self.params)
        first = TIME_BYTES + self.params.classes
        probs = np.ascontiguousarray(rows[:, TIME_BYTES:first]).view(np.int8)
        more = np.ascontiguousarray(rows[:, first:]).view(np.int8) if features else None
        steps = self._run(slots, probs, more, resets)
        times, devices = times_of(rows), self._names[slots]
        if len(slots):
            self.tallies.update(slots, times, boots, seqs, steps)
            if self.labels is not None:
                self.labels.offer(self.version, devices, boots, seqs, times, steps, self._label_keys()[slots])
        return Decided(self.version, devices, boots, seqs, times, steps)

    def _label_keys(self) -> U64:
        """Return what the choice of labels knows devices by, by slot."""
        if len(self._keys) < len(self.devices):
            fresh = device_keys(self.version, self.devices[len(self._keys) :])
            self._keys = np.concatenate([self._keys, fresh])
        return self._keys

    def _run(self, slots: Integers, probs: Any, features: Any, resets: npt.NDArray[np.bool_]) -> Steps:
        """Run events in their order; each device forgets its past where it is told to."""
        if not resets.any():
            return self.bank.run(slots, probs, features)  # type: ignore[no-any-return]
        order = np.argsort(slots, kind="stable")
        sorted_slots, flags = slots[order], resets[order].astype(np.int64)
        begins = np.r_[True, sorted_slots[1:] != sorted_slots[:-1]]
        turn = np.cumsum(flags)
        rounds = np.empty(len(slots), dtype=np.int64)
        rounds[order] = turn - np.maximum.accumulate(np.where(begins, turn - flags, 0))
        by_round = np.argsort(rounds, kind="stable")
        steps = np.empty(len(slots), dtype=STEP_DTYPE)
        for some in np.split(by_round, np.cumsum(np.bincount(rounds))[:-1]):
            if rounds[some[:1]].any():
                self.bank.reset(slots[some[resets[some]]])
            more = None if features is None else features[some]
            steps[some] = self.bank.run(slots[some], probs[some], more)
        return Steps.of(steps, self.params.names)

    def changed(self) -> Changes:
        """Return what has changed since `settle`."""
        return Changes(self._settled, self._order.touched())

    def settle(self) -> None:
        """Say that all that has changed is kept elsewhere."""
        self._order.settle(self._order.touched())
        self._settled = len(self.devices)
        self._stale = False

    def rows(self, changes: Changes) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of what has changed."""
        slots = changes.touched.slots
        names, name_ends = packed(self.devices[changes.devices :])
        kept: dict[str, npt.NDArray[Any]] = {
            "count": np.array([changes.devices, len(self.devices)], dtype=np.int64),
            "names": names,
            "name_ends": name_ends,
            "slots": slots.astype(np.uint32),
            "states": self.bank.save_many(slots),
            "refused": np.array([self.refused[kind] for kind in KINDS], dtype=np.int64),
            **self._order.rows(changes.touched),
        }
        for name, array in self.tallies.arrays().items():
            kept[f"tallies.{name}"] = array[slots] if name in Tallies.PER_SLOT else array
        return kept

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that `restored` needs."""
        return self.rows(Changes(0, self._order.everything()))

    @classmethod
    def restored(
        cls,
        version: str,
        params: Params,
        arrays: Mapping[str, npt.NDArray[Any]] | Sequence[Mapping[str, npt.NDArray[Any]]],
        **options: Any,
    ) -> ModelVersion:
        """Return a model from what `arrays` gave, or from that and what `rows` gave later, oldest first."""
        model = cls(version, params, **options)
        tallies: dict[str, npt.NDArray[Any]] = {}
        for part in [arrays] if isinstance(arrays, Mapping) else arrays:
            model._load(part, tallies)
        if tallies:
            model.tallies = Tallies.restored(params, tallies)
        model.settle()
        return model

    def _load(self, arrays: Mapping[str, npt.NDArray[Any]], tallies: dict[str, npt.NDArray[Any]]) -> None:
        (first, count), slots = arrays["count"].tolist(), arrays["slots"].astype(np.int64)
        names = unpacked(arrays["names"], arrays["name_ends"])
        fresh = names[len(self.devices) - first :]
        if len(self.devices) < first or len(self.devices) + len(fresh) != count:
            raise InputError("damaged", f"it begins at device {first}, expected {len(self.devices)}")
        self._slot_of.update(zip(fresh, range(len(self.devices), count), strict=True))
        self._grow(fresh)
        self.bank.load_many(slots, arrays["states"])
        self._order.load(slots, arrays)
        self.refused = +Counter(dict(zip(KINDS, arrays["refused"].tolist(), strict=False)))
        for key in [each for each in arrays if each.startswith("tallies.")]:
            name = key.partition(".")[2]
            if name not in Tallies.PER_SLOT:
                tallies[name] = arrays[key]
                continue
            rows = arrays[key]
            old = tallies.get(name, np.zeros((0, *rows.shape[1:]), dtype=rows.dtype))
            if len(old) < count:
                old = np.concatenate([old, np.zeros((count - len(old), *rows.shape[1:]), dtype=rows.dtype)])
            old[slots] = rows
            tallies[name] = old
