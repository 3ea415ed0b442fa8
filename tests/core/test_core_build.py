"""The core as a piece of firmware: warnings, sizes, what it pulls in, and how many instructions it takes."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import instructions
import make_tables
import pytest
from places import CORE, CORE_SOURCES, ROOT
from tiers import first_quick

from tcuq import EvidenceHead, Params
from tcuq.monitor.cost import CONTEXT_BYTES, cost
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import SIGNALS

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", f"-I{CORE}"]
M4 = ["-mthumb", "-mcpu=cortex-m4"]


def need(tool: str, package: str) -> str:
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is missing: apt-get install {package}")
    return path


def compile_core(compiler: str, folder: Path, *flags: str) -> list[Path]:
    """Compile the files of the core."""
    objects = [folder / f"{source.stem}.o" for source in CORE_SOURCES]
    for source, target in zip(CORE_SOURCES, objects, strict=True):
        subprocess.run([compiler, *STRICT, *flags, "-c", str(source), "-o", str(target)], check=True)
    return objects


def sizes(tool: str, objects: list[Path]) -> list[int]:
    """Return the bytes of text, data and bss of some objects together."""
    said = subprocess.run([tool, *objects], check=True, capture_output=True, text=True).stdout
    rows = [[int(number) for number in line.split()[:3]] for line in said.splitlines()[1:]]
    return [sum(column) for column in zip(*rows, strict=True)]


def step_counter(target: Path, *flags: str) -> Path:
    """Build the program that watches a made-up stream and prints a checksum of it."""
    sources = [str(ROOT / "bench" / "step_count.c"), *map(str, CORE_SOURCES)]
    subprocess.run([need("gcc", "gcc"), *STRICT, *flags, *sources, "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def every_signal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return step_counter(tmp_path_factory.mktemp("core") / "every_signal")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", first_quick(["-O3", "-O0", "-O2", "-Os"]))
def test_no_warnings(compiler: str, level: str, tmp_path: Path) -> None:
    compile_core(need(compiler, compiler), tmp_path, level)


ALONE = [1 << n | {"degradation": 0x10, "drift": 0x80}.get(name, 0) for n, name in enumerate(SIGNALS)]
"""Each signal with what it needs."""


@pytest.mark.cases(1)
@pytest.mark.parametrize("mask", first_quick([15, 0x3F0, 0x130, 13, 0x7A, 0x38, *ALONE], 4))
def test_leaving_signals_out_changes_no_result(mask: int, every_signal: Path, tmp_path: Path) -> None:
    """The same stream through a full build and through one that can compute nothing else."""
    some = step_counter(tmp_path / "some", "-O2", f"-DTCUQ_SIGNALS={mask}")
    shape = ["10", "32", "400", "1", "2", "4"]
    sums = [
        subprocess.run([program, str(mask), *shape], check=True, capture_output=True).stdout
        for program in (every_signal, some)
    ]
    assert sums[0] == sums[1] != b""
    refused = subprocess.run([some, str(2 ** len(SIGNALS) - 1 & ~mask), *shape], capture_output=True)
    assert refused.returncode == 2, "params that need other signals are refused"


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("mask", "bit"), [(15, instructions.EVIDENCE), (15, instructions.INSTANT), (0x7A, instructions.INSTANT)]
)
def test_a_head_left_out(mask: int, bit: int, every_signal: Path, tmp_path: Path) -> None:
    """A build without it gives the same decisions to params without a head, and refuses the others."""
    program = step_counter(tmp_path / "p", f"-DTCUQ_SIGNALS={mask}")
    shape = ["10", "32", "400", "1", "2", "4"]
    plain, whole = (
        subprocess.run([each, str(mask), *shape], check=True, capture_output=True).stdout
        for each in (program, every_signal)
    )
    assert plain == whole != b""
    assert subprocess.run([program, str(bit | mask), *shape], capture_output=True).returncode == 2


COMMON = (0x3F0, 0x130, 0x1D0)
MORE = [(mask, classes, 32) for mask in COMMON for classes in (2, 10, 200)]


@pytest.fixture(scope="module")
def sums(every_signal: Path) -> list[bytes]:
    """Checksums of what monitors say that learn the persistence, from a build without optimization."""
    found = [checksum(every_signal, *shape) for shape in MORE]
    assert len({*found}) == len(found)
    return found


def checksum(program: Path, mask: int, classes: int, features: int) -> bytes:
    command = [program, str(mask), str(classes), str(features), "600"]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.cases(2)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", first_quick(["-Ofast", "-O0", "-O1", "-O3", "-Os"], 2))
def test_learned_persistence_has_the_same_bits(
    compiler: str, level: str, sums: list[bytes], tmp_path: Path
) -> None:
    sources = [str(ROOT / "bench" / "step_count.c"), *map(str, CORE_SOURCES)]
    program = tmp_path / "program"
    command = [need(compiler, compiler), "-std=c99", level, f"-I{CORE}", *sources, "-o", str(program)]
    subprocess.run(command, check=True)
    assert [checksum(program, *shape) for shape in MORE] == sums


@pytest.mark.cases(1)
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_counting_zeros_changes_no_bit(level: str, sums: list[bytes], tmp_path: Path) -> None:
    """Cores that have no instruction for it, like Cortex-M0, take a loop; here they are asked to."""
    program = step_counter(tmp_path / "loops", level, "-DTCUQ_TEST_LOOPS")
    assert [checksum(program, *shape) for shape in MORE] == sums


def test_only_three_headers_and_two_functions_of_the_library(tmp_path: Path) -> None:
    text = "".join(path.read_text() for path in CORE.iterdir())
    assert set(re.findall(r"#include <(.+?)>", text)) == {"stddef.h", "stdint.h", "string.h"}
    assert not re.search(r"\b(float|double|malloc|free|printf)\b", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    # Cortex-M0 has neither an FPU nor 64-bit helpers: what is missing shows as a name.
    compiler = need("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
    compile_core(compiler, tmp_path, "-Os", "-mthumb", "-mcpu=cortex-m0")
    whole = tmp_path / "whole.o"
    subprocess.run([compiler, "-r", "-nostdlib", *tmp_path.glob("tcuq*.o"), "-o", whole], check=True)
    names = subprocess.run(
        ["arm-none-eabi-nm", "-u", whole], check=True, capture_output=True, text=True
    ).stdout
    undefined = set(names.replace("U ", "").split())
    allowed = {"memcpy", "memset", "__aeabi_lmul", "__gnu_thumb1_case_uqi", "__gnu_thumb1_case_shi"}
    allowed |= {f"__aeabi_{division}" for division in ("idiv", "idivmod", "uidiv", "uidivmod")}
    assert undefined <= allowed, undefined


def test_tables_are_what_the_script_makes() -> None:
    assert make_tables.HEADER.read_text() == make_tables.render()


def test_size_on_a_cortex_m4(tmp_path: Path) -> None:
    compiler = need("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
    check = tmp_path / "check.c"
    check.write_text(f'#include "tcuq.h"\nextern char fits[sizeof(tcuq_t) == {CONTEXT_BYTES} ? 1 : -1];\n')
    subprocess.run([compiler, *STRICT, *M4, "-c", str(check), "-o", str(tmp_path / "c.o")], check=True)
    with_sight = "(0x3B0|TCUQ_SIGHT)"  # 11,262 when last looked at
    for mask, most in ((15, 6120), (0x3F0, 7320), (with_sight, 11270)):
        # Errors in words and gauges are linked only where they are asked for.
        made = compile_core(compiler, tmp_path, "-Os", *M4, f"-DTCUQ_SIGNALS={mask}")
        objects = [each for each in made if each.stem not in ("tcuq_error", "tcuq_gauges")]
        text, data, bss = sizes("arm-none-eabi-size", objects)
        print(f"Cortex-M4 -Os, signals {mask}: {text} bytes")
        assert text <= most and data == 0 and bss == 0


DEFAULTS = (15, 10, 32, (1, 2, 4))
"""Signals, classes, features and lags whose instructions are promised."""
# Instructions a step that they took when last looked at, with 3 % for another compiler's taste.
NATIVE_MOST = {"aarch64": 2210, "x86_64": 2505}


def test_instructions_do_not_creep_up(tmp_path: Path) -> None:
    need("valgrind", "valgrind")
    gcc = need("gcc", "gcc")
    machine = platform.machine()
    if machine not in NATIVE_MOST:
        pytest.skip(f"no count is on record for {machine}")
    program = instructions.build(tmp_path, gcc)
    first = instructions.count(program, *DEFAULTS)
    assert first == instructions.count(program, *DEFAULTS), "repeatable to the instruction"
    print(f"{machine}: {first:.1f} instructions per step")
    assert first <= NATIVE_MOST[machine]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_freestanding_build_takes_no_more_instructions(compiler: str, tmp_path: Path) -> None:
    """Chip vendors' projects have -ffreestanding, which makes a call of every copy by the library's name."""
    need("valgrind", "valgrind")
    path, standard = need(compiler, compiler), (instructions.EVIDENCE | 0x3F0, 10, 32, ())
    counts = []
    for options in ((), ("-ffreestanding",)):
        folder = tmp_path / f"built{len(counts)}"
        folder.mkdir()
        counts.append(instructions.count(instructions.build(folder, path, *options), *standard))
    print(f"{compiler}: {counts[0]:.1f} instructions per step, freestanding {counts[1]:.1f}")
    assert counts[1] <= 1.01 * counts[0]


def test_instructions_on_x86_64_and_the_cost_model(tmp_path: Path) -> None:
    counter = instructions.x86_64_counter(tmp_path)
    if counter is None:
        pytest.skip(instructions.X86_64_HINT)
    for configuration in instructions.CONFIGURATIONS:
        counted = counter(*configuration)
        assert abs(cost(params_of(*configuration)).instructions - counted) <= 0.1 * counted, configuration
        if configuration == DEFAULTS:
            assert counted <= 3000
    assert DEFAULTS in instructions.CONFIGURATIONS


def params_of(asked: int, classes: int, features: int, lags: tuple[int, ...]) -> Params:
    """Return parameters as bench/step_count.c makes them, as far as they cost something."""
    signals = tuple(SIGNALS[n] for n in range(len(SIGNALS)) if asked >> n & 1)
    bet = (0.9, 0.12) if asked & instructions.BET else None
    learns = bool(asked & instructions.INSTANT) or "disbelief" in signals
    return Params(
        classes=classes,
        features=features,
        signals=signals,
        lags=lags,
        evidence=EvidenceHead({}, [0.0] * classes, bet=bet)
        if asked & (instructions.EVIDENCE | 0x220)
        else None,
        instant=InstantHead({}, 0.0) if learns else None,
        horizon=128 if learns else 0,
        centers=((0,) * features,) * classes if "distance" in signals else None,
    )


def test_ram_of_the_standard_profile() -> None:
    """Context and ring; what the stack takes is measured on boards."""
    full, alone = (
        params_of(instructions.EVIDENCE | mask, 10, d, ()) for mask, d in ((0x3F0, 32), (0x130, 0))
    )
    numbers = 2 * (5 * 10 + 6)
    assert cost(full).ram_bytes == CONTEXT_BYTES + 4 * 16 + numbers <= 320
    assert cost(alone).ram_bytes == CONTEXT_BYTES + 4 + numbers <= 200
