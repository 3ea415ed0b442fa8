# SPDX-License-Identifier: MIT
"""Analyzers, warnings and the rules of MISRA C:2012 over the core, the exported C and the binding.

The exported C is what every package carries along, and what is generated for a monitor: its parameters,
its self-check, an example that calls them. These are made again from stock monitors.

    python tools/static_checks.py           all tools, a table
    python tools/static_checks.py --quick   those that take seconds

Ends with 1 on any finding: mend it, or say in this file (`REASONS`) or in docs/TRUST.md why it stays. A tool
that is not installed is named and counts as not run; one that takes longer than ten minutes for a file is
ended, and that is a finding too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generated_c import generated

from tcuq.monitor.signals import PROFILES, SIGNALS, mask

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
EXPORTED = ROOT / "src" / "tcuq" / "export" / "c"
BINDING = [
    path
    for folder in ("src/tcuq/binding", "watch/src/tcuq_watch/native")
    for path in sorted((ROOT / folder).glob("*.c"))
]
MISRA_PAGE = ROOT / "docs" / "TRUST.md"
PORTABLE = [*sorted(CORE.glob("*.c")), *sorted(EXPORTED.glob("*.c"))]

LIMIT = 600
"""Seconds that one tool may take for one file."""

BUILDS = {"every signal": mask(SIGNALS)} | {name: mask(PROFILES[name]) for name in ("standard", "paper")}
"""Builds that warnings are asked of: the mask of each."""

WARNINGS = [
    *("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wshadow"),
    *("-Wcast-qual", "-Wstrict-prototypes", "-Wmissing-prototypes"),
]

REASONS = {
    "cppcheck": {
        "missingIncludeSystem": "headers of the C library are not the subject",
        "unusedFunction": "a library: its callers are elsewhere",
        "funcArgNamesDifferent": "headers spell names out for readers, sources have `m` and `p` throughout",
        "variableScope": "C90 habit: variables begin a block, loop counters among them",
        "shadowFunction": "a local name and a function of another meaning; no call is hidden by it",
        "unusedStructMember": "of structs that only `sizeof` and `offsetof` see, when compiling",
        "unmatchedSuppression": "one list serves all versions",
        "checkersReport": "no finding",
    },
    "clang -Weverything": {
        "padded": "a struct may have gaps: none is written to a file",
        "unsafe-buffer-usage": "advice for C++: pointers to buffers are what C has",
        "used-but-marked-unused": "`unused` is for builds that leave a signal out",
        "unreachable-code": "known when compiling: a build that leaves a signal out has no code for it",
        "unreachable-code-return": "the same",
        "declaration-after-statement": "the binding is C99",
        "documentation-unknown-command": "of Python's headers",
        "pre-c11-compat": "of Python's headers",
    },
    "clang --analyze": {
        "security.insecureAPI.DeprecatedOrUnsafeBufferHandling": "memcpy_s is optional in C11"
    },
}
"""Findings that stay, by tool, each with its reason."""


@dataclass
class Check:
    """One tool over some files: what it said, or why it did not run."""

    tool: str
    subject: str
    files: int
    findings: list[str] = field(default_factory=list)
    missing: str = ""
    seconds: float = 0.0

    def row(self) -> str:
        """Return a line of the table."""
        result = f"not run: {self.missing}" if self.missing else str(len(self.findings))
        return f"{self.tool:<22}{self.subject:<34}{self.files:>6}{self.seconds:>8.1f}  {result}"

    def over(self, files: Sequence[Path], command: Sequence[str | Path], kept: Iterable[str] = ()) -> None:
        """Run a compiler over files one by one and keep what it finds."""
        begun = time.monotonic()
        if with_tool(str(command[0]), self):
            for file in files:
                self.findings += found_in(said([*command, file]), kept)
        self.seconds += time.monotonic() - begun


def said(command: Sequence[str | Path]) -> str:
    """Return what a command prints, on both streams."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"{words[-1]}: error: {words[0]} did not end within {LIMIT} s"
    text = done.stdout + done.stderr
    if done.returncode not in (0, 1) and "warning:" not in text and "error:" not in text:
        return f"{command[0]}: error: ended with {done.returncode}: {text.strip()[-200:]}"
    return text


