"""Monitors fitted anew with one thing changed, and a window that cannot matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[all]'")

from kept_recordings import Kept

from tcuq import FitOptions, Log, fit
from tcuq.monitor.log import watch
from tcuq.monitor.monitor import Monitor
from tcuq_lab.methods.temporal.paper import TcuqPaper
from tcuq_lab.methods.temporal.variants import altered
from tcuq_lab.reproduce.kinds.comparison import fit_rows, joined
from tcuq_lab.reproduce.kinds.promises import window_change
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.rows import row_of

UNIT = Unit("cifar10", 16.0, 0)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, Any, TcuqPaper]:
    """Recordings, streams, and the paper's monitor in a setting that looks at the past."""
    kept = Kept(tmp_path_factory.mktemp("kept"))
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    row = row_of("tcuq_paper")
    dev = kept.banks("cifar10", "dev", 0, [row], schedule.sources("dev"))
    method = fit_rows([row], dev, schedule)["tcuq_paper"]
    assert isinstance(method, TcuqPaper)
    return kept, schedule, altered(method)  # type: ignore[return-value]


def test_the_window_changes_no_risk_to_the_bit(paper: tuple[Kept, Any, TcuqPaper]) -> None:
    kept, schedule, _ = paper
    banks = kept.banks("cifar10", "dev", 0, [row_of("base")], schedule.sources("dev"))
    dev = joined(schedule.learned(), banks["base"])
    seen = dev.observed
    log = Log(seen.probs, None, dev.labels, seen.segments, dev.kinds)
    near, far = (
        fit(log, profile="paper", options=FitOptions(lags=lags, explain=False)) for lags in ((1, 2, 4), (16,))
    )
    risks = []
    for window in range(12, 25):
        params = near.replace(warmup=4 * window)
        risks.append(watch(Monitor(params), log)["risk"])
    assert len(np.unique(risks[0])) > 100
    for risk in risks[1:]:
        assert risk.tobytes() == risks[0].tobytes()
    assert window_change(far, [log], [12, 16, 24]) == 0  # no monitor has a window below its lag
    # The measurement itself can tell two risks apart.
    assert np.abs(watch(Monitor(far), log)["risk"] - risks[0]).max() > 0.01


def test_an_altered_monitor_is_fitted_as_if_asked_for(paper: tuple[Kept, Any, TcuqPaper]) -> None:
    kept, schedule, method = paper
    banks = kept.banks("cifar10", "dev", 0, [row_of("base")], schedule.sources("dev"))
    dev = joined(schedule.learned(), banks["base"])
    seen = dev.observed
    log = Log(seen.probs, None, dev.labels, seen.segments, dev.kinds)
    asked = FitOptions(lags=(1, 2), blend=method.setting["blend"], l2=method.setting["l2"])
    direct = fit(log, profile="paper", options=asked, level=0.2, budget=0.1, run_length=1000)
    got = altered(method, lags=(1, 2), level=0.2, features=None).params
    assert got.replace(notes={}) == direct.replace(notes={})
    assert altered(method, blend=0.5).params.blend == 0.5
    assert altered(altered(method, blend=0.5), level=0.2).params.blend == 0.5
    with pytest.raises(ValueError, match="tcuq_paper is not fitted"):
        altered(TcuqPaper(), blend=0.5)
