"""The page in Markdown: every verdict, and tables that a person can still read there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tcuq._version import VERSION

from .about import PARAGRAPHS, READING, TIMES
from .claim_rules import Point
from .content import SIZES, TARGET_WORDS, TITLE, Content, size
from .figures import Found
from .tables import FULL_DWELL, Cell, Table, notes, tables
from .verdicts import FAILS, HOLDS, Judged, counted, remarks, spread
from .wording import between, lasting, listed, named, shown, signed

MADE = "<!-- Made by `tcuq-lab results` from the files in results/. -->"


def markdown(content: Content, html_name: str = "results.html") -> str:
    """Return the page.

    Parameters
    ----------
    content : Content
    html_name : str
        File beside it with the same figures and plots.
    """
    out = [f"# {TITLE}", MADE, f"The same figures with plots and all dwells: [{html_name}]({html_name})."]
    out += _releases(content)
    out += _run(content)
    out += _targets(content)
    out += _claims(content)
    for each in content.found.values():
        out += _experiment(each, content)
    out += _alone(content)
    return "\n\n".join(out) + "\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table; the last so many columns are numbers."""
    align = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _releases(content: Content) -> list[str]:
    """Say where figures are those of an older release."""
    older = sorted({each.versions["tcuq"] for each in content.found.values()} - {VERSION})
    if not older:
        return []
    return [
        f"**Figures of tcuq {' and '.join(older)}.** "
        "Method `tcuq` is its extended profile, fitted for each dwell. "
        "What the standard monitor does on streams of any pace: [ANY_STREAM.md](ANY_STREAM.md)."
    ]


def _run(content: Content) -> list[str]:
    out = ["## What was run"]
    if not content.found:
        return [*out, "Nothing yet: there are no result files."]
    for setting, names in content.settings:
        who = "" if len(content.settings) == 1 else f" ({listed(names)})"
        out.append(f"Setting `{setting.get('name', '')}`{who}:")
        out.append(
            grid(["size", ""], [[words, size(setting[key])] for key, words in SIZES if key in setting], 1)
        )
    out.append(f"Versions: {'; '.join(content.versions)}.")
    rows = [
        [f"[{each.title}](#{_anchor(each.title)})", f"`{each.command}`", lasting(each.seconds)]
        for each in content.found.values()
    ]
    out.append(grid(["experiment", "command", "comparisons took"], rows, 1))
    out.append(TIMES)
    limits = grid(["limit", ""], [[name, text] for name, text in content.claims.limits.items()])
    return [*out, READING, "What differs from the paper and cannot be mended here:", limits]


def _anchor(title: str) -> str:
    """Return what a heading is linked by."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def _count(judged: Sequence[Judged], words: Mapping[str, str]) -> str:
    return ", ".join(f"{words.get(word, word)} {number}" for word, number in counted(judged).items())


def _targets(content: Content) -> list[str]:
    judged = content.targets_judged
    out = [
        "## Our targets",
        content.targets.about,
        f"Verdicts, one for each row: {_count(judged, TARGET_WORDS)}.",
    ]
    rows = [
        [
            each.claim.where,
            each.claim.text,
            f"`{verdict.row}`",
            f"**{verdict.said(TARGET_WORDS)}** {spread(verdict.points)}",
        ]
        for each in judged
        for verdict in each.verdicts
    ]
    out.append(grid(["about", "target", "row", "verdict"], rows))
    for each in judged:
        for verdict in each.verdicts:
            if verdict.points:
                out += [f"### Target: {each.claim.where}", each.claim.text, _points(verdict.points)]
    return out


def _points(points: Sequence[Point]) -> str:
    dwells = list(dict.fromkeys(point.dwell for point in points))
    places = list(dict.fromkeys((point.task, point.column) for point in points))
    several = len({column for _, column in places}) > 1
    rows = []
    for task, column in places:
        here = {point.dwell: point for point in points if (point.task, point.column) == (task, column)}
        name = f"{named(task)}, {column}" if several else named(task)
        rows.append([name, *(_point(here[dwell]) if dwell in here else "" for dwell in dwells)])
    return grid(["", *(f"dwell {dwell:g}" for dwell in dwells)], rows)


def _point(point: Point) -> str:
    lead = shown(point.figure)
    if point.met is not None:
        lead = f"**{TARGET_WORDS[HOLDS if point.met else FAILS]}, {signed(point.margin)}**"
    return "<br>".join([lead, *remarks(point)])


def _claims(content: Content) -> list[str]:
    judged = content.claims_judged
    out = [
        "## The paper's claims",
        content.claims.about,
        f"Verdicts, one for each row: {_count(judged, {})}.",
    ]
    rows = []
    for each in judged:
        verdicts = "<br>".join(
            f"`{verdict.row}` {verdict.said()}" if verdict.row else verdict.said()
            for verdict in each.verdicts
        )
        limits = f"<br>*But: {listed(each.claim.limits)}.*" if each.claim.limits else ""
        rows.append([each.claim.where, each.claim.text, verdicts + limits])
    return [*out, grid(["where", "claim", "verdict"], rows)]


def _experiment(found: Found, content: Content) -> list[str]:
    out = [
        f"## {found.title}",
        PARAGRAPHS.get(found.name, ""),
        f"Paper: {found.paper}. Run it again: `{found.command}`.",
    ]
    full = FULL_DWELL if FULL_DWELL in found.dwells else found.dwells[0]
    for dwell in sorted(found.dwells, key=lambda each: each != full):
        for task in found.tasks:
            for table in tables(found, content.paper, task, dwell, whole=dwell == full):
                where = named(task) if len(found.dwells) == 1 else f"{named(task)}, dwell {dwell:g}"
                where += ", differences" if table.paired else ""
                cut = f" ({table.cut} more rows in the other page)" if table.cut else ""
                out += [f"**{where}**{cut}", _table(table)]
    beside = notes(found, content.paper)
    if beside:
        out += ["Beside the paper's figures:", "\n".join(f"- {remark}." for remark in beside)]
    return [part for part in out if part]


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


def _alone(content: Content) -> list[str]:
    if not content.alone:
        return []
    rows = [
        [
            part.where,
            named(part.task),
            part.column,
            ", ".join(f"`{row}` {v:g}" for row, v in part.rows.items()),
        ]
        for part in content.alone
    ]
    return [
        "## Figures of the paper without a counterpart",
        "Printed there, and not among the results here: not run yet, or not possible with the data at hand.",
        grid(["where", "data", "figure", "printed"], rows),
    ]
