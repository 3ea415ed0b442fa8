"""`Fleet`: all devices of all versions, in a folder that survives a crash at any moment."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from tcuq.base.checks import integer, number
from tcuq.base.errors import InputError, InputTypeError, wrong_value
from tcuq.monitor.params import Params

from ..engine.events import MAX_NUMBER, Decided, Events, joined
from ..engine.labels import Labels
from ..engine.model_version import ModelVersion
from ..engine.order import BRIDGE, HOLD
from ..verdicts.summary import summarize
from .commits import Commits
from .store import Store

AHEAD = 86400.0
"""Seconds that a device's clock may be ahead of that of the fleet."""

MAX_VERSION = 64
"""Characters of a version's name."""


class Fleet:
    """Watch many devices, of one or several versions of a model.

    A batch of events is put in order, run and committed to the folder, all of it or nothing: a process that
    is killed at any moment goes on as if it had not been, once its source goes on from `position`.
    Results do not depend on how events are batched.

    One thread at a time uses a fleet; a second one is turned away. A process that was forked opens the folder
    to look, with `open_read`. A fleet is not copied or pickled: its folder holds all of it.

    Parameters
    ----------
    params : Params or mapping of str to Params
        Parameters by name of their version. One alone is named by its fingerprint.
    folder : path
        Where the fleet is kept; made if it is not there. One process at a time writes to it.
    devices : iterable of str, optional
        Devices that are accepted; default: all.
    hold : int, optional
        Events that are held back a device while earlier ones may still come, 1 to 64; default 8.
    bridge : int, optional
        Missing events that a monitor passes over; after more it forgets its past. Default 16.
    labels_per_day : int, optional
        Steps to have labeled a day, over all devices; default none.
    seed : int, default 0
        Of that choice. Who chooses the input must not know it.
    keep_bytes : int, default 10_000_000_000
        Bytes of decisions to keep in the folder, the newest; 0 keeps none.
    keep_days : float, optional
        Days for which decisions are kept, by the times of their events; default: without a limit.
    keep_events : bool, default False
        Whether to keep what the monitors saw beside the decisions.
    clock : callable, optional
        Tells seconds since 1970; `time.time` by default. A time more than a day after it is none: one wrong
        clock must not move the whole fleet into the future.
    read_only : bool, default False
        Look at the last commit while another process may write.

    Attributes
    ----------
    models : dict of str to ModelVersion
        By name of the version.
    remarks : list of str
        What you should know about the folder, such as versions of it that were not given.

    Examples
    --------
    >>> import tempfile
    >>> params, folder = Params(classes=2, warmup=0, reference=0.3), tempfile.mkdtemp()
    >>> fleet = Fleet(params, folder)
    >>> events = Events(["door-1", "door-2", "door-1"], [0, 0, 0], [0, 0, 2], [[0.9, 0.1]] * 3)
    >>> [decided] = fleet.take(events, position=3)
    >>> decided.devices.tolist(), decided.seqs.tolist()
    (['door-1', 'door-2'], [0, 0])
    >>> fleet.close()
    >>> with Fleet(params, folder) as fleet:
    ...     print(fleet.position)
    ...     [decided] = fleet.take(Events(["door-1"], [0], [1], [[0.5, 0.5]]), position=4)
    ...     print(decided.seqs.tolist(), decided.steps["flagged"].tolist())
    3
    [1, 2] [True, False]
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
        seed: int = 0,
        keep_bytes: int = 10**10,
        keep_days: float | None = None,
        keep_events: bool = False,
        clock: Callable[[], float] = time.time,
        read_only: bool = False,
    ) -> None:
        given, alone = _versions(params)
        if params is None and not read_only:
            raise InputError(
                "missing", "params is None, expected Params or a dict of them; or read_only=True"
            )
        most = integer("keep_bytes", keep_bytes, 0, 2**62)
        days = math.inf if keep_days is None else number("keep_days", keep_days, 0, 1e6)
        known = None if devices is None else frozenset(devices)
        self.read_only = read_only
        self._clock = clock
        self._broken: str | None = None
        self._closed = False
        self._failed = False
        self._waiting: list[Decided] = []
        self._waiting_at: Any = None
        self._busy = Lock()
        self._owner = os.getpid()
        self._commits = Commits(Path(folder), read_only, most, 86400 * days)
        try:
            self._commits.open(
                given,
                alone,
                {"hold": hold, "bridge": bridge},
                {"hold": HOLD, "bridge": BRIDGE},
                {"known": known, "keep_events": keep_events},
                (labels_per_day, seed),
            )
        except BaseException:
            self.close()
            raise
        self.models: dict[str, ModelVersion] = self._commits.models
        self.remarks: list[str] = self._commits.remarks
        prints = [model.params.fingerprint for model in self.models.values()]
        alone_in = {
            each.params.fingerprint: each
            for each in self.models.values()
            if prints.count(each.params.fingerprint) == 1
        }
        self._by_name = {**alone_in, **self.models}

    @classmethod
    def open_read(cls, folder: str | Path) -> Fleet:
        """Return the last commit of a folder, to look at; another process may go on writing.

        Parameters
        ----------
        folder : path
            As `Fleet` was given it.

        Returns
        -------
        Fleet
            To look at: it takes no events.

        Raises
        ------
        ValueError
            For a folder that holds no fleet.
        """
        return cls(None, folder, read_only=True)

    @property
    def folder(self) -> Path:
        """Where the fleet is kept."""
        return self._commits.folder

    @property
    def store(self) -> Store:
        """The files of the fleet."""
        return self._commits.store

    @property
    def position(self) -> Any:
        """What the last commit was told about the place in its source."""
        return self._commits.position

    @property
    def commit_number(self) -> int:
        """How many commits there were; each has a file of decisions of that number, if there were any."""
        return self._commits.number

    @property
    def refused(self) -> dict[str, int]:
        """Events and states that could not be taken, by kind."""
        total = sum((model.refused for model in self.models.values()), Counter(self._commits.refused))
        return {kind: total[kind] for kind in sorted(total) if total[kind]}

    def refuse(self, kind: str, count: int = 1) -> None:
        """Count what could not even be read as an event; the next commit keeps it.

        Parameters
        ----------
        kind : str
            What was wrong, in a word; the summary counts by it.
        count : int, default 1
            How many there were.
        """
        more = integer("count", count, 0, 2**62)
        with self._alone():
            self._check(failed=True)
            self._commits.refused[kind] += more

    def take(
        self, events: Events | Sequence[Any], position: Any = None, *, commit: bool = True
    ) -> list[Decided]:
        """Take events in the order of arrival, run those whose turn it is, and commit.

        Parameters
        ----------
        events : Events or sequence of Events
            Each of one version. Between them may be states to adopt: objects with the attributes `device`,
            `state`, `boot`, `seq` and `version`; one that is refused is counted and stops nothing.
        position : JSON value, optional
            Place in the source behind these events; None leaves it where it was.
        commit : bool, default True
            False leaves the commit to a later call. What is returned is then not in the folder yet.

        Returns
        -------
        list of Decided
            What monitors say of released events, one item a version.

        Raises
        ------
        OSError
            When the commit could not be written, such as on a full disk. The fleet then takes nothing more
            until `commit` has succeeded, which returns these decisions, or the folder was opened again.
        """
        batch = [events] if isinstance(events, Events) else list(events)
        for each in batch:
            if not isinstance(each, Events) and not hasattr(each, "state"):
                raise InputTypeError("value", f"events hold {type(each).__name__}, expected Events")
        return self._change(lambda: [self._take(each) for each in batch], position, commit)

    def _take(self, item: Any) -> Decided | None:
        model = self._model(item.version)
        if model is None:
            self._commits.refused["unknown version"] += len(item) if isinstance(item, Events) else 1
            return None
        if isinstance(item, Events):
            return model.take(item, self._clock() + AHEAD)
        before = model.refused.total()
        try:
            return model.adopt(item.device, item.state, item.boot, item.seq)
        except ValueError:
            if model.refused.total() == before:
                raise
            return None

    def _model(self, version: str | None) -> ModelVersion | None:
        if version is None:
            return next(iter(self.models.values())) if len(self.models) == 1 else None
        return self._by_name.get(version) if isinstance(version, str) else None

    def flush(self, position: Any = None) -> list[Decided]:
        """Release all that is held back, as at the end of the input, and commit.

        Parameters
        ----------
        position : JSON value, optional
            Where the input stands, as of `take`.

        Returns
        -------
        list of Decided
            Decisions on the events that were held.
        """
        return self._change(lambda: [model.flush() for model in self.models.values()], position)

    def adopt(
        self,
        device: str,
        state: bytes,
        boot: int,
        seq: int,
        version: str | None = None,
        *,
        position: Any = None,
        commit: bool = True,
    ) -> list[Decided]:
        """Take over the state that a device with a monitor of its own saved after its event (boot, seq).

        Parameters
        ----------
        device : str
            Whose state it is.
        state : bytes
            As `Monitor.save` or the C package gives it.
        boot, seq : int
            The last event that the state has seen, seq -1 if none since that start; events up to there are
            not run again.
        version : str, optional
            Name of its parameters; not needed where the fleet has only one set.
        position : JSON value, optional
            As of `take`.
        commit : bool, default True
            False leaves the commit, and what it returns, to the next call: for many states at once.

        Returns
        -------
        list of Decided
            Events that were held and became free.

        Raises
        ------
        ValueError
            For a state that is damaged, of other parameters, of an unknown version, or older than the last
            event of the device that was run. It is counted, and nothing else changes.
        """
        self._check()
        told = _plain(position)
        model = self._model(version)
        if model is None:
            self.refuse("unknown version")
            expected = f"expected one of {', '.join(self.models)}"
            raise InputError("unknown", f"version of the state of {device} is {version!r}, {expected}")
        with self._alone():
            self._check()
            before = model.refused.total()
            try:
                self._waiting.append(model.adopt(device, state, boot, seq))
            except BaseException:
                if model.refused.total() == before:
                    self._broken = "a state was taken over in part"
                raise
            return self._changed(list, told) if commit else []

    def commit(self, position: Any = None) -> list[Decided]:
        """Write what is not written yet: a commit that failed, or states adopted with ``commit=False``.

        Parameters
        ----------
        position : JSON value, optional
            Where the input stands, as of `take`.

        Returns
        -------
        list of Decided
            The decisions that are now in the folder.
        """
        if self._failed and position is not None:
            raise InputError(
                "conflict", "position is given, expected none: the commit that failed has its own"
            )
        self._failed = False
        return self._change(list, position)

    def _change(
        self, run: Callable[[], list[Decided | None]], position: Any, commit: bool = True
    ) -> list[Decided]:
        told = _plain(position)
        with self._alone():
            if commit:
                return self._changed(run, told)
            self._check(failed=True)
            found = _by_version(self._ran(run))
            self._waiting += found
            self._waiting_at = self._waiting_at if told is None else told
            return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse what comes while another thread is at work."""
        self._check_owner()
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(f"fleet {self.folder} is in use by another thread, expected one at a time")
        try:
            yield
        finally:
            self._busy.release()

    def _changed(self, run: Callable[[], list[Decided | None]], told: Any) -> list[Decided]:
        self._check()
        found = [*self._waiting, *self._ran(run)]
        told = self._waiting_at if told is None else told
        self._waiting, self._waiting_at = [], None
        return self._write(_by_version(found), told)

    def _ran(self, run: Callable[[], list[Decided | None]]) -> list[Decided]:
        try:
            return [each for each in run() if each is not None]
        except BaseException:
            self._broken = "a batch was taken in part"
            raise

    def _write(self, decided: list[Decided], position: Any) -> list[Decided]:
        try:
            self._commits.write(decided, position, self._clock())
        except BaseException:
            self._waiting, self._waiting_at, self._failed = decided, position, True
            raise
        return decided

    def _check_owner(self) -> None:
        """Refuse what comes after a fork: two processes would write the same commits."""
        if os.getpid() != self._owner:
            raise RuntimeError(
                f"fleet {self.folder} was opened by process {self._owner}, expected this one; "
                "open it after a fork, or use Fleet.open_read to look"
            )

    def _check(self, failed: bool = False) -> None:
        self._check_owner()
        if self.read_only or self._closed:
            how = "closed" if self._closed else "opened to read"
            raise RuntimeError(f"fleet {self.folder} is {how}, expected one that is open to write")
        if self._broken is not None:
            raise RuntimeError(f"fleet {self.folder} is not whole ({self._broken}); open the folder again")
        if self._failed and not failed:
            raise RuntimeError(
                f"fleet {self.folder} has a commit that failed; call commit() to try again, or open it again"
            )

    def mark(self, step: int, label: int, device: str, boot: int, seq: int) -> bool:
        """Keep the true class of a step by its number, -1 where no class is right, and commit.

        The monitor takes it as well where the params have `feedback`; tell whether it did.
        """
        [model] = self.models.values()
        with self._alone():
            self._check(failed=True)
            self._commits.marks.append((step, label, self._clock()))
            feeds = model.params.feedback is not None and not model.by_device
            used = model.feedback([(device, boot, seq, label)]) if feeds else 0
            self._failed = False
            self._changed(list, None)
        return bool(used)

    def drop_waiting(self, most: int) -> int:
        """Give up decisions that no commit could write, where they are more than that; return how many."""
        count = sum(map(len, self._waiting))
        if count <= most:
            return 0
        self._waiting = []
        return count

    @property
    def about(self) -> dict[str, Any]:
        """What else is kept with each commit: a dict of JSON values."""
        return self._commits.about

    def decisions(self, first: int = 0) -> Iterator[Decided]:
        """Yield the decisions in the folder, from a commit on, one item a commit and version.

        Parameters
        ----------
        first : int, default 0
            Number of the first commit to read.

        Yields
        ------
        Decided
            In the order in which they were made.
        """
        for _, parts in self.commits(first):
            yield from parts

    def commits(self, first: int = 0) -> Iterator[tuple[int, list[Decided]]]:
        """Yield the numbers of commits that have decisions, with these.

        Parameters
        ----------
        first : int, default 0
            Number of the first commit to read.

        Yields
        ------
        tuple of int and list of Decided
            Number of the commit, and its decisions.
        """
        return self._commits.decisions(first)

    def summary(
        self,
        now: float | None = None,
        worst: int = 20,
        baseline: tuple[float, float] | None = None,
    ) -> dict[str, Any]:
        """Return how the fleet is doing: alarms against the clean baseline, worst devices, silent ones.

        Parameters
        ----------
        now : float, optional
            Seconds since 1970; default: the latest time in the fleet.
        worst : int, default 20
            Devices to list.
        baseline : pair of float, optional
            From and to, in seconds since 1970, when this fleet was healthy: what alarms are compared with, in
            place of what the fit found.

        Returns
        -------
        dict
            What `tcuq fleet status --json` prints.
        """
        return summarize(self.models, self.refused, self._commits.labels, now, worst, baseline)

    def labels(self, day: int | None = None) -> list[dict[str, Any]]:
        """Return which steps of a day to have labeled; see `Labels.pick`.

        Parameters
        ----------
        day : int, optional
            Days since 1970; default: the last day that is over, by the times of events.

        Returns
        -------
        list of dict
            A row for each step: `device`, `version`, `boot`, `seq` and more about it. Add a `label` to each
            and hand them to `tell`.
        """
        choice = self._label_maker(read=self.read_only)
        return choice.pick(choice.whole_day() if day is None else day)

    def tell(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take true labels of steps that `labels` gave; see `Labels.tell`.

        Where params have `feedback`, monitors take them too, asked for or not, in the same commit: those of
        a device's last steps, as `ModelVersion.feedback` says.

        Parameters
        ----------
        rows : iterable of mappings
            Rows as `labels` gave them, each with its true `label`: a class, -1 where none is right, None
            where it is not known.

        Returns
        -------
        dict of str to int
            Rows that were `told`, `unlabeled`, `unknown` or `bad`; with `feedback`, also those that monitors
            `used`.
        """
        models = [model for model in self.models.values() if model.params.feedback is not None]
        choice = self._commits.labels if models else self._label_maker()
        with self._alone():
            self._check()
            given = [self._with_class(row) for row in rows]
            found = {} if choice is None else choice.tell(given)
            if models:
                found["used"] = sum(model.feedback(self._places(model, given)) for model in models)
            self._commits.labels_stale = choice is not None
            self._changed(list, None)
        return found

    def _places(
        self, model: ModelVersion, rows: Iterable[Mapping[str, Any]]
    ) -> Iterator[tuple[str, int, int, int]]:
        """Yield device, boot, seq and label of a model's rows; what `Labels.tell` refuses is left out."""
        highs = {"boot": MAX_NUMBER - 1, "seq": MAX_NUMBER - 1, "label": model.params.classes - 1}
        for row in rows:
            device = row.get("device")
            if isinstance(device, str) and self._model(row.get("version")) is model:
                with suppress(ValueError):
                    boot, seq, label = (integer(key, row.get(key), -1, high) for key, high in highs.items())
                    yield device, boot, seq, label

    def _with_class(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a row whose label is one of the classes, or none at all."""
        label, model = row.get("label"), self.models.get(row.get("version", ""))
        odd = model is not None and isinstance(label, int) and label >= model.params.classes
        return {**row, "label": "none of the classes"} if odd else row

    def accuracy(self, level: float = 0.95, among: str = "accepted") -> dict[str, Any]:
        """Return what labels say about the accuracy of the fleet, with an interval; see `Labels.accuracy`.

        Parameters
        ----------
        level : float, default 0.95
            Chance that the interval holds the accuracy, however often you look.
        among : {"accepted", "all"}
            Which answers count; default: those of steps that were accepted.

        Returns
        -------
        dict
            `estimate` (None before there is a label), `interval`, `level`, `steps`, `asked`, `told` and
            `errors_found`.
        """
        return self._label_maker(read=True).accuracy(level, among)

    def _label_maker(self, read: bool = False) -> Labels:
        if not read:
            self._check()
        if self._commits.labels is None:
            raise InputError("value", "labels_per_day is 0, expected at least 1 to ask for labels")
        return self._commits.labels

    @property
    def label_choice(self) -> Labels | None:
        """The `Labels` of this fleet, None without any."""
        return self._commits.labels

    def close(self) -> None:
        """Let another process write; what was not committed is dropped."""
        self._closed = True
        self._commits.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise InputTypeError(
            "unsupported",
            f"fleet {self.folder} cannot be copied or pickled, expected its folder; open that with "
            "Fleet.open_read to look",
        )

    def __repr__(self) -> str:
        devices = sum(len(model.devices) for model in self.models.values())
        return f"Fleet({str(self.folder)!r}, versions={list(self.models)}, devices={devices})"


def _by_version(parts: Iterable[Decided]) -> list[Decided]:
    """Return decisions joined, one item a version; none for versions without any."""
    found: dict[str, list[Decided]] = {}
    for each in parts:
        if len(each):
            found.setdefault(each.version, []).append(each)
    return [joined(each) for each in found.values()]


def _plain(position: Any) -> Any:
    """Return a position as the folder will give it back."""
    try:
        return json.loads(json.dumps(position, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise wrong_value("position", position, f"a JSON value: {error}") from None


def _versions(params: Any) -> tuple[dict[str, Params] | None, bool]:
    """Return parameters by name, and whether they came without one."""
    if params is None:
        return None, False
    alone = isinstance(params, Params)
    given = {params.fingerprint: params} if alone else dict(params)
    if not given:
        raise InputError("missing", "params are empty, expected at least one version")
    for name, each in given.items():
        if not isinstance(each, Params):
            raise InputTypeError("value", f"params[{name!r}] is {type(each).__name__}, expected Params")
        if not isinstance(name, str) or not 1 <= len(name) <= MAX_VERSION or not name.isprintable():
            raise wrong_value("version", name, f"1 to {MAX_VERSION} printable characters")
    return given, alone
