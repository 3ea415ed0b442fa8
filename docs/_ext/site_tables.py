"""Tables and pictures on a narrow page: what is wide is marked, the style does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docutils.nodes import document
    from sphinx.application import Sphinx

LONG, LONGER = 24, 90
"""Letters of the longest cell of a column from which on its lines need room."""

NAME, MANY = 28, 4
"""Most letters of names that may stay in sight while a table of that many columns scrolls."""


def column_classes(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the class of each column, or nothing.

    Parameters
    ----------
    columns : sequence
        The texts of the cells of each column.

    Examples
    --------
    >>> column_classes([["tcuq", "CUSUM"], ["x" * 30], ["x" * 200], [".993"]])
    ['row-name', 'long', 'long longer', '']
    >>> column_classes([["tcuq"], ["x" * 200]])
    ['', 'long']
    """
    most = [max(map(len, cells), default=0) for cells in columns]
    classes = []
    for at, letters in enumerate(most):
        if at == 0 and letters <= NAME and len(columns) >= MANY:
            classes.append("row-name")
        elif letters > LONGER and len(columns) > 2:
            classes.append("long longer")
        elif letters > LONG:
            classes.append("long")
        else:
            classes.append("")
    return classes


def mark(app: Sphinx, doctree: document) -> None:
    """Mark columns of tables, and paragraphs that are a picture."""
    from docutils import nodes

    def text(cell: nodes.entry) -> str:
        """Return what a cell counts as: a picture needs room as a sentence does, a heading may wrap more."""
        if next(iter(cell.findall(nodes.image)), None):
            return "x" * LONGER
        said = cell.astext()
        return said[: len(said) // 2] if isinstance(cell.parent.parent, nodes.thead) else said

    for group in doctree.findall(nodes.tgroup):
        rows = [
            [cell for cell in row.children if isinstance(cell, nodes.entry)]
            for row in group.findall(nodes.row)
        ]
        if len({len(row) for row in rows}) != 1:
            continue  # a cell spans columns
        columns = list(zip(*rows, strict=True))
        named = column_classes([[text(cell) for cell in column] for column in columns])
        for column, classes in zip(columns, named, strict=True):
            for cell in column:
                cell["classes"] += classes.split()
    for paragraph in doctree.findall(nodes.paragraph):
        inside = [one for one in paragraph.children if isinstance(one, nodes.image) or one.astext().strip()]
        pictures = [one for one in inside if isinstance(one, nodes.image)]
        if not pictures or pictures != inside:
            continue
        if isinstance(paragraph.parent, nodes.entry):
            for picture in pictures:
                picture["width"] = "100%"  # Sphinx links what it scales to its full size
        else:
            paragraph["classes"].append("picture")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
