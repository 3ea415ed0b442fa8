"""Execute a notebook with a kernel, in a folder that is named: ``python notebook_runner.py FILE FOLDER``.

It prints JSON, an object for each cell of code: what it printed (`printed`) and the kinds of pictures and
values that it showed (`shown`). It ends with status 1 and the traceback where a cell raises. The notebook is
read and never written.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEEDED = ("nbclient", "ipykernel")
SECONDS = 300
"""Longest time of a cell."""
COLOR = re.compile(r"\x1b\[[\d;]*m")


def lacking() -> str:
    """Return the first package that is missing here, or an empty text."""
    return next((name for name in NEEDED if find_spec(name) is None), "")


def execute(notebook: Path, folder: Path) -> list[dict[str, Any]]:
    """Execute a notebook in a fresh process; return what each cell of code printed and showed.

    Parameters
    ----------
    notebook : path
        A file of nbformat 4.
    folder : path
        Where the kernel runs: files that cells write land there.

    Raises
    ------
    AssertionError
        When a cell raises or the file is no notebook, with what was said.
    """
    with tempfile.TemporaryDirectory(prefix="kernel-") as own:
        # History, profiles and connection files belong to nobody's home, and no kernel of a user's is taken.
        places = dict.fromkeys(("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"), own)
        places |= {"JUPYTER_RUNTIME_DIR": own, "JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, str(notebook), str(folder)]
        environment = {**os.environ, **places}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * SECONDS)
    assert done.returncode == 0, COLOR.sub("", done.stderr)
    return list(json.loads(done.stdout))


def main(notebook: str, folder: str) -> None:
    """Execute a notebook in this process."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(notebook, as_version=4)
    nbformat.validate(book)
    # Without a path the kernel would run wherever this was started, a checkout perhaps.
    place = {"metadata": {"path": folder}}
    NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources=place).execute()
    cells = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
    found = [
        {
            "printed": "".join(each.get("text", "") for each in outputs),
            "shown": sorted({kind for each in outputs for kind in each.get("data", {})}),
        }
        for outputs in cells
    ]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
