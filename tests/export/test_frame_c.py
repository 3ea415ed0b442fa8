"""Frames written in C: the bytes of the vectors and of Python, with every compiler and on other machines."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from avr import on_avr
from compilers import builds, need_compiler
from cortex import CROSS, compile_for_m4, link_for_m4, need, run_on_m4
from cross import COMPILER, EMULATOR, need_other
from exported import LIBRARIES, contents_of, package
from frame_scripts import EXPORT_C, INCLUDE, ORDER, Case, build, frames_of, random_cases, vectors
from frame_writing import encode_posteriors
from gen_frames import DECISIONS, GAUGES, POSTERIORS, made_up
from places import CORE_SOURCES
from tiers import first_quick

from tcuq import Monitor
from tcuq.export import FORMS
from tcuq.io.binary_frames import DecisionsFrame, Decoder, PosteriorsFrame, StateFrame
from tcuq_device.cost.stock import standard

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
FLAGS = {
    "O0": ["-O0"],
    "O3": ["-O3"],
    "Os": ["-Os"],
    "Ofast": ["-Ofast"],
    "sanitized": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
SOURCE = EXPORT_C / "tcuq_frame.c"


def written(command: list[str | Path], cases: list[Case]) -> list[bytes]:
    """Return what the program in C writes of each case."""
    found = []
    # One process for all: a mark between them is a writer that is refused.
    mark = "writer 249 0 0 0 0 2 0 0 28"
    script = "\n".join(line for case in cases for line in (*case.script(), mark)) + "\n"
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    for part in done.stdout.split("refused -3\n")[:-1]:
        found.append(frames_of(part))
    assert len(found) == len(cases)
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program once for all tests of a few lines, with sanitizers."""
    target = tmp_path_factory.mktemp("frames") / "run_frames"
    return build(need("cc", "gcc"), target, *FLAGS["sanitized"])


@pytest.fixture(scope="module")
def encoded() -> list[tuple[Case, bytes]]:
    """The vectors and steps of all kinds, with the frames of the oracle and of Python."""
    return [*vectors(), *((case, case.encoded()) for case in random_cases(120, seed=1))]


@pytest.mark.parametrize(("compiler", "mode"), builds(FLAGS))
def test_frames_of_c_are_those_of_the_vectors_and_of_python(
    compiler: str, mode: str, encoded: list[tuple[Case, bytes]], tmp_path: Path
) -> None:
    need_compiler(compiler, mode, tmp_path)
    program = build(compiler, tmp_path / "run_frames", *STRICT, *FLAGS[mode])
    assert written([program], [case for case, _ in encoded]) == [frame for _, frame in encoded]


@pytest.mark.parametrize("level", first_quick(["-O3", "-Ofast", "-O0"]))
def test_frames_are_the_same_on_the_other_architecture(level: str, tmp_path: Path) -> None:
    need_other()
    program = build(COMPILER, tmp_path / "run_frames", level, "-static")
    cases = random_cases(60, seed=2)
    assert written([EMULATOR, program], cases) == [case.encoded() for case in cases]


def test_skipped_steps_end_a_frame_and_count(program: Path) -> None:
    rows = np.arange(8, dtype=np.int8).reshape(4, 2)
    lines = [f"writer {POSTERIORS} 7 1 0 4294967293 2 0 0 384", f"p {rows[0].tobytes().hex()}", "skip 1"]
    lines += [f"p {row.tobytes().hex()}" for row in rows[1:]] + [
        "skip 4294967295",
        "flush",
        "p 0102",
        "flush",
    ]
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    frames = Decoder().push(frames_of(done.stdout))
    firsts = [frame.first for frame in frames if isinstance(frame, PosteriorsFrame)]
    start = 2**32 - 3
    assert firsts == [start, start + 2, start + 2 + 3 + 2**32 - 1]
    assert [len(frame.probs) for frame in frames if isinstance(frame, PosteriorsFrame)] == [1, 3, 1]


