"""Result files of experiments on streams with invented figures: the shape of real ones, in a moment."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tcuq_lab.reproduce.field.lines import NAN, Line, entries
from tcuq_lab.reproduce.field.plan import BACKBONES, CLASS_LAWS, FITS, UnitPlan
from tcuq_lab.reproduce.field.results import FORMAT
from tcuq_lab.reproduce.field.specs import TITLES
from tcuq_lab.reproduce.table import plain

NETWORK = (
    "base", "entropy", "temperature", "conformal", "mc_dropout", "deep", "early_exit", "hydra", "odin",
    "godin", "postnet",
)  # fmt: skip
FITTED = ("vote", "mean_posterior", "median", "belief", "confidence_norm", "tcuq", "tcuq answer",
          "tcuq no labels", "tcuq 0.1")  # fmt: skip
UNFITTED = (*NETWORK, "vote_8", "mean_8", "int8 confidence")
SKILL = {"tcuq": 0.5, "tcuq answer": 0.5, "tcuq no labels": 0.45, "tcuq 0.1": 0.4, "belief": 0.35,
         "belief_told": 0.45, "vote": 0.3, "vote_8": 0.28, "mean_posterior": 0.33, "mean_8": 0.3,
         "median": 0.2}  # fmt: skip
"""How much a method makes of persistence; made up."""
PACE = {"class 1": 0.0, "class 4": 0.4, "class 16": 0.8, "class 64": 1.0, "object 16": 0.05,
        "continuous sound": 0.3, "heavy-tailed 16": 0.6, "changing pace": 0.6}  # fmt: skip
TYPES = ("fog", "frost", "gaussian_noise")
ALARMS = ("windowed mean", "cusum", "adwin", "page_hinkley", "martingale", "e_detector", "mmd",
          "classifier")  # fmt: skip
ESTIMATES = ("atc", "doc", "mano", "mean confidence")


def _noise(*words: str) -> float:
    """A number between -1 and 1 that depends on words alone."""
    total = 7
    for letter in "|".join(words):
        total = (total * 31 + ord(letter)) % 9973
    return total / 4986.5 - 1


def _line(task: str, stream: str, row: str, fit: str, column: str, value: float, wide: float) -> Line:
    return Line(task, stream, row, fit, column, value, value - wide, value + wide, 5)


def _answer(task: str, stream: str, row: str, fit: str, column: str) -> float:
    error = {"mnist": 0.08, "speech_commands": 0.15, "cifar10": 0.25}[task]
    pace = PACE.get(stream, 0.0)
    gain = SKILL.get(row, 0.05 if row != "deep" else 0.12) * (pace if row in SKILL else 0.5)
    gain -= {"told": 0.0, "untold": 0.01, "other": 0.08, "": 0.0}[fit] * pace
    if row == "tcuq" and stream == "object 16":
        gain -= 0.03
    gain += 0.01 * _noise(task, stream, row, column)
    if "AUROC" in column:
        return 0.82 + 0.25 * gain
    kept = {"errors": 1.0, "errors at 90 %": 0.75, "errors at 80 %": 0.55}[column]
    return error * kept * (1 - gain)


def answers(tasks: tuple[str, ...] = tuple(BACKBONES)) -> Iterator[Line]:
    """Give the lines of `answers`."""
    columns = ("error AUROC", "label error AUROC", "errors", "errors at 90 %", "errors at 80 %")
    for task in tasks:
        plan = UnitPlan(task, 0)
        streams = [*plan.laws, *(f"type {name}" for name in TYPES), "all types, shuffled"]
        placed = [(row, fit) for row in FITTED for fit in FITS] + [(row, "") for row in UNFITTED]
        placed.append(("belief_told", "told"))
        for column in columns:
            for stream in streams:
                values = {each: _answer(task, stream, *each, column) for each in placed}
                for (row, fit), value in values.items():
                    yield _line(task, stream, row, fit, column, value, 0.004)
                for ours in ("tcuq", "tcuq answer", "tcuq no labels"):
                    for rival, fit in placed:
                        if rival.startswith("tcuq") and rival != "tcuq 0.1":
                            continue
                        if fit in ("", "told", "untold"):
                            mine = values[ours, "untold"]
                            name = f"{ours} - {rival}" + ("" if fit == "untold" else f", {fit or 'unfitted'}")
                            gap = mine - values[rival, fit]
                            yield _line(task, stream, name, "untold", column, gap, 0.003)
                if column == "errors":
                    ratio = values["tcuq answer", "untold"] / values["base", ""]
                    yield _line(task, stream, "tcuq answer / base, unfitted", "untold", column, ratio, 0.02)


def alarms(tasks: tuple[str, ...] = tuple(BACKBONES)) -> Iterator[Line]:
    """Give the lines of `alarms`."""
    for task in tasks:
        for number, row in enumerate(("tcuq", "tcuq no labels", *ALARMS)):
            for suffix in ("", " (equal)"):
                for stream in UnitPlan(task, 0).laws:
                    late = 5.0 + 4 * number + round(3 * _noise(task, stream, row))
                    yield Line(task, stream, row, "untold", f"delay{suffix}", math.inf if number == 7 else late,
                               late - 2, late + 3, 5)  # fmt: skip
                    for column, value in (("found", 0.99 - 0.04 * number), ("clean on", 0.03 + 0.01 * number),
                                          ("costly on", 0.9 - 0.06 * number), ("clears", 7.0 + number),
                                          ("shifted on", 0.7 - 0.05 * number)):  # fmt: skip
                        yield _line(task, stream, row, "untold", f"{column}{suffix}", value, 0.02)
                yield _line(task, "clean", row, "untold", f"false per 10,000{suffix}", 9.0 + number, 2.0)
                yield _line(task, "clean", row, "untold", f"run length ratio{suffix}", 1.1 - 0.1 * number, 0.1)


def accuracy(tasks: tuple[str, ...] = tuple(BACKBONES)) -> Iterator[Line]:
    """Give the lines of `accuracy`."""
    for task in tasks:
        for stream in UnitPlan(task, 0).laws:
            for number, row in enumerate(("tcuq", "tcuq no labels", *ESTIMATES)):
                value = 0.03 + 0.012 * number + 0.01 * _noise(task, stream, row)
                yield _line(task, stream, row, "untold", "accuracy error", value, 0.006)


def questions(tasks: tuple[str, ...] = tuple(BACKBONES)) -> Iterator[Line]:
    """Give the lines of `questions`."""
    for task in tasks:
        for stream in CLASS_LAWS:
            for number, row in enumerate(("tcuq", "no memory", "no features", "no gating", "int8", "1000 steps")):
                yield _line(task, stream, row, "untold", "error AUROC", 0.9 - 0.01 * number, 0.004)
                yield _line(task, stream, row, "untold", "errors at 90 %", 0.1 + 0.01 * number, 0.004)


MAKERS = {"answers": answers, "alarms": alarms, "accuracy": accuracy, "questions": questions}


def write_field(folder: Path, name: str, lines: list[Line] | None = None, **about: Any) -> Path:
    """Write the result file of an experiment; with given lines instead of invented ones."""
    given = list(MAKERS[name]()) if lines is None else lines
    content = {
        "format": FORMAT,
        "name": name,
        "title": TITLES[name],
        "command": f"tcuq-lab reproduce {name} --setting full",
        "setting": {
            "name": "full",
            "networks": dict(BACKBONES),
            "seeds": [0, 1, 2, 3, 4],
            "examples": {"dev": 5000, "test": 10000},
            "severities": [1, 2, 3, 4, 5],
            "sizes": {"stretch": 2000, "dev": 8, "test": 12},
            "replicates": 2000,
            "level": 0.95,
        },
        "recording": 1,
        "protocol": 1,
        "versions": {"tcuq": "0.2.0", "numpy": "2.4.6", "python": "3.11.7"},
        "seconds": 1234,
        "choices": {"resnet8-0": {"vote": {"window": 8}}},
        **about,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**content, "lines": plain(entries(given))}))
    return path


def changed(lines: list[Line], value: float, wide: float = NAN, **where: str) -> list[Line]:
    """Return lines with another figure at the places that are named."""
    return [
        line._replace(value=value, low=value - wide, high=value + wide)
        if all(getattr(line, key) == word for key, word in where.items())
        else line
        for line in lines
    ]
