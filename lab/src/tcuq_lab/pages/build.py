"""All pages from one folder of results."""

from __future__ import annotations

from pathlib import Path

from .content import Content
from .first_page import PLOT, first_page
from .overview_plot import COLORS, overview
from .paper_pages import paper_pages
from .stream_pages import stream_pages
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
    for name, text in {**stream_pages(content.fields), **paper_pages(content)}.items():
        pages[f"{FOLDER}/{name}"] = text
    return {**pages, HTML: viewer(content)}
