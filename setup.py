"""The compiled part of the product."""

import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "tools")]

from archives import MACROS, OPTIONS, STABLE, commands  # noqa: E402

# What a wheel has in one archive: what is exported, and what reports show.
TEXTS = (
    "core/*.[ch]",
    "export/c/*",
    "export/templates/**/*.in",
    "report/*.css",
    "report/*.js",
    "demo/*.json",
)


def files(ending):
    """Return the files of the binding and the core with this ending."""
    return sorted(str(path) for part in ("binding", "core") for path in Path("src/tcuq", part).glob(ending))


setup(
    cmdclass=commands("README.md", TEXTS),
    ext_modules=[
        Extension(
            "tcuq._core",
            files("*.c"),
            depends=files("*.h") + files("*.toml"),
            include_dirs=["src/tcuq"],
            define_macros=[("TCUQ_SIGNALS", "TCUQ_EVERYTHING"), *MACROS],
            py_limited_api=STABLE,
        )
    ],
    options=OPTIONS,
)
