"""`record`: run a model over data and return a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..monitor.class_names import numbered
from ..monitor.log import Log
from .data import Batch, Data, open_data
from .folders import Asked
from .inputs import Preparation
from .model import Array, Features, Info, Model
from .opening import open_model
from .outputs import features_of, numbers_of, posteriors, refuse_model

Progress = Callable[[int, int, str], None]


def record(
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
    progress: Progress | None = None,
) -> Log:
    """Run a model over data and return a log, ready for `tcuq.fit`.

    Parameters
    ----------
    model : path or object
        A ``.tflite``, ``.onnx`` or ``.keras`` file; a PyTorch module; a Keras model; an object with
        ``predict_proba``; a function that returns posteriors, or posteriors and features, of a batch; or
        ``"module:name"`` of one of these objects.
    x : array, path, function or iterator
        Inputs, one a row. An ``.npz`` file with ``x`` and, if you have them, ``y``, ``segments``, ``shifted``
        and ``names``; an ``.npy`` file; a folder of class folders with pictures or WAV files; a function, or
        ``"module:function"``, that gives batches (x, y).
    y : array, optional
        True classes; those of a file or folder are found there.
    features : str, int or False, optional
        The tensor to keep as features, by name or number (PyTorch: a submodule, Keras: a layer). By default
        the input of the last fully connected layer. False leaves features out.
    posteriors : str, optional
        Name of the output with the posteriors, where a model has several outputs.
    logits : bool
        The model has no softmax: apply one.
    names : sequence of str, optional
        Names of the classes in the order of the model's outputs. A folder has them in alphabetical order.
    scale : float, optional
        What inputs are multiplied by. By default pictures by 1/255 for float models, and onto the whole range
        of an integer input; other data are taken as they are.
    input_shape : sequence of int, optional
        Shape of one input, where a folder is read for a model that does not say it.
    x_name, y_name : str
        Names of the arrays in an NPZ file. For an NPY file, `y_name` is a second NPY file.
    batch : int
        Inputs that are run, and kept in memory, at once.
    fast : bool
        For int8 TFLite models: optimized kernels in place of the reference kernels. Bits may differ.
    in_order : bool
        Read a folder by class and file name, in place of mixed.
    progress : callable, optional
        Called with inputs done, inputs in all (0 if not known) and a text; first with 0 when all is loaded.

    Returns
    -------
    Log
        Posteriors as the model gives them: int8 of scale 1/256 and zero point -128 stay int8, others become
        float. Int8 features stay int8, with `feature_scale` and `feature_zero_point`.

    Examples
    --------
    >>> def model(x):
    ...     hidden = np.maximum(0, x)
    ...     return hidden / hidden.sum(axis=1, keepdims=True), hidden
    >>> log = record(model, np.array([[3.0, 1.0], [1.0, 1.0]]), [0, 1])
    >>> log.probs.tolist(), log.width, log.labels.tolist()
    ([[0.75, 0.25], [0.5, 0.5]], 2, [0, 1])
    """
    size = integer("batch", batch, 1, 1_000_000)
    factor = None if scale is None else number("scale", scale, -1e30, 1e30)
    ready = open_model(model, features, posteriors, fast)
    info = ready.info
    if input_shape is not None:
        info.shape = tuple(integer("input_shape", each, 1, 1 << 30) for each in input_shape)
    texts = info.classes if info.classes and all(isinstance(each, str) for each in info.classes) else None
    data = open_data(x, y, x_name, y_name, Asked(info.shape, names or texts, in_order))
    prepare = Preparation(info, data.name, data.pixels, factor)
    kept = _Kept(info, data, logits, names)
    tell = progress or _say_nothing
    tell(0, data.total, "inferences")
    for part in data.batches(size):
        for fresh, piece in _at_segments(
            part, kept.count, data.segments if hasattr(ready, "reset") else None
        ):
            if fresh:
                ready.reset()  # type: ignore[attr-defined]  # a model that keeps a state
            kept.add(piece, ready, prepare)
        tell(kept.count, data.total, "inferences")
    return kept.log()


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


def _say_nothing(done: int, total: int, text: str) -> None:
    pass


class _Kept:
    """What has been recorded so far."""

    def __init__(self, info: Info, data: Data, logits: bool, names: Sequence[str] | None) -> None:
        self.info, self.data, self.logits = info, data, logits
        own = None if info.classes is None else [str(each) for each in info.classes]
        plain = own == [str(each) for each in range(len(own or ()))]
        self.names = names or data.names or (None if plain else own)
        self.count, self.classes = 0, 0
        self.probs: list[Array] = []
        self.features: list[Array] = []
        self.labels: list[Array] = []
        self.format = info.features

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
            self._first(probs)
        if probs.shape[1] != self.classes:
            changed = f"{self.classes} classes, then {probs.shape[1]}"
            raise ValueError(f"{self.info.name}: gives {changed}, expected the same number for all inputs")
        self.probs.append(probs)
        if found.features is not None:
            rows, self.format = features_of(found.features, self.info.features)
            self.features.append(rows)
        if part.y is not None:
            self.labels.append(self._numbers(part.y, len(part.x)))
        self.count += len(part.x)

    def _first(self, probs: Array) -> None:
        """Refuse at the first batch what would be refused at the end."""
        self.classes = probs.shape[1]
        refuse_model(probs, self.info.name)
        if self.names is not None and len(self.names) != self.classes:
            raise ValueError(
                f"{self.data.name}: has {len(self.names)} classes by name ({', '.join(self.names[:8])}), and "
                f"{self.info.name} has {self.classes} outputs; pass `names` in the order of these"
            )

    def _numbers(self, labels: Array, count: int) -> Array:
        where = self.data.name
        if labels.shape != (count,):
            raise ValueError(f"{where}: y has shape {labels.shape}, expected one class an input")
        try:
            if labels.dtype.kind in "UO" and self.names is not None:
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
        if self.features and self.format is not None:
            columns |= {"feature_scale": self.format.scale, "feature_zero_point": self.format.zero_point}
        probs = np.concatenate(self.probs)
        refuse_model(probs, self.info.name)
        try:
            return Log(
                probs,
                segments=self.data.segments,
                shifted=self.data.shifted,
                notes=(*self.data.notes, *self.info.notes),
                names=None if self.names is None else tuple(map(str, self.names)),
                **columns,
            )
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def read_names(text: str) -> list[str]:
    """Return names of classes from a file with one a line, or from a list with commas.

    Examples
    --------
    >>> read_names("cat,dog")
    ['cat', 'dog']
    """
    if not Path(text).is_file():
        return [each.strip() for each in text.split(",")]
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{text}: is no text, expected one name of a class a line") from None
    return [line.strip() for line in lines if line.strip()]
