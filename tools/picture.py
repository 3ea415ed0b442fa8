"""Draw the picture of the README: the top of the demo's report, as a browser shows it."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
)
WIDTH, HEIGHT, COLORS = 1200, 1020, 64


def draw(report: Path, out: Path) -> None:
    """Write the first screen of a page as a PNG of few colors."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = ["chromium", *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}"]
        subprocess.run(
            [*command, f"--screenshot={shot}", report.resolve().as_uri()], check=True, capture_output=True
        )
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(out, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="report.html of `tcuq demo`")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "report.png")
    given = parser.parse_args()
    if shutil.which("chromium") is None:
        sys.exit("chromium is missing: apt-get install chromium")
    draw(given.report, given.out)
