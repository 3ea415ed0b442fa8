"""The plot of the first screen: errors left by task and stream, as an SVG that no library draws.

The same figures give the same bytes everywhere. Colors change with what the reader's system prefers; a page
with a theme of its own shows the light or the dark form. The ground is drawn too. Series differ in shape as
well as in color.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tcuq.report.plot import nice_ticks
from tcuq.report.text import escape

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import CLASS_LAWS, FAMILY
from .field import Field
from .headline import LEFT, Place, place
from .wording import named

WIDTH, HEIGHT = 760, 420
"""A page shows it 700 px wide or a little more: letters of 13 px are at least 12 px there."""
TOP, BOTTOM, LEFT_EDGE, GAP = 112, 84, 46, 50
"""Room above and below the panels, left of the first and between them."""
LEGEND = (26.0, 300.0)
"""Where the two columns of the legend begin."""
SERIES = (
    ("confidence", "c", "confidence"),
    ("simple", "s", "best simple rule on that stream"),
    ("deep", "d", "ensemble of five, 5 passes"),
    ("ours", "o", "ours, fitted with labels, 1 pass"),
)
"""Entry of a place, class of the style, and what the legend calls it; ours comes last, on top."""
SHIFT = {"c": -7.5, "s": -2.5, "d": 2.5, "o": 7.5}
SHORT = {
    "continuous sound": ("", "", "sound"),
    "object 16": ("", "", "held", "object"),
    "heavy-tailed 16": ("heavy", "tail"),
    "changing pace": ("", "", "unknown", "pace"),
}
"""Lines below the axis for streams that are not of a class dwell; neighbors stand on other lines."""
COLORS = {
    "light": "svg{--bg:#fff;--ink:#18202b;--mut:#586374;--line:#dce1e8;--c:#586374;--s:#b85a00;--d:#7a2a8c;"
    "--o:#0068a8}",
    "dark": "svg{--bg:#151b23;--ink:#e8ecf2;--mut:#a0acbb;--line:#323c49;--c:#a0acbb;--s:#ffa14f;--d:#d79be6;"
    "--o:#5bb6ee}",
}
STYLE = """
text{font:13.5px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
.t{font-size:16px;font-weight:600}.p{font-size:14.5px;font-weight:600}.m{fill:var(--mut);font-size:13.1px}
.g{stroke:var(--line)}.e{text-anchor:end}.h{text-anchor:middle}
.c{stroke:var(--c);fill:var(--bg)}.s{stroke:var(--s);fill:var(--s)}
.d{stroke:var(--d);fill:var(--d)}.o{stroke:var(--o);fill:var(--o)}
path{stroke-width:1.6}path.l{fill:none}.l.c{stroke-dasharray:3 3}.l.d{stroke-dasharray:7 3}
.l.o{stroke-width:2.6}
"""


def style(form: str) -> str:
    """Return the style of a form: ``light``, ``dark``, or ``auto``, which follows the reader's system."""
    if form == "auto":
        return f"\n{COLORS['light']}\n@media(prefers-color-scheme:dark){{{COLORS['dark']}}}{STYLE}"
    return f"\n{COLORS[form]}{STYLE}"


def overview(field: Field | None, form: str = "auto") -> str:
    """Return the plot; one that says so where there are no figures.

    Parameters
    ----------
    field : Field, optional
        Of the experiment `answers`.
    form : {"auto", "light", "dark"}
        Colors.
    """
    title = "Errors left among the 90 % of steps that a method trusts most"
    body = [f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="var(--bg)"/>']
    body.append(f'<text class="t" x="20" y="28">{title}</text>')
    tasks = [] if field is None else [task for task in field.first_tasks if _laws(field, task)]
    if field is None or not tasks:
        body.append('<text x="20" y="60">Not run yet.</text>')
        described = "Not run yet."
    else:
        body += _legend()
        wide = (WIDTH - LEFT_EDGE - 24 - GAP * (len(tasks) - 1)) / len(tasks)
        said: list[str] = []
        for number, task in enumerate(tasks):
            places = [place(field, task, law, LEFT) for law in _laws(field, task)]
            body += _panel(LEFT_EDGE + number * (wide + GAP), wide, task, places)
            said += [_described(each) for each in places]
        described = "; ".join(said)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-labelledby="t d"><title id="t">{title}</title>'
        f'<desc id="d">{escape(described)}</desc><style>{style(form)}</style>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _described(here: Place) -> str:
    values = ", ".join(
        f"{words} {100 * line.value:.1f} %"
        for entry, _, words in SERIES
        for line in [getattr(here, entry)]
        if line is not None
    )
    return f"{named(here.task)}, {here.stream}: {values}"


def _laws(field: Field, task: str) -> list[str]:
    """Return the streams of a panel; mixed ones have a table of their own."""
    return [law for law in field.laws(task, LEFT) if law not in FAMILY]


def _legend() -> list[str]:
    out = []
    for number, (_, name, words) in enumerate(SERIES):
        at, y = LEGEND[number % 2], 48 + 20 * (number // 2)
        out.append(_mark(name, at, y))
        out.append(f'<text x="{at + 12:g}" y="{y + 4.5:g}">{words}</text>')
    return out


def _mark(name: str, x: float, y: float) -> str:
    """Return the mark of a series: a ring, a triangle, a diamond or a square."""
    at = f"{x:.1f} {y:.1f}"
    shape = {
        "c": f"M{at}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
        "s": f"M{at}m-4.5 4l4.5-8l4.5 8z",
        "d": f"M{at}m0-5l5 5l-5 5l-5-5z",
        "o": f"M{at}m-4-4h8v8h-8z",
    }[name]
    return f'<path class="{name}" d="{shape}"/>'


def _panel(x: float, wide: float, task: str, places: Sequence[Place]) -> list[str]:
    high = HEIGHT - TOP - BOTTOM
    lines = [getattr(each, entry) for each in places for entry, _, _ in SERIES]
    shown = [_share(end) for line in lines if line for end in (line.value, line.high)]
    top = max([end for end in shown if math.isfinite(end)] or [1.0])
    ticks = nice_ticks(0, top * 1.02, 4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else top
    top = step * math.ceil(top * 1.02 / step)

    def up(value: float) -> float:
        return TOP + high * (1 - _share(value) / top)

    out = [f'<text class="p" x="{x:.1f}" y="{TOP - 10}">{escape(named(task))}</text>']
    for number in range(round(top / step) + 1):
        y = TOP + high * (1 - number * step / top)
        out.append(f'<path class="g" d="M{x:.1f} {y:.1f}h{wide:.1f}"/>')
        out.append(f'<text class="m e" x="{x - 6:.1f}" y="{y + 4:.1f}">{number * step:g} %</text>')
    slot = wide / len(places)
    at = {each.stream: x + slot * (number + 0.5) for number, each in enumerate(places)}
    for stream, middle in at.items():
        words = (str(CLASS_LAWS[stream]),) if stream in CLASS_LAWS else SHORT.get(stream, (stream,))
        for number, word in enumerate(words):
            y = TOP + high + 18 + 15 * number
            out.append(f'<text class="m h" x="{middle:.1f}" y="{y}">{escape(word)}</text>')
    paced = [each for each in places if each.stream in CLASS_LAWS]
    if paced:
        ends = at[paced[0].stream] - slot / 3, at[paced[-1].stream] + slot / 3
        out.append(f'<path class="g" d="M{ends[0]:.1f} {TOP + high + 26}H{ends[1]:.1f}"/>')
        for number, word in enumerate(("steps that a", "class stays")):
            y = TOP + high + 43 + 15 * number
            out.append(f'<text class="m h" x="{sum(ends) / 2:.1f}" y="{y}">{word}</text>')
    for entry, name, _ in SERIES:
        points = [(at[each.stream] + SHIFT[name], getattr(each, entry)) for each in places]
        out += _series(name, points, {at[each.stream] + SHIFT[name] for each in paced}, up)
    return out


def _series(
    name: str, points: Sequence[tuple[float, Line | None]], joined: set[float], up: Callable[[float], float]
) -> list[str]:
    out = []
    line = [f"{x:.1f} {up(each.value):.1f}" for x, each in points if each and x in joined]
    if len(line) > 1:
        out.append(f'<path class="l {name}" d="M{"L".join(line)}"/>')
    for x, each in points:
        if each is None or not math.isfinite(each.value):
            continue
        if math.isfinite(each.low) and math.isfinite(each.high):
            out.append(f'<path class="{name}" d="M{x:.1f} {up(each.low):.1f}V{up(each.high):.1f}"/>')
        out.append(_mark(name, x, up(each.value)))
    return out


def _share(value: float) -> float:
    """Return a share in percent."""
    return 100 * value
