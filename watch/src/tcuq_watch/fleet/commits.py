"""`Commits`: a fleet's models in a folder, one commit after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import sync_folder
from tcuq.base.errors import InputError
from tcuq.monitor.params import Params

from ..engine.events import Decided
from ..engine.labels import Labels
from ..engine.model_version import Changes, ModelVersion
from ..engine.order import Touched
from . import store
from .store import read_arrays, read_decided, write_arrays, write_decided


@dataclass(frozen=True)
class Level:
    """One file: rows of a model that had changed when it was written."""

    name: str
    bytes: int
    changes: Changes

    @property
    def weight(self) -> int:
        """Rows, about."""
        return _weight(self.changes.touched)


def _weight(touched: Touched) -> int:
    return len(touched.slots) + len(touched.cells) // 4


class Levels:
    """The files of a model, oldest first; the first has all devices, and each has twice the rows of the next.

    A commit takes files of about its own size into the new one: what it writes is in proportion to what has
    changed, times the logarithm of the fleet's size, and there are never more files than that.
    """

    def __init__(self, levels: list[Level] | None = None) -> None:
        self.levels: list[Level] = levels or []

    @property
    def named(self) -> list[dict[str, Any]]:
        """What HEAD keeps of them."""
        return [{"name": each.name, "bytes": each.bytes} for each in self.levels]

    def written(self, folder: Path, name: str, model: ModelVersion) -> Levels:
        """Write a file with what has changed; return the files that then make up the model."""
        changes, kept = model.changed(), list(self.levels)
        while kept and kept[-1].weight < 2 * _weight(changes.touched):
            older = kept.pop()
            if kept:  # else all is written anyway
                changes = changes.united(older.changes)
        if not kept:
            rows = model.arrays()
            changes = _changes(rows)
        else:
            rows = model.rows(changes)
        return Levels([*kept, Level(name, write_arrays(folder / name, rows), changes)])


def _changes(arrays: dict[str, npt.NDArray[Any]]) -> Changes:
    numbers = (arrays[name].astype(np.int64) for name in ("slots", "berths", "cells"))
    return Changes(int(arrays["count"][0]), Touched(*numbers))


def read_model(
    folder: Path, named: list[dict[str, Any]], version: str, params: Params, **options: Any
) -> tuple[ModelVersion, Levels]:
    """Return a model from its files, and the files."""
    levels, parts = [], []
    for each in named:
        parts.append(read_arrays(folder / each["name"], each["bytes"]))
    try:
        for each, arrays in zip(named, parts, strict=True):
            levels.append(Level(each["name"], each["bytes"], _changes(arrays)))
        return ModelVersion.restored(version, params, parts, **options), Levels(levels)
    except MemoryError:
        raise
    except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
        place = folder / named[-1]["name"] if named else folder
        why = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
        said = f"{place} or one before it does not fit version {version!r}: {why}"
        raise InputError("damaged", said) from None


ATTEMPTS = 50
"""How often a reader begins again because a writer has removed files that it was about to read."""

ALL = 2**31
"""More commits than any fleet has."""


class Commits:
    """What of a fleet is on the disk.

    Decisions of `kept` commits are kept; 0 for none, `ALL` for all.
    """

    def __init__(self, folder: Path, read_only: bool, kept: int) -> None:
        self.folder = folder
        self.read_only = read_only
        self.kept = kept
        self.number = 0
        self.position: Any = None
        self.refused: Counter[str] = Counter()
        self.models: dict[str, ModelVersion] = {}
        self.labels: Labels | None = None
        self.labels_stale = False
        self.remarks: list[str] = []
        self._options: dict[str, int] = {}
        self._entries: list[dict[str, Any]] = []
        self._levels: dict[str, Levels] = {}
        self._labels_file: dict[str, Any] | None = None
        self._lock: Any = None
        self._known_refused: Counter[str] = Counter()
        self._files_of_decisions = 0  # those that are there at least, unless somebody took one away

    def open(
        self,
        given: Mapping[str, Params] | None,
        alone: bool,
        options: Mapping[str, int | None],
        defaults: Mapping[str, int],
        known: Container[str] | None,
        labels: tuple[int | None, int],
    ) -> None:
        """Read the last commit, or begin a folder."""
        if self.read_only:
            self._open_to_read(given, known)
            return
        assert given is not None
        if store.read_head(self.folder) is None:
            store.check_new(self.folder)
        store.make_folders(self.folder)
        self._lock = store.locked(self.folder)
        head = store.read_head(self.folder)
        self._options = self._chosen(head, options, defaults)
        if head is not None:
            self._check_versions(head, given, alone)
            self._load(head, given, known)
        self._add_versions(given, known)
        self._open_labels(labels)
        if (why := self._missing()) is not None:
            self.remarks.append(why)
        stays = min(self._files_of_decisions, self.kept or ALL)
        if head is None or self._entries != head["versions"] or stays != self._files_of_decisions:
            self._files_of_decisions = stays
            self._write_head(self.number, self.position)
        store.clean(self.folder, self._named(), self.number)
        self._drop_decisions()
        if self.labels_stale:  # a budget holds from now on, also if nothing comes
            self.write([], None)

    def _open_to_read(self, given: Mapping[str, Params] | None, known: Container[str] | None) -> None:
        for attempt in range(ATTEMPTS):
            head = store.read_head(self.folder)
            if head is None:
                raise InputError(
                    "missing",
                    f"{self.folder} holds no fleet, expected the folder of a Fleet (tcuq fleet run)",
                )
            try:
                self._options = {name: head[name] for name in ("hold", "bridge")}
                if given is not None:
                    self._check_versions(head, given, False)
                everything = {each["name"]: self._stored(each) for each in head["versions"]}
                self._load(head, everything if given is None else given, known)
                self._open_labels((None, 0))
                return
            except FileNotFoundError:
                if attempt + 1 == ATTEMPTS:
                    raise
        raise AssertionError

    def _stored(self, entry: Mapping[str, Any]) -> Params:
        return Params.load(self.folder / entry["params"])

    def _chosen(
        self, head: Mapping[str, Any] | None, options: Mapping[str, int | None], defaults: Mapping[str, int]
    ) -> dict[str, int]:
        chosen = {}
        for name, default in defaults.items():
            value = options[name]
            if head is not None and value is not None and head[name] != value:
                raise InputError(
                    "conflict",
                    f"{name} is {value}, expected {head[name]} as {self.folder} was begun with; "
                    f"leave it out or begin a new folder",
                )
            chosen[name] = head[name] if head is not None else (default if value is None else value)
        return chosen

    def _check_versions(self, head: Mapping[str, Any], given: Mapping[str, Params], alone: bool) -> None:
        there = {entry["name"]: entry for entry in head["versions"]}
        if alone:
            self._rename_alone(there, given)
        if not set(there) & set(given):
            held = ", ".join(f"{entry['name']!r} ({entry['fingerprint']})" for entry in there.values())
            wanted = ", ".join(f"{name!r} ({params.fingerprint})" for name, params in given.items())
            raise InputError(
                "conflict",
                f"{self.folder} holds versions {held}, given are {wanted}; "
                "to roll out a new version, give both: Fleet({'old': ..., 'new': ...}, folder)",
                "versions",
            )
        for name in set(there) & set(given):
            params, entry = given[name], there[name]
            if (params.fingerprint, params.feature_scale) != (entry["fingerprint"], entry["feature_scale"]):
                raise InputError(
                    "conflict",
                    f"version {name!r} of {self.folder} has other parameters ({entry['fingerprint']}, "
                    f"given {params.fingerprint}); give the new ones a name of their own beside it",
                )
        for name in [name for name in there if name not in given]:
            self.remarks.append(
                f"version {name!r} of {self.folder} is not given: it rests, its state is kept"
            )

    def _rename_alone(self, there: Mapping[str, Any], given: Any) -> None:
        """Give parameters that came without a name the only name in the folder, if they are the same."""
        [(name, params)] = given.items()
        same = [each["name"] for each in there.values() if each["fingerprint"] == params.fingerprint]
        if name not in there and len(same) == 1:
            del given[name]
            given[same[0]] = params

    def _load(
        self, head: Mapping[str, Any], given: Mapping[str, Params], known: Container[str] | None
    ) -> None:
        self.number, self.position = head["commit"], head["position"]
        self.refused = Counter(head["refused"])
        self._known_refused = Counter(head["refused"])
        self._entries = [dict(entry) for entry in head["versions"]]
        self._labels_file = head["labels"]
        self._files_of_decisions = head.get("decisions", 0)
        for entry in self._entries:
            name = entry["name"]
            if name not in given:
                continue
            options: dict[str, Any] = {**self._options, "known": known}
            self.models[name], self._levels[name] = read_model(
                self.folder, entry["files"], name, given[name], **options
            )

    def _add_versions(self, given: Mapping[str, Params], known: Container[str] | None) -> None:
        there = {entry["name"]: entry for entry in self._entries}
        for name, params in given.items():
            if name not in there:
                path = f"{store.VERSIONS}/{len(self._entries)}.json"
                entry = {"name": name, "fingerprint": params.fingerprint, "params": path, "files": []}
                self._entries.append({**entry, "feature_scale": params.feature_scale})
                self.models[name] = ModelVersion(name, params, known=known, **self._options)
                self._levels[name] = Levels()
            else:
                path = there[name]["params"]
            content = params.to_json()
            target = self.folder / path
            if not target.exists() or target.read_text(encoding="utf-8") != content:
                store.write_bytes(target, content.encode())
                sync_folder(target.parent)
        self.models = {name: self.models[name] for name in given}

    def _open_labels(self, options: tuple[int | None, int]) -> None:
        per_day, seed = options
        file = self._labels_file
        if file is not None:
            self.labels = self._read_labels(file)
            if per_day is not None and per_day != self.labels.per_day:
                self.labels.change(per_day)
                self.labels_stale = True
        elif per_day:
            self.labels = Labels(per_day, seed)
            self.labels_stale = True
        for model in self.models.values():
            model.labels = self.labels

    def _read_labels(self, file: Mapping[str, Any]) -> Labels:
        path = self.folder / file["name"]
        arrays = store.read_arrays(path, file["bytes"])
        try:
            if "open" in arrays:  # an earlier release: each day the highest risks, and a sample of the rest
                self.remarks.append(
                    f"labels of {self.folder} were chosen by an earlier release: counted from here on"
                )
                self.labels_stale = not self.read_only
                return Labels.restarted(arrays)
            return Labels.restored(arrays)
        except MemoryError:
            raise
        except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
            raise InputError("damaged", f"{path} is damaged: {type(error).__name__}: {error}") from None

    def write(self, decided: Sequence[Decided], position: Any) -> None:
        """Commit what has changed; after an `OSError` the last commit, or this one, is on the disk."""
        stale = {name: model for name, model in self.models.items() if model.stale}
        position = self.position if position is None else position
        same = position == self.position and self.refused == self._known_refused
        if same and not decided and not stale and not self.labels_stale:
            return
        number = self.number + 1
        try:
            self._write(number, decided, stale, position)
        except OSError as error:
            raise OSError(
                error.errno,
                f"commit {number} of {self.folder} failed ({error.strerror or error}); "
                "call commit() to try again, or open the folder again",
            ) from error

    def _write(
        self, number: int, decided: Sequence[Decided], stale: Mapping[str, ModelVersion], position: Any
    ) -> None:
        before = self._named()
        if decided and self.kept:
            write_decided(self.folder / store.DECISIONS / f"{number:08d}.npz", decided)
            sync_folder(self.folder / store.DECISIONS)
        levels, entries = dict(self._levels), [dict(entry) for entry in self._entries]
        for place, entry in enumerate(entries):
            model = stale.get(entry["name"])
            if model is not None:
                name = f"{store.STATE}/{number:08d}-{place}.npz"
                levels[entry["name"]] = levels[entry["name"]].written(self.folder, name, model)
                entry["files"] = levels[entry["name"]].named
        labels = self._labels_file
        if self.labels is not None and (decided or self.labels_stale):
            name = f"{store.STATE}/{number:08d}-labels.npz"
            size = store.write_arrays(self.folder / name, self.labels.arrays())
            labels = {"name": name, "bytes": size}
        if stale or labels != self._labels_file:
            sync_folder(self.folder / store.STATE)
        kept = (self._entries, self._labels_file, self._files_of_decisions)
        self._entries, self._labels_file = entries, labels
        if decided and self.kept:
            self._files_of_decisions = min(self._files_of_decisions + 1, self.kept)
        try:
            self._write_head(number, position)
        except BaseException:
            self._entries, self._labels_file, self._files_of_decisions = kept
            raise
        self._levels, self.number, self.position = levels, number, position
        self._known_refused, self.labels_stale = Counter(self.refused), False
        for model in stale.values():
            model.settle()
        for name in sorted(before - self._named()):
            store.remove(self.folder / name)
        if decided:
            self._drop_decisions()

    def _write_head(self, number: int, position: Any) -> None:
        head = {"commit": number, "position": position, "refused": dict(self.refused), **self._options}
        head |= {"versions": self._entries, "labels": self._labels_file}
        store.write_head(self.folder, {**head, "decisions": self._files_of_decisions})

    def _named(self) -> set[str]:
        files = {file["name"] for entry in self._entries for file in entry["files"]}
        files |= {entry["params"] for entry in self._entries}
        return files | ({self._labels_file["name"]} if self._labels_file else set())

    def _drop_decisions(self) -> None:
        if 0 < self.kept < ALL:
            for path in self._decision_files()[: -self.kept]:
                store.remove(path)

    def _decision_files(self, first: int = 0) -> list[Path]:
        found = (path for path in (self.folder / store.DECISIONS).glob("*.npz") if path.stem.isdigit())
        return sorted(
            (path for path in found if first <= int(path.stem) <= self.number), key=lambda p: int(p.stem)
        )

    def _missing(self) -> str | None:
        """Return a sentence on decisions that were taken away from the folder, None where all are there."""
        there = len(self._decision_files())
        if there >= self._files_of_decisions:
            return None
        return (
            f"{self.folder / store.DECISIONS} has {there:,} files, expected {self._files_of_decisions:,}: "
            "decisions were removed or lost there"
        )

    def decisions(self, first: int) -> Iterator[tuple[int, list[Decided]]]:
        """Yield committed decisions, from a commit on; raise where files of them are gone."""
        why = self._missing()
        # A writer with --keep removes old files while this one reads.
        if why is not None and (store.read_head(self.folder) or {}).get("commit") == self.number:
            raise InputError("missing", f"{why}; begin a new folder, or put them back")
        names = {name: model.params.names for name, model in self.models.items()}
        for path in self._decision_files(first):
            yield int(path.stem), read_decided(path, names)

    def close(self) -> None:
        """Let other processes write."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            with suppress(OSError):  # a lock ends with its file, whatever the disk says
                lock.close()
