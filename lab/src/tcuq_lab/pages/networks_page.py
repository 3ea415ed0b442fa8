"""The page of other networks: transformers, text and larger pictures, in one table."""

from __future__ import annotations

from .about import NEWER, OLDER, PARAGRAPHS, STREAMS
from .field import CONFIDENCE, OTHER_NETWORKS, PAGED, RISK, Field
from .grids import MADE, grid, page
from .numbers import around
from .wording import listed, named, took

COLUMNS = ("errors at 90 %", "error AUROC")
BACK = "[All results](../RESULTS.md)."


def networks_page(field: Field | None) -> str:
    """Return the page.

    Parameters
    ----------
    field : Field, optional
        None where it was not run.
    """
    out = [
        f"# {PAGED[OTHER_NETWORKS]}",
        MADE,
        PARAGRAPHS.get(OTHER_NETWORKS, ""),
    ]
    if field is None:
        return page([*out, "Not run yet. [LAB.md](../LAB.md) says how.", BACK])
    rows = []
    for network in field.tasks:
        right = field.look(network, "clean", CONFIDENCE, "accuracy")
        for law in field.laws(network, COLUMNS[1]):
            cells = []
            for column in COLUMNS:
                for row in (CONFIDENCE, RISK):
                    cells.append(around(field.look(network, law, row, column)))
                cells.append(around(field.pair(network, law, RISK, CONFIDENCE, column), signed=True))
            rows.append([named(network), around(right), law, *cells])
    head = ["network", "clean accuracy", "stream"]
    for words in ("errors left at 90 %", "error AUROC"):
        head += [f"{words}: confidence", "ours", "ours minus confidence"]
    notes = field.about.get("notes") or []
    return page(
        [
            *out,
            f"**Answer.** {answer(field)}",
            f"Run it again: `{field.about['command']}` ({took(field.seconds)}). {BACK}",
            NEWER if field.is_new else OLDER,
            grid(head, rows, len(head) - 3),
            "\u00b1: the longer side of a 95 % interval.",
            "\n".join(f"- {each}" for each in notes),
            "## How to read the streams",
            STREAMS,
        ]
    )


def answer(field: Field) -> str:
    """Return behind which networks the monitor is better than confidence, beyond the interval."""
    found: dict[str, list[str]] = {"better behind": [], "worse behind": [], "not settled for": []}
    for network in field.tasks:
        gap = field.pair(network, "class 16", RISK, CONFIDENCE, "error AUROC")
        if gap is not None:
            words = "better behind" if gap.low > 0 else "worse behind" if gap.high < 0 else "not settled for"
            found[words].append(named(network))
    parts = [f"{words} {listed(names)}" for words, names in found.items() if names]
    return f"Error AUROC against confidence at class 16: {'; '.join(parts) or 'not measured'}."
