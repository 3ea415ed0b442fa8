"""What the theme lacks for readers who use keys or a screen reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

AFTER_THEME = 900
"""Priority of a handler that runs when the theme has made its menu."""


def name_captions(
    app: Sphinx | None, name: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Make the captions of the menu plain text: as headings they have no level and come before the title.

    Examples
    --------
    >>> context = {"furo_navigation_tree": '<p class="caption" role="heading">Start</p>'}
    >>> name_captions(None, "index", "page.html", context, None)
    >>> context["furo_navigation_tree"]
    '<p class="caption">Start</p>'
    """
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(' role="heading"', "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_css_file("keyboard.css")
    app.add_js_file("keyboard.js")
    app.connect("html-page-context", name_captions, priority=AFTER_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
