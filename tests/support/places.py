"""Where things lie in the checkout."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
CORE = ROOT / "src" / "tcuq" / "core"
CORE_SOURCES = sorted(CORE.glob("*.c"))


def broken_core(folder: Path, file: str, old: str, new: str) -> Path:
    """Return a copy of the core with another text in one place."""
    core = shutil.copytree(CORE, folder / "core")
    text = (core / file).read_text()
    assert text.count(old) == 1
    (core / file).write_text(text.replace(old, new))
    return core
