"""What networks say to the examples of a part, kept in files: a source is corrupted and run once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corruptions import suite_of
from ..corruptions.suite import BESIDE, FROZEN
from ..data import Dataset
from ..data.ood import load_ood, noise_of, ood_labels, ood_name
from ..data.parts import load_part
from ..methods.banks import load_bank
from ..methods.method import Recorded
from ..streams import Description
from .recording.decoded import decoded, first
from .recording.recorder import Recorder, Target, rendered
from .rows import Row
from .run_size import RunSize
from .versions import RECORDING, shown

Bank = dict[str, Recorded]
Progress = Callable[[int, int, str], None]
STREAM = "stream"
"""Name of the one source in the file of a stream."""


class Recordings:
    """Banks of rows, recorded where they are missing."""

    def __init__(
        self,
        weights: str,
        folder: str,
        setting: RunSize,
        device: str = "cpu",
        workers: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.weights, self.folder, self.setting = weights, Path(folder), setting
        self.device, self.workers, self.progress = device, workers, progress
        self._forget()

    def _forget(self) -> None:
        self._parts: dict[tuple[str, str], Dataset] = {}
        self._shown: dict[tuple[str, str], str] = {}
        self._titles: dict[tuple[str, ...], str] = {}
        self._recorder: Recorder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs; it loads examples and networks itself."""
        kept = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return kept | {"progress": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def part(self, task: str, part: str) -> Dataset:
        """Return the examples of a part that are shown."""
        if (task, part) not in self._parts:

            def load() -> Dataset:
                found = load_part(task, part)
                rows = first_of(found.y, self.setting.of(part))
                return replace(found, x=found.x[rows], y=found.y[rows])

            self._parts[task, part] = decoded(self.folder, task, part, f"part, {self.setting.of(part)}", load)
        return self._parts[task, part]

    def ood(self, task: str, part: str) -> tuple[str, npt.NDArray[np.int64]]:
        """Return the name of the OOD set of a part, and the labels of its examples that are shown."""
        return ood_name(task, part), ood_labels(task, part)[: self.setting.of(part)]

    def ood_part(self, task: str, part: str) -> Dataset:
        """Return the examples of the OOD set of a part that are shown."""
        most, place = self.setting.of(part), (task, f"ood {part}")
        if place not in self._parts:
            self._parts[place] = decoded(
                self.folder, task, part, f"OOD, {most}", lambda: first(load_ood(task, part), most)
            )
        return self._parts[place]

    def noise(self, part: str) -> npt.NDArray[np.int16]:
        """Return the seconds of noise that lie below continuous sound."""
        task, place = "speech_commands", ("speech_commands", f"noise {part}")
        if place not in self._parts:

            def load() -> Dataset:
                x = noise_of(part)
                return Dataset("speech_noise", part, x, np.zeros(len(x), dtype=np.int64), "", "")

            self._parts[place] = decoded(self.folder, task, part, "noise", load)
        return self._parts[place].x

    def has(self, task: str, seed: int, row: Row) -> bool:
        """Return whether the networks of a row are there for a seed."""
        try:
            names = row.networks(task, seed, self.weights)
        except ValueError:  # nothing was chosen for this backbone, so there are no networks either
            return False
        return all((Path(self.weights) / f"{name}.npz").exists() for name in names)

    def sources(self, task: str, part: str) -> list[str]:
        """Return what streams of a part show: clean examples, and the corruption types that it may show."""
        return stream_sources(task, part, self.setting)

    def of_stream(self, description: Description, seed: int, row: Row) -> Recorded:
        """Return what the networks of a row say to every step of a stream of held pictures, or of sound."""
        path = self.stream_path(description, seed, row)
        if not path.exists():
            self.record_streams([description], seed, [row])
        return _loaded(path, STREAM)

    def stream_path(self, description: Description, seed: int, row: Row) -> Path:
        """Return the file of what a row says to a stream."""
        if description.steps is None:
            raise ValueError("steps is null; a stream with a number of steps is recorded")
        content = description.to_dict()
        for name in ("labels", "digest"):  # checks, which change nothing
            content.pop(name, None)
        content["ood"] = [each.name for each in description.ood]
        about = [content, self.setting.noise_seed(description.part, seed)]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
        return self.place(description.dataset, description.part, seed, row) / f"{STREAM}-{digest}.npz"

    def record_streams(self, descriptions: Sequence[Description], seed: int, rows: Sequence[Row]) -> None:
        """Record streams where they are not kept; each is rendered once for the networks of all rows."""
        for description in descriptions:
            paths = {self.stream_path(description, seed, row): row for row in reversed(rows)}
            wanted = [Target(path, seed, row) for path, row in paths.items() if not path.exists()]
            if wanted:
                x = rendered(self, description, seed)
                self.recorder.show(description.dataset, STREAM, x, wanted)

    @property
    def recorder(self) -> Recorder:
        """The networks of this process."""
        if self._recorder is None:
            self._recorder = Recorder(self)
        return self._recorder

    def banks(
        self, task: str, part: str, seed: int, rows: Sequence[Row], sources: Sequence[str]
    ) -> dict[str, Bank]:
        """Return what the networks of rows say to sources, by the label of the row."""
        self.fill(task, part, seed, rows, sources)
        places = {row.label: self.place(task, part, seed, row) for row in rows}
        loaded = {
            place: {source: _loaded(place / file_of(source), source) for source in sources}
            for place in dict.fromkeys(places.values())
        }
        return {label: loaded[place] for label, place in places.items()}

    def fill(self, task: str, part: str, seed: int, rows: Sequence[Row], sources: Sequence[str]) -> None:
        """Record what is not kept; see `banks`."""
        owners = {self.place(task, part, seed, row): row for row in reversed(rows)}
        gaps = {}
        for source in sources:
            paths = {place / file_of(source): row for place, row in owners.items()}
            wanted = [Target(path, seed, row) for path, row in paths.items() if not path.exists()]
            if wanted:
                gaps[source] = wanted
        if not gaps:
            return
        for source, x in self.shown(task, part, seed, list(gaps)):
            self.recorder.show(task, source, x, gaps[source])

    def shown(
        self, task: str, part: str, seed: int, sources: Sequence[str]
    ) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Give sources and their examples as a backbone takes them."""
        from ..zoo.bank import examples

        others = [source for source in sources if source.startswith("ood/")]
        return examples(
            self.part(task, part),
            sources,
            {ood_name(task, part): self.ood_part(task, part)} if others else {},
            seed=self.setting.noise_seed(part, seed),
            workers=self.workers,
            progress=self.progress,
        )

    def place(self, task: str, part: str, seed: int, row: Row) -> Path:
        """Return the folder of a row's files, which other weights, data or recordings would not share."""
        names = tuple(row.networks(task, seed, self.weights))
        if names not in self._titles:
            digest = hashlib.sha256()
            for name in names:
                digest.update((Path(self.weights) / f"{name}.npz").read_bytes())
            self._titles[names] = digest.hexdigest()[:12]
        if (task, part) not in self._shown:
            self._shown[task, part] = shown(self.part(task, part))
        title = f"{names[0]}-{row.method.bank}-{self._titles[names]}"
        data = f"{task}-{part}-{self.setting.of(part)}-{self._shown[task, part]}"
        data += "-once" if self.setting.corrupted_once else ""
        return self.folder / f"recording-{RECORDING}" / data / title


def stream_sources(task: str, part: str, setting: RunSize) -> list[str]:
    """Return what streams of a part show: clean examples, and the corruption types that it may show."""
    suite = suite_of(task)
    kinds = suite.seen if part == "dev" else setting.spread(suite.unseen)
    levels = setting.severities
    return ["clean", *(f"{kind}/{level}" for kind in kinds for level in suite.severities(kind, levels))]


def beside_sources() -> list[str]:
    """Return the sources beside those of a suite; frozen input is none, as it depends on the step before.

    Examples
    --------
    >>> beside_sources()
    ['attenuated/1', 'blank/1', 'saturated/1']
    """
    return [f"{kind}/1" for kind in BESIDE if kind != FROZEN]


def first_of(y: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """Return the rows of the examples that are shown: the first, or evenly spread ones of sorted classes.

    Examples
    --------
    >>> first_of(np.array([1, 0, 2, 0]), 2).tolist(), first_of(np.array([0, 0, 1, 1]), 2).tolist()
    ([0, 1], [0, 2])
    """
    count = min(most, len(y))
    in_order = bool(np.all(y[1:] >= y[:-1]))
    return np.arange(count) * len(y) // count if in_order else np.arange(count)


def file_of(source: str) -> str:
    """Return the name of the file of a source.

    Examples
    --------
    >>> file_of("fog/3")
    'fog_3.npz'
    """
    return source.replace("/", "_") + ".npz"


def _loaded(path: Path, source: str) -> Recorded:
    found = load_bank(path)
    if source not in found:
        raise ValueError(f"{path}: holds {', '.join(found)}, expected {source}")
    return found[source]
