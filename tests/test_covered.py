# SPDX-License-Identifier: MIT
"""The floor of coverage: what is counted, and when it ends with an error."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("coverage", reason="coverage is missing: pip install pytest-cov")

import covered
from coverage import Coverage, CoverageData

TEXT = "def f(x):\n    if x:\n        return 1\n    return 2\n"
ALL = [(-1, 1), (1, -1), (-1, 2), (2, 3), (3, -1), (2, 4), (4, -1)]


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "src" / "tcuq"
    folder.mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (folder / name).write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(covered, "ROOT", tmp_path)
    monkeypatch.delenv("COVERAGE_FILE", raising=False)
    return folder


def measured(arcs: dict[Path, list[tuple[int, int]]]) -> None:
    data = CoverageData(".coverage")
    data.add_arcs({str(path): found for path, found in arcs.items()})
    data.write()


def test_lines_and_branches_are_counted_and_modules_that_nobody_imports(product: Path) -> None:
    measured({product / "a.py": [(-1, 1), (1, -1), (-1, 2), (2, 3), (3, -1)]})
    whole = Coverage()
    whole.load()
    assert covered.counted(whole, product) == {
        "src/tcuq/a.py": covered.Counts(4, 3, 2, 1),
        "src/tcuq/b.py": covered.Counts(4, 0, 2, 0),
    }


def test_below_the_floor_it_fails_and_names_the_worst(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured({product / "a.py": ALL})
    assert covered.main() == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[:2] == [
        "the product's tests run 4 of 8 lines (50.0 %), 2 of 4 branches (50.0 %)",
        "  src/tcuq/b.py: 0 of 4 lines (0.0 %), 0 of 2 branches (0.0 %)",
    ]
    assert said.err.count("expected 95 %") == 2


def test_at_the_floor_it_passes(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured({product / "a.py": ALL, product / "b.py": ALL})
    assert covered.main() == 0 and not capsys.readouterr().err


def test_data_without_branches_are_refused(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert covered.main() == 2
    assert "hold no branches, expected what `make coverage` leaves" in capsys.readouterr().err
