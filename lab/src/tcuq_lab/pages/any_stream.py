"""The page of the experiment "any stream", from its result file: verdicts, then tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..reproduce.any_stream import alarming as alarm
from ..reproduce.any_stream import answering as answers
from ..reproduce.any_stream import expecting, ranking
from ..reproduce.any_stream.lines import Found, Line
from ..reproduce.any_stream.run import load_result
from ..reproduce.any_stream.verdicts import Verdict, verdicts
from .markdown import grid
from .wording import named

MADE = "<!-- Made by `tcuq-lab anystream --page --write` from lab/results/any_stream.json. -->"
TITLE = "# One monitor for any stream"
INTRODUCTION = """How long does a class stay in front of the sensor? A monitor that learns this from the \
stream needs no tuning for it. Here each network gets one monitor. It is fitted on development data whose \
pace changes between class dwells 1, 4, 16 and 64, and on the corruption types that development may see. \
It is judged on test examples, on corruption types that it has not seen, and on streams of every pace."""
READING = """How to read the tables:

- **class N**: every step shows another example; a class stays N steps on average.
- **object 16**: one picture is held for 16 steps on average, and shaken at every step.
- **continuous sound**: windows of one second slide over words, 0.2 s apart.
- **heavy-tailed 16**: most runs are short, a few very long.
- Half of all steps are clean, half are in segments with one corruption type at severity 1, 3 or 5.
- Figures are means over {seeds} networks, with 95 % intervals from a paired block bootstrap \
({replicates} replicates, blocks of {block} steps).
- Rows "told the stream" know the law of the test stream from development data. Nobody tells a device."""
ALARM_COLUMNS = (
    alarm.SHIFTS,
    alarm.FOUND,
    alarm.ALREADY,
    alarm.DELAY,
    alarm.CLEAR,
    alarm.CLEAN_ON,
    alarm.COSTLY_ON,
    alarm.SHIFTED_ON,
)
IN_STEPS = (alarm.SHIFTS, alarm.DELAY, alarm.CLEAR, alarm.COUNT)
"""Columns that count; all others are shares, areas or ratios."""


def page(path: str | Path) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    path : path
        Of the result file.
    """
    about, found = load_result(path)
    setting = about["setting"]
    reading = READING.format(
        seeds=len(setting["seeds"]), replicates=setting["replicates"], block=f"{setting['block']:,}"
    )
    out = [TITLE, MADE, INTRODUCTION, *_verdicts(verdicts(found)), _made(about), reading]
    out += _ranking(found) + _answers(found) + _alarm(found, setting) + _accuracy(found, setting)
    out += _types(found)
    return "\n\n".join(out) + "\n"


def summary(found: Found) -> str:
    """Return the verdicts as text lines.

    Parameters
    ----------
    found : Found
    """
    return "\n".join(
        f"{named(each.task)}: {each.target}: {each.words}"
        + (f" ({_figure(each.line)}, {each.line.stream}: {each.line.row})" if each.line else "")
        for each in verdicts(found)
    )


