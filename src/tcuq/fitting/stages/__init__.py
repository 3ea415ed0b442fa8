"""The stages of a fit, a file each: one thing in, one thing out.

    Request -> read -> Reading -> find_signals -> Signals -> fit_heads -> Heads
            -> set_threshold -> Threshold -> set_alarm -> AlarmFit -> conclude -> Params

What a stage returns is a small frozen dataclass that holds what it found, and what went in. Later stages reach
earlier ones through it (``heads.signals.reading.options``); nobody passes a log, a list of notes or a dozen
arguments along. The monitor runs in `find_signals` alone: over the log, over the clean log where there is one,
over the shuffled log where someone needs it. Later stages take columns of those tables. New coefficients need
no new run: `tcuq.fitting.risk.scores` gives uncertainty and risk of a table, with the core's integers.

Each stage keeps to itself what it has to say: `findings` are figures for the notes of the parameters, `notes`
are sentences that start with "Note:" when they are printed. `conclude` puts them together, in the order of the
stages.

How to add something
--------------------
An option
    Into its group in `tcuq.fitting.options`, and into signature and docstring of `tcuq.fit`.
Another head
    A function in a file of its own, from `Signals` to a head. Call it in `fit_heads` and give `Heads` a field for
    it. `Signals.shuffle` has the table of the shuffled log: widen the condition in `find_signals` under which it
    is made.
Another alarm
    A function from `Threshold` to `Summed`: what is summed on the clean stretches, how limits are chosen from
    that, what to say. `alarm.choose_sum` picks one.
Another stage
    A file here with a frozen dataclass that holds the result and the result of the stage before, a function from
    the one to the other that starts with ``progress(name, 0, total)``, and a line in `tcuq.fitting.fit.fit`. Its
    findings and notes are collected by `conclude`.
Another finding
    A function from `AlarmFit` to figures, called by `conclude`. Where it can take long, leave it out unless
    `explain` is asked for, and count progress.

Random numbers come from ``reading.rng``, and each draw moves those that follow. What is new therefore makes a
generator of its own (``np.random.default_rng([seed, 1])``, another number each), so that parameters of earlier
releases stay as they are.
"""

from __future__ import annotations

from .alarm import AlarmFit, set_alarm
from .findings import conclude
from .heads import Heads, fit_heads
from .read import Reading, Request, read
from .signals import Signals, find_signals
from .threshold import Threshold, set_threshold

__all__ = [
    "AlarmFit",
    "Heads",
    "Reading",
    "Request",
    "Signals",
    "Threshold",
    "conclude",
    "find_signals",
    "fit_heads",
    "read",
    "set_alarm",
    "set_threshold",
]
