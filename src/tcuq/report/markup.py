"""Small pieces of the HTML of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .text import escape


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


def table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str = "numbers") -> str:
    """Return a table; cells are HTML, the first of a row is its heading."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
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
