"""Rules that are asked of one row and one column at a time; see `claim_rules` for what each asks."""

from __future__ import annotations

import math
from dataclasses import replace

from .claim_points import NEAR, Here, Point, compared
from .figures import NAN
from .wording import between, listed, shown, signed

OURS = "tcuq_paper"
"""Row of ours beside which the paper's own method stands."""


def lead(here: Here, row: str, column: str) -> Point:
    """Return the point of the rival that leaves a row the least lead."""
    rule, figure = here.rule, here.figure(row, column)
    by, share = rule.more.get("by", 0.0), rule.more.get("share")
    worst = here.point(row, column, figure.value)
    for name in rule.more["than"]:
        if name == row:
            continue
        rival = here.figure(name, column)
        ours, theirs, low, high, streams = compared(figure, rival)
        if math.isnan(ours) or math.isnan(theirs):
            continue
        need = by if share is None else min(by, share * (1 - theirs))
        if rule.lower:
            low, high = -high, -low
            bar = theirs - need
            margin = 0.0 if ours == bar else bar - ours
        else:
            bar = theirs + need
            margin = 0.0 if ours == bar else ours - bar
        if worst.met is None or margin < worst.margin:
            most = len(figure.streams)
            note = (
                f"over the {streams} of {most} corruption types that both have" if 0 < streams < most else ""
            )
            met = margin >= -NEAR if need or rule.more.get("ties") else margin > NEAR
            worst = replace(
                worst,
                figure=ours,
                bar=bar,
                margin=margin,
                low=low - need,
                high=high - need,
                met=met,
                against=name,
                note=note,
            )
    return worst


def behind(here: Here, row: str, column: str) -> Point:
    """Return the point of the rival that leaves a row the least distance below it."""
    other = replace(here.rule, lower=not here.rule.lower)
    return lead(replace(here, rule=other), row, column)


def ratio(here: Here, row: str, column: str) -> Point:
    """Return whether a row is at most a share of the least of its rivals."""
    figure = here.figure(row, column).value
    rivals = {name: here.figure(name, column).value for name in here.rule.more["than"] if name != row}
    known_ones = {name: value for name, value in rivals.items() if not math.isnan(value)}
    point = here.point(row, column, figure)
    if math.isnan(figure) or not known_ones:
        return point
    best = min(known_ones, key=lambda name: known_ones[name])
    bar = here.rule.more["most"] * known_ones[best]
    if math.isinf(figure):
        return replace(point, bar=bar, met=False, against=best, margin=NAN if math.isinf(bar) else -math.inf)
    share = f"{shown(figure / known_ones[best])} of {shown(known_ones[best])}" if known_ones[best] else ""
    return replace(point, bar=bar, margin=bar - figure, met=figure <= bar + NEAR, against=best, note=share)


def reaches(here: Here, row: str, column: str) -> Point:
    """Return whether a figure reaches a bar."""
    rule, figure = here.rule, here.figure(row, column)
    upwards = not rule.lower if "paper" in rule.more else "least" in rule.more
    against = ""
    if "paper" in rule.more:
        printed = here.paper.column(rule.experiment, here.task, column)
        if row not in printed and OURS not in printed:
            raise ValueError(
                f"the paper has no {column} of {rule.experiment} on {here.task}, expected a printed one"
            )
        bar, against = printed.get(row, printed.get(OURS, NAN)), "the paper"
    else:
        bar = next(float(rule.more[name]) for name in ("least", "most", "below") if name in rule.more)
    point = here.point(row, column, figure.value)
    if math.isnan(figure.value):
        return point
    sign = 1 if upwards else -1
    margin = sign * (figure.value - bar)
    low, high = sorted((sign * (figure.low - bar), sign * (figure.high - bar)))
    if not figure.streams:  # then the two are the least and the most of the seeds
        low = high = NAN
    met = margin > NEAR if "below" in rule.more else margin >= -NEAR
    return replace(point, bar=bar, margin=margin, low=low, high=high, met=met, against=against)


def not_worse(here: Here, row: str, column: str) -> Point:
    """Return whether the interval of a difference does not end before 0."""
    sign = -1 if here.rule.lower else 1
    worst = here.point(row, column)
    for name in here.rule.more["than"]:
        ours, theirs, low, high, streams = compared(here.figure(row, column), here.figure(name, column))
        if math.isnan(ours) or math.isnan(theirs):
            continue
        low, high = sorted((sign * low, sign * high))
        gain = sign * (ours - theirs)
        reach = gain if math.isnan(high) else high
        if worst.met is None or reach < worst.margin:
            words = f"difference {signed(gain)}: {shown(ours)} against {shown(theirs)} of {name}"
            note = "" if streams > 1 else "no interval from fewer than two streams"
            worst = replace(
                worst,
                figure=gain,
                bar=0.0,
                margin=reach,
                low=low,
                high=high,
                met=reach >= -NEAR,
                against=name,
                words=words,
                note=note,
            )
    return worst


def near(here: Here, row: str, column: str) -> Point:
    """Return whether a figure is near those of others."""
    figure = here.figure(row, column).value
    within = here.rule.more["within"]
    worst = here.point(row, column, figure)
    for name in here.rule.more["than"]:
        distance = abs(figure - here.figure(name, column).value)
        if not math.isnan(distance) and not within - distance >= worst.margin:
            words = f"{shown(figure)} against {shown(here.figure(name, column).value)} of {name}"
            margin = within - distance
            worst = replace(
                worst,
                figure=distance,
                bar=within,
                margin=margin,
                met=margin > NEAR,
                against=name,
                words=words,
            )
    return worst


def no_kind_below(here: Here, row: str, column: str) -> Point:
    """Return whether no corruption type is below 0 with its whole interval."""
    figure = here.figure(row, column)
    point = here.point(row, column)
    if not figure.spans:
        return point
    worst = min(figure.spans, key=lambda name: figure.spans[name][1])
    low, high = figure.spans[worst]
    fallen = [name for name, (_, top) in figure.spans.items() if top < -NEAR]
    value = figure.streams.get(worst, NAN)
    words = f"lowest corruption type, {worst}: {signed(value)}"
    note = f"below: {listed(fallen)}" if fallen else f"none of {len(figure.spans)} types below"
    return replace(
        point, figure=value, bar=0.0, margin=high, low=low, high=high, met=not fallen, words=words, note=note
    )


def reported(here: Here, row: str, column: str) -> Point:
    """Return the figure; nothing is asked."""
    figure = here.figure(row, column)
    return replace(here.point(row, column, figure.value), note=between(figure.low, figure.high))
