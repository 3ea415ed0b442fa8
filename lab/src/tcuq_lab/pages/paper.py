"""The page that puts every table and figure of the paper beside ours; `text/paper.md` has its words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from .claims import card
from .figures import NAN, PAPER_RIVALS, SEVERITIES, WHOLE, Sources
from .plots import printed_loss
from .words import NOT_RUN, SPACE, fill, grid, listed, listing, percent, plain, row_name, task_name

BESIDE = f"{SPACE}/{SPACE}"
FIRMWARES, BOARDS, SAID = (listing("names")[of] for of in ("firmwares", "boards", "said"))
"""Names on boards, and what is said of more than one table."""
OURS = ("tcuq_paper", "tcuq")
THREE = ("mnist", "speech_commands", "cifar10")
OOD = "AUROC, OOD inputs for 16 steps or more"


class Section(NamedTuple):
    """A table of the paper that an experiment repeats."""

    sources: Sources
    title: str
    experiment: str
    tasks: Sequence[str]
    columns: Mapping[str, str]  # of the result file, and as they are headed
    rows: Sequence[str]
    # At which ours are shown: the paper does not say how long a class stays. Empty where there is one.
    dwells: Sequence[float] = ()

    @property
    def table(self) -> str:
        """The paper's figure and ours in each cell; a table for each task where there are many columns."""
        many = len(self.columns) > 1
        return "\n\n".join(map(self._beside, ((task,) for task in self.tasks) if many else (self.tasks,)))

    def _beside(self, tasks: Sequence[str]) -> str:
        found = self.sources.repeat(self.experiment)
        columns = [(task, column) for task in tasks for column in self.columns]
        rows = []
        for row in self.rows:
            cells = []
            for task, column in columns:
                printed = self.sources.paper(self.experiment, task, column, row)
                ours = [found.get(task, row, column, dwell) for dwell in self.dwells or (None,)]
                cells.append(BESIDE.join(plain(each) or "\u2013" for each in (printed, *ours)))
            if any(cell.strip(f"\u2013/{SPACE}") for cell in cells):
                rows.append([row_name(row), *cells])
        many = len(self.columns) > 1
        heads = [task_name(task) + f", {self.columns[column]}" * many for task, column in columns]
        order = "paper / ours, shuffled / ours, class stays 16 steps" if self.dwells else "paper / ours"
        return grid([order, *heads], rows)

    @property
    def best(self) -> str:
        """Which row of a table of one column is best in the paper, and which is best here."""
        found = self.sources.repeat(self.experiment)
        if not found.figures:
            return ""
        column = next(iter(self.columns))
        said = []
        for task in self.tasks:
            theirs = {row: self.sources.paper(self.experiment, task, column, row) for row in self.rows}
            ours = []
            for dwell in self.dwells or (None,):
                where = {1.0: " (shuffled)", 16.0: " (class stays 16 steps)", None: ""}[dwell]
                best = _best({row: found.get(task, row, column, dwell) for row in self.rows})
                ours += [f"{best}{where}"] if best else []
            said.append(
                f"{task_name(task)}: in the paper {_best(theirs) or 'none'}; here {', '.join(ours) or 'none'}"
            )
        return f"Best on {'. Best on '.join(said)}."


@dataclass(frozen=True)
class Printed:
    """Figures of the paper by "experiment/task/column/row", of boards "table/board/task/method/what"."""

    sources: Sources
    of_boards: bool = False

    def __getitem__(self, place: str) -> str:
        parts = place.split("/")
        if self.of_boards:
            *where, what = parts
            value = _printed_on(self.sources, *where).get(what, NAN)
        else:
            value = self.sources.paper(*parts)
        if math.isnan(value):
            raise KeyError(place)
        return f"{value:g}"


def _best(values: Mapping[str, float]) -> str:
    """Return the rows with the highest value; those that print alike are tied."""
    known = {row: plain(value) for row, value in values.items() if not math.isnan(value)}
    top = max(known.values(), default="")
    return listed(row_name(row) for row, value in known.items() if value == top)


