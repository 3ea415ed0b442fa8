# SPDX-License-Identifier: MIT
"""Analyzers, warnings and the rules of MISRA C:2012 over the core, the exported C and the binding.

    python tools/static_checks.py           all tools, a table
    python tools/static_checks.py --quick   those that take seconds

Ends with 1 on any finding: mend it, or say in this file (`REASONS`) or in docs/MISRA.md why it stays. A tool
that is not installed is named and counts as not run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
EXPORTED = ROOT / "src" / "tcuq" / "export" / "c"
BINDING = ROOT / "src" / "tcuq" / "binding"
MISRA_PAGE = ROOT / "docs" / "MISRA.md"
PORTABLE = [*sorted(CORE.glob("*.c")), *sorted(EXPORTED.glob("*.c"))]

PROFILES = {"every signal": 0x1FFFF, "standard": 0x1D200, "paper": 0xF, "extended": 0x7F3A}
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
        "ConfigurationNotChecked": "TCUQ_FINGERPRINT_OF is the name of a function, see the binding",
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
        "security.insecureAPI.DeprecatedOrUnsafeBufferHandling": "memcpy_s is optional in C11",
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

    def row(self) -> str:
        """Return a line of the table."""
        result = f"not run: {self.missing}" if self.missing else str(len(self.findings))
        return f"{self.tool:<22}{self.subject:<34}{self.files:>6}  {result}"


def said(command: Sequence[str | Path]) -> str:
    """Return what a command prints, on both streams."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
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
    for profile, mask in PROFILES.items():
        check = Check(name or compiler, f"core and export, {profile}", len(PORTABLE))
        if with_tool(compiler, check):
            for source in PORTABLE:
                command = [
                    compiler,
                    *WARNINGS,
                    *options,
                    f"-DTCUQ_SIGNALS={mask}",
                    f"-I{CORE}",
                    "-c",
                    "-o",
                    "/dev/null",
                ]
                check.findings += found_in(said([*command, source]), kept)
        checks.append(check)
    return checks


def newest_clang() -> str:
    """Return the newest clang there is."""
    return next((name for name in ("clang-19", "clang-18", "clang") if shutil.which(name)), "clang")


def python_options() -> list[str]:
    """Return how the binding is compiled."""
    flags = ["-std=c99", f"-I{ROOT / 'src' / 'tcuq'}", f"-I{CORE}", "-isystem", sysconfig.get_path("include")]
    return [
        *flags,
        "-DTCUQ_CRC_BY_TABLE=1",
        "-DTCUQ_FINGERPRINT_OF=held_fingerprint",
        "-DPy_LIMITED_API=0x030B0000",
    ]


def analyzed(command: Sequence[str], tool: str, name: str) -> list[Check]:
    """Return what an analyzer finds in the core and in the binding."""
    checks = []
    for subject, sources, options in (
        ("core and export", PORTABLE, ["-std=c99", f"-I{CORE}"]),
        ("binding", sorted(BINDING.glob("*.c")), python_options()),
    ):
        check = Check(name, subject, len(sources))
        if with_tool(tool, check):
            for source in sources:
                output = said([tool, *command, *options, "-o", "/dev/null", source])
                check.findings += found_in(output, REASONS.get(name, {}))
        checks.append(check)
    return checks


def cppcheck() -> Check:
    """Return what cppcheck finds, all of its checks on."""
    check = Check("cppcheck", "core and export", len(PORTABLE))
    if with_tool("cppcheck", check):
        kept = [f"--suppress={name}" for name in REASONS["cppcheck"]]
        command = ["cppcheck", "--enable=all", "--inconclusive", "--std=c99", "--quiet", f"-I{CORE}", *kept]
        template = "--template={file}:{line}: {severity}: {message} [{id}]"
        lines = said([*command, template, "--template-location=", *PORTABLE]).splitlines()
        check.findings = [line for line in lines if re.search(r"\[\w+\]$", line)]
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
    """Compare deviations from MISRA C:2012 with those that docs/MISRA.md states."""
    check = Check("MISRA C:2012", "core and export", len(PORTABLE))
    if with_tool("cppcheck", check):
        counts, stated = misra_counts(), stated_counts(MISRA_PAGE.read_text(encoding="utf-8"))
        for rule in sorted({*counts, *stated}, key=lambda text: [int(part) for part in text.split(".")]):
            if counts[rule] != stated.get(rule, 0):
                where = (
                    f"docs/MISRA.md: rule {rule} has {counts[rule]} places, expected {stated.get(rule, 0)}"
                )
                check.findings.append(where)
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
    if not quick:
        every = "core,deadcode,nullability,security,unix,optin.portability"
        analyzer = ["--analyze", "-Xclang", f"-analyzer-checker={every}", "-Xclang", "-analyzer-output=text"]
        found += analyzed(analyzer, clang, "clang --analyze")
        found += analyzed(["-fanalyzer", "-O1", "-c"], "gcc", "gcc -fanalyzer")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, then every finding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the analyzers of clang and gcc")
    found = checks(parser.parse_args(arguments).quick)
    print(f"{'tool':<22}{'what':<34}{'files':>6}  findings")
    for check in found:
        print(check.row())
    for check in found:
        for line in check.findings:
            print(f"{check.tool}: {line}".replace(f"{ROOT}/", ""))
    return 1 if any(check.findings for check in found) else 0


if __name__ == "__main__":
    sys.exit(main())
