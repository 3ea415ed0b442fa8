"""Commands outside a checkout, and the folder that they find."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import LAB

import tcuq_lab
from tcuq_lab.home import NoCheckout, folder, home


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as pip would install it: a copy, away from any checkout."""
    where = tmp_path / "site"
    shutil.copytree(Path(tcuq_lab.__file__).parent, where / "tcuq_lab")
    monkeypatch.delenv("TCUQ_LAB", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(where))
    return tmp_path


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tcuq_lab", *words], cwd=where, capture_output=True, text=True
    )


@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "drop"], ["results"], ["results", "--write"]])
def test_a_command_that_needs_a_checkout_says_so_in_one_line(installed: Path, words: list[str]) -> None:
    done = run(installed, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tcuq-lab: this command needs a checkout of tcuq")
    assert "set TCUQ_LAB" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in installed.iterdir()] == ["site"]


def test_a_checkout_is_found_by_its_variable_and_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCUQ_LAB", str(LAB))
    monkeypatch.chdir(tmp_path)
    assert home() == LAB and folder(None, "../docs") == LAB.parent / "docs"
    assert folder("mine", "results") == Path("mine")
    monkeypatch.delenv("TCUQ_LAB")
    for inside in (LAB, LAB.parent, LAB / "src", LAB.parent / "docs"):
        monkeypatch.chdir(inside)
        assert home() == LAB
    monkeypatch.setenv("TCUQ_LAB", str(tmp_path))
    with pytest.raises(NoCheckout, match=r"which has no results/paper\.json: set it to"):
        home()
