"""Claims of the paper: sentences, each with a rule that result files are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tcuq.base.checks import known, known_only

from .reading import read

FORMAT = "tcuq claims 1"
ENTRIES = ("id", "where", "text", "rule", "cannot", "limits")
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "above": ("than", "by", "share", "ties"),
        "below": ("than", "by", "ties"),
        "ratio": ("than", "most"),
        "reaches": ("least", "most", "below", "paper"),
        "near": ("than", "within"),
        "rises": (),
        "widens": ("than",),
        "turns": (),
    }
)
"""Kinds of rules, and what each asks for beside `SHARED`; see `tcuq_lab.pages.claim_rules`."""
ALL_RIVALS = "all rivals"
"""Stands in `than` for every row of the result file that is not ours."""
SHARED = ("kind", "experiment", "rows", "columns", "tasks", "dwells", "better")
NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "above": ("than",),
        "below": ("than",),
        "ratio": ("than", "most"),
        "near": ("than", "within"),
        "widens": ("than",),
    }
)


@dataclass(frozen=True)
class Rule:
    """What is asked of result files.

    Parameters
    ----------
    kind : str
    experiment : str
    rows : tuple of str
        Each judged by itself.
    columns : tuple of str
    tasks : tuple of str
        None for all of the result file.
    dwells : tuple of float
        None for all of the result file.
    lower : bool
        Low figures are good.
    more : mapping
        What the kind asks for.
    """

    kind: str
    experiment: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    dwells: tuple[float, ...] = ()
    lower: bool = False
    more: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Claim:
    """A sentence and how it is judged.

    Parameters
    ----------
    name, where, text : str
    rule : Rule, optional
    cannot : str
        Why it cannot be tested here.
    limits : tuple of str
        Names of what keeps a test of ours from being the paper's.
    """

    name: str
    where: str
    text: str
    rule: Rule | None
    cannot: str = ""
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claims:
    """A list of claims with what they share.

    Parameters
    ----------
    about : str
    limits : mapping of str to str
        Names of limits to sentences.
    rows : mapping of str to tuple of str
        Names of lists to rows.
    claims : sequence of Claim
    """

    about: str
    limits: Mapping[str, str]
    rows: Mapping[str, tuple[str, ...]]
    claims: Sequence[Claim]


def claims_from(content: Mapping[str, Any]) -> Claims:
    """Return claims from their JSON.

    Examples
    --------
    >>> rule = {"kind": "abov", "experiment": "drop", "rows": ["tcuq"], "columns": ["AUPRC"]}
    >>> one = {"id": "x", "where": "", "text": "", "rule": rule}
    >>> claims_from({"about": "", "limits": {}, "rows": {}, "claims": [one]})
    Traceback (most recent call last):
    ...
    ValueError: claim x: kind of rule 'abov' is unknown; did you mean above?
    """
    limits: dict[str, str] = content["limits"]
    lists = {name: tuple(rows) for name, rows in content["rows"].items()}
    found: list[Claim] = []
    for number, each in enumerate(content["claims"]):
        name = each.get("id", number)
        try:
            found.append(_claim(each, limits, lists))
        except ValueError as error:
            raise ValueError(f"claim {name}: {error}") from None
        if name in [before.name for before in found[:-1]]:
            raise ValueError(f"claim {name} comes twice, expected each once")
    return Claims(content["about"], limits, lists, found)


def _claim(
    given: Mapping[str, Any], limits: Mapping[str, str], lists: Mapping[str, tuple[str, ...]]
) -> Claim:
    known_only("entry", given, ENTRIES)
    for entry in ("id", "where", "text"):
        if not isinstance(given.get(entry), str):
            raise ValueError(f"{entry} is {given.get(entry)!r}, expected text")
    if ("rule" in given) == ("cannot" in given):
        raise ValueError("has both or neither of rule and cannot, expected one of them")
    named = tuple(known("limit", each, limits) for each in given.get("limits", ()))
    if "cannot" in given:
        why = given["cannot"]
        return Claim(given["id"], given["where"], given["text"], None, limits.get(why, why), named)
    return Claim(given["id"], given["where"], given["text"], _rule(given["rule"], lists), "", named)


def _rule(given: Mapping[str, Any], lists: Mapping[str, tuple[str, ...]]) -> Rule:
    kind = known("kind of rule", given.get("kind", ""), KINDS)
    known_only(f"entry of a rule {kind}", given, (*SHARED, *KINDS[kind]))
    for entry in ("experiment", "rows", "columns", *NEEDED.get(kind, ())):
        if not given.get(entry):
            raise ValueError(f"rule {kind} lacks {entry}, expected a rule with it")
    if kind == "reaches" and sum(entry in given for entry in KINDS[kind]) != 1:
        raise ValueError("rule reaches has other than one of least, most, below and paper, expected one")
    if given.get("better", "higher") not in ("higher", "lower"):
        raise ValueError(f"better is {given['better']!r}, expected higher or lower")
    more = {entry: given[entry] for entry in KINDS[kind] if entry in given}
    if "than" in more:
        more["than"] = _resolved(more["than"], lists)
    return Rule(
        kind,
        given["experiment"],
        _resolved(given["rows"], lists),
        tuple(given["columns"]),
        tuple(given.get("tasks", ())),
        tuple(map(float, given.get("dwells", ()))),
        given.get("better", "higher") == "lower",
        MappingProxyType(more),
    )


def _resolved(given: Sequence[str], lists: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return rows, a list of them standing where its name does."""
    return tuple(dict.fromkeys(row for name in given for row in lists.get(name, (name,))))


def load_claims(path: str | Path) -> Claims:
    """Return claims from a file."""
    return read(path, FORMAT, ("about", "limits", "rows", "claims"), claims_from)
