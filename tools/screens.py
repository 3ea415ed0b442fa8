# SPDX-License-Identifier: MIT
"""Take pictures of our own pages, light and dark: the demo's report, the live page, a fleet.

    python tools/screens.py [report live fleet] [--demo FOLDER] [--fleet FOLDER]
    python tools/screens.py --of belt/report.html docs/tutorials/camera.png

Writes docs/report.png, docs/live.png and docs/fleet.png, each with a dark one beside it. `--demo` is what
`tcuq demo --out` left, `--fleet` what examples/fleet_demo left. Needs Chromium. Pages show
times, so the files of two runs differ.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from browser import Browser
from PIL import Image

from tcuq.demo.clothes import NAMES

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH, HEIGHTS = 1000, {"report": 730, "live": 1060, "fleet": 1160}
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


@contextlib.contextmanager
def live(demo: Path, folder: Path) -> Iterator[str]:
    """Run `tcuq live` on the demo's day around the rain; yield its address."""
    with np.load(demo / "test.npz") as log:
        begin = int((log["shifted"] == RAIN).argmax())
        columns = [
            log[name][begin - BEFORE : begin + AFTER].tolist() for name in ("probs", "features", "gauges")
        ]
    start = time.time() - PAUSE * (BEFORE + AFTER - 1)
    steps = [
        {"probs": p, "features": f, "gauges": g, "boot": 1, "seq": at, "time": start + PAUSE * at}
        for at, (p, f, g) in enumerate(zip(*columns, strict=True))
    ]
    command = [sys.executable, "-m", "tcuq", "live", str(demo / "params.json"), "-", "--port", "0"]
    command += ["--folder", str(folder), "--device-name", "gate-north", "--place", "hall 3"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stderr is not None
    try:
        process.stdin.write("\n".join(map(json.dumps, [{"names": list(NAMES)}, *steps])) + "\n")
        process.stdin.flush()
        words = (word for line in process.stderr for word in line.split())
        yield next(word.rstrip(".,") for word in words if word.startswith("http://"))
    finally:
        process.terminate()
        process.wait(timeout=20)


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
        with tempfile.TemporaryDirectory() as folder, live(given.demo, Path(folder)) as url:
            last = f"Number(document.documentElement.dataset.to) === {BEFORE + AFTER - 1}"
            shoot(browser, url, DOCS / "live.png", last)
    browser.close()


if __name__ == "__main__":
    main()
