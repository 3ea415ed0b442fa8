"""The CMake package as its users have it, and the build files of Zephyr, ESP-IDF and MicroPython."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cortex import need
from exported import package

USE = """
#include <stdio.h>
#include "{first}.h"
#include "{first}_selfcheck.h"
#include "Cam.h"
#include "Cam_selfcheck.h"
static uint32_t one[{FIRST}_RING_BYTES / 4u], two[CAM_RING_BYTES / 4u];
int main(void) {{ return {first}_selfcheck(one, sizeof one) || Cam_selfcheck(two, sizeof two); }}
"""


def cmake(*arguments: str | Path) -> None:
    tool = need("cmake", "cmake ninja-build")
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def build(source: Path, target: Path, *more: str) -> Path:
    need("ninja", "cmake ninja-build")
    cmake("-S", source, "-B", target, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", *more)
    cmake("--build", target)
    return target


def project(folder: Path, lines: str, program: str) -> Path:
    folder.mkdir()
    (folder / "use.c").write_text(program)
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.14)\nproject(use C)\n{lines}")
    return folder


def test_build_test_install_and_find(tmp_path: Path) -> None:
    # `test` and `all` are targets of CMake's own.
    first = package(tmp_path / "first", "cmake", "plain", "test")
    made = build(first, tmp_path / "made")
    ctest = need("ctest", "cmake ninja-build")
    done = subprocess.run([ctest, "--test-dir", made], capture_output=True, text=True)
    assert done.returncode == 0 and "100% tests passed" in done.stdout
    cmake("--install", made, "--prefix", tmp_path / "prefix")
    second = build(
        package(tmp_path / "second", "cmake", "everything", "Cam"),
        tmp_path / "made2",
        "-DTCUQ_CAM_EXAMPLE=OFF",
    )
    cmake("--install", second, "--prefix", tmp_path / "prefix")
    installed = {path.name for path in (tmp_path / "prefix").rglob("*") if path.is_file()}
    assert {"test.h", "libtcuq_test.a", "tcuq_testConfig.cmake"} <= installed
    assert "tcuq_internal.h" not in installed
    use = project(
        tmp_path / "use",
        "find_package(tcuq_test 0.3 REQUIRED)\nfind_package(tcuq_Cam REQUIRED)\nadd_executable(use use.c)\n"
        "target_link_libraries(use PRIVATE tcuq::test tcuq::Cam)\n",
        USE.format(first="test", FIRST="TEST"),
    )
    found = build(use, tmp_path / "use_made", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    subprocess.run([found / "use"], check=True)
    # A version that is not there is not found.
    (use / "CMakeLists.txt").write_text((use / "CMakeLists.txt").read_text().replace(" 0.3 ", " 0.1 "))
    with pytest.raises(AssertionError, match="compatible with requested version"):
        cmake("-S", use, "-B", found)


def test_as_part_of_another_project(tmp_path: Path) -> None:
    package(tmp_path / "kws", "cmake", "plain")
    package(tmp_path / "cam", "cmake", "everything", "Cam")
    use = project(
        tmp_path / "use",
        "include(FetchContent)\nadd_subdirectory(../kws kws)\n"
        "FetchContent_Declare(tcuq_Cam SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/../cam)\n"
        "FetchContent_MakeAvailable(tcuq_Cam)\nadd_executable(use use.c)\n"
        "target_link_libraries(use PRIVATE tcuq::kws tcuq::Cam)\n"
        "get_target_property(options tcuq_kws INTERFACE_COMPILE_OPTIONS)\n"
        "get_target_property(definitions tcuq_kws INTERFACE_COMPILE_DEFINITIONS)\n"
        'if(options OR definitions)\n  message(FATAL_ERROR "flags for the user")\nendif()\n'
        'if(TARGET tcuq_kws_watch)\n  message(FATAL_ERROR "an example that nobody asked for")\nendif()\n',
        USE.format(first="kws", FIRST="KWS"),
    )
    subprocess.run([build(use, tmp_path / "made") / "use"], check=True)


# What the platforms' own functions do as far as these files use them; Zephyr links whole libraries.
PLATFORM_FUNCTIONS = """
set(linked "")
macro(zephyr_library_named name)
  add_library(${name} STATIC)
  set(current ${name})
  set(linked ${linked} ${name} PARENT_SCOPE)
  set(linked ${linked} ${name})
endmacro()
macro(zephyr_library_sources)
  target_sources(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_sources_ifdef condition)
  if(${condition})
    target_sources(${current} PRIVATE ${ARGN})
  endif()
endmacro()
macro(zephyr_include_directories)
  foreach(folder ${ARGN})
    target_include_directories(everyone INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  endforeach()
endmacro()
macro(zephyr_compile_definitions)
  target_compile_definitions(everyone INTERFACE ${ARGN})
endmacro()
add_library(everyone INTERFACE)
link_libraries(everyone)
function(idf_component_register)
  cmake_parse_arguments(given "" "" "SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(idf_${folder} STATIC ${given_SRCS})
  target_include_directories(idf_${folder} PUBLIC ${given_INCLUDE_DIRS} PRIVATE ${given_PRIV_INCLUDE_DIRS})
  set(COMPONENT_LIB idf_${folder} PARENT_SCOPE)
endfunction()
"""


ZEPHYR = """
set(CONFIG_TCUQ_CORE y)
set(CONFIG_TCUQ_CAM y)
set(CONFIG_TCUQ_CORE_SELFCHECK y)
set(CONFIG_TCUQ_CAM_SELFCHECK y)
add_subdirectory(../first/zephyr first)
add_subdirectory(../cam/zephyr cam)
add_executable(use use.c)
target_link_libraries(use PRIVATE -Wl,--whole-archive ${linked} -Wl,--no-whole-archive)
"""
ESP_IDF = """
add_subdirectory(../first first)
add_subdirectory(../cam cam)
add_executable(use use.c)
target_link_libraries(use PRIVATE idf_first idf_cam)
"""


# "core" is also the name of a part that monitors share.
@pytest.mark.parametrize(("form", "name", "lines"), [("zephyr", "core", ZEPHYR), ("espidf", "kws", ESP_IDF)])
def test_two_packages_link_in_one_program(tmp_path: Path, form: str, name: str, lines: str) -> None:
    package(tmp_path / "first", form, "plain", name)
    package(tmp_path / "cam", form, "everything", "Cam")
    program = USE.format(first=name, FIRST=name.upper())
    use = project(tmp_path / "use", PLATFORM_FUNCTIONS + lines, program)
    subprocess.run([build(use, tmp_path / "made") / "use"], check=True)