def found_in(text: str, kept: Iterable[str] = ()) -> list[str]:
    r"""Return lines of compilers that are warnings or errors, without those that stay.

    Examples
    --------
    >>> text = "a.c:1:2: warning: gap [-Wpadded]\na.c:2:2: warning: odd [-Wconversion]\nnote: x"
    >>> found_in(text, ["padded"])
    ['a.c:2:2: warning: odd [-Wconversion]']
    """
    lines = [line for line in text.splitlines() if re.search(r"\b(warning|error): ", line)]
    stays = [f"[-W{name}]" for name in kept] + [f"[{name}]" for name in kept]
    return [line for line in lines if not line.endswith(tuple(stays))]


def with_tool(tool: str, check: Check) -> bool:
    """Return whether a tool is there; say so in the check where not."""
    if shutil.which(tool) is None:
        check.missing = f"{tool} is not installed"
    return not check.missing


def warnings_of(
    compiler: str, options: Sequence[str] = (), kept: Iterable[str] = (), name: str = ""
) -> list[Check]:
    """Return the warnings of a compiler in the builds of all profiles."""
    checks = []
    command = [compiler, *WARNINGS, *options, f"-I{CORE}", "-c", "-o", "/dev/null"]
    for profile, signals in BUILDS.items():
        check = Check(name or compiler, f"core and export, {profile}", len(PORTABLE))
        check.over(PORTABLE, [*command, f"-DTCUQ_SIGNALS={signals}"], kept)
        checks.append(check)
    return checks


def generated_checks(more: Mapping[str, Sequence[str]]) -> list[Check]:
    """Return what compilers, cppcheck and some analyzers find in generated C, as an export has it."""
    clang = newest_clang()
    with tempfile.TemporaryDirectory() as name:
        files = generated(Path(name))
        compile_only = ["-c", "-o", "/dev/null"]
        commands = {
            "gcc": ["gcc", *WARNINGS, "-O2", *compile_only],
            clang: [clang, *WARNINGS, "-O2", *compile_only],
            "clang -Weverything": [clang, *WARNINGS, "-Weverything", *compile_only],
            "avr-gcc": ["avr-gcc", *WARNINGS, "-mmcu=atmega2560", "-Os", *compile_only],
            "arm-none-eabi-gcc": [
                "arm-none-eabi-gcc",
                *WARNINGS,
                "-mcpu=cortex-m4",
                "-mthumb",
                "-Os",
                *compile_only,
            ],
            "cppcheck": CPPCHECK,
            **{tool: [*words, "-std=c99", "-o", "/dev/null"] for tool, words in more.items()},
        }
        found = []
        for tool, command in commands.items():
            check = Check(tool, "generated", len(files))
            for file in files:
                at = file.parent if file.parent.name != "examples" else file.parent.parent
                check.over([file], [*command, f"-I{at}"], REASONS.get(tool, {}))
            check.findings = [line.replace(f"{name}/", "generated/") for line in check.findings]
            found.append(check)
        return found


def newest_clang() -> str:
    """Return the newest clang there is."""
    return next((name for name in ("clang-19", "clang-18", "clang") if shutil.which(name)), "clang")


def python_options() -> list[str]:
    """Return how the binding is compiled."""
    flags = ["-std=c99", f"-I{ROOT / 'src' / 'tcuq'}", f"-I{CORE}", "-isystem", sysconfig.get_path("include")]
    # As in setup.py: free-threaded builds and old ones have no stable ABI that has buffers.
    stable = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    limited = ["-DPy_LIMITED_API=0x030B0000"] if stable else []
    return [*flags, *limited]


def analyzers() -> dict[str, list[str]]:
    """Return how the analyzers of clang and gcc are called, by name."""
    every = "core,deadcode,nullability,security,unix,optin.portability"
    checkers = ["-Xclang", f"-analyzer-checker={every}", "-Xclang", "-analyzer-output=text"]
    return {
        "clang --analyze": [newest_clang(), "--analyze", *checkers],
        "gcc -fanalyzer": ["gcc", "-fanalyzer", "-O1", "-c"],
    }


