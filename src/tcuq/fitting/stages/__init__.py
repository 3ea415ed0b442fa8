"""The stages of a fit, a file each: one thing in, one thing out.

    Request -> read -> Reading -> find_signals -> Signals -> fit_heads -> Heads
            -> set_threshold -> Threshold -> set_alarm -> AlarmFit
            -> estimate_accuracy -> Accuracy -> conclude -> Params

A stage returns a small frozen dataclass: what it found, and what went in. Later stages reach earlier ones
through it (``heads.signals.reading.options``). No log, list of notes or dozen arguments is passed along.

The monitor runs in `find_signals` alone: over the log, over the clean log if there is one, and over the
shuffled log if a later stage needs it. Later stages take columns of those tables. New coefficients need no
new run: `tcuq.fitting.risk.scores` computes uncertainty and risk of a table with the core's integers.

Each stage keeps what it has to say: `findings` are figures for the notes of the parameters, `notes` are
sentences, printed after "Note:". `conclude` puts them together in the order of the stages.

How to add something
--------------------
An option
    Add it to its group in `tcuq.fitting.options`, and to signature and docstring of `tcuq.fit`.
Another head
    Write a function from `Signals` to a head in a file of its own. Call it in `fit_heads` and give `Heads` a
    field for it. A head that learns from log and shuffle finds the latter in `Signals.shuffle`; extend the
    condition in `find_signals` under which that table is made.
Another alarm
    Write a function from `Threshold` to `Summed`: what is summed on clean stretches, how limits are chosen
    from that, what to say. `alarm.choose_sum` picks one by the options.
Another stage
    Write a file here: a frozen dataclass that holds its result and that of the stage before, and a function
    from the one to the other that calls ``progress(name, done, total)``. Add a line to
    `tcuq.fitting.fit.fit_request` and collect its findings and notes in `conclude`.
Another finding
    Write a function from `Accuracy` to figures and call it in `conclude`. If it takes long, only with
    `explain`; on a long log, on the steps of `some_of`. `tcuq.fitting.sentences` says it in words.

Random numbers come from ``reading.rng``, and each draw moves those that follow. New code makes a generator
of its own (``np.random.default_rng([seed, 1])``, another number each), so that the parameters of earlier
releases stay as they are.
"""

from __future__ import annotations

from .accuracy import Accuracy, estimate_accuracy
from .alarm import AlarmFit, set_alarm
from .findings import conclude
from .heads import Heads, fit_heads
from .read import Reading, Request, read
from .signals import Signals, find_signals
from .threshold import Threshold, set_threshold

__all__ = [
    "Accuracy",
    "AlarmFit",
    "Heads",
    "Reading",
    "Request",
    "Signals",
    "Threshold",
    "conclude",
    "estimate_accuracy",
    "find_signals",
    "fit_heads",
    "read",
    "set_alarm",
    "set_threshold",
]
