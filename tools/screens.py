# SPDX-License-Identifier: MIT
"""Take pictures of our own pages, light and dark: the demo's report, the live page, a fleet.

    python tools/screens.py [report live fleet live-states] [--demo FOLDER] [--fleet FOLDER]
    python tools/screens.py --of belt/report.html docs/tutorials/camera.png

Writes docs/report.png, docs/live.png and docs/fleet.png, each with a dark one beside it, and
docs/live-states.png, what the live page says in each of its states. `--demo` is what
`tcuq demo --out` left, `--fleet` what examples/fleet_demo left. Needs Chromium. Pages show
times, so the files of two runs differ.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from browser import Browser
from PIL import Image

from tcuq import Monitor, Params
from tcuq.demo.clothes import NAMES

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH, HEIGHTS = 1000, {"report": 730, "live": 1060, "fleet": 1160, "live-states": 900}
"""Of a window. A page of the site shows it 736 px wide, so that letters of 14 px are 10.3 px there."""
BEFORE, AFTER, PAUSE, RAIN = 400, 300, 4.0, 4
"""Steps of the demo's day that the live page has seen before and after the rain; seconds between two."""


def shoot(browser: Browser, url: str, path: Path, ready: str, dark: bool = True) -> None:
    """Write the first screen of a page, light and dark, as PNGs of few colors."""
    size = {"width": WIDTH, "height": HEIGHTS.get(path.stem, 900)}
    for mode, end in (("light", ""), ("dark", "-dark"))[: 1 + dark]:
        tab = browser.tab(viewport=size, color_scheme=mode, reduced_motion="reduce")
        tab.open(url)
        tab.wait(ready, 30)
        target = path.with_stem(path.stem + end)
        tab.page.screenshot(path=target)
        with Image.open(target) as picture:
            few = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        few.save(target, optimize=True)
        print(f"{target}: {target.stat().st_size:,} bytes")


def lines(demo: Path, count: int, ago: float = 0.0) -> str:
    """Return the first steps that the live page shows, as a device sends them; the last is so long ago."""
    columns = [column[:count].tolist() for column in day(demo)]
    start = time.time() - ago - PAUSE * (count - 1)
    steps = [
        {"probs": p, "features": f, "gauges": g, "boot": 1, "seq": at, "time": start + PAUSE * at}
        for at, (p, f, g) in enumerate(zip(*columns, strict=True))
    ]
    return "".join(f"{json.dumps(row)}\n" for row in [{"names": list(NAMES)}, *steps][: None if count else 0])


def day(demo: Path) -> list[Any]:
    """Return posteriors, features and gauges of the demo's day from some steps before the rain."""
    with np.load(demo / "test.npz") as log:
        begin = int((log["shifted"] == RAIN).argmax()) - BEFORE
        return [log[name][begin : begin + BEFORE + AFTER] for name in ("probs", "features", "gauges")]


@contextlib.contextmanager
def live(demo: Path, folder: Path, sent: str) -> Iterator[str]:
    """Run `tcuq live` with the demo's monitor on some steps; yield its address."""
    command = [sys.executable, "-m", "tcuq", "live", str(demo / "params.json"), "-", "--port", "0"]
    command += ["--folder", str(folder), "--device-name", "gate-north", "--place", "hall 3"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stderr is not None
    try:
        process.stdin.write(sent)
        process.stdin.flush()
        words = (word for line in process.stderr for word in line.split())
        yield next(word.rstrip(".,") for word in words if word.startswith("http://"))
    finally:
        process.terminate()
        process.wait(timeout=20)


def states(browser: Browser, demo: Path, folder: Path) -> None:
    """Write what stands first on the live page in each of its states, three beside each other."""
    probs, features, gauges = (column[:BEFORE] for column in day(demo))
    actions = Monitor(Params.load(demo / "params.json")).run(probs, features, gauges=gauges)["action"]
    act, ask = (int(np.flatnonzero(actions == code)[-1]) + 1 for code in (0, 1))
    wanted = [(act, 0.0, ""), (ask, 0.0, ""), (BEFORE + AFTER, 0.0, ""), (act, 30.0, ""), (0, 0.0, "")]
    shots = []
    for at, (count, ago, gone) in enumerate([*wanted, (act, 0.0, "connection lost")]):
        tab = browser.tab(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce")
        with live(demo, folder / f"state-{at}", lines(demo, count, ago)) as url:
            tab.open(url)
            seen = f"Number(document.documentElement.dataset.to) === {count - 1}"
            tab.wait(seen if count else "Boolean(document.querySelector('#facts li'))", 30)
            tab.page.wait_for_timeout(0 if gone else 1500)
            if not gone:
                shots.append(tab.page.locator("#now").screenshot())
        if gone:
            tab.wait(f"document.querySelector('#state').textContent.includes('{gone}')", 30)
            tab.page.wait_for_timeout(1500)
            shots.append(tab.page.locator("#now").screenshot())
    pictures = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    wide, high = (20 + max(getattr(each, side) for each in pictures) for side in ("width", "height"))
    sheet = Image.new("RGB", (3 * wide - 20, 2 * high - 20), "white")
    for at, picture in enumerate(pictures):
        sheet.paste(picture, (at % 3 * wide, at // 3 * high))
    sheet.quantize(128, dither=Image.Dither.NONE).save(DOCS / "live-states.png", optimize=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(HEIGHTS)} (default: all)")
    parser.add_argument("--demo", type=Path, default=Path("out/demo"), help="what `tcuq demo` left")
    parser.add_argument(
        "--fleet", type=Path, default=Path("out/fleet-demo"), help="what the fleet's demo left"
    )
    parser.add_argument("--of", nargs=2, type=Path, metavar=("PAGE", "PICTURE"), help="one page, light")
    given = parser.parse_args()
    names = given.names or list(HEIGHTS)
    browser, loaded = Browser(), "document.readyState === 'complete'"
    if given.of:
        shoot(browser, given.of[0].resolve().as_uri(), given.of[1], loaded, dark=False)
        names = []
    for name, folder in (("report", given.demo), ("fleet", given.fleet)):
        if name in names:
            shoot(browser, (folder / f"{name}.html").resolve().as_uri(), DOCS / f"{name}.png", loaded)
    if "live" in names:
        sent = lines(given.demo, BEFORE + AFTER)
        with tempfile.TemporaryDirectory() as folder, live(given.demo, Path(folder), sent) as url:
            last = f"Number(document.documentElement.dataset.to) === {BEFORE + AFTER - 1}"
            shoot(browser, url, DOCS / "live.png", last)
    if "live-states" in names:
        with tempfile.TemporaryDirectory() as folder:
            states(browser, given.demo, Path(folder))
    browser.close()


if __name__ == "__main__":
    main()
