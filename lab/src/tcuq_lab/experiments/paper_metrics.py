"""What the paper's tables measure: a metric of a row on a stream, and of a row on all of its streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.audit.derive import audit
from tcuq.io.decisions import Decisions
from tcuq.metrics import Interval, auroc, block_bootstrap, risk_coverage, worst_window
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.monitor.params import Params

from ..detectors.run_lengths import Armed, Trials, arm, find_limit, run_length, trials
from ..detectors.statistics import STATISTICS
from ..harness.declare import Case
from ..harness.intervals import Drawn
from ..harness.laws import CLEAN_DEV, CLEAN_TEST
from ..harness.types import CLEAN, Truth
from ..methods.confidence import Base
from ..metrics import (
    accuracy,
    average_precision,
    brier,
    brier_per_class,
    ece,
    macro_f1,
    nll,
    precision_lift,
    risk_at_coverage,
)
from ..metrics.drops import Band, clean_band
from .drops import Ranking, drops, from_blocks, interval
from .paper_streams import CHOSEN, UNSEEN, PaperRow

Figures = dict[str, Drawn]
RUN_LENGTH = 1000.0
"""Clean steps between false alarms at which delays are compared."""


def figure(value: float, found: Interval | None = None) -> Drawn:
    """Return a figure with the ends of its interval, where it has one, in place of replicates."""
    ends = (math.nan, math.nan) if found is None else (found.low, found.high)
    return Drawn(float(value), np.array(ends, dtype=np.float32))


def _ends(found: Interval) -> Drawn:
    return figure(found.estimate, found)


# Drops, errors and inputs of no class


def right_runs(case: Case) -> list[Bools]:
    """Return where a row is right, stretch by stretch."""
    right = ~case.wrong & (case.truth.labels >= 0)
    return [right[piece] for piece in case.truth.pieces()]


def band_of(case: Case) -> Band:
    """Return the windowed accuracy of a row on clean development steps."""
    name = f"band of {case.row}"
    if name not in case.memory:
        assert case.other is not None
        case.memory[name] = clean_band(right_runs(case.other(CLEAN_DEV)))
    return case.memory[name]  # type: ignore[no-any-return]


def plain(case: Case) -> Case:
    """Return what the plain network says to a stream in place of a row."""
    method = PaperRow(Base())

    def at(role: str) -> Case:
        truth, seen = case.streams.truth(role), case.streams.outputs(role)
        play = case.play._replace(role=role)
        return Case(case.streams, play, "base", truth, seen, method.watch(seen), method, case.memory, at)

    return at(case.play.role)


def of_drops(case: Case, group: str) -> tuple[Figures, Ranking]:
    """Return the AUPRC of drop events, their share, and the ranking."""
    ranking = drops(case.answers.risk, ~case.wrong, band_of(case))
    found = {f"drop_auprc own/smoothed/{group}": figure(ranking.measure(average_precision))}
    return found | {f"drop_share own/smoothed/{group}": figure(ranking.share)}, ranking


def comparison(case: Case) -> Figures:
    """Return how drops and errors are ranked on streams of a type, and inputs that are of no class."""
    kind = case.play.stream
    if case.play.role.startswith("ood"):
        seen = strange(case)
        measures: Any = {"auroc": auroc, "auprc": average_precision}
        return {f"ood_{name} own/plain/{kind}": figure(seen.measure(each)) for name, each in measures.items()}
    group, score, wrong = case.streams.group(kind), case.answers.risk, case.wrong  # type: ignore[attr-defined]
    found, ranking = of_drops(case, group)
    clean = case.truth.kinds == 0
    found[f"mixed_failure_auroc own/plain/{group}"] = figure(auroc(score, wrong))
    found["clean_failure_auroc own/plain/all"] = figure(auroc(score[clean], wrong[clean]))
    if group == UNSEEN:
        base = plain(case)
        others = drops(score, ~base.wrong, band_of(base))
        found["drop_auprc base/smoothed/unseen"] = figure(others.measure(average_precision))
        found["drop_lift own/smoothed/unseen"] = figure(ranking.measure(precision_lift))
        found["drop_auroc own/smoothed/unseen"] = figure(ranking.measure(auroc))
        found["mixed_failure_auprc own/plain/unseen"] = figure(average_precision(score, wrong))
    return found


def strange(case: Case) -> Ranking:
    """Return the score for inputs of none of the classes against right answers on clean ones."""
    unknown = case.truth.labels < 0
    judged = unknown | (case.truth.kinds == 0) & ~case.wrong
    return Ranking(case.answers.risk, unknown, judged)


def gain(case: Case) -> Figures:
    """Return by how much a row exceeds the plain network in drop AUPRC on a type."""
    unit: Any = case.streams
    if case.play.stream not in unit.unseen:
        return {}
    rng = np.random.default_rng([unit.seed, unit.kinds.index(case.play.stream)])
    found = _difference(case, "auprc", _drop_rankings, rng)
    return {"drop_auprc_gain own/smoothed/unseen": _ends(found)}


def _drop_rankings(case: Case) -> list[Ranking]:
    risks = [case.answers.risk[piece] for piece in case.truth.pieces()]
    return [drops(a, b, band_of(case)) for a, b in zip(risks, right_runs(case), strict=True)]


def _difference(
    case: Case, measure: str, rankings: Callable[[Case], list[Ranking]], rng: np.random.Generator
) -> Interval:
    replicates = case.streams.recordings.setting.replicates  # type: ignore[attr-defined]
    both = [rankings(each) for each in (case, plain(case))]
    return interval(both, measure, kinds_of(case.truth), rng, replicates)


def by_severity(case: Case) -> Figures:
    """Return drops at one severity; the share is that of the plain network."""
    return _drops_of(case, f"severity {case.play.role.rpartition('/')[2]}")


def in_orders(case: Case) -> Figures:
    """Return drops in the paper's order, and in segments of the same examples."""
    return _drops_of(case, "literal" if case.play.role.startswith("literal") else "segments")


