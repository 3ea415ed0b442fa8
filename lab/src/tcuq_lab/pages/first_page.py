"""docs/RESULTS.md: whether it works, on one screen; then where it does not, claims, links, and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .about import ASKS, OLDER, PARAGRAPHS, STREAMS
from .claim_lines import section as claims_section
from .content import SIZES, Content, size
from .field import OTHER_NETWORKS, PAGED, SIMPLE, Field
from .first_alarms import alarm_table, alarm_title, harder_table, read_alarms, read_harder
from .first_tables import CAPTION, TITLE, errors_table, helped, leads, read_errors, unlabeled
from .grids import MADE, grid, page
from .headline import called
from .mixed_table import READ, mixed_table
from .numbers import number, span
from .shortfalls import section as shortfalls_section
from .targets import Verdict
from .wording import lasting, listed, named

PLOT = "results/overview.svg"
FOLDER = "results"
NOT_RUN = "Not run yet."
FURTHER = "What the words mean: [how to read the tables](#how-to-read-the-tables)."
INTERACTIVE = "Interactive version: run `make results` and open `docs/results.html`."
OLDER_TABLES = (
    f"Tables 1 to 3 and their pages are of the monitor that is to be version 0.3. The others were not run "
    f"again: claims and tables of the paper, and `{OTHER_NETWORKS}`, are still of version 0.2."
)


def first_page(content: Content) -> str:
    """Return the page.

    Parameters
    ----------
    content : Content
    """
    answers, alarms = content.fields.get("answers"), content.fields.get("alarms")
    out = ["# Results", MADE, _lead(answers), f"![Errors left by task and stream]({PLOT})"]
    out += ["**Table 1: " + TITLE + "**", errors_table(answers) if answers else NOT_RUN, CAPTION]
    out += [f"**Table 2: {alarm_title(alarms)}**" if alarms else "**Table 2: the alarm**"]
    out += [alarm_table(alarms) if alarms else NOT_RUN]
    mixed = mixed_table(content.fields)
    out += ["**Table 3: mixed streams**", mixed] if mixed else []
    out += [f"{FURTHER} [Targets](#targets), one verdict for each task: {met(content)}."]
    out += shortfalls_section(content.fields)
    out += [unlabeled(answers)] if answers else []
    out += _harder(alarms) if alarms else []
    out += claims_section(content.claims_judged, content.claims.about, f"{FOLDER}/claims.md")
    out += _pages(content)
    out += targets_section(content)
    out += ["## How to read the tables", STREAMS]
    out += [f"**Table 1.** {read_errors()}"] if answers else []
    out += [f"**Table 2.** {read_alarms(alarms)}"] if alarms else []
    out += [f"**Table 3.** {READ}"] if mixed else []
    out += _run(content)
    return page(out)


def _lead(answers: Field | None) -> str:
    words = (
        "A monitor reads the outputs of a frozen classifier, one pass a step, and says which answers to "
        "distrust."
    )
    if answers is None:
        return f"{words} The experiments on streams have not been run yet."
    first, of = leads(answers)
    ensemble, _ = leads(answers, lambda each: each.deep)
    networks = len(answers.about["setting"]["seeds"])
    examples = answers.about["setting"]["examples"]["test"]
    older = OLDER_TABLES if answers.is_new else OLDER
    most = f"up to {examples:,}" if isinstance(examples, int) else "all"
    return (
        f"{words} {helped(answers)} In Table 1 ours, fitted with labels, is the best of four in "
        f"{first} of {of} cells, against the network's own confidence, the best of {len(SIMPLE)} simple "
        f"rules and an ensemble of five; the ensemble, which takes five passes, in {ensemble}. Corruption "
        f"types in the test were never seen in development. Means over {networks} networks a task, {most} "
        f"test examples. {older} {INTERACTIVE}"
    )


def _harder(alarms: Field) -> list[str]:
    harder = harder_table(alarms)
    return ["The alarm on harder streams:", harder, read_harder(alarms)] if harder else []


def met(content: Content) -> str:
    """Return how many targets are met and missed."""
    count: dict[str, int] = {}
    for each in content.targets_judged:
        word = each.words.partition(",")[0]
        count[word] = count.get(word, 0) + 1
    return ", ".join(f"{word} {number_}" for word, number_ in count.items())


def targets_section(content: Content) -> list[str]:
    """Return every target with its verdict for each task."""
    judged, said = content.targets_judged, met(content)
    tasks = list(dict.fromkeys(task for each in judged for task in each.target.tasks))
    rows = []
    cells = {(each.target.name, each.task): _verdict(each) for each in judged}
    for target in content.targets.targets:
        about = f"{target.about}: {target.text}"
        rows.append([about, *(cells.get((target.name, task), "") for task in tasks)])
    misses: dict[str, dict[str, int]] = {"task": {}, "subject": {}}
    for each in judged:
        if each.line is not None and not each.met:
            for kind, name in (("task", named(each.task)), ("subject", each.target.about)):
                misses[kind][name] = misses[kind].get(name, 0) + 1
    where_ = "; ".join(
        f"by {kind}: {', '.join(f'{name} {count_}' for name, count_ in sorted(found.items(), key=_most))}"
        for kind, found in misses.items()
        if found
    )
    several = " and ".join(f"`{row}`" for row in content.targets.several)
    return [
        "## Targets",
        f"{content.targets.about} {said[0].upper()}{said[1:]}."
        + (f" The misses, {where_}." if where_ else "")
        + " The figure farthest from a target decides; "
        '"within the interval": the interval does not settle it; "not settled": the figure has none. Where '
        "a target compares, the figure is the "
        f"paired difference. Rivals of several passes are {several}; all others count as one pass, also "
        "those whose extra heads or gradients make a step dearer.",
        grid(["target", *map(named, tasks)], rows),
    ]


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


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
    alike: dict[str, list[str]] = {}
    for each in content.fields.values():
        setting = each.about["setting"]
        words = (
            f"{size(setting['examples']['test'])} test and {size(setting['examples']['dev'])} development "
            f"examples at most, severities {size(setting['severities'])}, networks of seeds "
            f"{size(setting['seeds'])}, {setting['sizes'].get('test', '')} stretches of "
            f"{setting['sizes'].get('stretch', 0):,} steps a stream and network, {setting['replicates']:,} "
            f"draws of stretches for {100 * setting['level']:.0f} % intervals"
        )
        alike.setdefault(words, []).append(f"`{each.about['command']}`")
    out += [f"{listed(commands)}: {words}." for words, commands in alike.items()]
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
