"""Sweeps as an experiment: monitors fitted anew with one thing changed, and a window that cannot matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[all]'")

from kept_recordings import PLAIN, Kept

from tcuq import Log, fit
from tcuq.metrics import auroc
from tcuq.monitor.log import watch
from tcuq.monitor.monitor import Monitor
from tcuq_lab.comparison.records import Record, pick
from tcuq_lab.methods.gather import observed
from tcuq_lab.methods.temporal.tcuq import Tcuq, TcuqPaper
from tcuq_lab.methods.temporal.variants import altered
from tcuq_lab.reproduce.experiment import experiment_from
from tcuq_lab.reproduce.kinds.comparison import Arena, fit_rows, joined
from tcuq_lab.reproduce.kinds.sweep import measure, window_change
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.rows import row_of

UNIT = Unit("cifar10", 16.0, 0)


def _plan(*rows: str, **options: Any) -> Any:
    return experiment_from({**PLAIN, "kind": "sweep", "rows": list(rows), "options": options}, {})


def _value(found: list[Record], method: str, metric: str, variant: str) -> float:
    (row,) = pick(found, method=method, metric=metric, variant=variant)
    return float(row["value"])


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


def test_a_sweep_measures_what_a_comparison_does_and_one_thing_changes(
    tmp_path: Path, paper: tuple[Kept, Any, TcuqPaper]
) -> None:
    kept, schedule, method = paper
    plan = _plan("tcuq_paper", blend=[0.0], level=[0.05], warmup=[0, 256], weights=["lag"], window=[12, 24])
    found = measure(plan, UNIT, kept)  # type: ignore[arg-type]
    (kind,) = schedule.unseen
    dev, test = UNIT.banks(plan, kept, schedule)  # type: ignore[arg-type]
    asked = Arena.of(schedule, {"tcuq_paper": method}, dev, test).scores()
    for metric, variant in (
        ("drop_auprc", "own/smoothed/unseen"),
        ("mixed_failure_auroc", "own/plain/unseen"),
    ):
        (row,) = pick(asked, stream=kind, metric=metric, variant=variant)
        assert _value(found, "tcuq_paper", metric, variant) == row["value"]
    risk = "mixed_failure_auroc", "own/plain/unseen"
    for name in ("level 0.05", "warmup 0", "warmup 256"):  # these decide, and change no risk
        assert _value(found, f"tcuq_paper, {name}", *risk) == _value(found, "tcuq_paper", *risk)
    for name in ("blend 0", "weights lag"):
        assert _value(found, f"tcuq_paper, {name}", *risk) != _value(found, "tcuq_paper", *risk)
    seen = observed(schedule.shifted_first()[kind], test["tcuq_paper"])
    for label, changes in (("tcuq_paper", {}), ("tcuq_paper, level 0.05", {"level": 0.05})):
        params, through = altered(method, **changes).fitted
        features = None if through is None else through(seen.features[:500])
        steps = Monitor(params).run(seen.probs[:500], features)
        got = _value(found, label, "flag_rate", "shifted first")
        assert got == pytest.approx(steps["flagged"].mean())
    early = [_value(found, f"tcuq_paper, warmup {n}", "abstention_rate", "first") for n in (0, 256)]
    assert early[0] > early[1]
    assert _value(found, "tcuq_paper", "window_change", "first") == 0
    assert not pick(found, method="tcuq_paper, blend 0", metric="window_change")


def test_the_window_changes_no_risk_to_the_bit(paper: tuple[Kept, Any, TcuqPaper]) -> None:
    kept, schedule, _ = paper
    banks = kept.banks("cifar10", "dev", 0, [row_of("base")], schedule.sources("dev"))
    dev = joined(schedule.learned(), banks["base"])
    seen = dev.observed
    log = Log(seen.probs, None, dev.labels, seen.segments, dev.kinds)
    risks = []
    for window in range(12, 25):
        params = fit(log, profile="paper", lags=(1, 2, 4), window=window, explain=False)
        assert params.warmup == 4 * window
        risks.append(watch(Monitor(params), log)["risk"])
    assert len(np.unique(risks[0])) > 100
    for risk in risks[1:]:
        assert risk.tobytes() == risks[0].tobytes()
    far = fit(log, profile="paper", lags=(16,), window=16, explain=False)
    assert window_change(far, [log], [12, 16, 24]) == 0  # no monitor has a window below its lag
    # The measurement itself can tell two risks apart.
    assert np.abs(watch(Monitor(far), log)["risk"] - risks[0]).max() > 0.01


def test_an_altered_monitor_is_fitted_as_if_asked_for(paper: tuple[Kept, Any, TcuqPaper]) -> None:
    kept, schedule, method = paper
    banks = kept.banks("cifar10", "dev", 0, [row_of("base")], schedule.sources("dev"))
    dev = joined(schedule.learned(), banks["base"])
    seen = dev.observed
    log = Log(seen.probs, None, dev.labels, seen.segments, dev.kinds)
    kept_as_is = {"blend": method.setting["blend"], "l2": method.setting["l2"], "budget": 0.1}
    direct = fit(log, profile="paper", lags=(1, 2), level=0.2, run_length=1000, **kept_as_is)
    got = altered(method, lags=(1, 2), level=0.2, features=None).params
    assert got.replace(notes={}) == direct.replace(notes={})
    assert altered(method, blend=0.5).params.blend == 0.5
    assert altered(altered(method, blend=0.5), level=0.2).params.blend == 0.5
    with pytest.raises(ValueError, match="tcuq is not fitted"):
        altered(Tcuq(), blend=0.5)


def test_rows_without_a_signal_are_measured_as_they_are(paper: tuple[Kept, Any, TcuqPaper]) -> None:
    kept, schedule, method = paper
    plan = _plan("tcuq_paper", "tcuq_paper_without_doubt")
    found = measure(plan, UNIT, kept)  # type: ignore[arg-type]
    row = plan.rows[1]
    lacking = row.method()
    lacking.follow(method)
    assert set(method.params.signals) - set(lacking.params.signals) == {"doubt"}
    (kind,) = schedule.unseen
    stream = schedule.tests()[kind]
    seen = observed(stream, kept.banks("cifar10", "test", 0, [row], stream.sources)[row.label])
    found_risk = lacking.answer(seen).score
    expected = auroc(found_risk, seen.probs.argmax(axis=1) != stream.label)
    metric = "mixed_failure_auroc", "own/plain/unseen"
    assert _value(found, row.label, *metric) == pytest.approx(expected)
    assert _value(found, row.label, *metric) < _value(found, "tcuq_paper", *metric)
    assert not pick(found, metric="window_change")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (["base"], {}, "row base has nothing to alter, expected a method with a monitor"),
        (["tcuq"], {"hue": [1]}, "option of x 'hue' is unknown"),
        (["tcuq"], {"blend": 0.5}, "option blend is 0.5, expected a list of values"),
        (["tcuq"], {"blend": [2]}, "blend is 2"),
        (["tcuq"], {"weights": ["eqal"]}, r"law of weights 'eqal' is unknown; did you mean equal\?"),
        (["tcuq"], {"lags": [1, 2]}, "lags is 1, expected a list of lags, each once"),
        (["tcuq"], {"lags": [[1, 1]]}, r"lags is \[1, 1\], expected a list of lags, each once"),
        (["tcuq"], {"lags": [[65]]}, "lag is 65"),
    ],
)
def test_bad_plans_are_refused_in_one_line(
    tmp_path: Path, rows: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measure(_plan(*rows, **options), UNIT, Kept(tmp_path))  # type: ignore[arg-type]
