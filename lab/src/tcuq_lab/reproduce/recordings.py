"""What networks say to the examples of a part, kept in files: a source is corrupted and run once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..corruptions import suite_of
from ..data import Dataset
from ..data.ood import load_ood, ood_labels, ood_name
from ..data.parts import load_part
from ..methods.bank_files import load_bank, save_bank
from ..methods.method import Method, Recorded
from ..streams import Description
from .rows import Row
from .run_size import RunSize
from .versions import RECORDING, shown

Bank = dict[str, Recorded]
Progress = Callable[[int, int, str], None]


class Recordings:
    """Banks of rows, recorded where they are missing.

    Parameters
    ----------
    weights, folder : str
        Of the networks, and of the files that are kept.
    setting : RunSize
    device : str
    workers : int
        Processes that corrupt.
    progress : callable, optional
        Called with sources done, all of them, and a text.
    """

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
        self._parts: dict[tuple[str, str], Dataset] = {}

    def part(self, task: str, part: str) -> Dataset:
        """Return the examples of a part that are shown."""
        if (task, part) not in self._parts:
            found = load_part(task, part)
            rows = first_of(found.y, self.setting.of(part))
            self._parts[task, part] = replace(found, x=found.x[rows], y=found.y[rows])
        return self._parts[task, part]

    def ood(self, task: str, part: str) -> tuple[str, npt.NDArray[np.int64]]:
        """Return the name of the OOD set of a part, and the labels of its examples that are shown."""
        return ood_name(task, part), ood_labels(task, part)[: self.setting.of(part)]

    def has(self, task: str, seed: int, row: Row) -> bool:
        """Return whether the networks of a row are there for a seed."""
        names = row.networks(task, seed, self.weights)
        return all((Path(self.weights) / f"{name}.npz").exists() for name in names)

    def sources(self, task: str, part: str) -> list[str]:
        """Return what streams of a part show: clean examples, and the corruption types that it may show."""
        suite = suite_of(task)
        kinds = suite.seen if part == "dev" else self.setting.spread(suite.unseen)
        levels = self.setting.severities
        return ["clean", *(f"{kind}/{level}" for kind in kinds for level in suite.severities(kind, levels))]

    def of_stream(self, description: Description, seed: int, row: Row) -> Recorded:
        """Return what the networks of a row say to every step of a stream of held pictures, or of sound.

        Parameters
        ----------
        description : Description
        seed : int
            Of the first network.
        row : Row
        """
        raise NotImplementedError

    def banks(
        self, task: str, part: str, seed: int, rows: Sequence[Row], sources: Sequence[str]
    ) -> dict[str, Bank]:
        """Return what the networks of rows say to sources, by the label of the row.

        Parameters
        ----------
        task, part : str
        seed : int
            Of the first network.
        rows : sequence of Row
            Those that share networks and recordings share files.
        sources : sequence of str
            "clean", "fog/3", "ood/svhn".
        """
        places = {row.label: self.place(task, part, seed, row) for row in rows}
        owners = {places[row.label]: row for row in reversed(rows)}
        absent = {
            source: [place for place in owners if not (place / _file(source)).exists()] for source in sources
        }
        wanted = [source for source, gaps in absent.items() if gaps]
        if wanted:
            self._record(task, part, seed, owners, {source: absent[source] for source in wanted})
        loaded = {place: {source: _loaded(place, source) for source in sources} for place in owners}
        return {label: loaded[place] for label, place in places.items()}

    def place(self, task: str, part: str, seed: int, row: Row) -> Path:
        """Return the folder of a row's files, which other weights, data or recordings would not share."""
        names = row.networks(task, seed, self.weights)
        digest = hashlib.sha256()
        for name in names:
            digest.update((Path(self.weights) / f"{name}.npz").read_bytes())
        title = f"{names[0]}-{row.method.bank}-{digest.hexdigest()[:12]}"
        data = f"{task}-{part}-{self.setting.of(part)}-{shown(self.part(task, part))}"
        data += "-once" if self.setting.corrupted_once else ""
        return self.folder / f"recording-{RECORDING}" / data / title

    def _record(
        self, task: str, part: str, seed: int, owners: Mapping[Path, Row], gaps: Mapping[str, Sequence[Path]]
    ) -> None:
        from ..zoo.bank import examples
        from ..zoo.examples import inputs_of

        name = ood_name(task, part)
        ood = {}
        if f"ood/{name}" in gaps:
            found = load_ood(task, part)
            most = self.setting.of(part)
            ood = {name: replace(found, x=found.x[:most], y=found.y[:most])}
        clean = self.part(task, "dev")
        ready: dict[Path, Method] = {}
        given = examples(
            self.part(task, part),
            gaps,
            ood,
            seed=self.setting.noise_seed(part, seed),
            workers=self.workers,
            progress=self.progress,
        )
        for source, x in given:
            for place in gaps[source]:
                if place not in ready:
                    row = owners[place]
                    ready[place] = row.method(self._load(task, seed, row))
                    # Steps and temperatures come from clean development examples, whatever is recorded.
                    ready[place].ready(inputs_of(clean), clean.y)
                    place.mkdir(parents=True, exist_ok=True)
                save_bank(place / _file(source), {source: ready[place].record(x, self.device)})

    def _load(self, task: str, seed: int, row: Row) -> list:  # type: ignore[type-arg]
        from ..zoo.weights import load_weights

        names = row.networks(task, seed, self.weights)
        networks = [load_weights(Path(self.weights) / f"{name}.npz")[0] for name in names]
        return [each.to(self.device) for each in networks]


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


def _loaded(place: Path, source: str) -> Recorded:
    path = place / _file(source)
    found = load_bank(path)
    if source not in found:
        raise ValueError(f"{path}: holds {', '.join(found)}, expected {source}")
    return found[source]


def _file(source: str) -> str:
    return source.replace("/", "_") + ".npz"
