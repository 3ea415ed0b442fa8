"""Result files: the figures of an experiment with what is needed to get them again, as written and as kept.

An experiment writes one JSON file with all that it knows. Most of that is names repeated in every line,
trials of settings, and paired differences that no page reads. Packing keeps four digits of every figure of
a method, the paired differences of the default monitor that pages show, and the settings that were chosen:
a short JSON file, and the figures as CSV, one file a task. Reading takes both forms.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..changes import FIELDS, named_lines
from ..harness.lines import ENDS, IN_ORDER, strict
from ..home import versions
from ..reproduce.run_size import RunSize
from ..reproduce.versions import PROTOCOL
from .paper import PaperExperiment
from .run import Experiment, Outcome

TABLES = "tables"
"""Entry of a packed file: its CSV files, beside it."""
PLACE = ("name", "row", "fit", "networks")
"""First columns of a CSV file; "name" is the stream."""
PAIRS = (" - ", " / ")
"""In rows that compare two others."""
KEPT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "answers": ("tcuq answer - ", ("errors at 90 %",)),
    "alarms": ("tcuq - ", ("found", "found (equal)")),
    "accuracy": ("tcuq answer - ", ("accuracy error",)),
}
"""Paired differences that stay, by experiment: how their rows begin, and their columns."""
UNREAD = ("run length ratio", "already on", "clears")
"""Columns that no page reads; the same at equal rates of false alarms."""
TRIALS = ("tried", "trials", "objective", "asked for", "false alarms on clean development time")
"""Entries of choices that only say what else was tried, and how well it did on development data."""
OF_PAPER = ("task", "dwell", "row", "column", *ENDS, "networks")
"""What stays of a line of an experiment that repeats the paper's."""
CURVE, CURVE_POINTS = "exit_1", 61
"""The curve of losses that stays of a training, and its points."""


def result_text(experiment: Experiment, setting: RunSize, outcome: Outcome) -> str:
    """Return the result file of a whole experiment, one line per figure."""
    torch = isinstance(experiment, PaperExperiment) and find_spec("torch") is not None
    head = experiment.head(setting, outcome)
    about = {
        "format": experiment.format,
        "name": experiment.name,
        "title": experiment.title,
        **({"paper": head["paper"]} if "paper" in head else {}),
        "command": f"tcuq-lab reproduce {experiment.name} --setting {setting.name}",
        "setting": head["setting"],
        **({"recording": head["recording"]} if "recording" in head else {}),
        "protocol": PROTOCOL,
        "versions": versions(torch),
        **({"notes": head["notes"]} if "notes" in head else {}),
        **outcome.about,
    }
    if "paper" in head:
        return file_text({**about, "lines": [strict(line) for line in outcome.lines]})
    # Lines as lists are half as long as objects with a name for each part.
    rows = [[strict(line.get(name)) for name in IN_ORDER] for line in outcome.lines]
    return file_text({**about, FIELDS: list(IN_ORDER), "lines": rows})


def pack(path: str | Path) -> dict[Path, str]:
    """Return the packed form of a result file: texts by path, nothing where there is nothing to pack."""
    place = Path(path)
    content = json.loads(place.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        return {}
    if content.get("format") == "tcuq-assistance":
        return _trainings(place, content)
    lines = content.get("lines")
    if not isinstance(lines, list) or not lines:
        return {}
    named = named_lines(content)["lines"]
    if "dwell" in named[0]:
        return _of_paper(place, content, named)
    if FIELDS not in content:
        return {}
    head = {name: value for name, value in content.items() if name not in ("lines", FIELDS)}
    if "choices" in head:
        head["choices"] = _chosen(head["choices"])
    texts: dict[Path, str] = {}
    for task in dict.fromkeys(line["task"] for line in named):
        mine = [line for line in named if line["task"] == task and _stays(content["name"], line)]
        texts[place.parent / place.stem / f"{task}.csv"] = _table(mine)
    head[TABLES] = [each.relative_to(place.parent).as_posix() for each in texts]
    return {place: file_text(head), **texts}


def unpacked(path: str | Path, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a result file with its lines, read from its CSV files where it has them."""
    if TABLES not in content:
        named: Mapping[str, Any] = named_lines(content)
        return {**named, "lines": [*named["lines"], *_by_severity(named["lines"])]}
    lines: list[dict[str, Any]] = []
    for name in content[TABLES]:
        table = Path(path).parent / name
        try:
            text = table.read_text(encoding="utf-8")
            lines += ({"task": table.stem, **line} for line in _lines(text))
        except (IndexError, StopIteration, ValueError) as error:
            raise ValueError(f"{table} is not a table of results: {error}") from None
    return {**content, "lines": lines}


def rounded(value: Any) -> str:
    """Return a figure with four digits; a text such as "inf" as it is, nothing for what is missing."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _stays(experiment: str, line: Mapping[str, Any]) -> bool:
    if line["column"].removesuffix(" (equal)") in UNREAD:
        return False
    if not any(sign in line["row"] for sign in PAIRS):
        return True
    begin, columns = KEPT.get(experiment, ("\n", ()))
    return bool(line["row"].startswith(begin)) and line["column"] in columns


def _table(lines: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(line["column"] for line in lines))
    rows: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for line in lines:
        rows.setdefault(tuple(str(line.get(part, 0)) for part in PLACE), {})[line["column"]] = line
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*PLACE, *(f"{column} {end}".removesuffix(" value") for column in columns for end in ENDS)]
    )
    for place, found in rows.items():
        cells = [rounded(found.get(column, {}).get(end)) for column in columns for end in ENDS]
        writer.writerow([*place, *cells])
    return out.getvalue()


