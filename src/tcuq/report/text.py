"""Numbers and words as the report prints them, and the HTML around them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

NBSP = "\u00a0"
MINUS = "\u2212"
DASH = "\u2013"


def escape(text: object) -> str:
    """Return text that is safe inside elements and quoted attributes."""
    return html.escape(str(text), quote=True)


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, with a space that does not break."""
    return f"{100 * share:.{digits}f}{NBSP}%"


def aim(share: float) -> str:
    """Return a set value in percent, without digits that were never given."""
    return f"{100 * share:.4g}{NBSP}%"


def count(number: int) -> str:
    """Return a whole number with separators."""
    return f"{number:,}"


def decimal(value: float, digits: int = 3) -> str:
    """Return a number with a real minus sign and no negative zero."""
    shown = f"{value:.{digits}f}"
    return shown.replace("-", MINUS) if shown.strip("-0.") else shown.lstrip("-")


def short(value: float) -> str:
    """Return a number with up to four digits that mean something."""
    return f"{value:.4g}".replace("-", MINUS)


def times(number: int) -> str:
    """Return how often, in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number:,} times")


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Return a legend; each item is a kind of swatch and its words."""
    parts = (f'<li><i class="key {kind}"></i>{escape(words)}</li>' for kind, words in items)
    return f'<ul class="legend">{"".join(parts)}</ul>'


def section(name: str, heading: str, lead: str, body: str) -> str:
    """Return a section with a heading and a sentence about it."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{escape(heading)}</h2>'
        f'<p class="lead">{escape(lead)}</p>{body}</section>'
    )


def folded(heading: str, body: str) -> str:
    """Return sections that are closed at first."""
    return f'<details class="experts"><summary>{escape(heading)}</summary>{body}</details>'


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], name: str = "numbers") -> str:
    """Return a table; cells are HTML, the first of a row is its heading. Narrow screens show `cards`."""
    labels = [f' data-label="{escape(title)}"' * ("cards" in name) for title in titles[1:]]
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in titles)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{label}>{cell}</td>" for label, cell in zip(labels, row[1:], strict=False))
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
        f'<table class="{name}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def keyed(key: str, words: str) -> str:
    """Return a number with a name that scripts and tests can find it by."""
    return f'<span data-key="{key}">{escape(words)}</span>'


def tile(name: str, value: str, key: str, note: str) -> str:
    """Return a key figure."""
    return (
        f"<div><dt>{escape(name)}</dt><dd><b>{keyed(key, value)}</b><small>{escape(note)}</small></dd></div>"
    )


def fact(words: str) -> str:
    """Return a remark; the words are HTML."""
    return f'<p class="fact">{words}</p>'


def figure(caption: str, body: str) -> str:
    """Return a figure with its caption."""
    return f"<figure><figcaption>{caption}</figcaption>{body}</figure>"


def pair(*parts: str) -> str:
    """Return parts that stand side by side where there is room."""
    return f'<div class="pair">{"".join(parts)}</div>'
