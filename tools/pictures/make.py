"""Make the drawings of docs/pictures again.

    python tools/pictures/make.py            all drawings, from stored figures: a second
    python tools/pictures/make.py --check    says which differ from their programs, and exits with status 1

Programs of their own: `stream.py` runs the demo for new figures, `live.py` films the live page, and
`screens.py` takes pictures of our pages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures import architecture, memory, paces, step, stream
from pictures.drawing import write
from pictures.style import PICTURES

DRAWINGS: dict[str, Callable[[], dict[str, str]]] = {
    "architecture": architecture.files,
    "step": step.files,
    "stream": stream.files,
    "paces": paces.files,
    "memory": memory.files,
}


def differing(folder: Path = PICTURES) -> list[str]:
    """Return the names of the drawings in a folder that are not what their programs make."""
    found = []
    for make in DRAWINGS.values():
        for name, text in make().items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != text.encode():
                found.append(name)
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    if parser.parse_args().check:
        names = differing()
        if names:
            print(f"not what their programs make: {', '.join(names)}", file=sys.stderr)
            raise SystemExit(1)
        return
    for make in DRAWINGS.values():
        write(make())


if __name__ == "__main__":
    main()
