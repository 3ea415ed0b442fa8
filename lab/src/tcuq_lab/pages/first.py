"""The first page of results: what is gained against simple rules, where, and where not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from ..harness.laws import UNTOLD
from ..harness.lines import Line
from .figures import (
    ALARM,
    ANSWER,
    CLEAN,
    CONFIDENCE,
    DEEP,
    FILTER,
    GROUPS,
    LABELS,
    NO_LABELS,
    REAL,
    RECORDED,
    SIMPLE,
    Field,
    Place,
    Sources,
    cell,
    group_of,
    grouped,
    is_better,
    is_worse,
    on_mixed_paces,
)
from .losses import ASKED, DISTANCE, ERRORS, FALSE, FOUND, Comparison, losses, losses_table, short_list
from .plots import Picture, Series, dots
from .words import NOT_RUN, SPACE, count, fill, grid, listed, percent, place_name, row_name, steps, task_name

MOST_FIRST = 5
WANTED: Sequence[Place] = (
    ("speech_commands", "class 16"),
    ("cifar10", "changing pace"),
    ("cifar10", "class 1"),
    ("cifar10", "object 16"),
    ("cifar10", "class 16"),
    ("mnist", "class 16"),
)
"""Streams of the first tables, after real recordings: one pace, a changing one, none, held objects."""
PLOTTED = ("class 1", "class 16", "changing pace", "object 16", "continuous sound", "mixed")
SMALL = ("cifar10_animals", "mnist_pairs")
"""Tasks that are not in the plot."""
AGAINST = {CONFIDENCE: "confidence", FILTER: "Bayes filter", DEEP: "ensemble of five"}
PLOT_TITLE = "Wrong answers among the 90 % of steps that a method trusts most"
COUNTED = ("answers", "alarms", "accuracy")


def first_places(places: Sequence[Place]) -> list[Place]:
    """Return the streams of the first tables, among those that there are."""
    real: dict[str, Place] = {}
    for place in grouped(places).get(REAL, ()):
        real.setdefault(place[0], place)
    chosen = [*real.values(), *(place for place in WANTED if place in places)][:MOST_FIRST]
    return sorted(chosen, key=lambda place: GROUPS.index(group_of(*place)))


def errors_table(field: Field, places: Sequence[Place]) -> str:
    """Return errors left: ours, confidence, the Bayes filter and the ensemble, the best in bold."""
    rows = []
    for task, stream in places:
        lines = [field.get(task, stream, row, ERRORS) for row in (ANSWER, CONFIDENCE, FILTER, DEEP)]
        cells = [cell(line) for line in lines]
        best = min(filter(None, cells), key=float, default="")
        rows.append([place_name(task, stream), *(f"**{each}**" if each == best else each for each in cells)])
    return grid(["wrong, % of accepted answers", "tcuq", *AGAINST.values()], rows)


class Gaps:
    """Differences between ours and a rival over some streams."""

    def __init__(self, field: Field, places: Sequence[Place], rival: str) -> None:
        found = [field.gap(line, rival) for line in field.on(places, ANSWER, ERRORS)]
        self.gaps: list[Line] = [gap for gap in found if gap]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Streams with fewer errors beyond the interval, with more, and all."""
        return sum(map(is_better, self.gaps)), sum(map(is_worse, self.gaps)), len(self.gaps)

    @property
    def verdict(self) -> str:
        """What they say together."""
        fewer, more, every = self.counts
        if not every:
            return ""
        if 2 * max(fewer, more) < every or fewer == more:
            return "no clear difference" if 2 * (fewer + more) < every else "depends on the stream"
        return "fewer errors" if fewer > more else "more errors"

    @property
    def mean(self) -> str:
        """The mean difference, in points."""
        return percent(fmean(gap.value for gap in self.gaps), sign=True) if self.gaps else ""


def groups_table(field: Field, places: Sequence[Place]) -> str:
    """Return mean differences by group of streams, with a verdict against the Bayes filter."""
    rows = []
    for group, here in grouped(places).items():
        against = {rival: Gaps(field, here, rival) for rival in (FILTER, CONFIDENCE, DEEP)}
        fewer, more, _ = against[FILTER].counts
        verdict = f"{against[FILTER].verdict} ({fewer} fewer, {more} more)"
        rows.append([f"{group} ({len(here)})", verdict, *(each.mean for each in against.values())])
    names = [AGAINST[rival] for rival in (FILTER, CONFIDENCE, DEEP)]
    return grid(["streams", "tcuq against the Bayes filter", *names], rows, 2)


