"""What networks say to the examples of a part, kept in files: a source is corrupted and run once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corruptions import suite_of
from ..corruptions.suite import BESIDE, FROZEN
from ..data import Dataset, data_folder, present
from ..data.ood import has_ood, load_ood, noise_of, ood_labels, ood_name
from ..data.parts import load_part, split_of
from ..harness.laws import NETWORKS, SOUND, UnitPlan, sizes_of
from ..harness.types import Outputs
from ..methods.banks import arrays_of, load_bank, put_arrays
from ..streams import Description
from .recorder import STREAM, Job, Progress, Recorder, jobs_of, record_jobs
from .rows import Row
from .run_size import RunSize
from .versions import RECORDING, digest_of, shown

Bank = dict[str, Outputs]


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
        self._sets: dict[tuple[str, str, str], Dataset] = {}
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
        most = self.setting.of(part)

        def load() -> Dataset:
            found = load_part(task, part)
            rows = first_of(found.y, most)
            return replace(found, x=found.x[rows], y=found.y[rows])

        return self._set(task, part, f"part, {most}", load)

    def ood(self, task: str, part: str) -> tuple[str, npt.NDArray[np.int64]]:
        """Return the name of the OOD set of a part, and the labels of its examples that are shown."""
        return ood_name(task, part), ood_labels(task, part)[: self.setting.of(part)]

    def ood_part(self, task: str, part: str) -> Dataset:
        """Return the examples of the OOD set of a part that are shown."""
        most = self.setting.of(part)

        def load() -> Dataset:
            found = load_ood(task, part)
            return replace(found, x=found.x[:most], y=found.y[:most])

        return self._set(task, part, f"OOD, {most}", load)

    def noise(self, part: str) -> npt.NDArray[np.int16]:
        """Return the seconds of noise that lie below continuous sound."""

        def load() -> Dataset:
            x = noise_of(part)
            return Dataset("speech_noise", part, x, np.zeros(len(x), dtype=np.int64), "", "")

        return self._set(SOUND, part, "noise", load).x

    def _set(self, task: str, part: str, title: str, load: Callable[[], Dataset]) -> Dataset:
        """Return a set, loaded once; words, which take long to decode, are kept for other processes."""
        place = (task, part, title)
        if place not in self._sets:
            files = _files(task, part) if task == SOUND else None
            if files is None:
                self._sets[place] = load()
            else:
                path = self.folder / "decoded" / f"{task}-{part}-{digest_of([title, files])}.npz"
                self._sets[place] = _decoded(path, load)
        return self._sets[place]

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

    def all_sources(self, task: str, part: str, tables: bool = True) -> list[str]:
        """Return what any experiment shows of a part; without tables of the paper, what streams show."""
        more = beside_sources() if part == "test" and task in NETWORKS else []
        if not tables:
            return [*self.sources(task, part), *more]
        suite, setting = suite_of(task), self.setting
        kinds = suite.seen if part == "dev" else (*suite.seen, *setting.spread(suite.unseen))
        shifted = [f"{kind}/{n}" for kind in kinds for n in suite.severities(kind, setting.severities)]
        ood = [f"ood/{ood_name(task, part)}"] if has_ood(task) else []
        return ["clean", *shifted, *ood, *more]

    def all_streams(self, task: str, seed: int) -> list[Description]:
        """Return the stretches that are recorded step by step: held pictures, or continuous sound."""
        if task not in NETWORKS:
            return []
        setting = self.setting
        plan = UnitPlan(task, seed, sizes_of(setting.name), setting.severities, setting.streams)
        found: dict[Description, None] = {}
        for role in plan.roles:
            law = role.partition(" ")[2]
            if role.startswith("test ") and law in plan.laws and law not in plan.judged:
                continue
            shown = plan.stretches(role)
            if shown[0].held is not None or shown[0].sliding is not None:
                found.update(dict.fromkeys(shown))
        return list(found)

    def open(self, task: str, part: str, ood: bool) -> None:
        """Load a part, or its OOD set where it has one; what is slow to decode is then kept."""
        if ood and has_ood(task):
            self.ood_part(task, part)
        elif not ood:
            self.part(task, part)
            if task == SOUND:
                self.noise(part)

    def of_stream(self, description: Description, seed: int, row: Row) -> Outputs:
        """Return what the networks of a row say to every step of a stream of held pictures, or of sound."""
        path = self.path(description.dataset, description.part, description, seed, row)
        if not path.exists():
            self.fill(description.dataset, description.part, seed, [row], [description])
        return _loaded(path, STREAM)

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

    def fill(
        self, task: str, part: str, seed: int, rows: Sequence[Row], shows: Sequence[str | Description]
    ) -> None:
        """Record what is not kept of sources and streams, each rendered once for the networks of all rows."""
        record_jobs(self, self.missing(task, part, seed, rows, shows), 1, self.progress)

    def missing(
        self, task: str, part: str, seed: int, rows: Sequence[Row], shows: Sequence[str | Description]
    ) -> list[Job]:
        """Return what is not kept of sources and streams, for the networks of all rows."""
        return jobs_of(self, task, part, [(seed, row) for row in rows], shows)

    @property
    def recorder(self) -> Recorder:
        """The networks of this process."""
        if self._recorder is None:
            self._recorder = Recorder(self)
        return self._recorder

    def rendered(self, task: str, part: str, seed: int, shown: str | Description) -> npt.NDArray[Any]:
        """Return the examples of a source, or every step of a stream, as a backbone takes them."""
        from ..streams import inputs
        from ..zoo.examples import examples, front_end

        noise = self.setting.noise_seed(part, seed)
        if isinstance(shown, str):
            ood = {ood_name(task, part): self.ood_part(task, part)} if shown.startswith("ood/") else {}
            given = examples(self.part(task, part), [shown], ood, seed=noise, workers=self.workers)
            return next(given)[1]
        steps = inputs(
            shown,
            self.part(task, part),
            ood={each.name: self.ood_part(task, part) for each in shown.ood},
            noise=None if shown.sliding is None else self.noise(part),
            chunk=500,
            seed=noise,
        )
        return np.concatenate([front_end(each.x) for each in steps])

    def path(self, task: str, part: str, shown: str | Description, seed: int, row: Row) -> Path:
        """Return the file of what a row says to a source, or to a stream."""
        place = self.place(task, part, seed, row)
        if isinstance(shown, str):
            return place / file_of(shown)
        if shown.steps is None:
            raise ValueError("steps is null; a stream with a number of steps is recorded")
        content = shown.to_dict()
        for name in ("labels", "digest"):  # checks, which change nothing
            content.pop(name, None)
        content["ood"] = [each.name for each in shown.ood]
        about = [content, self.setting.noise_seed(part, seed)]
        return place / f"{STREAM}-{digest_of(about, 16, sort_keys=True)}.npz"

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
    """Return the sources beside those of a suite; frozen input is none, as it depends on the step before."""
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
    """Return the name of the file of a source."""
    return source.replace("/", "_") + ".npz"


def _loaded(path: Path, source: str) -> Outputs:
    found = load_bank(path)
    if source not in found:
        raise ValueError(f"{path}: holds {', '.join(found)}, expected {source}")
    return found[source]


def _decoded(path: Path, load: Callable[[], Dataset]) -> Dataset:
    """Return a set from a file where it is kept, else loaded and then kept."""
    if not path.exists():
        found = load()
        about = np.array([found.name, found.split, found.license, found.source])
        put_arrays(path, {"x": found.x, "y": found.y, "about": about})
        return found
    arrays = arrays_of(path)
    name, split, terms, source = map(str, arrays["about"])
    return Dataset(name, split, arrays["x"], arrays["y"], terms, source)


def _files(task: str, part: str) -> list[tuple[str, int]] | None:
    """Return names and sizes of the files of a part; None where there are none, and a load will say so."""
    try:
        form = present(task, split_of(task, part))
    except ValueError:
        return None
    return None if form is None else [(name, (data_folder() / name).stat().st_size) for name in form.files]
