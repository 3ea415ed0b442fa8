# SPDX-License-Identifier: MIT
"""Letters of drawings: a page shows an SVG as a picture, where its letters shrink with it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

LEAST = 12.0
"""Pixels of letters, as of all text of a page."""

SIZE = re.compile(r"font-size\s*[=:]\s*[\"']?([\d.]+)|\bfont\s*:\s*[^;}\"]*?([\d.]+)px")
WIDE = re.compile(r"viewBox=[\"']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)|<svg[^>]*\bwidth=[\"']([\d.]+)")


def smallest(text: str) -> float | None:
    """Return the size of the smallest letters of an SVG, as a share of its width; None without letters.

    Examples
    --------
    >>> smallest('<svg viewBox="0 0 700 90"><style>text{font:16px a}</style><text font-size="14">a</text>')
    0.02
    >>> smallest('<svg width="10"><path d="M0 0"/></svg>')
    """
    wide = WIDE.search(text)
    if "<text" not in text or wide is None:
        return None
    sizes = [float(one or other) for one, other in SIZE.findall(text)]
    return min(sizes, default=16.0) / float(wide[1] or wide[2])


def drawing_problems(shown: list[tuple[str, float]], folder: Path | None) -> list[str]:
    """Return which drawings have letters that are too small where they are shown.

    Parameters
    ----------
    shown
        Address of each picture of a page, and how many pixels wide it is there.
    folder
        The site; pictures outside of it are not looked at.
    """
    problems = []
    for url, wide in shown:
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        if folder is None or parts.scheme != "file" or folder not in path.resolve().parents:
            continue
        if path.suffix != ".svg" or not path.is_file():
            continue
        share = smallest(path.read_text(encoding="utf-8"))
        if share is not None and share * wide < LEAST - 0.05:
            problems.append(f"letters of {share * wide:.1f} px, expected {LEAST:g}: {path.name}")
    return list(dict.fromkeys(problems))
