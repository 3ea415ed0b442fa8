"""The one compiled part: the integer core with its Python door."""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# Buffers joined the stable ABI in 3.11; there, one wheel serves every later Python.
# Free-threaded builds have no stable ABI.
STABLE = (
    sys.version_info >= (3, 11)
    and sys.implementation.name == "cpython"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)

SOURCES = sorted(str(path) for part in ("binding", "core") for path in Path("src/tcuq", part).glob("*.c"))
HEADERS = sorted(str(path) for part in ("binding", "core") for path in Path("src/tcuq", part).glob("*.h"))

setup(
    ext_modules=[
        Extension(
            "tcuq._core",
            SOURCES,
            depends=HEADERS,
            include_dirs=["src/tcuq"],
            extra_compile_args=["-std=c99", "-O3", "-g0"],
            define_macros=[
                ("TCUQ_CRC_BY_TABLE", "1"),
                ("TCUQ_FINGERPRINT_OF", "held_fingerprint"),
                *([("Py_LIMITED_API", "0x030B0000")] if STABLE else []),
            ],
            py_limited_api=STABLE,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
