"""Count the instructions of a step with labels compiled in (TCUQ_FEEDBACK) and without, on a Cortex-M4.

    python bench/feedback_cost.py

Monitor, stream and emulator are those of `tcuq-lab boards bench`. No label comes: `tcuq_step()` is counted.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tcuq import Feedback
from tcuq_device.boards import board
from tcuq_device.cost.measure import made_stream, measure
from tcuq_device.cost.stock import standard
from tcuq_device.firmware.build import Levels
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_lab.boards.costs import LEVELS, STEPS


def main() -> int:
    """Print a line for each level of optimization."""
    plain = standard("standard")
    shape = (plain.classes, plain.features)
    rows = made_stream(*shape, STEPS)
    builds = (plain, plain.replace(feedback=Feedback(max_error=0.05, reference=0.2)))
    for level in LEVELS:
        counts = []
        for params in builds:
            with tempfile.TemporaryDirectory() as kept:
                firmware = Firmware("monitor", rule=Watch(params), shape=shape)
                found, _ = measure(firmware, board("stm32l432kc"), rows, Levels(rule=level), Path(kept))
            counts.append(found["rule"]["instructions"]["mean"])
        print(f"{level}: {counts[0]:,.0f} without, {counts[1]:,.0f} with labels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
