"""Write what is made of src/tcuq/core/schema.toml, or check that it is up to date.

    python tools/schema.py            write the files below
    python tools/schema.py --check    say which of them are behind the schema; status 1 if any is
    python tools/schema.py --files    say in how many files of code and text each parameter's name stands

Made are structs, signals and errors in core/tcuq.h, all of core/tcuq_fields.h and monitor/made.py, comments
of core/tcuq_gauges.h, names in log/gauges.py, and tables of SPEC.md. Needs Python 3.11 or later.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
CORE, MONITOR, SPEC = ROOT / "src/tcuq/core", ROOT / "src/tcuq/monitor", ROOT / "SPEC.md"
GAUGES = ROOT / "src/tcuq/log/gauges.py"
PARTS = {"params": ("PARAM", "p")} | {
    head: (head.upper(), head) for head in ("evidence", "instant", "sight", "feedback")
}
"""Parts of the parameters: what errors of each are called, and the variable that points to it in the core."""

WIDTH = 118
FIRST_ERROR = -128
NOTE = "made from schema.toml by tools/schema.py: change that file, not this one"
MASKS: dict[str, Callable[[Row], bool]] = {
    "PROFILE_PAPER": lambda row: row["of"] == "paper",
    "PROFILE_STANDARD": lambda row: row["of"] == "standard",
    "LAGGED_SIGNALS": lambda row: "past" in row.get("reads", ""),
    "FEATURE_SIGNALS": lambda row: "features" in row.get("reads", ""),
    "SLOW_SIGNALS": lambda row: "evidence" in row.get("reads", ""),
}
"""Signals by what they have in common."""

UNITS = {"q8": ", value * 256", "q9": ", Q6.9", "q13": ", times 8192", "weights": ", value * 32768"}
UNITS |= {"slope": ", Q0.16 / 256", "q4": ", value * 16"}

Row = dict[str, Any]
Schema = dict[str, dict[str, Any]]


def read_schema() -> Schema:
    """Return the schema."""
    schema: Schema = tomllib.loads((CORE / "schema.toml").read_text(encoding="utf-8"))
    schema["params"]["version"] |= {
        "range": [schema["layout"]["params"]] * 2,
        "usual": schema["layout"]["params"],
    }
    schema["params"]["signals"]["range"] = [1, 2 ** len(schema["signals"]) - 1]
    return schema


def numbers(rows: dict[str, Row]) -> dict[str, Row]:
    """Return the single numbers of a part, which have a range and an error each."""
    return {name: row for name, row in rows.items() if "kind" not in row}


def between(text: str, start: str, end: str, new: str) -> str:
    """Return a text with new lines between one that ends in `start` and one that begins with `end`."""
    at = text.index(f"{start}\n") + len(start) + 1
    return text[:at] + new + text[text.index(f"\n{end}", at - 1) + 1 :]


# The header that users read.


def unit_of(row: Row) -> str:
    """Return the unit of a number, and its range where the type alone does not say it."""
    unit, (low, high) = row.get("unit", "int"), row.get("range", (0, 0))
    if unit == "q16":
        wide = ", Q0.16 up to 65536" if high == 65536 else ", Q16.16"
        return wide if row["c"].endswith("32_t") else ", Q0.16"
    ranged = unit in ("int", "den", "lags", "log2") and low != high < 65535 and "words" not in row
    return f", {low} to {high}" if ranged else UNITS.get(unit, "")


def commented(lines: Iterable[tuple[str, str]], indent: str = "    ") -> str:
    """Return lines of C with comments behind them, which go on below where they are long."""
    made, out = list(lines), ""
    column = len(indent) + 1 + max(len(code) for code, _ in made)
    for code, comment in made:
        rows = textwrap.wrap(f"{comment}~*/", WIDTH - column - 3, break_long_words=False)
        below = "\n" + " " * (column + 1) + "* "
        out += (indent + code).ljust(column) + "/* " + below.join(rows).replace("~", " ") + "\n"
    return out


def member(name: str, row: Row) -> tuple[str, str]:
    """Return the declaration of a member of a struct, and its comment."""
    kind, absent = row.get("kind", ""), row.get("absent")
    if kind == "part":
        return f"const tcuq_{name}_t *{name};", f"{row['text']}; NULL: {absent}"
    said, *more = row["text"].split(";", 1)
    text = said + unit_of(row) + "".join(f";{each}" for each in more) + (f"; NULL {absent}" if absent else "")
    if kind == "signal":
        return f"{row['c']} {name}[TCUQ_SIGNAL_COUNT];", text
    return f"const {row['c']} *{name};" if kind else f"{row['c']} {name};", text


def signals(schema: Schema) -> str:
    """Return the numbers of the signals."""
    lines = [
        (f"#define TCUQ_{name.upper()} {at}", row["is"])
        for at, (name, row) in enumerate(schema["signals"].items())
    ]
    return commented([*lines, (f"#define TCUQ_SIGNAL_COUNT {len(lines)}", "how many signals there are")], "")


def masks(schema: Schema) -> str:
    """Return the masks of signals."""
    rows = list(schema["signals"].values())
    bits = {name: sum(1 << at for at, row in enumerate(rows) if has(row)) for name, has in MASKS.items()}
    return "".join(f"#define TCUQ_{name} 0x{mask:03X}uL\n" for name, mask in bits.items())


def errors(schema: Schema) -> str:
    """Return the values of the enumeration of errors."""
    names = [f"TCUQ_ERR_{of}_{name}" for part, (of, _) in PARTS.items() for name in numbers(schema[part])]
    names += [f"TCUQ_ERR_RULE_{name}" for name in schema["rules"]]
    values = [f"{name}~=~{FIRST_ERROR + 1 + at}" for at, name in enumerate(names)]
    rows = textwrap.fill(", ".join(values), WIDTH, initial_indent="    ", subsequent_indent="    ")
    own = [("TCUQ_OK = 0,", "no error")]
    own += [
        (f"TCUQ_ERR_{name} = {row['number']},", row["is"]) for name, row in reversed(schema["errors"].items())
    ]
    last = FIRST_ERROR + 1 + len(names)
    own += [(f"TCUQ_ERR_LAST_PARAM = {last},", "errors of parameters and rules are below this,")]
    numbers_of = "and above this; their numbers belong to one TCUQ_PARAMS_VERSION"
    own += [(f"TCUQ_ERR_FIRST_PARAM = {FIRST_ERROR},", numbers_of)]
    return commented(own) + rows.replace("~", " ") + "\n"


def header(schema: Schema, text: str) -> str:
    """Return tcuq.h."""
    for name, version in schema["layout"].items():
        text = re.sub(rf"(?m)^(#define TCUQ_{name.upper()}_VERSION) .*$", rf"\1 {version}u", text)
    every = schema["params"]["signals"]["range"][1]
    text = re.sub(r"(?m)^(#define TCUQ_ALL_SIGNALS) .*$", rf"\1 0x{every:X}u", text)
    text = between(text, "compares masks of them.) */", "\n", signals(schema))
    text = between(text, "and slow means that need evidence. */", "\n", masks(schema))
    for part in (*PARTS, "step"):
        end = text.index(f"}} tcuq_{part}_t;")
        start = text.rindex("typedef struct {\n", 0, end) + len("typedef struct {\n")
        text = text[:start] + commented(member(*each) for each in schema[part].items()) + text[end:]
    state = commented(member(*each) for each in schema["state"].items())
    text = between(text, "    uint32_t *ring;", "} tcuq_t;", state)
    return between(text, "enum tcuq_error {", "};", errors(schema))


# The lists of the core.


def listed(name: str, lines: Iterable[str], comment: str, together: bool = False) -> str:
    """Return a list of rows as a macro that gives each to another one; short ones stand together."""
    rows = [f"X({line})" for line in lines]
    if together:
        rows = textwrap.wrap(" ".join(row.replace(" ", "~") for row in rows), 106, break_on_hyphens=False)
    whole = "\n    ".join([f"#define {name}(X)", *rows]).replace("~", " ").split("\n")
    width = max(map(len, whole)) + 1
    return f"\n/* {comment} */\n" + "".join(f"{row:{width}}\\\n" for row in whole[:-1]) + whole[-1] + "\n"


def fields(schema: Schema) -> str:
    """Return tcuq_fields.h."""
    out = f"/* SPDX-License-Identifier: MIT */\n/* Lists for the core, {NOTE}. */\n"
    out += "#ifndef TCUQ_FIELDS_H\n#define TCUQ_FIELDS_H\n"
    what = "Numbers of {}: of its error, variable that points to it, name, type, lowest, highest,\n"
    what += " * bytes in the fingerprint (SPEC.md section 12), usual value."
    lists = []
    for part, (error, variable) in PARTS.items():
        rows = []
        for name, row in schema[part].items():
            kind, told = row.get("kind", ""), f"{variable}, {name}, {row.get('c')}, "
            told += ", ".join(map(str, row.get("range", ())))
            if not kind:
                rows.append(f"{error}, {told}, {row.get('print', 4)}, {row.get('usual', 0)}")
            elif kind in ("signal", "class", "lag", "number", "triangle"):
                lists.append(f"{told}, {kind}")
        out += listed(f"TCUQ_{error}_NUMBERS", rows, what.format(f"tcuq_{part}_t"))
        what = "The same of {}."
    every = " ".join(f"TCUQ_{error}_NUMBERS(X)" for error, _ in PARTS.values())
    out += f"\n/* All of them. */\n#define TCUQ_NUMBERS(X) \\\n    {every}\n"
    out += listed(
        "TCUQ_LISTS", lists, "Lists: variable, name, type, lowest, highest, of what there is one number each."
    )
    rules = []
    for name, rule in schema["rules"].items():
        begin, text = f"{name}, {rule['field']}, {rule['holds']},", f'"{rule["text"]}"'
        rules.append(f"{begin} {text}" if len(begin) + len(text) < WIDTH - 10 else f"{begin}\n      {text}")
    comment = "Rules: name, parameter, condition of accepted numbers `p`, what is expected."
    out += listed("TCUQ_RULES", rules, comment)
    others = [f'"{row["of"]}", "{row["text"]}"' for row in reversed(schema["errors"].values())]
    out += listed("TCUQ_ERRORS", others, "Other errors, from -1 down: what each is about, what is expected.")
    for what, kind in (("WORDS", "32_t"), ("BYTES", "8_t")):
        saved = [
            f"{name}, {row['c']}, {row['at']}" for name, row in counters(schema) if row["c"].endswith(kind)
        ]
        comment = f"Counters that are saved as {what.lower()}: name, type, offset."
        out += listed(f"TCUQ_COUNTER_{what}", saved, comment, together=True)
    steps = [f"{name}, {row['c']}" for name, row in schema["step"].items()]
    out += listed(
        "TCUQ_STEP_FIELDS", steps, "tcuq_step_t, in the order of vector files: name, type.", together=True
    )
    return (
        out
        + listed("TCUQ_SIGNAL_NAMES", schema["signals"], "Signals by number.", together=True)
        + "\n#endif\n"
    )


def counters(schema: Schema) -> list[tuple[str, Row]]:
    """Return the counters of a saved state, in its order."""
    return sorted(
        ((n, row) for n, row in schema["state"].items() if "at" in row), key=lambda each: each[1]["at"]
    )


# SPEC.md and Python.


def spec(schema: Schema, text: str) -> str:
    """Return SPEC.md."""
    params, rules = "", schema["rules"].values()
    for part in PARTS:
        for name, row in schema[part].items():
            low, high = row.get("range", (0, 0))
            told = [f"{low}" if low == high else f"{low}..{high}"] if "range" in row else []
            told += [f"one a {row['kind']}"] if row.get("kind", "part") != "part" else []
            told += [
                rule.get("spec", rule["text"]) for rule in rules if rule["field"] == name and part == "params"
            ]
            told += [f"absent: {row['absent']}"] if "absent" in row else []
            own = f"`{name}`" if part == "params" else f"{part} `{name}`"
            unit = unit_of(row).removeprefix(", ") if row.get("unit") in (*UNITS, "q16") else ""
            more = "; ".join(each for each in (row["text"], row.get("spec"), unit) if each)
            params += f"| {own} | {'; '.join(told)} | {more} |\n"
    state = "".join(
        f"| {row['at']} | {4 if row['c'].endswith('32_t') else 1} | `{name}`: {row['text']} |\n"
        for name, row in counters(schema)
    )
    layouts = "Version of the parameter layout: {params}. Version of the saved state: {state}."
    text = re.sub(r"(?m)^Version of the parameter layout: .*$", layouts.format(**schema["layout"]), text)
    text = between(text, "| parameter | range | meaning |\n| --- | --- | --- |", "\n", params)
    text = between(text, "| 16 | 4 | fingerprint of the parameters |", "| 63 | 1 | `depth` |", state)
    gauges = "".join(
        f"| {kind} | `{name}` | {what} |\n"
        for kind, rows in schema["gauges"].items()
        for name, what in rows.items()
    )
    return between(text, "| input | gauge | value |\n| --- | --- | --- |", "\n", gauges)


def made(schema: Schema) -> str:
    """Return monitor/made.py."""
    out = f'"""What Python knows of the core, {NOTE}."""\n\nfrom typing import NamedTuple\n\n'
    out += "".join(f"{name.upper()}_VERSION = {version}\n" for name, version in schema["layout"].items())
    told = "".join(f'    "{name}": "{row["text"]}",\n' for name, row in schema["signals"].items())
    out += f'\nSIGNALS = {{\n{told}}}\n"""By number; what a high value means."""\n\n'
    for name, has in MASKS.items():
        names = ", ".join(f'"{own}"' for own, row in schema["signals"].items() if has(row))
        out += f"{name.removesuffix('_SIGNALS')} = ({names})\n"
    reasons = ", ".join(
        f'"{name}": ({row["number"]}, "{row["text"]}")' for name, row in schema["reasons"].items()
    )
    codes = {"uint32_t": "I", "int32_t": "i", "uint8_t": "B"}
    saved = "".join(codes[row["c"]] for _, row in counters(schema))
    was = "".join(
        f'    "{row["was"]}": "{row.get("real") or name}",\n'
        for rows in (schema["signals"], *(schema[part] for part in PARTS), schema["step"])
        for name, row in rows.items()
        if "was" in row
    )
    out += f'WAS = {{\n{was}}}\n"""Names of version 0.3 and those of today."""\n\n'
    out += f'REASONS = {{{reasons}}}\nCOUNTER_CODES = "{saved}"\n"""As `struct` reads them."""\n\n'
    steps = "".join(f'    "{name}",\n' for name in schema["step"])
    out += f"STEP_FIELDS = (\n{steps})\n"
    out += '"""What a step of the core says, in the order of tcuq.h."""\n\n'
    rows = ""
    for part in PARTS:
        for name, row in schema[part].items():
            kind, unit = (
                row.get("kind", "one").replace(" ", "_"),
                row.get("unit", "|".join(row.get("words", ["int"]))),
            )
            values = (*row.get("range", (0, 0)), row.get("usual", 0))
            told = (part, name, row.get("real", name) or "-", kind, unit, *values)
            rows += " ".join(map(str, told)) + "\n"
    return f'''{out}
class Row(NamedTuple):
    """A parameter: its names in the core and in Python, how many there are, unit, range, a usual one."""

    part: str
    name: str
    real: str
    kind: str
    unit: str
    low: int
    high: int
    usual: int


_TABLE = """
{rows}"""


def _row(part: str, name: str, real: str, kind: str, unit: str, low: str, high: str, usual: str) -> Row:
    return Row(part, name, real, kind, unit, int(low), int(high), int(usual))


ROWS = [_row(*line.split()) for line in _TABLE.split("\\n") if line]
'''


DATA = r"\.(json|jsonl|csv|vec|svg|ipynb|txt)$|^(CHANGELOG|vectors/old|fuzz/corpus)"
"""Files whose words are not counted."""


def files_of_names(schema: Schema) -> dict[str, int]:
    """Return in how many tracked files each name of a parameter that is no plain word stands."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in listed.stdout.splitlines() if not re.search(DATA, name)]
    texts = [path.read_bytes().decode(errors="ignore") for path in paths if path.is_file()]
    words = [set(re.findall(r"\w+", text)) for text in texts]
    names = {name for part in PARTS for name in schema[part] if "_" in name}
    return {name: sum(name in each for each in words) for name in sorted(names)}


