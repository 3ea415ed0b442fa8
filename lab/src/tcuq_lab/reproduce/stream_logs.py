"""What a stored network says to described streams, as logs, kept in files: each stream is run once."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.base.whole_files import write_whole
from tcuq.monitor.log import Log

from ..data import Dataset, data_folder, present
from ..data.ood import load_ood, noise_of
from ..data.parts import load_part, split_of
from ..home import folder
from ..streams import Description, inputs
from .versions import RECORDING

if TYPE_CHECKING:
    from torch import nn

CHUNK = 500
"""Steps that are shown and run together; a network says the same to them, but for rounding."""


class StreamLogs:
    """Logs of networks on streams; datasets and networks are loaded once.

    Parameters
    ----------
    cache : path
        Folder of the logs that are kept; it is made where it is missing.
    weights : path, optional
        Folder of the networks; that of the checkout by default.
    device : str
    """

    def __init__(self, cache: str | Path, weights: str | Path | None = None, device: str = "cpu") -> None:
        self.cache, self.device = Path(cache), device
        self.weights = folder(None if weights is None else str(weights), "weights")
        self._parts: dict[tuple[str, str], Dataset] = {}
        self._ood: dict[tuple[str, str], Dataset] = {}
        self._noise: dict[str, npt.NDArray[np.int16]] = {}
        self._networks: dict[str, nn.Module] = {}

    def log(self, description: Description, network: str, *, seed: int | None = None) -> Log:
        """Return what a network says to a stream.

        Parameters
        ----------
        description : Description
            Of finite length, of a dataset with parts.
        network : str
            File in the folder of weights without its ending, such as "resnet8-0".
        seed : int, optional
            Of the corruptions. By default that of `Recordings`: twice the seed of the network, and 1 more
            for test examples, so that they do not meet the noise of dev.

        Returns
        -------
        Log
            Float32 posteriors and features (the penultimate layer), labels, kinds of shift; one segment.
        """
        if description.steps is None:
            raise ValueError("steps is null; a log is made of a stream with a number of steps")
        about, content = description, self._weights(network)
        if seed is None:
            number = network.rpartition("-")[2]
            if not number.isdecimal():
                raise ValueError(f"seed is not given, and network {network!r} does not end in one, as cnn4-0")
            seed = 2 * int(number) + (about.part == "test")
        path = self.cache / f"recording-{RECORDING}" / f"{network}-{_key(about, content, seed)}.npz"
        if not path.exists():
            self._run(about, network, seed, path)
        with np.load(path, allow_pickle=False) as file:
            return Log(
                file["probs"],
                file["features"],
                file["labels"],
                segments=np.zeros(len(file["labels"]), dtype=np.int64),
                shifted=file["kinds"],
            )

    def joined(self, descriptions: Iterable[Description], network: str, *, seed: int | None = None) -> Log:
        """Return what a network says to several streams, as one log with a segment each.

        Numbers of shifts are those of each description, so all should have the same shifts and OOD sets.
        """
        logs = [self.log(each, network, seed=seed) for each in descriptions]
        columns = {
            name: np.concatenate([getattr(log, name) for log in logs])
            for name in ("probs", "features", "labels", "kinds")
        }
        segments = np.repeat(np.arange(len(logs)), [len(log) for log in logs])
        return Log(
            columns["probs"], columns["features"], columns["labels"], segments, shifted=columns["kinds"]
        )

    def _run(self, about: Description, network: str, seed: int, path: Path) -> None:
        from ..zoo.examples import front_end
        from ..zoo.outputs import outputs
        from ..zoo.weights import load_weights

        if network not in self._networks:
            self._networks[network] = load_weights(self.weights / f"{network}.npz")[0]
        columns: dict[str, list[Any]] = {name: [] for name in ("probs", "features", "labels", "kinds")}
        shows = inputs(
            about,
            self._part(about.dataset, about.part),
            ood=self._strange(about),
            noise=self._floor(about),
            chunk=CHUNK,
            seed=seed,
        )
        for x, y, kinds in shows:
            found = outputs(self._networks[network], front_end(x), self.device)
            columns["probs"].append(found.probs)
            columns["features"].append(found.features)
            columns["labels"].append(y)
            columns["kinds"].append(kinds)
        arrays: dict[str, Any] = {name: np.concatenate(parts) for name, parts in columns.items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, buffer.getvalue())

    def _weights(self, network: str) -> bytes:
        try:
            return (self.weights / f"{network}.npz").read_bytes()
        except FileNotFoundError:
            raise ValueError(
                f"network is {network!r}, expected a file {network}.npz in {self.weights}"
            ) from None

    def _part(self, name: str, part: str) -> Dataset:
        if (name, part) not in self._parts:
            self._parts[name, part] = load_part(name, part)
        return self._parts[name, part]

    def _strange(self, about: Description) -> dict[str, Dataset]:
        place = (about.dataset, about.part)
        if about.ood and place not in self._ood:
            self._ood[place] = load_ood(*place)
        return {self._ood[place].name: self._ood[place]} if about.ood else {}

    def _floor(self, about: Description) -> npt.NDArray[np.int16] | None:
        if about.sliding is None:
            return None
        if about.part not in self._noise:
            self._noise[about.part] = noise_of(about.part)
        return self._noise[about.part]


def stream_log(
    description: Description, network: str, cache: str | Path, *, weights: str | Path | None = None
) -> Log:
    """Return what a stored network says to a stream; see `StreamLogs`, which is quicker for several.

    Parameters
    ----------
    description : Description
    network : str
        Such as "cnn4-0" (mnist), "dscnn-0" (speech_commands), "resnet8-0" (cifar10).
    cache : path
        Folder of the logs that are kept.
    weights : path, optional
        Folder of the networks; that of the checkout by default.
    """
    return StreamLogs(cache, weights).log(description, network)


def _key(about: Description, weights: bytes, seed: int) -> str:
    """Return a digest of all that decides a log: stream, network, files of the data, seed of corruptions.

    Files count with their names and sizes, as reading them all would take longer than a short stream.
    """
    content = about.to_dict()
    for name in ("labels", "digest"):  # checks, which change nothing
        content.pop(name, None)
    content["ood"] = [each.name for each in about.ood]
    form = present(about.dataset, split_of(about.dataset, about.part))
    files = () if form is None else form.files
    sizes = [(name, (data_folder() / name).stat().st_size) for name in files]
    digest = hashlib.sha256(json.dumps([content, sizes, seed], sort_keys=True).encode())
    digest.update(weights)
    return digest.hexdigest()[:24]
