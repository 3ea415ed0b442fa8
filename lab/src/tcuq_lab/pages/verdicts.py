"""Claims of the paper held against our figures: in how many cases each is met, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..reproduce.field.plan import CLASS_LAWS
from .about import OLDER
from .claim_rules import Point, points
from .claims import Claim, Claims, Rule
from .field import Field, is_pair
from .figures import Figure, Found, Place
from .grids import MADE, grid, page
from .paper import Paper
from .wording import shown

TITLE = "What the paper claims and what we found"
PLAIN = "base"
LEADS = ("widens",)
"""Rules about a lead over rivals, of which the plain network is one."""
READ = (
    "A case is a task at a dwell, and a figure where a claim has several. Figures: the least and the "
    "largest of ours. Margin: by how much they pass what the claim asks for, at the worst and at the "
    "best case; below 0 they do not. The same claim about the plain network is judged in the column "
    "`base`; where it has no entry, the claim compares with it, or is about no row of ours. Where most "
    "steps are drop events, an AUPRC says little: the page of the experiment has their share."
)


@dataclass(frozen=True)
class Judged:
    """A claim with its points: for each of its rows those of the row."""

    claim: Claim
    rows: Mapping[str, Sequence[Point]]


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


def judge(claims: Claims, found: Mapping[str, Found], paper: Paper) -> list[Judged]:
    """Return the points of all claims.

    Parameters
    ----------
    claims : Claims
    found : mapping of str to Found
        Results by experiment.
    paper : Paper
    """
    judged = []
    for claim in claims.claims:
        try:
            answers = points(claim.rule, found, paper) if claim.rule else []
        except ValueError as error:
            raise ValueError(f"claim {claim.name}: {error}") from None
        rows = dict.fromkeys([point.row for point in answers] or (claim.rule.rows if claim.rule else [""]))
        judged.append(Judged(claim, {row: [each for each in answers if each.row == row] for row in rows}))
    return judged


def plain_points(rule: Rule, found: Mapping[str, Found], paper: Paper) -> list[Point]:
    """Return what the plain network has to what a claim says of ours; nothing where that makes no sense."""
    mine = found.get(rule.experiment)
    if rule.kind in LEADS or mine is None or PLAIN not in mine.rows:
        return []
    than = tuple(row for row in rule.more.get("than", ()) if row != PLAIN and not row.startswith("tcuq"))
    if not all(row.startswith("tcuq") for row in rule.rows) or ("than" in rule.more and not than):
        return []
    more = {**rule.more, "than": than} if "than" in rule.more else rule.more
    return points(replace(rule, rows=(PLAIN,), more=more), found, paper)


def cases(given: Sequence[Point]) -> str:
    """Return in how many cases a rule is met.

    Examples
    --------
    >>> cases([Point("tcuq", "mnist", dwell, "AUPRC", 0.5, met=dwell > 1) for dwell in (1.0, 4.0, 16.0)])
    '2 of 3'
    """
    asked = [point for point in given if point.met is not None]
    return f"{sum(bool(point.met) for point in asked)} of {len(asked)}" if asked else ""


def claims_page(claims: Claims, judged: Sequence[Judged], found: Mapping[str, Found], paper: Paper) -> str:
    """Return the page: a line for each claim and row of ours."""
    lines = []
    for each in judged:
        rule = each.claim.rule
        plain = cases(plain_points(rule, found, paper)) if rule else ""
        link = f"[{rule.experiment}]({rule.experiment}.md)" if rule and rule.experiment in found else ""
        for row, given in each.rows.items():
            why = each.claim.cannot or ("" if given else "not run yet")
            notes = "; ".join(text for text in (why, *each.claim.limits) if text)
            figures = _ends(point.figure for point in given if point.figure != point.margin)
            margins = _ends((point.margin for point in given if point.met is not None), True)
            name = f"`{row}`" if row else ""
            cells = [cases(given), figures, margins, plain, notes, link]
            lines.append([each.claim.where, each.claim.text, name, *cells])
    head = ["where", "claim", "row", "cases met", "figures", "margin", "`base`", "note", "page"]
    back = "[All results](../RESULTS.md)."
    return page([f"# {TITLE}", MADE, f"{claims.about} {OLDER} {back}", READ, grid(head, lines)])


def counted(judged: Sequence[Judged]) -> str:
    """Return a table of how many claims, by row of ours, are met in all, some or no cases."""
    count = {"met in all cases": 0, "met in some": 0, "met in none": 0, "not judged": 0}
    for each in judged:
        for given in each.rows.values():
            met = [point.met for point in given if point.met is not None]
            known = "met in all cases" if all(met) else "met in some" if any(met) else "met in none"
            count[known if met else "not judged"] += 1
    return grid(list(count), [list(map(str, count.values()))], len(count))


def _ends(values: Iterable[float], signed: bool = False) -> str:
    """Return the least and the largest of some values with at most three decimals.

    Examples
    --------
    >>> _ends([-1.3e-05, 12.34]), _ends([0.00082], True), _ends([])
    ('0.000 to 12.3', '+0.001', '')
    """
    there = [value for value in values if math.isfinite(value) or (signed and not math.isnan(value))]
    if not there:
        return ""
    low, high = (("+" if signed and end > 0 else "") + _three(end) for end in (min(there), max(there)))
    return low if low == high else f"{low} to {high}"


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000") if abs(value) < 1 else shown(value)
