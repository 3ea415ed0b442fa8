"""A CMake project: a static library that other projects add, fetch or find."""

from __future__ import annotations

import shlex

from ..contents import Contents
from ..csource import banner
from ..templates import lines, render
from ..watch import SEND_TAKEN, Dialect, send_text, watch_text
from .form import Form, split_place
from .texts import IN_C, SEND_EXAMPLE, two_folders

_USE = (
    """\
## Use

Put this folder into your project and link the library:

```cmake
add_subdirectory(tcuq_{name})
target_link_libraries(your_firmware PRIVATE tcuq::{name})
```

Then, in C:

"""
    + IN_C
    + """\
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
)


def _files(contents: Contents) -> dict[str, str]:
    project = render(
        "cmake/CMakeLists.txt",
        contents,
        banner=banner("# {}"),
        sources_lines=lines([f"src/{file}" for file in contents.sources], 2),
        definitions=" ".join(contents.definitions),
    )
    example = banner() + watch_text(contents, Dialect("#include <stdio.h>\n"))
    sends = banner() + send_text(contents)
    return {"CMakeLists.txt": project, "examples/watch.c": example, "examples/send_frames.c": sends}


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        f"try it: cd {shlex.quote(folder)} && cmake -B build && cmake --build build"
        " && ctest --test-dir build",
        f"use it: add_subdirectory(...), then target_link_libraries(... tcuq::{contents.name})",
    ]


CMAKE = Form(
    name="cmake",
    header="include/tcuq.h",
    manifest="examples/watch.c",
    files=_files,
    hints=_hints,
    use=_USE,
    together=two_folders("Link both libraries: the linker takes the core from the first."),
    rows={
        "CMakeLists.txt": "library `tcuq::{name}`, example, test, installation",
        "examples/watch.c": "an example for a computer, which begins with the self-check",
        "examples/send_frames.c": "an example that sends frames",
    },
    frames=SEND_EXAMPLE,
    place=split_place,
    platform="the example uses",
    taken=SEND_TAKEN,
    ends=("_watch", "_frames"),
)
