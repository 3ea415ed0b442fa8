"""The laboratory has the version of the product it was made for, and needs that very version."""

import re
from pathlib import Path

from setuptools import setup


def version() -> str:
    """Read the one place of the version; a source archive of the lab alone carries it in its own metadata."""
    here = Path(__file__).parent
    product = here.parent / "src" / "tcuq" / "_version.py"
    source, pattern = (
        (product, r'VERSION = "([^"]+)"') if product.exists() else (here / "PKG-INFO", r"(?m)^Version: (.+)$")
    )
    found = re.search(pattern, source.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{source} names no version")
    return found[1]


setup(version=version(), install_requires=[f"tcuq=={version()}", "numpy>=1.24"])
