"""Names and numbers as the pages print them, and Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `tcuq-lab results --write` from the files in lab/results. -->"
MINUS, SPACE = "\u2212", "\u00a0"
"""The sign, and a space at which no line is broken."""
TASKS = {
    "signs": "Traffic signs",
    "motion": "Wrist sensor",
    "mnist": "MNIST",
    "speech_commands": "Speech Commands",
    "cifar10": "CIFAR-10",
    "cifar10_animals": "CIFAR-10, 2 classes",
    "mnist_pairs": "MNIST pairs, 100 classes",
    "tinyimagenet": "TinyImageNet",
    "tinyimagenet20": "TinyImageNet, 16 classes",
    "mobilenetv2": "MobileNetV2, TinyImageNet",
    "resnet50": "ResNet-50, TinyImageNet",
    "vit": "vision transformer, CIFAR-10",
    "text": "text transformer",
}
STREAMS = {
    "class 1": "shuffled",
    "class 4": "class stays 4 steps",
    "class 16": "class stays 16 steps",
    "class 64": "class stays 64 steps",
    "object 16": "held object",
    "heavy-tailed 16": "heavy-tailed stays",
    "changing pace": "changing pace",
    "mixed": "mixed",
    "recording": "as recorded",
    "mixed, one class 70 %": "mixed, one class in 70 % of steps",
}
ROWS = {
    "tcuq answer": "tcuq",
    "tcuq no labels": "tcuq, no labels",
    "tcuq": "tcuq",
    "tcuq answer, window mean": "tcuq, window mean",
    "tcuq proved": "tcuq, proved alarm",
    "tcuq_paper": "TCUQ (paper)",
    "tcuq_paper_ts": "TCUQ (paper), temperature scaled",
    "tcuq_paper_no_temporal": "TCUQ (paper), no temporal signals",
    "tcuq_paper_no_conformal": "TCUQ (paper), fixed threshold",
    "tcuq_paper_frozen_weights": "TCUQ (paper), fixed weights",
    "tcuq_paper_nonnegative": "TCUQ (paper), weights of at least 0",
    "tcuq_plus": "TCUQ+",
    "base": "confidence",
    "int8 confidence": "confidence, int8",
    "deep": "ensemble of five",
    "mc_dropout": "MC dropout",
    "early_exit": "early-exit ensemble",
    "exits_alone": "early-exit ensemble, no last exit",
    "early_exit, light heads": "early-exit ensemble, light heads",
    "hydra": "HYDRA",
    "odin": "ODIN",
    "godin": "G-ODIN",
    "postnet": "PostNet",
    "temperature": "temperature scaling",
    "confidence_norm": "confidence and feature norm",
    "vote": "share of recent predictions that differ",
    "vote_8": "majority of 8 steps",
    "mean_posterior": "windowed mean posterior",
    "mean_8": "mean posterior of 8 steps",
    "mean_answer": "windowed mean posterior as answer",
    "median": "windowed median of confidence",
    "suppress": "windowed mean of confidence",
    "belief": "Bayes filter, fixed pace",
    "belief_told": "Bayes filter",
    "hmm": "HMM, learned without labels",
    "conformal": "conformal set size",
    "clock": "step counter",
    "base, assisted": "confidence, temporal assistance",
}


def task_name(task: str) -> str:
    """Return a dataset as people call it.

    Examples
    --------
    >>> task_name("cifar10"), task_name("other")
    ('CIFAR-10', 'other')
    """
    return TASKS.get(task, task)


def stream_name(stream: str) -> str:
    """Return a stream in words."""
    return STREAMS.get(stream, stream)


def row_name(row: str) -> str:
    """Return a method in words.

    Examples
    --------
    >>> row_name("deep"), row_name("CUSUM")
    ('ensemble of five', 'CUSUM')
    """
    return ROWS.get(row, row)


def place_name(task: str, stream: str) -> str:
    """Return a task and a stream in words."""
    return f"{task_name(task)}, {stream_name(stream)}"


def percent(value: float, sign: bool = False) -> str:
    """Return a share in percent, or a difference in points, with one decimal.

    Examples
    --------
    >>> percent(0.0984), percent(-0.0004), percent(0.011, sign=True), percent(-0.2), percent(math.nan)
    ('9.8', '0.0', '+1.1', '\u221220.0', '')
    """
    if math.isnan(value):
        return ""
    text = f"{100 * value:.1f}"
    if float(text) == 0:
        return "0.0"
    return ("+" if sign and value > 0 else "") + text.replace("-", MINUS)


def span(low: float, high: float) -> str:
    """Return an interval of a difference, in points; nothing where there is none."""
    ends = f"{percent(low)} to {percent(high)}".replace(" ", SPACE)
    return "" if math.isnan(low) or math.isnan(high) else ends


def plain(value: float, digits: int = 3) -> str:
    """Return a figure that is no share."""
    if math.isnan(value):
        return ""
    return "never" if math.isinf(value) else f"{value:.{digits}f}".replace("-", MINUS)


def steps(delay: float, found: float) -> str:
    """Return a median delay in steps.

    Where a file keeps the mean over networks of their medians, one network without a median makes it
    infinite, even if more than half of all shifts were found: there is nothing to print then.
    """
    if math.isnan(delay):
        return ""
    if math.isinf(delay):
        return "not known" if found >= 0.5 else "never"
    return f"{delay:.0f}"


def listed(parts: Iterable[str]) -> str:
    """Return parts as a sentence has them."""
    given = list(parts)
    return " and ".join([", ".join(given[:-1]), given[-1]]) if len(given) > 1 else "".join(given)


def count(number: int, thing: str) -> str:
    """Return a number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def lasting(seconds: float) -> str:
    """Return a time in the unit that fits.

    Examples
    --------
    >>> lasting(42), lasting(1234), lasting(9000)
    ('42 s', '21 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a table whose first so many columns are texts, the others numbers."""
    align = ["---"] * texts + ["---:"] * (len(head) - texts)
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(parts: Iterable[str]) -> str:
    """Return parts as a page, with an empty line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"
