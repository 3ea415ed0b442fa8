"""The versions of a fleet: which a folder holds, which were given, and the parts of their state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, InputTypeError, wrong_value
from tcuq.monitor.params import Params

from ..engine.model_version import ModelVersion
from ..engine.order import BRIDGE, HOLD
from ..engine.packing import pack_arrays, unpack_arrays
from .decision_tables import named_damage
from .store import Store

DEFAULTS = {"hold": HOLD, "bridge": BRIDGE}

MAX_VERSION = 64  # characters of a version's name
PIECE = 1 << 16  # devices of one part: a fleet of millions is never copied at once


def named_params(params: Any) -> dict[str, Params]:
    """Return parameters by name; those without one are named by their fingerprint."""
    given = {params.fingerprint: params} if isinstance(params, Params) else dict(params or {})
    if not given:
        raise InputError("missing", "params are empty, expected Params or a dict of them; or read_only=True")
    for name, one in given.items():
        if not isinstance(one, Params):
            raise InputTypeError("value", f"params[{name!r}] is {type(one).__name__}, expected Params")
        if not isinstance(name, str) or not 1 <= len(name) <= MAX_VERSION or not name.isprintable():
            raise wrong_value("version", name, f"1 to {MAX_VERSION} printable characters")
    return given


def agreed_options(
    folder: Path, head: Mapping[str, Any] | None, given: Mapping[str, int | None]
) -> dict[str, int]:
    """Return the options that a folder was begun with, or is begun with now; refuse others."""
    wanted = {name: value for name, value in given.items() if value is not None}
    begun = {name: (head or wanted).get(name, default) for name, default in DEFAULTS.items()}
    for name, value in wanted.items():
        if value != begun[name]:
            said = f"{name} is {value}, expected {begun[name]} as {folder} was begun with"
            raise InputError("conflict", f"{said}; leave it out or begin a new folder")
    return begun


def agreed_versions(
    folder: Path, there: Mapping[str, Params], given: Mapping[str, Params] | None
) -> dict[str, Params]:
    """Return the given versions under their names in the folder; refuse others of the same name."""
    if given is None or not there:
        return dict(there if given is None else given)
    versions = {}
    for name, params in given.items():
        same = [held for held, old in there.items() if old.fingerprint == params.fingerprint]
        unnamed = name == params.fingerprint and name not in there and len(same) == 1
        versions[same[0] if unnamed else name] = params
    both = set(there) & set(versions)
    if not both:
        held, wanted = (
            ", ".join(f"{name!r} ({params.fingerprint})" for name, params in some.items())
            for some in (there, versions)
        )
        said = "to roll out a new version, give the old one too, under its name here"
        text = f"{folder} holds versions {held}, given are {wanted}; {said}"
        raise InputError("conflict", text, "versions")
    for name in both:
        old, new = there[name], versions[name]
        if (old.fingerprint, old.feature_scale) != (new.fingerprint, new.feature_scale):
            said = f"has other parameters ({old.fingerprint}, given {new.fingerprint})"
            text = f"version {name!r} of {folder} {said}; give the new ones a name of their own beside it"
            raise InputError("conflict", text)
    return versions


class Parts:
    """The parts of a model, oldest first; the first has all devices, and each has twice those of the next.

    A commit takes parts of about its own size into the new one: what it writes is in proportion to what has
    changed, times the logarithm of the fleet's size, and there are never more parts than that.
    """

    def __init__(self, store: Store, version: str) -> None:
        self.store, self.version = store, version
        self._slots: dict[int, npt.NDArray[np.int64]] = {}  # by number of the commit

    def read(self, params: Params, **options: Any) -> ModelVersion:
        """Return the model that the store holds, or a new one."""
        ModelVersion(self.version, params, **options)  # refuses options that cannot be: they are no damage
        with named_damage(f"the state of version {self.version!r} in {self.store.folder}"):
            self.model = ModelVersion.restored(self.version, params, self._read(), **options)
        return self.model

    def _read(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        for number, content in self.store.parts(self.version):
            arrays = unpack_arrays(content)
            before = self._slots.get(number, np.zeros(0, np.int64))
            self._slots[number] = np.concatenate([before, arrays["slots"].astype(np.int64)])
            yield arrays

    def write(self, number: int) -> None:
        """Write what has changed; `settle` then says that it is on the disk."""
        slots, kept = self.model.changed(), dict(self._slots)
        while kept and len(kept[last := max(kept)]) < 2 * len(slots):
            taken = kept.pop(last)
            slots = np.union1d(slots, taken) if kept else np.arange(len(self.model.devices))
        if not self._slots:
            slots = np.arange(len(self.model.devices))
        for gone in set(self._slots) - set(kept):
            self.store.drop_part(self.version, gone)
        for first in range(0, len(slots), PIECE) or [0]:
            content = pack_arrays(self.model.rows(slots[first : first + PIECE]))
            self.store.put_part(self.version, number, content)
        self._written = {**kept, number: slots}

    def settle(self) -> None:
        """Take what was written for what is on the disk."""
        self._slots = self._written
        self.model.settle()
