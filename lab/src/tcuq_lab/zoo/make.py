"""From a configuration to weights with a card: data, training, accuracy, file."""

from __future__ import annotations

import errno
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tcuq.base.checks import integer, known
from tcuq.base.errors import located

from ..data import present
from ..data.parts import PARTS, base_of, load_part, split_of
from ..home import versions
from ..parallel import side_by_side
from .config import Config, config_from, load_config, shipped
from .curves import Curves, curves_of, read_curves, write_curves
from .examples import Progress, form_of, inputs_of
from .heads import recipe
from .outputs import accuracy, core, used
from .train import Examples, fresh, steps_per_epoch, train
from .weights import load_weights, round_weights, save_weights

Job = list[tuple[int, Config]]


def find_config(name: str) -> Config:
    """Return a configuration by file name, or by the name of one that comes with the package."""
    own = shipped()
    if name in own:
        return config_from(own[name])
    if not Path(name).exists():
        known("configuration", name, sorted(own))
    return load_config(name)


class Parts(NamedTuple):
    """The parts of a dataset as a backbone takes them."""

    train: Examples
    dev: Examples
    test: Examples
    source: str


def load_parts(dataset: str) -> Parts:
    """Load train, dev and test; sound goes through the front end."""
    found = [load_part(dataset, name) for name in ("train", "dev", "test")]
    examples = [Examples(torch.from_numpy(inputs_of(each)), torch.from_numpy(each.y)) for each in found]
    train_part, dev, test = examples
    return Parts(train_part, dev, test, found[0].source)


def train_all(
    configs: Sequence[Config],
    folder: str | Path,
    members: int = 1,
    device: str = "auto",
    workers: int = 1,
    progress: Progress | None = None,
    curves: int | None = None,
) -> list[dict[str, Any]]:
    """Train networks of consecutive seeds for each configuration, and write each with its card.

    A member whose file is there already is not trained again; one that was cut off is resumed. What is wrong
    with any of them is said before the first is trained. A network that learns from others is trained after
    them.
    """
    where = find_device(device)
    count = integer("members", members, 1, 1000)
    side = integer("workers", workers, 1, 256)
    every = None if curves is None else Curves(curves).every
    for each in configs:
        check_config(each)
    plans = [each.with_(seed=each.seed + number) for each in configs for number in range(count)]
    twice = [name for name, times in Counter(map(file_of, plans)).items() if times > 1]
    if twice:
        what = f"network {Path(twice[0]).stem} is asked for more than once"
        raise ValueError(f"{what}, expected each name and seed once")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    turns = in_turns(plans, target)
    for plan in plans:
        found_card(plan, target, every)
    for dataset in dict.fromkeys(plan.dataset for plan in plans):
        check_data(dataset)
    cards: dict[int, dict[str, Any]] = {}
    if side == 1:  # what a network learns from is of the same dataset, so that each is loaded once
        turns = [[number for turn in turns for number in turn]]
    jobs = [_jobs(plans, turn, side) for turn in turns]
    for done in side_by_side(jobs, side, _job, target, where, every, progress if side == 1 else None):
        cards |= done
        if progress is not None and side > 1:
            progress(len(cards), len(plans), "networks")
    return [cards[number] for number in range(len(plans))]


def find_device(name: str) -> str:
    """Return "cpu" or "cuda", refusing a GPU that is not there."""
    known("device", name, ("auto", "cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but PyTorch finds no GPU here: use cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _jobs(plans: Sequence[Config], turn: Sequence[int], side: int) -> list[Job]:
    """Return the plans of a turn, in jobs of one dataset each, which a worker loads once."""
    jobs = [
        [(number, plans[number]) for number in turn if plans[number].dataset == name][at::side]
        for name in dict.fromkeys(plan.dataset for plan in plans)
        for at in range(side)
    ]
    return [job for job in jobs if job]


def _job(
    plans: Job, folder: Path, device: str, curves: int | None, progress: Progress | None
) -> dict[int, dict[str, Any]]:
    parts = load_parts(plans[0][1].dataset)
    folder.mkdir(parents=True, exist_ok=True)
    return {number: train_one(plan, folder, device, parts, progress, curves) for number, plan in plans}


def train_one(
    config: Config,
    folder: Path,
    device: str,
    parts: Parts,
    progress: Progress | None = None,
    curves: int | None = None,
) -> dict[str, Any]:
    """Train one network, measure it on the dev and test parts, write it, and return its card."""
    there = found_card(config, folder, curves)
    if there is not None:
        return there
    path = folder / file_of(config)
    state = path.with_name(f"{path.stem}.state")
    began = time.monotonic()
    noted = None if curves is None else Curves(curves)
    module, losses = train(config, parts.train, device, state, progress, folder, noted)
    seconds = time.monotonic() - began
    round_weights(module)
    module.cpu()
    shape = tuple(core(module).prepare(parts.train.x[:1]).shape[1:])
    card = {
        "file": path.name,
        "backbone": config.backbone,
        "options": {"classes": int(parts.train.y.max()) + 1, **config.options},
        "recipe": config.recipe,
        "settings": dict(config.settings),
        "config": config.to_dict(),
        "input": shape,
        **used(module, shape)._asdict(),
        "examples": len(parts.train.y),
        "data": parts.source,
        "losses": [round(loss, 4) for loss in losses],
        "device": device,
        "seconds": round(seconds, 1),
        "versions": {**versions(), "torch": torch.__version__},
    }
    for name, held in (("dev", parts.dev), ("test", parts.test)):
        card[f"{name}_accuracy"] = accuracy(module, held.x.numpy(), held.y.numpy(), device)
        card[f"{name}_examples"] = len(held.y)
    if noted is not None:  # before the weights, which say that all is done
        write_curves(curves_of(path), noted, config, steps_per_epoch(config, len(parts.train.y)))
    save_weights(path, module, card)
    state.unlink(missing_ok=True)
    return card


def file_of(config: Config) -> str:
    """Return the name of the file of a network."""
    return f"{config.name}-{config.seed}.npz"


def check_config(config: Config) -> None:
    """Refuse a configuration whose backbone, recipe and dataset do not go together."""
    with located(config.name):
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
            config = load_weights(folder / name)[1].get("config", {}) if name not in asked else {}
            taught = asked[name].dataset if name in asked else config.get("dataset", plan.dataset)
            if taught != plan.dataset:
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
