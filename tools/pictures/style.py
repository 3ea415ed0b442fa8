"""One style for all pictures: colors, letters, strokes, corners, and how wide a text may be.

Colors are those of the report (src/tcuq/report/report.css), light and dark, but for `fall`, no state here.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"

LIGHT = {
    "page": "#f4f5f7", "card": "#ffffff", "ink": "#18202b", "muted": "#586374", "line": "#dce1e8",
    "risk": "#0068a8", "threshold": "#18202b", "abstain": "#cc4c02", "wrong": "#7a2a8c",
    "rise": "#b03a7c", "fall": "#00785a", "shift": "#d9a400", "plain": "#8a6d00",
}  # fmt: skip
DARK = {
    "page": "#10141a", "card": "#181e26", "ink": "#e8ecf2", "muted": "#a0acbb", "line": "#323c49",
    "risk": "#5bb6ee", "threshold": "#f2f4f8", "abstain": "#ff8f50", "wrong": "#d79be6",
    "rise": "#ee8fc2", "fall": "#35cfa2", "shift": "#e6bb3c", "plain": "#d9bd52",
}  # fmt: skip

WIDTH = 760
"""Of a drawing. A page shows it about 700 px wide, so a letter of 14 is one of 12.9 px there."""

SHOWN = 700
SMALLEST = 12
"""Pixels of the smallest letters where a drawing is shown that wide."""

TITLE, BODY, SMALL = 16, 14.5, 13.5
STROKE, CORNER, MARGIN = 1.5, 10, 12

SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'

# Widths of DejaVu Sans in 1/100 of the size, rounded up: no font above that is in common use is wider.
_GROUPS = {
    31: "ijl'",
    36: "IJ .,:;/|",
    42: "f!()[]-",
    46: "rt",
    53: 'sz"*_',
    56: "c?",
    60: "kvxyL",
    65: "abdeghnopquEFPSTY0123456789$",
    70: "ABCKRVXZ",
    77: "DHNU",
    84: "wGOQ+=<>&",
    100: "mMW%@",
}
_WIDTHS = {letter: wide / 100 for wide, letters in _GROUPS.items() for letter in letters}
_BOLD = 1.13


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Return a width that a text does not exceed in the fonts in use.

    Examples
    --------
    >>> text_width("fit", 10), text_width("fit", 10, mono=True)
    (11.9, 18.6)
    """
    if mono:
        return round(0.62 * size * len(text), 2)
    return round(sum(_WIDTHS.get(letter, 1.0) for letter in text) * size * (_BOLD if bold else 1), 2)


def _rules(colors: dict[str, str]) -> str:
    """Return a fill and a stroke for each color."""
    return "".join(f".{name}{{fill:{color}}}.s-{name}{{stroke:{color}}}" for name, color in colors.items())


def style_sheet(form: str) -> str:
    """Return the style of a drawing."""
    shared = (
        f"text{{font-family:{SANS};font-variant-numeric:tabular-nums}}.mono{{font-family:{MONO}}}"
        ".bold{font-weight:650}.open{fill:none}.tint{fill-opacity:.12}.half{fill-opacity:.4}"
        f".stroke{{stroke-width:{STROKE};stroke-linejoin:round}}.dashed{{stroke-dasharray:5 4}}"
    )
    if form == "auto":
        return f"{shared}{_rules(LIGHT)}@media(prefers-color-scheme:dark){{{_rules(DARK)}}}"
    return shared + _rules({"light": LIGHT, "dark": DARK}[form])
