"""Monitors of one network, fitted to its development stream, and what they say to streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tcuq import Monitor, Params, fit
from tcuq.monitor.log import Log, watch

from .units import Unit, unlabeled

RUN_LENGTH = 2000
"""Clean steps per false alarm that every fit is asked for."""


@dataclass(frozen=True, eq=False)
class Monitors:
    """What is judged.

    Parameters
    ----------
    label : Params
        Speak of the network's label.
    answer : Params
        Speak of the answer.
    bare : Params
        Of the answer too, fitted without labels.
    """

    label: Params
    answer: Params
    bare: Params


def fitted(log: Log, *, about: Literal["answer", "label"] = "answer", clean: Log | None = None) -> Params:
    """Return the monitor that `tcuq.fit` makes of a log by default.

    Parameters
    ----------
    log : Log
    about : str
        "label" or "answer".
    clean : Log, optional
    """
    return fit(log, clean=clean, about=about, run_length=RUN_LENGTH, explain=False)


def told(log: Log) -> Params:
    """Return the extended monitor of version 0.1, fitted to a stream of the law that it is judged on."""
    return fit(log, profile="extended", level="budget", evidence="auto", run_length=RUN_LENGTH, explain=False)


def monitors(unit: Unit) -> Monitors:
    """Fit the monitors of a network; none of them is told how long classes stay."""
    return Monitors(
        fitted(unit.dev, about="label"),
        fitted(unit.dev),
        fitted(unlabeled(unit.dev), clean=unlabeled(unit.clean_dev)),
    )


def said(params: Params, log: Log) -> Any:
    """Return what a fresh monitor says to a stream: an array with a field for each part of a step."""
    return watch(Monitor(params), log)
