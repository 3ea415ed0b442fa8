# SPDX-License-Identifier: MIT
"""Mutants of the core: a sample that the tests must notice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mutants import places, report
from mutants.builds import CORE
from mutants.run import main


@pytest.mark.slow
def test_explanations_are_of_mutants_that_exist() -> None:
    assert report.explained() <= {report.key(mutant) for mutant in places.mutants(CORE)}


@pytest.mark.slow
def test_a_sample_is_noticed(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is missing: install the Debian package gcc")
    asked = ["--sample", "40", "--seed", "5", "--no-flips", "--floor", "93", "--out", str(tmp_path)]
    assert main(asked) == 0, (tmp_path / "mutants.txt").read_text()
