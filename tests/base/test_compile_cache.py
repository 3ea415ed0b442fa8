"""Objects that tests share: the same source, headers and flags are compiled once, others again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import compile_cache
import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def test_what_differs_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "kept"))
    (tmp_path / "a.h").write_text("#define A 3\n")
    (tmp_path / "a.c").write_text('#include "a.h"\nint main(void) { return A + B; }\n')

    def said(*flags: str) -> int:
        done = subprocess.run(["cc", *flags, "a.c", "-o", "a"], cwd=tmp_path, capture_output=True, text=True)
        return subprocess.run([tmp_path / "a"]).returncode if done.returncode == 0 else -1

    assert [said("-DB=1"), said("-DB=1"), said("-DB=2")] == [4, 4, 5]
    assert len([*(tmp_path / "kept").glob("*.o")]) == 2
    (tmp_path / "a.h").write_text("#define A 4\n")
    assert said("-DB=1") == 5 and len(os.listdir(tmp_path / "kept")) == 12
    (tmp_path / "a.h").write_text("#error no\n")
    assert said("-DB=1") == -1