def test_a_buffer_too_small_for_one_step_is_refused(program: Path) -> None:
    least = {
        (POSTERIORS, 2, 0): 29,
        (POSTERIORS, 10, 0): 35,
        (POSTERIORS, 1000, 256): 1286,
        (DECISIONS, 9, 0): 67,
    }
    for (kind, classes, features), size in least.items():
        ask = f"writer {kind} 0 0 0 0 {classes} {features} 0"
        step = "p " + "05" * (classes + features) if kind == POSTERIORS else "d " + "1 " * len(ORDER)
        script = f"{ask} {size - 1}\n{ask} {size}\n{step}\nflush\nstate 0102\n"
        done = subprocess.run([program], input=script, capture_output=True, text=True, check=True)
        refused, *frames = done.stdout.splitlines()
        assert refused == "refused -3"
        items = Decoder().push(frames_of("\n".join(frames)))
        assert len(items) == 2 and items[1] == StateFrame(0, 0, 0, b"\1\2")


def test_a_refused_writer_writes_nothing(program: Path) -> None:
    row, step = "05" * 1000, "1 " * len(ORDER)
    script = ""
    for kind, size in ((POSTERIORS, 384), (DECISIONS, 30), (0xFB, 384)):
        script += f"writer {kind} 0 0 0 0 1000 0 0 {size}\np {row}\nd {step}\nskip 3\nstate {row}\nflush\n"
    done = subprocess.run([program], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused -3\nrefused -3\nrefused -1\n", "")
    script = f"writer {GAUGES} 0 0 0 0 2 0 0 384\np 0102\nflush\n"  # params without gauges
    script += f"writer {GAUGES} 0 0 0 0 2 {65536 * 16} 0 59\nwriter {GAUGES} 0 0 0 0 2 {65536 * 16} 0 60\n"
    done = subprocess.run([program], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused -1\nrefused -3\n", "")
    # Nor does a writer of one kind write steps of the other.
    script = f"writer {POSTERIORS} 0 0 0 0 2 0 0 90\nd {step}\nflush\n"
    script += f"writer {DECISIONS} 0 0 0 0 2 0 0 90\np 0102\nflush\n"
    done = subprocess.run([program], input=script, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_a_real_stream_is_read_back_to_the_bit(program: Path) -> None:
    """A monitor, its decisions through C, and the host's STEP_DTYPE."""
    params = standard("standard, bet")
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(params.classes, 0.2), 3000)
    features = rng.integers(-128, 128, (3000, params.features)).astype(np.int8) if params.features else None
    monitor = Monitor(params)
    steps = monitor.run(probs) if features is None else monitor.run(probs, features)
    integers = {
        name: (np.nan_to_num(steps[name]) * 65536 if steps[name].dtype == float else steps[name]).astype(int)
        for name in steps.dtype.names or ()
    }
    rows = [{name: int(values[at]) for name, values in integers.items()} for at in range(len(steps))]
    shift = params.integers()["horizon"]
    fingerprint = int(params.fingerprint, 16)
    case = Case(DECISIONS, fingerprint, 5, 0, params.classes, shift=shift, steps=rows, state=monitor.save())
    (found,) = written([program], [case])
    *frames, state = Decoder().push(found)
    assert isinstance(state, StateFrame) and (state.seq, state.state) == (2999, monitor.save())
    decided = [frame for frame in frames if isinstance(frame, DecisionsFrame)]
    assert [frame.first for frame in decided[:-1]] == np.cumsum([0, *(len(f.steps) for f in decided)])[
        :-2
    ].tolist()
    again = np.concatenate([frame.steps for frame in decided])
    for name in steps.dtype.names or ():
        np.testing.assert_array_equal(again[name], np.asarray(steps[name]))


# As firmware.


def test_frames_cost_nothing_where_nobody_calls_them(tmp_path: Path) -> None:
    """The linker drops them; a program that sends posteriors has no code for decisions."""
    nm = need("arm-none-eabi-nm", CROSS)
    objects = [
        compile_for_m4(file, tmp_path / f"{file.stem}.o", *INCLUDE) for file in (SOURCE, *CORE_SOURCES)
    ]
    calls = {
        "none": "return 0;",
        "posteriors": "static tcuq_frame_t f; return (int)tcuq_frame_posteriors(&f, (const int8_t *)0, 0);",
    }
    found = {}
    for name, body in calls.items():
        (tmp_path / "main.c").write_text(
            f'#include "tcuq_frame.h"\nint main(void);\nint main(void) {{ {body} }}\n'
        )
        main = compile_for_m4(tmp_path / "main.c", tmp_path / "main.o", *INCLUDE)
        program = link_for_m4([main, *objects], tmp_path / f"{name}.elf")
        said = subprocess.run([nm, program], check=True, capture_output=True, text=True).stdout
        found[name] = set(re.findall(r" [TtRr] (\w*tcuq_frame\w*|put_bits)$", said, re.M))
    assert found == {"none": set(), "posteriors": {"tcuq_frame_posteriors", "tcuq_frame_flush"}}


INIT = """\
    at = frames{number};
    params.classes = {case.classes}u;
    params.features = {case.features}u;
    params.horizon = {case.shift}u;
    params.signals = {signals};
    params.sight = {sight};
    if (tcuq_frame_init(&frame, &params, {case.kind}u, {case.boot}uL, bytes, {case.size}u)) {{
        return -1;
    }}
    frame.fingerprint = {case.fingerprint}uL;
    frame.seq = {low}uL;
    frame.seq_high = {high}u;
    for (i = 0; i < {count}u; i++) {{
        {call}
    }}
    sent(tcuq_frame_flush(&frame));
    if (bad != 0 || at != frames{number} + sizeof frames{number}) {{
        return {number};
    }}
"""


def check_program(cases: list[Case]) -> str:
    """Return a program that compares frames with those of Python; it returns 0 or the number of a case."""
    text = '#include <string.h>\n#include "tcuq_frame.h"\nint check_frames(void);\n'
    text += "static tcuq_frame_t frame;\nstatic uint8_t bytes[384];\nstatic tcuq_params_t params;\n"
    text += "static const tcuq_sight_t sight;\n"
    text += "static const uint8_t *at;\nstatic int bad;\n"
    text += "static void sent(size_t size)\n{\n    bad |= memcmp(at, bytes, size) != 0;\n    at += size;\n}\n"
    calls = ""
    for number, case in enumerate(cases, 1):
        text += f"static const uint8_t frames{number}[] = {{{', '.join(map(str, case.encoded()))}}};\n"
        if case.rows is not None:
            values, row = (
                ", ".join(map(str, case.rows.ravel().tolist())),
                f"rows{number} + i * {case.rows.shape[1]}u",
            )
            text += f"static const int8_t rows{number}[] = {{{values}}};\n"
            call = f"sent(tcuq_frame_posteriors(&frame, {row}, {row} + {case.classes}u));"
        else:
            named = {-(2**31): "INT32_MIN"}
            rows = (
                ", ".join(str(named.get(value, value)) for value in case.numbers(step)) for step in case.steps
            )
            text += f"static const tcuq_step_t steps{number}[] = {{{{{'}, {'.join(rows)}}}}};\n"
            call = f"sent(tcuq_frame_decision(&frame, &steps{number}[i]));"
        calls += INIT.format(
            case=case,
            number=number,
            signals="TCUQ_BIT(TCUQ_MAGNITUDE)" if case.features else "0",
            sight="&sight" if case.sight else "0",
            low=case.seq % 2**32,
            high=case.seq >> 32,
            count=len(case.steps if case.rows is None else case.rows),
            call=call,
        )
    return text + "int check_frames(void)\n{\n    uint16_t i;\n" + calls + "    return 0;\n}\n"


def small_cases() -> list[Case]:
    dice = random.Random(4)
    rows = np.random.default_rng(4).integers(-128, 128, (21, 13)).astype(np.int8)
    wild = [made_up(dice, 1000, 8, True) for _ in range(12)]
    tame = [made_up(dice, 10, 12, False) for _ in range(14)]
    seen = [step | {"changed": 1, "moved": dice.choice([3, 131, 254])} for step in tame[::2]]
    return [
        Case(DECISIONS, 2**32 - 5, 2**31, 2**32 - 3, 1000, shift=8, size=200, steps=wild),
        Case(DECISIONS, 12345678, 3, 2**40, 10, shift=12, size=384, steps=tame),
        Case(DECISIONS, 7, 8, 9, 10, shift=12, size=200, steps=[*seen, *tame], sight=True),
        Case(POSTERIORS, 99, 65536, 2**32 - 9, 10, 3, size=150, rows=rows),
    ]


def test_frames_on_an_emulated_cortex_m4(tmp_path: Path) -> None:
    (tmp_path / "check.c").write_text(check_program(small_cases()))
    (tmp_path / "main.c").write_text(
        "int check_frames(void);\nint main(void);\nint main(void) { return check_frames() == 0 ? 42 : 1; }\n"
    )
    files = [tmp_path / "check.c", tmp_path / "main.c", SOURCE, *CORE_SOURCES]
    objects = [compile_for_m4(file, tmp_path / f"{file.stem}.o", *INCLUDE) for file in files]
    assert run_on_m4(link_for_m4(objects, tmp_path / "check.elf"))[0] == 42


def test_frames_on_an_emulated_avr(tmp_path: Path) -> None:
    strict = [*STRICT, *INCLUDE, "-mmcu=atmega2560", "-fsyntax-only"]
    state = [file for file in CORE_SOURCES if file.name == "tcuq_state.c"]
    subprocess.run([need("avr-gcc", "gcc-avr avr-libc"), *strict, SOURCE, *state], check=True)
    (tmp_path / "frames.c").write_text(check_program(small_cases()))
    check = "int check_frames(void);\nstatic int check(void) { return check_frames(); }"
    files = [tmp_path / "frames.c", SOURCE, *CORE_SOURCES]
    assert "check 0." in on_avr(tmp_path, check, files, *map(str, INCLUDE))


def test_posteriors_of_python_and_c_fit_the_line() -> None:
    """1,000 steps of 10 classes a second: 115,200 baud, eight bits and two for start and stop."""
    steps = np.random.default_rng(0).integers(-128, 128, (3500, 10)).astype(np.int8)
    steps[steps == 0] = 1  # zeros save nothing, but this is the worst that can come
    size = len(encode_posteriors(2**32 - 1, 2**32 - 1, 2**48 - 2**40 - 1, steps))
    assert size / len(steps) <= 11 and 1000 * size / len(steps) <= 115200 / 10


@pytest.mark.parametrize("form", ["c", "cmake"])
@pytest.mark.parametrize("which", LIBRARIES)
def test_the_example_sends_what_the_monitor_decides(form: str, which: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "p", form, which)
    contents, place = contents_of(which), FORMS[form].place
    include = sorted({f"-I{file.parent}" for file in folder.rglob("*.h")})
    compiled = [folder / place(file) for file in contents.sources]
    command = [need("cc", "gcc"), *STRICT, *include, folder / "examples" / "send_frames.c", *compiled]
    subprocess.run([*command, "-o", tmp_path / "send"], check=True)
    decoder = Decoder()
    frames = decoder.push(subprocess.run([tmp_path / "send"], check=True, capture_output=True).stdout)
    assert decoder.broken == 0 and [frame.first for frame in frames] == list(range(0, 100, 10))  # type: ignore[union-attr]
    monitor = Monitor(contents.params)
    if which == "plain":
        probs = np.full((100, 5), 16 - 128, dtype=np.int8)
        probs[:, 0] = 64
        expected = monitor.run(probs)
        found = np.concatenate([frame.steps for frame in frames])  # type: ignore[union-attr]
        for name in ("risk", "threshold", "answer", "abstain", "alarm", "expected_accuracy"):
            np.testing.assert_array_equal(found[name], np.asarray(expected[name]))
