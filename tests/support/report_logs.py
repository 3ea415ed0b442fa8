"""Made streams and parameters for reports."""

from __future__ import annotations

import numpy as np

from tcuq import SIGNALS, Alarm, AlarmSide, Log, Params
from tcuq.monitor.monitor import Monitor, run_over

CLASSES, WIDTH = 6, 8


def dwell_log(steps: int, seed: int = 7) -> Log:
    """A class that stays for a while, then another; some stretches are degraded, and there are segments."""
    rng = np.random.default_rng(seed)
    stays = rng.integers(15, 90, size=steps // 15 + 1)
    labels = np.repeat(rng.integers(0, CLASSES, size=len(stays)), stays)[:steps]
    shifted = np.zeros(steps, dtype=bool)
    for k in range(5):
        start = int(steps * (0.13 + 0.19 * k))
        shifted[start : start + max(1, int(steps * (0.03 + 0.012 * k)))] = True
    logits = rng.normal(0, 1.0, size=(steps, CLASSES))
    logits[np.arange(steps), labels] += np.where(shifted, 1.3, 4.2) + rng.normal(0, 0.9, size=steps)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    centers = rng.normal(0, 30, size=(CLASSES, WIDTH))
    features = centers[labels] + rng.normal(0, 1, size=(steps, WIDTH)) * np.where(shifted, 45, 12)[:, None]
    segments = np.repeat(np.arange(4), -(-steps // 4))[:steps]
    whole = np.clip(np.rint(features), -128, 127).astype(np.int8)
    return Log(probs.astype(np.float32), whole, labels, segments, shifted)


def params_for(log: Log) -> Params:
    """Coefficients by hand; the alarm and the threshold are set from the clean steps."""
    # All but those that need centers, an instant head or an evidence head.
    coef = {"divergence": 1.5, "instability": 0.8, "flips": 1.0, "doubt": 3.0, "odds": 1.0, "magnitude": 0.5}
    params = Params(classes=CLASSES, features=WIDTH, signals=tuple(coef), coef=coef)
    assert log.shifted is not None
    steps, signals = run_over(Monitor(params), log, signals=True)
    clean = steps["risk"][~log.shifted]
    means = dict(zip(SIGNALS, signals[~log.shifted].mean(axis=0).tolist(), strict=True))
    return params.replace(
        clean_means={name: means[name] for name in coef},
        reference=float(np.quantile(clean, 0.9)),
        alarm=Alarm(float(clean.mean()), AlarmSide(0.08, 2.5), AlarmSide(0.06, 4.0)),
        notes={"fit": "by hand <b>"},
    )
