"""A model over data: opened once, run batch by batch, and what it says kept as a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..monitor.class_names import numbered
from ..monitor.log import Log
from .agreement import SHOWN, order_note
from .data import Batch, Data, open_data
from .folders import Asked
from .inputs import Preparation, with_ones
from .model import Array, Features, Format, Info, Model
from .opening import open_model
from .outputs import ENOUGH, are_posteriors, features_of, like_inputs, numbers_of, posteriors, refuse_model

Progress = Callable[[int, int, str], None]
"""Called with inputs done, inputs in all (0 if not known) and a text."""


@dataclass(frozen=True, eq=False)
class Session:
    """A model and data, ready to run.

    Parameters
    ----------
    model : Model
    data : Data
    scale : float, optional
    logits : bool
    names : sequence of str, optional
    batch : int
        As of `tcuq.record`.
    format : Format, optional
        Of int8 features, where the user says it and not the model.
    """

    model: Model
    data: Data
    scale: float | None
    logits: bool
    names: Sequence[str] | None
    batch: int
    format: Format | None = None

    def log(self, data: Data | None = None, progress: Progress | None = None) -> Log:
        """Run the model over its data, or over others of the same kind, and return the log."""
        data, info = data or self.data, self.model.info
        prepare = Preparation(info, data.name, data.pixels, self.scale)
        kept = _Kept(info, data, self.logits, self.names, self.format)
        if progress is not None:
            progress(0, data.total, "inferences")
        reset: Callable[[], None] | None = getattr(self.model, "reset", None)  # of one that keeps a state
        for part in data.batches(self.batch):
            for fresh, piece in _at_segments(part, kept.count, data.segments if reset else None):
                if fresh and reset is not None:
                    reset()
                kept.add(piece, self.model, prepare)
            if progress is not None:
                progress(kept.count, data.total, "inferences")
        prepare.finish()
        return kept.log()


def open_session(
    model: Any,
    x: Any,
    y: npt.ArrayLike | None = None,
    *,
    features: Features = None,
    posteriors: str | None = None,
    logits: bool = False,
    names: Sequence[str] | None = None,
    scale: float | None = None,
    input_shape: Sequence[int] | None = None,
    x_name: str = "x",
    y_name: str | None = None,
    batch: int = 32,
    fast: bool = False,
    in_order: bool = False,
    feature_scale: float | None = None,
    feature_zero_point: int | None = None,
) -> Session:
    """Open a model and data; `tcuq.record` says what the arguments are."""
    size = integer("batch", batch, 1, 1_000_000)
    factor = None if scale is None else number("scale", scale, -1e30, 1e30)
    ready = open_model(model, features, posteriors, fast)
    info = ready.info
    format = _told_format(info, feature_scale, feature_zero_point)
    if input_shape is not None:
        info.shape = tuple(integer("input_shape", each, 1, 1 << 30) for each in input_shape)
    texts = info.classes if info.classes and all(isinstance(each, str) for each in info.classes) else None
    data = open_data(x, y, x_name, y_name, Asked(info.shape, names or texts, in_order))
    take = data.take
    if take is not None:  # what befalls an input depends on its shape: pictures may lack their one channel
        data = replace(data, take=lambda places: with_ones(take(places), info.shape))
    return Session(ready, data, factor, logits, names, size, format)


def _told_format(info: Info, scale: float | None, zero_point: int | None) -> Format | None:
    """Return the format of int8 features that the user says, for a model that does not say it."""
    if scale is None and zero_point is None:
        return None
    if scale is None or zero_point is None:
        raise ValueError("feature_scale and feature_zero_point go together; one is missing")
    if info.features is not None:
        raise ValueError(f"{info.name}: has features of {info.features}; leave out `feature_scale`")
    return Format(
        number("feature_scale", scale, 1e-30, 1e30), integer("feature_zero_point", zero_point, -128, 127)
    )


def _at_segments(part: Batch, start: int, segments: Array | None) -> Iterator[tuple[bool, Batch]]:
    """Cut a batch where a new segment begins; tell whether a piece is the first of one.

    Parameters
    ----------
    part : Batch
    start : int
        Number of its first input.
    segments : array, optional
        Of all inputs; without them a batch stays whole.
    """
    if segments is None or segments.ndim != 1:
        yield False, part
        return
    around = segments[max(0, start - 1) : start + len(part.x)]
    cuts = (np.flatnonzero(around[1:] != around[:-1]) + (0 if start else 1)).tolist()
    for a, b in pairwise(sorted({0, *cuts, len(part.x)})):
        yield a in cuts, Batch(part.x[a:b], None if part.y is None else part.y[a:b])


class _Kept:
    """What has been recorded so far."""

    def __init__(
        self, info: Info, data: Data, logits: bool, names: Sequence[str] | None, told: Format | None
    ) -> None:
        self.info, self.data, self.logits, self.told = info, data, logits, told
        own = None if info.classes is None else [str(each) for each in info.classes]
        plain = own == [str(each) for each in range(len(own or ()))]
        self.given = names is not None
        self.names = names or data.names or (None if plain else own)
        self.count, self.classes, self.by_name = 0, 0, data.folder
        self.probs: list[Array] = []
        self.features: list[Array] = []
        self.labels: list[Array] = []
        self.format = info.features
        self.twice = logits

    def add(self, part: Batch, model: Model, prepare: Preparation) -> None:
        """Run one batch."""
        if not len(part.x):
            return
        found = model(prepare(part.x))
        try:
            probs = posteriors(found.probs, self.info.probs, self.logits)
        except ValueError as error:
            raise ValueError(f"{self.info.name}: {error}") from None
        if not self.count:
            self._first(probs, int(np.prod(part.x.shape[1:])))
        if probs.shape[1] != self.classes:
            changed = f"{self.classes} classes, then {probs.shape[1]}"
            raise ValueError(f"{self.info.name}: gives {changed}, expected the same number for all inputs")
        self.probs.append(np.array(probs))  # a model may use its memory again
        if found.features is not None:
            self._refuse_told(str(found.features.dtype))
            rows, self.format = features_of(found.features, self.told or self.info.features)
            self.features.append(rows)
        if part.y is not None:
            self.labels.append(self._numbers(part.y, len(part.x)))
        self.count += len(part.x)
        self.twice = self.twice and are_posteriors(found.probs, self.info.probs)
        if self.twice and self.count >= ENOUGH:
            raise ValueError(f"{self.info.name}: its outputs are posteriors already; leave out `logits`")

    def _first(self, probs: Array, inputs: int) -> None:
        """Refuse at the first batch what would be refused at the end."""
        self.classes = probs.shape[1]
        doubt = like_inputs(self.classes, inputs)
        try:
            refuse_model(probs, self.info.name)
        except ValueError:
            if doubt:
                raise ValueError(f"{self.info.name}: has no softmax, and {doubt}") from None
            raise
        if self.logits and doubt:
            self.info.notes.append(f"{self.info.name}: {doubt}")
        if self.names is not None and len(self.names) != self.classes:
            some = ", ".join(self.names[:SHOWN]) + ", ..." * (len(self.names) > SHOWN)
            said = (
                f"{self.data.name}: has {len(self.names)} classes by name ({some}), and {self.info.name} has "
            )
            if len(self.names) > self.classes and not self.given:
                raise ValueError(f"{said}only {self.classes} outputs. Is it the model for these data?")
            raise ValueError(
                f"{said}{self.classes} outputs; pass `names` in the order of these, one an output"
            )

    def _refuse_told(self, kind: str) -> None:
        """Refuse a scale that was told for what is not int8."""
        if self.told is not None and kind != "int8":
            raise ValueError(
                f"{self.info.name}: its features are {kind}, expected int8 with `feature_scale`; leave it out"
            )

    def _numbers(self, labels: Array, count: int) -> Array:
        where = self.data.name
        if labels.shape != (count,):
            raise ValueError(f"{where}: y has shape {labels.shape}, expected one class an input")
        try:
            if labels.dtype.kind in "UO" and self.names is not None:
                self.by_name = True
                return numbered(labels.astype(str), self.names)
            found = labels if self.data.folder else numbers_of(labels, self.info.classes)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if found.dtype.kind not in "iubf" or (found != np.floor(found)).any():
            hint = "; pass `names` in the order of the outputs" if found.dtype.kind in "UO" else ""
            raise ValueError(f"{where}: y is {found.dtype}, expected whole numbers of classes{hint}")
        if found.max() >= self.classes:
            at = int(found.argmax())
            raise ValueError(
                f"{where}: label {found[at]} of input {self.count + at}, expected 0 to {self.classes - 1}, "
                f"as {self.info.name} has {self.classes} classes"
            )
        return found.astype(np.int64)

    def log(self) -> Log:
        """Return what was recorded."""
        where = self.data.name
        if not self.count:
            raise ValueError(f"{where}: holds no inputs, expected at least one")
        columns: dict[str, Any] = {}
        for key, parts in (("features", self.features), ("labels", self.labels)):
            rows = sum(map(len, parts))
            if rows not in (0, self.count):
                raise ValueError(
                    f"{where}: {rows:,} of {self.count:,} inputs have {key}, expected all or none"
                )
            columns[key] = np.concatenate(parts) if parts else None
        if not self.features:
            self._refuse_told("missing")
        if self.features and self.format is not None:
            columns |= {"feature_scale": self.format.scale, "feature_zero_point": self.format.zero_point}
        probs = np.concatenate(self.probs)
        refuse_model(probs, self.info.name)
        notes = [*self.data.notes, *self.info.notes]
        strangers = 0 if columns["labels"] is None else int((columns["labels"] < 0).sum())
        if strangers:
            said = f"{strangers:,} of {self.count:,} labels are below 0"
            notes.append(f"{said}: inputs of none of the classes, on which every answer counts as wrong")
        try:
            log = Log(
                probs,
                segments=self.data.segments,
                shifted=self.data.shifted,
                shift_names=self.data.shift_names,
                notes=tuple(notes),
                names=None if self.names is None else tuple(map(str, self.names)),
                **columns,
            )
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        hint = self._order(log)
        return log if hint is None else replace(log, notes=(*log.notes, hint))

    def _order(self, log: Log) -> str | None:
        """Return a note where classes seem to have another order than the outputs."""
        if log.labels is None:
            return None
        clean = slice(None) if log.shifted is None else ~log.shifted
        names = self.names if self.by_name else None
        return order_note(log.labels[clean], log.predictions()[clean], log.classes, names)
