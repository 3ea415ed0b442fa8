"""Result files of the benchmark: what was run on which streams; and the leaderboard made of them alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.metrics import Interval

from ..harness.intervals import LEVEL, REPLICATES, Drawn, difference, interval
from ..harness.lines import Found, Line, read_content, strict
from ..harness.types import CLEAN, MAX_ERROR
from ..home import versions
from ..metrics.alarms import CLEAN_ON, DELAY, EQUAL, FALSE, FOUND
from ..metrics.errors import ACCEPTED, AUROC, ERRORS, EXCESS, NINETY, RELATIVE, WRONG
from ..metrics.windows import ERROR

if TYPE_CHECKING:
    from ..experiments.benchmark import Outcome
    from ..harness.declare import Key


FORMAT = "tcuq bench 3"
SOON = 100
"""Steps from the start of a costly shift within which it is found soon."""
IN_TIME, RAISES, APART = f"found in {SOON}", "raises a shift", "on apart"
"""Share of the costly shifts at which the alarm comes on so soon; how often it comes on in one; and how much
more of their time it is on than of clean time."""
DRAWS = 500
"""Replicates that a result file holds."""
WITH, WITHOUT, LATE = "with labels", "without labels", "late labels"
TRACKS = (WITHOUT, WITH, LATE)
RATES = (0.01, 0.1)
"""Shares of steps that get a label in the track with late labels."""
WHOLE = "all streams"
"""Stream of what is counted over all streams of a task."""


def is_headline(of: Line | Key) -> bool:
    """Return whether a figure is one of those whose mean is the headline."""
    late = of.column in {f"{EXCESS}, {rate:.0%}" for rate in RATES}
    return late or (of.column == RELATIVE and of.stream == WHOLE)


def result_text(outcome: Outcome, streams: str, command: str) -> str:
    """Return a result file."""
    entry, found = outcome.entry, outcome.interval()
    content = {
        "format": FORMAT,
        "name": entry.name,
        "track": LATE if entry.told else WITH if entry.uses_labels else WITHOUT,
        "passes": entry.passes,
        "state_bytes": outcome.state_bytes,
        "method": {"file": entry.source, "sha256": entry.sha256},
        "streams": streams,
        "command": command,
        "versions": versions(),
        "timing": {
            "fit_seconds": round(outcome.fit_seconds, 2),
            "step_microseconds": round(outcome.step_microseconds, 1),
        },
        "replicates": REPLICATES,
        "level": LEVEL,
        "headline": {
            "value": round(found.estimate, 6),
            "low": round(found.low, 6),
            "high": round(found.high, 6),
        },
    }
    head = json.dumps(content, indent=1, allow_nan=False)[:-2]
    draws = {
        name: json.dumps([None if math.isnan(v) else round(v, 4) for v in outcome.draws(soon).tolist()])
        for name, soon in (("headline_draws", False), ("found_draws", True))
    }
    drawn = "".join(f',\n "{name}": {values}' for name, values in draws.items())
    figures = json.dumps(nested(outcome.lines), allow_nan=False).replace('}, "', '},\n  "')
    return f'{head}{drawn},\n "figures": {figures}\n}}\n'


Nested = dict[str, dict[str, dict[str, list[Any]]]]


def nested(lines: Sequence[Line]) -> Nested:
    """Return figures by task, stream and column: value and interval, as strict JSON has them."""
    found: Nested = {}
    for each in lines:
        if not math.isnan(each.value):
            columns = found.setdefault(each.task, {}).setdefault(each.stream, {})
            columns[each.column] = [strict(float(f"{end:.4g}")) for end in (each.value, each.low, each.high)]
    return found


def lines_of(figures: Nested, row: str) -> list[Line]:
    """Return figures as lines; an interval that is not known is NaN."""

    def line(task: str, stream: str, column: str, ends: Sequence[Any]) -> Line:
        value, low, high = (math.nan if end is None else float(end) for end in ends)
        return Line(task, stream, row, "", column, value, low, high, 1)

    return [
        line(task, stream, column, ends)
        for task, streams in figures.items()
        for stream, columns in streams.items()
        for column, ends in columns.items()
    ]


@dataclass(frozen=True, eq=False)
class Result:
    """A result file."""

    path: Path
    name: str
    track: str
    streams: str
    state_bytes: int | None
    headline: Interval
    draws: npt.NDArray[np.float64]
    soon: npt.NDArray[np.float64]  # replicates of the shifts that are found soon; none without an alarm
    found: Found
    content: Mapping[str, Any]

    @property
    def typed(self) -> str | None:
        """What to type after `tcuq-lab bench` to run the method: a built-in name, or a file."""
        name = str(self.content.get("command", "")).removeprefix("tcuq-lab bench ")
        return name if is_name(name) and "`" not in name else None


def load_result(path: str | Path) -> Result:
    """Return a result file."""
    return result_of(path, read_content(path, FORMAT, "a result of the benchmark"))


def result_of(path: str | Path, content: Mapping[str, Any]) -> Result:
    """Return a result from the content of its file."""
    try:
        head = content["headline"]
        draws = [math.nan if each is None else float(each) for each in content["headline_draws"]]
        if content["track"] not in TRACKS:
            raise ValueError(f"track is {content['track']!r}, expected one of {', '.join(TRACKS)}")
        if not is_name(content["name"]):
            raise ValueError(f"name is {content['name']!r}, expected a text without |")
        if content["state_bytes"] is not None:
            integer("state_bytes", content["state_bytes"], 0, 2**40)
        found = Found(lines_of(content["figures"], content["name"]))
        cells = [each.value for each in found.lines if is_headline(each)]
        if not cells or abs(sum(cells) / len(cells) - float(head["value"])) > 1e-3:
            raise ValueError(f"headline is {head['value']}, expected the mean of its {len(cells)} lines")
        return Result(
            Path(path),
            str(content["name"]),
            content["track"],
            str(content["streams"]),
            content["state_bytes"],
            Interval(float(head["value"]), float(head["low"]), float(head["high"]), 0),
            np.array(draws, dtype=np.float64),
            np.array(content["found_draws"], dtype=np.float64),
            found,
            content,
        )
    except KeyError as error:
        raise ValueError(f"{path} lacks {error.args[0]}, expected a file of 'tcuq-lab bench --out'") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def load_results(paths: Sequence[str | Path]) -> list[Result]:
    """Return result files that were all made with the same streams."""
    found: list[Result] = []
    for path in paths:
        each = load_result(path)
        wanted = found[0].streams if found else each.streams
        if each.streams != wanted:
            raise ValueError(
                f"{path}: made with the streams {each.streams[:12]}, expected {wanted[:12]}: run "
                f"'{each.content.get('command', 'tcuq-lab bench')}' again with these streams"
            )
        if found and len(each.draws) != len(found[0].draws):
            raise ValueError(f"{path}: has {len(each.draws)} draws, expected {len(found[0].draws)}")
        twice = [other.path for other in found if (other.name, other.track) == (each.name, each.track)]
        if twice:
            raise ValueError(
                f"{path}: is about {each.name!r}, as is {twice[0]}; give one of them another name"
            )
        found.append(each)
    return found


def same_figures(path: str | Path, text: str) -> bool:
    """Return whether a result file says the same as a text, but for times, versions and places of code."""
    try:
        there, new = json.loads(Path(path).read_text(encoding="utf-8")), json.loads(text)
    except (FileNotFoundError, ValueError):
        return False
    for each in (there, new):
        for name in ("timing", "versions", "method"):
            each.pop(name, None)
    return bool(there == new)


def stored(folder: str | Path, streams: str) -> list[Result]:
    """Return the results of a folder that were made with some streams; those of others are left out."""
    found = [load_result(path) for path in sorted(Path(folder).glob("*.json"))]
    return [each for each in found if each.streams == streams]


def beside(results: Sequence[Result], others: Sequence[Result]) -> list[Result]:
    """Return those of other results that no new one replaces: each has its name and track for itself."""
    names = {(each.name, each.track) for each in results}
    lengths = {len(each.draws) for each in results} or {len(each.draws) for each in others}
    return [each for each in others if (each.name, each.track) not in names and len(each.draws) in lengths]


BEGIN, END = "<!-- leaderboard: begin -->", "<!-- leaderboard: end -->"
LATE_COLUMNS = [f"{column}, {rate:.0%}" for rate in RATES for column in (EXCESS, WRONG, ACCEPTED)]
FORMS = {
    ERRORS: ".1%",
    NINETY: ".1%",
    RELATIVE: ".2f",
    AUROC: ".3f",
    FOUND: ".0%",
    DELAY: ".0f",
    IN_TIME: ".0%",
    RAISES: ".2f",
    APART: ".0%",
    CLEAN_ON + EQUAL: ".1%",
    CLEAN_ON: ".1%",
    FALSE: ".1f",
    ERROR: ".3f",
    **dict.fromkeys(LATE_COLUMNS, ".1%"),
}
"""How figures are printed."""
OVERVIEW = (AUROC, NINETY, ERROR)
ALARMS = (FOUND, DELAY, RAISES, APART, CLEAN_ON + EQUAL, FALSE, CLEAN_ON)
"""Of alarms at equal rates; the last two at the limits that methods set themselves."""
OWN_LIMIT = {FALSE: f"own limit: {FALSE}", CLEAN_ON: f"own limit: {CLEAN_ON}"}
NONE = "No results yet."
SILENT = 0.01
"""A method that accepts less of a stream has fallen silent."""


class Place(NamedTuple):
    """A result with its rank; equal ranks are those that intervals cannot tell apart."""

    rank: int
    result: Result


def ranked(results: Sequence[Result], soon: bool = False) -> list[Place]:
    """Return results of one track, the fewest errors first; or those with an alarm, by shifts found soon.

    A method shares the rank of the first one before it from which it does not differ: the interval of their
    paired difference holds 0. Otherwise its rank counts the methods before it.
    """
    if soon:
        order = sorted((each for each in results if len(each.soon)), key=lambda r: (-_soon(r).value, r.name))
    else:
        order = sorted(results, key=lambda each: (each.headline.estimate, each.name))
    places: list[Place] = []
    for number, each in enumerate(order):
        leader = next((place for place in places if place.rank == places[-1].rank), None)
        if leader is not None and tied(leader.result, each, soon):
            places.append(Place(leader.rank, each))
        else:
            places.append(Place(number + 1, each))
    return places


def _soon(result: Result) -> Drawn:
    return Drawn(figure_of(result, IN_TIME), result.soon.astype(np.float32))


def apart(first: Result, second: Result, soon: bool = False) -> Interval:
    """Return the paired difference of headlines, or of the shares of shifts found soon: second less first."""
    if soon:
        return difference([_soon(second)], [_soon(first)])
    pair = [Drawn(each.headline.estimate, each.draws.astype(np.float32)) for each in (second, first)]
    return difference(pair[:1], pair[1:])


def tied(first: Result, second: Result, soon: bool = False) -> bool:
    """Return whether the interval of a paired difference holds 0."""
    found = apart(first, second, soon)
    return found.low <= 0 <= found.high


def rank_line(result: Result, others: Sequence[Result]) -> str:
    """Return the rank of a result among others of its track, and its neighbors, as one line."""
    places = ranked([result, *(each for each in others if each.track == result.track)])
    at = next(number for number, place in enumerate(places) if place.result is result)
    rank = places[at].rank
    tied_with = [place for place in places if place.rank == rank and place.result is not result]
    parts = [f"rank {rank} of {len(places)} in the track {result.track}"]
    before = [place for place in places if place.rank < rank]
    after = [place for place in places if place.rank > rank]
    for word, found in (("behind", before[-1:]), ("level with", tied_with), ("ahead of", after[:1])):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            parts.append(f"{word} {found[0].result.name} {found[0].result.headline.estimate:.2f}{more}")
    return ", ".join(parts)


def leaderboard(results: Sequence[Result]) -> str:
    """Return the tables of all tracks as Markdown."""
    if not results:
        return NONE + "\n"
    parts = []
    for track in TRACKS:
        places = ranked([each for each in results if each.track == track])
        if places and track == LATE:
            parts += [f"### Track: {track}", "", *_late(places), ""]
        elif places:
            parts += [f"### Track: {track}", "", *_overview(places), "", *_by_stream(places), ""]
            raised = ranked([place.result for place in places], soon=True)
            parts += [f"Alarms, {track}:", "", *_alarms(raised), ""] if raised else []
    return "\n".join(parts)


def _late(places: Sequence[Place]) -> list[str]:
    """Return a line a method; it has no rank, as one that accepts nothing has no excess."""
    rows = [["method", "excess", *(each.replace("%", " %") for each in LATE_COLUMNS), "silent", "state"]]
    for _, each in places:
        shares = [one.value for one in each.found.lines if one.column.startswith(ACCEPTED)]
        rows.append(
            [
                _titled(each),
                _headline(each, ".1%"),
                *(printed(figure_of(each, column), column) for column in LATE_COLUMNS),
                f"{sum(one < SILENT for one in shares)} of {len(shares)}",
                _state(each),
            ]
        )
    return markdown(rows, left=1)


def _overview(places: Sequence[Place]) -> list[str]:
    """Return a line a method with a risk of its own."""
    rows = [["rank", "method", RELATIVE, "more than the first", *OVERVIEW, "state"]]
    for rank, each in places:
        if _own_risk(each):
            figures = [printed(figure_of(each, column), column) for column in OVERVIEW]
            more = _more(apart(places[0].result, each), ".2f")
            rows.append([str(rank), _titled(each), _headline(each, ".2f"), more, *figures, _state(each)])
    return markdown(rows, left=2)


def _alarms(places: Sequence[Place]) -> list[str]:
    """Return a line a method with an alarm."""
    named = (OWN_LIMIT.get(each, each.removesuffix(EQUAL)) for each in ALARMS)
    rows = [["rank", "method", IN_TIME, "less than the first", *named]]
    for rank, each in places:
        figures = [printed(figure_of(each, column), column) for column in ALARMS]
        less = _more(apart(each, places[0].result, True), ".0%")
        found = _interval(interval(_soon(each)), ".0%")
        rows.append([str(rank), _titled(each), found, less, *figures])
    return markdown(rows, left=2)


def _more(found: Interval, form: str) -> str:
    """Return a paired difference; "tie" where its interval holds 0."""
    return _interval(found, form) if not found.low <= 0 <= found.high else "" if not found.estimate else "tie"


def _own_risk(result: Result) -> bool:
    """Return whether it is more than an alarm beside the risk of confidence."""
    return result.name == "confidence" or set(values(result, RELATIVE)) != {1.0}


def _by_stream(places: Sequence[Place]) -> list[str]:
    """Return relative errors stream by stream, means over tasks, of methods with a risk of their own."""
    every = dict.fromkeys(s for _, each in places for s in each.found.distinct("stream"))
    streams = [each for each in every if each not in (CLEAN, WHOLE)]
    rows = [[RELATIVE, *streams]]
    for _, each in places:
        if not _own_risk(each):
            continue
        means = (figure_of(each, RELATIVE, stream) for stream in streams)
        rows.append([each.name, *(printed(mean, RELATIVE) for mean in means)])
    return markdown(rows, left=1)


def _titled(result: Result) -> str:
    return result.name if result.typed in (None, result.name) else f"{result.name} (`{result.typed}`)"


def _headline(result: Result, form: str) -> str:
    return _interval(result.headline, form)


def _interval(found: Interval, form: str) -> str:
    estimate, low, high = (format(each, form) for each in found[:3])
    return f"{estimate} ({low} to {high})".replace("%", " %")


def _state(result: Result) -> str:
    return "" if result.state_bytes is None else f"{result.state_bytes:,} B"


def values(result: Result, column: str, stream: str | None = None) -> list[float]:
    """Return a figure of all tasks and test streams, or of one stream."""
    return [
        each.value
        for each in result.found.lines
        if each.column == column and not math.isnan(each.value)
        if (each.stream != CLEAN if stream is None else each.stream == stream)
    ]


def figure_of(result: Result, column: str, stream: str | None = None) -> float:
    """Return the mean of a figure, of delays the median, which may be infinite; NaN where there is none."""
    found = values(result, column, CLEAN if column == FALSE else stream)
    if not found:
        return math.nan
    return sorted(found)[len(found) // 2] if column == DELAY else float(np.mean(found))


def printed(value: float, column: str) -> str:
    """Return a figure as it is printed; a delay that most shifts have missed is infinite."""
    if math.isnan(value):
        return ""
    return "never" if math.isinf(value) else format(value, FORMS[column]).replace("%", " %")


def screen(outcome: Outcome) -> str:
    """Return what a run shows: the headline, then a line a stream."""
    have = {(each.task, each.stream, each.column): each for each in outcome.lines}
    used = {name: max(10, len(name) + 2) for name in FORMS if any(key[2] == name for key in have)}
    head, track = outcome.interval(), WITH if outcome.entry.uses_labels else WITHOUT
    what, remark = RELATIVE, "1 is confidence, less is better"
    if outcome.entry.told:
        track, what, remark = LATE, EXCESS, f"0 keeps to {MAX_ERROR}; see what is accepted beside it"
    lines = [
        f"{outcome.entry.name} ({track}): {what} {head.estimate:.3f} ({head.low:.3f} to {head.high:.3f}); "
        f"{remark}",
        f"fit {outcome.fit_seconds:.1f} s, {outcome.step_microseconds:.1f} µs a step on this machine",
        f"{'task':16} {'stream':18}" + "".join(f"{name:>{width}}" for name, width in used.items()),
    ]
    for task, stream in dict.fromkeys(key[:2] for key in have):
        cells = []
        for name, width in used.items():
            each = have.get((task, stream, name))
            text = "" if each is None else printed(each.value, name).replace(" %", "%")
            cells.append(f"{text:>{width}}")
        lines.append(f"{task:16} {stream:18}" + "".join(cells))
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a table; columns from `left` on are numbers."""
    marks = ["---" if number < left else "---:" for number in range(len(rows[0]))]
    return [f"| {' | '.join(row)} |" for row in (rows[0], marks, *rows[1:])]


def placed(page: str, table: str, marks: tuple[str, str] = (BEGIN, END), gap: str = "\n") -> str:
    """Return a page with the table between its marks."""
    before, begin, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the page lacks {' or '.join(marks)}, expected both")
    return f"{before}{begin}{gap}{table.strip()}{gap}{end}{after}"


LONGEST = 60


def is_name(name: object) -> bool:
    """Return whether a method may be called so: a table has to show it."""
    return (
        isinstance(name, str) and 0 < len(name.strip()) <= LONGEST and name.isprintable() and "|" not in name
    )
