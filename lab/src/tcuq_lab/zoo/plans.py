"""Plans of trainings: what is wrong with them is said before any data is loaded or any folder made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..data import present
from ..data.parts import PARTS, base_of, load_part, split_of
from .config import Config
from .curves import curves_of, read_curves
from .examples import form_of
from .recipes import recipe
from .train import fresh
from .weights import load_weights


def file_of(config: Config) -> str:
    """Return the name of the file of a network.

    Examples
    --------
    >>> file_of(Config("small", "mnist", "cnn4", epochs=1, batch=8, rate=0.1, seed=2))
    'small-2.npz'
    """
    return f"{config.name}-{config.seed}.npz"


def check_config(config: Config) -> None:
    """Refuse a configuration whose backbone, recipe and dataset do not go together.

    Examples
    --------
    >>> check_config(Config("small", "text", "cnn4", epochs=1, batch=8, rate=0.1))
    Traceback (most recent call last):
    ...
    ValueError: small: cnn4 cannot take text: input is (1, 64), expected (n, height, width, 1), ...
    """
    try:
        plan = recipe(config.recipe, config.settings, config.smoothing)
        plan.needs(config.seed)
        form = form_of(config.dataset)
        with torch.device("meta"), torch.no_grad():  # shapes alone: nothing is computed or drawn
            network = fresh(config, form.classes)
            plan.wrap(network)
            try:
                network.eval()(network.prepare(torch.from_numpy(form.blank).to("meta")))
            except (ValueError, RuntimeError) as error:
                line = str(error).splitlines()[0]
                raise ValueError(f"{config.backbone} cannot take {config.dataset}: {line}") from None
    except ValueError as error:
        raise ValueError(f"{config.name}: {error}") from None


def check_data(dataset: str) -> None:
    """Refuse a dataset whose files are missing, without reading those that are there."""
    if dataset == "text":
        return
    for part in PARTS:
        if present(base_of(dataset), split_of(dataset, part)) is None:
            load_part(dataset, part)  # says what is missing


def found_card(config: Config, folder: Path, curves: int | None = None) -> dict[str, Any] | None:
    """Return the card of a network that is there already, trained as the configuration says."""
    path = folder / file_of(config)
    if not path.exists():
        return None
    card = load_weights(path)[1]
    _same(path, "a network", config, card)
    if curves is not None:
        file = curves_of(path)
        if not file.exists():
            raise ValueError(f"{path} is there without {file.name}; only a new training gives curves")
        content = read_curves(file)
        _same(file, "curves", config, content)
        if content["every"] != curves:
            raise ValueError(f"{file}: curves is {curves}, expected {content['every']}, as in this file")
    return card


def _same(path: Path, what: str, config: Config, content: dict[str, Any]) -> None:
    """Refuse a file of another configuration."""
    wanted = json.loads(json.dumps(config.to_dict()))
    differing = [name for name, value in wanted.items() if content.get("config", {}).get(name) != value]
    if differing:
        raise ValueError(f"{path}: holds {what} of another configuration ({', '.join(differing)} differ)")


def in_turns(plans: Sequence[Config], folder: Path) -> list[list[int]]:
    """Return the numbers of all plans in turns: what a network learns from is trained in an earlier turn."""
    needs = [
        () if (folder / file_of(plan)).exists() else recipe(plan.recipe, plan.settings).needs(plan.seed)
        for plan in plans
    ]
    asked = {file_of(plan): plan for plan in plans}
    for plan, files in zip(plans, needs, strict=True):
        missing = [name for name in files if name not in asked and not (folder / name).exists()]
        if missing:
            raise ValueError(
                f"{file_of(plan)} learns from {', '.join(missing)}, neither in {folder} nor asked for"
            )
        for name in files:
            taught = asked[name].dataset if name in asked else _dataset(folder / name)
            if taught not in (None, plan.dataset):
                raise ValueError(f"{file_of(plan)} is of {plan.dataset}; its teacher {name} is of {taught}")
    turns: list[list[int]] = []
    left = list(range(len(plans)))
    while left:
        waiting = {file_of(plans[number]) for number in left}
        turn = [number for number in left if not waiting.intersection(needs[number])]
        if not turn:
            raise ValueError(f"{', '.join(sorted(waiting))} learn from each other")
        turns.append(turn)
        left = [number for number in left if number not in turn]
    return turns


def _dataset(path: Path) -> str | None:
    name = load_weights(path)[1].get("config", {}).get("dataset")
    return None if name is None else str(name)
