"""Results as flat records, in JSON, with what is needed to get them again."""

from __future__ import annotations

import json
import math
import platform
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole

Record = dict[str, Any]

TEXTS = ("stream", "method", "metric", "variant")
NUMBERS = ("value", "prevalence", "low", "high")
KEYS = (*TEXTS, *NUMBERS, "n")
TOGETHER = ("pooled", "dev", "joint")
"""What stands for the stream in records over all streams together; no stream may have such a name."""

FORMAT = "tcuq lab results 1"
NAN = float("nan")
MOST = sys.float_info.max


@dataclass(frozen=True)
class Results:
    """Records, and what they were made from: seeds, sizes, versions."""

    records: list[Record]
    about: dict[str, Any]


def record(
    stream: str,
    method: str,
    metric: str,
    variant: str,
    value: float,
    n: int,
    prevalence: float = NAN,
    low: float = NAN,
    high: float = NAN,
) -> Record:
    """Return one record; NaN says undefined or not computed, `n` is the number of steps or shifts."""
    return {
        "stream": stream,
        "method": method,
        "metric": metric,
        "variant": variant,
        "value": float(value),
        "prevalence": float(prevalence),
        "low": float(low),
        "high": float(high),
        "n": int(n),
    }


def pick(records: Iterable[Record], **wanted: str) -> list[Record]:
    """Return the records whose texts equal those wanted."""
    for key in wanted:
        if key not in TEXTS:
            raise ValueError(f"key {key!r} is unknown, expected one of {', '.join(TEXTS)}")
    return [row for row in records if all(row[key] == value for key, value in wanted.items())]


def mean_over(
    records: Iterable[Record], by: Sequence[str] = ("method", "metric", "variant"), name: str = "mean"
) -> list[Record]:
    """Return the mean value and prevalence of records that agree in `by`.

    Examples
    --------
    >>> rows = [record("a", "X", "m", "v", 1, 5), record("b", "X", "m", "v", 3, 5)]
    >>> found = mean_over(rows)
    >>> found[0]["stream"], found[0]["value"], found[0]["n"]
    ('mean', 2.0, 2)
    """
    for key in by:
        if key not in TEXTS:
            raise ValueError(f"key {key!r} is unknown, expected one of {', '.join(TEXTS)}")
    groups: dict[tuple[str, ...], list[Record]] = {}
    for row in records:
        if not math.isnan(row["value"]) and ("stream" in by or row["stream"] not in TOGETHER):
            groups.setdefault(tuple(row[key] for key in by), []).append(row)
    found = []
    for texts, rows in groups.items():
        named = dict.fromkeys(TEXTS, name) | dict(zip(by, texts, strict=True))
        base = [row["prevalence"] for row in rows if not math.isnan(row["prevalence"])]
        value = math.fsum(row["value"] for row in rows) / len(rows)
        shown = math.fsum(base) / len(base) if base else NAN
        stream, method, metric, variant = (named[key] for key in TEXTS)
        found.append(record(stream, method, metric, variant, value, len(rows), shown))
    return found


def _written(row: Record) -> Record:
    """Strict JSON has neither NaN nor infinity: null, and a text."""
    if set(row) != set(KEYS):
        raise ValueError(f"a record has the keys {', '.join(sorted(row))}, expected {', '.join(KEYS)}")
    out = {key: row[key] for key in KEYS}
    for key in NUMBERS:
        value = out[key]
        if math.isnan(value):
            out[key] = None
        elif math.isinf(value):
            out[key] = "inf" if value > 0 else "-inf"
    return out


def save(
    path: str | Path, records: Sequence[Record], seeds: Sequence[int], sizes: Mapping[str, int], **more: Any
) -> None:
    """Write results as JSON, a record a line, whole or not at all."""
    versions = {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()}
    about = {"seeds": [int(seed) for seed in seeds], "sizes": dict(sizes), "versions": versions, **more}
    lines = ",\n".join(json.dumps(_written(row), allow_nan=False) for row in records)
    head = json.dumps({"format": FORMAT, "about": about}, allow_nan=False, indent=1)[:-2]
    write_whole(path, f'{head},\n "records": [\n{lines}\n]}}\n')


def load(path: str | Path) -> Results:
    """Read results; anything unexpected is an error of one line."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a file of results, expected the format {FORMAT!r}")
    about, rows = content.get("about"), content.get("records")
    if not isinstance(about, dict) or not isinstance(rows, list):
        raise ValueError(f"{path} lacks about or records; both are needed")
    return Results([_read(path, at, row) for at, row in enumerate(rows)], about)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number there, expected null")


def _read(path: str | Path, at: int, row: Any) -> Record:
    if not isinstance(row, dict) or set(row) != set(KEYS):
        raise ValueError(f"record {at} of {path} has other keys, expected {', '.join(KEYS)}")

    def bad(key: str, accepted: str) -> ValueError:
        return ValueError(f"{key} of record {at} of {path} is {reprlib.repr(row[key])}, expected {accepted}")

    values: Record = {}
    for key in TEXTS:
        if not isinstance(row[key], str):
            raise bad(key, "a text")
        values[key] = row[key]
    for key in NUMBERS:
        value = row[key]
        if value is None or value in ("inf", "-inf"):
            values[key] = NAN if value is None else float(value)
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MOST:
            raise bad(key, "a number")
        values[key] = value
    if isinstance(row["n"], bool) or not isinstance(row["n"], int) or not 0 <= row["n"] < 2**63:
        raise bad("n", "a count")
    return record(**values, n=row["n"])
