"""Markdown tables, and pages of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `tcuq-lab results --write` from the files in lab/results. -->"
MOST_LINES = 300
"""Lines of a page that a person still reads."""


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table; the last so many columns are numbers."""
    align = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(parts: Iterable[str]) -> str:
    """Return parts as a page, with an empty line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


def length(parts: Sequence[str]) -> int:
    """Return the lines of a page of some parts.

    Examples
    --------
    >>> length(["a", "b"]) == len(page(["a", "b"]).splitlines())
    True
    """
    return sum(part.count("\n") + 2 for part in parts if part) - 1


def paged(
    name: str, head: Sequence[str], sections: Iterable[Sequence[str]], made: str = ""
) -> dict[str, str]:
    r"""Return pages of at most `MOST_LINES` lines that hold sections whole and in order.

    Parameters
    ----------
    name : str
        Of the first page, without its ending; the others are NAME_2 and so on.
    head : sequence of str
        Parts of the first page in front of all sections; its first is the title, which others repeat.
    sections : iterable of sequences of str
    made : str
        A comment below every title.

    Examples
    --------
    >>> list(paged("drop", ["# Drop"], [["a"], ["b\n" * 200], ["c\n" * 200]]))
    ['drop.md', 'drop_2.md']
    """
    pages: list[list[str]] = [[head[0], made, *head[1:]]]
    room = MOST_LINES - 2  # for the line that leads to the next page
    for section in sections:
        if length([*pages[-1], *section]) > room and len(pages[-1]) > 2:
            pages.append([f"{head[0]}, page {len(pages) + 1}", made])
        pages[-1] += section
    names = [name if number == 0 else f"{name}_{number + 1}" for number in range(len(pages))]
    for number, after in enumerate(names[1:]):
        pages[number].append(f"Goes on: [page {number + 2}]({after}.md).")
    return {f"{each}.md": page(parts) for each, parts in zip(names, pages, strict=True)}
