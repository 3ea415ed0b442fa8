"""Measure what the live page costs: the server with pages open, and the browser that draws.

python bench/live_page.py [--rate 1000] [--pages 1] [--seconds 20] [--single] [--browser]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# The device that is not there and the driver of the browser serve the tests as well.
sys.path.insert(0, str(Path(__file__).parents[1] / "watch" / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import chromium
import live_fake

FOLLOW = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1] + "feed") as stream:
    while stream.read1(1 << 16):
        pass
"""


def play(feed: live_fake.Feed, rate: float, single: bool, stopped: threading.Event) -> None:
    """Give steps that were made before, so that only their passing on is measured."""
    steps, signals = live_fake.Device(trouble=(0, 300)).steps(1000)
    began, told = time.monotonic(), 20_000
    while not stopped.wait(0.02):
        due = int((time.monotonic() - began) * rate) + 20_000 - told
        while due > 0:
            place, count = told % 1000, 1 if single else due
            count = min(count, 1000 - place)
            some = slice(place, place + count)
            feed.add_steps(told, steps[some], time.time(), signals=signals[some])
            told, due = told + count, due - count


def browser_seconds(process: int) -> float:
    """Return the processor time of a process and all below it."""
    rows = subprocess.run(
        ["ps", "-eo", "pid,ppid,cputimes"], capture_output=True, text=True, check=True
    ).stdout
    parents = {int(p): (int(q), float(t)) for p, q, t in (line.split() for line in rows.splitlines()[1:])}
    family, found = {process}, 0
    while len(family) != found:
        found = len(family)
        family |= {p for p, (q, _) in parents.items() if q in family}
    ticks = 0.0
    for one in family:
        fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--pages", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--single", action="store_true", help="steps are told one by one")
    parser.add_argument("--browser", action="store_true", help="one page more, in Chromium without a window")
    asked = parser.parse_args()
    feed, _ = live_fake.filled(20_000, asked.rate, trouble=(19_000, 19_500))
    server, _ = live_fake.served(feed)
    stopped = threading.Event()
    playing = threading.Thread(target=play, args=(feed, asked.rate, asked.single, stopped))
    playing.start()
    followers = [subprocess.Popen([sys.executable, "-c", FOLLOW, server.url]) for _ in range(asked.pages)]
    with tempfile.TemporaryDirectory() as folder:
        browser = tab = None
        if asked.browser:
            browser = chromium.Browser(Path(folder) / "profile")
            tab = browser.tab()
            tab.size(1400, 1000)
            tab.open(server.url)
            tab.wait("document.documentElement.dataset.ready")
            print(f"first picture after {tab.js('document.documentElement.dataset.ready')} ms")
        time.sleep(3)
        frames = int(tab.js("document.documentElement.dataset.frames")) if tab else 0
        drawn = browser_seconds(browser.process.pid) if browser else 0.0
        cpu, wall = time.process_time(), time.monotonic()
        time.sleep(asked.seconds)
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        share = f"{100 * cpu / wall:.1f} % of a core"
        print(f"server: {asked.rate:g} steps/s, {asked.pages + asked.browser} pages: {share}")
        if browser and tab:
            drawn = browser_seconds(browser.process.pid) - drawn
            frames = int(tab.js("document.documentElement.dataset.frames")) - frames
            print(f"Chromium: {100 * drawn / wall:.0f} % of a core, {frames / wall:.1f} pictures/s")
            browser.close()
    stopped.set()
    playing.join()
    for follower in followers:
        follower.terminate()
        follower.wait()
    server.close()


if __name__ == "__main__":
    main()
