"""Where things lie in the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
CORE = ROOT / "src" / "tcuq" / "core"
CORE_SOURCES = sorted(CORE.glob("*.c"))
