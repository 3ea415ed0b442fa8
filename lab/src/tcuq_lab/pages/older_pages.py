"""A page for each experiment that repeats one of the paper: question, answer, tables, command."""

from __future__ import annotations

import math

from .about import OLDER, PARAGRAPHS, READING
from .claim_lines import PLAIN, SATURATED, TITLE, VACUOUS, claims_table, prevalence
from .content import Content, claimed
from .field import RISK
from .figures import PAIRED, Figure, Found
from .grids import MADE, grid, page, paged
from .paper import Paper
from .tables import FULL_DWELL, OURS, Cell, Table, notes, tables
from .wording import between, listed, named, sense, shown, took

BACK = "[All results](../RESULTS.md)."


def older_pages(content: Content) -> dict[str, str]:
    """Return the pages by file name.

    Parameters
    ----------
    content : Content
    """
    pages: dict[str, str] = {}
    for name, found in content.found.items():
        pages |= experiment_pages(name, found, content.paper)
    return pages | {"claims.md": claims_page(content), "paper.md": alone_page(content)}


def claims_page(content: Content) -> str:
    """Return the page of what the paper claims, with a verdict each."""
    rows = claims_table(content.claims_judged, claimed(content.found, content.fields), content.paper)
    return page([f"# {TITLE}", MADE, f"{content.claims.about} {OLDER} {BACK}", *rows])


def alone_page(content: Content) -> str:
    """Return the page of what the paper printed and no result here stands beside."""
    rows = [
        [
            part.where,
            named(part.task),
            part.column,
            ", ".join(f"`{row}` {value:g}" for row, value in part.rows.items()),
        ]
        for part in content.alone
    ]
    head = [
        "# Figures of the paper without a counterpart",
        MADE,
        "Printed there, and not among the results here: not run, or not possible with the data at hand. "
        f"{BACK}",
        content.paper.about,
    ]
    return page([*head, grid(["where", "data", "figure", "printed"], rows) if rows else "There are none."])


def experiment_pages(name: str, found: Found, paper: Paper) -> dict[str, str]:
    """Return the page of an experiment, or several where one would be too long."""
    head = [
        f"# {found.title}",
        PARAGRAPHS.get(name, ""),
        f"**Answer.** {answer(found)}",
        f"Paper: {found.paper}." if found.paper else "",
        f"Run it again: `{found.command}` ({took(found.seconds)}). {BACK}",
        OLDER if any(row.startswith(RISK) for row in found.rows) else "",
        *cautions(found),
    ]
    full = FULL_DWELL if FULL_DWELL in found.dwells else found.dwells[0]
    sections = []
    for dwell in sorted(found.dwells, key=lambda each: each != full):
        for task in found.tasks:
            for table in tables(found, paper, task, dwell):
                where = named(task) if len(found.dwells) == 1 else f"{named(task)}, dwell {dwell:g}"
                where += ", differences" if table.paired else ""
                sections.append([f"**{where}**", _table(table)])
    beside = notes(found, paper)
    if beside:
        sections.append(["Beside the paper's figures:", "\n".join(f"- {remark}." for remark in beside)])
    sections.append([f"How to read: {READING}"])
    versions = ", ".join(f"{each} {number}" for each, number in found.versions.items())
    sections.append([f"Versions: {versions}."])
    return paged(name, head, sections, MADE)


def cautions(found: Found) -> list[str]:
    """Return where figures of an experiment say little: most steps are events, or no room is left."""
    out = []
    shares = {task: [prevalence(found, task, dwell) for dwell in found.dwells] for task in found.tasks}
    most = [
        f"{named(task)} {shown(max(values))}"
        for task, values in shares.items()
        if any(value > VACUOUS for value in values)
    ]
    if most:
        out.append(f"An AUPRC of drops says little where most steps are events: {listed(most)}.")
    full = [
        f"{column} on {named(task)}"
        for column in found.columns
        if "AUROC" in column or "AUPRC" in column
        for task in found.tasks
        if _saturated(found, task, column)
    ]
    if full:
        out.append(f"No room is left above the plain network ({SATURATED:g} or more): {listed(full)}.")
    return out


def _saturated(found: Found, task: str, column: str) -> bool:
    values = [found.get(task, dwell, PLAIN, column).value for dwell in found.dwells]
    known = [value for value in values if not math.isnan(value)]
    return bool(known) and min(known) >= SATURATED


def answer(found: Found) -> str:
    """Return in one sentence what came out, in the first column that tells better from worse.

    Parameters
    ----------
    found : Found
    """
    plain = [row for row in found.rows if PAIRED not in row]
    column = next((each for each in found.columns if sense(each)), found.columns[0])
    dwell = FULL_DWELL if FULL_DWELL in found.dwells else found.dwells[0]
    parts = []
    for task in found.tasks:
        figures = {row: found.get(task, dwell, row, column) for row in plain}
        parts.append(f"{named(task)} {_best(column, figures)}")
    at = f" at dwell {dwell:g}" if len(found.dwells) > 1 else ""
    return f"{column}{at}: {'; '.join(parts)}."


def _best(column: str, figures: dict[str, Figure]) -> str:
    there = {row: each.value for row, each in figures.items() if math.isfinite(each.value)}
    if not there:
        return "without a figure"
    if not sense(column):
        return f"{shown(min(there.values()))} to {shown(max(there.values()))}"
    pick = max if sense(column) > 0 else min
    best = pick(there.values())
    tied = [row for row, value in there.items() if value == best]
    said = f"{shown(best)} of `{tied[0]}`" if len(tied) == 1 else f"{shown(best)} of {len(tied)} rows"
    others = [row for row in ("tcuq", *OURS, "base") if row in there and row not in tied]
    if not others:
        return f"best {said}"
    rest = ", ".join(f"`{row}` {shown(there[row])}" for row in dict.fromkeys(others))
    return f"best {said}, {rest}"


def _table(table: Table) -> str:
    head = [""]
    for column in table.columns:
        head += [column, *(["paper"] if column in table.printed else [])]
    rows = []
    for row, cells in table.rows.items():
        line = [f"`{row}`"]
        for column, cell in zip(table.columns, cells, strict=True):
            line.append(_cell(cell))
            if column in table.printed:
                line.append(f"{table.printed[column][row]:g}" if row in table.printed[column] else "")
        rows.append(line)
    return grid(head, rows, len(head) - 1)


def _cell(cell: Cell) -> str:
    if not cell.there:
        return ""
    text = shown(cell.figure.value)
    if cell.best:
        text = f"**{text}**"
    span = between(cell.figure.low, cell.figure.high)
    return text + (f" ({span})" if span else "") + (f" [{cell.figure.n} of {cell.of}]" if cell.of else "")
