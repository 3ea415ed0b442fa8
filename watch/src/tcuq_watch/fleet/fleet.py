"""`Fleet`: all devices of all versions, in a folder that survives a crash at any moment."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tcuq.base.checks import integer, number
from tcuq.base.errors import InputError, InputTypeError, wrong_value
from tcuq.monitor.params import Params

from ..engine.events import MAX_NUMBER, Decided, Events, joined
from ..engine.labels import Labels
from ..engine.marks import Mark, Promise, code_of
from ..engine.model_version import ModelVersion
from ..verdicts.summary import Only, summarize
from .decision_tables import named_damage
from .lock import NonBlockingLock
from .store import Parts, Store, agreed_options, agreed_versions, named_params

AHEAD = 86400.0
"""Seconds that a device's clock may be ahead of that of the fleet."""


PROMISE = "promise/"
"""Begins the names under which counts of labels are kept, one a version."""

ASKED, TAKEN = ("told", "unlabeled", "unknown", "bad"), ("told", "used", "kept")
"""What can come of a label that was asked for; and what it has reached, asked for or not."""


class Fleet:
    """Watch many devices, of one or several versions of a model.

    A batch of events is put in order, run and committed to the folder, all of it or nothing: a process that
    is killed at any moment goes on as if it had not been, once its source goes on from `position`.
    `models` has the versions by name. One thread at a time uses a fleet.

    Parameters
    ----------
    params : Params or mapping of str to Params
        Parameters by name of their version. One alone is named by its fingerprint.
    folder : path
        Where the fleet is kept; made if it is not there. One process at a time writes to it.
    devices : iterable of str, optional
        Devices that are accepted; default: all.
    hold, bridge : int, optional
        Events that are held back a device while earlier ones may still come, 1 to 64 (default 8), and missing
        ones that a monitor passes over (16); after more it forgets its past.
    labels_per_day, seed : int, optional
        Steps to have labeled a day, over all devices, and the seed of that choice, which stays a secret:
        drawn at random if left out, and kept in the folder.
    keep_bytes, keep_days, keep_events : number and bool, optional
        Decisions to keep in the folder, the newest, by size (10 GB; 0 keeps none) and by times of events, and
        whether to keep what the monitors saw beside them.
    clock : callable, optional
        Tells seconds since 1970; a time more than a day after it is none, as of a wrong clock.
    read_only : bool, default False
        Look at the last commit while another process may write.

    Examples
    --------
    >>> import tempfile
    >>> with Fleet(Params(classes=2), tempfile.mkdtemp()) as fleet:
    ...     events = Events(["a", "b", "a"], [0, 0, 0], [0, 0, 2], [[0.9, 0.1]] * 3)
    ...     [decided] = fleet.take(events, position=3)
    >>> decided.devices.tolist(), decided.seqs.tolist(), fleet.position
    (['a', 'b'], [0, 0], 3)
    """

    def __init__(
        self,
        params: Params | Mapping[str, Params] | None,
        folder: str | Path,
        *,
        devices: Iterable[str] | None = None,
        hold: int | None = None,
        bridge: int | None = None,
        labels_per_day: int | None = None,
        seed: int | None = None,
        keep_bytes: int = 10**10,
        keep_days: float | None = None,
        keep_events: bool = False,
        clock: Callable[[], float] = time.time,
        read_only: bool = False,
    ) -> None:
        given = None if params is None and read_only else named_params(params)
        self._keep_bytes = integer("keep_bytes", keep_bytes, 0, 2**62)
        days = math.inf if keep_days is None else number("keep_days", keep_days, 0, 1e6)
        self._keep_seconds = 86400 * days
        known = None if devices is None else frozenset(devices)
        self.folder, self.read_only, self._clock = Path(folder), read_only, clock
        self.models: dict[str, ModelVersion] = {}
        self.label_choice: Labels | None = None
        self._labels_stale = False
        self._kept_labels: dict[str, npt.NDArray[Any]] = {}
        self._parts: dict[str, Parts] = {}
        self._marks: list[tuple[int, int, float]] = []
        self._waiting: list[Decided] = []
        self._waiting_at: Any = None
        self._failed = False
        self._unusable = "is opened to read, expected one that is open to write" if read_only else None
        self._busy = NonBlockingLock(f"fleet {folder}")
        self._owner = os.getpid()
        self.store = Store(self.folder, read_only)
        try:
            self._open(given, {"hold": hold, "bridge": bridge}, known=known, keep_events=keep_events)
            self._open_labels(labels_per_day, seed)
        except BaseException:
            self.close()
            raise

    def _open(
        self, given: Mapping[str, Params] | None, options: Mapping[str, int | None], **more: Any
    ) -> None:
        """Read the last commit, or begin the folder."""
        head = self.store.head()
        if head is None and self.read_only:
            raise InputError("missing", f"{self.folder} holds no commit of a fleet yet")
        there = {name: Params.from_json(text) for name, text in self.store.versions().items()}
        self._options = agreed_options(self.folder, head, options)
        wanted = agreed_versions(self.folder, there, given)
        kept = head or {}
        self.commit_number, self.position = kept.get("commit", 0), kept.get("position")
        self._refused, self.about = Counter(kept.get("refused", {})), kept.get("about", {})
        if more["keep_events"]:
            self.about["keep_events"] = True
        for name, params in wanted.items():
            parts = self._parts[name] = Parts(self.store, name)
            self.models[name] = parts.read(params, **self._options, **more)
        rests = f"of {self.folder} is not given: it rests, its state is kept"
        self.remarks = [f"version {name!r} {rests}" for name in there if name not in wanted]
        self._head = json.dumps(self._about(self.position))
        if not self.read_only and (head is None or set(wanted) - set(there)):
            with self.store.commit():
                for name in wanted:
                    if name not in there:
                        self.store.put_version(name, wanted[name].to_json())
                self.store.put_head({"commit": self.commit_number, **self._about(self.position)})

    def _open_labels(self, per_day: int | None, seed: int | None) -> None:
        kept = self.store.labels()
        promised = {name: kept.pop(name) for name in list(kept) if str(name).startswith(PROMISE)}
        with named_damage(f"the labels in {self.folder}"):
            for name, model in self.models.items():
                model.promise = Promise(model.params, promised.get(PROMISE + name))
                model.promise.summary()
        self._kept_labels = promised
        if kept:
            with named_damage(f"the labels in {self.folder}"):
                self.label_choice = Labels.restored(kept)
                self._kept_labels = {**promised, **self.label_choice.arrays()}
            if per_day not in (None, self.label_choice.per_day):
                self.label_choice.change(per_day)
                self._labels_stale = True
        elif per_day:
            self.label_choice = Labels(per_day, seed)
            self._labels_stale = True
        for model in self.models.values():
            model.labels = self.label_choice
        if self._labels_stale and not self.read_only:  # a budget holds from now on, also if nothing comes
            self._write([])

    @classmethod
    def open_read(cls, folder: str | Path) -> Fleet:
        """Return the last commit of a folder, to look at; another process may go on writing."""
        try:
            return cls(None, folder, read_only=True)
        except InputError as error:
            if error.code != "missing":
                raise
        return cls(None, folder, read_only=True)  # a writer that has come meanwhile replaces files

    @property
    def refused(self) -> dict[str, int]:
        """Events and states that could not be taken, by kind."""
        total = sum((model.refused for model in self.models.values()), self._refused)
        return {kind: total[kind] for kind in sorted(total) if total[kind]}

    def refuse(self, kind: str, count: int = 1) -> None:
        """Count what could not even be read as an event, by a word; the next commit keeps it."""
        more = integer("count", count, 0, 2**62)
        with self._busy:
            self._check(failed=True)
            self._refused[kind] += more

    def take(
        self, events: Events | Sequence[Any], position: Any = None, *, commit: bool = True
    ) -> list[Decided]:
        """Take events in the order of arrival, run those whose turn it is, commit, and return the decisions.

        After an `OSError`, such as on a full disk, the fleet takes nothing more until `commit` has succeeded,
        which returns these decisions, or the folder was opened again.

        `events` are of one version each; between them may be `Mark` objects, labels of past steps, and states
        to adopt: objects with the attributes `device`, `state`, `boot`, `seq` and `version`. One that is
        refused is counted and stops nothing.
        `position` is a JSON value, the place in the source behind them; None leaves it where it was. Without
        `commit` that is left to a later call: what is returned is not in the folder yet.
        """
        batch = [events] if isinstance(events, Events) else list(events)
        for item in batch:
            if not isinstance(item, (Events, Mark)) and not hasattr(item, "state"):
                raise InputTypeError("value", f"events hold {type(item).__name__}, expected Events")
        return self._change(lambda: [self._take(item) for item in batch], position, commit)

    def _take(self, item: Any) -> Decided | None:
        model = self._model(item.version)
        if model is None:
            self._refused["unknown version"] += len(item) if isinstance(item, Events) else 1
            return None
        if isinstance(item, Mark):
            if not any(self._told([item._asdict()])[kind] for kind in TAKEN):
                self._refused["label of no known step"] += 1
            return None
        if isinstance(item, Events):
            return model.take(item, self._clock() + AHEAD)
        try:
            return model.adopt(item.device, item.state, item.boot, item.seq)
        except InputError:  # the model has counted it
            return None

    def _model(self, version: Any) -> ModelVersion | None:
        """Return the model of a version, by its name or fingerprint; None where that is not one alone."""
        same = [model for name, model in self.models.items() if name == version]
        if not same:
            models = self.models.values()
            same = [m for m in models if version in (None, m.params.fingerprint, m.params.old_fingerprint)]
        return same[0] if len(same) == 1 else None

    def flush(self, position: Any = None) -> list[Decided]:
        """Release all that is held back, as at the end of the input, and commit."""
        return self._change(lambda: [model.flush() for model in self.models.values()], position)

    def adopt(
        self, device: str, state: bytes, boot: int, seq: int, version: str | None = None, position: Any = None
    ) -> list[Decided]:
        """Take over the state that a device saved after its event (boot, seq), seq -1 before its first.

        One that is damaged, of other parameters, or older than the last event that was run is refused with a
        `ValueError` and counted; nothing else changes. What was held and became free is returned.
        """
        model = self._model(version)
        if model is None:
            self.refuse("unknown version")
            expected = f"expected one of {', '.join(self.models)}"
            raise InputError("unknown", f"version of the state of {device} is {version!r}, {expected}")
        return self._change(lambda: [model.adopt(device, state, boot, seq)], position, harmless=InputError)

    def commit(self, position: Any = None) -> list[Decided]:
        """Write what is not written yet, after a commit that failed or `commit=False`; return it."""
        self._failed = False
        return self._change(list, position)

    def _change(
        self,
        run: Callable[[], Sequence[Decided | None]],
        position: Any,
        commit: bool = True,
        harmless: type[Exception] | tuple[()] = (),
    ) -> list[Decided]:
        """Run something and commit it; an error in the middle of it, unless harmless, ends the fleet."""
        try:
            place = json.loads(json.dumps(position, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise wrong_value("position", position, f"a JSON value: {error}") from None
        with self._busy:
            self._check(failed=not commit)
            try:
                decided = _by_version(part for part in run() if part is not None)
            except harmless:
                raise
            except BaseException:
                self._unusable = "is not whole (a batch was taken in part); open the folder again"
                raise
            self._waiting += decided
            self._waiting_at = self._waiting_at if place is None else place
            return self._commit() if commit else decided

    def _commit(self) -> list[Decided]:
        self._waiting = _by_version(self._waiting)
        try:
            self._write(self._waiting)
        except BaseException:
            self._failed = True
            raise
        decided, self._waiting, self._waiting_at, self._failed = self._waiting, [], None, False
        return decided

    def _check(self, failed: bool = False) -> None:
        """Refuse to change what must not be; after a commit that failed too, unless that is accepted."""
        if os.getpid() != self._owner:
            owner = f"fleet {self.folder} was opened by process {self._owner}"
            raise RuntimeError(f"{owner}; open it after a fork, or use Fleet.open_read to look")
        if self._unusable is not None:
            raise RuntimeError(f"fleet {self.folder} {self._unusable}")
        if self._failed and not failed:
            failure = "has a commit that failed; call commit(), or open it again"
            raise RuntimeError(f"fleet {self.folder} {failure}")

    def _write(self, decided: Sequence[Decided]) -> None:
        """Commit what has changed; after an `OSError` the last commit counts, and this can be tried again."""
        stale = [self._parts[name] for name, model in self.models.items() if model.stale]
        position = self.position if self._waiting_at is None else self._waiting_at
        head, labels = self._about(position), self._kept_labels
        if self.label_choice is not None and (decided or self._labels_stale):
            resting = {name: array for name, array in labels.items() if name.startswith(PROMISE)}
            labels = {**resting, **self.label_choice.arrays()}
        counts = {PROMISE + name: model.promise.array() for name, model in self.models.items()}
        labels = {**labels, **{name: array for name, array in counts.items() if len(array)}}
        text = json.dumps(head)
        if text == self._head and not (decided or stale or self._labels_stale or self._marks):
            return
        number = self.commit_number + 1
        try:
            with self.store.commit():
                if decided and self._keep_bytes:
                    self.store.put_decided(number, decided, lambda: _write_all(stale, number))
                else:
                    _write_all(stale, number)
                self.store.put_marks(self._marks)
                self.store.put_labels(labels, self._kept_labels)
                self.store.put_head({"commit": number, **head})
        except OSError as error:
            problem = f"commit {number} failed ({error.strerror or error}); nothing is lost"
            again = "call commit(), or open the folder again, when that is fixed"
            raise OSError(error.errno, f"{problem}: {again}", str(self.folder)) from error
        for parts in stale:
            parts.settle()
        self.commit_number, self.position, self._head, self._marks = number, position, text, []
        self._kept_labels, self._labels_stale = labels, False
        if decided:
            self.store.drop_decided(self._keep_bytes, self._clock() - self._keep_seconds)

    def _about(self, position: Any) -> dict[str, Any]:
        return {"position": position, "refused": self._refused, "about": self.about, **self._options}

    def drop_waiting(self, most: int) -> int:
        """Give up decisions that no commit could write, where they are more than that; return how many."""
        count = sum(map(len, self._waiting))
        if count > most:
            self._waiting = []
        return count if count > most else 0

    def decisions(self, first: int = 0) -> Iterator[Decided]:
        """Yield the decisions in the folder, from a commit on, one item a commit and version."""
        for _, parts in self.commits(first):
            yield from parts

    def commits(self, first: int = 0) -> Iterator[tuple[int, list[Decided]]]:
        """Yield the numbers of commits that have decisions, from one on, with these."""
        return self.store.decided(first, {name: model.params for name, model in self.models.items()})

    def summary(
        self,
        now: float | None = None,
        worst: int = 20,
        baseline: tuple[float, float] | None = None,
        tags: Mapping[str, str] | None = None,
        only: Only | None = None,
    ) -> dict[str, Any]:
        """Return how the fleet is doing at a time, as `tcuq fleet status --json` prints it.

        `baseline` is from when to when this fleet was healthy, in seconds since 1970: alarms are then
        compared with that, not with what the fit found. `tags` has the site of each device, or another group;
        `only` chooses the devices that are listed.
        """
        return summarize(self.models, self.refused, self.label_choice, now, worst, baseline, tags, only)

    def labels(self, day: int | None = None) -> list[dict[str, Any]]:
        """Return which steps of a day to have labeled, by default of the last that is over.

        Days count from 1970, by the times of events. Add a `label` to each row and hand them to `tell`.
        """
        choice = self._asks()
        rows = choice.pick(choice.whole_day() if day is None else day)
        for row in rows:
            model = self.models.get(row["version"])
            names = None if model is None else model.params.names
            row["answer_name"] = "" if names is None else names[row["answer"]]
        return rows

    def tell(self, rows: Iterable[Mapping[str, Any]], failed: bool = False) -> dict[str, int]:
        """Take true labels of steps, such as those that `labels` gave, and commit.

        Rows have `device`, `boot`, `seq`, `label`, and `version` where there are several; a boot or seq of -1
        is the present or last one. A `label` is the number or name of a class, True where the answer was
        right, False or -1 where it was wrong, None where it is not known. Where params have `feedback`,
        monitors take labels of a device's last steps, asked for or not; `used` counts these. `kept` counts
        those of the one device of a folder that keeps events. `failed` tries again where a commit has failed.
        """
        keeps = any(model.keep_events or model.params.feedback is not None for model in self.models.values())
        if not keeps:
            self._asks()
        with self._busy:
            self._check(failed=failed)
            counts = self._told(rows)
            self._commit()
        offered = {"used": any(model.params.feedback is not None for model in self.models.values())}
        offered |= {"kept": self._alone() is not None, **dict.fromkeys(ASKED, self.label_choice is not None)}
        return {kind: counts[kind] for kind, there in offered.items() if there}

    def _alone(self) -> ModelVersion | None:
        """Return the model of a folder that keeps the events of one device."""
        models = list(self.models.values())
        return (
            models[0] if len(models) == 1 and models[0].keep_events and len(models[0].devices) == 1 else None
        )

    def _told(self, rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
        """Give labels to whom they concern: monitors, the choice of steps to label, the log of one device."""
        counts, labels, alone = Counter[str](), list[dict[str, Any]](), self._alone()
        for given in rows:
            row, model = dict(given), self._model(given.get("version"))
            labels.append(row)
            if model is None:
                continue
            row["version"], code = model.version, None
            try:
                row["label"] = code = code_of(row.get("label"), model.params)
            except InputError:
                row["label"] = "none of the classes"
            slot = model.slot(row["device"]) if isinstance(row.get("device"), str) else None
            if slot is None or code is None:
                continue
            with suppress(ValueError):
                for key in ("boot", "seq"):
                    number = integer(key, -1 if row.get(key) is None else row[key], -1, MAX_NUMBER - 1)
                    row[key] = int(model.places[key][slot]) if number < 0 else number
            place = row["device"], row["boot"], row["seq"]
            counts["used"] += model.feedback(*place, code)
            ago = model.back(*place) if alone is not None else None
            step = row.get("step")
            if ago is not None and step is None:
                step = int(model.tallies.devices["steps"][0]) - 1 - ago
            if step is not None and alone is not None:
                self._marks.append((step, code, self._clock()))
                counts["kept"] += 1
        if self.label_choice is not None:
            counts.update(self.label_choice.tell(labels))
            self._labels_stale = True
        return counts

    def accuracy(self, confidence: float = 0.95, among: str = "accepted") -> dict[str, Any]:
        """Return what labels say about the accuracy of all answers, or of those that were accepted.

        The interval holds it with a chance of at least `confidence`, however often you look.
        """
        return self._asks().accuracy(confidence, among)

    def _asks(self) -> Labels:
        if self.label_choice is None:
            problem = "no labels are asked for here, expected a run with labels_per_day (--labels-per-day)"
            raise InputError("missing", problem)
        return self.label_choice

    def close(self) -> None:
        """Let another process write; what was not committed is dropped."""
        self._unusable = "is closed, expected one that is open to write"
        self.store.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise InputTypeError("unsupported", f"fleet {self.folder} cannot be copied; open its folder to look")


def _write_all(stale: Iterable[Parts], number: int) -> None:
    for parts in stale:
        parts.write(number)


def _by_version(parts: Iterable[Decided]) -> list[Decided]:
    """Return decisions joined, one item a version; none for versions without any."""
    versions: dict[str, list[Decided]] = {}
    for part in parts:
        if len(part):
            versions.setdefault(part.version, []).append(part)
    return [joined(same) for same in versions.values()]