def analyzed(command: Sequence[str], name: str) -> list[Check]:
    """Return what an analyzer finds in the core and in the binding."""
    checks = []
    for subject, sources, options in (
        ("core and export", PORTABLE, ["-std=c99", f"-I{CORE}"]),
        ("binding", BINDING, python_options()),
    ):
        check = Check(name, subject, len(sources))
        check.over(sources, [*command, *options, "-o", "/dev/null"], REASONS.get(name, {}))
        checks.append(check)
    return checks


CPPCHECK = [
    *("cppcheck", "--enable=all", "--inconclusive", "--std=c99", "--quiet", "--template-location="),
    "--template={file}:{line}: warning: {message} [{id}]",
    *(f"--suppress={name}" for name in REASONS["cppcheck"]),
]


def cppcheck() -> Check:
    """Return what cppcheck finds, all of its checks on."""
    check, begun = Check("cppcheck", "core and export", len(PORTABLE)), time.monotonic()
    if with_tool("cppcheck", check):
        check.findings = found_in(said([*CPPCHECK, f"-I{CORE}", *PORTABLE]))
    check.seconds = time.monotonic() - begun
    return check


def misra_counts() -> Counter[str]:
    """Return how many places break each rule, as cppcheck's addon sees it."""
    command: list[str | Path] = ["cppcheck", "--addon=misra", "--std=c99", "--quiet", f"-I{CORE}"]
    text = said([*command, "--template={file}:{line}: {id}", "--suppress=missingIncludeSystem", *PORTABLE])
    return Counter(match[1] for match in re.finditer(r"misra-c2012-(\d+\.\d+)$", text, re.MULTILINE))


def stated_counts(page: str) -> dict[str, int]:
    r"""Return the places of each deviation that a page states.

    Examples
    --------
    >>> stated_counts("| 12.1 | advisory | 220 | why | safe |\n| rule | category |")
    {'12.1': 220}
    """
    rows = re.findall(r"^\| (\d+\.\d+) \| \w+ \| (\d+) \|", page, re.MULTILINE)
    return {rule: int(count) for rule, count in rows}


def misra() -> Check:
    """Compare deviations from MISRA C:2012 with those that docs/TRUST.md states."""
    check, begun = Check("MISRA C:2012", "core and export", len(PORTABLE)), time.monotonic()
    if with_tool("cppcheck", check):
        counts, stated = misra_counts(), stated_counts(MISRA_PAGE.read_text(encoding="utf-8"))
        for rule in sorted({*counts, *stated}, key=lambda text: [int(part) for part in text.split(".")]):
            if counts[rule] != stated.get(rule, 0):
                where = (
                    f"docs/TRUST.md: rule {rule} has {counts[rule]} places, expected {stated.get(rule, 0)}"
                )
                check.findings.append(where)
    check.seconds = time.monotonic() - begun
    return check


def checks(quick: bool) -> list[Check]:
    """Return the result of every tool."""
    clang = newest_clang()
    found = [cppcheck(), misra(), *warnings_of("gcc", ["-O2"]), *warnings_of(clang, ["-O2"])]
    avr = ["-mmcu=atmega2560", "-Os"]
    found += warnings_of("avr-gcc", avr)
    found += warnings_of("arm-none-eabi-gcc", ["-mcpu=cortex-m4", "-mthumb", "-Os"])
    name = "clang -Weverything"
    found += warnings_of(clang, ["-Weverything"], REASONS[name], name)
    for tool, command in ({} if quick else analyzers()).items():
        found += analyzed(command, tool)
    found += generated_checks({} if quick else analyzers())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, then every finding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the analyzers of clang and gcc")
    found = checks(parser.parse_args(arguments).quick)
    print(f"{'tool':<22}{'what':<34}{'files':>6}{'seconds':>8}  findings")
    for check in found:
        print(check.row())
    for check in found:
        for line in check.findings:
            print(f"{check.tool}: {line}".replace(f"{ROOT}/", ""))
    return 1 if any(check.findings for check in found) else 0


if __name__ == "__main__":
    sys.exit(main())
