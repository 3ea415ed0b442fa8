"""Networks that are loaded once and shown many examples; what they say goes into files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...methods.banks import save_bank
from ...methods.method import Method
from ..rows import Row

if TYPE_CHECKING:
    from torch import nn

    from ..recordings import Recordings

State = Mapping[str, Any]
"""What a method learned from clean development examples before anything is recorded: numbers by name."""


class Target(NamedTuple):
    """A file that is wanted: what the networks of a row say, the first of them with a seed."""

    path: Path
    seed: int
    row: Row


class Recorder:
    """Methods of one process, made ready when they are first asked for."""

    def __init__(self, recordings: Recordings) -> None:
        self._from = recordings
        self._networks: dict[str, nn.Module] = {}
        self._methods: dict[tuple[str, ...], Method] = {}

    def show(
        self,
        task: str,
        source: str,
        x: npt.NDArray[Any],
        targets: Iterable[Target],
        states: Mapping[Path, State] | None = None,
    ) -> None:
        """Show examples to the networks of all targets, and write a file for each."""
        said: dict[int, Any] = {}  # what each network says to x, for all methods that ask
        for target in targets:
            method = self.method(task, target.seed, target.row, (states or {}).get(target.path.parent))
            method.said = said
            found = method.record(x, self._from.device)
            method.said = None
            kept = found if method.reads_features else replace(found, features=None)
            save_bank(target.path, {source: kept}, compressed=False)

    def method(self, task: str, seed: int, row: Row, state: State | None = None) -> Method:
        """Return a row's method with its networks, ready to record."""
        names = row.networks(task, seed, self._from.weights)
        key = (task, row.method.bank, *names)
        if key not in self._methods:
            found = row.method([self._network(name) for name in names])
            if state is None:
                from ...zoo.examples import inputs_of

                clean = self._from.part(task, "dev")
                # Steps and temperatures come from clean development examples, whatever is recorded.
                found.ready(inputs_of(clean), clean.y)
            else:
                vars(found).update(state)
            self._methods[key] = found
        return self._methods[key]

    def state(self, task: str, seed: int, row: Row) -> State:
        """Return what a method learned, for other processes."""
        found = vars(self.method(task, seed, row))
        return {name: value for name, value in found.items() if isinstance(value, (int, float))}

    def _network(self, name: str) -> nn.Module:
        from ...zoo.weights import load_weights

        if name not in self._networks:
            path = Path(self._from.weights) / f"{name}.npz"
            self._networks[name] = load_weights(path)[0].to(self._from.device)
        return self._networks[name]


def learns(method: type[Method]) -> bool:
    """Return whether a method learns anything before it records."""
    return method.ready is not Method.ready or method.learn is not Method.learn


def rendered(recordings: Recordings, description: Any, seed: int) -> npt.NDArray[Any]:
    """Return every step of a stream as a backbone takes it."""
    from ...streams import inputs
    from ...zoo.examples import front_end

    task, part = description.dataset, description.part
    shows = inputs(
        description,
        recordings.part(task, part),
        ood={each.name: recordings.ood_part(task, part) for each in description.ood},
        noise=None if description.sliding is None else recordings.noise(part),
        chunk=500,
        seed=recordings.setting.noise_seed(part, seed),
    )
    return np.concatenate([front_end(each.x) for each in shows])
