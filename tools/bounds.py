# SPDX-License-Identifier: MIT
"""The bounds of stack and instructions of a step, beside what an emulator counts on hostile streams.

    python tools/bounds.py                all stock monitors, Cortex-M4, M7 and M0, -Os and -O2
    python tools/bounds.py --divisions    divisions of a core without one, beside their bound

Bounds are those of the very image that is emulated. Ends with 1 where a count exceeds its bound, 2 where a
tool is missing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent))

from step_loops import step_bound

from tcuq.monitor.params import Params
from tcuq_device.boards import Board, board
from tcuq_device.cost.stock import monitors
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import ALONE, BOARDS, START, fresh, link
from tcuq_device.firmware.decision import CORE, FIRMWARE, Watch
from tcuq_device.firmware.image import Image
from tcuq_device.firmware.stack import bound_of, stack_bound, usage_of
from tcuq_device.tools import missing

Int8 = npt.NDArray[np.int8]

CORES = {"Cortex-M4": "stm32l432kc", "Cortex-M7": "stm32f767zi", "Cortex-M0": "microbit"}
LEVELS = ("-Os", "-O2")

STEP = """
#include "harness.h"
#include "monitor.h"

static tcuq_t state;
static uint32_t ring[MONITOR_RING_BYTES / 4u];
static int8_t row[CLASSES + FEATURES + 1];

int main(void)
{
    tcuq_step_t step;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    harness_open();
    if (tcuq_init(&state, &monitor, ring, sizeof ring) != TCUQ_OK) {
        return HARNESS_REFUSED;
    }
    network_begin();
    network_end();
    rule_begin();
    rule_end();
    while (harness_read(row, CLASSES + FEATURES)) {
        harness_paint();
        rule_begin();
        tcuq_step(&state, row, row + CLASSES, &step, signals);
        rule_end();
        harness_number((int32_t)harness_depth());
        harness_text("\\n");
    }
    return 0;
}
"""

DIVISIONS = """
#include "harness.h"

static uint32_t pair[2];
volatile uint32_t result;