def _made(about: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"Run it again: `{about['command']}`. Versions: {versions}."


def _verdicts(found: Sequence[Verdict]) -> list[str]:
    count = dict.fromkeys(("met", "missed", "not measured"), 0)
    for each in found:
        count[each.words.partition(",")[0]] += 1
    said = ", ".join(f"{word} {number}" for word, number in count.items() if number)
    out = [
        "## Are the targets met?",
        f"{said[0].upper()}{said[1:]}. Each target is judged by the figure farthest from it. "
        '"Within the interval": the interval does not settle it.',
    ]
    tasks = list(dict.fromkeys(each.task for each in found))
    for about in dict.fromkeys(each.about for each in found):
        cells = {(each.target, each.task): _verdict(each) for each in found if each.about == about}
        rows = [
            [target, *(cells.get((target, task), "") for task in tasks)]
            for target in dict.fromkeys(target for target, _ in cells)
        ]
        out += [f"### {about[0].upper()}{about[1:]}", grid(["target", *map(named, tasks)], rows)]
    return out


def _verdict(verdict: Verdict) -> str:
    line = verdict.line
    if line is None:
        return verdict.words
    return f"**{verdict.words}**<br>{_figure(line)}<br>{line.stream}: {line.row}"


def _figure(line: Line | None) -> str:
    if line is None:
        return ""
    number = _steps if line.column in IN_STEPS else _share
    text = number(line.value)
    return text if math.isnan(line.low) else f"{text} ({number(line.low)} to {number(line.high)})"


def _steps(value: float) -> str:
    """Return a number of steps, or of events.

    Examples
    --------
    >>> _steps(12.0), _steps(4.5), _steps(math.inf)
    ('12', '4.5', 'never')
    """
    return "never" if math.isinf(value) else f"{value:g}"


def _share(value: float) -> str:
    """Return a share, an area or a ratio.

    Examples
    --------
    >>> _share(0.12345)
    '0.123'
    """
    return f"{value:.3f}"


def _streams(found: Found, task: str, column: str, rows: Sequence[str]) -> list[str]:
    """Return a table of rows and streams."""
    names = [each for each in found.streams(task, column) if not each.startswith(("type ", "all types"))]
    lines = [[row, *(_figure(found.get(task, name, row, column)) for name in names)] for row in rows]
    return [f"**{named(task)}**", grid(["", *names], lines, len(names))]


def _parted(found: Found, column: str) -> tuple[list[str], list[str]]:
    rows = found.rows(column)
    return [row for row in rows if " - " not in row], [row for row in rows if " - " in row]


def _ranking(found: Found) -> list[str]:
    out = ["## Does risk rank the errors of the label?", "AUROC of errors of the network's label."]
    plain, differences = _parted(found, ranking.COLUMN)
    for task in found.tasks():
        out += _streams(found, task, ranking.COLUMN, plain)
    out.append("Differences on the same steps:")
    for task in found.tasks():
        out += _streams(found, task, ranking.COLUMN, differences)
    return out


def _answers(found: Found) -> list[str]:
    out = ["## Are answers better than labels?", "Share of errors, nothing abstained."]
    for task in found.tasks():
        out += _streams(found, task, answers.ERRORS, found.rows(answers.ERRORS))
    out.append(
        "Errors left among the 90 % of steps with the lowest risk. Rivals answer with their own class."
    )
    plain, differences = _parted(found, answers.LEFT)
    for task in found.tasks():
        out += _streams(found, task, answers.LEFT, [*plain, *differences])
    return out


def _types(found: Found) -> list[str]:
    out = [
        "## Answers by corruption type",
        "Errors on shuffled streams of one corruption type each, one severity after the other.",
    ]
    rows = (answers.LABEL, answers.ANSWER, f"{answers.ANSWER} - {answers.LABEL}")
    for task in found.tasks():
        names = [
            each for each in found.streams(task, answers.ERRORS) if each.startswith(("type ", "all types"))
        ]
        lines = [
            [
                name.removeprefix("type "),
                *(_figure(found.get(task, name, row, answers.ERRORS)) for row in rows),
            ]
            for name in names
        ]
        out += [f"**{named(task)}**", grid(["", *rows], lines, len(rows))]
    return out


def _alarm(found: Found, setting: Mapping[str, Any]) -> list[str]:
    asked = f"{setting['run_length']:,}"
    out = [
        "## Does the alarm find shifts, and clear?",
        f"Fitted for one false alarm in {asked} clean steps. A shift is costly if it takes "
        f"{100 * setting['costly']:.0f} points of accuracy or more from the label, on shuffled streams. "
        "Found: the alarm goes on within the shifted segment; shifts that begin with the alarm on are "
        "counted apart. Delays count misses as infinite.",
    ]
    for task in found.tasks():
        lines = []
        for stream in found.streams(task, alarm.COSTLY_ON):
            for row in (alarm.WITH, alarm.WITHOUT):
                cells = [_figure(found.get(task, stream, row, column)) for column in ALARM_COLUMNS]
                lines.append([stream, row, *cells])
        head = ["stream", "fitted", *ALARM_COLUMNS]
        out += [f"**{named(task)}**", grid(head, lines, len(ALARM_COLUMNS))]
    out.append("### False alarms on clean test data")
    columns = (alarm.COUNT, alarm.RATE, alarm.CLEAN_ON)
    rows = [
        [
            named(task),
            row,
            *(_figure(found.get(task, alarm.CLEAN_STREAM, row, column)) for column in columns),
        ]
        for task in found.tasks()
        for row in (alarm.WITH, alarm.WITHOUT)
    ]
    return [*out, grid(["task", "fitted", *columns], rows, len(columns))]


def _accuracy(found: Found, setting: Mapping[str, Any]) -> list[str]:
    out = [
        "## How near is the expected accuracy?",
        f"Mean distance between the value at the end of a window of {setting['window']} steps and the "
        "accuracy of the answers in it.",
    ]
    plain, differences = _parted(found, expecting.COLUMN)
    for task in found.tasks():
        out += _streams(found, task, expecting.COLUMN, [*plain, *differences])
    return out
