"""Whether a firmware says on a board what Python says: every word of every step."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tcuq._core import Step
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.steps import ACTIONS

from ..boards import Board
from ..emulate.emulator import emulate
from ..firmware.build import Levels, build
from ..firmware.decision import Watch
from ..firmware.firmware import Firmware
from ..graph import oracle
from ..graph.gauges import gauges_of

Int8 = npt.NDArray[np.int8]
NO_REASON = 255


def expected(firmware: Firmware, inputs: Int8) -> list[str]:
    """Return the lines of a firmware with one network and a monitor, from the oracle and Python's monitor.

    Returns
    -------
    list of str
        A line a step: posterior, digest of the features, all that the monitor says; without the depth of the
        stack, which Python does not have.
    """
    if len(firmware.graphs) != 1 or not isinstance(firmware.rule, Watch):
        raise ValueError(f"{firmware.name} is not a network with a monitor, expected one of each")
    (graph,) = firmware.graphs
    outputs = oracle.run(graph, inputs.reshape(len(inputs), *graph.tensors[graph.input].shape))
    monitor, lines = Monitor(firmware.rule.params), []
    look = gauges_of(graph, firmware.rule.params)
    seen = [None] * len(inputs) if look is None else look.of(inputs)
    for probs, features, gauges in zip(outputs["probs"], outputs["features"], seen, strict=True):
        step = monitor.step(probs, features if firmware.rule.params.features else None, gauges=gauges)
        lines.append(" ".join([probs.tobytes().hex(), digest(features), *words(step)]))
    return lines


def digest(features: Int8) -> str:
    """Return the FNV-1a hash of features, as a firmware prints it.

    Examples
    --------
    >>> digest(np.zeros(0, np.int8))
    '811c9dc5'
    """
    found = 2166136261
    for byte in features.astype(np.int8).tobytes():
        found = (found ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{found:08x}"


def words(step: Step) -> list[str]:
    """Return what the monitor says of a step, in the order and units of a firmware."""
    numbers = [
        step.threshold * 65536,
        step.degradation * 65536,
        step.prediction,
        step.answer,
        step.risk * 65536,
    ]
    numbers += [step.uncertainty * 65536, step.persistence * 65536, step.novelty * 65536]
    numbers += [
        (step.expected_accuracy or 0) * 65536,
        step.flagged,
        step.abstain,
        step.alarm,
        step.warming_up,
    ]
    numbers += [NO_REASON if step.reason is None else SIGNALS.index(step.reason), step.low_mass]
    numbers += [ACTIONS.index(step.action), step.changed, step.moved]
    return [str(round(number)) for number in numbers]


def first_difference(
    firmware: Firmware, board: Board, inputs: Int8, levels: Levels | None = None
) -> int | None:
    """Run a firmware under emulation and return the first step that Python sees differently, or None."""
    wanted = expected(firmware, inputs)
    with tempfile.TemporaryDirectory() as folder:
        image = build(firmware, board, Path(folder) / "build", levels or Levels())
        lines = emulate(image, inputs.tobytes()).lines
    found = [" ".join(line.split()[2:]) for line in lines]
    if found == wanted:
        return None
    pairs = zip(found, wanted, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(found), len(wanted)))
