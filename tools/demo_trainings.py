# SPDX-License-Identifier: MIT
"""Run the day of the demo with eight trainings, and store what came out in src/tcuq/demo/trainings.json.

    python tools/demo_trainings.py            compare with the stored file
    python tools/demo_trainings.py --write    store

`tcuq demo` shows the upper middle one of the eight, by the share that is wrong of what tcuq acts on.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tcuq.demo.main import Run, figures, watched
from tcuq.fitting.simple_rules import left_wrong
from tcuq.log.log import Log
from tcuq_lab.harness.types import Outputs
from tcuq_lab.methods.confidence import Stacked
from tcuq_lab.methods.method import Labeled

OUT = Path(__file__).parents[1] / "src" / "tcuq" / "demo" / "trainings.json"
SEEDS = 8


def rounded(value: Any) -> Any:
    """Return figures of four digits after the point."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def stacked(run: Run, share: float) -> float:
    """Return what the lab's stacked rival has wrong of such a share; it learns from the monitor's log."""

    def seen(log: Log) -> Outputs:
        return Outputs(log.probs, log.features)

    dev, day = run.logs
    assert dev.labels is not None and dev.kinds is not None and day.labels is not None
    rival = Stacked()
    rival.fit(Labeled(seen(dev), dev.labels, dev.kinds))
    found = rival.score(seen(day), rival.setting)
    return left_wrong(found.predictions() != day.labels, found.score, share)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    given, days = parser.parse_args(), []
    for seed in range(SEEDS):
        run = watched(seed)
        found = figures(run)
        own = found["wrong"].pop("tcuq")
        found["wrong"] |= {"stacked rival": stacked(run, found["act"]), "tcuq": own}
        days.append({"seed": seed, **rounded(found)})
        print(seed, json.dumps(days[-1]["wrong"]), days[-1]["alarms"], flush=True)
    middle = sorted(days, key=lambda day: day["wrong"]["tcuq"])[SEEDS // 2]["seed"]
    rows = ",\n".join(map(json.dumps, days))
    text = f'{{"middle": {middle}, "trainings": [\n{rows}\n]}}\n'
    if given.write:
        OUT.write_text(text)
    elif OUT.read_text() != text:
        print("the stored file differs: python tools/demo_trainings.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
