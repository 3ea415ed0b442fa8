"""Take pictures of our own pages, light and dark: the demo's report, the live page, a fleet.

    python tools/pictures/screens.py [report live fleet live-states] [--demo FOLDER] [--fleet FOLDER]
    python tools/pictures/screens.py --of belt/report.html docs/tutorials/camera.png

Writes docs/report.png, docs/live.png and docs/fleet.png, each with a dark one beside it, and
docs/live-states.png, what the live page says in each of its states. Runs `tcuq demo` and
`tools/fleet_demo.py` unless it is given what they left. Needs Chromium and the extra `dev`. Pages
show times, so the files of two runs differ.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chromium import Browser, Tab, browser_path

from pictures.live import lines, send, served, states
from pictures.style import ROOT

WIDTH = 1000
"""Of a window. A page of the site shows it 736 px wide, so that letters of 14 px are 10.3 px there."""
HEIGHTS = {"report": 730, "live": 1060, "fleet": 1160, "live-states": 900}
COLORS = 128


def shoot(
    browser: Browser, url: str, name: str, ready: str, out: Path, modes: tuple[str, ...] = ("light", "dark")
) -> None:
    """Write the first screen of a page, light and dark, as PNGs of few colors."""
    for mode in modes:
        end = "-dark" if mode == "dark" else ""
        tab = browser.tab()
        tab.size(WIDTH, HEIGHTS.get(name, 900))
        tab.media(prefers_color_scheme=mode, prefers_reduced_motion="reduce")
        tab.open(url)
        tab.wait(ready, 30)
        tab.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        path = out / f"{name}{end}.png"
        tab.screenshot(path)
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        print(f"{path}: {path.stat().st_size:,} bytes")


def shoot_states(browser: Browser, demo: Path, folder: Path, path: Path) -> None:
    """Write what stands first on the live page in each of its states, three beside each other."""
    shots = []
    for name, (count, ago) in states(demo).items():
        here = folder / name.replace(" ", "-")
        here.mkdir()
        tab = browser.tab()
        tab.size(WIDTH, HEIGHTS["live-states"])
        tab.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        with served(demo, here) as (url, device):
            send(device, lines(demo, count, ago))
            root = "document.documentElement"
            tab.open(url)
            seen = f"Number({root}.dataset.to) === {count - 1}"
            tab.wait(seen if count else "Boolean(document.querySelector('#facts li'))", 30)
            if name != "server gone":
                tab.js("new Promise(done => setTimeout(done, 1500))")
                shots.append(first_of(tab, here / "shot.png"))
        if name == "server gone":
            tab.wait("document.querySelector('#state').textContent.includes('connection lost')", 30)
            tab.js("new Promise(done => setTimeout(done, 1500))")
            shots.append(first_of(tab, here / "shot.png"))
    gap, wide = 20, shots[0].width
    high = max(shot.height for shot in shots)
    sheet = Image.new("RGB", (3 * (wide + gap) - gap, 2 * (high + gap) - gap), "white")
    for place, shot in enumerate(shots):
        sheet.paste(shot, (place % 3 * (wide + gap), place // 3 * (high + gap)))
    sheet.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def first_of(tab: Tab, path: Path) -> Image.Image:
    """Return what to do now, as the page says it."""
    tab.screenshot(path)
    ends = "[box.left, box.top, box.right, Math.min(box.bottom, last + 24)]"
    last = "Math.max(...[...now.querySelectorAll('*')].map(part => part.getBoundingClientRect().bottom))"
    found = f"(now => {{ const box = now.getBoundingClientRect(), last = {last}; return {ends}; }})"
    with Image.open(path) as picture:
        scale = picture.width / WIDTH
        box = [round(end * scale) for end in tab.js(f"{found}(document.querySelector('#now'))")]
        return picture.convert("RGB").crop((box[0], box[1], box[2], box[3]))


def take(browser: Browser, names: list[str], demo: Path, fleet: Path, folder: Path, out: Path) -> None:
    """Take the pictures that are wanted."""
    loaded = "document.readyState === 'complete'"
    if "report" in names:
        shoot(browser, (demo / "report.html").resolve().as_uri(), "report", loaded, out)
    if "fleet" in names:
        shoot(browser, (fleet / "fleet.html").resolve().as_uri(), "fleet", loaded, out)
    if "live-states" in names:
        shoot_states(browser, demo, folder, out / "live-states.png")
    if "live" in names:
        with served(demo, folder) as (url, device):
            steps = lines(demo)
            send(device, steps)
            ready = f"Number(document.documentElement.dataset.to) === {len(steps) - 1}"
            shoot(browser, url, "live", ready, out)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(HEIGHTS)} (default: all)")
    parser.add_argument("--demo", type=Path, help="what `tcuq demo` left (default: run it)")
    parser.add_argument("--fleet", type=Path, help="what tools/fleet_demo.py left (default: run it)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder (default: docs)")
    parser.add_argument("--of", nargs=2, type=Path, metavar=("PAGE", "PICTURE"), help="one page, light")
    given = parser.parse_args()
    names = given.names or list(HEIGHTS)
    wrong = [name for name in names if name not in HEIGHTS]
    if wrong or browser_path() is None:
        missing = "chromium is missing: apt-get install chromium"
        print(f"{wrong[0]} is no page, expected {', '.join(HEIGHTS)}" if wrong else missing, file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        demo, fleet = given.demo or folder / "demo", given.fleet or folder / "fleet"
        if given.of is None and given.demo is None and names != ["fleet"]:
            subprocess.run([sys.executable, "-m", "tcuq", "demo", "--out", str(demo)], check=True)
        if given.of is None and given.fleet is None and "fleet" in names:
            subprocess.run([sys.executable, str(ROOT / "tools" / "fleet_demo.py"), str(fleet)], check=True)
        browser = Browser(folder / "profile")
        try:
            if given.of:
                page, picture = given.of
                loaded = "document.readyState === 'complete'"
                shoot(browser, page.resolve().as_uri(), picture.stem, loaded, picture.parent, ("light",))
                return
            take(browser, names, demo, fleet, folder, given.out)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
