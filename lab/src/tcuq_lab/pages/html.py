"""The page in HTML: self-contained, with plots, and all dwells behind a switch that needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from tcuq.report.text import escape

from .about import PARAGRAPHS, READING, TIMES
from .claim_rules import Point
from .content import SIZES, TARGET_WORDS, TITLE, Content, size
from .figures import Found
from .plots import at_dwell, over_dwells
from .tables import FULL_DWELL, OURS, Cell, Table, notes, tables
from .verdicts import (
    CANNOT,
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    REPORTED,
    UNDEFINED,
    Judged,
    Verdict,
    counted,
    remarks,
    spread,
)
from .wording import between, lasting, listed, named, shown, signed

SIGNS: Mapping[str, tuple[str, str]] = {
    HOLDS: ("holds", "✓"),
    FAILS: ("fails", "✗"),
    MIXED: ("mixed", "◐"),
    REPORTED: ("plain", "i"),
    UNDEFINED: ("plain", "?"),
    NOT_RUN: ("plain", "…"),
    CANNOT: ("plain", "\u2013"),
}
"""A class of the style sheet and a sign for each verdict."""


def html(content: Content) -> str:
    """Return the page.

    Parameters
    ----------
    content : Content
    """
    parts = [_run(content), _targets(content), _claims(content)]
    parts += [_experiment(each, content) for each in content.found.values()]
    parts.append(_alone(content))
    links = [("run", "What was run"), ("targets", "Our targets"), ("claims", "The paper's claims")]
    links += [(f"x-{name}", each.title) for name, each in content.found.items()]
    menu = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in links)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>tcuq: {TITLE.lower()}</title><style>\n{_asset('page.css')}</style></head><body>"
        f'<header><p class="kind">tcuq</p><h1>{TITLE}</h1>{_tiles(content)}'
        f'<nav aria-label="Sections"><ol>{menu}</ol></nav></header>'
        f"<main>{''.join(parts)}</main>"
        "<footer><p>Made by <code>tcuq-lab results</code> from <code>lab/results/</code>.</p></footer>"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _section(name: str, heading: str, body: str) -> str:
    title = f'<h2 id="{name}-h">{escape(heading)}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-h">{title}{body}</section>'


def _lead(text: str) -> str:
    return f'<p class="lead">{escape(text)}</p>' if text else ""


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table; cells are HTML, the first of a row is its heading."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    whole = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{whole}</table></div>'


def _tiles(content: Content) -> str:
    def tile(name: str, judged: Sequence[Judged], words: Mapping[str, str]) -> str:
        counts = counted(judged)
        lines = "".join(f"<li>{_badge(word, words)} <b>{number}</b></li>" for word, number in counts.items())
        return f"<div><dt>{name}</dt><dd><ul>{lines}</ul></dd></div>"

    return (
        f'<dl class="tiles">{tile("Our targets", content.targets_judged, TARGET_WORDS)}'
        f"{tile('Claims of the paper', content.claims_judged, {})}</dl>"
    )


def _badge(word: str, words: Mapping[str, str] | None = None) -> str:
    kind, sign = SIGNS[word]
    text = escape((words or {}).get(word, word))
    return f'<span class="badge {kind}"><i aria-hidden="true">{sign}</i> {text}</span>'


def _run(content: Content) -> str:
    if not content.found:
        return _section("run", "What was run", _lead("Nothing yet: there are no result files."))
    body = _lead(READING)
    for setting, names in content.settings:
        who = "" if len(content.settings) == 1 else f" ({listed(names)})"
        rows = [[escape(words), escape(size(setting[key]))] for key, words in SIZES if key in setting]
        body += f"<h3>Setting {escape(setting.get('name', ''))}{escape(who)}</h3>"
        body += _grid(["size", ""], rows, "numbers")
    rows = [
        [
            f'<a href="#x-{name}">{escape(each.title)}</a>',
            f"<code>{escape(each.command)}</code>",
            lasting(each.seconds),
        ]
        for name, each in content.found.items()
    ]
    body += f"<h3>Experiments</h3>{_grid(['experiment', 'command', 'comparisons took'], rows, 'commands')}"
    body += f"<p>{escape(TIMES)}</p>"
    body += f"<p>Versions: {escape('; '.join(content.versions))}.</p>"
    rows = [[escape(name), escape(text)] for name, text in content.claims.limits.items()]
    body += '<h3 id="limits">What differs from the paper and cannot be mended here</h3>'
    body += _grid(["limit", ""], rows)
    return _section("run", "What was run", body)


def _targets(content: Content) -> str:
    body = _lead(content.targets.about) + _judged("t", content.targets_judged, TARGET_WORDS, opened=True)
    return _section("targets", "Our targets", body)


def _claims(content: Content) -> str:
    body = _lead(content.claims.about) + _judged("c", content.claims_judged, {})
    return _section("claims", "The paper's claims", body)


def _judged(name: str, judged: Sequence[Judged], words: Mapping[str, str], opened: bool = False) -> str:
    """Return claims with their verdicts, and every point behind them."""
    out, where = [], ""
    for each in judged:
        if each.claim.where != where:
            where = each.claim.where
            out.append(f"<h3>{escape(where[0].upper() + where[1:])}</h3>")
        limits = ""
        if each.claim.limits:
            limits = f' <small>But: <a href="#limits">{escape(listed(each.claim.limits))}</a>.</small>'
        verdicts = "".join(_verdict(verdict, words, opened) for verdict in each.verdicts)
        text = f'<p class="claim">{escape(each.claim.text)}{limits}</p>'
        out.append(f'<div class="judged" id="{name}-{escape(each.claim.name)}">{text}{verdicts}</div>')
    return "".join(out)


def _verdict(verdict: Verdict, words: Mapping[str, str], opened: bool) -> str:
    row = f"<code>{escape(verdict.row)}</code> " if verdict.row else ""
    detail = verdict.detail(words)
    line = f"{row}{_badge(verdict.word, words)}{escape(f': {detail}' if detail else '')}"
    if not verdict.points:
        return f'<div class="verdict">{line}</div>'
    span = f' <span class="span">{escape(spread(verdict.points))}</span>'
    body = _points(verdict.points)
    return f'<details class="verdict"{" open" * opened}><summary>{line}{span}</summary>{body}</details>'


def _points(points: Sequence[Point]) -> str:
    """Return the points of a verdict, a row for each dataset and a column for each dwell."""
    dwells = list(dict.fromkeys(point.dwell for point in points))
    places = list(dict.fromkeys((point.task, point.column) for point in points))
    several = len({column for _, column in places}) > 1
    rows = []
    for task, column in places:
        here = {point.dwell: point for point in points if (point.task, point.column) == (task, column)}
        name = escape(named(task)) + (f"<small>{escape(column)}</small>" if several else "")
        rows.append([name, *(_point(here[dwell]) if dwell in here else "" for dwell in dwells)])
    head = ["", *(f"dwell {dwell:g}" if len(dwells) > 1 else "" for dwell in dwells)]
    return _grid(head, rows, "points")


def _point(point: Point) -> str:
    kind, sign = SIGNS[UNDEFINED if point.met is None else HOLDS if point.met else FAILS]
    lead = f"<b>{shown(point.figure)}</b>"
    if point.met is not None:
        lead = f'<span class="badge {kind}"><i aria-hidden="true">{sign}</i> {signed(point.margin)}</span>'
    return lead + "".join(f"<small>{escape(line)}</small>" for line in remarks(point))


def _experiment(found: Found, content: Content) -> str:
    body = _lead(PARAGRAPHS.get(found.name, ""))
    body += f"<p>Paper: {escape(found.paper)}. Run it again: <code>{escape(found.command)}</code></p>"
    body += over_dwells(found)
    panels = {dwell: _panel(found, content, dwell) for dwell in found.dwells}
    if len(panels) == 1:
        body += next(iter(panels.values()))
    else:
        body += _switched(found.name, panels)
    beside = notes(found, content.paper)
    if beside:
        lines = "".join(f"<li>{escape(remark)}.</li>" for remark in beside)
        body += f"<h3>Beside the paper's figures</h3><ul>{lines}</ul>"
    return _section(f"x-{found.name}", found.title, body)


def _switched(name: str, panels: Mapping[float, str]) -> str:
    """Return panels of which one is shown, chosen by radio buttons: no script is needed."""
    first = FULL_DWELL if FULL_DWELL in panels else next(iter(panels))
    out = ['<div class="tabs"><span class="what">Dwell</span>']
    for dwell in panels:
        key = f"{name}-{dwell:g}"
        checked = " checked" if dwell == first else ""
        out.append(
            f'<input type="radio" name="dwell-{escape(name)}" id="{escape(key)}" value="{dwell:g}"{checked}>'
            f'<label for="{escape(key)}">{dwell:g}</label>'
        )
    out += [
        f'<div class="panel"><p class="printed">Dwell {dwell:g}</p>{body}</div>'
        for dwell, body in panels.items()
    ]
    return "".join(out) + "</div>"


def _panel(found: Found, content: Content, dwell: float) -> str:
    body = at_dwell(found, content.paper, dwell)
    for task in found.tasks:
        made = tables(found, content.paper, task, dwell)
        if made:
            body += f"<h3>{escape(named(task))}</h3>" + "".join(map(_table, made))
    return body


def _table(table: Table) -> str:
    head = [""]
    for column in table.columns:
        head += [column, *(["paper"] if column in table.printed else [])]
    rows = []
    for row, cells in table.rows.items():
        name = escape(row)
        line = [f"<b>{name}</b>" if row in OURS else name]
        for column, cell in zip(table.columns, cells, strict=True):
            line.append(_cell(cell))
            if column in table.printed:
                line.append(f"{table.printed[column][row]:g}" if row in table.printed[column] else "")
        rows.append(line)
    return _grid(head, rows, "numbers figures")


def _cell(cell: Cell) -> str:
    if not cell.there:
        return ""
    text = shown(cell.figure.value)
    if cell.best:
        text = f'<b class="best" title="best of its column">{text}</b>'
    fewer = f"<small>{cell.figure.n} of {cell.of} streams</small>" if cell.of else ""
    span = between(cell.figure.low, cell.figure.high)
    return text + (f"<small>{span}</small>" if span else "") + fewer


def _alone(content: Content) -> str:
    if not content.alone:
        return ""
    rows = [
        [
            escape(part.where),
            escape(named(part.task)),
            escape(part.column),
            ", ".join(f"{escape(row)}&nbsp;{value:g}" for row, value in part.rows.items()),
        ]
        for part in content.alone
    ]
    text = (
        "Printed there, and not among the results here: not run yet, or not possible with the data at hand."
    )
    shown_rows = _grid(["where", "data", "figure", "printed"], rows)
    body = f"{_lead(text)}<details><summary>{len(rows)} columns</summary>{shown_rows}</details>"
    return _section("alone", "Figures of the paper without a counterpart", body)
