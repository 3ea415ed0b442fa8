"""Both pages from one folder of results."""

from __future__ import annotations

from pathlib import Path

from .content import Content
from .html import html
from .markdown import markdown

MARKDOWN, HTML = "RESULTS.md", "results.html"


def build_pages(folder: str | Path) -> dict[str, str]:
    """Return the pages by file name.

    Parameters
    ----------
    folder : path
        With result files, `paper.json`, `claims.json` and `targets.json`.
    """
    content = Content.of(folder)
    return {MARKDOWN: markdown(content, HTML), HTML: html(content)}
