"""A library for PlatformIO, with an example for this computer and one for Arduino boards."""

from __future__ import annotations

import json
import shlex

from ..contents import Contents
from ..csource import banner
from ..templates import render
from ..watch import TAKEN, Dialect, watch_text
from .arduino import TAKEN as ARDUINO_WORDS
from .arduino import sketch
from .form import Form, split_place
from .texts import IN_C, two_folders

_USE = (
    """\
## Use

Put this folder into `lib/` of your project; PlatformIO finds it there. Or name it in `platformio.ini`:

```ini
lib_deps = tcuq_{name}=symlink://path/to/tcuq_{name}
```

Then, in C or C++, with any framework:

"""
    + IN_C
    + """\
Try it on this computer first; the example begins with the self-check:

    cd examples/native && pio run -t exec

To leave out the code of signals that this monitor does not use, add to `platformio.ini`:
`build_flags = {flags}`
"""
)


def _manifest(contents: Contents) -> str:
    card = {
        "$schema": "https://raw.githubusercontent.com/platformio/platformio-core/develop/platformio/assets/"
        "schema/library.json",
        "name": f"tcuq_{contents.name}",
        "version": contents.fields["semver"],
        "description": contents.sentence,
        "keywords": ["tinyml", "uncertainty", "monitoring"],
        "repository": {"type": "git", "url": "https://github.com/tcuq/tcuq.git"},
        "license": "MIT",
        "frameworks": "*",
        "platforms": "*",
        "headers": [f"{contents.name}.h", f"{contents.name}_selfcheck.h"],
        "examples": [
            {"name": "native", "base": "examples/native", "files": ["platformio.ini", "src/main.c"]},
            {"name": "arduino", "base": "examples/arduino", "files": ["platformio.ini", "src/main.cpp"]},
        ],
        "build": {"srcDir": "src", "includeDir": "include"},
    }
    return json.dumps(card, indent=2) + "\n"


def _files(contents: Contents) -> dict[str, str]:
    own = [file for file in contents.headers if file.startswith(f"{contents.name}")]
    includes = "#include <Arduino.h>\n" + "".join(f"#include <{file}>\n" for file in own)
    return {
        "library.json": _manifest(contents),
        "examples/native/platformio.ini": render("platformio/native.ini", contents),
        "examples/native/src/main.c": banner() + watch_text(contents, Dialect("#include <stdio.h>\n")),
        "examples/arduino/platformio.ini": render("platformio/arduino.ini", contents),
        "examples/arduino/src/main.cpp": sketch(contents, includes),
    }


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        f"try it: cd {shlex.quote(folder)}/examples/native && pio run -t exec",
        "use it: put the folder into lib/ of your project",
    ]


PLATFORMIO = Form(
    name="platformio",
    header="include/tcuq.h",
    manifest="library.json",
    files=_files,
    hints=_hints,
    use=_USE,
    together=two_folders(
        "PlatformIO makes an archive of each library, and the linker takes the core from the first."
    ),
    rows={
        "library.json": "name, version and folders for PlatformIO",
        "examples/native/platformio.ini, examples/native/src/main.c": "an example for this computer",
        "examples/arduino/platformio.ini, examples/arduino/src/main.cpp": "an example for Arduino boards",
    },
    place=split_place,
    platform="the examples use",
    taken=TAKEN | ARDUINO_WORDS,
)
