"""Result files of experiments on streams with invented figures: the shape of real ones, in a moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tcuq_lab.reproduce.field.experiment import FORMAT, TITLES
from tcuq_lab.reproduce.field.lines import NAN, Line, entries
from tcuq_lab.reproduce.field.plan import BACKBONES, FITS, UnitPlan
from tcuq_lab.reproduce.table import plain

UNFITTED = ("base", "int8 confidence", "entropy", "temperature", "conformal", "vote_8", "mean_8",
            "belief")  # fmt: skip
FITTED = ("mc_dropout", "deep", "early_exit", "hydra", "odin", "godin", "postnet", "vote", "mean_posterior",
          "median", "suppress", "mean_answer", "confidence_norm", "belief_told", "tcuq",
          "tcuq answer", "tcuq no labels")  # fmt: skip
FEWER = ("hydra", "postnet")
"""Rows of three networks."""
TYPE_ROWS = ("base", "vote_8", "belief", "tcuq answer", "tcuq no labels")
SKILL = {"tcuq": 0.5, "tcuq answer": 0.5, "tcuq no labels": 0.45, "belief": 0.35,
         "belief_told": 0.45, "vote": 0.3, "vote_8": 0.28, "mean_posterior": 0.33, "mean_8": 0.3,
         "median": 0.2}  # fmt: skip
"""How much a method makes of persistence; made up."""
PACE = {"class 1": 0.0, "class 4": 0.4, "class 16": 0.8, "class 64": 1.0, "object 16": 0.05,
        "continuous sound": 0.3, "heavy-tailed 16": 0.6, "changing pace": 0.6}  # fmt: skip
TYPES = ("fog", "frost", "gaussian_noise")
COLUMNS = ("error AUROC", "errors", "errors at 90 %", "errors at 80 %", "prediction error AUROC")


def _noise(*words: str) -> float:
    """A number between -1 and 1 that depends on words alone."""
    total = 7
    for letter in "|".join(words):
        total = (total * 31 + ord(letter)) % 9973
    return total / 4986.5 - 1


def _line(task: str, stream: str, row: str, fit: str, column: str, value: float, wide: float,
          networks: int = 5) -> Line:  # fmt: skip
    return Line(task, stream, row, fit, column, value, value - wide, value + wide, networks)


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
    placed = [(row, "") for row in UNFITTED] + [(row, fit) for row in FITTED for fit in FITS]
    for task in tasks:
        plan = UnitPlan(task, 0)
        for column in COLUMNS:
            for stream in plan.laws:
                values = {
                    (row, fit): _answer(task, stream, row, fit, column)
                    for row, fit in placed
                    if row != "tcuq answer" or column != "prediction error AUROC"
                }
                for (row, fit), value in values.items():
                    yield _line(task, stream, row, fit, column, value, 0.004, 3 if row in FEWER else 5)
                yield from _compared(task, stream, column, values)
        for stream in [*(f"type {name}" for name in TYPES), "all types, shuffled"]:
            values = {
                (row, fit): _answer(task, stream, row, fit, "errors")
                for row, fit in placed
                if row in TYPE_ROWS
            }
            for (row, fit), value in values.items():
                yield _line(task, stream, row, fit, "errors", value, 0.004)
            yield from _compared(task, stream, "errors", values)


def _compared(task: str, stream: str, column: str, values: dict[tuple[str, str], float]) -> Iterator[Line]:
    ours = {"errors": "tcuq answer", "errors at 90 %": "tcuq answer", "errors at 80 %": ""}.get(
        column, "tcuq"
    )
    for fit in FITS:
        for row in dict.fromkeys(row for row, _ in values):
            other = (row, fit) if (row, fit) in values else (row, "")
            if row == ours or (ours, fit) not in values or (column == "errors" and row != "base"):
                continue
            gap = values[ours, fit] - values[other]
            yield _line(task, stream, f"{ours} - {row}", fit, column, gap, 0.003)
            if column == "errors":
                ratio = values[ours, fit] / values[other]
                yield _line(task, stream, f"{ours} / {row}", fit, column, ratio, 0.02)
    if (ours, "untold") in values and ("belief_told", "told") in values:
        gap = values[ours, "untold"] - values["belief_told", "told"]
        yield _line(task, stream, f"{ours} - belief_told, told", "untold", column, gap, 0.003)


def write_field(folder: Path, name: str, lines: list[Line], **about: Any) -> Path:
    """Write the result file of an experiment."""
    content = {
        "format": FORMAT,
        "name": name,
        "title": TITLES.get(name, name),
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
    path.write_text(json.dumps({**content, "lines": plain(entries(lines))}))
    return path


def changed(lines: list[Line], value: float, wide: float = NAN, **where: str) -> list[Line]:
    """Return lines with another figure at the places that are named."""
    return [
        line._replace(value=value, low=value - wide, high=value + wide)
        if all(getattr(line, key) == word for key, word in where.items())
        else line
        for line in lines
    ]
