# SPDX-License-Identifier: MIT
"""Prove that the core never overflows, never leaves its memory, and keeps its promises.

docs/TRUST.md says what is proved.

    python proofs/run.py                      every proof that the installed tools can do
    python proofs/run.py --only flag,budget   some of them
    python proofs/run.py --check-vacuity      that each proof by CBMC reaches its end, and refutes
                                              a core that is broken on purpose
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
PROOFS = {
    "lemmas.c": {
        "log2": "value in 1..131071",
        "bits": ALL,
        "divide_by": ALL,
        "norm_of": "sums of 256 squares",
        "half_distance": "any dot product, one norm damaged",
        "between": "16-bit coefficients",
        "threshold_range": "any debt",
        "novelty": "any distance, degradation, stillness",
        "read_block": "up to 3 features a block",
        "toward": "means up to 2^21, 32 features a block",
        "drift_of": "any mean gaps, 32 features a block",
        "excess_of": "all heads without a bet",
        "baseline_sum": "all heads, sums and evidence",
        "add_up": "any sum and any evidence",
        "least_raised": "any sums and any alarm",
        "weight_to": "up to 5 lags",
        "step_closer": "any debt",
    },
    "rates.c": {
        "bounds": "all params",
        "counts": "all params, debts and risks",
        "bet": "all params, any evidence",
        "budget": "all params, risks, states",
        "damaged_credit": "all params, any credit",
        "damaged_debt": "all params, any debt",
    },
    "map.c": {
        "shut": "all params and debts",
        "open": "all params and debts",
        "slope": "all params, debts in bounds",
    },
    "flag.c": {"flag": "all params, debts in bounds, risks"},
    "feedback.c": {
        "label": "a memory of 3, all params and labels",
        "vouch": "a memory of 3, all params and risks",
        "damaged_labels": "a memory of 3, any memory",
        "doubt": "all params",
    },
    "state.c": {
        "crc": "up to 6 bytes",
        "load": "any bytes, params, counters, ring",
        "load_sizes": "any bytes, every other size",
        "save": "any params, counters, ring",
        "verify": "any params and counters",
    },
    "frame.c": {
        "stuff": "all buffers",
        "frame_init": "all params and sizes",
        "put_bits": "all buffers",
        "decision": "all buffers and decisions",
        "posteriors": "all buffers, up to 7 bytes a step",
        "skip": "all buffers",
        "state_part": "up to 40 bytes of content",
    },
    "params.c": {"check": "any params, 3 classes, 64 lags"},
}
"""Proofs by CBMC and their bounds, by source; those of state.c but crc are done for each of SMALL."""

LONG = ("put_bits", "decision", "posteriors", "skip", "state_part", "check")
"""Those that take long."""

UNWIND = dict(zip(PROOFS, (20, 18, 10, 4, 8, 40, 45, 66), strict=True))
"""More than any loop of a source turns; CBMC fails a proof where that is too few."""

TURNS = {
    "state.c": "tcuq_load.1:4,tcuq_load.2:15,tcuq_load.3:22,put_memory.0:4,entries_valid.0:4,all_zero.0:20,"
    "norm_of.0:18,root.0:18,prove_load_sizes.0:200",
}
"""The same for loops whose number of turns CBMC cannot see beforehand."""

REPLACED = {
    "rates.c": {
        "tcuq.c": {
            "STEEP_LIMIT / p->steep_slope": "DIV(MAP + 3u * map_call, STEEP_LIMIT, p->steep_slope)",
            "p->slope * near + p->steep_slope * far": "map_call++, "
            "MUL(MAP + 3u * map_call - 2u, p->slope, near) + "
            "MUL(MAP + 3u * map_call - 1u, p->steep_slope, far)",
            "(uint32_t)p->burst * p->budget_den": "CAP",
            "(int32_t)head->bet_slope * shift_floor(evidence, 8)": "SMUL(RULES + 1, head->bet_slope, "
            "shift_floor(evidence, 8))",
            "p->slope * (uint32_t)p->knee": "MUL(BOUNDS + 3u * bounds_call++, p->slope, (uint32_t)p->knee)",
            "(need + p->slope - 1u) / p->slope": "DIV(BOUNDS + 3u * bounds_call - 2u, "
            "need + p->slope - 1u, p->slope)",
            "(rest + p->steep_slope - 1u) / p->steep_slope": "DIV(BOUNDS + 3u * bounds_call - 1u, "
            "rest + p->steep_slope - 1u, p->steep_slope)",
        },
    },
    "map.c": {
        "tcuq.c": {
            "STEEP_LIMIT / p->steep_slope": "DIV(&of_steep, STEEP_LIMIT, p->steep_slope)",
            "(p->slope * near + p->steep_slope * far)": "(raw = MUL(&of_slope, p->slope, near) + "
            "MUL(&of_steep, p->steep_slope, far))",
            "p->slope * (uint32_t)p->knee": "MUL(&of_slope, p->slope, (uint32_t)p->knee)",
            "(need + p->slope - 1u) / p->slope": "DIV(&of_slope, need + p->slope - 1u, p->slope)",
            "(rest + p->steep_slope - 1u) / p->steep_slope": "DIV(&of_steep, rest + p->steep_slope - 1u, "
            "p->steep_slope)",
        },
    },
}
"""Products that a proof takes for any number which obeys the laws of products: each occurs once."""

CALLED: dict[str, dict[str, tuple[str, ...]]] = {
    "flag.c": {"tcuq.c": ("threshold_at", "debt_at")},
    "state.c": {"tcuq_state.c": ("crc_add", "tcuq_debt_bounds")},
    "frame.c": {"tcuq_frame.c": ("stuff",)},
    "decision": {"tcuq_frame.c": ("stuff", "put_bits")},
}
"""Functions of the core whose contract a proof calls in their place, by source or by proof, and by file."""


@dataclass(frozen=True)
class Shape:
    """A monitor that Eva analyzes, with everything but its shape unknown."""

    classes: int
    features: int
    lags: tuple[int, ...]
    mask: str
    evidence: bool
    instant: bool

    def header(self) -> str:
        """Return what the compiler is told."""
        return (
            f"#define CLASSES {self.classes}\n#define FEATURES {self.features}\n"
            f"#define LAGS {{{', '.join(map(str, self.lags))}}}\n#define MASK {self.mask}\n"
            f"#define EVIDENCE {self.evidence:d}\n#define INSTANT {self.instant:d}\n"
        )

    def __str__(self) -> str:
        return f"{self.classes} classes, {self.features} features, {len(self.lags)} lags"


SHAPES = {
    "every signal": Shape(3, 2, (1, 2), "TCUQ_ALL_SIGNALS", True, True),
    "standard": Shape(4, 3, (1,), "0x3F0u", True, True),
    "paper": Shape(3, 4, (1, 3), "0xFu", False, False),
    "evidence alone": Shape(3, 2, (1, 2), "0x7Au", True, False),
}

SMALL = {
    "labels": Shape(2, 0, (1,), "0x4u", False, False),
    "paper": Shape(2, 2, (1, 2), "0xFu", False, False),
    "standard": Shape(2, 2, (1,), "0x3F0u", True, True),
    "every signal": Shape(2, 2, (1,), "TCUQ_ALL_SIGNALS", True, True),
}
"""Monitors that are saved, loaded and verified."""

CONTRACTS = "half_distance,tcuq_internal_log2,between,threshold_at"

DISCHARGED = {
    ("tcuq_beliefs.c", "sum ≢ 0"): "divide_by",
    ("tcuq_beliefs.c", "tcuq_internal_log2: precondition"): "divide_by",
    ("tcuq_signals.c", "tcuq_internal_log2: precondition"): "bits",
    ("tcuq_signals.c", "from weight_to("): "weight_to",
    ("tcuq.c", "m_0->debt - tmp"): "step_closer",
    ("tcuq.c", "m_0->debt + tmp"): "damaged_debt",
    ("tcuq.c", "tcuq_internal_log2: precondition"): "bet",
    ("tcuq.c", "* 45426"): "bet",
    ("tcuq.c", "slope ≢ 0"): "bounds",
    ("tcuq.c", "p_0->knee +"): "bounds",
    ("tcuq.c", "shut - 1"): "bounds",
    ("tcuq.c", "1 - open"): "bounds",
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
            f"{self.proof:<22}{self.tool:<7}{self.bounds:<38}{self.checks:>7}  {said:<12}{self.seconds:>7.1f}"
        )


@dataclass(frozen=True)
class Job:
    """One proof by CBMC."""

    source: str
    proof: str
    bounds: str
    shape: str = ""

    @property
    def name(self) -> str:
        """Return the name in the table: that of the proof, and of the shape where there are several."""
        return f"{self.proof} {self.shape}".rstrip()


BROKEN = {
    "no payment": ("budget", "tcuq.c", "m->credit -= p->budget_den;", ""),
    "no limit of credit": ("budget", "tcuq.c", "m->credit >= p->budget_den) {", "m->credit >= 0) {"),
    "no update of the debt": ("flag", "tcuq.c", "m->debt += out->flagged != 0u ? up : down;", ""),
    "a flag too many": ("flag", "tcuq.c", "out->risk >= out->threshold", "out->risk + 1 >= out->threshold"),
    "start anew too soon": ("flag", "tcuq.c", "m->debt - (m->debt < 0 ? down : up)", "m->debt"),
    "weight of one lag more": ("weight_to", "tcuq_signals.c",
        "for (i = count; i < p->lag_count", "for (i = count - 1u; i < p->lag_count"),
    "a novelty above a whole one": ("novelty", "tcuq_signals.c",
        "novelty < NOVELTY_WHOLE ? novelty : NOVELTY_WHOLE", "novelty"),
    "stillness not cut": ("novelty", "tcuq_signals.c",
        "m->stillness < STILL_MAX ? m->stillness : STILL_MAX", "m->stillness"),
    "baseline unbounded": ("excess_of", "tcuq.c",
        "m->baseline < head->baseline_most ? m->baseline : head->baseline_most", "m->baseline"),
    "first inputs added twice": ("baseline_sum", "tcuq.c",
        "value - head->baseline_mean, 8) * (int32_t)novelty);",
        "value - head->baseline_mean, 8) * 2 * (int32_t)novelty);"),
    "a feature too many": ("read_block", "tcuq_signals.c",
        "} while (next != end);", "} while (next <= end);"),
    "mean gaps not clipped": ("drift_of", "tcuq_signals.c",
        "clipped((int32_t)slow[i], SLOW_MAX)", "(int32_t)slow[i]"),
    "an alarm without an end": ("least_raised", "tcuq.c", "left != 0u ? left - 1u", "left != 0u ? left"),
    "vouches for doubtful steps": ("vouch", "tcuq.c",
        "== 0u && !doubtful ? STEP_COUNTED", "== 0u ? STEP_COUNTED"),
    "labels count twice": ("label", "tcuq_feedback.c", "entry >= STEP_KNOWN", "entry > 0xFFFFu"),
    "labels lead back without end": ("label", "tcuq_feedback.c",
        "recovered * head->error_num > error_bound_of(head)", "recovered < 0"),
    "a place behind the last": ("damaged_labels", "tcuq_feedback.c",
        ">= head->memory) {\n        number_put", "> head->memory) {\n        number_put"),
    "bound rounded down": ("shut", "tcuq.c", "rest + p->steep_slope - 1u", "rest"),
    "knee forgotten": ("open", "tcuq.c", "return p->knee + ", "return "),
    "entry one too far": ("load labels", "tcuq_signals.c",
        "keep_at(m, at, m->slot,", "keep_at(m, at, m->slot + 1u,"),
    "counters unchecked": ("load labels", "tcuq_state.c", "!counters_valid(&next, depth_of(&at)) || ", ""),
    "head of the ring kept": ("load labels", "tcuq_state.c", "    m->slot = 0;\n", ""),
    "no least size": ("load_sizes labels", "tcuq_state.c", "size < HEADER_BYTES", "size < AT_FINGERPRINT"),
    "buffer one too small": ("save labels", "tcuq_state.c",
        "size < crc + CRC_BYTES", "size + 1u < crc + CRC_BYTES"),
    "damaged counters are saved": ("save labels", "tcuq_state.c",
        "    if (!counters_valid(&m, depth_of(&at))) {\n        return TCUQ_ERR_STATE;\n    }\n    memset",
        "    memset"),
    "block of 256": ("stuff", "tcuq_frame.c", "length == BLOCK", "length == BLOCK + 1u"),
    "decision of 41 bytes": ("decision", "tcuq_frame.c",
        "return added(frame, (uint16_t)(TCUQ_FRAME_DECISION + frame->sight));", "return added(frame, 40);"),
    "checksum not counted": ("frame_init", "tcuq_frame.c",
        "(most + 254u) / 255u - CRC_BYTES", "(most + 254u) / 255u"),
}  # fmt: skip
"""Faults put into the core: the proof that must fail, the file, what stands there once, and the fault."""


def changed(folder: Path, job: Job, fault: str = "") -> Path:
    """Write the files of the core that a proof takes in another form, each change where it stands once."""
    folder = folder / job.source / job.name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    replaced: Mapping[str, Mapping[str, str]] = REPLACED.get(job.source, {})
    called = CALLED.get(job.proof, CALLED.get(job.source, {}))
    _, broken, whole, wrong = BROKEN[fault] if fault else ("", "", "", "")
    if job.shape:
        (folder / "shape.h").write_text(SMALL[job.shape].header(), encoding="utf-8")
    for name in {*replaced, *called, *([broken] if broken else [])}:
        path = CORE / name if (CORE / name).exists() else EXPORTED / name
        text = path.read_text(encoding="utf-8")
        if name == broken:
            text = once(text, whole, wrong, name)
        for old, new in replaced.get(name, {}).items():
            text = text.replace(old, new) if name == broken else once(text, old, new, name)
        for function in called.get(name, ()):
            # Definitions begin a line with their type, calls do not.
            text = re.sub(rf"(?m)^([ #].*)\b{function}\(", rf"\1contract_{function}(", text)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def once(text: str, old: str, new: str, name: str) -> str:
    """Replace what must stand in a file exactly once."""
    if text.count(old) != 1:
        raise SystemExit(f"proofs: {name} has {text.count(old)} times {old!r}, expected 1")
    return text.replace(old, new)


def jobs_of(long: bool) -> list[Job]:
    """Return all proofs by CBMC, the quick ones first."""
    jobs = []
    for source, proofs in PROOFS.items():
        for proof, bounds in proofs.items():
            shapes = (
                [""]
                if source != "state.c"
                else ["paper"]
                if proof == "crc"
                else SMALL
                if long
                else ["labels"]
            )
            jobs += [Job(source, proof, bounds, shape) for shape in shapes if long or proof not in LONG]
    return sorted(jobs, key=lambda job: job.proof in LONG)


def asked(command: Sequence[str], job: Job, folder: Path, limit: float, *more: str, fault: str = "") -> str:
    """Return what CBMC says of a proof."""
    options = ["--function", f"prove_{job.proof}", "--unwind", str(UNWIND[job.source]), "--object-bits", "12"]
    options += ["--slice-formula", "--drop-unused-functions", *more]
    options += ["--unwindset", TURNS[job.source]] if job.source in TURNS else []
    includes = [f"-I{changed(folder, job, fault)}", f"-I{HERE}", f"-I{CORE}", f"-I{EXPORTED}"]
    try:
        done = subprocess.run(
            [*command, str(HERE / job.source), *includes, *options],
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {limit:g} s"
    return done.stdout + done.stderr


def cbmc(command: Sequence[str], job: Job, folder: Path, limit: float) -> Result:
    """Run one proof of CBMC."""
    begin = time.monotonic()
    text = asked(command, job, folder, limit)
    count = re.search(r"\*\* (\d+) of (\d+) failed", text)
    failed = [line for line in text.splitlines() if line.endswith(": FAILURE")]
    if "VERIFICATION SUCCESSFUL" not in text and not failed:
        failed = [(text.strip().splitlines() or ["CBMC said nothing"])[-1]]
    checks = int(count[2]) if count else 0
    return Result(job.name, "CBMC", job.bounds, checks, failed, time.monotonic() - begin)


def reached(command: Sequence[str], job: Job, folder: Path, limit: float) -> Result:
    """Ask whether the end of a proof is reached: an assertion that is false there must fail."""
    begin = time.monotonic()
    text = asked(command, job, folder, limit, "-DREACH", "--stop-on-fail")
    failed = [] if "  the end is reached\n" in text else [(text.strip().splitlines() or ["nothing"])[-1]]
    return Result(job.name, "CBMC", "the end is reached", 1, failed, time.monotonic() - begin)


def refuted(command: Sequence[str], fault: str, folder: Path, limit: float) -> Result:
    """Ask whether a proof fails for a core that is broken on purpose."""
    begin = time.monotonic()
    job = next(job for job in jobs_of(True) if job.name == BROKEN[fault][0])
    text = asked(command, job, folder, limit, "--stop-on-fail", fault=fault)
    failed = (
        []
        if "VERIFICATION FAILED" in text
        else [f"{fault}: {(text.strip().splitlines() or ['nothing'])[-1]}"]
    )
    return Result(job.name, "CBMC", f"refutes: {fault}", 1, failed, time.monotonic() - begin)


def eva(name: str, shape: Shape, folder: Path, limit: float) -> Result:
    """Let Eva look at a step of one shape; what it cannot exclude must be among what CBMC has excluded."""
    (folder / "shape.h").write_text(shape.header(), encoding="utf-8")
    sources = [CORE / f"{part}.c" for part in ("tcuq", "tcuq_signals", "tcuq_beliefs", "tcuq_state")]
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
    parser.add_argument("--long", action="store_true", help="also a proof that may take hours")
    parser.add_argument("--check-vacuity", action="store_true", help="look for proofs that prove nothing")
    parser.add_argument("--seconds", type=float, default=1800, help="limit for one proof")
    options = parser.parse_args(arguments)
    command, only = shlex.split(options.cbmc), set(filter(None, options.only.split(",")))
    jobs = jobs_of(options.long or bool(only))
    known = {name for job in jobs for name in (job.name, job.proof)} | set(SHAPES)
    if only - known:
        print(
            f"proof is {', '.join(sorted(only - known))}, expected {', '.join(sorted(known))}",
            file=sys.stderr,
        )
        return 2
    jobs = [job for job in jobs if not only or {job.name, job.proof} & only]
    results: list[Result] = []
    print(f"{'proof':<22}{'tool':<7}{'bounds':<38}{'checks':>7}  {'result':<12}{'seconds':>7}")

    def add(result: Result) -> None:
        results.append(result)
        print(result.row(), flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.which(command[0]) is None:
            print("not run: cbmc is not installed; --cbmc or CBMC names the command", file=sys.stderr)
        elif options.check_vacuity:
            for job in jobs:
                add(reached(command, job, folder, options.seconds))
            for fault, (proof, *_) in BROKEN.items():
                if proof in {job.name for job in jobs}:
                    add(refuted(command, fault, folder, options.seconds))
        else:
            for job in jobs:
                add(cbmc(command, job, folder, options.seconds))
        if options.check_vacuity:
            pass
        elif shutil.which("frama-c") is None:
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
