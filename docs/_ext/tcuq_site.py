"""The Sphinx extension of this site: pages of the checkout as they are, and pages made from code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from site_api import api_page
from site_c_page import errors_page, header_page
from site_commands import command_at, commands_page
from site_links import Links, included, page_map
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = re.compile(r"(?m)^<!-- made: (\w+) (.*?) -->$")
logger = logging.getLogger(__name__)


def made(kind: str, words: list[str]) -> str:
    """Return what stands for the comment ``<!-- made: kind words -->`` of a page.

    Parameters
    ----------
    kind : str
        ``api``, ``commands``, ``header`` or ``errors``.
    words : list of str
        A module and names of it; a program and the words of a command; a path in the checkout.
    """
    if kind == "api":
        return api_page(words[0], words[1:])
    if kind == "header":
        return header_page(ROOT / words[0])
    if kind == "errors":
        return errors_page(ROOT / words[0])
    if kind == "commands":
        from tcuq.cli import build_parser as product
        from tcuq_lab.cli import build_parser as lab

        parser = product() if words[0] == "tcuq" else lab()
        return commands_page(command_at(parser, words[1:]), deep=words != ["tcuq"])
    raise ValueError(f"{kind} is not made here, expected api, commands, header or errors")


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Turn the text of a page into that of the site."""
    page = Path(app.env.doc2path(name))
    home = page
    text = source[0]
    other = included(text, page)
    if other is not None:
        home, text = other, other.read_text(encoding="utf-8")
        app.env.note_dependency(str(other))
    pages: dict[Path, Path] = getattr(app.env, "tcuq_pages")  # noqa: B009 (of this extension)
    links = Links(ROOT, pages, app.config.tcuq_repository, app.config.tcuq_tag)
    text = links.rewrite(text, home, page)
    for each in links.missing:
        logger.warning(each, location=name, type="tcuq", subtype="link")
    if MADE.search(text):
        app.env.note_reread()  # what it is made from may change without the page
    text = MADE.sub(lambda found: _made(found[1], found[2].split(), name), text)
    children = app.config.tcuq_children.get(name)
    if children:
        text += "\n".join(["", "```{toctree}", ":hidden:", ":glob:", "", *children, "```", ""])
    source[0] = text


def _made(kind: str, words: list[str], name: str) -> str:
    try:
        return made(kind, words)
    except ValueError as error:
        logger.warning(error, location=name, type="tcuq", subtype="made")
        return ""


def find_pages(app: Sphinx, env: Any, *_: Any) -> None:
    """Learn which files of the checkout are pages of the site."""
    left_out = {DOCS / name for name in app.config.exclude_patterns}
    env.tcuq_pages = {path: page for path, page in page_map(DOCS).items() if page not in left_out}


def add_versions(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the sidebar the releases."""
    context["tcuq_versions"] = json.loads((DOCS / "versions.json").read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is above with Sphinx."""
    app.add_config_value("tcuq_repository", "", "env")
    app.add_config_value("tcuq_tag", "", "env")
    app.add_config_value("tcuq_children", {}, "env")
    app.connect("env-before-read-docs", find_pages)
    app.connect("source-read", read)
    app.connect("html-page-context", add_versions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
