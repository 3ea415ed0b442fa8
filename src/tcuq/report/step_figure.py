"""One picture of a run: an SVG that stands alone, for notebooks and files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.atomic_files import write_whole
from ..base.errors import InputError
from ..base.texts import text_of
from ..log.log import Log
from .data import FALL, RISE, SHIFTED, checked, flag_bits, kind_changes
from .outcome import WINDOW, accuracy_plot, recent_accuracy
from .plot import HATCHES, TIMELINE_CELLS, Axis, Plot, lane_plots, risk_plot, risk_top, steps_axis
from .text import count, escape

WIDTH, LEFT, RIGHT = 880, 78, 22
"""Of the picture, and of the room beside its plots, in pixels."""

RISK, ACCURACY, LANE, GAP = 220, 112, 12, 16
"""Heights of the plots and between them, in pixels."""

LETTER = 6.3
"""Width of a letter of the legend, about, in pixels; fonts differ."""


class StepsFigure:
    """A figure that a notebook shows by itself.

    Parameters
    ----------
    svg : str
        The picture. It needs no other file and follows the light or dark setting of the viewer.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return 'StepsFigure: a notebook shows it, .save("steps.svg") writes it'

    def save(self, path: str | Path) -> None:
        """Write the picture as an SVG file, whole or not at all.

        Parameters
        ----------
        path : path
            File to write; it ends in ``.svg``.
        """
        if Path(path).suffix.lower() != ".svg":
            raise InputError("value", f"{path}: a figure is written as .svg")
        write_whole(path, self.svg.encode())


def plot_steps(steps: npt.NDArray[Any], log: Log | None = None, title: str | None = None) -> StepsFigure:
    """Draw risk, threshold, abstentions, alarm and expected accuracy over the steps of a run.

    Parameters
    ----------
    steps : array of `tcuq.STEP_DTYPE`
        As `Monitor.run` gives it.
    log : Log, optional
        The input of the run: adds known shifts, segments and, with labels, wrong answers and true accuracy.
    title : str, optional
        Written above the picture.

    Returns
    -------
    StepsFigure
        A notebook shows it by itself; ``.save("steps.svg")`` writes it.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> figure = plot_steps(Monitor(Params(classes=3)).run(np.full((50, 3), 1 / 3)), title="Door 2")
    >>> "Door 2" in figure.svg and figure.svg.startswith("<svg")
    True
    """
    rows, _ = checked(steps, None, log, None)
    told = log is not None and log.labels is not None and not log.unlabeled
    wrong = np.asarray(rows["answer"] != log.labels) if log is not None and told else None
    bits = flag_bits(rows, log)
    width = WIDTH - LEFT - RIGHT
    axis = steps_axis(len(rows), 0)
    top = risk_top(rows)
    bare = Axis(0, len(rows), ticks=axis.ticks)
    panels = [risk_plot(rows, log, top, bare, width, RISK)]
    shown = np.isfinite(rows["expected_accuracy"]).all()
    if shown:
        recent = None if wrong is None else recent_accuracy(wrong)
        panels.append(accuracy_plot(rows["expected_accuracy"], recent, bare, width, ACCURACY, 4))
        panels[-1].y = replace(panels[-1].y, label="expected accuracy")
    shifts = bool((bits & SHIFTED).any())
    lanes = lane_plots(bits, wrong, bare, kind_changes(log) if shifts else None, width, LANE)
    keys = [("line risk", "risk"), ("line threshold", "threshold")]
    if len(rows) > TIMELINE_CELLS:
        keys[:1] = [("line risk", "risk, mean"), ("fill risk", "risk, range")]
    if len(rows) <= TIMELINE_CELLS and rows["abstain"].any():
        keys.append(("dots abstain", "ask"))
    keys += [("fill in-rise", "alarm: risen")] * bool((bits & RISE).any())
    keys += [("fill in-fall", "alarm: fallen")] * bool((bits & FALL).any())
    keys += [("fill shift tint", "known shift")] * shifts
    if shown and wrong is not None:
        keys.append(("line plain", f"true accuracy, last {WINDOW} steps"))
    return StepsFigure(_picture(panels, lanes, axis, keys, title or f"{count(len(rows))} steps"))


