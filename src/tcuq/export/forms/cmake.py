"""A CMake project: a static library that other projects add, fetch or find."""

from __future__ import annotations

import shlex

from ..contents import Contents
from ..csource import banner
from ..templates import lines, render
from ..watch import TAKEN, Dialect, watch_text
from .form import Form, split_place

_USE = """\
## Use

Put this folder into your project and link the library:

```cmake
add_subdirectory(tcuq_{name})
target_link_libraries(your_firmware PRIVATE tcuq::{name})
```

Then, in C:

```c
#include "{name}.h"
#include "{name}_selfcheck.h"

static uint32_t memory[{NAME}_RING_BYTES / 4u];
static tcuq_t watch;

int start(void)
{{
    int status = {name}_selfcheck(memory, sizeof memory);
    return status != 0 ? status : tcuq_init(&watch, &{name}, memory, sizeof memory);
}}
```

After every inference, with `{outputs}` as int8{inputs}:

```c
{calls}
/* step.abstain: do not act on step.answer. step.alarm: the stream has become worse. */
{said}```

Other ways to bring it in:

- installed: `find_package(tcuq_{name} {release} REQUIRED)`;
- fetched: `FetchContent_Declare(tcuq_{name} URL ...)` and `FetchContent_MakeAvailable(tcuq_{name})`.

Build the example, run the self-check on this computer and install:

    cmake -S . -B build -G Ninja
    cmake --build build
    ctest --test-dir build --output-on-failure
    cmake --install build --prefix /where/libraries/go

The library is C99 (CMake 3.14 or later) and sets no flags for your code. Options, all of them `OFF` in a
project that adds this one: `TCUQ_{NAME}_EXAMPLE`, `TCUQ_{NAME}_INSTALL`, and `TCUQ_{NAME}_TRIM`, which
leaves out the code of signals that this monitor does not use.
"""

_TOGETHER = """Export
each one into a folder of its own, by one version of tcuq, and link both libraries: the linker takes the
core from the first."""


def _files(contents: Contents) -> dict[str, str]:
    project = render(
        "cmake/CMakeLists.txt",
        contents,
        banner=banner("# {}"),
        sources_lines=lines([f"src/{file}" for file in contents.sources], 2),
        definitions=" ".join(contents.definitions),
    )
    example = banner() + watch_text(contents, Dialect("#include <stdio.h>\n"))
    return {"CMakeLists.txt": project, "examples/watch.c": example}


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        f"try it: cd {shlex.quote(folder)} && cmake -B build && cmake --build build"
        " && ctest --test-dir build",
        f"use it: add_subdirectory(...), then target_link_libraries(... tcuq::{contents.name})",
    ]


CMAKE = Form(
    name="cmake",
    files=_files,
    hints=_hints,
    use=_USE,
    together=_TOGETHER,
    rows={
        "CMakeLists.txt": "library `tcuq::{name}`, example, test, installation",
        "examples/watch.c": "an example for a computer, which begins with the self-check",
    },
    place=split_place,
    platform="the example uses",
    taken=TAKEN,
)