def _drops_of(case: Case, group: str) -> Figures:
    found, _ = of_drops(case, group)
    if case.row != case.streams.plain.label:  # type: ignore[attr-defined]
        del found[f"drop_share own/smoothed/{group}"]
    return found


# Delays of alarms


class Watched(NamedTuple):
    """Alarms of a row on the streams of unseen types, at a limit from clean test time."""

    found: list[Trials]
    figures: dict[str, float]


def watched(case: Case) -> Watched:
    """Return the alarms of a row with the statistic that does best on development streams.

    Limits come from the clean test stream ("equal"): one from few development examples gives another run
    length on other examples, and not the same one for all methods, as the run lengths of such limits
    ("best") show. All but that limit is settled on development streams.
    """
    unit: Any = case.streams

    def evidence(role: str) -> list[Floats]:
        return unit.evidence_of(case.method, role, case.method.network)  # type: ignore[no-any-return]

    armed = arm(evidence(CLEAN_DEV), RUN_LENGTH, STATISTICS)
    (given,), still = evidence(CHOSEN), evidence(CLEAN_TEST)
    shifts = unit.truth(CHOSEN).kinds
    costs = {name: float(trials(each, given, shifts).restricted.mean()) for name, each in armed.items()}
    chosen = min(costs, key=lambda name: costs[name])
    best = armed[chosen]
    ready = Armed(best.statistic, find_limit(best.statistic, still, RUN_LENGTH))
    kinds = zip(evidence(UNSEEN), kinds_of(unit.truth(UNSEEN)), strict=True)
    found = [trials(ready, *each) for each in kinds]
    lengths = {"equal/clean": run_length(ready.statistic, still, ready.limit).value}
    lengths["best/clean"] = run_length(best.statistic, still, best.limit).value
    false, clean = (sum(getattr(each, name) for each in found) for name in ("false", "clean"))
    lengths["equal/mixed"] = math.inf if not false else clean / false
    figures = {f"run_length {name}": value for name, value in lengths.items()}
    figures |= {
        f"run_length_dev {name}": each.found.value for name, each in (("equal", ready), ("best", best))
    }
    return Watched(found, {f"chosen {chosen}": costs[chosen], **figures})


def kinds_of(truth: Truth) -> list[Any]:
    """Return the corruption type of each step, stretch by stretch."""
    assert truth.kinds is not None
    return [truth.kinds[piece] for piece in truth.pieces()]


