"""The paper's tables and figures as declarations: rows, streams, and which figures are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..harness.declare import Metric, Play, Row
from ..harness.laws import CLEAN_TEST, DEV
from ..harness.types import CLEAN
from ..methods.confidence import Base
from ..methods.tcuq import Tcuq
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.rows import row_of
from ..reproduce.units import ONCE
from . import paper_metrics as metrics
from .paper_rows import Clock, altered, fit, fit_posteriors, rows_of
from .paper_streams import STRANGE, UNSEEN, PaperUnit
from .paper_table import POOLED, PaperExperiment

THREE, TINY = ("mnist", "speech_commands", "cifar10"), ("tinyimagenet20",)
OURS = row_of("tcuq_standard")._replace(label="tcuq")


def of(*names: str) -> tuple[NetworkRow, ...]:
    """Return rows by the names of their methods, and the standard monitor."""
    return (*map(row_of, names), OURS)


ALL = of(
    "base",
    "entropy",
    "temperature",
    "conformal",
    "mc_dropout",
    "deep",
    "early_exit",
    "hydra",
    "odin",
    "godin",
    "godin_energy",
    "postnet",
    "vote",
    "mean_posterior",
    "mean_answer",
    "suppress",
    "median",
    "tcuq_paper",
)
LEADERS = of("base", "mc_dropout", "deep", "early_exit", "godin", "hydra", "mean_posterior", "tcuq_paper")


def tiny(*rows: NetworkRow) -> tuple[NetworkRow, ...]:
    """Return rows with the networks of MobileNetV2, of which development data chose none."""
    suffixes = {"mc_dropout": "_dropout_10", "early_exit": "_exits", "hydra": "_hydra_t1"}
    return tuple(row._replace(suffix=suffixes.get(row.method.name)) for row in rows)


Plays = Callable[[Any], Iterator[Play]]
Rows = Callable[[Any], list[Row]]


def _play(stream: str, role: str) -> Play:
    return Play(stream, role, dev=DEV)


def _unseen(unit: PaperUnit) -> Iterator[Play]:
    yield from (_play(kind, f"type {kind}") for kind in unit.unseen)


def _ood(unit: PaperUnit) -> Iterator[Play]:
    yield from (_play(layout, f"ood {layout}") for layout in STRANGE)


def _compared(unit: PaperUnit) -> Iterator[Play]:
    yield from (_play(kind, f"type {kind}") for kind in unit.kinds)
    yield from _ood(unit)


def _severities(unit: PaperUnit) -> Iterator[Play]:
    for level in unit.plan.setting.severities:
        kinds = (kind for kind in unit.unseen if level in unit.levels(kind))
        yield from (_play(kind, f"type {kind}/{level}") for kind in kinds)


def _orders(unit: PaperUnit) -> Iterator[Play]:
    yield from (_play(kind, f"literal {kind}") for kind in unit.unseen)
    yield from _unseen(unit)


def _headlines(unit: PaperUnit) -> Iterator[Play]:
    yield from _unseen(unit)
    yield from _ood(unit)
    yield _play(POOLED, UNSEEN)


def _audited(unit: PaperUnit) -> Iterator[Play]:
    yield _play(POOLED, CLEAN_TEST)
    yield from _unseen(unit)


def _once(unit: PaperUnit) -> Iterator[Play]:
    yield _play(CLEAN, f"{ONCE} {CLEAN}")


def _once_corrupted(unit: PaperUnit) -> Iterator[Play]:
    yield from _once(unit)
    sources = (f"{kind}/{level}" for kind in unit.unseen for level in unit.levels(kind))
    yield from (_play(source, f"{ONCE} {source}") for source in sources)


def _type_by_type(play: Play) -> bool:
    return play.role.startswith("type ")


def _all_together(play: Play) -> bool:
    return not _type_by_type(play)


def _differing(metric: Metric, shown: Callable[[Play], bool], unit: PaperUnit) -> list[Row]:
    """Return the rows, and by how much the standard monitor differs from the first one."""
    return rows_of(unit) + [
        Row(f"{row.label} - base", partial(fit, row), network=row, metrics=(metric,), shown=shown)
        for row in unit.networks
        if row.method is OURS.method and unit.plain.method is Base
    ]


def _with_clock(unit: PaperUnit) -> list[Row]:
    return [*rows_of(unit), Row("clock", lambda unit, role: Clock())]


def _with_settings(unit: PaperUnit) -> list[Row]:
    """Return the rows, and monitors with something changed in their best setting that looks at the past."""
    found = rows_of(unit)
    for row in unit.networks:
        if issubclass(row.method, Tcuq):
            curved = CURVED if "blend" in row.method.grid[0] else {}
            levels = {f"level {each:g}": {"level": "budget", "budget": each} for each in LEVELS}
            found += [
                Row(f"{row.label}, {what}", partial(altered, row, changes), network=row, metrics=(metric,))
                for changed, metric in ((curved, metrics.curve), (levels, metrics.decided))
                for what, changes in changed.items()
            ]
    return found


LAGS = ((1,), (1, 2), (1, 2, 4), (1, 2, 4, 8), (4, 8))
CURVED: dict[str, dict[str, Any]] = {
    **{f"blend {value:g}": {"blend": value} for value in (0, 0.3, 0.5, 0.7, 1)},
    **{f"lags {'+'.join(map(str, lags))}": {"lags": lags} for lags in LAGS},
}
"""Settings of the paper's monitor that a curve is drawn for."""
LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Levels of monitors, to which the budget is tied."""


def _table(rows: Rows, plays: Plays, metric: Metric, cells: str) -> Callable[..., PaperExperiment]:
    """Return what declares tables that are measured alike."""

    def declare(
        name: str,
        title: str,
        paper: str,
        networks: tuple[NetworkRow, ...],
        columns: dict[str, str],
        **more: Any,
    ) -> PaperExperiment:
        return PaperExperiment(
            name,
            title,
            rows,
            plays,
            (metric,),
            paper=paper,
            cells=cells,
            networks=networks,
            columns=columns,
            **{"tasks": THREE, **more},
        )

    return declare


_of_types: Rows = partial(_differing, metrics.gain, _type_by_type)
_of_all: Rows = partial(_differing, metrics.headline_differences, _all_together)
_posteriors: Rows = partial(rows_of, fitting=fit_posteriors)
compare = _table(_of_types, _compared, metrics.comparison, "comparison")
severity = _table(rows_of, _severities, metrics.by_severity, "severity")
orders = _table(_with_clock, _orders, metrics.in_orders, "literal")
headline = _table(_of_all, _headlines, metrics.headlines, "headlines")
calibrate = _table(_posteriors, _once, metrics.calibration, "calibration")
calibrate_corrupted = _table(_posteriors, _once_corrupted, metrics.calibration, "calibration corrupted")
audit = _table(rows_of, _audited, metrics.rates, "rate_audit")
selective = _table(_with_settings, _unseen, metrics.curve, "selective")

DROP_AUPRC, DROP_SHARE = "drop_auprc own/smoothed/unseen", "drop_share own/smoothed/unseen"
ERRORS, CLEAN_ERRORS = "mixed_failure_auroc own/plain/unseen", "clean_failure_auroc own/plain/all"
ABLATED = {
    DROP_AUPRC: "drop AUPRC, unseen kinds",
    DROP_SHARE: "share of drop events, unseen kinds",
    ERRORS: "AUROC of errors, unseen kinds",
    CLEAN_ERRORS: "AUROC of errors, clean",
}
SEVERITIES = {
    f"{figure} own/smoothed/severity {level}": f"{title}, severity {level}"
    for figure, title in (("drop_auprc", "AUPRC"), ("drop_share", "share of drop events"))
    for level in (1, 2, 3, 4, 5)
}
CALIBRATED = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "brier": "Brier score, sum over classes",
    "brier_per_class": "Brier score / classes",
    "nll": "NLL, nats",
    "ece": "ECE, 15 bins",
}
ON_CLEAN = {f"{name} clean": title for name, title in CALIBRATED.items()}
PACES = (1.0, 4.0, 16.0, 64.0)


def _either(*names: str) -> dict[str, str]:
    """Return columns on clean and on corrupted examples."""
    return {f"{name} {on}": f"{CALIBRATED[name]}, {on}" for on in ("clean", "corrupted") for name in names}


TABLES = (
    compare(
        "drop",
        "Accuracy-drop detection",
        "Table 1 and the figure of severities: AUPRC of drop events",
        ALL,
        {
            DROP_AUPRC: "AUPRC, unseen kinds",
            DROP_SHARE: "share of drop events, unseen kinds",
            "drop_lift own/smoothed/unseen": "lift over prevalence",
            "drop_auprc base/smoothed/unseen": "AUPRC of the base's drops, unseen kinds",
            "drop_auprc own/smoothed/seen": "AUPRC, seen kinds",
            "drop_auroc own/smoothed/unseen": "AUROC, unseen kinds",
            "drop_auprc_gain own/smoothed/unseen": "AUPRC above the base's, unseen kinds",
        },
        dwells=PACES,
    ),
    compare(
        "failure",
        "Failure detection",
        "Table 2: right against wrong, and right against OOD inputs",
        ALL,
        {
            ERRORS: "AUROC of errors, unseen kinds",
            CLEAN_ERRORS: "AUROC of errors, clean",
            "mixed_failure_auprc own/plain/unseen": "AUPRC of errors, unseen kinds",
            "ood_auroc own/plain/bursts": "AUROC, OOD inputs for 16 steps or more",
            "ood_auprc own/plain/bursts": "AUPRC, OOD inputs for 16 steps or more",
            "ood_auroc own/plain/singles": "AUROC, OOD inputs one at a time",
            "ood_auprc own/plain/singles": "AUPRC, OOD inputs one at a time",
        },
        dwells=PACES,
    ),
    compare(
        "ablation",
        "The paper's monitor without one of its parts",
        "Table of temporal signals and streaming calibration; its columns of Brier score and NLL cannot "
        "differ, since no variant changes a posterior, nor can a threshold change the score that AUPRC ranks "
        "by",
        of(
            "base",
            "tcuq_paper",
            "tcuq_paper_no_temporal",
            "tcuq_paper_no_conformal",
            "tcuq_paper_frozen_weights",
            "tcuq_paper_nonnegative",
        ),
        ABLATED,
    ),
    compare(
        "ablation_tinyimagenet",
        "The paper's monitor without one of its parts, TinyImageNet",
        "Table of temporal signals and streaming calibration, TinyImageNet: 16 of its classes here",
        of(
            "base",
            "tcuq_paper",
            "tcuq_paper_no_temporal",
            "tcuq_paper_no_conformal",
            "tcuq_paper_frozen_weights",
        ),
        ABLATED,
        tasks=TINY,
    ),
    compare(
        "temperature_drops",
        "Temperature scaling: drops of accuracy",
        "Table of drop AUPRC with temperature scaling, without its severities",
        of("base", "temperature", "tcuq_paper", "tcuq_paper_ts"),
        {
            DROP_AUPRC: "AUPRC, unseen kinds",
            DROP_SHARE: "share of drop events, unseen kinds",
            ERRORS: "AUROC of errors, unseen kinds",
        },
    ),
    severity(
        "severity",
        "Accuracy-drop detection by severity",
        "the figure of severities: AUPRC of drop events at each severity, unseen kinds alone here",
        LEADERS,
        SEVERITIES,
        tasks=("cifar10",),
    ),
    severity(
        "severity_tinyimagenet",
        "Accuracy-drop detection by severity, TinyImageNet",
        "the figure of severities, TinyImageNet: 16 of its classes here, unseen kinds alone",
        tiny(*LEADERS),
        SEVERITIES,
        tasks=TINY,
    ),
    severity(
        "deeper",
        "Accuracy-drop detection by severity, a deeper model",
        "the figure of ResNet-50 on TinyImageNet: 16 of its classes here, unseen kinds alone",
        tuple(
            row._replace(backbone="resnet50")
            for row in tiny(*of("base", "early_exit", "mean_posterior", "tcuq_paper"))
        ),
        SEVERITIES,
        tasks=TINY,
    ),
    orders(
        "literal",
        "Clean first, then worse and worse: a stream that a clock can read",
        "the streams of Table 1 in its own order, a clean half and then one kind at rising severity, beside "
        "ours in segments; it names no dwell",
        LEADERS,
        {
            "drop_auprc own/smoothed/literal": "AUPRC, clean then worse",
            "drop_auprc own/smoothed/segments": "AUPRC, segments",
            "drop_share own/smoothed/literal": "share of drop events, clean then worse",
            "drop_share own/smoothed/segments": "share of drop events, segments",
        },
        dwells=(1.0, 16.0),
    ),
    headline(
        "headlines",
        "Drops, OOD inputs and delays of the monitor, and by how much it differs from others",
        "drops and OOD inputs of Tables 1 and 2, and the delays that it claims and does not print, all rows "
        "fitted at the dwell of the stream",
        of("base", "mc_dropout", "deep", "early_exit", "godin", "hydra", "tcuq_paper"),
        {
            DROP_AUPRC: "drop AUPRC, unseen kinds",
            "ood_auroc own/plain/bursts": "AUROC, OOD inputs for 16 steps or more",
            "ood_auroc own/plain/singles": "AUROC, OOD inputs one at a time",
            "delay_mean equal/unseen": "mean delay, a miss costing its stretch",
            "delay_median equal/unseen": "median delay at equal run lengths, steps",
            "missed equal/unseen": "missed",
            "run_length best/clean": "clean test steps per alarm, limits from dev",
        },
        dwells=(1.0, 16.0),
    ),
    calibrate(
        "calibration",
        "Calibration on clean examples",
        "Table of calibration on ID data; its Brier scores can only be means over classes, so both are shown",
        (*of("base", "mc_dropout", "deep", "early_exit", "hydra"), NetworkRow("tcuq_plus", Base, "_wide")),
        ON_CLEAN,
        dwells=(1.0,),
    ),
    calibrate(
        "calibration_tinyimagenet",
        "Calibration on clean examples, TinyImageNet",
        "Table of calibration on ID data, TinyImageNet: 16 of its classes here",
        tiny(*of("base", "mc_dropout", "deep", "early_exit", "hydra")),
        ON_CLEAN,
        dwells=(1.0,),
        tasks=TINY,
    ),
    calibrate(
        "temperature",
        "Temperature scaling: calibration",
        "Table of calibration with temperature scaling",
        of("base", "temperature", "tcuq_paper_ts"),
        ON_CLEAN,
        dwells=(1.0,),
    ),
    calibrate(
        "postnet",
        "Posterior networks: calibration",
        "Table of calibration against PostNets",
        of("base", "postnet"),
        ON_CLEAN,
        dwells=(1.0,),
        tasks=("mnist", "cifar10"),
    ),
    calibrate(
        "assistance",
        "Training with and without temporal assistance",
        "Table of temporal assistance: calibration on ID data; no monitor takes part",
        (row_of("base"), NetworkRow("base, assisted", Base, "_assisted")),
        ON_CLEAN,
        dwells=(1.0,),
    ),
    calibrate_corrupted(
        "calibration_severity",
        "Calibration by severity",
        "Figures of Brier score and NLL under corruption; here for unseen kinds alone",
        tuple(map(row_of, ("base", "mc_dropout", "deep", "early_exit", "hydra"))),
        _either("brier", "nll"),
        dwells=(1.0,),
    ),
    calibrate_corrupted(
        "exits",
        "Early exits without the last head, and with light heads",
        "Tables of the early-exit ensemble with and without its last exit, and with and without extra layers "
        "in its exits",
        (
            row_of("early_exit")._replace(suffix="_exits"),
            row_of("exits_alone")._replace(suffix="_exits"),
            row_of("early_exit")._replace(label="early_exit, light heads", suffix="_exits_light"),
        ),
        _either(*CALIBRATED),
        dwells=(1.0,),
        tasks=("cifar10",),
    ),
    selective(
        "selective",
        "Errors among the answers that are kept",
        "The risk-coverage curves that the paper announces and does not show, over its blend, and what its "
        "levels come to",
        (row_of("base"), row_of("mean_posterior"), OURS, row_of("tcuq_paper")),
        {
            "aurc curve": "AURC",
            **{f"error {each:g}": f"error at coverage {each:g}" for each in metrics.COVERAGES},
            "coverage decided": "coverage of the monitor",
            "error decided": "its error among accepted",
            "curve_error decided": "error of the curve at that coverage",
        },
    ),
    audit(
        "rate_audit",
        "Rates that are promised, audited on every stream",
        "The streaming criteria that the paper defines and never reports: exceedance deviation, budget and "
        "bursts, stability of the threshold; its claim that adapting helps detection is about the flag rate "
        "under shift",
        (OURS, row_of("tcuq_paper"), row_of("tcuq_paper_no_conformal")),
        {
            "streams all": "streams audited",
            "violations all": "violations",
            "exceedance_deviation clean": "flag rate off its level by, clean",
            "exceedance_deviation worst": "off by, worst stream",
            "share_of_bound worst": "share of the proved bound, worst stream",
            "flag_rate unseen": "flag rate, unseen kinds",
            "flag_rate shifted": "flag rate, their shifted steps",
            "abstention_rate clean": "abstention rate, clean",
            "abstention_rate worst": "abstention rate, worst stream",
            "budget_share clean": "share of the budget, clean",
            "budget_share worst": "share of the budget, worst stream",
            "window_abstentions worst": "most abstentions in 100 steps",
            "window_bound all": "bound on those",
            "threshold_spread clean": "threshold, standard deviation on clean steps",
            "window_change first": "largest change of risk over windows 12 to 24",
        },
        dwells=PACES,
    ),
)
PAPER = {each.name: each for each in TABLES}
"""The tables by name."""
