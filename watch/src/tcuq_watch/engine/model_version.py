"""`ModelVersion`: all devices that run one set of parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, located, wrong_type, wrong_value
from tcuq.base.limits import limits_given
from tcuq.labels.sampler import U64, device_keys
from tcuq.monitor.bank import Bank
from tcuq.monitor.params import Params
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.steps import STEP_DTYPE, Steps

from .. import _native
from .events import (
    LATEST,
    MAX_NAME,
    MAX_NUMBER,
    Decided,
    Events,
    checked,
    gauge_bytes,
    held_decisions,
    joined,
    name_fits,
    read_features,
    row_type,
    some_of,
)
from .marks import Promise
from .order import BRIDGE, HOLD, Integers, Order, Released, with_room
from .packing import from_json, to_json
from .tallies import Tallies


class ModelVersion:
    """Events of one set of parameters: put in order, run through a bank of monitors, counted, in memory.

    Parameters
    ----------
    version, params : str and Params
        Name of the parameters, and these.
    hold, bridge, keep_events
        As of `Fleet`.
    labels : Labels, optional
        Who is offered each step as one to be labeled.
    known : container of str, optional
        Devices that are accepted; default: all.

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
        self.version, self.params = version, params
        self.labels, self.known, self.keep_events = labels, known, keep_events
        self.by_device: bool | None = None  # whether devices decide themselves; None before the first event
        self._most = limits_given().devices
        self.devices: list[str] = []
        self.refused: Counter[str] = Counter()
        self.promise = Promise(params)
        self.blind = 0  # events without the gauges that the monitor was fitted to
        self.bank = Bank(params)
        self.tallies = Tallies(params)
        self._row = row_type(params)
        self._order = Order(self._row.itemsize, hold, bridge)
        self._slot_of: dict[str, int] = {}
        self._names = np.empty(0, dtype=object)
        self._keys: U64 = np.empty(0, dtype=np.uint64)
        self.stale = False  # whether anything has changed since `settle`
        self.journal: list[tuple[Any, Any]] | None = None
        """Events since the last commit, from which the states follow; None where these must be kept."""

    @property
    def places(self) -> npt.NDArray[Any]:
        """Where devices stand, by slot: rows of `PLACE_DTYPE`."""
        return self._order.places

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """When devices were last heard of, by slot, events that are held included; NaN: never with a time."""
        times = self.tallies.devices["last_time"].copy()
        slots, cells = self._order.held()
        np.fmax.at(times, slots, np.ascontiguousarray(cells["row"]).view(self._row)["time"][:, 0])
        return times

    def slot(self, device: str) -> int | None:
        """Return the slot of a device, None for one that was not heard of."""
        return self._slot_of.get(device)

    def take(self, events: Events, latest: float = LATEST) -> Decided:
        """Take events in the order of arrival; return what monitors say of those that are released.

        A time after `latest`, in seconds since 1970, can only be that of a wrong clock.
        """
        self.stale = True
        by_device = events.steps is not None
        if self.by_device is None and len(events):
            self._choose(by_device)
        if self.by_device not in (None, by_device):
            kind = "decisions among posteriors" if by_device else "posteriors among decisions"
            self.refused[kind] += len(events)
            return self._decide(self._order.release([], [], []))
        good, rows, refused = checked(self.params, events, latest)
        self.refused.update(refused)
        slots = self._slots(some_of(events.devices, good))
        if (slots < 0).any():
            keep = slots >= 0
            good, rows, slots = good[keep], rows[keep], slots[keep]
        boots, seqs = some_of(events.boots, good), some_of(events.seqs, good)
        if self.journal is not None:
            self.journal.append((np.array([slots, boots, seqs]), rows))
        return self._decide(self._order.take(slots, boots, seqs, rows))

    def _choose(self, by_device: bool) -> None:
        """Say what comes: posteriors, or decisions of devices. The other kind is refused from then on."""
        self.by_device = by_device
        if by_device:
            self._row = row_type(self.params, True)
            order = Order(self._row.itemsize, self._order.hold, self._order.bridge)
            order.grow(len(self.devices))
            self._order = order

    def flush(self) -> Decided:
        """Release all that is held back, as at the end of the input."""
        self.stale, self.journal = True, None
        return self._decide(self._order.release_all())

    def adopt(self, device: str, state: bytes, boot: int, seq: int) -> Decided:
        """Take over the state that a device saved after its event (boot, seq); seq -1 is before the first.

        Events up to there that are held are released first, by the old state; those that come later are
        late. What is held and follows at once is released by the new state.
        """
        self.stale, self.journal = True, None
        try:
            boot, seq = self._check_state(device, state, boot, seq)
        except InputError as error:
            self.refused["old state" if error.code == "conflict" else "bad state"] += 1
            raise
        slot = int(self._slots(np.array([device], dtype=object))[0])
        parts = [self._decide(self._order.release([slot], [boot], [seq]))]
        self._order.move(slot, boot, seq)
        self.promise.adopted(slot)
        self.bank.load_many([slot], state)
        while parts[-1] or len(parts) == 1:
            place = self.places[slot]
            following = self._order.release([slot], [place["boot"]], [place["seq"] + 1])
            parts.append(self._decide(following))
        return joined(parts)

    def _check_state(self, device: str, state: bytes, boot: int, seq: int) -> tuple[int, int]:
        place = integer("boot", boot, 0, MAX_NUMBER - 1), integer("seq", seq, -1, MAX_NUMBER - 1)
        if not isinstance(state, (bytes, bytearray)):
            raise wrong_type("state", state, "bytes")
        if not name_fits(device):
            raise wrong_value("device", device, f"a text of 1 to {MAX_NAME} characters")
        if self.known is not None and device not in self.known:
            raise InputError("unknown", f"device {device!r} is unknown, expected one of those given")
        slot = self._slot_of.get(device)
        if slot is None and len(self.devices) >= self._most:
            expected = limits_given().beyond("devices", len(self.devices) + 1, "devices")
            raise InputError("limit", f"device {device!r} is one too many, {expected}")
        if self.by_device:
            raise InputError("value", f"state of {device} comes among decisions, expected more of these")
        with located(f"state of {device}"):
            Bank(self.params, 1).load_many([0], state)
        if slot is not None and place < (last := self.places[slot].tolist()[:2]):
            problem = f"state of {device} is of boot {boot}, seq {seq}"
            raise InputError("conflict", f"{problem}, expected none before {last[0]}, {last[1]}")
        return place

    def back(self, device: str, boot: int, seq: int) -> int | None:
        """Return how far back a step is, 0 for the last one, where no event since is missing; else None."""
        slot = self._slot_of.get(device)
        if slot is None:
            return None
        last, run = self.places[slot], int(self.places[slot]["run"])
        ago = int(last["seq"]) - seq
        return ago if boot == last["boot"] and 0 <= ago < run else None

    def feedback(self, device: str, boot: int, seq: int, code: int) -> bool:
        """Give a monitor the truth about a step, as `marks.code_of` says it; tell whether it took it.

        It needs `Params.feedback`, and a step that the monitor remembers and that has no label yet.
        """
        ago = self.back(device, boot, seq)
        if ago is None or self.by_device or self.params.feedback is None:
            return False
        slot = self._slot_of[device]
        self._order.touch([slot])
        self.stale, self.journal = True, None
        return self.promise.give(self.bank, slot, -1 - ago, code)

    def _slots(self, names: npt.NDArray[Any]) -> Integers:
        """Return slots of devices, -1 for those that are refused; new ones are added."""
        slots = np.empty(len(names), dtype=np.int64)
        _native.slots(slots, names, self._slot_of)
        for place in np.flatnonzero(slots < 0).tolist():
            name = names[place]
            if not name_fits(name):
                self.refused["bad name"] += 1
            elif name in self._slot_of:
                slots[place] = self._slot_of[name]
            elif self.known is not None and name not in self.known:
                self.refused["unknown device"] += 1
            elif len(self._slot_of) >= self._most:
                self.refused["too many devices"] += 1
            else:
                slots[place] = self._slot_of[str(name)] = len(self._slot_of)
        self._grow()
        if self.known is not None:  # devices that were accepted before may not be any more
            out = np.fromiter((name not in self.known for name in names), bool, len(names)) & (slots >= 0)
            self.refused["unknown device"] += int(out.sum())
            slots[out] = -1
        return slots

    def _grow(self) -> None:
        """Make room for devices that have a slot, and nothing else yet."""
        if len(self._slot_of) == len(self.devices):
            return
        fresh = list(islice(self._slot_of, len(self.devices), None))
        self.devices.extend(fresh)
        self._names = with_room(self._names, len(self.devices))
        self._names[len(self.devices) - len(fresh) : len(self.devices)] = fresh
        self._order.grow(len(fresh))
        self.tallies.grow(len(fresh))
        if not self.by_device:
            self.bank.grow(len(fresh))

    def _decide(self, released: Released) -> Decided:
        slots, boots, seqs, rows, resets = released
        head = rows.view(self._row)[:, 0]
        content = np.ascontiguousarray(head["content"])
        probs = features = signals = gauges = None
        resets = resets | (head["begins"] > 0)
        if self.by_device:
            steps = Steps.of(content.view(STEP_DTYPE), self.params.names, self.params.sight)
        else:
            values = content.view(np.int8).reshape(len(slots), content.itemsize)
            probs = values[:, : self.params.classes]
            ends = np.cumsum([self.params.classes, read_features(self.params), gauge_bytes(self.params)])
            if read_features(self.params):
                features = values[:, ends[0] : ends[1]]
            if gauge_bytes(self.params):
                gauges = _gauges_of(self.params, values[:, ends[1] :])
            steps, signals = self._run(slots, probs, features, gauges, resets)
        times, devices = head["time"].astype(np.float64), self._names[slots]
        seen: dict[str, Any] = {}
        if self.keep_events:
            labels = head["label"].astype(np.int64)
            seen = {"probs": probs, "features": features, "labels": labels}
            seen |= {"resets": resets, "signals": signals, "gauges": gauges}
        decided = Decided(self.version, devices, boots, seqs, times, steps, slots=slots, **seen)
        if len(slots):
            self.tallies.update(slots, times, steps)
        if self.labels is not None:
            fresh = device_keys(self.version, self.devices[len(self._keys) :])
            self._keys = np.concatenate([self._keys, fresh])
            self.labels.offer(decided, self._keys[slots])
        return decided

    def _run(
        self, slots: Integers, probs: Any, features: Any, gauges: Any, resets: npt.NDArray[np.bool_]
    ) -> tuple[Steps, Any]:
        """Run events in their order; each device forgets its past where it is told to."""
        seen = np.zeros(len(slots), dtype=bool) if gauges is None else ~np.isnan(gauges[:, 0])
        if gauge_bytes(self.params):
            self.blind += len(slots) - int(seen.sum())
        mixed = bool(seen.any() and not seen.all())
        if not (resets.any() or mixed):
            return self._some(slots, probs, features, gauges if seen.any() else None)
        # Rounds: in each, a device's events up to its next reset, all of them with gauges or none.
        order = np.argsort(slots, kind="stable")
        sorted_slots, flags = slots[order], resets[order].astype(np.int64)
        begins = np.r_[True, sorted_slots[1:] != sorted_slots[:-1]]
        flags |= np.r_[False, np.diff(seen[order])] & ~begins
        turn = np.cumsum(flags)
        rounds = np.empty(len(slots), dtype=np.int64)
        rounds[order] = turn - np.maximum.accumulate(np.where(begins, turn - flags, 0))
        steps = np.empty(len(slots), dtype=STEP_DTYPE)
        signals = np.empty((len(slots), len(SIGNALS))) if self.keep_events else None
        by_round = np.argsort(rounds, kind="stable")
        for some in np.split(by_round, np.cumsum(np.bincount(rounds))[:-1]):
            self.bank.reset(slots[some[resets[some]]])
            for part in (some[seen[some]], some[~seen[some]]):
                if not len(part):
                    continue
                more = None if features is None else features[part]
                own = gauges[part] if seen[part[0]] else None
                steps[part], some_signals = self._some(slots[part], probs[part], more, own)
                if signals is not None:
                    signals[part] = some_signals
        return Steps.of(steps, self.params.names, self.params.sight), signals

    def _some(self, slots: Integers, probs: Any, features: Any, gauges: Any) -> tuple[Steps, Any]:
        answer = self.bank.run(slots, probs, features, signals=self.keep_events, gauges=gauges)
        return answer if self.keep_events else (answer, None)

    def changed(self) -> Integers:
        """Return the slots of which something has changed since `settle`."""
        return self._order.touched()

    def settle(self) -> None:
        """Say that all that has changed is kept elsewhere."""
        self._order.settle()
        self.stale = False

    def _counts(self) -> dict[str, npt.NDArray[Any]]:
        kind = -1 if self.by_device is None else self.by_device
        return {
            "count": np.array([len(self.devices), kind, self.blind]),
            "refused": to_json(self.refused),
        }

    def events(self) -> dict[str, npt.NDArray[Any]]:
        """Return the journal: what `replay` takes."""
        journal = self.journal or []
        places = np.concatenate([np.zeros((3, 0), np.int64), *(places for places, _ in journal)], axis=1)
        rows = np.concatenate([np.zeros((0, self._row.itemsize), np.uint8), *(rows for _, rows in journal)])
        return {**self._counts(), "places": places, "rows": rows}

    def replay(self, arrays: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> None:
        """Run the events of a journal again; `names` are those of all devices."""
        count, kind, blind = arrays["count"].tolist()
        slots, boots, seqs = places = arrays["places"].astype(np.int64)
        if kind >= 0 and self.by_device is None:
            self._choose(bool(kind))
        before = len(self.devices)
        self._slot_of.update(zip(names[before:count], range(before, count), strict=False))
        if not all(map(name_fits, names[before:count])) or not len(self._slot_of) == count >= before:
            raise InputError("damaged", "a device is missing, or is there twice")
        self._grow()
        if arrays["rows"].shape != (len(slots), self._row.itemsize) or (
            len(slots) and not -1 <= places[1:].min() <= places[1:].max() < MAX_NUMBER
        ):
            raise InputError("damaged", "events of a commit are no events")
        keeps, self.keep_events = self.keep_events, False
        self._decide(self._order.take(slots, boots, seqs, arrays["rows"]))
        self.keep_events, self.blind = keeps, blind
        self.refused = Counter(from_json(arrays["refused"]))

    def rows(self, slots: Integers) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of these devices, and the counts of all."""
        counts = self.tallies.arrays()
        return {
            **self._counts(),
            "slots": slots.astype(np.uint32),
            "states": self.bank.save_many([] if self.by_device else slots),
            **self._order.rows(slots),
            **counts,
            "devices": counts["devices"][slots],
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that `restored` needs."""
        return self.rows(np.arange(len(self.devices))) | {"names": to_json(self.devices)}

    @classmethod
    def restored(
        cls,
        version: str,
        params: Params,
        parts: Iterable[Mapping[str, npt.NDArray[Any]]],
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> ModelVersion:
        """Return a model from what `rows` gave, oldest first; later rows of a device replace earlier ones.

        `names` are those of all devices; what `arrays` gave has them.
        """
        model, kept = cls(version, params, **options), list(parts)
        if not kept:
            return model
        count, kind, *blind = kept[-1]["count"].tolist()  # version 0.3 counted two
        model.blind = sum(blind)
        slots = np.concatenate([part["slots"] for part in kept]).astype(np.int64)

        def newest(name: str) -> npt.NDArray[Any]:
            rows = np.concatenate([part[name] for part in kept])
            by_slot = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
            by_slot[slots] = rows  # of several rows of a slot, the last one stays
            return by_slot

        names = from_json(kept[-1]["names"]) if names is None else names
        if not all(map(name_fits, names)) or not len(set(names)) == len(names) == count:
            raise InputError("damaged", "a device is missing, or is there twice")
        model.refused = Counter(from_json(kept[-1]["refused"]))
        if kind >= 0:
            model._choose(bool(kind))
        model._slot_of = dict(zip(names, range(count), strict=True))
        model._grow()
        if not model.by_device:
            model.bank.load_many(np.arange(count), newest("states"))
        model.tallies = Tallies.restored(params, {**kept[-1], "devices": newest("devices")})
        last_part = np.zeros(count, dtype=np.int64)
        for number, part in enumerate(kept):
            last_part[part["slots"]] = number
        held: dict[str, Any] = {}
        for name in ("held_slots", "held_keys", "held_rows"):
            still = [
                part[name][last_part[part["held_slots"]] == number]
                for number, part in enumerate(kept)
                if part["count"][1] == kind  # before devices chose what to send, nothing was held
            ]
            if name == "held_rows" and model.by_device:
                still = [held_decisions(params, rows) for rows in still]
            held[name] = np.concatenate(still)
        model._order.load({"places": newest("places"), **held})
        model.settle()
        return model


def _gauges_of(params: Params, content: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return gauges from bytes of rows, NaN where an event had none."""
    assert params.sight is not None
    rows = np.ascontiguousarray(content[:, 1:]).view("<i2")
    values = (rows / np.array(params.sight.gauge_scales)).astype(np.float32)
    values[content[:, 0] == 0] = np.nan
    return np.asarray(values)
