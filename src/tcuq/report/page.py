"""One self-contained HTML page about a monitored stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.atomic_files import write_whole
from ..monitor.log import Log
from ..monitor.params import Params
from . import outcome, sections, summary
from .document import NOT_PROMISED, document
from .facts import Facts, facts_of, tiles, timeline
from .learned import Learned, learned
from .learned import answers as learned_answers
from .text import escape

__all__ = ["NOT_PROMISED", "TITLE", "render", "write_report"]

TITLE = "Monitor report"


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
    parts = [timeline(facts), *_learned(facts), *_signals(facts), _rates(facts)]
    parts += [*_outcome(facts), _reasons(facts)]
    sentence = " ".join(filter(None, (verdict, _verdict(facts))))
    return document(title or TITLE, sentence, tiles(facts), "".join(parts), facts.params, facts.packed())


def _signals(facts: Facts) -> list[str]:
    if facts.signals is None:
        return [f'<p class="fact">{escape(facts.why)}</p>'] if facts.why else []
    columns = facts.columns
    return [sections.signals(facts.signals, columns, facts.params, facts.first)] if columns else []


def _learned(facts: Facts) -> list[str]:
    found = Learned.of(facts.steps, facts.params, facts.wrong)
    return [learned(found, facts.about, facts.first)] if found.any else []


def _rates(facts: Facts) -> str:
    flags = summary.flag_rate(facts.flagged, facts.params, facts.first)
    return sections.rates(flags, summary.windows(facts.abstained, facts.params), facts.params, facts.first)


def _outcome(facts: Facts) -> list[str]:
    """Return what labels and known shifts tell, where the log has them."""
    parts = []
    if facts.log is not None and facts.errors is not None and facts.counted is not None:
        kept, sure = facts.counted[facts.about]["accepted"], np.clip(facts.log.confidence(), 0.0, 1.0)
        counted = {name: facts.counted[name] for name in _told(facts)}
        changed = learned_answers(facts.steps, facts.errors)
        # The confidence is that of the prediction, whatever the answer is.
        parts.append(
            outcome.labeled(
                counted,
                changed,
                summary.risk_coverage(facts.steps["risk"], facts.errors[facts.about]),
                summary.risk_coverage(1 - sure, facts.errors["prediction"]),
                (kept.of / len(facts.steps), 1 - kept.rate if kept.of else 0.0),
                summary.reliability(sure, ~facts.errors["prediction"]),
            )
        )
    if facts.response is not None:
        parts.append(outcome.delays(facts.response, facts.first))
    if facts.params is not None:
        parts.append(outcome.left_out(facts.params.notes.get("fit")))
    return parts


def _told(facts: Facts) -> list[str]:
    """Return of what accuracy is told, what the risk speaks of first: one where answers are predictions."""
    return [facts.about, *(["prediction"] if facts.corrects else [])]


def _reasons(facts: Facts) -> str:
    return sections.reasons(facts.steps["reason"][facts.abstained].astype(np.uint8))


def _verdict(facts: Facts) -> str:
    return sections.verdict(
        len(facts.steps),
        float(facts.flagged.mean()),
        float(facts.abstained.mean()),
        len(summary.onsets(facts.steps["alarm"])),
        facts.params,
        facts.shares,
        f"{facts.about}s" if facts.corrects else "steps",
    )


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
