"""Trainings with and without assistance, as `lab/tools/assistance.py` measured them, as experiments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .figures import Figure, Found, Place

FORMAT = "tcuq-assistance"
MEASURES = {
    "accuracy": "accuracy",
    "f1": "macro F1",
    "brier": "Brier score, sum over classes",
    "nll": "NLL, nats",
    "ece": "ECE, 15 bins",
}
"""Figures of a network on test examples, and the columns that they stand in."""
SHARES = (0, 2, 5, 10, 20, 40, 60, 80, 100)
"""Where a curve of losses is shown, in percent of the training."""
EXIT = "exit_1"
TITLES = {
    "assistance": ("trainings", "Assistance on, off, and without a say", "Figure of the loss at an exit"),
    "weights": ("trainings_weights", "Weights of the assisting exits", "The text on the weights of exits"),
    "exits": ("trainings_exits", "Number of assisting exits", "Figure of the number of exits"),
}
"""Questions of the file: the name of the experiment, its title, what of the paper it repeats."""

TOOL = "python lab/tools/assistance.py"


def trainings_from(content: Mapping[str, Any]) -> Iterator[Found]:
    """Give an experiment for each question that a file of trainings answers.

    Parameters
    ----------
    content : mapping
        What `lab/tools/assistance.py` wrote.
    """
    if content.get("trial") is not False:
        raise ValueError("holds trainings on a few examples, expected on all of them")
    networks = content["networks"]
    for question, (name, title, paper) in TITLES.items():
        mine = [each for each in networks if question in each["ablations"]]
        if mine:
            seeds = sorted({each["seed"] for each in mine})
            longest = max(each["epochs"] for each in networks)
            yield Found(
                name,
                title,
                paper,
                f"{TOOL} --out out/assistance --seeds {len(seeds)} --epochs {longest}",
                {"name": _lengths(mine), "seeds": seeds},
                {"tcuq": content["version"]},
                math.fsum(each["seconds"] for each in mine),
                _figures(question, mine),
            )


def _figures(question: str, networks: Sequence[Mapping[str, Any]]) -> dict[Place, Figure]:
    values: dict[Place, list[float]] = {}
    for each in networks:
        row = row_of(question, each)
        columns = {title: each["test"][name] for name, title in MEASURES.items()}
        if question == "assistance":
            columns |= losses(each["curves"])
        for column, value in columns.items():
            values.setdefault(Place(each["dataset"], 1.0, row, column), []).append(value)
    return {
        place: Figure(math.fsum(found) / len(found), min(found), max(found), tuple(found), n=len(found))
        for place, found in values.items()
    }


def _lengths(networks: Sequence[Mapping[str, Any]]) -> str:
    """Return how long backbones were trained."""
    epochs = {each["backbone"]: each["epochs"] for each in networks}
    return "trainings of " + ", ".join(f"{name} {count} epochs" for name, count in epochs.items())


def row_of(question: str, network: Mapping[str, Any]) -> str:
    """Return the row of a network: what of it the question is about.

    Examples
    --------
    >>> row_of("exits", {"settings": {"exits": 4}}), row_of("exits", {"settings": {}})
    ('4 exits', 'no exits')
    >>> row_of("weights", {"settings": {"first": 3.0, "step": 0.5}})
    '3 + 0.5 k'
    """
    settings = network["settings"]
    if question == "exits":
        return f"{settings['exits']} exits" if settings.get("exits") else "no exits"
    if question == "weights":
        return f"{settings['first']:g} + {settings['step']:g} k"
    return "plain" if not settings else "probe" if settings["probe"] else "assisted"


def losses(curves: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the loss of the first exit at some points of the training; nothing where there is no exit.

    Examples
    --------
    >>> list(losses({"exit_1": [2.0, 1.0, 0.5]}).items())[0]
    ('loss of exit 1, 0 % of training', 2.0)
    """
    if EXIT not in curves:
        return {}
    last = len(curves[EXIT]) - 1
    return {f"loss of exit 1, {share} % of training": curves[EXIT][share * last // 100] for share in SHARES}
