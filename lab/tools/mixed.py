"""Judge the monitor of one network on mixed streams, as a user would fit it: by defaults, once with labels.

    python lab/tools/mixed.py --task cifar10 --seed 0                  # all mixed streams
    python lab/tools/mixed.py --task mnist --law mixed --stretches 2   # a first look

Columns are those of the experiments: errors of prediction and answer; errors left at 90 % coverage and error
AUROC, of confidence and of the monitor; share of clean, benign and costly time with the alarm on; costly
shifts found, median delay, false alarms per 10,000 clean steps; mean distance of the expected accuracy from
the true one over windows of 200 steps, beside the mean confidence and ATC. Needs TCUQ_DATA and PyTorch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import tcuq
from tcuq_lab.home import folder
from tcuq_lab.methods.estimates import Atc, MeanConfidence
from tcuq_lab.reproduce.field.accuracy import said
from tcuq_lab.reproduce.field.accuracy_windows import ERROR, Judged, cut, development, windows_of
from tcuq_lab.reproduce.field.alarming.counting import costly_sources, scene_of
from tcuq_lab.reproduce.field.alarming.figures import FALSE, clean_figures, shift_figures
from tcuq_lab.reproduce.field.answers import AUROC, ERRORS, LEFT, columns
from tcuq_lab.reproduce.field.answers_rows import Rated
from tcuq_lab.reproduce.field.plan import FAMILY, MIXED_CLEAN_DEV, MIXED_DEV, NETWORKS, StreamSizes, UnitPlan
from tcuq_lab.reproduce.field.units import Unit
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import run_size

NINETY = next(iter(LEFT))
ALARM = ("clean on", "benign on", "costly on", "found", "delay", FALSE)


def fits(unit: Unit) -> dict[str, tcuq.Params]:
    """Return the monitors that defaults make of the development log and the clean log, and of that alone."""
    quick = tcuq.FitOptions(explain=False)
    return {
        "labels": tcuq.fit(unit.log(MIXED_DEV), clean=unit.clean_log(MIXED_DEV), force=True, options=quick),
        "none": tcuq.fit(unit.log(MIXED_CLEAN_DEV, labels=False), options=quick),
    }


def figures(unit: Unit, law: str, found: dict[str, tcuq.Params]) -> Iterator[tuple[str, dict[str, float]]]:
    """Give each fit and its figures on a mixed stream."""
    role = f"test {law}"
    shown, seen = unit.shown(role), unit.observed(role)
    prediction, doubt = seen.probs.argmax(axis=1), 1.0 - seen.probs.max(axis=1)
    plain = columns(Rated(prediction, doubt, doubt), shown, prediction, role)
    scene, worse = scene_of(shown), costly_sources(unit.error_rates(role))
    windows = cut(shown.judged, shown.segments)
    heard, right = windows_of(seen, windows.steps), prediction == shown.labels
    rivals = {"confidence": MeanConfidence(), "ATC": Atc()}
    clean = development(unit.shown(MIXED_CLEAN_DEV), unit.observed(MIXED_CLEAN_DEV))
    for rival in rivals.values():
        rival.fit(clean)
    for fit, params in found.items():
        steps = said(params, unit.log(role, labels=False))
        own = columns(Rated(steps["answer"], steps["risk"], None), shown, prediction, role)
        on = (steps["alarm"] > 0).reshape(scene.shifted.shape)
        alarm = clean_figures(on, scene, role) | shift_figures(on, scene, worse, role)
        row = {"wrong": plain[ERRORS].value, "answer": own[ERRORS].value}
        for short, column in (("left", NINETY), ("AUROC", AUROC)):
            row |= {f"{short} conf": plain[column].value, f"{short} ours": own[column].value}
        row |= {name: alarm[name].value if name in alarm else np.nan for name in ALARM}
        estimates: dict[str, tuple[Any, Any]] = {
            "ours": (steps["expected_accuracy"][windows.ends], steps["answer"] == shown.labels),
            **{name: (rival.of(heard), right) for name, rival in rivals.items()},
        }
        for name, (estimate, where) in estimates.items():
            row[f"acc {name}"] = Judged.of(windows, shown, estimate, where).figures(role, 0.0)[ERROR].value
        yield fit, row


def main() -> None:
    """Print a line for each stream and fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="cifar10", choices=list(NETWORKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--setting", default="trial", help="trial (default), reduced or full")
    parser.add_argument("--law", action="append", choices=FAMILY, help="only this stream; may be repeated")
    parser.add_argument("--stretches", type=int, help="of each stream (default: as the experiments)")
    parser.add_argument("--weights", help="folder of checkpoints (default: lab/weights)")
    parser.add_argument("--cache", help="recordings (default: out/reproduce)")
    given = parser.parse_args()
    setting, few = run_size(given.setting), given.stretches
    sizes = StreamSizes() if few is None else StreamSizes(mixed_dev=few, mixed_test=few)
    recordings = Recordings(
        str(folder(given.weights, "weights")), str(folder(given.cache, "../out/reproduce")), setting
    )
    unit = Unit(UnitPlan(given.task, given.seed, sizes, setting.severities), recordings)
    found = fits(unit)
    for place, law in enumerate(given.law or FAMILY):
        for fit, row in figures(unit, law, found):
            if not place and fit == "labels":
                print(f"{'stream':22} {'fit':6} " + " ".join(f"{name:>11.11}" for name in row))
            print(f"{law:22} {fit:6} " + " ".join(f"{value:11.3f}" for value in row.values()), flush=True)


if __name__ == "__main__":
    main()
