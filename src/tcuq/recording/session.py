"""A model over data: opened once, run batch by batch, and what it says kept as a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.errors import InputError, located
from ..base.spelling import option
from ..labels.check import SHOWN, order_note
from ..log.class_names import classes_expected, numbered
from ..log.gauges import family_of
from ..log.log import Log
from ..log.logits import paired, softmax
from ..log.quantize import ONE_OUTPUT, odd_sums, refuse_logits, two_classes
from . import ranges
from .data import Batch, Data, in_order, open_data
from .model import Array, Format, Model, Range, RecordOptions
from .opening import open_model

KEPT = {np.dtype(np.int8): Format(1 / 256, -128), np.dtype(np.uint8): Format(1 / 256, 0)}
"""Formats of posteriors that a log holds as they are."""

ENOUGH = 8  # rows that sum to 1 from which on outputs are posteriors and no logits
MANY = 32  # outputs from which on as many of them as inputs look like an autoencoder


def posteriors(raw: Array, format: Format | None, logits: bool) -> Array:
    """Return outputs of a model as posteriors."""
    single = raw.shape[1] == 1
    if logits and format is not None and raw.dtype == np.int8 and not single:
        return softmax(raw, format.scale)
    kept = format is not None and KEPT.get(raw.dtype) == format
    if format is not None and (logits or not kept):
        raw = format.numbers(raw)
    if raw.dtype == np.float16 or (raw.dtype.kind in "iu" and raw.dtype not in KEPT):
        raw = raw.astype(np.float32)
    if logits:
        return np.asarray(softmax(paired(raw)), np.float32)
    if not single:
        return raw
    if raw.dtype.kind == "f" and not ((raw >= 0) & (raw <= 1)).all():
        ends = f"{raw.min():.4g} to {raw.max():.4g}"
        way = f"for the logit of two classes, pass {option('logits', True)}"
        way = f"A regression model has no classes to watch; {way}"
        raise InputError("value", f"its one output is {ends}, expected a sigmoid of 0 to 1. {way}.")
    return two_classes(raw)


def are_posteriors(raw: Array, format: Format | None) -> bool:
    """Tell whether outputs of a model went through a softmax, or an int8 sigmoid, already."""
    kept = format is not None and KEPT.get(raw.dtype) == format
    if raw.shape[1] == 1:
        return kept
    numbers = raw if kept or format is None else format.numbers(raw)
    return (kept or numbers.dtype.kind == "f") and not odd_sums(numbers).any()


def refuse_model(probs: Array, name: str) -> None:
    """Refuse outputs that cannot come from a softmax."""
    with located(name):
        refuse_logits(probs, "outputs")


def features_of(raw: Array, format: Format | None) -> tuple[Array, Format | None]:
    """Return features as a log holds them: int8 with a format, or float32."""
    if raw.dtype == np.uint8 and format is not None:
        return (raw.astype(np.int16) - 128).astype(np.int8), Format(format.scale, format.zero_point - 128)
    if raw.dtype == np.int8:
        return raw, format
    return (raw if format is None else format.numbers(raw)).astype(np.float32), None


def numbers_of(labels: Array, classes: Sequence[Any] | None) -> Array:
    """Return labels as numbers of classes, where the model says what it was trained with."""
    if classes is None or list(classes) == list(range(len(classes))):
        return labels
    known = {value: number for number, value in enumerate(classes)}
    values = labels.tolist()
    for each in values:
        if each not in known and each != -1:
            shown = ", ".join(map(str, list(known)[:8])) + ", ..." * (len(known) > 8)
            raise InputError("unknown", f"y holds {each!r}, expected one of the model's classes: {shown}")
    return np.array([known.get(each, -1) for each in values], np.int64)


Progress = Callable[[int, int, str], None]  # called with inputs done, in all (0: not known) and a text


@dataclass(frozen=True, eq=False)
class Session:
    """A model and data, ready to run."""

    model: Model
    data: Data
    options: RecordOptions
    own: Range | None = None
    notes: tuple[str, ...] = ()

    def log(self, data: Data | None = None, progress: Progress | None = None) -> Log:
        """Run the model over its data, or over others of the same kind, and return the log."""
        data, model = data or self.data, self.model
        prepare = ranges.Preparation(model, data.name, data.pixels, self.options.input_range, self.own)
        recorded = _Recorded(model, data, self.options)
        if progress is not None:
            progress(0, data.total, "inferences")
        for part in data.batches(self.options.batch):
            for fresh, piece in _at_segments(part, recorded.count, data.segments if model.stateful else None):
                if fresh:
                    model.reset()
                recorded.add(piece, prepare)
            if progress is not None:
                progress(recorded.count, data.total, "inferences")
        prepare.finish()
        recorded.notes = [*self.notes, *prepare.notes, *recorded.notes]
        return recorded.log()


def open_session(model: Any, x: Any, y: Any, options: RecordOptions) -> Session:
    """Open a model and data, and settle the range of the inputs."""
    ready = open_model(model, options.features, options.posteriors, options.fast)
    if options.input_shape is not None:
        ready.shape = tuple(options.input_shape)
    texts = ready.classes if ready.classes and all(isinstance(each, str) for each in ready.classes) else None
    data = open_data(x, y, ready.shape, options.names or texts)
    take = data.take
    if take is not None:  # what befalls an input depends on its shape: pictures may lack their one channel
        data = replace(data, take=lambda places: ranges.with_ones(take(places), ready.shape))
    return _with_range(Session(ready, data, options))


def _with_range(session: Session) -> Session:
    """Compare ranges of inputs by labels: choose one for plain pixels, else say that another is better."""
    data, model, given = session.data, session.model, session.options.input_range
    if data.take is None or (data.family == "sound" and given is None):
        return session
    places = np.arange(count := min(ranges.TRIED, data.total)) * data.total // count
    sample = data.take(places)
    own = (-1.0, 1.0) if data.family == "sound" else ranges.range_of(sample)
    own = (0.0, 255.0) if data.pixels else own
    session = replace(session, own=own)
    pictures = sample.dtype == np.uint8 or family_of(sample.shape[1:], sample.dtype) == "pictures"
    format = model.quantized
    done = format is not None and sample.dtype == model.input and given is None  # quantized by the user
    if data.labels is None or own is None or count < ranges.FEWEST or not pictures or done:
        return session
    plain = sample.dtype == np.uint8 and given is None
    like = given or ((0.0, 1.0) if data.pixels else own)
    if plain and format is not None:
        like = ranges.ends_of(format, model.input)
    batches = in_order(lambda rows: sample[rows], count, data.labels[places])
    some = replace(data, batches=batches, total=count, segments=None, shifted=None)

    def accuracy(tried: Range | None) -> float:
        try:
            log = replace(session, options=replace(session.options, input_range=tried)).log(some)
        except ValueError:  # out of the model's range; what concerns all ranges comes again in the run
            return 0.0
        return float(1 - log.errors().mean())

    margin, before = max(ranges.GAIN, 2 / count**0.5), accuracy(given)
    others = [] if before > 1 - margin else [r for r in ranges.COMMON if not ranges.same_range(like, r)]
    tried = {each: accuracy(each) for each in others}
    model.reset()
    if max(tried.values(), default=0.0) < before + margin:
        return session
    best = max(tried, key=lambda each: tried[each])
    right = f"{tried[best]:.0%} of {count} examples are right with inputs of {ranges.shown_range(best)}"
    now, better = f"{before:.0%} with {ranges.shown_range(like)}", option("input_range", best)
    if not plain:
        return replace(session, notes=(f"{right}, and {now}, as they go in; pass {better}",))
    options = replace(session.options, input_range=best)
    return replace(session, options=options, notes=(f"{right}, {now}: {better} is taken",))


def _at_segments(part: Batch, start: int, segments: Array | None) -> Iterator[tuple[bool, Batch]]:
    """Cut a batch where a new segment begins; tell whether a piece is the first of one."""
    if segments is None or segments.ndim != 1:
        yield False, part
        return
    around = segments[max(0, start - 1) : start + len(part.x)]
    cuts = (np.flatnonzero(around[1:] != around[:-1]) + (0 if start else 1)).tolist()
    for a, b in pairwise(sorted({0, *cuts, len(part.x)})):
        yield a in cuts, Batch(*(None if each is None else each[a:b] for each in part))  # type: ignore[arg-type]


class _Recorded:
    """What has been recorded so far."""

    def __init__(self, model: Model, data: Data, options: RecordOptions) -> None:
        self.model, self.data, self.options = model, data, options
        own = None if model.classes is None else [str(each) for each in model.classes]
        plain = own == [str(each) for each in range(len(own or ()))]
        self.names = options.names or data.names or (None if plain else own)
        self.notes: list[str] = []
        self.count, self.classes, self.by_name = 0, 0, data.folder
        self.probs: list[Array] = []
        self.features: list[Array] = []
        self.gauges: list[Array] = []
        self.gauge_names: tuple[str, ...] | None = None
        self.labels: list[Array] = []
        self.format = model.features_format
        self.twice = options.logits

    def add(self, part: Batch, prepare: ranges.Preparation) -> None:
        """Run one batch."""
        if not len(part.x):
            return
        model = self.model
        ready = prepare(part.x, part.given)
        outputs = model(ready)
        with located(model.name):
            probs = posteriors(outputs.probs, model.probs_format, self.options.logits)
        if not self.count:
            self._first(probs, int(np.prod(part.x.shape[1:])), outputs.probs.shape[1] == 1)
        if probs.shape[1] != self.classes:
            changed = f"{self.classes} classes, then {probs.shape[1]}"
            raise model.refusal("value", f"gives {changed}, expected the same number for all inputs")
        self.probs.append(np.array(probs))  # a model may use its memory again
        if outputs.features is not None:
            rows, self.format = features_of(outputs.features, model.features_format)
            self.features.append(rows)
        if (gauges := prepare.gauges(part.x, ready)) is not None:
            self.gauge_names = gauges[1]
            self.gauges.append(gauges[0])
        if part.y is not None:
            self.labels.append(self._numbers(part.y, len(part.x)))
        self.count += len(part.x)
        self.twice = self.twice and are_posteriors(outputs.probs, model.probs_format)
        if self.twice and self.count >= ENOUGH:
            way = f"leave out {option('logits')}"
            raise model.refusal("conflict", f"its outputs are posteriors already; {way}")

    def _first(self, probs: Array, inputs: int, single: bool) -> None:
        """Refuse at the first batch what would be refused at the end."""
        model, logits = self.model, self.options.logits
        self.classes = probs.shape[1]
        if single and not logits:
            self.notes.append(f"{model.name}: {ONE_OUTPUT}")
        alike = self.classes == inputs >= MANY
        question = "Is it a classifier? Autoencoders have no posteriors to watch"
        doubt = f"it has as many outputs as inputs, {inputs}. {question}"
        try:
            refuse_model(probs, model.name)
        except ValueError:
            if alike:
                raise model.refusal("value", f"has no softmax, and {doubt}") from None
            raise
        if logits and alike:
            self.notes.append(f"{model.name}: {doubt}")
        if self.names is not None and len(self.names) != self.classes:
            some = ", ".join(self.names[:SHOWN]) + ", ..." * (len(self.names) > SHOWN)
            problem = f"has {len(self.names)} classes by name ({some}), and {model.name} has"
            way = f"{self.classes} outputs; pass {option('names')} in their order"
            if len(self.names) > self.classes and self.options.names is None:
                way = f"only {self.classes} outputs. Is it the right model?"
            raise InputError("conflict", f"{problem} {way}", where=self.data.name)

    def _numbers(self, labels: Array, count: int) -> Array:
        where = self.data.name
        if labels.shape != (count,):
            raise InputError("value", f"{where}: y has shape {labels.shape}, expected one class an input")
        with located(str(where)):
            if labels.dtype.kind in "UO" and self.names is not None:
                self.by_name = True
                return numbered(labels.astype(str), self.names)
            numbers = labels if self.data.folder else numbers_of(labels, self.model.classes)
        if numbers.dtype.kind not in "iubf" or (numbers != np.floor(numbers)).any():
            text = numbers.dtype.kind in "UO"
            way = f"pass {option('names')} in the order of the outputs"
            way = way if text else "regression has no classes to watch"
            problem = f"y is {numbers.dtype}, expected whole numbers of classes; {way}"
            raise InputError("value", problem, where=where)
        odd = (numbers < -1) | (numbers >= self.classes)
        if odd.any():
            place = int(odd.argmax())
            name, value = f"label of input {self.count + place}", numbers[place]
            problem = f"{name} is {value}, and {self.model.name} has {self.classes} classes"
            wanted = classes_expected(value, self.classes)
            raise InputError("value", f"{problem}; expected {wanted}", name, where=where)
        return numbers.astype(np.int64)

    def log(self) -> Log:
        """Return what was recorded."""
        where = self.data.name
        if not self.count:
            raise InputError("missing", f"{where}: holds no inputs, expected at least one")
        columns: dict[str, Any] = {}
        for key, parts in (("features", self.features), ("labels", self.labels)):
            rows = sum(map(len, parts))
            if rows not in (0, self.count):
                raise InputError("conflict", f"{where}: only {rows:,} of {self.count:,} inputs have {key}")
            columns[key] = np.concatenate(parts) if parts else None
        if self.features and self.format is not None:
            columns |= {"feature_scale": self.format.scale, "feature_zero_point": self.format.zero_point}
        if sum(map(len, self.gauges)) == self.count and len({each.shape[1] for each in self.gauges}) == 1:
            columns |= {"gauges": np.concatenate(self.gauges), "gauge_names": self.gauge_names}
        probs = np.concatenate(self.probs)
        refuse_model(probs, self.model.name)
        notes = [*self.data.notes, *self.model.notes, *self.notes]
        none = 0 if columns["labels"] is None else int((columns["labels"] < 0).sum())
        if none:
            few = f"{none:,} of {self.count:,} labels are below 0"
            notes.append(f"{few}: inputs of none of the classes, on which every answer counts as wrong")
        columns |= {key: getattr(self.data, key) for key in ("segments", "shifted", "shift_names")}
        names = None if self.names is None else tuple(map(str, self.names))
        with located(where):
            log = Log(probs, notes=tuple(notes), names=names, **columns)
        hint = order_note(log, log.names if self.by_name else None)
        return log if hint is None else replace(log, notes=(*log.notes, hint))
