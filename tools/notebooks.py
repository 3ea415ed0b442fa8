"""Make notebooks and pictures from tutorials: `NAME.md` is the source, `NAME.ipynb` and SVG files are made.

    python tools/notebooks.py            compare; exit 1 if a notebook is out of date
    python tools/notebooks.py --write    run those that are, with their outputs and pictures

A block of Python becomes a cell of code, everything between becomes a cell of text. A block of `text`, which
shows what the cell before printed, is left out: a notebook prints it itself. Outputs and pictures are of the
run that wrote them and are not compared, since training differs between machines. Running needs nbclient
and ipykernel.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
NOTEBOOKS = ("no_labels", "vibration")
PICTURES = {"no_labels": ("stuck.svg",), "vibration": ("loose.svg",), "wrong_button": ("button.svg",)}
"""What the Python of a tutorial saves and its page shows."""
SITE = "https://github.com/tcuq/tcuq/blob/main/docs/"
"""Where links to other pages lead: a notebook that was downloaded has no pages beside it."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n?", re.M | re.S)
COMMENT = re.compile(r"^<!--.*?-->\n?", re.M | re.S)
DOWNLOAD = re.compile(
    r" Download it as a \[notebook\]\(\w+\.ipynb\), or paste the cells into a Python session\."
)
IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n?", re.M)
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def cells_of(page: str) -> list[tuple[str, str]]:
    r"""Return the cells of a page: their kind, `markdown` or `code`, and their text.

    Examples
    --------
    >>> cells_of("# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nDone.\n")
    [('markdown', '# Title'), ('code', 'print(1)'), ('markdown', 'Done.')]
    """
    cells: list[tuple[str, str]] = []
    page = IMAGE.sub("", DOWNLOAD.sub("", COMMENT.sub("", page)))
    at = 0
    for found in [*BLOCK.finditer(page), None]:
        words = page[at : found.start() if found else len(page)].strip()
        if words:
            cells.append(("markdown", LINK.sub(_elsewhere, words)))
        if found is None:
            break
        at = found.end()
        language, text = found.group(1), found.group(2).rstrip("\n")
        if language == "python":
            cells.append(("code", text))
        elif language != "text":
            cells.append(("markdown", f"```{language}\n{text}\n```"))
    return cells


def _elsewhere(link: re.Match[str]) -> str:
    target = link.group(1)
    place = target.removeprefix("../") if target.startswith("../") else f"tutorials/{target}"
    return f"]({SITE}{place})"


def notebook(page: str) -> str:
    r"""Return a page as a notebook of nbformat 4.5; the same page gives the same bytes.

    Examples
    --------
    >>> made = json.loads(notebook("# Title\n\n```python\nprint(1)\n```\n"))
    >>> [cell["cell_type"] for cell in made["cells"]], made["nbformat"], made["nbformat_minor"]
    (['markdown', 'code'], 4, 5)
    """
    cells = []
    seen: dict[str, int] = {}
    for kind, text in cells_of(page):
        # An id stays while its cell stays, wherever it moves.
        digest = hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell: dict[str, Any] = {
            "cell_type": kind,
            "id": digest if seen[digest] == 1 else f"{digest}-{seen[digest]}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def sources(text: str) -> list[Any]:
    """Return the cells of a notebook without their outputs."""
    cells = json.loads(text)["cells"]
    return [(cell["cell_type"], cell["id"], "".join(cell["source"])) for cell in cells]


def executed(text: str, folder: Path) -> str:
    """Run a notebook in a folder and return it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.reads(text, as_version=4)
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in book.cells:
        cell.metadata = {}  # times of the run
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Compare or write the notebooks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write what differs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where pages and notebooks are")
    args = parser.parse_args(argv)
    stale = []
    for name in dict.fromkeys((*NOTEBOOKS, *PICTURES)):
        try:
            made = notebook((args.folder / f"{name}.md").read_text(encoding="utf-8"))
        except OSError as error:
            print(f"notebooks: {error}", file=sys.stderr)
            return 2
        target = args.folder / f"{name}.ipynb"
        pictures = [args.folder / picture for picture in PICTURES.get(name, ())]
        same = name not in NOTEBOOKS or (
            target.exists() and sources(target.read_text(encoding="utf-8")) == sources(made)
        )
        if same and all(picture.exists() for picture in pictures):
            continue
        stale.append(target)
        if args.write:
            with tempfile.TemporaryDirectory() as folder:
                made = executed(made, Path(folder))
                for picture in pictures:
                    shutil.copy(Path(folder) / picture.name, picture)
            if name in NOTEBOOKS:
                target.write_text(made, encoding="utf-8")
    for target in stale:
        print(f"wrote {target}" if args.write else f"{target} is out of date: run tools/notebooks.py --write")
    return 0 if args.write or not stale else 1


if __name__ == "__main__":
    sys.exit(main())
