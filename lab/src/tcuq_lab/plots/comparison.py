"""Methods beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics import risk_coverage

from ..comparison.records import TOGETHER, Record, mean_over, pick
from ..detection.events import finite
from .style import (
    COLORS,
    GRID,
    MARKERS,
    MUTED,
    drawable,
    labeled,
    legend_beside,
    line_style,
    new_figure,
    series,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 2000
SHORT = {"auprc": "AUPRC", "auroc": "AUROC", "fpr95": "FPR at 95 % TPR", "aurc": "AURC"}
LONG = {"own": "own predictions", "base": "base predictions", "all": "all kinds", "seen": "seen kinds",
        "unseen": "unseen kinds"}  # fmt: skip


def label_of(metric: str, variant: str) -> str:
    """Return the words for a metric and its variant.

    Examples
    --------
    >>> label_of("drop_auprc", "own/smoothed/all")
    'drop AUPRC (own predictions, smoothed, all kinds)'
    >>> label_of("delay_mean", "cusum/all")
    'delay mean (steps; cusum, all kinds)'
    """
    words = " ".join(SHORT.get(part, part) for part in metric.split("_"))
    detail = ", ".join(LONG.get(part, part) for part in variant.split("/") if part)
    unit = "steps; " if metric.startswith(("delay", "run_length")) else ""
    return f"{words} ({unit}{detail})"


def comparison_figure(
    records: Sequence[Record],
    metric: str,
    variant: str | None = None,
    *,
    stream: str | None = None,
    title: str = "",
) -> Figure:
    """Compare methods on one metric: a dot a method, sorted, with its interval where the records have one.

    Examples
    --------
    >>> from tcuq_lab.comparison.records import record
    >>> rows = [record("fog", name, "drop_auprc", "own/raw/all", value, 900)
    ...         for name, value in (("entropy", 0.4), ("tcuq", 0.6))]
    >>> figure = comparison_figure(rows, "drop_auprc")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['entropy', 'tcuq']
    """
    chosen = [row for row in pick(records, metric=metric) if not math.isnan(row["value"])]
    if variant is not None:
        chosen = pick(chosen, variant=variant)
    chosen = _of_streams(chosen, metric, stream)
    variants = sorted({row["variant"] for row in chosen})
    if not chosen:
        where = "" if stream is None else f", stream {stream!r}"
        raise ValueError(f"metric {metric!r}, variant {variant!r}{where} has 0 records, expected at least 1")
    if len(variants) > 1:
        raise ValueError(f"metric {metric!r} has the variants {', '.join(variants)}; name one of them")
    if any(math.isinf(row[key]) for row in chosen for key in ("value", "low", "high")):
        raise ValueError(f"metric {metric!r} has an infinite value, expected finite ones")
    apart = ("stream", "method") if chosen[0]["stream"] in TOGETHER else ("method",)
    means = sorted(mean_over(chosen, apart), key=lambda row: (row["value"], row["method"]))
    with style():
        figure, (axis,) = new_figure(7.5, 1.3 + 0.32 * len(means))
        for at, row in enumerate(means):
            single = pick(chosen, method=row["method"])
            color = COLORS[0]
            if len(single) == 1:
                low, high = single[0]["low"], single[0]["high"]
                if not (math.isnan(low) or math.isnan(high)):
                    axis.hlines(at, low, high, color=color, linewidth=2.0, alpha=0.55)
            else:
                each = [row["value"] for row in single]
                axis.plot(
                    each, [at] * len(each), "o", color=color, alpha=0.3, markersize=4, markeredgewidth=0
                )
            axis.plot([row["value"]], [at], "o", color=color, markersize=6.5, markeredgecolor="white")
        shares = [row["prevalence"] for row in chosen if not math.isnan(row["prevalence"])]
        if shares and metric.endswith(("auprc", "lift")):
            share = 0.0 if metric.endswith("lift") else sum(shares) / len(shares)
            axis.axvline(share, color="#000000", linewidth=1.0, linestyle=(0, (4, 2)))
            axis.annotate(
                "chance" if metric.endswith("lift") else "prevalence",
                (share, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=MUTED,
            )
        axis.set_yticks(range(len(means)), [drawable("method", row["method"]) for row in means])
        axis.tick_params(axis="y", length=0, labelcolor="#000000")
        axis.set_ylim(-0.6, len(means) - 0.4)
        axis.grid(axis="x", color=GRID, linewidth=0.8)
        axis.set_xlabel(drawable("metric", label_of(metric, variants[0])))
        if title:
            axis.set_title(drawable("title", title), pad=14)
    return figure


def _of_streams(records: Sequence[Record], metric: str, stream: str | None) -> list[Record]:
    """Return the records of one stream, or of all single ones; never both kinds, which say the same twice."""
    if stream is not None:
        return pick(records, stream=stream)
    single = [row for row in records if row["stream"] not in TOGETHER]
    found = {row["stream"]: row for row in records}
    if not single and len(found) > 1:
        raise ValueError(f"metric {metric!r} has the streams {', '.join(sorted(found))}; name one of them")
    return single or list(records)


def severity_figure(
    severities: npt.ArrayLike,
    values: Mapping[str, npt.ArrayLike],
    metric: str,
    *,
    intervals: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] | None = None,
    title: str = "",
) -> Figure:
    """Draw a metric against severity, a line a method.

    Examples
    --------
    >>> figure = severity_figure([1, 3, 5], {"entropy": [0.9, 0.8, 0.6]}, "accuracy")
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['1', '3', '5']
    """
    at = finite("severities", severities)
    if not len(at) or not values:
        raise ValueError(f"there are {len(at)} severities, {len(values)} methods, expected 1 or more of each")
    with style():
        figure, (axis,) = new_figure(6.5, 3.6)
        for i, (method, found) in enumerate(values.items()):
            line, name = series(f"values of {method}", found, len(at)), drawable("method", method)
            looks: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "markersize": 5, "linewidth": 1.4}
            axis.plot(at, line, **line_style(i), **looks, label=labeled(name))
            if intervals is not None and method in intervals:
                low, high = (
                    series(f"interval of {method}", end, len(at))
                    for end in _pair(f"interval of {method}", intervals[method])
                )
                axis.fill_between(at, low, high, color=line_style(i)["color"], alpha=0.15, linewidth=0)
        axis.set_xticks(at.tolist())
        axis.set_xticklabels([f"{value:g}" for value in at.tolist()])
        axis.set_xlabel("severity")
        axis.set_ylabel(drawable("metric", metric))
        axis.grid(axis="y", color=GRID, linewidth=0.8)
        legend_beside(axis)
        if title:
            axis.set_title(drawable("title", title))
    return figure


def _pair(name: str, given: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError(f"{name} is {type(given).__name__}, expected a pair of arrays")
    return given[0], given[1]


def risk_coverage_figure(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]], *, title: str = ""
) -> Figure:
    """Draw the error rate among the steps kept against the share kept, a line a method.

    Examples
    --------
    >>> figure = risk_coverage_figure({"entropy": ([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 0])})
    >>> figure.axes[0].lines[0].get_xdata().tolist()
    [25.0, 50.0, 75.0, 100.0]
    """
    if not curves:
        raise ValueError("there are 0 curves, expected at least 1")
    with style():
        figure, (axis,) = new_figure(6.5, 3.6)
        for i, (method, found) in enumerate(curves.items()):
            try:
                curve = risk_coverage(*_pair("the curve", found))
            except ValueError as error:
                raise ValueError(f"{method}: {error}") from None
            # Few points say the same; the last one is the error rate of all steps.
            kept = np.unique(np.linspace(0, len(curve.error) - 1, MOST_POINTS).round().astype(int))
            share, wrong_share = 100 * curve.coverage[kept], 100 * curve.error[kept]
            axis.plot(
                share, wrong_share, **line_style(i), linewidth=1.4, label=labeled(drawable("method", method))
            )
        axis.set_xlim(0, 100)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("steps kept, safest first (%)")
        axis.set_ylabel("wrong among them (%)")
        axis.grid(color=GRID, linewidth=0.8)
        legend_beside(axis)
        if title:
            axis.set_title(drawable("title", title))
    return figure