def _severity_calibration(sources: Sources) -> str:
    """Return Brier score and NLL by severity, as far as it was measured."""
    rows: dict[str, list[str]] = {}
    for found in sources.repeated.values():
        for task in dict.fromkeys(place[0] for place in found.figures):
            for row in found.rows(task):
                for column, words in (("Brier score, sum over classes", "Brier score"), ("NLL, nats", "NLL")):
                    values = [found.get(task, row, f"{column}, severity {level}") for level in SEVERITIES]
                    if not all(map(math.isnan, values)):
                        clean = found.get(task, row, f"{column}, clean")
                        if math.isnan(clean):
                            clean = found.get(task, row, column)
                        label = f"{task_name(task)}, {row_name(row)}, {words}"
                        rows[label] = [label, *(plain(value) for value in (clean, *values))]
    if not rows:
        return "Brier score and NLL by severity were not measured."
    return grid(["sum over classes; nats", "clean", *map(str, SEVERITIES)], list(rows.values()))


def _delays_table(sources: Sources) -> str:
    """Return median delays at equal rates of false alarms, where a class stays 16 steps."""
    found = sources.repeat("headlines")
    tasks = [task for task in THREE if found.rows(task)]
    column = "median delay at equal run lengths, steps"
    rows = [
        [row_name(row), *(plain(found.get(task, row, column, 16.0), 0) for task in tasks)]
        for row in (*PAPER_RIVALS, *OURS)
    ]
    return grid(["median delay, steps", *map(task_name, tasks)], rows) if tasks else NOT_RUN


def _board_tables(sources: Sources) -> str:
    """Return a table for each board: flash and time of the paper's tables, its bars, and ours."""
    head = ["", "flash, KB: ours", "paper, table", "paper, figure", "ms: ours"]
    head.append("paper, table / figure / energy")
    out = []
    for board, title in BOARDS.items():
        rows = [
            row
            for task in ("speech_commands", "cifar10", "mnist")
            for method in ("base", "early_exit", "deep", "tcuq_paper", "tcuq")
            for row in [_board_row(sources, board, task, method)]
            if row
        ]
        out += [f"**{title}**", grid(head, rows)] if rows else []
    return "\n\n".join(out) or NOT_RUN


def _energy_table(sources: Sources) -> str:
    """Return the paper's table of energy beside our estimates, in millijoules an inference."""
    rows = []
    for row in sources.boards.get("paper", {}).get("energy", ()):
        _, cycles = _measured(sources, row["board"], row["task"], row["method"])
        estimate = f"{SPACE}to{SPACE}".join(f"{end / 1000:.2f}" for end in cycles.get("microjoules", ()))
        method = FIRMWARES.get(row["method"], row_name(row["method"]))
        place = f"{BOARDS[row['board']]}, {task_name(row['task'])}: {method}"
        rows.append([place, f"{row['mj']:g}", estimate])
    return grid(["energy, mJ", "paper", "ours, estimate"], rows) if rows else ""


def _board_row(sources: Sources, board: str, task: str, method: str) -> list[str]:
    ours, cycles = _measured(sources, board, task, method)
    if not ours or not _printed_on(sources, "table", board, task, "base"):
        return []
    theirs = [_printed_on(sources, name, board, task, method) for name in ("table", "bars", "energy")]
    sizes = [
        "" if not row else plain(row["flash_kb"], 0) if row["flash_kb"] else "does not fit"
        for row in theirs[:2]
    ]
    times = [f"{row['ms']:g}" if row.get("ms") else "\u2013" for row in theirs]
    return [
        f"{task_name(task)}: {FIRMWARES.get(method, row_name(method))}",
        plain(float(ours["flash"]["total"]) / 1024, 1) + (", does not fit" if "over" in ours else ""),
        *sizes,
        f"{SPACE}to{SPACE}".join(f"{end:.0f}" for end in cycles.get("milliseconds", ())),
        f"{SPACE}/{SPACE}".join(times) if set(times) != {"\u2013"} else "",
    ]


