"""`Commits`: the models of a fleet in its folder, one commit after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.params import Params

from ..engine.events import Decided
from ..engine.labels import Labels
from ..engine.model_version import ModelVersion
from ..engine.packing import pack_arrays, unpack_arrays
from .store import Store

PIECE = 1 << 16
"""Devices of one part: a fleet of millions is never copied at once."""


class Level(NamedTuple):
    """What one commit wrote of a model: its number, and the devices."""

    number: int
    slots: npt.NDArray[np.int64]


class Levels:
    """The parts of a model, oldest first; the first has all devices, and each has twice those of the next.

    A commit takes parts of about its own size into the new one: what it writes is in proportion to what has
    changed, times the logarithm of the fleet's size, and there are never more parts than that.
    """

    def __init__(self) -> None:
        self.levels: list[Level] = []

    def write(self, store: Store, number: int, model: ModelVersion) -> list[Level]:
        """Write what has changed; return the parts that then make up the model."""
        slots, kept = model.changed(), list(self.levels)
        while kept and len(kept[-1].slots) < 2 * len(slots):
            slots = np.union1d(slots, kept.pop().slots)
        if not kept:
            slots = np.arange(len(model.devices))
        store.drop_parts(model.version, [each.number for each in self.levels[len(kept) :]])
        for first in range(0, len(slots), PIECE) or [0]:
            store.put_part(model.version, number, pack_arrays(model.rows(slots[first : first + PIECE])))
        return [*kept, Level(number, slots)]

    def read(self, store: Store, version: str) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Yield the parts of a model, and remember them."""
        for number, content in store.parts(version):
            arrays = unpack_arrays(content)
            slots = arrays["slots"].astype(np.int64)
            if self.levels and self.levels[-1].number == number:
                slots = np.concatenate([self.levels.pop().slots, slots])
            self.levels.append(Level(number, slots))
            yield arrays


