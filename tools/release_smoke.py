"""Try an installed tcuq as a newcomer would: made data first, then the commands of the README.

    python tools/release_smoke.py README.md [FOLDER]

Works in a temporary folder, with the Python that runs it, without a shell and without a network: wheels are
tried with it on every platform. FOLDER holds the reader's own `model.tflite` and `pictures`. What the README
needs and is not there (scikit-learn, that folder, packages for it) leaves commands out, each with its reason.
Exit status: 0; 1 with the command that failed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
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
MODEL = "run: with model"
"""The mark of blocks that need the reader's own model and pictures."""
PACKAGES = {"ai_edge_litert": "ai-edge-litert", "PIL": "pillow"}
"""What these blocks need, and what to install for it."""
BLOCK = re.compile(
    r"(?P<marks>(?:^<!--[^\n]*-->\n)*)^```(?P<language>sh|python)\n(?P<code>.*?)^```", re.M | re.S
)


def readme_parts(page: str) -> list[tuple[str, str, bool]]:
    r"""Return what a page asks a reader to run: language, code, and whether it needs a model of the reader.

    Lines of `tcuq` come one by one. A comment `<!-- not run: ... -->` or `<!-- fails: ... -->` before a block
    leaves it out. Lines of other programs are left out too.

    Examples
    --------
    >>> readme_parts("```sh\npip install x\ntcuq demo --out d  # try\n```\n")
    [('sh', 'tcuq demo --out d  # try', False)]
    >>> readme_parts("<!-- not run: needs a board -->\n```sh\ntcuq live p.json x\n```\n")
    []
    >>> readme_parts("<!-- run: with model -->\n<!-- slow -->\n```sh\ntcuq start model.tflite x\n```\n")
    [('sh', 'tcuq start model.tflite x', True)]
    """
    parts: list[tuple[str, str, bool]] = []
    for block in BLOCK.finditer(page):
        if "<!-- not run" in block["marks"] or "<!-- fails" in block["marks"]:
            continue
        model = MODEL in block["marks"]
        if block["language"] == "python":
            parts.append(("python", block["code"], model))
            continue
        lines = block["code"].replace("\\\n", " ").splitlines()
        parts += [("sh", line, model) for line in lines if line.startswith("tcuq ")]
    return parts


def missing(folder: Path | None) -> str:
    """Return what keeps commands on the reader's own model from running; nothing if all is there."""
    if folder is None:
        return "no folder with model.tflite and pictures was given"
    absent = [extra for name, extra in PACKAGES.items() if importlib.util.find_spec(name) is None]
    return f"pip install {shlex.join(absent)}" if absent else ""


def named(language: str, code: str) -> str:
    """Return how a part is called in what is printed, on one line."""
    name = code if language == "sh" else f"python block: {code.strip().splitlines()[0]} ..."
    return " ".join(name.split())


def run(language: str, code: str, folder: Path) -> None:
    """Run one part in a folder; end with status 1 where it fails."""
    command = ["-m", "tcuq", *shlex.split(code, comments=True)[1:]] if language == "sh" else ["-c", code]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'}  {named(language, code)}", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"smoke: exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")


def main(arguments: list[str]) -> int:
    """Try everything."""
    if len(arguments) not in (1, 2):
        print("usage: release_smoke.py README [FOLDER]", file=sys.stderr)
        return 2
    page = Path(arguments[0]).read_text(encoding="utf-8")
    parts = readme_parts(page)
    if not parts:
        print(f"smoke: {arguments[0]} has no block to run, expected commands of tcuq", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        made, read = Path(scratch, "made"), Path(scratch, "readme")
        made.mkdir()
        read.mkdir()
        run("python", MADE, made)
        for line in COMMANDS.split("\n")[1:-1]:
            run("sh", line, made)
        if importlib.util.find_spec("sklearn") is None:
            print("left out: the README's commands (scikit-learn is missing: pip install scikit-learn)")
            return 0
        given = Path(arguments[1]) if len(arguments) == 2 else None
        absent = missing(given)
        if given is not None:
            shutil.copytree(given, read, dirs_exist_ok=True)
        for language, code, model in parts:
            if model and absent:
                print(f"left out: {named(language, code)} ({absent})")
            else:
                run(language, code, read)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