def _picture(
    panels: list[Plot], lanes: list[Plot], axis: Axis, keys: list[tuple[str, str]], title: str
) -> str:
    """Put plots, words and legend together."""
    parts = [f'<text class="title" x="{LEFT}" y="30">{escape(title)}</text>']
    legend, down = _legend(keys, 52)
    parts.append(legend)
    for plot in panels:
        parts.append(f'<svg x="{LEFT}" y="{down}" class="area">{plot.drawing()}</svg>')
        for at, text in plot.y.marks():
            parts.append(_text(LEFT - 8, down + (1 - at) * plot.height + 4, text, "end"))
        middle = down + plot.height / 2
        turned = f'transform="rotate(-90 18 {middle:g})"'
        parts.append(_text(18, middle + 4, plot.y.label, "middle", turned))
        down += int(plot.height) + GAP
    for plot in lanes:
        back = f'<rect class="lane" x="{LEFT}" y="{down}" width="{plot.width:g}" height="{LANE}"/>'
        parts.append(f'{back}<svg x="{LEFT}" y="{down}" class="area">{plot.drawing()}</svg>')
        parts.append(_text(LEFT - 8, down + LANE - 2, plot.y.label, "end"))
        down += LANE + 5
    down += 12
    width = WIDTH - LEFT - RIGHT
    parts += [_text(LEFT + at * width, down, text, "middle") for at, text in axis.marks()]
    down += 20
    parts.append(_text(LEFT + width / 2, down, axis.label, "middle"))
    height = down + 14
    said = f"{title}. Risk, threshold, abstentions, alarm and expected accuracy over steps."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tcuq-steps" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(said)}" '
        f'style="max-width:100%;height:auto"><style>{_style()}</style>{HATCHES}'
        f'<rect class="card" width="{WIDTH}" height="{height}" rx="10"/>{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def _legend(keys: list[tuple[str, str]], down: int) -> tuple[str, int]:
    """Return the legend, in as many lines as it needs, and where the plots may begin."""
    parts, across = [], float(LEFT)
    for kind, words in keys:
        needed = 26 + LETTER * len(words) + 16
        if across + needed > WIDTH - RIGHT and across > LEFT:
            across, down = float(LEFT), down + 20
        shape = {"line": "M0 0h20", "dots": "M10 0h0"}.get(kind.split()[0], "M0 -6h20v12h-20z")
        parts.append(f'<path class="{kind}" transform="translate({across:g} {down - 4})" d="{shape}"/>')
        parts.append(_text(across + 26, down, words, "start"))
        across += needed
    return "".join(parts), down + 16


def _style() -> str:
    """Return the colors and strokes of the report, with plain values: a file must do without variables."""
    css = text_of("report/report.css")
    rules = re.findall(r"^svg ((?:path|rect|\.)[^{]*\{[^}]*\})", css, re.M)
    own = (
        ".card { fill: var(--card); }",
        ".lane { fill: var(--line); fill-opacity: .45; }",
        ".area { overflow: visible; }",
        "text { fill: var(--muted); font: 12px system-ui, -apple-system, 'Segoe UI', Arial, sans-serif; }",
        ".title { fill: var(--ink); font-size: 16px; font-weight: 600; }",
    )
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)", 1)
    styles = []
    for block in (light, dark):
        colors = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block.split("\n}", 1)[0]))
        text = "".join(f".tcuq-steps {rule}" for rule in (*rules, *own))
        for name, value in colors.items():
            text = text.replace(f"var(--{name})", value)
        styles.append(text)
    return f"{styles[0]}@media (prefers-color-scheme: dark) {{{styles[1]}}}"
