"""From a configuration to weights with a card: data, training, accuracy, file."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from .._version import VERSION
from ..checks import integer, known
from ..data.parts import load_part
from .config import Config, load_config
from .count import multiply_adds, parameters
from .examples import inputs_of
from .outputs import accuracy, core
from .registry import BACKBONES
from .train import Examples, train
from .weights import load_weights, round_weights, save_weights

CONFIGS = Path(__file__).parent / "configs"
Progress = Callable[[int, int, str], None]


def find_config(name: str) -> Config:
    """Return a configuration by file name, or by the name of one that comes with the package.

    Examples
    --------
    >>> find_config("resnet8").dataset
    'cifar10'
    """
    own = CONFIGS / f"{name}.json"
    if Path(name).suffix != ".json" and own.exists():
        return load_config(own)
    if not Path(name).exists():
        known("configuration", name, sorted(path.stem for path in CONFIGS.glob("*.json")))
    return load_config(name)


class Parts(NamedTuple):
    """The parts of a data set as a backbone takes them."""

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
) -> list[dict[str, Any]]:
    """Train networks of consecutive seeds for each configuration, and write each with its card.

    A member whose file is there already is not trained again; one that was cut off is resumed.

    Parameters
    ----------
    configs : sequence of Config
        Their seeds are those of the first members.
    folder : path
    members, workers : int
        How many of each, and how many side by side, each in a process of its own.
    device : str
        "cpu", "cuda" or "auto".
    progress : callable, optional
        Called with what is done, all there is, and a text.

    Returns
    -------
    list of dict
        The cards, configuration after configuration, in the order of the seeds.
    """
    for each in configs:
        known("backbone", each.backbone, BACKBONES)
    where = _device(device)
    count = integer("members", members, 1, 1000)
    plans = [each.with_(seed=each.seed + number) for each in configs for number in range(count)]
    names = [f"{plan.name}-{plan.seed}" for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"network {name} is asked for more than once; each name and seed once is accepted"
            )
    side = integer("workers", workers, 1, 256)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    # A worker loads a data set once, so that every job is the plans of one worker.
    jobs = [
        [(number, plan) for number, plan in enumerate(plans) if plan.dataset == name][at::side]
        for name in dict.fromkeys(plan.dataset for plan in plans)
        for at in range(side)
    ]
    jobs = [job for job in jobs if job]
    cards: dict[int, dict[str, Any]] = {}
    if side == 1:
        for job in jobs:
            cards |= _job(job, target, where, progress)
        return [cards[number] for number in range(len(plans))]
    with ProcessPoolExecutor(side, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_job, job, target, where) for job in jobs]):
            cards |= done.result()
            if progress is not None:
                progress(len(cards), len(plans), "networks")
    return [cards[number] for number in range(len(plans))]


def _device(name: str) -> str:
    known("device", name, ("auto", "cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda'; PyTorch finds no GPU here, cpu is accepted")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _job(
    plans: list[tuple[int, Config]], folder: Path, device: str, progress: Progress | None = None
) -> dict[int, dict[str, Any]]:
    parts = load_parts(plans[0][1].dataset)
    return {number: train_one(plan, folder, device, parts, progress) for number, plan in plans}


def train_one(
    config: Config, folder: Path, device: str, parts: Parts, progress: Progress | None = None
) -> dict[str, Any]:
    """Train one network, measure it on the dev and test parts, write it, and return its card."""
    path = folder / f"{config.name}-{config.seed}.npz"
    if path.exists():
        card = load_weights(path)[1]
        wanted = json.loads(json.dumps(config.to_dict()))
        differing = [name for name, value in wanted.items() if card["config"].get(name) != value]
        if differing:
            raise ValueError(
                f"{path}: holds a network of another configuration ({', '.join(differing)} differ)"
            )
        return card
    state = folder / f"{config.name}-{config.seed}.state"
    began = time.monotonic()
    module, losses = train(config, parts.train, device, state, progress, folder)
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
        "parameters": parameters(module),
        "multiply_adds": multiply_adds(module, shape),
        "examples": len(parts.train.y),
        "data": parts.source,
        "losses": [round(loss, 4) for loss in losses],
        "device": device,
        "seconds": round(seconds, 1),
        "versions": {
            "tcuq": VERSION,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    for name, held in (("dev", parts.dev), ("test", parts.test)):
        card[f"{name}_accuracy"] = accuracy(module, held.x.numpy(), held.y.numpy(), device)
        card[f"{name}_examples"] = len(held.y)
    save_weights(path, module, card)
    state.unlink(missing_ok=True)
    return card
