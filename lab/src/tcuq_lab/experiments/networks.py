"""The stored networks: their cards, how one of several was chosen, a sample of outputs, and their damage."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from tcuq._version import VERSION
from tcuq.metrics import auroc

from ..corruptions import corrupt, suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..harness.laws import BACKBONES
from ..harness.types import Outputs
from ..methods import METHODS, SUFFIXES, WEAKENED, load_networks, method, names_of, suffix_of
from ..methods.banks import load_bank, record_banks, save_bank
from ..methods.method import Labeled, Method
from ..metrics.drops import errors_alone
from ..zoo.examples import form_of, front_end, inputs_of

FIELDS = "network,seed,recipe,parameters,multiply_adds,epochs,dev_accuracy,test_accuracy,weights"
CHOOSING: Mapping[str, str] = {"dropout": "mc_dropout", "early_exit": "early_exit", "hydra": "hydra"}
"""Recipes with several configurations, and the method that each is judged by."""
WORTH = 0.005
"""AUROC that a configuration must add to an earlier one to be chosen before it: less is chance."""
SEVERITIES, SAMPLED = (2, 4), (3,)
"""Severities of seen corruption types that a choice is made on, and those of the sample."""


def table(weights: Path) -> str:
    """Return the table of all networks as CSV, from their cards.

    A card lies inside its file of weights, or alone in the folder `cards` where the weights are not kept.
    """
    rows = [
        _row(card, words)
        for paths, words in ((weights.glob("*.npz"), "kept"), (weights.glob("cards/*.json"), "not kept"))
        for card in sorted(
            map(_card, paths), key=lambda card: (card["config"]["name"], card["config"]["seed"])
        )
    ]
    return "\n".join([FIELDS, *rows]) + "\n"


def _row(card: Mapping[str, Any], kept: str) -> str:
    config = card["config"]
    built = [card[name] for name in ("backbone", "options", "recipe", "settings")]
    parameters, multiply_adds = _used(config["dataset"], json.dumps(built))
    settings = " ".join(f"{name} {value}" for name, value in card["settings"].items())
    recipe = card["recipe"] + (f" ({settings})" if settings else "")
    return (
        f"{config['name']},{config['seed']},{recipe},{parameters},{multiply_adds},"
        f"{config['epochs']},{card['dev_accuracy']:.4f},{card['test_accuracy']:.4f},{kept}"
    )


@cache  # members of an ensemble are alike
def _used(dataset: str, built: str) -> tuple[int, int]:
    """Return what an answer takes, counted on a network that is built as its card says."""
    import torch

    from ..zoo.outputs import core, used
    from ..zoo.weights import build

    network = build(*json.loads(built))
    return used(network, tuple(core(network).prepare(torch.from_numpy(form_of(dataset).blank)).shape[1:]))


def _card(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".json":
            return dict(json.loads(path.read_text()))
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return dict(json.loads(bytes(file["card"])))
    except (ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path}: no card ({type(error).__name__})") from None


def measured(path: str) -> dict[str, float]:
    """Return the accuracy of a stored network on dev and test, from the data."""
    from ..zoo.outputs import accuracy
    from ..zoo.weights import load_weights

    network, card = load_weights(path)
    parts = {name: load_part(card["config"]["dataset"], name) for name in ("dev", "test")}
    return {name: accuracy(network, inputs_of(part), part.y) for name, part in parts.items()}


def choices(weights: str, examples: int = 1200) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give for each backbone what is chosen among the networks of a recipe, all of seed 0.

    They are shown clean dev examples and the same under the corruption types that development may see. The
    method searches its own grid; the AUROC of its errors counts.
    """
    for task, backbone in BACKBONES.items():
        data, sources = _shown(task, examples, SEVERITIES)
        offered = {
            (recipe, suffix): method(by)(load_networks(method(by), backbone, 0, weights, suffix))
            for recipe, by in CHOOSING.items()
            for suffix in SUFFIXES[recipe]
        }
        banks = record_banks(offered, data, sources)
        found: dict[str, Any] = {}
        for (recipe, suffix), each in offered.items():
            about = found.setdefault(recipe, {"chosen": suffix, "dev_examples": len(data.y), "measured": {}})
            quality, accuracy = _quality(each, banks[recipe, suffix], data.y)
            about["measured"][suffix] = {"error_auroc": round(quality, 4), "accuracy": round(accuracy, 4)}
            best = about["measured"][about["chosen"]]["error_auroc"]
            if about["measured"][suffix]["error_auroc"] > best + WORTH:
                about["chosen"] = suffix
        yield backbone, found


def _shown(task: str, examples: int, severities: tuple[int, ...]) -> tuple[Dataset, list[str]]:
    """Return the first dev examples of a task, and what they are shown under."""
    part, suite = load_part(task, "dev"), suite_of(task)
    shifted = [f"{kind}/{level}" for kind in suite.seen for level in suite.severities(kind, severities)]
    return replace(part, x=part.x[:examples], y=part.y[:examples]), ["clean", *shifted]