def _measured(
    sources: Sources, board: str, task: str, method: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return what was measured of a method on a board, and the cycles of its network."""
    table = sources.boards.get("table", {}).get("measured", ())
    ours = _one(table, board=board, task=task, firmware=method)
    return ours, (ours.get("network") or {}).get("cycles") or {}


def _printed_on(sources: Sources, name: str, board: str, task: str, method: str) -> Mapping[str, Any]:
    """Return what the paper prints of a method on a board: in `table`, `bars` (a figure) or `energy`."""
    return _one(sources.boards.get("paper", {}).get(name, ()), board=board, task=task, method=method)


def _one(rows: Sequence[Mapping[str, Any]], **wanted: str) -> Mapping[str, Any]:
    return next((row for row in rows if wanted.items() <= row.items()), {})


def _sensitivity(sources: Sources) -> dict[str, str | None]:
    """Return what changes of window, lags, blend and level do, as far as it was measured."""
    column = "largest change of risk over windows 12 to 24"
    audited = sources.repeat("rate_audit").figures
    windows = max((value for place, value in audited.items() if place[3] == column), default=None)
    lags = max(
        (
            line.value
            for line in sources.fields["questions"].lines
            if line.row == "other lags and window" and line.column == "risk change"
        ),
        default=None,
    )
    return {
        "window": plain(windows) if windows else None,
        "no_window": "" if windows == 0 else None,
        "lags": plain(lags) if lags else None,
        "no_lags": "" if lags == 0 else None,
        "not_lags": "" if lags is None else None,
        "by_blend": _over(sources, "blend", "AURC"),
        "by_lags": _over(sources, "lags", "AURC"),
        "by_level": _over(sources, "level", "coverage of the monitor"),
    }


def _over(sources: Sources, what: str, column: str) -> str | None:
    """Return a figure of each task over the settings of the paper's monitor."""
    found = sources.repeat("selective")
    said = []
    for task in dict.fromkeys(place[0] for place in found.figures):
        values = {
            row.rpartition(" ")[2]: found.get(task, row, column)
            for row in found.rows(task)
            if row.startswith(f"tcuq_paper, {what}")
        }
        known = [f"{plain(value)} at {name}" for name, value in values.items() if not math.isnan(value)]
        said += [f"{task_name(task)} {', '.join(known)}"] if known else []
    return "; ".join(said) or None


def _audited(sources: Sources) -> str:
    """Return what audits of promised rates found."""
    found = sources.repeat("rate_audit").figures

    def of(column: str) -> list[float]:
        return [value for place, value in found.items() if place[2:] == ("tcuq_paper", column)]

    streams = sum(of("streams audited"))
    if not streams:
        return NOT_RUN
    names = ("violations", "off by, worst stream", "most abstentions in 100 steps", "bound on those")
    violations, off, abstained, bound = (max(of(name), default=NAN) for name in names)
    return (
        f"The paper defines them and reports none. Our replication of its monitor, on {streams:.0f} streams: "
        f"{violations:.0f} violations of the promised rates; the flag rate is off its level by at most "
        f"{percent(off)} points on any stream; at most {abstained:.0f} abstentions in 100 steps, where "
        f"{bound:.0f} are allowed."
    )


def _versions(sources: Sources) -> str:
    """Return which version of tcuq each figure of ours is of."""
    made: dict[str, list[str]] = {}
    for name, each in sorted(sources.repeated.items()):
        if "versions" in each.about:
            made.setdefault(each.about["versions"]["tcuq"], []).append(f"`{name}`")
    oldest, *newer = sorted(made) or [""]
    said = [f"Figures of ours are of version {oldest} of tcuq"] if made else []
    return "; ".join(said + [f"those of {listed(made[each])} are of version {each}" for each in newer]) + "."


def paper_page(sources: Sources) -> str:
    """Return the page."""
    speech, tiny = "speech_commands", [f"AUPRC, severity {level}" for level in SEVERITIES]
    alike = all(
        sources.paper("failure", speech, "AUROC of errors, unseen kinds", row)
        == sources.paper("failure", speech, OOD, row)
        for row in PAPER_RIVALS
    )
    literal = sources.repeat("literal")
    clock, ours = (literal.get("cifar10", row, "AUPRC, clean then worse") for row in ("clock", "tcuq_paper"))
    drops = [sources.repeat("severity_tinyimagenet").get(WHOLE, "early_exit", each) for each in tiny]
    known: dict[str, Any] = {
        **SAID,
        "no_drops": "" if all(map(math.isnan, drops)) else None,
        **{key: Section(sources, **part) for key, part in listing("parts").items()},
        **_sensitivity(sources),
        "card": card(sources),
        "versions": _versions(sources),
        "boards": _board_tables(sources),
        "energy": _energy_table(sources),
        "by_severity": _severity_calibration(sources),
        "delays": _delays_table(sources),
        "audited": _audited(sources),
        "printed": Printed(sources),
        "printed_board": Printed(sources, of_boards=True),
        "alike": "all six rivals" if alike else None,
        "tiny": fmean(sources.paper("severity_tinyimagenet", WHOLE, each, "tcuq_paper") for each in tiny),
        "clock": plain(clock) or None,
        "no_clock": plain(ours) or None,
        "assisted": printed_loss(300, True),
        "unassisted": printed_loss(300, False),
    }
    return fill("paper", known)