int main(void)
{
    harness_open();
    network_begin();
    network_end();
    rule_begin();
    rule_end();
    while (harness_read(pair, sizeof pair)) {
        rule_begin();
        result = pair[0] / pair[1];
        rule_end();
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Found:
    """What one image may take and took: instructions of a step, bytes of stack of a step and of all."""

    bound: int
    most: int
    step_stack: int
    stack_bound: int
    stack: int

    @property
    def kept(self) -> bool:
        """Whether no count exceeds its bound."""
        return self.most <= self.bound and self.stack <= self.stack_bound


def hostile(classes: int, features: int, steps: int = 600, seed: int = 1) -> Int8:
    """Return rows of posteriors and features: extremes, ties, alternations, noise, and sums of any size.

    Examples
    --------
    >>> hostile(3, 2, steps=5).shape
    (5, 5)
    """
    draw = np.random.default_rng(seed)
    found = np.empty((steps, classes + features), np.int8)
    for step in range(steps):
        at = step % classes if step % 100 < 50 else int(draw.integers(classes))
        one = np.where(np.arange(classes) == at, 127, -128)
        share = np.floor(draw.dirichlet(np.full(classes, draw.choice([0.05, 0.5, 5.0]))) * 256).clip(0, 255)
        probs = [
            one,
            np.full(classes, 256 // classes - 128),
            np.full(classes, draw.choice([-128, -127, 127])),
            draw.integers(-128, 128, classes),
            share - 128,
            np.sort(draw.integers(-128, 128, classes)),
        ]
        row = [
            np.full(features, 127 if step % 2 else -128),
            np.full(features, draw.choice([-128, -127, 0, 127])),
            draw.integers(-128, 128, features),
            draw.choice([-128, 127], features),
        ]
        # Long runs of one kind, then a mixture: means settle, then everything changes.
        kinds = (step // 50 % len(probs), step // 25 % len(row))
        mixed = (draw.integers(len(probs)), draw.integers(len(row)))
        kind, other = kinds if step < steps // 2 else mixed
        found[step] = np.concatenate([probs[kind], row[other]])
    return found


def image_of(text: str, on: Board, level: str, folder: Path, rule: Watch | None = None) -> Image:
    """Build an image of a program with the core, and a monitor where there is one."""
    work = fresh(folder / "build")
    texts = {**(rule.texts() if rule else {}), "program.c": text}
    for name, content in texts.items():
        (work / name).write_text(content, encoding="utf-8")
    params = rule.params if rule else Params(classes=2)
    groups = [
        ([work / name for name in texts if name.endswith(".c")], [level]),
        (sorted(CORE.glob("*.c")), [level, "-g"]),
        ([BOARDS / "startup.c"], ["-Os", *START]),
        ([FIRMWARE / "harness.c"], ALONE),
    ]
    sizes = [f"-DCLASSES={params.classes}u", f"-DFEATURES={params.features}u"]
    return link("bounds", on, work, groups, [*(rule.options() if rule else []), *sizes])


def measured(params: Params, on: Board, level: str, steps: int = 600) -> Found:
    """Return the bounds of a monitor on a board, and what hostile steps took.

    The count holds the call and its arguments as well, which the bound does not.
    """
    sizes = {"classes": params.classes, "features": params.features, "lags": len(params.lags)}
    sizes["sight"] = len(params.sight.mean) if params.sight else 0
    with tempfile.TemporaryDirectory() as name:
        image = image_of(STEP, on, level, Path(name), Watch(params))
        ran = emulate(image, hostile(params.classes, params.features, steps).tobytes(), counted=True)
        usages = usage_of(sorted(image.path.parent.glob("*.su")))
        return Found(
            step_bound(image.path, sizes),
            max(ran.counts["rule"].instructions),
            stack_bound(image.path, usages, "tcuq_step").bytes,
            bound_of(image).bytes,
            max(int(line) for line in ran.lines),
        )


def divisions() -> tuple[int, int]:
    """Return the bound of a division on a core without one, and the most that hard operands took."""
    ones = [(1 << bits) - 1 for bits in range(1, 33)]
    hard = sorted({max(each + more, 1) & 0xFFFFFFFF for each in ones for more in (-1, 0, 1, 2)} - {0})
    drawn = np.random.default_rng(1).integers(1, 2**32, (2000, 2)) >> np.arange(2000)[:, None] % 32
    pairs = np.array([(a, b) for a in hard for b in hard] + np.maximum(drawn, 1).tolist(), np.uint32)
    with tempfile.TemporaryDirectory() as name:
        image = image_of(DIVISIONS, board(CORES["Cortex-M0"]), "-O2", Path(name))
        ran = emulate(image, pairs.astype("<u4").tobytes(), counted=True)
        return step_bound(image.path, {}, "__udivsi3"), max(ran.counts["rule"].instructions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--divisions", action="store_true", help="count divisions on a Cortex-M0 instead")
    asked = parser.parse_args(arguments)
    if (said := missing()) is not None:
        print(f"bounds: {said}", file=sys.stderr)
        return 2
    if asked.divisions:
        bound, most = divisions()
        print(f"__udivsi3: at most {bound} instructions, most counted {most}")
        return 0 if most <= bound else 1
    print(f"{'':<28}{'':<11}{'':<5}{'instructions of a step':>24}   {'stack':>5}")
    print(
        f"{'monitor':<28}{'core':<11}{'':<5}{'bound':>12}{'most counted':>15}{'step':>7}{'all':>6}{'used':>6}"
    )
    kept = True
    for core, name in CORES.items():
        for level in LEVELS:
            for monitor, params in monitors().items():
                found = measured(params, board(name), level)
                kept &= found.kept
                print(
                    f"{monitor:<28}{core:<11}{level:<5}{found.bound:>12,}{found.most:>15,}"
                    f"{found.step_stack:>7}{found.stack_bound:>6}{found.stack:>6}"
                    + ("" if found.kept else "  above its bound"),
                    flush=True,
                )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