def delays(case: Case) -> Figures:
    """Return the delays of a row over all unseen types, and the run lengths of its limits."""
    found, figures = watched(case)
    late, mean = _late(found), _restricted(found)
    figures["delay_median equal/unseen"] = middle(late)
    figures["delay_p90 equal/unseen"] = float(np.sort(late)[(9 * len(late) + 9) // 10 - 1])
    figures["delay_mean equal/unseen"] = float(mean.mean())
    figures["missed equal/unseen"] = float(np.isinf(late).sum())
    return {name: figure(value) for name, value in figures.items()}


def _late(found: list[Trials]) -> Floats:
    return np.concatenate([each.delays for each in found])


def _restricted(found: list[Trials]) -> Floats:
    return np.concatenate([each.restricted for each in found])


def middle(values: Floats) -> float:
    """Return the median of some values, infinite ones among them; NaN of none."""
    ordered, count = np.sort(values), len(values)
    return float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2) if count else math.nan


def headlines(case: Case) -> Figures:
    """Return drops of a row on a type, inputs of no class, and delays over all types."""
    if case.play.role == UNSEEN:
        return delays(case)
    kept = ("drop_auprc own/", "ood_auroc")
    return {name: each for name, each in comparison(case).items() if name.startswith(kept)}


def headline_differences(case: Case) -> Figures:
    """Return by how much a row differs from the plain network over all types, and on inputs of no class.

    Those of drops and OOD inputs are from blocks of steps, the same for both; of delays from the changes of
    all streams, where a miss costs its stretch in the mean alone.
    """
    unit: Any = case.streams

    def rng() -> np.random.Generator:
        return np.random.default_rng([unit.seed, 0])

    if case.play.role != UNSEEN:
        name = f"ood_auroc own/plain/{case.play.role.partition(' ')[2]}"
        return {name: _ends(_difference(case, "auroc", lambda each: [strange(each)], rng()))}
    found = {"drop_auprc own/smoothed/unseen": _ends(_difference(case, "auprc", _drop_rankings, rng()))}
    ours, others = (watched(each).found for each in (case, plain(case)))
    for name, of, middle_of in (("mean", _restricted, np.mean), ("median", _late, middle)):
        pair = of(ours), of(others)

        def value(at: int, index: Ints | None, pair: Any = pair, middle_of: Any = middle_of) -> float:
            one, other = (each if index is None else each[index] for each in pair)
            return float(middle_of(one) - middle_of(other))

        got = from_blocks(value, [len(pair[0])], 1, unit.recordings.setting.replicates, rng())
        found[f"delay_{name} equal/unseen"] = _ends(got)
    return found


# Posteriors of examples that are shown once

BINS = 15
CALIBRATION: Mapping[str, Callable[[Floats, Ints], float]] = MappingProxyType(
    {
        "accuracy": lambda probs, labels: accuracy(probs.argmax(axis=1), labels),
        "macro_f1": lambda probs, labels: macro_f1(probs.argmax(axis=1), labels, probs.shape[1]),
        "brier": brier,
        "brier_per_class": brier_per_class,
        "nll": nll,
        "ece": lambda probs, labels: ece(probs.max(axis=1), probs.argmax(axis=1) == labels, BINS),
    }
)


def calibration(case: Case) -> Figures:
    """Return what posteriors are worth; on clean examples with an interval from examples drawn again."""
    unit: Any = case.streams
    probs, labels, found = case.answers.probs, case.truth.labels, {}
    for name, metric in CALIBRATION.items():
        if case.play.stream != CLEAN:
            found[f"{name} corrupted"] = figure(metric(probs, labels))
            continue
        rng = np.random.default_rng(
            unit.seed
        )  # a new one, so that all rows and metrics meet the same examples
        replicates = unit.recordings.setting.replicates
        found[f"{name} clean"] = _ends(block_bootstrap(metric, [probs, labels], 1, replicates, rng))
    return found


# Errors among the answers that are kept

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def curve(case: Case) -> Figures:
    """Return the area under the risk-coverage curve, and its error at some coverages."""
    found = risk_coverage(case.answers.risk, case.wrong)
    places = {f"error {each:g}": int(np.argmax(found.coverage >= each)) for each in COVERAGES}
    errors = {name: figure(found.error[at]) for name, at in places.items()}
    return {"aurc curve": figure(found.error.mean()), **errors}


def decided(case: Case) -> Figures:
    """Return the share of steps that a monitor accepted, its error there, and that of the curve.

    The curve at the same coverage is what one threshold for the whole stream, known in hindsight, would have
    kept: it needs no budget and no adapting.
    """
    seen = case.streams.outputs(case.play.role, case.method.network)
    accepted = ~case.method.method.steps(seen)["abstain"].astype(bool)
    coverage = float(accepted.mean())
    return {
        "coverage decided": figure(coverage),
        "error decided": figure(case.wrong[accepted].mean()),
        "curve_error decided": figure(risk_at_coverage(case.answers.risk, case.wrong, coverage)),
    }


# Rates that are promised

WINDOW = 100
"""Steps of the window in which abstentions are counted."""
WINDOWS, EARLY = range(12, 25), 500
"""Windows that the paper calls alike, tried on the first steps of streams that begin shifted.

Of a window nothing but its warm-up is left here, which is four of them."""


class Audited(NamedTuple):
    """What a monitor said on a stream, and how many checks of it failed."""

    steps: npt.NDArray[Any]
    violations: int
    shifted: Bools


def audited(case: Case, role: str) -> Audited:
    """Run a row's monitor over a stream and audit its decisions, with the input at hand."""
    monitor = case.method.method
    params, log = monitor.params, monitor.log(case.streams.outputs(role, case.method.network))
    steps, signals = run_over(Monitor(params), log, signals=True)
    verdict = audit(Decisions(steps, signals=signals, used=params.signals), params, log)
    kinds = case.streams.truth(role).kinds
    assert kinds is not None
    return Audited(steps, sum(not check.ok for check in verdict.checks), kinds > 0)


def rates(case: Case) -> Figures:
    """Audit a row on the clean test stream, all types in segments and in other orders, and OOD inputs."""
    unit: Any = case.streams
    params: Params = case.method.method.params
    if case.play.role != CLEAN_TEST:
        flagged, shifted = audited(case, case.play.role).steps["flagged"], case.truth.kinds
        found = {"unseen": flagged.mean(), "shifted": flagged[shifted > 0].mean()}  # type: ignore[operator]
        return {f"flag_rate {name}": figure(value) for name, value in found.items()}
    roles = [f"type {kind}" for kind in unit.kinds] + ["ood bursts", "ood singles"]
    roles += [f"{order} {kind}" for order in ("first", "literal") for kind in unit.unseen]
    logs = [audited(case, role) for role in (CLEAN_TEST, *roles)]
    clean = logs[0]
    bursts = [int(worst_window(each.steps["abstain"], [WINDOW])[0]) for each in logs]
    flags = [abs(float(each.steps["flagged"].mean()) - params.level) for each in logs]
    used = [float(each.steps["abstain"].mean()) / params.budget for each in logs]
    bounds = [params.flag_bound(len(each.steps)) for each in logs]
    settled = slice(int(params.warmup or 0), len(clean.steps))
    fields = params.integers()
    values = {
        "streams all": len(logs),
        "steps all": sum(len(each.steps) for each in logs),
        "violations all": sum(each.violations for each in logs),
        "exceedance_deviation clean": flags[0],
        "exceedance_deviation worst": max(flags),
        "share_of_bound worst": max(off / bound for off, bound in zip(flags, bounds, strict=True)),
        "abstention_rate clean": used[0] * params.budget,
        "abstention_rate worst": max(used) * params.budget,
        "budget_share clean": used[0],
        "budget_share worst": max(used),
        "window_abstentions worst": max(bursts),
        "window_bound all": int(params.burst + WINDOW * fields["budget_num"] // fields["budget_den"]),
        "threshold_spread clean": float(np.std(clean.steps["threshold"][settled], ddof=1)),
        "window_change first": window_change(case, params),
    }
    return {name: figure(value) for name, value in values.items()}


def window_change(case: Case, params: Params) -> float:
    """Return the largest change of risk when the window, which sets the warm-up, is another.

    Windows below the longest lag, which no monitor has, are left out.
    """
    unit: Any = case.streams
    monitor, network = case.method.method, case.method.network
    logs = [monitor.log(unit.outputs(f"first {kind}", network)).take(slice(EARLY)) for kind in unit.unseen]
    before = [run_over(Monitor(params), log)["risk"] for log in logs]
    most = 0.0
    for window in WINDOWS:
        if window >= max(params.lags, default=1):
            other = params.replace(warmup=4 * window)
            for risk, log in zip(before, logs, strict=True):
                most = max(most, float(np.abs(run_over(Monitor(other), log)["risk"] - risk).max()))
    return most
