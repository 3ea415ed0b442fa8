"""Drawings are what their programs make, say what they should, and no text leaves its place."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pictures import architecture, make, memory, paces, step, stream
from pictures.drawing import Drawing
from pictures.style import DARK, LIGHT, PICTURES, SHOWN, SMALLEST, WIDTH, text_width
from places import ROOT

from tcuq import PROFILES, STEP_DTYPE

MODULES: dict[str, ModuleType] = {
    "architecture": architecture, "step": step, "stream": stream, "paces": paces, "memory": memory,
}  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"
CONCEPTS = ROOT / "docs" / "concepts"
Place = tuple[float, float, float, float]


def parsed(name: str) -> ElementTree.Element:
    return ElementTree.fromstring((PICTURES / f"{name}.svg").read_text(encoding="utf-8"))


def texts(root: ElementTree.Element) -> list[ElementTree.Element]:
    return list(root.iter(f"{SVG}text"))


def of_text(element: ElementTree.Element) -> Place:
    """Left, top, right and bottom of a text, at the widest."""
    classes, size = element.get("class", "").split(), float(element.get("font-size", "0"))
    wide = text_width(element.text or "", size, bold="bold" in classes, mono="mono" in classes)
    x, y = float(element.get("x", "0")), float(element.get("y", "0"))
    x -= {"start": 0.0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "start")]
    return x, y - 0.76 * size, x + wide, y + 0.24 * size


def of_rect(element: ElementTree.Element) -> Place:
    x, y, wide, high = (float(element.get(name, "0")) for name in ("x", "y", "width", "height"))
    return x, y, x + wide, y + high


def overlap(a: Place, b: Place) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_drawings_are_what_their_programs_make(tmp_path: Path) -> None:
    assert set(make.DRAWINGS) == set(MODULES)
    assert make.differing() == [], "run: python tools/pictures/make.py"
    made = {name for files in make.DRAWINGS.values() for name in files()}
    assert {path.name for path in PICTURES.glob("*.svg")} == made
    assert set(make.differing(tmp_path)) == made


@pytest.mark.parametrize("name", MODULES)
def test_every_word_is_there(name: str) -> None:
    root = parsed(name)
    said = " ".join(element.text or "" for element in texts(root)).lower()
    missing = [word for word in MODULES[name].WORDS if word not in said]
    assert not missing
    alternative = root.findtext(f"{SVG}desc") or ""
    assert len(alternative) > 100 and root.get("role") == "img"


@pytest.mark.parametrize("name", MODULES)
def test_no_text_leaves_its_place(name: str) -> None:
    root = parsed(name)
    boxes = {rect.get("id"): of_rect(rect) for rect in root.iter(f"{SVG}rect") if rect.get("id")}
    whole = (0.0, 0.0, float(WIDTH), float(root.get("height", "0")))
    placed = [(element.text, element.get("data-box"), of_text(element)) for element in texts(root)]
    for text, inside, place in placed:
        room = boxes[inside] if inside else whole
        assert place[0] >= room[0] and place[2] <= room[2], f"{text!r} is too wide"
        assert place[1] >= room[1] and place[3] <= room[3], f"{text!r} is too high"
        crossed = [key for key, box in boxes.items() if key != inside and overlap(place, box)]
        assert not crossed, f"{text!r} lies on a box"
    for at, (text, _, place) in enumerate(placed):
        on = [other for other, _, there in placed[at + 1 :] if overlap(place, there)]
        assert not on, f"{text!r} lies on {on}"


@pytest.mark.parametrize("name", MODULES)
def test_letters_can_be_read(name: str) -> None:
    root = parsed(name)
    sizes = [float(element.get("font-size", "0")) for element in texts(root)]
    assert min(sizes) * SHOWN / WIDTH >= SMALLEST
    assert float(root.get("width", "0")) == WIDTH


def test_a_drawing_refuses_text_that_does_not_fit() -> None:
    drawing = Drawing(100, "", "")
    with pytest.raises(ValueError, match="wide, expected at most 88"):
        drawing.box(0, 0, 100, 60, "Expected accuracy")
    with pytest.raises(ValueError, match="is 40 high, expected at least"):
        drawing.box(0, 0, 200, 40, "Risk", ["one", "two"])
    with pytest.raises(ValueError, match="expected within 0 to 760"):
        drawing.text(700, 20, "expected accuracy")
    with pytest.raises(ValueError, match=r"is 12, expected at least 13\.03"):
        drawing.text(0, 20, "risk", size=12)


def test_widths_are_not_below_those_of_a_wide_font() -> None:
    fonts = pytest.importorskip("PIL.ImageFont")
    try:
        plain = fonts.truetype("DejaVuSans.ttf", 100)
        bold = fonts.truetype("DejaVuSans-Bold.ttf", 100)
        mono = fonts.truetype("DejaVuSansMono.ttf", 100)
    except OSError:
        pytest.skip("DejaVu is missing (Debian package fonts-dejavu)")
    for name in MODULES:
        for element in texts(parsed(name)):
            text, classes = element.text or "", element.get("class", "").split()
            is_bold, is_mono = "bold" in classes, "mono" in classes
            font = mono if is_mono else bold if is_bold else plain
            assert font.getlength(text) <= text_width(text, 100, bold=is_bold, mono=is_mono), text


def test_colors_are_those_of_the_report() -> None:
    css = (ROOT / "src" / "tcuq" / "report" / "report.css").read_text(encoding="utf-8")
    light, dark = css[: css.index("* {")].split("@media (prefers-color-scheme: dark)")
    for colors, part in ((LIGHT, light), (DARK, dark)):
        told = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", part))
        assert {name: told[name] for name in colors} == colors


def test_the_step_has_the_signals_and_experts_of_the_core() -> None:
    said = [element.text or "" for element in texts(parsed("step"))]
    words = set(re.findall(r"[a-z]+", " ".join(said)))
    assert {name.split("_")[0] for name in PROFILES["standard"]} <= words
    experts = (ROOT / "src" / "tcuq" / "core" / "tcuq_beliefs.c").read_text(encoding="utf-8")
    named = re.search(r"enum \{ MEMORYLESS, (.*), EXPERT_COUNT \}", experts)
    assert named is not None and len(named[1].split(", ")) + 1 == 6 and "Six experts" in said


def test_the_order_of_a_step_is_that_of_the_core() -> None:
    """The drawing shows judgments from top to bottom as tcuq_step() makes them."""
    core = (ROOT / "src" / "tcuq" / "core" / "tcuq.c").read_text(encoding="utf-8")
    body = core[core.index("void tcuq_step(") :]
    calls = ["score(", "expect(", "flag(", "spend(", "alarm("]
    assert [body.index(call) for call in calls] == sorted(body.index(call) for call in calls)
    heights = {element.text: float(element.get("y", "0")) for element in texts(parsed("step"))}
    shown = ["Two heads", "Risk", "Threshold", "Budget", "Sum"]
    assert [heights[name] for name in shown] == sorted(heights[name] for name in shown)


def test_the_stream_is_whole() -> None:
    found = stream.stored()
    count = (stream.LAST - stream.FIRST) // stream.BIN
    series = [value for value in found.values() if isinstance(value, list) and not isinstance(value[0], list)]
    assert len(series) == 9 and all(len(one) == count for one in series)
    assert [name for _, _, name in found["shifts"]] == ["blur", "dead pixels", "block"]
    lowest, mean, highest = (np.array(found[name]) for name in ("lowest", "mean", "highest"))
    assert (lowest <= mean).all() and (mean <= highest).all() and highest.max() > 0.5


def test_the_film_is_small_and_short() -> None:
    images = pytest.importorskip("PIL.Image")
    for name in ("live.webp", "live-dark.webp"):
        path = PICTURES / name
        assert path.stat().st_size < 1_500_000
        with images.open(path) as film:
            assert film.format == "WEBP" and film.size[0] >= 900 and 40 <= film.n_frames <= 60


@pytest.mark.parametrize("name", ["report", "live", "fleet"])
def test_pictures_of_our_pages_are_light_and_dark(name: str) -> None:
    images = pytest.importorskip("PIL.Image")
    light, dark = (ROOT / "docs" / f"{name}{end}.png" for end in ("", "-dark"))
    with images.open(light) as one, images.open(dark) as other:
        assert one.size == other.size and one.size[0] <= 1000
        corners = [sum(picture.convert("RGB").getpixel((2, 2))) for picture in (one, other)]
    assert corners[0] > 600 and corners[1] < 150
    assert light.stat().st_size + dark.stat().st_size < 300_000


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(CONCEPTS.glob("*.md"))]


def shown(page: Path) -> list[tuple[str, str]]:
    """Alternative text and address of every picture of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)
    for tag in re.findall(r"<img [^>]*>", text):
        named = dict(re.findall(r'(alt|src)="([^"]*)"', tag))
        found.append((named.get("alt", ""), named["src"]))
    found += [("only another form of it", address) for address in re.findall(r'srcset="([^"]*)"', text)]
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_pictures_of_a_page_exist_and_say_what_they_show(page: Path) -> None:
    for alternative, address in shown(page):
        assert (page.parent / address).is_file(), address
        assert len(alternative) > 20, f"{address} has no alternative text"


