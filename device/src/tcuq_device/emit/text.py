"""The files of a package: the network, the monitor, the code that connects them, a program for a board."""

from __future__ import annotations

import re
from importlib import resources

from tcuq._version import VERSION
from tcuq.export import sources as exported
from tcuq.export.contents import Contents
from tcuq.export.csource import braced
from tcuq.monitor.made import STEP_FIELDS

from ..boards import Board
from ..firmware.build import SPLIT, STRICT, Levels
from ..generate.source import sources as network_sources
from ..graph.gauges import gauges_of
from .application import Application

OPTIONS = (*STRICT[:3], *SPLIT)
"""Options of the compiler for every file, on a computer as well."""

START = ("-fno-tree-loop-distribute-patterns",)
"""For what runs before the memory is set up: it may not call the library."""

SHARED = ("startup.c", "stack.c")
"""Files of C that serve all chips."""

LINKING = ("-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections")


def texts(application: Application, board: Board | None) -> dict[str, str]:
    """Return the files of a package but README.md, text by path; without a board, its user starts it."""
    name, params = application.name, application.params
    monitor = exported(params, f"{name}_monitor")
    # The example of the package here is another one.
    others = ("main.c", "README.md", "examples/send_frames.c")
    found = {file: text for file, text in monitor.items() if file not in others}
    found |= network_sources(application.graph, f"{name}_network")
    inputs = application.inputs
    found[f"{name}_inputs.h"] = _inputs_header(name)
    found[f"{name}_inputs.c"] = _inputs_source(application)
    tensor = application.graph.tensors[application.graph.input]
    scale = f"#define APP_INPUT_SCALE {tensor.scale!r}\n#define APP_INPUT_ZERO ({tensor.zero})"
    features = f"outputs.features, {name.upper()}_MONITOR_FEATURES" if application.features else ""
    fields = "".join(f'    app_print_named("{field}", said->{field});\n' for field in STEP_FIELDS)
    look = gauges_of(application.graph, params)
    before = "" if look is None else f"    {look.call('gauges', 'app_input()')}\n"
    values = {
        "input": scale,
        "look": before,
        "gauges": "gauges" if before else "NULL",
        "gauges_memory": "static int16_t gauges[TCUQ_MAX_GAUGES];\n\n" * bool(before),
        "stored": str(len(inputs)),
        "mix_features": f"        digest = mixed(digest, {features});\n" if features else "",
        "features": "outputs.features" if features else "NULL",
        "fields": fields,
        "version": VERSION,
    }
    for file in ("app.h", "app.c", "app_print.h", "example.c"):
        found[file.replace("app", name)] = _filled(_read("emit", "c", file), name, values)
    found["CMakeLists.txt"] = cmake(application, board)
    found["feed.py"] = _read("emit", "feed.py")
    if board is not None and board.chip is not None:
        for file in ("board.h", *SHARED):
            found[f"board/{file}"] = _read("boards", "flash", file)
        found["board/board.c"] = _read("boards", board.chip.files, "board.c")
        if board.chip.uf2:
            found["board/uf2.py"] = _read("emit", "uf2.py")
        found["board/main.c"] = _filled(_read("emit", "c", "main.c"), name, values)
        found["board/link.ld"] = linker_script(board)
        found["board/toolchain.cmake"] = _TOOLCHAIN.format(title=board.title)
    return found


def groups(application: Application, board: Board | None) -> list[tuple[list[str], list[str]]]:
    """Return the files to compile, in the order of the link, and the options of each group."""
    name, levels = application.name, Levels()
    contents = Contents(application.params, f"{name}_monitor")
    network = [file for file in network_sources(application.graph, f"{name}_network") if file.endswith(".c")]
    found = [
        (sorted(network), [levels.network]),
        (list(contents.sources), [levels.rule]),
        ([f"{name}.c", f"{name}_inputs.c"], [levels.rule]),
    ]
    if board is not None:
        files = [f"board/{file}" for file in ("main.c", "board.c", *SHARED)]
        found.append((files, [levels.rest, *START]))
    return found


