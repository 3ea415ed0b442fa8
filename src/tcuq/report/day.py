"""The picture that carries the report: what was seen, claimed, expected and right, and what to do."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..log.class_names import shift_shown
from .data import Cells, pack_stretches, per_cell
from .plot import SHADES, Axis, Plot, runs, steps_axis, unmarked
from .summary import Delay, Facts
from .text import DASH, count, escape, legend, percent, section, table

Pictures = Mapping[str, npt.NDArray[np.uint8]]
"""A gray picture, or several above each other, for each kind of input by name, "clean" among them."""

SPANS, STRIP = 150, 1000  # cells of the lines, and of the decisions
NAMED = 10
"""Stretches of known shifts up to which the drawing names each one."""

LINES = {"right": "answers really right", "claims": "model claims", "risk": "tcuq expects"}
DECISIONS = {"act": "act", "ask": "ask: not sure", "hold": "hold: the alarm is on"}


def png(gray: npt.NDArray[np.uint8]) -> bytes:
    """Return a gray picture as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = np.pad(gray, ((0, 0), (1, 0))).tobytes()  # each row begins with the number of its filter, none
    head = struct.pack(">IIBBBBB", gray.shape[1], gray.shape[0], 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def day(facts: Facts, pictures: Pictures, tiles: str) -> str:
    """Return the picture, the main figures, and a row for each kind of input."""
    steps, stretches = len(facts.steps), pack_stretches(facts.log)
    named = stretches if len(stretches) <= NAMED else []
    expected = facts.expected
    series: dict[str, npt.NDArray[Any]] = {}
    if facts.errors is not None:
        series["right"] = ~facts.errors["answer"]
    if facts.log is not None:
        series["claims"] = facts.log.confidence()
    if expected is not None:
        series["risk"] = expected
    shares = ", ".join(f"{name} {percent(float(hits.mean()))}" for name, hits in facts.choices.items())
    body = legend([*((name, LINES[name]) for name in series), *DECISIONS.items()])
    if named:
        body += _row("shots", steps, [(a, b, _shot(name, pictures)) for a, b, name in named])
    if series:
        ticks = tuple((each, percent(each, 0)) for each in (0.0, 0.5, 1.0))
        up = Axis(0, 1, "of the answers", ticks=ticks)
        means = {name: Cells.most(values, SPANS) for name, values in series.items()}
        words = "; ".join(
            f"{LINES[name]} {percent(float(v.mean()))} on average" for name, v in series.items()
        )
        plot = Plot("Accuracy over time", f"{words}.", unmarked(steps), up, "course")
        plot.boxes([(a, b) for a, b, _ in stretches], 0, 1, "shift tint")
        for name, cells in means.items():
            plot.line(cells.middle, cells.mean, name)
        body += plot.html()
    body += _strip(facts, shares)
    if named and facts.response is not None:
        found = [(d.start, d.end, f"<span>{escape(_held(d))}</span>") for d in facts.response.delays]
        body += _row("until", steps, found)
    lead = (
        "Act on the answer, ask where the monitor is not sure, hold while the alarm is on. Shaded: known "
        "faults and changes; below each, the steps until it held. "
        f"Lines are means of {per_cell(steps, SPANS)} steps."
    )
    return section("acted", "What happened, and what to do", lead, body + tiles + _by_kind(facts))


def _shot(name: str, pictures: Pictures) -> str:
    shown = ""
    if name in pictures:
        shown = base64.b64encode(png(pictures[name])).decode()
        shown = f'<img alt="what the camera saw: {escape(name)}" src="data:image/png;base64,{shown}">'
    return f"{shown}<span>{escape(name)}</span>"


def _held(delay: Delay) -> str:
    """Return when the monitor held, in a few letters."""
    if delay.steps is None:
        return {"missed": "missed", "on from before": "before"}.get(delay.outcome, "not held")
    return f"after {count(delay.steps)}" + ", no harm" * ("harm" in delay.outcome)


def _row(kind: str, steps: int, places: list[tuple[int, int, str]]) -> str:
    """Return words above or below their stretches."""
    each = (f'<div style="left:{50 * (a + b) / steps:.2f}%">{what}</div>' for a, b, what in places)
    return f'<div class="{kind}"><div>{"".join(each)}</div></div>'


def _strip(facts: Facts, shares: str) -> str:
    """Return the decisions over time, as rectangles."""
    steps = len(facts.steps)
    up, per = Axis(0, 1, ticks=((-1, ""),)), per_cell(steps, STRIP)
    plot = Plot("Act, ask and hold over time", shares, steps_axis(steps, facts.first), up, "strip", False)
    plot.boxes([(0, steps)], 0, 1, "act")
    asked = np.ceil(Cells.of(facts.choices["ask"], per).mean * SHADES)
    for shade in range(1, SHADES + 1):
        edges = [(a * per, min(steps, b * per)) for a, b in runs(asked == shade)]
        plot.boxes(edges, 0, 1, "ask", shade / SHADES)
    held = Cells.of(facts.choices["hold"], per).mean >= 0.5
    plot.boxes([(a * per, min(steps, b * per)) for a, b in runs(held)], 0, 1, "hold")
    return plot.html()


def _by_kind(facts: Facts) -> str:
    """Return a row for each kind of input: harmful ones by cost, harmless ones, clean steps."""
    log, errors, response, each = facts.log, facts.errors, facts.response, facts.choices
    if log is None or (errors is None and response is None):
        return ""
    kinds = np.zeros(len(log), np.int64) if log.kinds is None else log.kinds
    shifts, sure = {} if response is None else response.by_kind(), log.confidence()
    harmful = frozenset() if response is None else response.harmful
    expected = facts.expected
    titles = ["input", "steps", "model claims"]
    titles += [] if errors is None else ["model right", "answers right"]
    titles += [] if expected is None else ["tcuq expects"]
    titles += ["act", "ask", "hold"]
    titles += [] if errors is None else ["wrong when acting"]
    titles += ["held", "median delay"] if shifts else []
    rows: list[tuple[Any, list[str]]] = []
    for kind in np.unique(kinds).tolist():
        here = kinds == kind
        name = shift_shown(kind, log.shift_names)
        shares = [sure[here]]
        cost = 0.0
        if errors is not None:
            shares += [~errors["prediction"][here], ~errors["answer"][here]]
            cost = float(errors["prediction"][here].mean())
        shares += [] if expected is None else [expected[here]]
        shares += [hits[here] for hits in each.values()]
        cells = [escape(name), count(int(here.sum())), *(percent(float(each.mean())) for each in shares)]
        if errors is not None:
            wrong = errors[facts.about][here & each["act"]]
            acting = f"{percent(float(wrong.mean()))} of {count(len(wrong))}" if len(wrong) else DASH
            cells.append(acting)
        if shifts:
            known = shifts.get(name)
            median = None if known is None else known.median
            cells += ["" if known is None else known.words, "" if median is None else f"{median:.4g}"]
        rows.append(((kind not in harmful, kind == 0, -cost), cells))
    return table(titles, [cells for _, cells in sorted(rows, key=lambda row: row[0])], "numbers cards")