def gain_sentences(field: Field, places: Sequence[Place]) -> str:
    """Return on how many streams ours is better and worse than simple rules and confidence."""
    said = []
    known = [row for row in SIMPLE if row in field.rows(ERRORS)]
    ours = field.on(places, ANSWER, ERRORS)
    hindsight = [field.best(*line[:2], known, ERRORS) for line in ours]
    pairs = [field.gap(line, rule.row) for line, rule in zip(ours, hindsight, strict=True) if rule]
    simple = [gap for gap in pairs if gap]
    for name, gaps in (
        ("the Bayes filter", Gaps(field, places, FILTER).gaps),
        ("the simple rule that is best on that very stream", simple),
        ("confidence", Gaps(field, places, CONFIDENCE).gaps),
    ):
        if gaps:
            fewer, more = sum(map(is_better, gaps)), sum(map(is_worse, gaps))
            middle = percent(median(gap.value for gap in gaps), sign=True)
            said.append(
                f"- Against {name}: fewer errors on {fewer} of {count(len(gaps), 'stream')}, more on {more}, "
                f"median difference {middle} points."
            )
    return "\n".join(said)


def alarm_cell(field: Field, place: Place, row: str) -> str:
    """Return the share of harmful shifts that are found, and the false alarms beside it."""
    found, false = (field.get(*place, row, column) for column in (FOUND, FALSE))
    if found is None:
        return ""
    return percent(found.value) + (f"{SPACE}at{SPACE}{false.value:.1f}" if false else "")


def best_alarm(field: Field, place: Place) -> Line | None:
    """Return the rival of one pass that finds most, with false alarms as asked for, or as ours, or of all."""
    mine = field.get(*place, ALARM, FALSE)
    most = max(1.5 * ASKED, mine.value if mine else math.inf)
    kept = []
    for row in field.rivals(FOUND):
        rate = field.get(*place, row, FALSE)
        if rate is None or rate.value <= most:
            kept.append(row)
    return field.best(*place, kept or field.rivals(FOUND), FOUND)


def alarm_table(field: Field, places: Sequence[Place]) -> str:
    """Return harmful shifts found and false alarms: ours, ours without labels, the best rival."""
    rows = []
    for place in places:
        rival = best_alarm(field, place)
        delay = field.get(*place, ALARM, "delay")
        found = field.get(*place, ALARM, FOUND)
        rows.append(
            [
                place_name(*place),
                alarm_cell(field, place, ALARM),
                steps(delay.value, found.value) if delay and found else "",
                alarm_cell(field, place, NO_LABELS),
                f"{alarm_cell(field, place, rival.row)}, {row_name(rival.row)}" if rival else "",
            ]
        )
    return grid(["found, % at false alarms", "tcuq", "delay, steps", "tcuq, no labels", "best rival"], rows)


def label_shift(field: Field) -> str:
    """Return how long the alarm is on where only the mix of classes changes; nothing without such streams."""
    here = grouped(field.places("clean on", ALARM))
    on, usual = (field.values(here.get(group, ()), ALARM, "clean on") for group in (LABELS, CLEAN))
    if not on:
        return ""
    said = f"Where only the mix of classes changes, the alarm is on in {percent(fmean(on))} % of the time"
    if usual:
        said += f"; in clean streams of the usual mix in {percent(fmean(usual))} %"
    return f"{said} ({count(len(on), 'stream')})."


def accuracy_table(field: Field) -> str:
    """Return mean errors of the expected accuracy by task, with the rival that is best over its streams."""
    rows = []
    places = [place for place in field.places(DISTANCE, ANSWER) if group_of(*place) != CLEAN]
    for task in dict.fromkeys(task for task, _ in places):
        mine = [place for place in places if place[0] == task]
        means = {row: _mean(field, mine, row) for row in field.rivals(DISTANCE)}
        known = {row: value for row, value in means.items() if not math.isnan(value)}
        best = min(known, key=known.__getitem__, default=None)
        cells = [percent(_mean(field, mine, row)) for row in (ANSWER, "ATC", "mean confidence")]
        rows.append([task_name(task), *cells, f"{percent(known[best])}, {row_name(best)}" if best else ""])
    return grid(["off by, points", "tcuq", "ATC", "mean confidence", "best rival"], rows)


def _mean(field: Field, places: Sequence[Place], row: str) -> float:
    found = field.values(places, row, DISTANCE)
    return fmean(found) if len(found) == len(places) and found else math.nan


def overview(field: Field, form: str = "auto") -> Picture:
    """Return the plot of the first page."""
    there = field.places(ERRORS, ANSWER)
    large = [place for place in there if place[0] not in SMALL]
    places = [place for place in large if group_of(*place) == REAL or place[1] in PLOTTED]
    series = [
        Series(name, mark, [(places.index(line[:2]), line.value) for line in field.on(places, row, ERRORS)])
        for name, mark, row in (
            ("confidence", "c", CONFIDENCE),
            ("Bayes filter", "s", FILTER),
            ("ensemble of five, 5 passes", "d", DEEP),
            ("tcuq", "o", ANSWER),
        )
    ]
    return dots(PLOT_TITLE, [place_name(*place) for place in places], series, form)


