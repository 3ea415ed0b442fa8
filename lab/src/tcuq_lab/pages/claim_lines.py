"""What the paper claims and what came out, one line a claim, with marks on claims that prove nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..reproduce.field.plan import CLASS_LAWS
from .about import OLDER
from .claim_points import Point
from .claim_rules import points
from .claims import Claim, Rule
from .field import Field, is_pair
from .figures import Figure, Found, Place
from .grids import grid
from .paper import Paper
from .verdicts import HOLDS, Judged, Verdict, counted, verdict_of
from .wording import listed, named, shown

TITLE = "What the paper claims and what we found"
PLAIN = "base"
PREVALENCE = "share of drop events"
"""Beginning of the column that holds how many steps are drop events."""
DROPS = re.compile(r"(drop )?AUPRC,")
"""Columns that rank drop events."""
VACUOUS = 0.5
"""Prevalence of events from which an AUPRC says little: a coin has as much."""
LEADS = ("widens",)
"""Rules about a lead or a gain over rivals, which the plain network has none of: it is one of them."""
SATURATED = 0.99
"""AUROC or AUPRC of the plain network from which a rival has no room left."""


def as_found(field: Field) -> Found:
    """Return the figures on streams of class dwell as claims ask for them, by dwell; the pace is not told."""
    figures = {}
    for line in field.found.lines:
        if line.stream not in CLASS_LAWS or is_pair(line.row) or math.isnan(line.value):
            continue
        if line.fit == field.fit_of(line.task, line.row, line.column):
            where = Place(line.task, float(CLASS_LAWS[line.stream]), line.row, line.column)
            figures[where] = Figure(line.value, line.low, line.high, n=line.networks)
    about = field.about
    return Found(
        field.name,
        about["title"],
        "",
        about["command"],
        about["setting"],
        about["versions"],
        field.seconds,
        figures,
    )


def plain_too(rule: Rule, found: Mapping[str, Found], paper: Paper) -> bool:
    """Return whether the plain network meets what a claim says of ours.

    Parameters
    ----------
    rule : Rule
    found : mapping of str to Found
    paper : Paper
    """
    if rule.kind in LEADS:
        return False
    mine = found.get(rule.experiment)
    if mine is None or PLAIN not in mine.rows or not all(row.startswith("tcuq") for row in rule.rows):
        return False
    than = tuple(row for row in rule.more.get("than", ()) if row != PLAIN and not row.startswith("tcuq"))
    if "than" in rule.more and not than:
        return False
    more = {**rule.more, "than": than} if "than" in rule.more else rule.more
    asked = points(replace(rule, rows=(PLAIN,), more=more), found, paper)
    return bool(asked) and verdict_of(PLAIN, asked).word == HOLDS


def prevalence(found: Found, task: str, dwell: float) -> float:
    """Return the share of steps that are drop events, NaN where the file does not tell."""
    column = next((each for each in found.columns if each.startswith(PREVALENCE)), "")
    return found.get(task, dwell, PLAIN, column).value


def marks(claim: Claim, verdicts: Sequence[Verdict], found: Mapping[str, Found], paper: Paper) -> list[str]:
    """Return why a verdict says less than it seems to.

    Parameters
    ----------
    claim : Claim
    verdicts : sequence of Verdict
    found : mapping of str to Found
    paper : Paper
    """
    if claim.rule is None or claim.rule.experiment not in found:
        return []
    mine = found[claim.rule.experiment]
    out = []
    if plain_too(claim.rule, found, paper):
        ours = any(verdict.word == HOLDS for verdict in verdicts)
        out.append("also met by the plain network" if ours else "met by the plain network, not by ours")
    asked: list[Point] = [point for verdict in verdicts for point in verdict.points]
    events: dict[str, list[float]] = {}
    for point in asked:
        share = prevalence(mine, point.task, point.dwell)
        if DROPS.match(point.column) and not math.isnan(share):
            events.setdefault(point.task, []).append(share)
    means = {task: sum(shares) / len(shares) for task, shares in events.items()}
    high = [f"{named(task)} {shown(mean)}" for task, mean in means.items() if mean > VACUOUS]
    if high:
        out.append(f"vacuous where most steps are events: {listed(high)}")
    plain = [
        mine.get(point.task, point.dwell, PLAIN, point.column).value
        for point in asked
        if "AUPRC" in point.column or "AUROC" in point.column
    ]
    if plain and min(plain) >= SATURATED:
        out.append(f"saturated: the plain network has {shown(min(plain))}")
    return out


def section(judged: Sequence[Judged], about: str, page: str) -> list[str]:
    """Return the part of the first page.

    Parameters
    ----------
    judged : sequence of Judged
    about : str
        What the claims are.
    page : str
        Where they are listed.
    """
    counts = ", ".join(f"{word} {number}" for word, number in counted(judged).items())
    all_ = f"All of them: [claims]({page})."
    return [f"## {TITLE}", f"{about} Verdicts, one for each row: {counts}. {OLDER} {all_}"]


def claims_table(judged: Sequence[Judged], found: Mapping[str, Found], paper: Paper) -> list[str]:
    """Return what their page has: how to read it, and a row for each claim."""
    rows = []
    for each in judged:
        found_ = "; ".join(_said(verdict) for verdict in each.verdicts)
        notes = [*marks(each.claim, each.verdicts, found, paper), *each.claim.limits]
        link = _link(each.claim, found)
        rows.append([each.claim.where, each.claim.text, found_, "; ".join(notes), link])
    return [
        "A case is a task at a dwell, and a figure where a claim has several. Behind a verdict: our figures, "
        "and their margin to what the claim asks for, above 0 where it is passed.",
        grid(["where", "claim", "what we found", "note", "page"], rows),
    ]


def _said(verdict: Verdict) -> str:
    row = f"`{verdict.row}` " if verdict.row else ""
    held = f": true in {verdict.held.partition(',')[0]} cases" if verdict.held else ""
    why = f": {verdict.why}" if verdict.why else ""
    parts = [f"{row}**{verdict.word}**{held}{why}", _figures(verdict.points)]
    return ", ".join(part for part in [*parts, _margins(verdict.points)] if part)


def _figures(given: Sequence[Point]) -> str:
    """Return the least and the largest figure, where these are more than the margins."""
    values = [point.figure for point in given if math.isfinite(point.figure) and point.figure != point.margin]
    if not values:
        return ""
    low, high = _three(min(values)), _three(max(values))
    return low if low == high else f"{low} to {high}"


def _margins(given: Sequence[Point]) -> str:
    """Return by how much a claim is passed at the worst and at the best place."""
    margins = [point.margin for point in given if point.met is not None and not math.isnan(point.margin)]
    if not margins:
        return ""
    low, high = (("+" if end > 0 else "") + _three(end) for end in (min(margins), max(margins)))
    return f"margin {low}" if low == high else f"margin {low} to {high}"


def _three(value: float) -> str:
    """Return a figure with at most three decimals.

    Examples
    --------
    >>> _three(-1.3e-05), _three(0.00082), _three(12.34)
    ('0.000', '0.001', '12.3')
    """
    return f"{value:.3f}".replace("-0.000", "0.000") if abs(value) < 1 else shown(value)


def _link(claim: Claim, found: Mapping[str, Found]) -> str:
    if claim.rule is None or claim.rule.experiment not in found:
        return ""
    return f"[{claim.rule.experiment}]({claim.rule.experiment}.md)"