def _quality(each: Method, bank: Mapping[str, Outputs], y: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the AUROC of a method's errors with its best setting, and its accuracy on clean examples."""
    rows = list(bank.values())
    extra = {name: np.concatenate([row.extra[name] for row in rows]) for name in rows[0].extra}
    seen = Outputs(np.concatenate([row.probs for row in rows]), None, extra)
    labels = np.tile(y, len(rows))
    each.measure = errors_alone  # examples in the order of a dataset are no stream: drops mean nothing here
    each.fit(Labeled(seen, labels, np.zeros(len(labels), np.uint8)))
    found = each.answer(seen)
    wrong = found.predictions() != labels
    return auroc(found.score, wrong), float(1 - wrong[: len(y)].mean())


def sample(weights: str, folder: Path, write: bool, examples: int = 300) -> Iterator[tuple[Path, str]]:
    """Give each file of the sample with its difference, and text files with their new text.

    The networks of all methods are shown a few dev examples, for tests without the data; nothing of the
    data itself is kept but labels. Methods that share networks and recordings share a file.
    """
    kinds = {each.bank: each for each in reversed([*METHODS.values()]) if each not in WEAKENED}
    for task, backbone in BACKBONES.items():
        data, sources = _shown(task, examples, SAMPLED)
        networks = {
            bank: names_of(kind, backbone, 0, suffix_of(kind, backbone, weights))
            for bank, kind in sorted(kinds.items())
        }
        methods = {bank: kinds[bank](load_networks(kinds[bank], backbone, 0, weights)) for bank in networks}
        for each in methods.values():
            each.ready(inputs_of(data), data.y)
        for bank, found in record_banks(methods, data, sources).items():
            # Features serve the monitor alone, which takes the plain networks.
            plain = bank == "plain"
            kept = found if plain else {at: replace(row, features=None) for at, row in found.items()}
            path = folder / backbone / f"{bank}.npz"
            yield path, _gap(path, kept)
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                save_bank(path, kept)
        about = {
            "dataset": task,
            "part": "dev",
            "examples": len(data.y),
            "sources": sources,
            "networks": networks,
            "versions": {"tcuq": VERSION, "numpy": np.__version__},
            "labels": data.y.tolist(),
        }
        yield folder / backbone / "about.json", json.dumps(about) + "\n"


def _gap(path: Path, bank: Mapping[str, Outputs]) -> str:
    """Say how far recordings are from those in a file."""
    if not path.exists():
        return "new file"
    before = load_bank(path)
    if before.keys() != bank.keys():
        return f"other sources: {', '.join(sorted(before.keys() ^ bank.keys()))}"
    gaps = {source: float(np.abs(before[source].probs - row.probs).max()) for source, row in bank.items()}
    worst = max(gaps, key=lambda source: gaps[source])
    return f"posteriors differ by up to {gaps[worst]:.2g} ({worst})"


def damage(
    weights: str,
    tell: Callable[[int, int, str], None],
    examples: int = 2000,
    seed: int = 0,
    workers: int = 2,
) -> dict[str, Any]:
    """Return accuracy and mean confidence of a network under every kind and severity, on the test part.

    A severity is an exception where the network is right more often than at the one before, by more than two
    standard errors of the paired difference.
    """
    from ..zoo.outputs import outputs
    from ..zoo.weights import load_weights

    network, card = load_weights(weights)
    name = card["config"]["dataset"]
    part, suite = load_part(name, "test"), suite_of(name)
    # Spread over the whole part: some datasets are sorted by class.
    rows = np.unique(np.linspace(0, len(part.y) - 1, min(examples, len(part.y))).astype(np.int64))
    x, y = part.x[rows], part.y[rows]

    def right(given: Any) -> tuple[Any, float]:
        found = outputs(network, front_end(given)).probs
        return found.argmax(1) == y, float(found.max(1).mean())

    clean, sure = right(x)
    kinds: dict[str, Any] = {}
    for number, (kind, about) in enumerate(suite.kinds.items()):
        tell(number, len(suite.kinds), kind)
        each: dict[str, list[Any]] = {"accuracy": [], "confidence": [], "exceptions": []}
        before = clean
        for severity in range(1, len(about.settings) + 1):
            made = corrupt(x, suite.name, kind, severity, seed, index=rows, workers=workers)
            found, confidence = right(made)
            gain = found.astype(float) - before
            if gain.mean() > 2 * gain.std() / math.sqrt(len(gain)):
                each["exceptions"].append(severity)
            each["accuracy"].append(round(float(found.mean()), 4))
            each["confidence"].append(round(confidence, 4))
            before = found
        kinds[kind] = each
    return {
        "dataset": name,
        "suite": suite.name,
        "weights": card["file"],
        "examples": len(rows),
        "seed": seed,
        "clean": {"accuracy": round(float(clean.mean()), 4), "confidence": round(sure, 4)},
        "kinds": kinds,
    }


def damage_table(found: Mapping[str, Any]) -> str:
    """Return a result as a Markdown table."""
    most = max(len(each["accuracy"]) for each in found["kinds"].values())
    heads = [f"severity {n}" if most > 1 else "accuracy, %" for n in range(1, most + 1)]
    lines = [
        f"{found['weights']}, {found['examples']:,} examples of the test part of {found['dataset']}, seed "
        f"{found['seed']}: accuracy {100 * found['clean']['accuracy']:.1f} % without corruption.",
        "",
        f"| corruption type | {' | '.join(heads)} |",
        "| --- |" + " ---: |" * most,
    ]
    for kind, each in found["kinds"].items():
        shown = [
            f"{100 * value:.1f}{' *' if number in each['exceptions'] else ''}"
            for number, value in enumerate(each["accuracy"], 1)
        ]
        lines.append(f"| {kind} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def damage_page(folder: Path) -> str:
    """Return the page of all results of a folder."""
    parts = [(folder / "head.txt").read_text().rstrip()]
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text())
        parts += [f"## {found['dataset']} ({found['suite']})", damage_table(found)]
        exceptions = {kind: each["exceptions"] for kind, each in found["kinds"].items() if each["exceptions"]}
        named = ", ".join(f"{kind} {'/'.join(map(str, which))}" for kind, which in exceptions.items())
        parts.append(f"Exceptions (*): {named or 'none'}.")
    return "\n\n".join(parts) + "\n"
