"""Take pictures of our own pages, light and dark: the demo's report, the live page, a fleet.

    python tools/pictures/screens.py [report live fleet] [--demo FOLDER] [--fleet FOLDER]
    python tools/pictures/screens.py --of belt/report.html docs/tutorials/camera.png

Writes docs/report.png, docs/live.png and docs/fleet.png, each with a dark one beside it. Runs `tcuq demo` and
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

from chromium import Browser, browser_path

from pictures.live import lines, send, served
from pictures.style import ROOT

WIDTH = 1000
"""Of a window. A page of the site shows it 736 px wide, so that letters of 14 px are 10.3 px there."""
HEIGHTS = {"report": 730, "live": 1060, "fleet": 1160}
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


def take(browser: Browser, names: list[str], demo: Path, fleet: Path, folder: Path, out: Path) -> None:
    """Take the pictures that are wanted."""
    loaded = "document.readyState === 'complete'"
    if "report" in names:
        shoot(browser, (demo / "report.html").resolve().as_uri(), "report", loaded, out)
    if "fleet" in names:
        shoot(browser, (fleet / "fleet.html").resolve().as_uri(), "fleet", loaded, out)
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