def test_every_drawing_is_shown_somewhere() -> None:
    addresses = {Path(address).name for page in pages() for _, address in shown(page)}
    # The site shows the light or the dark form of what a page names.
    addresses |= {name.replace(".svg", f"{end}.svg") for name in addresses for end in ("-light", "-dark")}
    unused = {path.name for path in PICTURES.iterdir() if path.suffix in (".svg", ".webp")} - addresses
    assert not unused


@pytest.mark.parametrize("page", sorted(CONCEPTS.glob("*.md")), ids=lambda page: page.name)
def test_figures_of_a_concept_stand_in_the_results(page: Path) -> None:
    """Figures like .155 are copied from docs/RESULTS.md, and nowhere else."""
    results = (ROOT / "docs" / "RESULTS.md").read_text(encoding="utf-8")
    figures = set(re.findall(r"(?<![\w.])[+\u2212]?\.\d{2,3}\b", page.read_text(encoding="utf-8")))
    assert not {figure for figure in figures if figure not in results}


def test_every_field_and_choice_is_in_the_glossary() -> None:
    said = (CONCEPTS / "words.md").read_text(encoding="utf-8")
    words = set(re.findall(r"^\| \*\*([^*]+)\*\* \|", said, re.MULTILINE))
    fields = {name.replace("_", " ") for name in STEP_DTYPE.names or ()}
    assert fields and not fields - words
    assert {"level", "budget", "burst", "run length", "profile"} <= words
    assert all(name in said for name in PROFILES)