def remarks(field: Field) -> str:
    """Return what a result file says about how parts of it were measured; nothing where it says nothing."""
    return "\n".join(f"- {each}" for each in field.about.get("remarks", ()))


def gain_block(sources: Sources) -> str:
    """Return what README shows: errors left on five streams, and what the alarm finds on all."""
    answers, alarms = sources.fields["answers"], sources.fields["alarms"]
    places = first_places(answers.places(ERRORS, ANSWER))
    if not places:
        return NOT_RUN
    parts = [
        "Wrong answers among the 90 % of steps that each method trusts most, in percent, on corruption types "
        "that no fit has seen ([all results](docs/RESULTS.md)). The ensemble takes five passes per step, all "
        "others one.",
        errors_table(answers, places),
    ]
    told = alarms.places(FOUND, ALARM)
    found, false = (alarms.values(told, ALARM, column) for column in (FOUND, FALSE))
    if found and false:
        parts.append(
            f"Over {count(len(found), 'stream')} without gauges, the alarm of version 0.3, which summed "
            f"evidence, finds {percent(fmean(found))} % of the shifts "
            f"that cost 10 points of accuracy or more ({percent(min(found))} to {percent(max(found))} % by "
            f"stream), with {fmean(false):.1f} false alarms per 10,000 clean steps ({min(false):.1f} to "
            f"{max(false):.1f} by stream; {ASKED:g} were asked for). It is fitted on the same kind of stream "
            f"where there is one.{_elsewhere(alarms, told)}"
        )
    return "\n\n".join(parts)


def _elsewhere(alarms: Field, places: Sequence[Place]) -> str:
    """Say how the alarm does fitted on mixed paces instead, and on recordings; nothing without such rows."""
    lines = alarms.on(places, ALARM, FALSE, (UNTOLD,))
    mixed = [line for line in lines if on_mixed_paces(line)]
    real = [f"{line.value:.1f}" for line in lines if not on_mixed_paces(line)]
    said = ""
    if mixed:
        values = [line.value for line in mixed]
        found = alarms.values((each[:2] for each in mixed), ALARM, FOUND, (UNTOLD,))
        said += (
            f" Fitted on mixed paces instead ({count(len(mixed), 'stream')}), false alarms come "
            f"{fmean(values):.1f} times ({min(values):.1f} to {max(values):.1f}) and "
            f"{percent(fmean(found))} % are found ({percent(min(found))} to {percent(max(found))} %)."
        )
    if real:
        said += f" On real recordings false alarms come {listed(real)} times."
    return said


def first_page(sources: Sources, compared: Sequence[Comparison]) -> str:
    """Return the first page."""
    answers, alarms, accuracy = (sources.fields[name] for name in COUNTED)
    places, told, lost = answers.places(ERRORS, ANSWER), alarms.places(FOUND, ALARM), losses(compared)
    shown = answers.on(places, ANSWER, ERRORS)
    least, most = (end((line.networks for line in shown), default=0) for end in (min, max))
    mixed = any(on_mixed_paces(line) for line in shown if group_of(line.task, line.stream) != CLEAN)
    recorded = any(task in RECORDED for task, _ in first_places(places))
    known: dict[str, Any] = {
        **_parts("answers", places),
        "or_mixed": " where there is one, else on one that mixes paces," if mixed else "",
        "networks": (count(most, "network") if least == most else f"{least} to {most} networks")
        if places
        else None,
        "errors": errors_table(answers, first_places(places)) if places else "",
        "gains": gain_sentences(answers, places),
        "groups": groups_table(answers, places) if places else "",
        "if_recorded": "" if recorded else None,
        **_parts("comparisons", compared),
        "compared": f"{len(compared):,}" if compared else None,
        "lost": f"{len(lost):,}",
        "won": f"{sum(is_better(each.gap) for each in compared):,}",
        "if_lost": "" if lost else None,
        "losses": losses_table(short_list(lost)) if lost else "",
        **_parts("alarms", told),
        "asked": ASKED,
        "alarms": alarm_table(alarms, first_places(told)) if told else "",
        "label_shift": label_shift(alarms) if told else "",
        "remarks": remarks(alarms) if told else "",
        **_parts("accuracy", accuracy.lines),
        "accuracy": accuracy_table(accuracy) if accuracy.lines else "",
    }
    return fill("results", known)


def _parts(name: str, there: Sequence[object]) -> dict[str, str | None]:
    """Return what `fill` needs for a part of a page that stands only where it was measured."""
    return {f"if_{name}": "" if there else None, f"no_{name}": None if there else NOT_RUN}
