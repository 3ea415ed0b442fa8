"""What the step number alone reaches on streams of the lab.

    python lab/tools/clock.py
    python lab/tools/clock.py --weights lab/weights/resnet8-0.npz --dwell 16

The average precision of the clock for drop events must be near their prevalence on alternating streams. On a
literal stream, clean first and then worse and worse, it is high: such a stream proves nothing of a method.
Without weights the classifier is simulated; with them it is a real network on real data.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tcuq_lab.experiments.clock import clock_report, simulated
from tcuq_lab.streams import Shift

NEAR = 0.03
KINDS = ("gaussian_noise", "motion_blur", "fog", "pixelate")
SEVERITIES = (1, 2, 3, 4, 5)


def real(weights: str) -> dict[str, Any]:
    """Return the part of the arguments that a real network gives: who is right, labels, shifts."""
    from tcuq_lab.data.parts import load_part
    from tcuq_lab.zoo.examples import record
    from tcuq_lab.zoo.weights import load_weights

    network, card = load_weights(weights)
    part = load_part(card["config"]["dataset"], "test")
    shifts = [Shift(kind, (3, 5)) for kind in KINDS]
    sources = ["clean", *(f"{kind}/{s}" for kind in KINDS for s in (3, 5))]
    sources += [f"{KINDS[2]}/{s}" for s in SEVERITIES if s not in (3, 5)]
    bank = record(network, part, sources)

    def right(stream: Any) -> Any:
        return ~stream.log(bank).errors()

    return {"right": right, "labels": part.y, "shifts": shifts, "rising": Shift(KINDS[2], SEVERITIES)}


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; the status is 1 when the clock is not near the prevalence."""
    parser = argparse.ArgumentParser(description="What the step number alone reaches.")
    parser.add_argument("--weights", help="a network of CIFAR-10; needs its data and PyTorch")
    for name, kind, value in (
        ("layouts", int, 20),
        ("steps", int, 10_000),
        ("minimum", int, 100),
        ("mean", float, 250.0),
        ("dwell", float, 1.0),
        ("seed", int, 0),
        ("clean", float, 0.85),
        ("shifted", float, 0.5),
    ):
        parser.add_argument(f"--{name}", type=kind, default=value)
    chosen = vars(parser.parse_args(arguments))
    weights, high, low = chosen.pop("weights"), chosen.pop("clean"), chosen.pop("shifted")
    try:
        extra = real(weights) if weights else {"right": simulated(high, low)}
        found = clock_report(**chosen, **extra)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{found.layouts} layouts of {found.steps:,} steps, each also backwards")
    print(f"  prevalence of drop events        {found.prevalence:.3f}")
    print(f"  AUPRC of the clock, mean         {found.forwards:.3f}   (standard error {found.spread:.3f})")
    print(f"  AUPRC of its reverse, mean       {found.backwards:.3f}")
    print(f"literal stream, prevalence         {found.literal_prevalence:.3f}")
    print(f"  AUPRC of the clock               {found.literal:.3f}")
    return int(found.bias > NEAR)


if __name__ == "__main__":
    sys.exit(main())
