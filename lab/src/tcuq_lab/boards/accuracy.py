"""What int8 costs: accuracy on whole test parts, and how well a monitor still ranks errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.log.log import Log
from tcuq.metrics import auroc
from tcuq.monitor.monitor import Monitor, run_over
from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..home import versions
from ..methods.projection import projection
from ..metrics import accuracy
from ..zoo.examples import examples, inputs_of
from ..zoo.outputs import outputs
from ..zoo.weights import load_weights
from .graphs import CLEAN, Say, ShownSizes, quantize_file, some_of, stored_or, stored_path, stream
from .lineup import development, fitted
from .quantize import input_of
from .steps import QuantizeSettings

FORMAT = "tcuq-lab boards accuracy 1"
NETWORKS = ("cnn4-0", "dscnn-0", "resnet8-0")
POINTS, GAP = 1.0, 0.01
"""What int8 may cost: points of accuracy, and AUROC of errors."""

Bank = dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]


class Banks(NamedTuple):
    """What the float network and the int8 graph say to every source."""

    real: Bank
    small: Bank


def int8_cost(
    path: str | Path,
    sizes: ShownSizes | None = None,
    settings: QuantizeSettings | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Return what int8 costs a stored network."""
    used = sizes or ShownSizes()
    module, card = load_weights(path)
    task = card["config"]["dataset"]
    dev, test = (load_part(task, part) for part in ("dev", "test"))
    clean = outputs(module, inputs_of(some_of(dev, CLEAN)))
    through = projection("pca", clean.features)
    kept = settings or QuantizeSettings()
    narrow = None if through is None else (through.matrix, through.offset)

    def made() -> Graph:
        return quantize_file(path, projection=narrow, settings=kept)

    usual = kept == QuantizeSettings(headroom=kept.headroom)
    graph = stored_or(stored_path(path, kept.headroom), made, say) if usual else made()

    def real(x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        said = outputs(module, x)
        return said.probs, said.features if through is None else through(said.features)

    def small(x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        said = oracle.run(graph, input_of(graph, x))
        return said["probs"], said["features"]

    x = inputs_of(test)
    float_accuracy = 100 * accuracy(real(x)[0].argmax(axis=1), test.y)
    int8_accuracy = 100 * accuracy(small(x)[0].argmax(axis=1), test.y)
    return {
        "network": Path(path).stem,
        "task": task,
        "settings": asdict(kept),
        "calibration_examples": graph.about["calibration"],
        "features": graph.tensors[graph.outputs["features"]].size,
        "test_examples": len(test.y),
        "float_accuracy": round(float_accuracy, 3),
        "int8_accuracy": round(int8_accuracy, 3),
        "points_lost": round(float_accuracy - int8_accuracy, 3),
        "monitor": _monitors(task, dev, test, real, small, graph, used),
    }


def _monitors(
    task: str, dev: Dataset, test: Dataset, real: Any, small: Any, graph: Graph, sizes: ShownSizes
) -> dict[str, Any]:
    suite = suite_of(task)
    unseen = suite.unseen[:: max(1, len(suite.unseen) // sizes.kinds)][: sizes.kinds]
    test = some_of(test, sizes.examples)
    log = development(dev, real, sizes)
    shown = [stream(test, "test", unseen, sizes, 2 + number, sizes.steps) for number in range(sizes.streams)]
    # Another seed for the test, or its examples would meet the very noise of development.
    banks = Banks({}, {})
    for source, x in examples(test, shown[0].sources, seed=2 * sizes.seed + 1):
        banks.real[source], banks.small[source] = real(x), small(x)
    features = graph.tensors[graph.outputs["features"]]
    found = {}
    for name, wide in (("posteriors", False), ("features", True)):
        scale, zero = (features.scale, features.zero) if wide else (None, None)
        params = fitted("standard", log, scale, zero)
        pairs = [[_ranked(params, stream.log(bank)) for bank in banks] for stream in shown]
        floats, ints = (float(np.mean([pair[side] for pair in pairs])) for side in (0, 1))
        found[name] = {
            "float_auroc": round(floats, 5),
            "int8_auroc": round(ints, 5),
            "auroc_lost": round(floats - ints, 5),
            "streams": [[round(each, 5) for each in pair] for pair in pairs],
        }
    errors = [float(np.mean([stream.log(bank).errors().mean() for stream in shown])) for bank in banks]
    return {
        "seen_kinds": list(suite.seen),
        "unseen_kinds": list(unseen),
        "float_errors": round(errors[0], 4),
        "int8_errors": round(errors[1], 4),
        **found,
    }


def _ranked(params: Any, log: Log) -> float:
    return auroc(run_over(Monitor(params), log)["risk"], log.errors())


def met(figures: Mapping[str, Any]) -> bool:
    """Return whether a network loses no more than the bounds allow; to be better is no loss.

    Examples
    --------
    >>> kept, better = {"auroc_lost": 0.002}, {"auroc_lost": -0.1}
    >>> met({"points_lost": 0.4, "monitor": {"posteriors": kept, "features": better}})
    True
    """
    return figures["points_lost"] <= POINTS and all(each <= GAP for each in _lost(figures))


def within(figures: Mapping[str, Any]) -> bool:
    """Return whether a network differs by no more than the bounds, for better or worse."""
    return abs(figures["points_lost"]) <= POINTS and all(abs(each) <= GAP for each in _lost(figures))


def _lost(figures: Mapping[str, Any]) -> list[float]:
    return [figures["monitor"][name]["auroc_lost"] for name in ("posteriors", "features")]


def report(
    weights: str | Path,
    names: Sequence[str] = NETWORKS,
    sizes: ShownSizes | None = None,
    settings: Sequence[QuantizeSettings] = (QuantizeSettings(),),
    say: Say = print,
) -> dict[str, Any]:
    """Return the figures of several networks, with what is needed to get them again."""
    used = sizes or ShownSizes()
    rows = [int8_cost(Path(weights) / f"{name}.npz", used, each, say) for name in names for each in settings]
    return {
        "format": FORMAT,
        "command": "tcuq-lab boards accuracy",
        "bounds": {"points_lost": POINTS, "auroc_lost": GAP},
        "sizes": asdict(used),
        "versions": versions(torch=True),
        "networks": [{**row, "met": met(row), "within": within(row)} for row in rows],
    }


def line(row: Mapping[str, Any]) -> str:
    """Return the figures of a network in words."""
    pairs = {"posteriors": "AUROC of errors", "features": "with features"}
    monitors = [
        f"{text} {row['monitor'][name]['float_auroc']:.4f} and {row['monitor'][name]['int8_auroc']:.4f}"
        for name, text in pairs.items()
    ]
    rates = f"{row['float_accuracy']:.2f} float and {row['int8_accuracy']:.2f} int8"
    headroom = f"headroom {row['settings']['headroom']:g}"
    return f"{row['network']}, {headroom}: accuracy {rates}; {', '.join(monitors)}"