class Commits:
    """What of a fleet is on the disk.

    Decisions are kept up to a size in bytes and an age in seconds; those of size 0 are not written.
    """

    def __init__(self, folder: Path, read_only: bool, most_bytes: int, most_seconds: float) -> None:
        self.read_only, self.most_bytes, self.most_seconds = read_only, most_bytes, most_seconds
        self.number = 0
        self.position: Any = None
        self.refused: Counter[str] = Counter()
        self.models: dict[str, ModelVersion] = {}
        self.labels: Labels | None = None
        self.labels_stale = False
        self.about: dict[str, Any] = {}
        self.marks: list[tuple[int, int, float]] = []
        self.remarks: list[str] = []
        self._options: dict[str, int] = {}
        self._levels: dict[str, Levels] = {}
        self._kept_labels: dict[str, npt.NDArray[Any]] = {}
        self._known: tuple[Any, ...] = ()
        self.store = Store(folder, read_only)
        self.folder = folder

    def open(
        self,
        given: Mapping[str, Params] | None,
        alone: bool,
        options: Mapping[str, int | None],
        defaults: Mapping[str, int],
        model_options: Mapping[str, Any],
        labels: tuple[int | None, int],
    ) -> None:
        """Read the last commit, or begin a folder."""
        head = self.store.head()
        there = {name: Params.from_json(text) for name, text in self.store.versions().items()}
        if head is None:
            if self.read_only:
                raise InputError("missing", f"{self.folder} holds no commit of a fleet yet")
            head = {}
        self._options = self._chosen(head, options, defaults)
        wanted = dict(there if given is None else given)
        if given is not None and there:
            wanted = self._checked(there, wanted, alone)
        self.number, self.position = head.get("commit", 0), head.get("position")
        self.refused, self.about = Counter(head.get("refused", {})), head.get("about", {})
        self._known = self._state()
        for name, params in wanted.items():
            self.models[name] = self._model(name, params, name in there, **model_options)
        self._open_labels(labels)
        if not self.read_only and (not head or set(wanted) - set(there)):
            with self.store.commit():
                for name, params in wanted.items():
                    self.store.put_version(name, params.to_json())
                self._put_head(self.number, self.position)
        if self.labels_stale and not self.read_only:  # a budget holds from now on, also if nothing comes
            self.write([], None)

    def _chosen(
        self, head: Mapping[str, Any], options: Mapping[str, int | None], defaults: Mapping[str, int]
    ) -> dict[str, int]:
        chosen = {}
        for name, default in defaults.items():
            value = options[name]
            if head and value is not None and head[name] != value:
                raise InputError(
                    "conflict",
                    f"{name} is {value}, expected {head[name]} as {self.folder} was begun with; "
                    f"leave it out or begin a new folder",
                )
            chosen[name] = head[name] if head else (default if value is None else value)
        return chosen

    def _checked(
        self, there: Mapping[str, Params], given: dict[str, Params], alone: bool
    ) -> dict[str, Params]:
        """Return the given versions under their names in the folder; refuse others of the same name."""
        if alone:
            # Parameters that came without a name get the only name in the folder, if they are the same.
            [(name, params)] = given.items()
            same = [each for each, held in there.items() if held.fingerprint == params.fingerprint]
            if name not in there and len(same) == 1:
                given = {same[0]: params}
        if not set(there) & set(given):
            held = ", ".join(f"{name!r} ({params.fingerprint})" for name, params in there.items())
            wanted = ", ".join(f"{name!r} ({params.fingerprint})" for name, params in given.items())
            raise InputError(
                "conflict",
                f"{self.folder} holds versions {held}, given are {wanted}; "
                "to roll out a new version, give both: Fleet({'old': ..., 'new': ...}, folder)",
                "versions",
            )
        for name in set(there) & set(given):
            old, new = there[name], given[name]
            if (old.fingerprint, old.feature_scale) != (new.fingerprint, new.feature_scale):
                raise InputError(
                    "conflict",
                    f"version {name!r} of {self.folder} has other parameters ({old.fingerprint}, "
                    f"given {new.fingerprint}); give the new ones a name of their own beside it",
                )
        for name in there:
            if name not in given:
                self.remarks.append(
                    f"version {name!r} of {self.folder} is not given: it rests, its state is kept"
                )
        return given

    def _model(self, name: str, params: Params, there: bool, **options: Any) -> ModelVersion:
        levels = self._levels[name] = Levels()
        options = {**self._options, **options}
        if not there:
            return ModelVersion(name, params, **options)
        try:
            return ModelVersion.restored(name, params, levels.read(self.store, name), **options)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
            why = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
            said = f"the state of version {name!r} in {self.folder} is damaged: {why}"
            raise InputError("damaged", said) from None

    def _open_labels(self, options: tuple[int | None, int]) -> None:
        per_day, seed = options
        kept = self.store.labels()
        if kept:
            try:
                self._kept_labels = {name: unpack_arrays(content)["it"] for name, content in kept.items()}
                self.labels = Labels.restored(self._kept_labels)
                self._kept_labels = self.labels.arrays()
            except MemoryError:
                raise
            except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
                said = f"the labels in {self.folder} are damaged: {type(error).__name__}: {error}"
                raise InputError("damaged", said) from None
            if per_day is not None and per_day != self.labels.per_day:
                self.labels.change(per_day)
                self.labels_stale = True
        elif per_day:
            self.labels = Labels(per_day, seed)
            self.labels_stale = True
        for model in self.models.values():
            model.labels = self.labels

    def write(self, decided: Sequence[Decided], position: Any, now: float = 0.0) -> None:
        """Commit what has changed; after an `OSError` the last commit counts, and this can be tried again."""
        stale = {name: model for name, model in self.models.items() if model.stale}
        position = self.position if position is None else position
        same = self._known == (position, dict(self.refused), self.about)
        if same and not decided and not stale and not self.labels_stale and not self.marks:
            return
        number = self.number + 1
        try:
            with self.store.commit():
                levels = {
                    name: self._levels[name].write(self.store, number, model) for name, model in stale.items()
                }
                if decided and self.most_bytes:
                    self.store.put_decided(number, decided)
                self.store.put_marks(self.marks)
                labels = self._put_labels() if decided or self.labels_stale else self._kept_labels
                self._put_head(number, position)
        except OSError as error:
            raise OSError(
                error.errno,
                f"commit {number} of {self.folder} failed ({error.strerror or error}); "
                "call commit() to try again, or open the folder again",
            ) from error
        for name, each in levels.items():
            self._levels[name].levels = each
            self.models[name].settle()
        self.number, self.position, self._kept_labels, self.labels_stale = number, position, labels, False
        self._known, self.marks = self._state(), []
        if decided:
            self.store.drop_decided(self.most_bytes, now - self.most_seconds)

    def _put_labels(self) -> dict[str, npt.NDArray[Any]]:
        if self.labels is None:
            return {}
        arrays, before = self.labels.arrays(), self._kept_labels
        changed = {name: array for name, array in arrays.items() if before.get(name) is not array}
        self.store.put_labels(
            {name: pack_arrays({"it": array}) for name, array in changed.items()},
            [name for name in before if name not in arrays],
        )
        return arrays

    def _put_head(self, number: int, position: Any) -> None:
        head = {"commit": number, "position": position, "refused": dict(self.refused), "about": self.about}
        self.store.put_head({**head, **self._options})

    def _state(self) -> tuple[Any, ...]:
        return self.position, dict(self.refused), dict(self.about)

    def decisions(self, first: int) -> Iterator[tuple[int, list[Decided]]]:
        """Yield commits that have decisions, from one on."""
        return self.store.decided(first, {name: model.params.names for name, model in self.models.items()})

    def close(self) -> None:
        """Let other processes write."""
        self.store.close()
