"""Film the live page: `tcuq live` watches the demo's stream, and a browser without a window looks on.

    python tools/pictures/live.py [--demo FOLDER]

Writes docs/pictures/live.webp and live-dark.webp. Needs Chromium and the packages of the
extra `dev`. The page shows the time of day, so the files of two runs differ.
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
from typing import IO

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chromium import Browser, Tab, browser_path

from pictures.style import PICTURES

FIRST, START, END, BY = 3390, 3720, 4640, 20
"""Steps of the demo's test stream: history, then what is filmed, and how many come between two frames. Half
of the film shows a corrupted stretch (3856 to 4354)."""

WIDE, HIGH, MILLISECONDS = 1280, 850, 160
SHOWN, LIMIT = 920, 1_300_000
"""Pixels across in the file, and its most bytes."""


def lines(folder: Path) -> list[bytes]:
    """Return the steps of the demo's log as a device would send them."""
    with np.load(folder / "test.npz") as log:
        probs, features = log["probs"][FIRST:END], log["features"][FIRST:END]
    rows = zip(probs.tolist(), features.tolist(), strict=True)
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    sent = [
        (json.dumps({"probs": p, "features": f, "boot": 1, "seq": seq}) + "\n").encode()
        for seq, (p, f) in enumerate(rows)
    ]
    sent[0] = (json.dumps({"names": names}) + "\n").encode() + sent[0]
    return sent


@contextlib.contextmanager
def served(demo: Path, folder: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Run `tcuq live` with the demo's monitor; yield its address, and where steps are written to."""
    command = [sys.executable, "-m", "tcuq", "live", str(demo / "params.json"), "-", "--port", "0"]
    command += ["--folder", str(folder / "kept")]
    told = folder / "told.txt"
    with told.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=errors, stderr=errors)
    assert process.stdin is not None
    try:
        yield address(told, process), process.stdin
    finally:
        process.terminate()
        process.wait(timeout=20)


def send(device: IO[bytes], steps: list[bytes]) -> None:
    """Let the device send steps."""
    device.write(b"".join(steps))
    device.flush()


def film(demo: Path, folder: Path) -> dict[str, list[Image.Image]]:
    """Return the frames of the light and of the dark page."""
    browser = Browser(folder / "profile")
    try:
        with served(demo, folder) as (url, device):
            steps = lines(demo)
            send(device, steps[: START - FIRST])
            tabs: dict[str, Tab] = {}
            for form in ("light", "dark"):
                tabs[form] = tab = browser.tab()
                tab.size(WIDE, HIGH)
                tab.media(prefers_color_scheme=form)
                tab.open(url)
            frames: dict[str, list[Image.Image]] = {"light": [], "dark": []}
            for sent in range(START - FIRST, len(steps) + 1, BY):
                for form, tab in tabs.items():
                    tab.wait(f"Number(document.documentElement.dataset.to) === {sent - 1}", 20)
                    tab.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                    shot = folder / "shot.png"
                    tab.screenshot(shot)
                    with Image.open(shot) as taken:
                        size = SHOWN, round(HIGH * SHOWN / WIDE)
                        frames[form].append(taken.convert("RGB").resize(size, Image.Resampling.LANCZOS))
                send(device, steps[sent : sent + BY])
            return frames
    finally:
        browser.close()


def address(told: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the page, as soon as the command says it."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit and process.poll() is None:
        found = [word for word in told.read_text().split() if word.startswith("http://")]
        if found:
            return found[0].rstrip(".,")
        time.sleep(0.05)
    raise SystemExit(f"tcuq live gave no address: {told.read_text()}")


def save(frames: list[Image.Image], path: Path) -> None:
    """Write an animated WebP that goes on forever; the last frame stays for a second."""
    times = [MILLISECONDS] * (len(frames) - 1) + [1000]
    for quality in (50, 40, 30):
        frames[0].save(
            path, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=quality, method=4
        )
        size = path.stat().st_size
        if size < LIMIT:
            break
    print(f"{path}: {size:,} bytes, {len(frames)} frames, {sum(times) / 1000:.1f} s, quality {quality}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=Path, help="what `tcuq demo` left (default: run it)")
    given = parser.parse_args()
    if browser_path() is None:
        print("chromium is missing: apt-get install chromium", file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as name:
        folder, demo = Path(name), given.demo
        if demo is None:
            from tcuq.demo import main as run_demo

            demo = folder / "demo"
            run_demo(demo)
        frames = film(demo, folder)
        for form, end in (("light", ""), ("dark", "-dark")):
            save(frames[form], PICTURES / f"live{end}.webp")


if __name__ == "__main__":
    main()
