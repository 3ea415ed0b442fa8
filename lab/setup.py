"""Archives as those of the product."""

import sys
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

from archives import commands  # noqa: E402

setup(cmdclass=commands("lab/README.md"))
