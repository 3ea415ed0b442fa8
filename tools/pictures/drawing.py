"""SVG written by hand: boxes with text that fits, arrows, lines, and the three forms of a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pictures.style import (
    BODY,
    CORNER,
    MARGIN,
    PICTURES,
    SHOWN,
    SMALL,
    SMALLEST,
    TITLE,
    WIDTH,
    style_sheet,
    text_width,
)

Point = tuple[float, float]
FORMS = {"auto": "", "light": "-light", "dark": "-dark"}


def number(value: float) -> str:
    """Return a coordinate with at most one decimal.

    Examples
    --------
    >>> number(12.0), number(0.25), number(-0.01)
    ('12', '0.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class Box:
    """Where a box lies, and the middles of its sides."""

    x: float
    y: float
    wide: float
    high: float

    def left(self, down: float = 0.5) -> Point:
        """Return a point on the left side."""
        return self.x, self.y + down * self.high

    def right(self, down: float = 0.5) -> Point:
        """Return a point on the right side."""
        return self.x + self.wide, self.y + down * self.high

    def top(self, across: float = 0.5) -> Point:
        """Return a point on the upper side."""
        return self.x + across * self.wide, self.y

    def bottom(self, across: float = 0.5) -> Point:
        """Return a point on the lower side."""
        return self.x + across * self.wide, self.y + self.high


class Drawing:
    """A picture that grows by parts."""

    def __init__(self, height: float, title: str, text: str) -> None:
        self.height, self.title, self.alt = height, title, text
        self._parts: list[str] = []
        self._boxes = 0

    def raw(self, part: str) -> None:
        """Add a part as it is."""
        self._parts.append(part)

    def rect(self, x: float, y: float, wide: float, high: float, role: str, corner: float = 0) -> None:
        """Add a filled rectangle; the role is one or more classes of the style."""
        round_ = f' rx="{number(corner)}"' if corner else ""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"'
        self.raw(f'<rect class="{role}" {place}{round_}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = BODY,
        role: str = "ink",
        anchor: str = "start",
        box: str = "",
    ) -> None:
        """Add a line of text; y is its base line."""
        if size * SHOWN / WIDTH < SMALLEST:
            raise ValueError(f"size of {text!r} is {size}, expected at least {SMALLEST * WIDTH / SHOWN:.2f}")
        wide = text_width(text, size, bold="bold" in role.split(), mono="mono" in role.split())
        first = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        if first < 0 or first + wide > WIDTH:
            raise ValueError(
                f"{text!r} is at {first:.0f} to {first + wide:.0f}, expected within 0 to {WIDTH}"
            )
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        inside = f' data-box="{box}"' if box else ""
        place = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}"'
        self.raw(f'<text class="{role}" {place}{at}{inside}>{escape(text, quote=False)}</text>')

    def box(
        self,
        x: float,
        y: float,
        wide: float,
        high: float,
        title: str,
        lines: Sequence[str] = (),
        *,
        role: str = "line",
        anchor: str = "middle",
    ) -> Box:
        """Add a box with a title and lines below it, all of which must fit."""
        self._boxes += 1
        name = f"b{self._boxes}"
        place = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"'
        self.raw(f'<rect class="card" {place} rx="{CORNER}"/>')
        ground = "page" if role == "line" else f"{role} tint"
        self.raw(f'<rect id="{name}" class="{ground} s-{role} stroke" {place} rx="{CORNER}"/>')
        rows = [(title, BODY, "ink bold")]
        for line in lines:
            code = len(line) > 1 and line.startswith("`") and line.endswith("`")
            rows.append((line.strip("`"), SMALL, "muted mono") if code else (line, SMALL, "muted"))
        step = SMALL * 1.35
        used = TITLE + step * (len(rows) - 1)
        if used + 12 > high:
            raise ValueError(f"box {title!r} is {high} high, expected at least {used + 12:.0f}")
        across = x + wide / 2 if anchor == "middle" else x + MARGIN
        base = y + (high - used) / 2 + BODY * 0.92
        for at, (text, size, kind) in enumerate(rows):
            needed = text_width(text, size, bold="bold" in kind, mono="mono" in kind)
            if needed > wide - MARGIN:
                raise ValueError(f"{text!r} is {needed:.0f} wide, expected at most {wide - MARGIN:.0f}")
            self.text(across, base + at * step, text, size=size, role=kind, anchor=anchor, box=name)
        return Box(x, y, wide, high)

    def arrow(self, points: Iterable[Point], role: str = "muted", *, dashed: bool = False) -> None:
        """Add a line with rounded corners that ends in an arrow."""
        way = list(points)
        line = _rounded(way)
        dash = " dashed" if dashed else ""
        self.raw(f'<path class="open s-{role} stroke{dash}" d="{line}"/>')
        (x0, y0), (x1, y1) = way[-2], way[-1]
        size = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        ux, uy = (x1 - x0) / size, (y1 - y0) / size
        wings = [(x1 - 9 * ux + side * 4.5 * uy, y1 - 9 * uy - side * 4.5 * ux) for side in (1, -1)]
        corners = " L".join(f"{number(x)} {number(y)}" for x, y in [(x1, y1), *wings])
        self.raw(f'<path class="{role}" d="M{corners}Z"/>')

    def line(self, points: Iterable[Point], role: str, *, wide: float = 0, dashed: bool = False) -> None:
        """Add a line through points."""
        way = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        thick = f' stroke-width="{number(wide)}"' if wide else ""
        kind = "" if wide else " stroke"
        self.raw(
            f'<polyline class="open s-{role}{kind}{" dashed" if dashed else ""}"{thick} points="{way}"/>'
        )

    def svg(self, form: str = "auto") -> str:
        """Return the picture in one of its forms: auto, light or dark."""
        size = f'viewBox="0 0 {WIDTH} {number(self.height)}" width="{WIDTH}" height="{number(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d">'
        names = f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.alt)}</desc>'
        ground = f'<rect class="card" width="{WIDTH}" height="{number(self.height)}" rx="{CORNER}"/>'
        return "\n".join(
            [head, names, f"<style>{style_sheet(form)}</style>", ground, *self._parts, "</svg>", ""]
        )


def _rounded(way: Sequence[Point], corner: float = 8) -> str:
    parts = [f"M{number(way[0][0])} {number(way[0][1])}"]
    for before, here, after in zip(way, way[1:], way[2:], strict=False):
        enter, leave = _toward(here, before, corner), _toward(here, after, corner)
        parts.append(f"L{number(enter[0])} {number(enter[1])}")
        parts.append(f"Q{number(here[0])} {number(here[1])} {number(leave[0])} {number(leave[1])}")
    parts.append(f"L{number(way[-1][0])} {number(way[-1][1])}")
    return "".join(parts)


def _toward(start: Point, end: Point, most: float) -> Point:
    size = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
    share = min(most, size / 2) / size
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def forms(name: str, drawing: Drawing) -> dict[str, str]:
    """Return the files of a picture by their names.

    One follows what the reader's system prefers. GitHub and our site have a theme of their own, which may
    differ: they choose between a light and a dark one.
    """
    return {f"{name}{end}.svg": drawing.svg(form) for form, end in FORMS.items()}


def write(files: dict[str, str], folder: Path = PICTURES) -> None:
    """Write files, and say which."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{folder / name}: {len(text.encode()):,} bytes")
