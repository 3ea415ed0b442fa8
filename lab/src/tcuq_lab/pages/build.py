"""All pages from one folder of results."""

from __future__ import annotations

from pathlib import Path

from .content import Content
from .field_pages import field_pages
from .first_page import PLOT, first_page
from .older_pages import older_pages
from .overview_plot import COLORS, overview
from .viewer import viewer

MARKDOWN, HTML, FOLDER = "RESULTS.md", "results.html", "results"


def build_pages(folder: str | Path) -> dict[str, str]:
    """Return the pages by file name: the first page, a folder of one for each experiment, the viewer.

    Parameters
    ----------
    folder : path
        With result files, `paper.json`, `claims.json` and `targets.json`.

    Returns
    -------
    dict of str to str
        Text of each page by its path below `docs/`: `RESULTS.md`, `results/overview.svg`, `results/NAME.md`
        for each experiment, `results.html`.
    """
    content = Content.of(folder)
    answers = content.fields.get("answers")
    pages = {MARKDOWN: first_page(content), PLOT: overview(answers)}
    for form in COLORS:
        pages[PLOT.replace(".svg", f"-{form}.svg")] = overview(answers, form)
    for name, text in {**field_pages(content.fields), **older_pages(content)}.items():
        pages[f"{FOLDER}/{name}"] = text
    return {**pages, HTML: viewer(content)}