def images(board: Board) -> list[str]:
    """Return how the names of a board's images end."""
    return ["elf", "bin", "hex", *(["uf2"] if board.chip is not None and board.chip.uf2 else [])]


def defines(application: Application) -> list[str]:
    """Return options that leave out what the monitor does not use."""
    return Contents(application.params, f"{application.name}_monitor").flags.split()


def _read(*parts: str) -> str:
    return resources.files("tcuq_device").joinpath(*parts).read_text(encoding="utf-8")


def _filled(text: str, name: str, values: dict[str, str]) -> str:
    """Put values and the name into a template, in which a package is called app."""
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    text = re.sub(r"\bAPP(?=_)", name.upper(), re.sub(r"\bapp(?=_|\b)", name, text))
    return f"/* Generated by tcuq {VERSION} device emit; emit again instead of editing. */\n{text}"


def _inputs_header(name: str) -> str:
    text = (
        "/* Inputs of the self-check and the demonstration, and digests of what the network gives. */\n"
        "#ifndef APP_INPUTS_H\n#define APP_INPUTS_H\n\n"
        '#include "app.h"\n\n'
        "extern const int8_t app_inputs[APP_STORED][APP_NETWORK_INPUT];\n"
        "extern const uint32_t app_inputs_digests[APP_STORED];\n\n#endif\n"
    )
    return _filled(text, name, {})


def _inputs_source(application: Application) -> str:
    digests = ", ".join(f"0x{digest:08X}u" for digest in application.digests())
    lines = [
        '#include "app_inputs.h"',
        "",
        "const int8_t app_inputs[APP_STORED][APP_NETWORK_INPUT] = {",
        *braced(application.inputs.tolist()),
        "};",
        "",
        f"const uint32_t app_inputs_digests[APP_STORED] = {{{digests}}};",
        "",
    ]
    return _filled("\n".join(lines), application.name, {})


_LINKER = """\
/* Memories of the {title}. The stack lies where RAM begins: an overflow overwrites no variable. */
MEMORY
{{
    FLASH (rx) : ORIGIN = {flash:#010x}, LENGTH = {flash_bytes}
    RAM (rwx) : ORIGIN = {ram:#010x}, LENGTH = {ram_bytes}
}}
STACK_BYTES = {stack_bytes};
ENTRY(reset_handler)

SECTIONS
{{
    /* First: the core looks for vectors where flash begins, or the boot block behind itself. */
    .boot2 : {{ KEEP(*(.boot2)) }} > FLASH
    .vectors : {{ KEEP(*(.vectors)) }} > FLASH
    .text : ALIGN(4) {{ *(.text .text.*) }} > FLASH
    .rodata : ALIGN(4) {{ *(.rodata .rodata.*) }} > FLASH
    .ARM.exidx : {{ *(.ARM.exidx*) }} > FLASH

    .stack (NOLOAD) : ALIGN(8)
    {{
        stack_limit = .;
        . += STACK_BYTES;
        stack_top = .;
    }} > RAM

    .data : ALIGN(4)
    {{
        data_begin = .;
        *(.data .data.*)
        . = ALIGN(4);
        data_end = .;
    }} > RAM AT> FLASH
    data_source = LOADADDR(.data);

    .bss (NOLOAD) : ALIGN(4)
    {{
        bss_begin = .;
        *(.bss .bss.* COMMON)
        . = ALIGN(4);
        bss_end = .;
    }} > RAM

    /DISCARD/ : {{ *(.ARM.attributes .comment .note* .ARM.extab* .init .fini .init_array* .fini_array*) }}
}}
"""

WIDE = 64 << 20
"""Bytes of memories in which anything fits, to see how large it is."""


def linker_script(board: Board, wide: bool = False) -> str:
    """Return link.ld for a board with a chip; `wide` gives more room than any board has."""
    assert board.chip is not None
    return _LINKER.format(
        title=board.title,
        flash=board.chip.flash,
        flash_bytes=WIDE if wide else board.flash_bytes,
        ram=board.chip.ram,
        ram_bytes=WIDE if wide else board.ram_bytes,
        stack_bytes=board.stack_bytes,
    )


