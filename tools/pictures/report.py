"""Draw the top of the demo's report, as a browser shows it, into docs/report.png.

python tools/pictures/report.py demo/report.html
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.style import ROOT

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, COLORS = 1200, 1020, 64


def draw(browser: str, report: Path, out: Path) -> None:
    """Write the first screen of a page as a PNG of few colors."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}"]
        subprocess.run(
            [*command, f"--screenshot={shot}", report.resolve().as_uri()], check=True, capture_output=True
        )
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(out, optimize=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, help="report.html of `tcuq demo`")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "report.png")
    given = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not given.report.is_file():
        missing = "chromium is missing: apt-get install chromium"
        print(
            missing if browser is None else f"{given.report} is no file, expected a report", file=sys.stderr
        )
        raise SystemExit(2)
    draw(browser, given.report, given.out)


if __name__ == "__main__":
    main()
