"""Pages of the experiments on streams: what is asked, what was found, all figures by task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ..reproduce.field.plan import CHANGING, UNTOLD
from .about import NEWER, OLDER, PARAGRAPHS, STREAMS
from .field import ANSWER, CONFIDENCE, EQUAL, OTHER_NETWORKS, PAGED, RISK, Field
from .field_tables import FIT_NAMES, by_column, by_stream, is_clean, pairs, plain_streams, told_worth, types
from .first_alarms import ALARM_STREAM, alarm_rows
from .first_tables import INTERVALS
from .grids import MADE, grid, page, paged
from .headline import called
from .numbers import around
from .wording import named, took

RANK, LEFT = "prediction error AUROC", "errors at 90 %"
ASKED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "What does memory add?": ("no memory", "memory, "),
        "What does gating add?": ("gate",),
        "What do features add?": ("posteriors only", "answer, posteriors"),
        "What does each signal add?": ("without ", "only "),
        "What do labels add?": ("no labels", "labels, clean", "tcuq no labels", "answer, labels", "alarm on"),
        "How many labeled or clean steps are enough?": ("labels, ", "clean, "),
        "What does int8 cost?": ("float", "int8", "rounded", "reals"),
        "What do weights with temporal assistance cost?": ("plain network", "assisted"),
        "What do settings change?": ("blend", "anchor", "l2 ", "budget", "other lags", "answer, class mix"),
    }
)
"""Beginnings of the rows that answer a question; the first question that fits a row has it."""


def question_of(row: str) -> str:
    """Return the question that a row answers.

    Examples
    --------
    >>> question_of("labels, 1,000 steps"), question_of("labels, clean only"), question_of("else")
    ('How many labeled or clean steps are enough?', 'What do labels add?', 'Other variants')
    """
    for question, beginnings in ASKED.items():
        if row.startswith(beginnings):
            return question
    return "Other variants"


def question_parts(field: Field) -> Iterator[Sequence[str]]:
    """Give a section for each question: what is lost by each variant on a stream of unknown pace.

    Parameters
    ----------
    field : Field
    """
    pairs = [line for line in field.found.lines if " - " in line.row and line.fit in (UNTOLD, "")]
    shown = {}
    for line in pairs:  # a column that the unknown pace lacks is shown on the first stream that has it
        if line.stream == CHANGING or line.column not in shown:
            shown[line.column] = line.stream
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for line in pairs:
        ours, _, variant = line.row.partition(" - ")
        if line.stream != shown[line.column]:
            continue
        plain = variant.removesuffix(", told").removesuffix(", unfitted")
        rows = found.setdefault(question_of(plain if ours in (RISK, ANSWER) else ours), {})
        name = f"`{variant}`" if ours in (RISK, ANSWER) else f"`{line.row}`"
        column = line.column if line.stream == CHANGING else f"{line.column}, {line.stream}"
        rows.setdefault((column, name), {})[line.task] = around(line, signed=True)
    if found:
        yield [
            f"Each figure: the standard monitor minus the variant, on streams of unknown pace, "
            f"where nothing else is said. {RANK}: above 0, the monitor is better; errors, delays and "
            "clean time: below 0. Other streams are on the pages of the tasks."
        ]
    for question in (*ASKED, "Other variants"):
        rows = found.get(question, {})
        if rows:
            lines = [
                [name, column, *(cells.get(task, "") for task in field.tasks)]
                for (column, name), cells in sorted(rows.items(), key=lambda each: each[0][0] != RANK)
            ]
            head = ["variant", "figure", *map(named, field.tasks)]
            yield [f"## {question}", grid(head, lines, len(field.tasks))]


BACK = "[All results](../RESULTS.md)."
ALARM_COLUMNS = ("found", "delay", "clean on", "costly on", "benign on", "shifted on", "clears")
NETWORK_COLUMNS = ("errors at 90 %", "error AUROC")
RATES = ("false per 10,000", "run length ratio")
FITS = (
    "Figures are fitted on a development stream that mixes paces. Below them: fitted on the pace of the test "
    "stream (same pace), and on another one (other pace). Bold: the best of its column. "
    f"\u00b1: the longer side of a 95 % interval. {INTERVALS}"
)


def stream_pages(fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the pages by file name; an experiment that was not run has a page that says so.

    Parameters
    ----------
    fields : mapping of str to Field
    """
    pages: dict[str, str] = {}
    for name, title in PAGED.items():
        head = [f"# {title}", MADE, PARAGRAPHS.get(name, "")]
        if name == OTHER_NETWORKS:
            pages[f"{name}.md"] = networks_page(fields.get(name))
        elif name in fields:
            pages |= _pages(name, title, fields[name])
        else:
            command = f"Run it: `tcuq-lab reproduce {name} --setting full --write lab/results`."
            pages[f"{name}.md"] = page([*head, f"Not run yet. {command}", BACK])
    return pages