@pytest.mark.slow
def test_browsers_draw_no_text_wider_than_its_room(tmp_path: Path) -> None:
    from devtools import Browser

    browser = Browser(tmp_path / "profile")
    try:
        tab = browser.tab()
        tab.size(WIDTH, 700)
        for name in MODULES:
            tab.open((PICTURES / f"{name}.svg").as_uri())
            tab.wait(f"location.href.endsWith('/{name}.svg') && document.readyState === 'complete'")
            wide: list[Any] = tab.js(
                "[...document.querySelectorAll('text')].map(t => [t.textContent, t.getBBox().width])"
            )
            elements = texts(parsed(name))
            assert len(wide) == len(elements)
            for (text, width), element in zip(wide, elements, strict=True):
                left, _, right, _ = of_text(element)
                assert 0 < width <= right - left + 0.5, text
            assert not tab.errors()
    finally:
        browser.close()


@pytest.mark.slow
def test_stored_figures_are_those_of_the_demo() -> None:
    pytest.importorskip("sklearn")
    stored, now = stream.stored(), stream.run_demo()
    assert stored["shifts"] == now["shifts"] and stored.keys() == now.keys()
    for name in ("mean", "threshold", "expected", "true"):
        off = np.abs(np.array(stored[name]) - np.array(now[name])).mean()
        assert off < 0.05, name  # training differs in its last bits from machine to machine


@pytest.mark.slow
def test_the_film_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("PIL")
    from pictures import live

    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["live.py"])
    with pytest.raises(SystemExit) as ended:
        live.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "chromium is missing: apt-get install chromium\n"
