# SPDX-License-Identifier: MIT
"""Prove that the core never overflows, never leaves its memory, and keeps its promises.

README.md says what is proved.

    python proofs/run.py                      every proof that the installed tools can do
    python proofs/run.py --only debt,budget   some of them
    python proofs/run.py --cbmc "COMMAND"     how to call CBMC (or the environment variable CBMC)

Ends with 1 when a proof fails or does not end in time. A tool that is not installed is named; its proofs are
not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "src" / "tcuq" / "core"
EXPORTED = HERE.parent / "src" / "tcuq" / "export" / "c"

ALL = "all values"
LEMMAS = {
    "log2": "value in 1..131071",
    "bits": ALL,
    "divide_by": ALL,
    "norm_of": "sums of 256 squares",
    "half_distance": "any dot product, one norm damaged",
    "entropy_term": "0..2^24",
    "displacement_of": "2 features, any means",
    "spread_of": "2 classes, any means",
    "between": "16-bit coefficients",
    "threshold_range": "any debt",
    "weigh": ALL,
    "vary": "any ring words",
    "times_steps": "numbers up to 1000",
    "debt_rest": "any debt and steps",
    "step_closer": "any debt",
}
"""Proofs of lemmas.c and their bounds."""

RATES = {
    "bounds": "all params",
    "counts": "all params, debts and risks",
    "bet": "all params, any evidence",
    "budget": "all params, risks, states",
    "damaged_credit": "all params, any credit",
    "damaged_debt": "all params, any debt",
}
"""Proofs of rates.c."""

LONG = {
    "shut": ("rates.c", "all params and debts"),
    "open": ("rates.c", "all params and debts"),
    "check": ("params.c", "any params, 3 classes, 64 lags"),
}
"""Proofs that take long; run when they are named, or with --long."""

UNWIND = {"lemmas.c": "20", "rates.c": "18", "params.c": "66"}
"""More than any loop turns; CBMC fails a proof where that is too few."""

REPLACED = {
    "tcuq.c": {
        "STEEP_LIMIT / p->steep_slope": "DIV(MAP + 3u * map_call, STEEP_LIMIT, p->steep_slope)",
        "p->slope * near + p->steep_slope * far": "map_call++, "
        "MUL(MAP + 3u * map_call - 2u, p->slope, near) + "
        "MUL(MAP + 3u * map_call - 1u, p->steep_slope, far)",
        "(uint32_t)p->burst * p->budget_den": "CAP",
        "(int32_t)head->bet_slope * shift_floor(evidence, 8)": "SMUL(RULES + 1, head->bet_slope, "
        "shift_floor(evidence, 8))",
    },
    "tcuq_params.c": {
        "p->slope * (uint32_t)p->knee": "MUL(BOUNDS + 3u * bounds_call++, p->slope, (uint32_t)p->knee)",
        "(need + p->slope - 1u) / p->slope": "DIV(BOUNDS + 3u * bounds_call - 2u, "
        "need + p->slope - 1u, p->slope)",
        "(rest + p->steep_slope - 1u) / p->steep_slope": "DIV(BOUNDS + 3u * bounds_call - 1u, "
        "rest + p->steep_slope - 1u, p->steep_slope)",
    },
}
"""Products that rates.c takes for any number which obeys the laws of products: each occurs once."""


@dataclass(frozen=True)
class Shape:
    """A monitor that Eva analyzes, with everything but its shape unknown."""

    classes: int
    features: int
    lags: tuple[int, ...]
    mask: int
    evidence: bool
    instant: bool
    shares: bool

    def header(self) -> str:
        """Return what the compiler is told."""
        return (
            f"#define CLASSES {self.classes}\n#define FEATURES {self.features}\n"
            f"#define LAGS {{{', '.join(map(str, self.lags))}}}\n#define MASK {self.mask:#x}u\n"
            f"#define EVIDENCE {self.evidence:d}\n#define INSTANT {self.instant:d}\n"
            f"#define SHARES {self.shares:d}\n"
        )

    def __str__(self) -> str:
        return f"{self.classes} classes, {self.features} features, {len(self.lags)} lags"


SHAPES = {
    "every signal": Shape(3, 2, (1, 2), 0x1FFFF, True, True, True),
    "standard": Shape(4, 3, (1,), 0x1D200, True, True, False),
    "paper": Shape(3, 4, (1, 3), 0xF, False, False, False),
    "extended": Shape(3, 2, (1, 2), 0x7F3A, True, False, False),
}

CONTRACTS = "half_distance,tcuq_internal_log2,entropy_term,displacement_of,between,threshold_at"

DISCHARGED = {
    ("tcuq_beliefs.c", "sum ≢ 0"): "divide_by",
    ("tcuq_beliefs.c", "tcuq_internal_log2: precondition"): "divide_by",
    ("tcuq_beliefs.c", "expected >> scale"): "vary",
    ("tcuq_signals.c", "entropy_term_1: precondition"): "spread_of",
    ("tcuq_signals.c", "tcuq_internal_log2: precondition"): "bits",
    ("tcuq.c", "m_0->debt - tmp"): "step_closer",
    ("tcuq.c", "m_0->debt + tmp"): "damaged_debt",
    ("tcuq.c", "spread >> 4"): "weigh",
    ("tcuq.c", "tcuq_internal_log2: precondition"): "bet",
    ("tcuq.c", "* 45426"): "bet",
    ("tcuq_params.c", "slope ≢ 0"): "bounds",
    ("tcuq_params.c", "p_0->knee +"): "bounds",
    ("tcuq_params.c", "shut - 1"): "bounds",
    ("tcuq_params.c", "1 - open"): "bounds",
}
"""Alarms of Eva in a step that CBMC proves to be false, by file and text, and the proof."""


@dataclass
class Result:
    """One row of the table."""

    proof: str
    tool: str
    bounds: str
    checks: int
    failed: list[str]
    seconds: float

    def row(self) -> str:
        """Return a line of the table."""
        said = "proved" if not self.failed else f"FAILED ({len(self.failed)})"
        return (
            f"{self.proof:<18}{self.tool:<7}{self.bounds:<38}{self.checks:>7}  {said:<12}{self.seconds:>7.1f}"
        )


def changed(folder: Path, table: Mapping[str, Mapping[str, str]] = REPLACED) -> Path:
    """Write the files of the core in which products are replaced, each exactly where it stands once."""
    for name, replaced in table.items():
        text = (CORE / name).read_text(encoding="utf-8")
        for old, new in replaced.items():
            if text.count(old) != 1:
                raise SystemExit(f"proofs: {name} has {text.count(old)} times {old!r}, expected 1")
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def cbmc(command: Sequence[str], source: str, proof: str, bounds: str, folder: Path, limit: float) -> Result:
    """Run one proof of CBMC."""
    options = [
        "--function",
        f"prove_{proof}",
        "--unwind",
        UNWIND[source],
        "--slice-formula",
        "--drop-unused-functions",
    ]
    includes = [f"-I{changed(folder)}"] if source == "rates.c" else []
    whole = [*command, str(HERE / source), *includes, f"-I{CORE}", *options]
    begin = time.monotonic()
    try:
        done = subprocess.run(whole, capture_output=True, text=True, timeout=limit)
        text = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        text = f"no answer within {limit:g} s"
    count = re.search(r"\*\* (\d+) of (\d+) failed", text)
    failed = [line for line in text.splitlines() if line.endswith(": FAILURE")]
    if "VERIFICATION SUCCESSFUL" not in text and not failed:
        failed = [(text.strip().splitlines() or ["CBMC said nothing"])[-1]]
    return Result(proof, "CBMC", bounds, int(count[2]) if count else 0, failed, time.monotonic() - begin)


def eva(name: str, shape: Shape, folder: Path, limit: float) -> Result:
    """Let Eva look at a step of one shape; what it cannot exclude must be among what CBMC has excluded."""
    (folder / "shape.h").write_text(shape.header(), encoding="utf-8")
    sources = [
        CORE / f"{part}.c" for part in ("tcuq", "tcuq_signals", "tcuq_beliefs", "tcuq_params", "tcuq_state")
    ]
    options = ["-eva", "-machdep", "gcc_x86_32", "-eva-slevel", "100", "-eva-min-loop-unroll", "20"]
    options += ["-eva-split-return", "auto", "-eva-use-spec", CONTRACTS, "-eva-no-show-progress"]
    options += ["-eva-msg-key=-initial-state,-final-states"]
    include = f"-I{CORE} -I{EXPORTED} -I{folder} -include {HERE / 'contracts.h'}"
    begin = time.monotonic()
    try:
        command = ["frama-c", *options, f"-cpp-extra-args={include}", HERE / "whole.c", *sources]
        text = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit).stdout
    except subprocess.TimeoutExpired:
        text = f"[eva:alarm] none: no answer within {limit:g} s"
    failed = [alarm for alarm in alarms_of(text) if not discharged(alarm)]
    if "ANALYSIS SUMMARY" not in text and not failed:
        failed = [(text.strip().splitlines() or ["Frama-C said nothing"])[-1]]
    statements = re.search(r"(\d+) statements reached", text)
    return Result(
        name, "Eva", str(shape), int(statements[1]) if statements else 0, failed, time.monotonic() - begin
    )


def alarms_of(text: str) -> list[str]:
    r"""Return the alarms of Eva, one line each.

    Examples
    --------
    >>> alarms_of("[eva:alarm] /a/tcuq.c:206: Warning: \n  division by zero.\n  assert x;\n[eva] done\n")
    ['tcuq.c:206: Warning: division by zero. assert x;']
    """
    found = re.findall(r"^\[eva:alarm\] (?:\S*/)?(.*(?:\n  .*)*)", text, re.MULTILINE)
    return [" ".join(alarm.split()) for alarm in found]


def discharged(alarm: str) -> bool:
    """Return whether CBMC has proved that an alarm cannot come true."""
    return any(alarm.startswith(f"{file}:") and part in alarm for file, part in DISCHARGED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run proofs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cbmc", default=os.environ.get("CBMC", "cbmc"), help="command that runs CBMC")
    parser.add_argument("--only", default="", help="names of proofs, separated by commas")
    parser.add_argument("--long", action="store_true", help="also proofs that may take hours")
    parser.add_argument("--seconds", type=float, default=1800, help="limit for one proof")
    options = parser.parse_args(arguments)
    command, only = shlex.split(options.cbmc), set(filter(None, options.only.split(",")))
    known = {*LEMMAS, *RATES, *LONG, *SHAPES}
    if only - known:
        print(
            f"proof is {', '.join(sorted(only - known))}, expected {', '.join(sorted(known))}",
            file=sys.stderr,
        )
        return 2
    results: list[Result] = []
    print(f"{'proof':<18}{'tool':<7}{'bounds':<38}{'checks':>7}  {'result':<12}{'seconds':>7}")

    def add(result: Result) -> None:
        results.append(result)
        print(result.row(), flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [("lemmas.c", proof, bounds) for proof, bounds in LEMMAS.items()]
        jobs += [("rates.c", proof, bounds) for proof, bounds in RATES.items()]
        if options.long or only:
            jobs += [(source, proof, bounds) for proof, (source, bounds) in LONG.items()]
        if shutil.which(command[0]) is None:
            print("not run: cbmc is not installed; --cbmc or CBMC names the command", file=sys.stderr)
        else:
            for source, proof, bounds in jobs:
                if not only or proof in only:
                    add(cbmc(command, source, proof, bounds, folder, options.seconds))
        if shutil.which("frama-c") is None:
            print("not run: frama-c is not installed (Debian package frama-c-base)", file=sys.stderr)
        else:
            for title, shape in SHAPES.items():
                if not only or title in only:
                    add(eva(title, shape, folder, options.seconds))
    for result in results:
        for line in result.failed:
            print(f"{result.proof}: {line}")
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
