# SPDX-License-Identifier: MIT
"""Try an installed tcuq as a newcomer would: made data first, then the commands of the README.

    python tools/release_smoke.py README.md

Works in a temporary folder with the Python that runs it, without a shell and without a network: wheels are
tried with it on every platform. What needs a reader's own model is left out. Exit status: 0; 1 with the
command that failed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

MADE = """
import numpy as np
rng = np.random.default_rng(0)
probs = rng.dirichlet(np.full(4, 0.3), 3000)
labels = np.array([rng.choice(4, p=row) for row in probs])
np.savez("dev.npz", probs=probs, labels=labels, shifted=np.arange(3000) % 2 == 1)
"""
COMMANDS = """
tcuq --version
tcuq fit dev.npz -o params.json --run-length 200
tcuq inspect params.json
tcuq run params.json dev.npz -o decisions.csv
tcuq audit decisions.csv params.json
tcuq report decisions.csv --params params.json -o report.html
tcuq export params.json firmware --name kws
tcuq export params.json arduino --form arduino
"""
BLOCK = re.compile(r"(?P<marks>(?:^<!--[^\n]*-->\n)*)^```(?P<kind>sh|python)\n(?P<code>.*?)^```", re.M | re.S)


def parts(page: str) -> list[list[str]]:
    r"""Return what a page asks a reader to run, as arguments of Python.

    Examples
    --------
    >>> parts("```sh\npip install x\ntcuq demo --out d  # try\n```\n")
    [['-m', 'tcuq', 'demo', '--out', 'd']]
    >>> parts("<!-- run: with model -->\n```sh\ntcuq start model.tflite x\n```\n")
    []
    """
    found = []
    for block in BLOCK.finditer(page):
        if not re.search("not run|fails|with model", block["marks"]):
            lines = block["code"].replace("\\\n", " ").splitlines() if block["kind"] == "sh" else []
            found += [["-m", *shlex.split(line, comments=True)] for line in lines if line.startswith("tcuq ")]
            found += [] if lines else [["-c", block["code"]]]
    return found


if __name__ == "__main__":
    page = parts(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if not page:
        sys.exit(f"smoke: {sys.argv[1]} has no block to run, expected commands of tcuq")
    made = [["-c", MADE], *(["-m", *shlex.split(line)] for line in COMMANDS.split("\n")[1:-1])]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}
    for commands in (made, page):
        with tempfile.TemporaryDirectory() as folder:
            for command in commands:
                subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True, stdout=2)
                print("ok  ", " ".join(" ".join(command[1:]).split())[:100], flush=True)
