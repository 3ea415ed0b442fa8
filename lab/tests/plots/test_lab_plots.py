"""Figures are written whole, the same bytes each time, and refuse what they cannot draw."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq_lab.comparison.records import record
from tcuq_lab.plots import (
    comparison_figure,
    risk_coverage_figure,
    save_figure,
    severity_figure,
    stream_figure,
)

RNG = np.random.default_rng(0)
STEPS = 400
KINDS = np.repeat([0, 1, 0, 2], 100)
RISK = RNG.random(STEPS) + 0.3 * (KINDS > 0)
RIGHT = RNG.random(STEPS) < np.where(KINDS > 0, 0.4, 0.9)


def a_stream() -> Any:
    return stream_figure(
        RISK,
        RIGHT,
        KINDS,
        names=("clean", "fog", "snow"),
        threshold=0.7,
        alarms=[120, 310],
        abstain=RISK > 0.9,
        accuracy_limit=0.7,
        m=20,
        segments=np.arange(STEPS) // 200,
        title="a stream",
    )


def a_comparison() -> Any:
    rows = [record("joint", name, "drop_auprc", "own/plain/all", x, 9, 0.3, x - 0.1, x + 0.1)
            for name, x in (("A", 0.5), ("B", 0.7))]  # fmt: skip
    return comparison_figure(rows, "drop_auprc", title="methods")


FIGURES = {
    "stream": a_stream,
    "bare stream": lambda: stream_figure(RISK, RIGHT),
    "comparison": a_comparison,
    "severity": lambda: severity_figure([1, 2, 3], {"A": [1, 2, 3], "B": [3, 2, 1]}, "delay (steps)",
                                        intervals={"A": ([0, 1, 2], [2, 3, 4])}, title="fog"),
    "risk and coverage": lambda: risk_coverage_figure({"A": (RISK, ~RIGHT), "B": (-RISK, ~RIGHT)}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, name: str, suffix: str) -> None:
    paths = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path in paths:
        save_figure(FIGURES[name](), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second and len(first) > 2000
    assert first.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    assert b"<dc:date>" not in first and b"Matplotlib v" not in first


def test_settings_of_the_reader_change_nothing_and_stay(tmp_path: Path) -> None:
    import matplotlib

    save_figure(a_comparison(), tmp_path / "a.svg")
    backend = matplotlib.rcParams._get_backend_or_none()  # type: ignore[attr-defined]
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
        save_figure(a_comparison(), tmp_path / "b.svg")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert matplotlib.rcParams._get_backend_or_none() == backend  # type: ignore[attr-defined]


def test_figures_do_without_pyplot() -> None:
    import subprocess

    code = "import sys, tcuq_lab.plots as p; p.stream_figure([0.1, 0.2], [1, 0], m=1); "
    code += "sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_drawn() -> None:
    upper, lower = a_stream().axes
    drawn = {text.get_text() for text in upper.get_legend().get_texts()}
    assert drawn == {"fog", "snow", "risk, mean of 20 steps", "threshold", "alarm", "abstained"}
    assert lower.get_xlabel() == "step" and lower.get_ylabel() == "accuracy"
    accuracy = lower.get_lines()[0].get_ydata()
    assert np.nanmin(accuracy) >= 0 and np.isnan(accuracy[200])  # a gap between segments
    (axis,) = a_comparison().axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["A", "B"]  # the best on top
    assert [text.get_text() for text in axis.texts] == ["prevalence"]
    rows = [record(s, "A", "drop_auroc", "v", x, 9) for s, x in (("one", 0.5), ("two", 0.7))]
    (axis,) = comparison_figure(rows, "drop_auroc").axes
    assert axis.get_lines()[-1].get_xdata()[0] == pytest.approx(0.6) and not axis.texts


def test_many_kinds_share_one_tint() -> None:
    upper = stream_figure(RISK, RIGHT, np.arange(STEPS) // 40, m=20).axes[0]
    drawn = [text.get_text() for text in upper.get_legend().get_texts()]
    assert drawn.count("shifted") == 1 and len(drawn) == 2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: stream_figure(RISK, RIGHT[:9]), "right has 9 entries, expected 400"),
        (lambda: stream_figure(RISK, RIGHT, KINDS[:9]), "kinds has 9 entries, expected 400"),
        (lambda: stream_figure(RISK, RIGHT, threshold=[1.0, 2.0]), "threshold has 2 entries"),
        (lambda: stream_figure(RISK, RIGHT, abstain=[True]), "abstain has 1 entries"),
        (lambda: stream_figure(RISK, RIGHT, alarms=[400]), r"alarms\[0\] is 400"),
        (lambda: stream_figure(RISK, RIGHT, alarms=[True, False]), "alarms has 2 entries, expected 400"),
        (
            lambda: stream_figure(RISK, RIGHT, alarms=[5.5]),
            "alarms has dtype float64, expected whole steps or a bool",
        ),
        (lambda: stream_figure(RISK, RIGHT, alarms=[float("nan")]), "alarms has dtype float64"),
        (lambda: stream_figure(RISK, RIGHT, alarms=["5"]), "alarms has dtype <U1"),
        (lambda: stream_figure(RISK, RIGHT, threshold=float("nan")), r"threshold\[0\] is nan"),
        (lambda: stream_figure(RISK, RIGHT, threshold=float("inf")), r"threshold\[0\] is inf"),
        (lambda: stream_figure(RISK, RIGHT, threshold="a"), "threshold has dtype <U1"),
        (lambda: stream_figure(RISK, RIGHT, title=3), "title is 3, expected text"),  # type: ignore[arg-type]
        (lambda: stream_figure([], []), "risk has 0 entries"),
        (lambda: comparison_figure([], "x"), "metric 'x', variant None has 0 records"),
        (
            lambda: comparison_figure([record("s", "A", "x", v, 1, 1) for v in "uv"], "x"),
            "has the variants u, v; name one",
        ),
        (
            lambda: comparison_figure([record("s", "A", "x", "v", float("inf"), 1)], "x"),
            "infinite value",
        ),
        (lambda: severity_figure([1, 2], {"A": [1]}, "x"), "values of A has 1 entries, expected 2"),
        (
            lambda: comparison_figure([record("j", "A", "x", "v", 1, 1, high=float("inf"))], "x"),
            "infinite value",
        ),
        (
            lambda: comparison_figure([record("s", "A", "x", "v", 1, 1)], "x", stream="pooled"),
            "metric 'x', variant None, stream 'pooled' has 0 records",
        ),
        (
            lambda: comparison_figure([record(s, "A", "x", "v", 1, 1) for s in ("pooled", "joint")], "x"),
            "metric 'x' has the streams joint, pooled; name one",
        ),
        (lambda: severity_figure([1, 2], {"A": ["x", "y"]}, "x"), "values of A has dtype <U1"),
        (lambda: severity_figure([1, 2], {"A": [[1, 2], [3, 4]]}, "x"), "values of A has 2 dimensions"),
        (lambda: severity_figure([1], {"A": [float("inf")]}, "x"), r"values of A\[0\] is inf"),
        (
            lambda: severity_figure([1], {"A": [1]}, "x", intervals={"A": (["x"], [1])}),
            "interval of A has dt",
        ),
        (
            lambda: severity_figure([1], {"A": [1]}, "x", intervals={"A": [1]}),  # type: ignore[dict-item]
            "interval of A is list, expected a pair of arrays",
        ),
        (lambda: severity_figure([1], {3: [1]}, "x"), "method is 3, expected text"),  # type: ignore[dict-item]
        (lambda: risk_coverage_figure({"A": [1, 2, 3]}), "A: the curve is list"),  # type: ignore[dict-item]
        (lambda: severity_figure([], {"A": []}, "x"), "0 severities, 1 methods"),
        (lambda: risk_coverage_figure({"A": ([1, 2], [True])}), "A: score has 2 entries, wrong has 1"),
        (lambda: risk_coverage_figure({}), "0 curves"),
        (lambda: save_figure(a_comparison(), "x.gif"), "ends in '.gif', expected .png or .svg"),
    ],
)
def test_errors_are_one_line(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_missing_matplotlib_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ImportError, match=r"^matplotlib is needed for figures: pip install 'tcuq-lab\[plots\]'$"
    ):
        stream_figure(RISK, RIGHT)


def test_alarms_are_steps_or_a_mask() -> None:
    def drawn(alarms: Any) -> Any:
        (line,) = (
            x for x in stream_figure(RISK, RIGHT, alarms=alarms).axes[0].get_lines() if x.get_marker() == "|"
        )
        return line.get_xdata().tolist()

    assert drawn([120, 310]) == drawn(np.isin(np.arange(STEPS), [120, 310])) == [120, 310]


@pytest.mark.parametrize(
    "name", ["_hidden", "a_b", "a $x$ b", "\\frac{ $ $", "\u65b9\u6cd5", "a\tb\x00", "="]
)
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    figures = [
        risk_coverage_figure({name: (RISK, ~RIGHT)}, title=name),
        severity_figure([1, 2], {name: [1, 2]}, name, title=name),
        stream_figure(RISK, RIGHT, KINDS, names=("clean", name, name), title=name),
        comparison_figure([record("s", name, name, name, 1, 1)], name, title=name),
    ]
    escaped = name.replace("\t", "\\t").replace("\x00", "\\x00")
    escaped = escaped.replace("\u65b9\u6cd5", "\\u65b9\\u6cd5")
    for number, figure in enumerate(figures):
        save_figure(figure, tmp_path / f"{number}.png")
        axis = figure.axes[0]
        legend = axis.get_legend()
        texts = legend.get_texts() if legend is not None else axis.get_yticklabels()
        assert escaped in [text.get_text() for text in texts]
        assert axis.get_title(loc="left") == escaped


def test_records_over_all_streams_are_never_averaged_with_others() -> None:
    rows = [
        record(s, "A", "delay_mean", "cusum/all", x, 9) for s, x in (("a", 10), ("b", 30), ("pooled", 29))
    ]

    def dot(rows: Any, **options: Any) -> float:
        return float(comparison_figure(rows, "delay_mean", **options).axes[0].get_lines()[-1].get_xdata()[0])

    assert dot(rows) == 20
    assert dot(rows, stream="pooled") == 29 and dot(rows, stream="b") == 30
    assert dot(rows[2:]) == 29