def gauge_comments(schema: Schema, text: str) -> str:
    """Return core/tcuq_gauges.h with the gauges of each kind of input before its function."""
    for kind, rows in schema["gauges"].items():
        if kind != "spectrum":
            told = "".join(f" *   {name}: {what}\n" for name, what in rows.items())
            text = between(text, f"/* Gauges of a {kind}:", " *\n", told)
    return text


def gauge_names(schema: Schema, text: str) -> str:
    """Return log/gauges.py with the names of the gauges."""
    lines = ""
    for kind, rows in schema["gauges"].items():
        lines += textwrap.fill(" ".join(rows), 100, initial_indent=f"{kind} ", subsequent_indent=f"{kind} ")
        lines += "\n"
    return between(text, '_TABLE = """', '"""', lines)


def main(arguments: list[str] | None = None) -> int:
    """Write or check; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; status 1 where a file is behind"
    )
    parser.add_argument("--files", action="store_true", help="change nothing; count files by name")
    args = parser.parse_args(arguments)
    check, schema = args.check, read_schema()
    if args.files:
        print("".join(f"{count:3} {name}\n" for name, count in files_of_names(schema).items()), end="")
        return 0
    files = {
        CORE / "tcuq.h": header(schema, (CORE / "tcuq.h").read_text(encoding="utf-8")),
        CORE / "tcuq_fields.h": fields(schema),
        CORE / "tcuq_gauges.h": gauge_comments(schema, (CORE / "tcuq_gauges.h").read_text(encoding="utf-8")),
        MONITOR / "made.py": made(schema),
        GAUGES: gauge_names(schema, GAUGES.read_text(encoding="utf-8")),
        SPEC: spec(schema, SPEC.read_text(encoding="utf-8")),
    }
    behind = [path for path, text in files.items() if path.read_text(encoding="utf-8") != text]
    for path in behind:
        if not check:
            path.write_text(files[path], encoding="utf-8")
        told = "behind schema.toml: run python tools/schema.py" if check else "written"
        print(f"{path.relative_to(ROOT)}: {told}")
    return int(check and bool(behind))


if __name__ == "__main__":
    sys.exit(main())
