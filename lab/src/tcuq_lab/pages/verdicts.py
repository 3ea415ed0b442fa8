"""From points to a verdict, and to the words for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .claim_points import Point
from .claim_rules import missing, points
from .claims import Claim, Claims
from .figures import Found
from .paper import Paper
from .wording import between, dwells, listed, named, shown, signed

HOLDS, FAILS, MIXED = "holds", "does not hold", "mixed"
CANNOT, NOT_RUN, UNDEFINED, REPORTED = "cannot be tested here", "not run yet", "no figure", "reported"
WORDS = (HOLDS, MIXED, FAILS, REPORTED, UNDEFINED, NOT_RUN, CANNOT)


@dataclass(frozen=True)
class Verdict:
    """What came of a claim for one row.

    Parameters
    ----------
    row : str
        Empty where the claim is about no single row.
    word : str
        One of `WORDS`.
    held : str
        Where it holds, if in some places only.
    why : str
        What is missing, or why there is no verdict.
    points : tuple of Point
    """

    row: str
    word: str
    held: str = ""
    why: str = ""
    points: tuple[Point, ...] = ()

    def detail(self, words: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return what there is to say beside the verdict, with other words for some verdicts."""
        held = self.held and f"{words.get(HOLDS, HOLDS)} at {self.held}"
        return "; ".join(text for text in (held, self.why) if text)

    def said(self, words: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return verdict and detail as a sentence has them, with other words for some verdicts."""
        word, detail = words.get(self.word, self.word), self.detail(words)
        return f"{word}: {detail}" if detail else word


@dataclass(frozen=True)
class Judged:
    """A claim with a verdict for each of its rows."""

    claim: Claim
    verdicts: tuple[Verdict, ...]


def judge(claims: Claims, found: Mapping[str, Found], paper: Paper) -> list[Judged]:
    """Return the verdicts of all claims.

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
            judged.append(Judged(claim, tuple(_verdicts(claim, found, paper))))
        except ValueError as error:
            raise ValueError(f"claim {claim.name}: {error}") from None
    return judged


def _verdicts(claim: Claim, found: Mapping[str, Found], paper: Paper) -> list[Verdict]:
    rule = claim.rule
    if rule is None:
        return [Verdict("", CANNOT, why=claim.cannot)]
    gaps = missing(rule, found)
    answers = points(rule, found, paper)
    if not answers:
        why = listed(map(named, gaps)) or f"{rule.experiment} has no such rows or columns"
        return [Verdict(row, NOT_RUN, why=why) for row in rule.rows]
    late = f"not run yet: {listed(map(named, gaps))}" if gaps else ""
    rows = dict.fromkeys(point.row for point in answers)
    return [verdict_of(row, [point for point in answers if point.row == row], late) for row in rows]


def verdict_of(row: str, given: Sequence[Point], late: str = "") -> Verdict:
    """Return the verdict that points amount to.

    Examples
    --------
    >>> made = [Point("tcuq", "mnist", d, "AUPRC", 0.5, met=d > 1) for d in (1.0, 4.0, 16.0)]
    >>> verdict_of("tcuq", made).said()
    'mixed: holds at 2 of 3, MNIST at dwells 4 and 16'
    >>> verdict_of("tcuq", made[1:]).said({HOLDS: "met"})
    'met'
    """
    asked = [point for point in given if point.met is not None]
    if not asked:
        # A figure without a bar was only to be shown.
        word = REPORTED if any(point.figure == point.figure for point in given) else UNDEFINED
        return Verdict(row, word, why=late, points=tuple(given))
    held = [point for point in asked if point.met]
    if len(held) in (0, len(asked)):
        return Verdict(row, HOLDS if held else FAILS, why=late, points=tuple(given))
    return Verdict(row, MIXED, f"{len(held)} of {len(asked)}, {places(held, asked)}", late, tuple(given))


def places(some: Sequence[Point], of: Sequence[Point]) -> str:
    """Return in words where some points are, as far as that tells them from the others.

    Examples
    --------
    >>> made = [Point("r", t, d, "c", 0.5) for t in ("mnist", "cifar10") for d in (1.0, 4.0)]
    >>> places(made[:3], made)
    'MNIST; CIFAR-10 at dwell 1'
    """
    columns, all_dwells = {point.column for point in of}, {point.dwell for point in of}
    alike: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for column, task in dict.fromkeys((point.column, point.task) for point in some):
        here = tuple(point.dwell for point in some if (point.column, point.task) == (column, task))
        every = {point.dwell for point in of if (point.column, point.task) == (column, task)}
        whole = len(all_dwells) == 1 or set(here) == every
        alike.setdefault((column, () if whole else here), []).append(named(task))
    parts = []
    for (column, here), tasks in alike.items():
        text = listed(tasks) + (f" at {dwells(here)}" if here else "")
        parts.append(f"{text} ({column})" if len(columns) > 1 else text)
    return "; ".join(parts)


def counted(judged: Sequence[Judged]) -> dict[str, int]:
    """Return how many verdicts there are of each word, in the order of `WORDS`, without those of none."""
    found = [verdict.word for each in judged for verdict in each.verdicts]
    return {word: found.count(word) for word in WORDS if word in found}


def remarks(point: Point) -> list[str]:
    """Return what stands below the margin of a point: figure and bar, the interval, notes.

    Examples
    --------
    >>> remarks(Point("tcuq", "mnist", 4.0, "AUPRC", 0.8, 0.75, 0.05, 0.01, 0.09, True, "vote"))
    ['0.800, bar 0.750 from vote', '95 %: 0.010 to 0.090']
    """
    source = f" from {point.against}" if point.against else ""
    bar = "" if point.met is None else f"{shown(point.figure)}, bar {shown(point.bar)}{source}"
    span = between(point.low, point.high)
    return [text for text in (point.words or bar, span and f"95 %: {span}", point.note) if text]


def spread(points: Sequence[Point]) -> str:
    """Return by how much a bar is passed at the worst and at the best place.

    Examples
    --------
    >>> made = [Point("tcuq", "mnist", 4.0, "AUPRC", 0.8, margin=m, met=True) for m in (0.05, 0.01)]
    >>> spread(made)
    'by +0.010 to +0.050'
    >>> from dataclasses import replace
    >>> spread([replace(each, low=0.001, high=0.1) for each in made])
    'by +0.010 to +0.050, 2 of 2 beyond the interval'
    """
    margins = [point.margin for point in points if point.met is not None and not math.isnan(point.margin)]
    if not margins:
        return ""
    low, high = signed(min(margins)), signed(max(margins))
    found = f"by {low}" if low == high else f"by {low} to {high}"
    spans = [(point.low, point.high) for point in points if not math.isnan(point.low + point.high)]
    beyond = sum(1 for least, most in spans if least > 0 or most < 0)
    return f"{found}, {beyond} of {len(spans)} beyond the interval" if spans else found