def _lines(text: str) -> Iterator[dict[str, Any]]:
    reader = csv.reader(io.StringIO(text))
    head = next(reader)
    if tuple(head[: len(PLACE)]) != PLACE:
        raise ValueError(f"it begins with {', '.join(head[:2])[:40]}, expected {', '.join(PLACE)}")
    columns = head[len(PLACE) :: len(ENDS)]
    for row in reader:
        name, of, fit, networks = row[: len(PLACE)]
        for number, column in enumerate(columns):
            at = len(PLACE) + number * len(ENDS)
            found = {
                end: float(cell) for end, cell in zip(ENDS, row[at : at + len(ENDS)], strict=True) if cell
            }
            if found:
                about = {"name": name, "row": of, "fit": fit, "column": column}
                yield {**about, **found, "networks": int(networks)}


def _chosen(choices: Any) -> Any:
    if isinstance(choices, dict):
        return {name: _chosen(each) for name, each in choices.items() if name not in TRIALS}
    if isinstance(choices, list):
        return [_chosen(each) for each in choices]
    return float(f"{choices:.6g}") if isinstance(choices, float) else choices


def _by_severity(lines: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give means over the streams of each severity, where a line names its streams TYPE/SEVERITY."""
    for line in lines:
        levels: dict[str, list[float]] = {}
        for stream, value in line.get("streams", {}).items():
            if "/" in stream and value is not None:
                levels.setdefault(stream.rpartition("/")[2], []).append(float(value))
        for level, values in levels.items():
            column = f"{line['column'].removesuffix(', corrupted')}, severity {level}"
            kept = {name: line.get(name) for name in OF_PAPER if name not in ENDS}
            yield {**kept, "column": column, "value": sum(values) / len(values)}


def _of_paper(place: Path, content: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
    if FIELDS in content:
        return {}
    rows = [[_short(line.get(name)) for name in OF_PAPER] for line in (*lines, *_by_severity(lines))]
    head = {name: value for name, value in content.items() if name != "lines"}
    return {place: file_text({**head, FIELDS: list(OF_PAPER), "lines": rows})}


def _trainings(place: Path, content: Mapping[str, Any]) -> dict[Path, str]:
    networks = []
    for network in content["lines"]:
        curve = network.get("curves", {}).get(CURVE, ())
        last, points = len(curve) - 1, min(len(curve), CURVE_POINTS)
        kept = [_short(curve[at * last // (points - 1)]) for at in range(points)]
        networks.append({**network, "curves": {CURVE: kept} if kept else {}})
    text = file_text({**content, "lines": networks})
    return {} if text == place.read_text(encoding="utf-8") else {place: text}


def _short(value: Any) -> Any:
    return float(rounded(value)) if isinstance(value, float) else value


def file_text(content: Mapping[str, Any]) -> str:
    """Return a JSON file with one line for each entry, and for each part of a long list or object.

    Examples
    --------
    >>> print(file_text({"name": "made", "choices": {"a": {"rate": 1}, "b": {}}, "lines": [{"value": 1.5}]}))
    {
     "name": "made",
     "choices": {
      "a": {"rate": 1},
      "b": {}
     },
     "lines": [
    {"value": 1.5}
     ]
    }
    <BLANKLINE>
    """
    entries = []
    for name, value in content.items():
        text = json.dumps(value, allow_nan=False)
        if name in ("lines", TABLES):
            text = "[\n" + ",\n".join(json.dumps(each, allow_nan=False) for each in value) + "\n ]"
        elif name == "choices":
            inner = (f"  {json.dumps(of)}: {json.dumps(each, allow_nan=False)}" for of, each in value.items())
            text = "{\n" + ",\n".join(inner) + "\n }"
        entries.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"
