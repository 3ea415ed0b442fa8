"""How all figures look, and writing them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, which stay apart for color-blind readers; markers differ too."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":")
MUTED = "#555555"
GRID = "#E5E5E5"

STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "tcuq",
    "svg.fonttype": "path",
    "path.simplify": True,
    "text.parse_math": False,  # a dollar in a name is a dollar
}


@contextmanager
def style() -> Iterator[None]:
    """Use the look within a block, whatever the reader's own settings are; nothing stays changed."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("matplotlib is needed for figures: pip install matplotlib") from None
    # The backend would not be put back, and a figure with a canvas of its own needs none.
    defaults: dict[Any, Any] = {
        key: value
        for key, value in matplotlib.rcParamsDefault.items()
        if not key.startswith(("backend", "interactive"))
    }
    defaults.update(STYLE)
    with matplotlib.rc_context(defaults):
        yield


def new_figure(width: float, height: float, rows: Sequence[float] = (1,)) -> tuple[Figure, list[Axes]]:
    """Return a figure with axes below each other, heights in proportion to `rows`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(
        len(rows), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": list(rows)}
    )
    return figure, list(axes[:, 0])


def drawable(name: str, text: str) -> str:
    r"""Return a text with what the font lacks written as escapes, as Python would; other types are refused.

    Examples
    --------
    >>> drawable("title", "a $x_1$, \u65b9")
    'a $x_1$, \\u65b9'
    """
    from matplotlib.font_manager import findfont, get_font

    if not isinstance(text, str):
        raise ValueError(f"{name} is {text!r}, expected text")
    has = get_font(findfont(STYLE["font.family"])).get_charmap()
    return "".join(
        each if each == "\n" or ord(each) in has else each.encode("unicode_escape").decode() for each in text
    )


def labeled(text: str) -> str:
    """Return the label of a line; matplotlib leaves names with an underscore in front out of legends.

    `legend_beside` takes the mark away again.
    """
    return f"={text}"


def series(name: str, values: npt.ArrayLike, steps: int) -> npt.NDArray[np.float64]:
    """Return one number a step; NaN leaves a gap, infinite ones are refused.

    Examples
    --------
    >>> series("values of A", ["x", "y"], 2)
    Traceback (most recent call last):
    ...
    ValueError: values of A has dtype <U1, expected real numbers
    """
    raw = np.asarray(values)
    if raw.ndim != 1:
        raise ValueError(f"{name} has {raw.ndim} dimensions, expected 1")
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {raw.dtype}, expected real numbers")
    same_steps(name, raw, steps)
    array = raw.astype(np.float64)
    if np.isinf(array).any():
        at = int(np.isinf(array).argmax())
        raise ValueError(f"{name}[{at}] is {array[at]}, expected a finite number or NaN")
    return array


def same_steps(name: str, array: npt.NDArray[Any], steps: int) -> None:
    """Refuse an array of another length."""
    if len(array) != steps:
        raise ValueError(f"{name} has {len(array)} entries, expected {steps}")


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, by the ending of the name, whole or not at all, and without a date.

    Examples
    --------
    >>> from tcuq_lab.plots import severity_figure
    >>> save_figure(severity_figure([1, 2], {"entropy": [0.9, 0.8]}, "accuracy"), "severity.pdf")
    Traceback (most recent call last):
    ...
    ValueError: figure severity.pdf ends in '.pdf', expected .png or .svg
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".png", ".svg"):
        raise ValueError(f"figure {path} ends in {suffix!r}, expected .png or .svg")
    metadata = {"Software": None} if suffix == ".png" else {"Date": None, "Creator": None}
    content = io.BytesIO()
    with style():
        figure.savefig(content, format=suffix[1:], metadata=metadata)
    write_whole(path, content.getvalue())


def line_style(at: int) -> dict[str, Any]:
    """Return color and dashes of the line number `at`; the dashes change when colors come again."""
    return {"color": COLORS[at % len(COLORS)], "linestyle": LINES[at // len(COLORS) % len(LINES)]}


def legend_beside(axis: Axes) -> None:
    """Put the legend to the right of the data."""
    legend = axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    for text in legend.get_texts():
        text.set_text(text.get_text().removeprefix("="))
