"""Follow the pages as a newcomer does who has a .tflite file and a folder of pictures, and nothing else.

Run it in a folder with `model.tflite` and `pictures/CLASS/*.png`: ``python tests/docs/newcomer.py FOLDER``.
It types what README.md and docs/START.md show, word for word, with the `tcuq` that is first in PATH, and ends
with a compiled C package whose self-check has passed. It fails where a page no longer says what to type next.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
MODEL, PICTURES = "model.tflite", "pictures"


class Lost(Exception):
    """A page does not lead on."""


def section(page: Path, heading: str) -> str:
    """Return the part of a page under a heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page.read_text("utf-8"), re.M | re.S)
    if not found:
        raise Lost(f"{page.name}: the heading {heading!r} is missing")
    return found[1]


def command(text: str, where: str, *words: str) -> str:
    """Return the first shell block of a part of a page that has all of these words."""
    for block in FENCE.findall(text):
        if all(word in block for word in words):
            return str(block)
    raise Lost(f"{where}: no command has {' and '.join(words)}")


def link(text: str, where: Path, name: str) -> Path:
    """Return the page that a part of a page links to."""
    found = re.search(rf"\]\(([^)#]*{re.escape(name)})(#[^)]*)?\)", text)
    target = where.parent / found[1] if found else None
    if target is None or not target.is_file():
        raise Lost(f"{where.name}: no link leads to {name}")
    return target


def typed(block: str, folder: Path) -> str:
    """Run commands as a shell does that stops at the first failure; return what they printed."""
    print("$ " + block.rstrip().replace("\n", "\n$ "), flush=True)
    done = subprocess.run(["sh", "-ec", block], cwd=folder, capture_output=True, text=True)
    print(done.stdout + done.stderr, flush=True)
    if done.returncode:
        raise Lost(f"status {done.returncode}: {block.strip()}")
    return done.stdout + done.stderr


def follow(folder: Path, readme: Path = PAGES / "README.md") -> None:
    """Go from the README to a compiled C package in a folder with a model and pictures.

    Parameters
    ----------
    folder : path
        Holds the model and the pictures.
    readme : path
        The page to begin with; it links to the next.
    """
    given = {path.name for path in folder.iterdir()}
    if given != {MODEL, PICTURES}:
        raise Lost(f"{folder} holds {sorted(given)}, expected {MODEL} and {PICTURES} alone")
    use = section(readme, "Use it")
    install = command(use, readme.name, "pip install", "tflite", "pictures")
    print(f"(installed already: {install.strip()})")
    printed = typed(command(use, readme.name, "tcuq start", MODEL, PICTURES), folder)
    if "Verdict" not in printed:
        raise Lost("tcuq start gives no verdict")
    start = link(use, readme, "START.md")
    build = section(start, "How do I compile it?")
    if "self-check passed" not in typed(command(build, start.name, "cc ", "./"), folder):
        raise Lost("the self-check did not pass")
    link(build, start, "EXPORT_C.md")
    link(start.read_text("utf-8"), start, "RECORD.md")
    for name in ("report.html", "README.md", "monitor.json", "firmware/README.md"):
        if not (folder / "monitor" / name).is_file():
            raise Lost(f"monitor/{name} is missing, which {start.name} promises")


def main() -> int:
    """Follow the pages and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="an empty folder but for model.tflite and pictures/")
    parser.add_argument("--readme", type=Path, default=PAGES / "README.md", help="the page to begin with")
    asked = parser.parse_args()
    if shutil.which("tcuq") is None:
        print("newcomer: tcuq is not in PATH; install it first", file=sys.stderr)
        return 2
    try:
        follow(asked.folder, asked.readme)
    except (Lost, OSError) as error:
        print(f"newcomer: {error}", file=sys.stderr)
        return 1
    print("newcomer: from the README to a C package whose self-check passes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
