"""A component for ESP-IDF, with an example project."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from ..contents import Contents
from ..csource import banner
from ..templates import lines, render
from ..watch import TAKEN, Dialect, watch_text
from .form import Form, split_place
from .texts import IN_C, two_folders

_USE = (
    """\
## Use

Put this folder into your project, as `components/{component}`; ESP-IDF finds it there. It takes the name of
the component from the folder. If your
component names what it requires, add `{component}` to its `REQUIRES`. Then, in C:

"""
    + IN_C
    + """\
The example begins with the self-check:

    cd examples/watch && idf.py set-target esp32s3 && idf.py build flash monitor

`idf.py menuconfig` has an option that leaves out the code of signals which this monitor does not use
(`CONFIG_TCUQ_{NAME}_TRIM`). One `tcuq_t` may be used by one task at a time.
"""
)


def component_of(contents: Contents) -> str:
    """Return the name of the component; the registry wants no capitals in it."""
    return f"tcuq_{contents.name.lower()}"


def _more(contents: Contents) -> dict[str, Any]:
    return {"component": component_of(contents)}


def _files(contents: Contents) -> dict[str, str]:
    more = {
        "banner": banner("# {}"),
        "sources_lines": lines([f'"src/{file}"' for file in contents.sources], 8),
        "definitions": " ".join(contents.definitions),
        "sentence_quoted": json.dumps(contents.sentence),
        "component": component_of(contents),
    }
    dialect = Dialect(
        '#include <stdio.h>\n\n#include "freertos/FreeRTOS.h"\n#include "freertos/task.h"\n',
        main="void app_main(void)",
        pause="vTaskDelay(pdMS_TO_TICKS(100));",
        returns=False,
    )
    example = "examples/watch"
    return {
        **{
            file: render(f"espidf/{file}", contents, **more)
            for file in ("CMakeLists.txt", "Kconfig", "idf_component.yml")
        },
        f"{example}/CMakeLists.txt": render("espidf/example_CMakeLists.txt", contents, **more),
        f"{example}/main/CMakeLists.txt": render("espidf/example_main_CMakeLists.txt", contents),
        f"{example}/main/idf_component.yml": render("espidf/example_main_component.yml", contents, **more),
        f"{example}/main/watch_main.c": banner() + watch_text(contents, dialect),
    }


def _hints(contents: Contents, folder: str) -> list[str]:
    component = component_of(contents)
    hints = [
        f"try it: cd {shlex.quote(folder)}/examples/watch && idf.py set-target esp32s3 && idf.py build",
        f"use it: put the folder into components/ of your project, as components/{component}",
    ]
    if Path(folder).resolve().name != component:
        hints.insert(0, f"name the folder {component}: ESP-IDF takes the name of a component from it")
    return hints


ESPIDF = Form(
    name="espidf",
    header="include/tcuq.h",
    manifest="idf_component.yml",
    files=_files,
    hints=_hints,
    use=_USE,
    together=two_folders(
        "ESP-IDF makes an archive of each component, and the linker takes the core from the first."
    ),
    rows={
        "CMakeLists.txt, Kconfig, idf_component.yml": "what makes this folder a component",
        "examples/watch/CMakeLists.txt, examples/watch/main/CMakeLists.txt,"
        " examples/watch/main/idf_component.yml": "of the example",
        "examples/watch/main/watch_main.c": "an example that begins with the self-check",
    },
    more=_more,
    place=split_place,
    title="{component}",
    platform="ESP-IDF uses",
    taken=TAKEN | frozenset(("app_main", "freertos", "sdkconfig")),
    starts=("esp_", "idf_", "vTask", "xTask"),
    ends=("_trim",),
)
