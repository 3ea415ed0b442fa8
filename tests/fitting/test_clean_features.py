"""A log and a clean log whose features are int8, floats, or one of each."""

from __future__ import annotations

import numpy as np
import pytest
from fits import told
from refusals import refused
from streams import dwell_stream

from tcuq import Log, fit
from tcuq.log.quantize import quantize_features

SCALE, ZERO = 1 / 16, -5
QUICK = {"run_length": 200, "explain": False}


def logs(raw: bool, clean_raw: bool, says: bool = True) -> tuple[Log, Log]:
    """Return a log and a clean log; floats are what their int8 features stand for."""
    found = []
    for seed, as_int8 in ((0, raw), (1, clean_raw)):
        probs, values, labels, _ = dwell_stream(900, 4, 3, np.random.default_rng(seed), shifted=False)
        held = quantize_features(values, SCALE, ZERO)
        given = held if as_int8 else (held.astype(np.float64) - ZERO) * SCALE
        form = {"feature_scale": SCALE, "feature_zero_point": ZERO} if as_int8 and says else {}
        found.append(Log(probs, given, labels, **form))
    return found[0], found[1]


def test_features_are_the_same_in_either_form() -> None:
    log, clean = logs(True, True)
    expected = fit(log, clean=clean, about="answer", **told(**QUICK))
    assert expected.features == 3
    for raw, clean_raw in ((True, False), (False, True)):
        log, clean = logs(raw, clean_raw)
        assert fit(log, clean=clean, about="answer", **told(**QUICK)) == expected
    given = {"feature_scale": SCALE, "feature_zero_point": ZERO}
    for raw, clean_raw in ((True, True), (True, False), (False, True), (False, False)):
        log, clean = logs(raw, clean_raw, says=False)
        assert fit(log, clean=clean, about="answer", **told(**given, **QUICK)) == expected


def test_forms_that_nobody_can_compare_are_refused() -> None:
    for raw, clean_raw in ((True, False), (False, True)):
        log, clean = logs(raw, clean_raw, says=False)
        with refused("missing"):
            fit(
                log,
                clean=clean,
                about="answer",
                **told(**({"feature_zero_point": ZERO} if raw else {}), **QUICK),
            )
        assert fit(log, clean=clean, about="answer", **told(use_features=False, **QUICK)).features == 0


def test_a_row_that_cannot_be_is_named_in_either_log() -> None:
    for place in (0, 1):
        pair = list(logs(False, False))
        assert pair[place].features is not None
        pair[place].features[700, 1] = np.nan
        with pytest.raises(ValueError, match="700"):
            fit(pair[0], clean=pair[1], **told(feature_scale=SCALE, feature_zero_point=ZERO, **QUICK))
    log = logs(False, False)[0]
    with refused("value"):
        fit(Log(log.probs, np.zeros((900, 3), np.uint8), log.labels), **told(**QUICK))