def _pages(name: str, title: str, field: Field) -> dict[str, str]:
    links = ", ".join(f"[{named(task)}]({name}_{task}.md)" for task in field.tasks)
    head = [
        f"# {title}",
        PARAGRAPHS.get(name, ""),
        f"All figures: {links}. {NEWER if field.is_new else OLDER}",
        f"Run it again: `{field.about['command']} --write lab/results` ({took(field.seconds)} of "
        f"processor time, from recorded outputs). {BACK}",
    ]
    made = MADE
    pages = paged(name, head, list(_summary(name, field)), made)
    for task in field.tasks:
        first = [
            f"# {title}: {named(task)}",
            f"{FITS} [What came out]({name}.md). {NEWER if field.is_new else OLDER} {BACK}",
            STREAMS,
        ]
        sections = _alarms(field, task) if name == "alarms" else _columns(field, task)
        pages |= paged(f"{name}_{task}", first, list(sections), made)
    return pages


def _summary(name: str, field: Field) -> Iterator[Sequence[str]]:
    if name == "questions":
        yield from question_parts(field)
    elif name == "alarms":
        for suffix, words in (
            ("", "limits from development data alone"),
            (EQUAL, "at equal false-alarm rates"),
        ):
            for task in field.tasks:
                every = [f"{each}{suffix}" for each in ALARM_COLUMNS]
                columns = [each for each in every if field.streams(task, each)]
                clean = () if suffix else RATES
                table = by_column(field, task, ALARM_STREAM, alarm_rows(field), columns, clean)
                yield [f"## {named(task)}, {ALARM_STREAM}, {words}", table]
    else:
        for column in _shared(field):
            table = told_worth(field, column)
            if table:
                yield [
                    f"## What knowing the pace is worth: {column}",
                    f"Means over streams, {' / '.join(FIT_NAMES.values())}.",
                    table,
                ]
        for column in _shared(field):
            for task in field.tasks:
                table = types(field, task, column) if column in ("errors", "accuracy error") else ""
                if table:
                    yield [f"## {named(task)}, one corruption type at a time: {column}", table]
    notes = field.about.get("notes") or []
    if notes:
        yield ["## Notes", "\n".join(f"- {each}" for each in notes)]
    yield ["## How to read the streams", STREAMS]


def _shared(field: Field) -> list[str]:
    return list(dict.fromkeys(column for task in field.tasks for column in field.columns(task)))


def _columns(field: Field, task: str) -> Iterator[Sequence[str]]:
    for column in field.columns(task):
        streams = plain_streams(field, task, column)
        rows = [
            row
            for row in field.rows(task, column)
            if any(field.look(task, stream, row, column) for stream in streams)
        ]
        if rows and streams:
            yield [f"## {column[0].upper()}{column[1:]}", by_stream(field, task, column, rows, streams)]
        table = pairs(field, task, column, streams) if streams else ""
        if table:
            yield [f"## {column[0].upper()}{column[1:]}, compared on the same steps", table]
        single = types(field, task, column)
        if single:
            yield [f"## {column[0].upper()}{column[1:]}, one corruption type at a time", single]


def _title(stream: str) -> str:
    words = called(stream)
    return f"{words[0].upper()}{words[1:]}"


def _alarms(field: Field, task: str) -> Iterator[Sequence[str]]:
    columns = field.columns(task)
    rows = alarm_rows(field)
    rows += [row for column in columns for row in field.rows(task, column) if row not in rows]
    rows = list(dict.fromkeys(rows))
    streams = list(dict.fromkeys(each for column in columns for each in field.streams(task, column)))
    for stream in sorted(streams, key=lambda each: (not is_clean(each), each != CHANGING)):
        for equal in (False, True):
            here = [
                column
                for column in columns
                if column.endswith(EQUAL) == equal and stream in field.streams(task, column)
            ]
            if here:
                words = ", at equal false-alarm rates" if equal else ""
                yield [
                    f"## {_title(stream)}{words}",
                    by_column(field, task, stream, rows, here),
                ]


def networks_page(field: Field | None) -> str:
    """Return the page.

    Parameters
    ----------
    field : Field, optional
        None where it was not run.
    """
    out = [
        f"# {PAGED[OTHER_NETWORKS]}",
        MADE,
        PARAGRAPHS.get(OTHER_NETWORKS, ""),
    ]
    if field is None:
        return page([*out, "Not run yet. [LAB.md](../LAB.md) says how.", BACK])
    rows = []
    for network in field.tasks:
        right = field.look(network, "clean", CONFIDENCE, "accuracy")
        for law in field.laws(network, NETWORK_COLUMNS[1]):
            cells = []
            for column in NETWORK_COLUMNS:
                for row in (CONFIDENCE, RISK):
                    cells.append(around(field.look(network, law, row, column)))
                cells.append(around(field.pair(network, law, RISK, CONFIDENCE, column), signed=True))
            rows.append([named(network), around(right), law, *cells])
    head = ["network", "clean accuracy", "stream"]
    for words in ("errors left at 90 %", "error AUROC"):
        head += [f"{words}: confidence", "ours", "ours minus confidence"]
    notes = field.about.get("notes") or []
    return page(
        [
            *out,
            f"Run it again: `{field.about['command']}` ({took(field.seconds)}). {BACK}",
            NEWER if field.is_new else OLDER,
            grid(head, rows, len(head) - 3),
            "\u00b1: the longer side of a 95 % interval.",
            "\n".join(f"- {each}" for each in notes),
            "## How to read the streams",
            STREAMS,
        ]
    )
