"""Columns that nobody reads: a note about them, and a guess at what was meant."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence

from .checks import LONGEST, nearest
from .errors import one_line

MOST = 40
"""Names that are compared with those that may have been meant."""


_POSTERIORS = {"p0", "p", "probs"}
_DECIDED = {"risk", "threshold", "abstain", "alarm"}
"""Columns that only a log has, and those that decisions always have: one is easily taken for the other."""


class InputNote(UserWarning):
    """Something about an input that you may want to know; it is read all the same.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always", InputNote)
    ...     warnings.warn(InputNote("column 'time' is not read"))
    >>> str(heard[0].message)
    "column 'time' is not read"
    """


def unknown_text(what: str, names: Sequence[str], known: Collection[str]) -> str | None:
    """Return a sentence about the columns of an input that are not used, None where all are."""
    unknown = [name for name in names if name not in known]
    if not unknown:
        return None
    shown = ", ".join(map(repr, unknown[:8])) + (f" and {len(unknown) - 8} more" if len(unknown) > 8 else "")
    verb = f"{what} {shown} is" if len(unknown) == 1 else f"{what}s {shown} are"
    # Either number of a word may be there: label or labels.
    free = [name for name in known if not {name, f"{name}s", name.removesuffix("s")} & set(names)]
    guesses = [
        f" Is {name!r} meant to be {near!r}?" for name in unknown[:MOST] if (near := nearest(name, free))
    ]
    return one_line(f"{verb} not used.{''.join(guesses[:3])}")


def note_unknown(what: str, names: Sequence[str], known: Collection[str], where: str) -> None:
    """Say once which columns of an input are not used."""
    text = unknown_text(what, names, known)
    if text is not None:
        warnings.warn(InputNote(f"{where}: {text}"), stacklevel=4)


def guess(names: Sequence[str], missing: str) -> str:
    """Return the question to add when a name is missing and another one looks like it, or nothing."""
    present = set(names)
    if missing in _POSTERIORS and present >= _DECIDED:
        return ". These are decisions, as `tcuq run` writes them; pass the log that they were made from"
    if missing in ("step", "prediction", *_DECIDED) and present & _POSTERIORS and not present & _DECIDED:
        return ". This is a log; `tcuq run` makes decisions of it"
    if missing == "prediction" and "label" in present and present >= _DECIDED:
        return ". An older tcuq called it 'label' and made these decisions; make them again with `tcuq run`"
    near = nearest(missing, [name for name in names[: 25 * MOST] if len(name) <= LONGEST])
    return "" if near is None else f". Is {near!r} meant to be {missing!r}?"
