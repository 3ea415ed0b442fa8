"""The compiled part of the fleet."""

import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

from archives import MACROS, OPTIONS, STABLE, commands  # noqa: E402

NATIVE = Path("src/tcuq_watch/native")

setup(
    cmdclass=commands("watch/README.md"),
    ext_modules=[
        Extension(
            "tcuq_watch._native",
            sorted(map(str, NATIVE.glob("*.c"))),
            depends=sorted(map(str, NATIVE.glob("*.h"))),
            define_macros=MACROS,
            py_limited_api=STABLE,
        )
    ],
    options=OPTIONS,
)
