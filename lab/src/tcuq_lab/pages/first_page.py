"""docs/RESULTS.md: whether it works, on one screen; then where it does not, claims, links, and targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .about import ASKS, OLDER, PARAGRAPHS, STREAMS
from .content import SIZES, Content, size
from .field import OTHER_NETWORKS, PAGED, Field
from .first_alarms import READ_HARDER, alarm_table, harder_table, read_alarms
from .first_alarms import TITLE as ALARM_TITLE
from .first_tables import CAPTION, READ_MIXED, TITLE, behind_table, errors_table, mixed_table, read_errors
from .grids import MADE, grid, page
from .headline import called
from .numbers import number, span
from .targets import Verdict
from .verdicts import TITLE as CLAIMS_TITLE
from .verdicts import counted
from .wording import lasting, named

PLOT = "results/overview.svg"
FOLDER = "results"
NOT_RUN = "Not run yet."
FURTHER = "What the words mean: [how to read the tables](#how-to-read-the-tables)."
INTERACTIVE = "Interactive version: run `make results` and open `docs/results.html`."
OLDER_TABLES = (
    f"Tables 1 to 3 and their pages are of the monitor that is to be version 0.3. The others were not run "
    f"again: claims and tables of the paper, and `{OTHER_NETWORKS}`, are still of version 0.2."
)


LEAD = (
    "A monitor reads the outputs of a frozen classifier, one pass a step, and says which answers to "
    "distrust. It helps most when the same class stays in view for several steps: there it leaves fewer "
    "errors than the network's own confidence on every task of Table 1. On shuffled streams, held "
    "objects and continuous sound it helps less, or not at all. An ensemble of five networks, which "
    "takes five passes, leaves fewer errors on MNIST, on shuffled streams and on held pictures. "
    "Corruption types in the test were never seen in development."
)
BEHIND = (
    "Every stream on which ours, fitted with labels, is behind confidence, the best of the simple rules "
    "or the ensemble of five, as ours minus the other, judged as in Table 1. **Bold**: beyond the 95 % "
    "interval. A difference that rounds to .000 counts as level. Where single corruption types or other "
    "rules for alarms and accuracy do better is on the pages of the [answers](results/answers.md), "
    "[alarms](results/alarms.md) and [accuracy](results/accuracy.md): the best of each column is bold "
    "there."
)
TARGETS = (
    'The figure farthest from a target decides; "within the interval": the interval does not settle it; '
    '"not settled": the figure has none. Where a target compares, the figure is the paired difference. '
    "Rivals that take several passes are left out of `every rival of one pass`; all others count as one "
    "pass, also those whose extra heads or gradients make a step dearer."
)


def first_page(content: Content) -> str:
    """Return the page.

    Parameters
    ----------
    content : Content
    """
    answers, alarms = content.fields.get("answers"), content.fields.get("alarms")
    mixed = mixed_table(content.fields)
    out = ["# Results", MADE, LEAD, f"{OLDER_TABLES} {INTERACTIVE}"]
    out += [f"![Errors left by task and stream]({PLOT})"]
    out += ["**Table 1: " + TITLE + "**", errors_table(answers) if answers else NOT_RUN, CAPTION]
    out += [f"**Table 2: {ALARM_TITLE}**", alarm_table(alarms) if alarms else NOT_RUN]
    out += ["**Table 3: mixed streams**", mixed] if mixed else []
    out += [FURTHER, "## Where it does not help", BEHIND, behind_table(answers) if answers else NOT_RUN]
    out += _harder(alarms) if alarms else []
    out += [f"## {CLAIMS_TITLE}", f"{content.claims.about} {OLDER}"]
    out += ["Claims, each row of ours by itself:", counted(content.claims_judged)]
    out += [f"All of them: [claims]({FOLDER}/claims.md)."]
    out += _pages(content)
    out += targets_section(content)
    out += ["## How to read the tables", STREAMS, f"**Table 1.** {read_errors()}"]
    out += [f"**Table 2.** {read_alarms(alarms)}"] if alarms else []
    out += [f"**Table 3.** {READ_MIXED}"] if mixed else []
    out += _run(content)
    return page(out)


def _harder(alarms: Field) -> list[str]:
    harder = harder_table(alarms)
    return ["The alarm on harder streams:", harder, READ_HARDER] if harder else []


def targets_section(content: Content) -> list[str]:
    """Return how many targets are met, and every target with its verdict for each task."""
    judged = content.targets_judged
    tasks = list(dict.fromkeys(task for each in judged for task in each.target.tasks))
    cells = {(each.target.name, each.task): _verdict(each) for each in judged}
    rows = [
        [f"{each.about}: {each.text}", *(cells.get((each.name, task), "") for task in tasks)]
        for each in content.targets.targets
    ]
    return [
        "## Targets",
        f"{content.targets.about} {TARGETS}",
        _counts(judged, tasks),
        grid(["target", *map(named, tasks)], rows),
    ]


def _counts(judged: Sequence[Verdict], tasks: Sequence[str]) -> str:
    """Return how many targets have each verdict, by task."""
    words = [(each.words.partition(",")[0], each.task) for each in judged]
    rows = []
    for word in dict.fromkeys(word for word, _ in words):
        counts = [words.count((word, task)) for task in tasks]
        rows.append([word, *map(str, counts), str(sum(counts))])
    return grid(["", *map(named, tasks), "all"], rows, len(tasks) + 1)


def _verdict(verdict: Verdict) -> str:
    line = verdict.line
    if line is None:
        return verdict.words
    where = (
        []
        if len(verdict.target.streams) == 1 and verdict.target.streams[0] == line.stream
        else [called(line.stream)]
    )
    if len(verdict.target.than) > 1 or verdict.target.than[:1] == ("every rival of one pass",):
        where.append(f"against `{line.row.partition(f' {verdict.target.of} ')[2]}`")
    interval = f" ({span(line)})" if span(line) else ""
    figure = f"{number(line.column, line.value)}{interval}"
    return f"**{verdict.words}** {figure}" + (f" {', '.join(where)}" if where else "")


def _pages(content: Content) -> list[str]:
    rows = []
    for name, title in PAGED.items():
        there = name in content.fields
        took = lasting(content.fields[name].seconds) if there else "not run yet"
        rows.append([f"[{name}]({FOLDER}/{name}.md)", _short(name) or title, took])
    for name, found in content.found.items():
        rows.append([f"[{name}]({FOLDER}/{name}.md)", _short(name) or found.title, lasting(found.seconds)])
    rows.append([f"[paper]({FOLDER}/paper.md)", "Which figures of the paper have no counterpart here?", ""])
    return ["## A page for each experiment", grid(["page", "question", "processor time"], rows, 1)]


def _short(name: str) -> str:
    """Return what an experiment asks, in a few words."""
    return ASKS.get(name, PARAGRAPHS.get(name, "").partition("? ")[0])


def _run(content: Content) -> list[str]:
    out = ["## How it was run"]
    if not content.found and not content.fields:
        return [*out, "Nothing yet: there are no result files."]
    rows = []
    for name, each in content.fields.items():
        setting = each.about["setting"]
        sizes = (setting["sizes"].get("test", ""), setting["sizes"].get("stretch", ""), setting["replicates"])
        examples = (setting["examples"]["test"], setting["examples"]["dev"])
        given = (*examples, setting["severities"], setting["seeds"], *sizes)
        rows.append([f"`{name}`", *map(size, given), f"`{each.about['command']}`"])
    head = ["experiment on streams", "test examples at most", "development examples", "severities", "seeds"]
    head += ["stretches of a stream and network", "steps of a stretch", "draws of a 95 % interval", "command"]
    out += [grid(head, rows)] if rows else []
    rows = [
        [_setting(setting), ", ".join(f"`{name}`" for name in names)] for setting, names in content.settings
    ]
    if rows:
        out.append(grid(["setting of the older experiments", "which"], rows))
    limits = [f"- {name}: {text}." for name, text in content.claims.limits.items()]
    return [
        *out,
        f"Versions: {'; '.join(content.versions)}.",
        "Every choice of a setting is in the result files, `lab/results`. Network outputs are recorded once: "
        "see [LAB.md](LAB.md).",
        "What differs from the paper and cannot be mended here:",
        "\n".join(limits),
    ]


def _setting(setting: Mapping[str, Any]) -> str:
    parts = [f"{words} {size(setting[key])}" for key, words in SIZES if key in setting]
    return f"`{setting.get('name', '')}`: {', '.join(parts)}"