_TOOLCHAIN = """\
# For the {title}: cmake -S . -B build-board -DCMAKE_TOOLCHAIN_FILE=board/toolchain.cmake
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
"""

_CMAKE = """\
# Generated by tcuq {version} device emit.
#
# On a computer: cmake -S . -B build && cmake --build build && ctest --test-dir build
{board_text}cmake_minimum_required(VERSION 3.16)
project({name} C)

{sources}
set({NAME}_OPTIONS {options})
set({NAME}_DEFINITIONS {definitions})

if(CMAKE_SYSTEM_NAME STREQUAL "Generic" AND EXISTS "${{CMAKE_CURRENT_SOURCE_DIR}}/board")
{firmware}else()
  # For a firmware of your own: add_subdirectory() this folder and link to {name}.
  add_library({name} STATIC ${{{NAME}_SOURCES}})
  target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
  target_compile_options({name} PRIVATE ${{{NAME}_OPTIONS}})
  target_compile_definitions({name} PUBLIC ${{{NAME}_DEFINITIONS}})
  if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    add_executable({name}_example example.c)
    target_link_libraries({name}_example {name})
    enable_testing()
    add_test(NAME {name}_selfcheck COMMAND {name}_example)
  endif()
endif()
"""

_FIRMWARE = """\
  add_executable({name}.elf ${{{NAME}_SOURCES}} {files})
  set_source_files_properties({files} PROPERTIES COMPILE_OPTIONS "{level}")
  target_include_directories({name}.elf PRIVATE . board)
  target_compile_options({name}.elf PRIVATE ${{{NAME}_OPTIONS}} {core})
  target_compile_definitions({name}.elf PRIVATE ${{{NAME}_DEFINITIONS}})
  target_link_options({name}.elf PRIVATE {core} {linking} -T "${{CMAKE_CURRENT_SOURCE_DIR}}/board/link.ld")
  set_target_properties({name}.elf PROPERTIES LINK_DEPENDS "${{CMAKE_CURRENT_SOURCE_DIR}}/board/link.ld")
  add_custom_command(TARGET {name}.elf POST_BUILD
    COMMAND arm-none-eabi-objcopy -O binary {name}.elf {name}.bin
    COMMAND arm-none-eabi-objcopy -O ihex {name}.elf {name}.hex
{uf2}    COMMAND arm-none-eabi-size -A {name}.elf)
"""

_UF2 = '    COMMAND python3 "${{CMAKE_CURRENT_SOURCE_DIR}}/board/uf2.py" {name}.bin {name}.uf2\n'


def cmake(application: Application, board: Board | None) -> str:
    """Return CMakeLists.txt: library and example on a computer, an image with the board's toolchain file."""
    name = application.name
    parts = groups(application, board)
    own = parts if board is None else parts[:-1]
    files = [file for group, _ in own for file in group]
    sources = [f"set({name.upper()}_SOURCES", *(f"  {file}" for file in files), ")"]
    for group, level in own:
        listed = " ".join(group)
        sources.append(
            f'set_source_files_properties({listed} PROPERTIES COMPILE_OPTIONS "{";".join(level)}")'
        )
    firmware = board_text = ""
    if board is not None:
        files, level = parts[-1]
        firmware = _FIRMWARE.format(
            name=name,
            NAME=name.upper(),
            files=" ".join(files),
            level=";".join(level),
            core=" ".join(board.compiler),
            linking=" ".join(LINKING),
            uf2=_UF2.format(name=name) if "uf2" in images(board) else "",
        )
        board_text = (
            f"# For the {board.title}, into build-board/{name}.{', .'.join(images(board))}:\n"
            "#   cmake -S . -B build-board -DCMAKE_TOOLCHAIN_FILE=board/toolchain.cmake\n"
            "#   cmake --build build-board\n"
        )
    return _CMAKE.format(
        version=VERSION,
        name=name,
        NAME=name.upper(),
        board_text=board_text,
        sources="\n".join(sources),
        options=" ".join(OPTIONS),
        definitions=" ".join(option.removeprefix("-D") for option in defines(application)),
        firmware=firmware,
    )
