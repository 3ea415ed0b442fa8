"""The count of the repository's text leaves out data and knows whose line is whose."""

from __future__ import annotations

import subprocess
from pathlib import Path

import lines

TEXTS = {
    "README.md": "one\n\ntwo\n",
    "src/tcuq/a.py": "1\n" * 5,
    "lab/src/b.py": "1\n" * 7,
    "lab/tests/c.py": "1\n" * 11,
    "tests/d.c": "1\n" * 13,
    "tools/e.py": "1\n" * 17,
    "tools/hostile/f.c": "1\n" * 19,
    "vectors/frames.txt": "data\n",
    "vectors/gauges.txt": "text\n",
    "fuzz/corpus/found/g.txt": "data\n",
    "docs/h.svg": "data\n",
    "bench/i.bin": "\0\n",
}


def test_lines_of_each_part(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "README.md").write_text("not committed\n")
    assert lines.counted(root=tmp_path) == {
        "root, .github, .ci, packaging": 3,
        "src/tcuq": 5,
        "lab/src": 7,
        "tests": 11 + 13,
        "tools without hostile": 17,
        "vectors, fuzz, proofs, tools/hostile": 19 + 1,
    }
