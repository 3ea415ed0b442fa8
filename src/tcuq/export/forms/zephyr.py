"""A module for Zephyr, with a sample."""

from __future__ import annotations

import json
import shlex

from ..contents import Contents
from ..csource import banner
from ..templates import render
from ..watch import TAKEN, Dialect, watch_text
from .form import Form, split_place
from .texts import IN_C, two_folders

_USE = (
    """\
## Use

Make the module known to your application, in its `CMakeLists.txt` before `find_package(Zephyr)`:

```cmake
list(APPEND EXTRA_ZEPHYR_MODULES /path/to/tcuq_{name})
```

or on the command line with `-DEXTRA_ZEPHYR_MODULES=...`, or as a project of your `west.yml`. Then, in
`prj.conf`:

```
CONFIG_TCUQ_{NAME}=y
```

and in C:

"""
    + IN_C
    + """\
The sample begins with the self-check:

    west build -b native_sim samples/watch -t run

`CONFIG_TCUQ_{NAME}_SELFCHECK=n` leaves out the self-check, `CONFIG_TCUQ_{NAME}_TRIM=y` the code of signals
that this monitor does not use. One `tcuq_t` may be used by one thread at a time.
"""
)

_SHARED = """\
  if(NOT TARGET {target})
    zephyr_library_named({target})
    zephyr_library_sources({sources})
  endif()
"""


def _libraries(contents: Contents) -> str:
    """Return a library for the core, and one for each part that not every monitor has."""
    return "".join(
        # A hyphen, which no name of a monitor can have.
        _SHARED.format(target=f"tcuq-{part}", sources=" ".join(f"../src/{file}" for file in files))
        for part, files in contents.shared.items()
    )


def _files(contents: Contents) -> dict[str, str]:
    more = {
        "banner": banner("# {}"),
        "shared_libraries": _libraries(contents),
        "definitions": " ".join(contents.definitions),
        "sentence_quoted": json.dumps(contents.sentence),
    }
    dialect = Dialect(
        "#include <zephyr/kernel.h>\n#include <zephyr/sys/printk.h>\n", say="printk", pause="k_msleep(100);"
    )
    return {
        **{
            f"zephyr/{file}": render(f"zephyr/{file}", contents, **more)
            for file in ("module.yml", "Kconfig", "CMakeLists.txt")
        },
        "samples/watch/CMakeLists.txt": render("zephyr/sample_CMakeLists.txt", contents, **more),
        "samples/watch/prj.conf": render("zephyr/prj.conf", contents),
        "samples/watch/sample.yaml": render("zephyr/sample.yaml", contents, **more),
        "samples/watch/src/main.c": banner() + watch_text(contents, dialect),
    }


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        f"try it: west build -b native_sim {shlex.quote(folder)}/samples/watch -t run",
        f"use it: add the folder to EXTRA_ZEPHYR_MODULES and CONFIG_TCUQ_{contents.macro}=y to prj.conf",
    ]


ZEPHYR = Form(
    name="zephyr",
    header="include/tcuq.h",
    manifest="zephyr/module.yml",
    files=_files,
    hints=_hints,
    use=_USE,
    together=two_folders("Add both modules: the first brings the core."),
    rows={
        "zephyr/module.yml, zephyr/Kconfig, zephyr/CMakeLists.txt": "what makes this folder a module",
        "samples/watch/CMakeLists.txt, samples/watch/prj.conf, samples/watch/sample.yaml": "of the sample",
        "samples/watch/src/main.c": "a sample that begins with the self-check",
    },
    place=split_place,
    platform="Zephyr uses",
    taken=TAKEN | frozenset(("printk", "device", "kernel", "zephyr", "app")),
    starts=("k_", "z_", "sys_", "arch_", "zephyr_"),
    ends=("_trim",),
)
