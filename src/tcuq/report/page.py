"""One self-contained HTML page about a monitored stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ..base.atomic_files import write_whole
from ..monitor.log import Log
from ..monitor.params import Params
from . import data, figures, outcome, sections
from .document import NOT_PROMISED, document
from .learned import learned
from .summary import Facts, facts_of

__all__ = ["NOT_PROMISED", "TITLE", "render", "write_report"]

TITLE = "Monitor report"


def packed(facts: Facts) -> dict[str, Any]:
    """Return what the scripts of the page draw from."""
    content = data.pack_timeline(facts.steps, facts.log, facts.wrong) | {
        "first": facts.first,
        "top": figures.risk_top(facts.steps),
        "reasons": data.reasons(),
        "shifts": facts.shifts,
        "names": facts.names,
        "about": facts.about,
        "stretches": data.pack_stretches(facts.log),
    }
    if facts.signals is not None and facts.columns:
        content["signals"] = data.pack_signals(facts.signals, facts.columns)
    return content


def render(
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
    names: Sequence[str] | None = None,
    verdict: str = "",
) -> str:
    """Return the report as one HTML page that needs nothing else.

    Parameters
    ----------
    decisions : structured array of `tcuq.STEP_DTYPE`
        As `Monitor.run` or `tcuq.monitor.log.watch` gives it.
    params : Params, optional
        Adds the bounds, the coefficients and the table of settings.
    log : Log, optional
        Of the same length; its labels, known shifts and segments are used where it has them.
    signals : array of shape (T, 17), optional
        In registry order. Left out, they are computed again when both params and log are given.
    title : str, optional
        Heading of the page.
    first : int, default 0
        Number of the first step: above 0 for a monitor that had run before. Its debt there is not
        known, so the flag rate is then held against the bound for any n consecutive steps.
    names : sequence of str, optional
        Names of the classes, "" where one is not known; those of params or log go before.
    verdict : str, optional
        A sentence that is known from elsewhere, to stand before the one on the stream.

    Returns
    -------
    str
        HTML with its styles and scripts.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> page = render(Monitor(params).run(np.full((5, 3), 1 / 3)), params, title="Door <2>")
    >>> "<h1>Door &lt;2&gt;</h1>" in page
    True
    """
    facts = facts_of(decisions, params, log, signals, first, names)
    parts = [sections.timeline(facts), learned(facts), sections.signals(facts), sections.rates(facts)]
    if log is not None and facts.errors is not None:
        parts.append(outcome.labeled(facts, log, facts.errors))
    if facts.response is not None:
        parts.append(outcome.delays(facts.response, first))
    if params is not None:
        parts.append(outcome.left_out(params.notes.get("fit")))
    parts.append(sections.reasons(facts))
    sentence = " ".join(filter(None, (verdict, sections.verdict(facts))))
    return document(title or TITLE, sentence, sections.tiles(facts), "".join(parts), params, packed(facts))


def write_report(
    path: str | Path,
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
    names: Sequence[str] | None = None,
) -> None:
    """Write the report to a file, whole or not at all; see `render`.

    Parameters
    ----------
    path : path
        File to write, ``report.html``, say.
    decisions : structured array of `tcuq.STEP_DTYPE`
        As `Monitor.run` gives it.
    params : Params, optional
        Adds the bounds, the coefficients and the table of settings.
    log : Log, optional
        Of the same length; its labels, known shifts and segments are used where it has them.
    signals : array of shape (T, 17), optional
        In registry order; computed again when left out and both params and log are given.
    title : str, optional
        Heading of the page.
    first : int, default 0
        Number of the first step: above 0 for a monitor that had run before.
    names : sequence of str, optional
        Names of the classes; those of params or log go before.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "report.html", Monitor(params).run(np.full((5, 3), 1 / 3)), params)
    ...     (Path(folder) / "report.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    write_whole(path, render(decisions, params, log, signals, title, first=first, names=names))
