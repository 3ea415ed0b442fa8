# SPDX-License-Identifier: MIT
"""Build and run the fuzz targets in C, with libFuzzer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "src" / "tcuq" / "core"
EXPORTED = ROOT / "src" / "tcuq" / "export" / "c"
SOURCES = ROOT / "fuzz" / "c"
CORPUS = ROOT / "fuzz" / "corpus" / "c"

TARGETS = {"load": 4096, "steps": 1024, "frames": 2048}
"""Names of the targets, and the bytes of their largest input."""

COMPILERS = ("clang-19", "clang")
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = [
    "-std=c99",
    "-D_POSIX_C_SOURCE=200809L",
    "-fno-omit-frame-pointer",
    "-DTCUQ_SIGNALS=TCUQ_EVERYTHING",
]
OPTIMIZED = ("-g", "-O1")


class Unable(Exception):
    """Nothing can be built here; the message says why."""


def find_compiler() -> str:
    """Return a compiler that has libFuzzer: the one of CC, or one of `COMPILERS`."""
    target = "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n > 9 && *d; }\n"
    asked = os.environ.get("CC")
    for name in (asked,) if asked else COMPILERS:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "try.c"
            source.write_text(target)
            command = [name, "-fsanitize=fuzzer,address,undefined", str(source), "-o", f"{folder}/try"]
            if shutil.which(name) and subprocess.run(command, capture_output=True).returncode == 0:
                return name
    raise Unable("no C compiler here has libFuzzer: install clang with its runtime")


def build(
    folder: Path, compiler: str, core: Path = CORE, jobs: int = 2, flags: Sequence[str] = OPTIMIZED
) -> dict[str, Path]:
    """Compile all targets; return the programs by target.

    Another core than ours shows that the checks can fail; `flags` say how far to optimize, as a short test
    compiles longer than it runs.
    """

    def run(*words: str) -> None:
        done = subprocess.run([compiler, *SANITIZED, *words], capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stderr.strip() or "no message").splitlines()
            raise Unable(f"{compiler} cannot build the targets: {said[0]}")

    def compiled(source: Path) -> str:
        target = folder / f"{source.stem}.o"
        where = [f"-I{path}" for path in (SOURCES, core, EXPORTED)]
        run("-fsanitize=fuzzer-no-link", *FLAGS, *flags, *where, "-c", str(source), "-o", str(target))
        return str(target)

    def linked(name: str) -> Path:
        run("-fsanitize=fuzzer", objects[name], *shared, "-o", str(folder / name))
        return folder / name

    folder.mkdir(parents=True, exist_ok=True)
    common = [SOURCES / f"{name}.c" for name in ("sets", "bounds")]
    common += [*sorted(core.glob("*.c")), EXPORTED / "tcuq_frame.c"]
    with ThreadPoolExecutor(jobs) as pool:
        made = list(pool.map(compiled, [*(SOURCES / f"{name}.c" for name in TARGETS), *common]))
        objects = dict(zip(TARGETS, made, strict=False))
        shared = made[len(TARGETS) :]
        return dict(zip(TARGETS, pool.map(linked, TARGETS), strict=True))


@dataclass(frozen=True)
class Outcome:
    """What came of one run of a target.

    Inputs that were tried, steps of monitors (calls of the writer of frames), and edges of the program that
    were reached, 0 where nobody counted; of findings a line each: the rule, and where its input lies.
    """

    target: str
    runs: int
    steps: int
    edges: int
    findings: list[str]


def environment() -> dict[str, str]:
    """Return the environment of a target: a finding ends it, and leaks are not looked for."""
    # The targets free what they take; a leak check would need rights that containers often withhold.
    return {
        **os.environ,
        "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0",
        "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    }


def run_target(program: Path, seconds: int, seed: int, out: Path, runs: int | None = None) -> Outcome:
    """Replay the corpus of a target, then fuzz it for some seconds; `out` is for what is found."""
    target = program.name
    grown = out / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    prefix = out / f"{target}-"
    options = [
        f"-seed={seed + 1}",  # 0 is a random one
        f"-max_len={TARGETS[target]}",
        f"-artifact_prefix={prefix}",
        "-print_final_stats=1",
        "-detect_leaks=0",
        "-timeout=60",
    ]
    limits = ["-runs=0"] if seconds == 0 else [f"-max_total_time={seconds}"]
    limits = limits if runs is None else [*limits, f"-runs={runs}"]
    command = [str(program), *options, *limits, str(grown), str(CORPUS / target)]
    log = out / f"{target}.log"
    with log.open("w") as file:
        status = subprocess.run(command, stdout=file, stderr=file, env=environment(), cwd=out).returncode
    said = log.read_text(errors="replace")
    findings = []
    if status != 0:
        rule = re.search(r"broken: .*|ERROR: \w+Sanitizer: [^\n]{0,80}|runtime error: [^\n]{0,80}", said)
        kept = re.search(r"Test unit written to (\S+)", said)
        where = kept.group(1) if kept else str(log)
        findings.append(f"{target}: {rule.group(0) if rule else f'exit status {status}'}; {where}")

    def last(pattern: str) -> int:
        numbers = re.findall(pattern, said)
        return int(numbers[-1]) if numbers else 0

    executed = last(r"number_of_executed_units: (\d+)") or last(r"^#(\d+)") or last(r"\n#(\d+)")
    return Outcome(target, executed, last(r"steps: (\d+)"), last(r"cov: (\d+)"), findings)
