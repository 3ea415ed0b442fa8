"""`record`: run a model over data and return a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base.checks import integer
from ..base.errors import InputError
from ..base.limits import read_limited
from ..base.spelling import option
from ..log.log import Log
from .model import RecordOptions
from .session import Progress, open_session
from .shifts import Shifts, listed
from .streams import Streams, paces_of

MOST_STEPS = 10_000_000


def record(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    stream: bool | str | None = None,
    shifts: Shifts = None,
    steps: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Log:
    """Run a model over data and return a log, ready for `tcuq.fit`.

    Parameters
    ----------
    model : path or object
        A ``.tflite``, ``.onnx`` or ``.keras`` file; a PyTorch module; a Keras model; an object with
        ``predict_proba``; a function that returns posteriors, or posteriors and features, of a batch; or
        ``"module:name"`` of one of these objects.
    x : array, path, function or iterator
        Inputs, one a row. An ``.npz`` file with ``x`` (or ``inputs``) and, if you have them, ``y`` (or
        ``labels``), ``segments``, ``shifted`` and ``names``; an ``.npy`` file; a folder of class folders with
        pictures or WAV files; a function, or ``"module:function"``, that gives batches (x, y).
    y : array or path, optional
        True classes, or an ``.npy`` file of them; those of an NPZ file or folder are found there.
    stream : bool or str, optional
        Arrange plain examples as a stream. True or "mixed": stretches of several paces. "dwell=16": a class
        stays for 16 steps on average; "held=8": one example, shaken a little; "shuffled"; or a list of these
        with commas.
    shifts : bool, str, callable, mapping or sequence, optional
        Degrade some stretches, and mark them in `shifted`. True: the generic set that suits the data,
        blank, saturated and frozen input among them; "pictures", "sound", "signals" or "tables": that one; a
        function (x, rng) -> x, its ``"module:name"``, or a mapping of names to functions; or a list of these.
        With shifts alone, `stream` is True.
    steps : int, optional
        Length of the stream; by default the number of examples.
    seed : int, optional
        Of the stream and its shifts; default 0.
    progress : callable, optional
        Called with inputs done, inputs in all (0 if not known) and a text; first with 0 when all is loaded.
    **options : any
        Of `RecordOptions`: `features` (which tensor), `posteriors` (which output), `logits`, `names` (of
        the classes), `input_range` (that the model was trained on), `input_shape`, `batch` and `fast`.

    Returns
    -------
    Log
        Posteriors as the model gives them: int8 of scale 1/256 and zero point -128 stay int8, others become
        float. Int8 features stay int8, with `feature_scale` and `feature_zero_point`. Gauges of the inputs
        (`tcuq.input_gauges`) where the model takes int8, or floats of a usual range or of `input_range`.

    Examples
    --------
    >>> import numpy as np
    >>> def model(x):
    ...     hidden = np.maximum(0, x)
    ...     return hidden / hidden.sum(axis=1, keepdims=True), hidden
    >>> log = record(model, np.array([[3.0, 1.0], [1.0, 1.0]]), [0, 1])
    >>> log.probs.tolist(), log.width, log.labels.tolist()
    ([[0.75, 0.25], [0.5, 0.5]], 2, [0, 1])
    """
    wanted = RecordOptions(**options)
    if stream in (None, False) and not listed(shifts):
        for name, value in (("steps", steps), ("seed", seed)):
            if value is not None:
                way = f"which needs {option('stream')}; pass both"
                raise InputError("conflict", f"{option(name)} is {value}, {way}")
        return open_session(model, x, y, wanted).log(progress=progress)
    paces = paces_of(stream or True)
    session = open_session(model, x, y, wanted)
    streams = Streams(session.data, session.model, paces, shifts, seed or 0)
    kinds, total = streams.chosen.kinds, session.data.total
    length = total if steps is None else integer("steps", steps, 1, MOST_STEPS)
    if kinds:
        streams.notes.append("`shifted` holds " + ", ".join(f"{n} {k.name}" for n, k in enumerate(kinds, 1)))
    else:
        way = f"{option('shifts')} makes some, on which the fit tests the alarm"
        streams.notes.append(f"the stream has no shifted stretches; {way}")
    if length > 2 * total:
        streams.notes.append(f"each of the {total:,} examples is shown about {length / total:.0f} times")
    plan = streams.plan(np.arange(total), length, range(1, len(kinds) + 1))
    return session.log(streams.arranged(plan), progress)


def read_names(text: str) -> list[str]:
    """Return names of classes from a file with one a line, or from a list with commas."""
    if not Path(text).is_file():
        return [each.strip() for each in text.split(",")]
    try:
        lines = read_limited(text).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError("damaged", f"{text}: is not text, expected one class name per line") from None
    return [line.strip() for line in lines if line.strip()]
