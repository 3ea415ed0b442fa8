"""From a configuration to weights with a card: data, training, accuracy, file."""

from __future__ import annotations

import platform
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .._version import VERSION
from ..checks import integer
from ..data.parts import load_part
from .config import Config, load_config
from .count import multiply_adds, parameters
from .examples import inputs_of
from .outputs import accuracy, core
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
        shipped = ", ".join(sorted(path.stem for path in CONFIGS.glob("*.json")))
        raise ValueError(f"configuration {name!r} is neither a file nor one of {shipped}")
    return load_config(name)


def train_members(
    config: Config,
    folder: str | Path,
    members: int = 1,
    device: str = "auto",
    workers: int = 1,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Train networks of consecutive seeds and write each with its card.

    A member whose file is there already is not trained again; one that was cut off is resumed.

    Parameters
    ----------
    config : Config
        Its seed is that of the first member.
    folder : path
    members, workers : int
        How many, and how many of them side by side, each in a process of its own.
    device : str
    progress : callable, optional
        Called with what is done, all there is, and a text.

    Returns
    -------
    list of dict
        The cards, in the order of the seeds.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    where = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    plans = [
        config.with_(seed=config.seed + number) for number in range(integer("members", members, 1, 1000))
    ]
    if integer("workers", workers, 1, 256) == 1 or members == 1:
        return [train_one(plan, target, where, progress) for plan in plans]
    cards: dict[int, dict[str, Any]] = {}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(train_one, plan, target, where): plan.seed for plan in plans}
        for job in as_completed(jobs):
            cards[jobs[job]] = job.result()
            if progress is not None:
                progress(len(cards), members, "members")
    return [cards[plan.seed] for plan in plans]


def train_one(config: Config, folder: Path, device: str, progress: Progress | None = None) -> dict[str, Any]:
    """Train one network, measure it on the dev and test parts, write it, and return its card."""
    path = folder / f"{config.name}-{config.seed}.npz"
    if path.exists():
        return load_weights(path)[1]
    part = load_part(config.dataset, "train")
    known = Examples(torch.from_numpy(inputs_of(part)), torch.from_numpy(part.y))
    state = folder / f"{config.name}-{config.seed}.state"
    module, losses = train(config, known, device, state, progress)
    round_weights(module)
    card = {
        "file": path.name,
        "backbone": config.backbone,
        "options": {"classes": int(part.y.max()) + 1, **config.options},
        "recipe": config.recipe,
        "settings": dict(config.settings),
        "config": config.to_dict(),
        "parameters": parameters(module),
        "multiply_adds": multiply_adds(
            module.cpu(), tuple(core(module).prepare(known.x[:1].cpu()).shape[1:])
        ),
        "examples": len(known.y),
        "data": part.source,
        "losses": [round(loss, 4) for loss in losses],
        "device": device,
        "versions": {
            "tcuq": VERSION,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    for name in ("dev", "test"):
        held = load_part(config.dataset, name)
        card[f"{name}_accuracy"] = accuracy(module, inputs_of(held), held.y, device)
        card[f"{name}_examples"] = len(held.y)
    save_weights(path, module, card)
    state.unlink(missing_ok=True)
    return card
