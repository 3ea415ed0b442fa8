"""A newcomer with a model and pictures gets to a compiled C package by the pages alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from doc_runner import missing
from newcomer import Lost, command, follow, link, section
from places import ROOT
from setups import model

import tcuq
from tcuq.io import read_decisions, read_log


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `model.tflite` and `pictures/` alone."""
    place = tmp_path / "mine"
    place.mkdir()
    model(place)
    (place / "data.npz").unlink()
    return place


@pytest.mark.slow
def test_the_pages_lead_to_a_compiled_package(folder: Path) -> None:
    if missing("cc"):
        pytest.skip("cc is missing: install the Debian package gcc")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    script = [sys.executable, str(ROOT / "tests" / "docs" / "newcomer.py"), str(folder)]
    done = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("to a C package whose self-check passes\n")
    # What was compiled decides as Python did.
    log, params = (
        read_log(folder / "monitor" / "test.npz"),
        tcuq.Params.load(folder / "monitor" / "monitor.json"),
    )
    values = (
        log.probs if log.features is None or not params.features else np.hstack([log.probs, log.features])
    )
    assert log.segments is not None
    changes = np.flatnonzero(np.diff(log.segments, prepend=log.segments[0]))
    first = int(changes[0]) if len(changes) else len(values)
    rows = "\n".join(" ".join(map(str, row)) for row in values[:first].tolist())
    said = subprocess.run([folder / "try_monitor"], input=rows, capture_output=True, text=True, check=True)
    answers = [int(line.split()[0]) for line in said.stdout.splitlines()]
    steps = read_decisions(folder / "monitor" / "decisions.csv").steps[:first]
    assert len(answers) > 50 and answers == steps["answer"].tolist()


def test_a_folder_with_more_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.npz").touch()
    with pytest.raises(Lost, match=r"holds \['data\.npz'\], expected model\.tflite and pictures alone"):
        follow(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("## Use it", "## Use", "README.md: the heading 'Use it' is missing"),
        ("tcuq start model.tflite pictures", "tcuq begin", "README.md: no command has tcuq start and model"),
        ("(docs/START.md)", "(docs/BEGIN.md)", "README.md: no link leads to START.md"),
        ('".[tflite,pictures]"', '"."', "README.md: no command has pip install and tflite"),
    ],
)
def test_a_page_that_does_not_lead_on_is_found(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("newcomer.typed", lambda block, folder: "Verdict")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "README.md").write_text(text.replace(old, new))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "START.md", tmp_path / "docs")
    mine = tmp_path / "mine"
    for name in ("model.tflite", "pictures"):
        (mine / name).mkdir(parents=True)
    with pytest.raises(Lost) as error:
        follow(mine, tmp_path / "README.md")
    assert str(error.value).startswith(said)


def test_parts_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A\n\n## B\n\n```sh\none\n```\n\n[c](c.md#d)\n\n## C\n\n```sh\ntwo\n```\n")
    (tmp_path / "c.md").touch()
    part = section(page, "B")
    assert command(part, "a.md", "one") == "one\n" and link(part, page, "c.md") == tmp_path / "c.md"
    with pytest.raises(Lost, match=r"a\.md: no command has two"):
        command(part, "a.md", "two")
