"""`fit`: a development log in, `Params` out, with what was found written into their notes."""

from __future__ import annotations

from typing import Literal

from ..monitor.params import Params
from .clean import Source
from .options import FitOptions
from .stages.accuracy import estimate_accuracy, set_feedback
from .stages.alarm import set_alarm, set_threshold
from .stages.evidence import find_signals, learn_evidence
from .stages.findings import conclude
from .stages.heads import fit_heads
from .stages.read import read
from .stages.state import Progress, Request, say_nothing


def fit(
    log: Source,
    *,
    clean: Source | None = None,
    profile: str = "standard",
    about: Literal["answer", "prediction"] | None = None,
    budget: float = 0.15,
    level: float | Literal["budget"] | None = None,
    run_length: int = 10_000,
    alarm: Literal["sight", "risk", "proved"] | None = None,
    seed: int = 0,
    force: bool = False,
    options: FitOptions | None = None,
    progress: Progress | None = None,
) -> Params:
    """Fit a monitor to a development log.

    With labels, two heads are learned at once by a logistic regression of errors on the signals, as the
    integer core gives them, over the log and over its own shuffle: one for steps alone, one for steps with
    a past. Where classes hardly stay in the log, its steps are also put in an order in which they do. On the
    device the persistence of the stream decides between them. Without labels the uncertainty is one minus
    the posterior where steps are independent, else one minus the belief. Threshold and alarm come from clean
    steps: those of `clean`, else those that the log does not mark as shifted. Signals that end up with
    coefficients of 0 are dropped, and the features too where no other signal reads them.

    Parameters
    ----------
    log : Log, path or data frame
        Development stream; with labels it should mix clean and degraded stretches. A path ends in
        ``.csv``, ``.npz``, ``.jsonl``, ``.parquet`` or ``.arrow``. A data frame of pandas or polars, or an
        Arrow table, has the columns p0, p1, ..., and optionally f0, f1, ..., label, segment and shifted;
        `Log.from_frame` reads it.
    clean : Log, path or data frame, optional
        Another log, of clean data only.
    profile : {"standard", "paper"}, default "standard"
        "paper" is the published method: four signals, one head, an alarm on risk, no answer beside the
        prediction and no expected accuracy.
    about : {"answer", "prediction"}, optional
        Whose errors are learned: those of the class to act on, or those of the top class of the posterior.
        Default the answer where the log shows answers to be better than predictions or has no labels, else
        the prediction, as with "paper".
    budget : float, default 0.15
        Largest share of abstentions, in [0, 1].
    level : float or "budget", optional
        Share of steps to flag; "budget" ties it to the budget. Default "budget", at most 0.999; 0.1 with
        "paper" and where the budget is below 0.001.
    run_length : int, default 10000
        Wanted mean number of clean steps between false alarms, 10 to 10,000,000.
    alarm : {"sight", "risk", "proved"}, optional
        What the alarm looks at. "sight", the default ("risk" where chosen signals lack odds): how far input
        and outputs are from the clean steps, with or without labels; gauges that all logs have show the
        input, else the features stand for it.
        "proved": what a bet against clean data earns; `run_length` then holds without independence, as long
        as the mean of the score given the past stays at that of clean data, at several times the delay.
        "risk" is what "paper" has.
    seed : int, default 0
        For the bootstrap and the shuffle.
    force : bool, default False
        Fit even where labels seem to be in another class order, or where the model is at chance or no better
        than always answering the most frequent class on clean steps; otherwise that is an `InputError`.
    options : FitOptions, optional
        Logits, the format of features, a quick fit without an explanation, and options for experts.
    progress : callable, optional
        Called with the name of a stage (``"read"``, ``"evidence"``, ``"signals"``, ``"heads"``,
        ``"threshold"``, ``"alarm"``, ``"accuracy"``, ``"findings"``), what is done of it, and all that there
        is to do.

    Returns
    -------
    Params
        ``print(params)`` says in a few lines what was chosen and what it gains; ``notes["fit"]`` has the
        figures.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 200), 10)
    >>> logits = rng.normal(0, 1, (2000, 3)) + 2.5 * np.eye(3)[truth]
    >>> probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    >>> params = fit(Log(probs, labels=truth))
    >>> params.profile, params.about, params.notes["fit"]["time_helps"]
    ('standard', 'answer', True)
    """
    wanted = (profile, about, budget, level, run_length, alarm, seed, force)
    options = FitOptions() if options is None else options
    state = read(Request(log, clean, *wanted, options, progress or say_nothing))
    learn_evidence(state)
    find_signals(state)
    fit_heads(state)
    set_threshold(state)
    set_alarm(state)
    estimate_accuracy(state)
    set_feedback(state)
    return conclude(state)
