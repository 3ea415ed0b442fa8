"""All pages from one folder of results."""

from __future__ import annotations

from pathlib import Path

from .figures import load
from .first import first_page, gain_block, overview
from .losses import comparisons, losses, losses_csv
from .paper import paper_page
from .plots import FORMS, PLOTS, Picture
from .streams import accuracy_page, alarms_page, answers_page

MARKDOWN, FOLDER = "RESULTS.md", "results"
README, BEGIN, END = "../README.md", "<!-- gain: begin -->", "<!-- gain: end -->"
PLOT = f"{FOLDER}/overview.svg"


def build_readme(folder: str | Path, text: str) -> str:
    """Return README with the figures of the result files between its marks; without marks, as it is."""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        return text
    return f"{before}{BEGIN}\n{gain_block(load(folder))}\n{END}{after}"


def build_pages(folder: str | Path) -> dict[str, str | Picture]:
    """Return the pages, plots and tables by file name; plots are not drawn yet."""
    sources = load(folder)
    compared = comparisons(sources)
    answers = sources.fields["answers"]
    pages: dict[str, str | Picture] = {MARKDOWN: first_page(sources, compared), PLOT: overview(answers)}
    for form in FORMS:
        pages[PLOT.replace(".svg", f"-{form}.svg")] = overview(answers, form)
    for name, make in (
        ("answers.md", answers_page),
        ("alarms.md", alarms_page),
        ("accuracy.md", accuracy_page),
        ("paper.md", paper_page),
    ):
        pages[f"{FOLDER}/{name}"] = make(sources)
    pages |= {f"{FOLDER}/{name}": draw(sources) for name, draw in PLOTS.items()}
    return {**pages, f"{FOLDER}/losses.csv": losses_csv(losses(compared))}
