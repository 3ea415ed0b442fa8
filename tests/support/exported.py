"""Monitors to export: one with as little as possible, one with labels, one with every other part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcuq import SIGNALS, Alarm, AlarmSide, EvidenceHead, Feedback, Params, Sight
from tcuq.export import FORMS, integer_projection
from tcuq.export.contents import Contents
from tcuq.export.package import arranged
from tcuq.export.selfcheck import SelfCheck
from tcuq.monitor.heads import InstantHead

PLAIN = Params(classes=5, alarm=Alarm(0.4, AlarmSide(0.02, 2.0), AlarmSide(0.02, 2.0)), level=0.3, budget=0.2)
FULL = Params(
    classes=7,
    features=6,
    feature_zero_point=-9,
    feature_scale=0.1,
    signals=SIGNALS,
    anchor="belief",
    coef=dict.fromkeys(SIGNALS, 0.75),
    alarm=Alarm(0.4, AlarmSide(0.02, 2.0)),
    evidence=EvidenceHead({"doubt": 4.0}, [-1.0] * 7, bet=(0.9, 0.2)),
    about="answer",
    instant=InstantHead({"odds": 2.0}, -1.0),
    centers=[[k, 2 * k, 0, 0, 9, -k] for k in range(7)],
    horizon=64,
    expected_start=0.9,
    names=["0 first", *(f"n{k}\\" for k in range(6))],
)
PROJECTION = integer_projection(
    np.random.default_rng(0).normal(size=(48, 6)) / 7, np.linspace(-1, 1, 6), 0.05, -128, FULL
)
SEEING = Params(
    classes=5,
    level=0.3,
    budget=0.2,
    features=4,
    feature_scale=0.1,
    signals=("odds", "distance", "degradation"),
    centers=[[40 * k - 90, 9, 0, -k] for k in range(5)],
    lags=(),
    alarm=Alarm(rise=AlarmSide(0.0, 1.5, cap=64.0, clear=1.1)),
    sight=Sight(
        gauges=("brightness", "sharpness", "temperature"),
        gauge_scales=(256.0, 256.0, 64.0),
        means=[12.5, 3.0, 21.0, 0.3, 0.7, 0.4],
        deviations=[9.0, 0.5, 4.0, 0.1, 0.05, 0.05],
        class_means=[[0.3 * k, -0.2 * k, 0.0, 0.5, -0.5, 0.1] for k in range(5)],
        matrix=[0.3 * (column == 0) + 0.05 for row in range(6) for column in range(6 - row)],
        reach=900,
        frozen=6.0,
        baseline=40,
        odds_weight=0.5,
    ),
)
LIBRARIES: dict[str, tuple[Params, dict[str, Any]]] = {
    "plain": (PLAIN, {}),
    "labels": (PLAIN.replace(feedback=Feedback(max_error=0.1, hard="error", right_score=0.5)), {}),
    "gauges": (SEEING, {}),
    "everything": (FULL, {"logits_scale": 0.12, "projection": PROJECTION}),
}


def contents_of(which: str, name: str = "kws") -> Contents:
    params, more = LIBRARIES[which]
    return Contents(params, name, **more)


def files_of(form: str, which: str, name: str = "kws") -> dict[str, str]:
    """Return the files of one of them, text by path."""
    return arranged(contents_of(which, name), SelfCheck(contents_of(which, name)), FORMS[form])


def package(folder: Path, form: str, which: str, name: str = "kws") -> Path:
    """Write one of them, over what is there."""
    for file, text in files_of(form, which, name).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder
