# SPDX-License-Identifier: MIT
"""The bound of the stack: frames that are known, what has no bound, and what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_graphs import graph_of, pictures
from refusals import refused
from tiers import first_quick

from tcuq_device.boards import board
from tcuq_device.cost.measure import measure
from tcuq_device.cost.stock import monitors
from tcuq_device.firmware.build import build
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.firmware.stack import OPTION, _listing, stack_bound, usage_of
from tcuq_device.tools import call, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

# Assembly, so that frames are known: what a compiler would say stands in the usages.
FRAMES = """
    .syntax unified
    .thumb
    .macro function name
    .section .text.\\name, "ax"
    .global \\name
    .type \\name, %function
    .thumb_func
\\name:
    .endm

    function reset_handler
    push {r4, lr}
    bl shallow
    bl deep
    pop {r4, pc}

    function shallow
    push {r4, r5, r6, lr}
    sub sp, #400
    add sp, #400
    pop {r4, r5, r6, pc}

    function deep
    str lr, [sp, #-4]!
    sub sp, #96
    bl middle
    add sp, #96
    ldr pc, [sp], #4

    function middle
    vpush {d8-d9}
    stmdb sp!, {r4-r7}
1:  subs r0, #1
    bne 1b
    ldmia sp!, {r4-r7}
    vpop {d8-d9}
    b leaf

    function leaf
    sub.w sp, sp, #512
    add.w sp, sp, #512
    bx lr
"""


def linked(text: str, folder: Path, name: str = "a.S") -> Path:
    """Assemble or compile a text and link it, everything kept."""
    (folder / name).write_text(text)
    core = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
    call("arm-none-eabi-gcc", [*core, "-O1", "-fno-inline", OPTION, "-c", name, "-o", "a.o"], folder)
    call(
        "arm-none-eabi-gcc",
        [*core, "-nostdlib", "-Wl,-ereset_handler", "a.o", "-lgcc", "-o", "a.elf"],
        folder,
    )
    return folder / "a.elf"


def test_frames_add_up_along_the_deepest_way(tmp_path: Path) -> None:
    found = stack_bound(linked(FRAMES, tmp_path), {})
    assert found.path == (("reset_handler", 8), ("deep", 100), ("middle", 32), ("leaf", 512))
    assert found.bytes == 8 + 100 + 32 + 512
    assert str(found) == "reset_handler 8 > deep 100 > middle 32 > leaf 512"


C = """
typedef int (*pointer)(int);
volatile int sink;
int twice(int x);
int twice(int x) { volatile char room[ROOM]; room[0] = (char)x; return 2 * room[0]; }
long long share(long long a, long long b);
long long share(long long a, long long b) { return a / b; }
pointer chosen = twice;
int through(int x);
int through(int x) { return chosen(x) + 1; }
int again(int x);
int again(int x) { return x > 0 ? again(x - 1) + sink : 0; }
int sized(int x);
int sized(int x) { volatile char room[x]; room[x - 1] = 1; return twice(room[0]) + 1; }
void reset_handler(void);
void reset_handler(void) { for (;;) { sink = (int)BODY; } }
"""


def program(body: str, folder: Path, room: int = 300) -> Path:
    return linked(C.replace("BODY", body).replace("ROOM", str(room)), folder, "a.c")


def test_a_compiled_program(tmp_path: Path) -> None:
    elf = program("twice(sink)", tmp_path)
    found = stack_bound(elf, {})
    assert 300 + 8 <= found.bytes <= 300 + 40
    assert [name for name, _ in found.path] == ["reset_handler", "twice"]


def test_what_has_no_bound_is_refused(tmp_path: Path) -> None:
    elf = program("through(sink)", tmp_path)
    with refused("unsupported"):
        stack_bound(elf, {})
    declared = stack_bound(elf, {}, indirect={"through": ["twice"]})
    assert [name for name, _ in declared.path] == ["reset_handler", "through", "twice"]
    for body in ("again(sink)", "sized(sink)"):  # recursion, a frame whose size depends on data
        with refused("unsupported"):
            stack_bound(program(body, tmp_path), {})
    with refused("unsupported"):
        usage_of([tmp_path / "a.su"])
    with refused("unsupported"):
        stack_bound(tmp_path / "a.elf", {}, root="main")


FIRMWARES = {
    "standard": Firmware("f", [graph_of()], rule=Watch(monitors()["standard"])),
    "heads": Firmware("f", [graph_of(heads=3)]),
    "networks": Firmware("f", [graph_of(seed) for seed in range(3)]),
    "dropout": Firmware("f", [graph_of(drop=True)], 3),
}


@pytest.mark.parametrize("name", first_quick(["stm32l432kc", "stm32f767zi", "netduinoplus2"]))
@pytest.mark.parametrize("firmware", FIRMWARES)
def test_no_stack_is_deeper_than_its_bound(name: str, firmware: str) -> None:
    found, _ = measure(FIRMWARES[firmware], board(name), pictures(4))
    assert 200 < found["ram"]["stack"] <= found["ram"]["stack_bound"] <= found["ram"]["stack"] + 300


@pytest.mark.slow
def test_the_listing_agrees_with_the_compiler(tmp_path: Path) -> None:
    """Frames from the listing, as of library functions, are no less than what the compiler states."""
    image = build(FIRMWARES["standard"], board("stm32l432kc"), tmp_path / "build")
    stated = usage_of((tmp_path / "build").glob("*.su"))
    listed = {function.name: function.frame for function in _listing(image.path, "arm-none-eabi").values()}
    both = {name: (stated[name], listed[name]) for name in stated if listed.get(name) is not None}
    assert len(both) > 20 and sum(one > 0 for one, _ in both.values()) > 10
    assert all(one <= other for one, other in both.values() if other is not None)
