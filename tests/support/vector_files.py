"""The shared vectors, as cases for a firmware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from places import ROOT

from tcuq.device.emulate.replay import Case
from tcuq.monitor.signals import SIGNALS

FILES = sorted((ROOT / "vectors").glob("*.vec"))
LISTS = ("lags", "lag_weights", "coef", "clean_mean")


def numbers(words: list[str]) -> list[int]:
    return [] if words == ["-"] else [int(word) for word in words]


def row(words: list[str]) -> bytes:
    return b"".join(b"" if word == "-" else bytes.fromhex(word) for word in words)


def read(path: Path) -> tuple[Case, list[str]]:
    """Return the case of a file, and the lines that the oracle expects of it."""
    fields: dict[str, Any] = {}
    case, lines = Case(fields), []
    for text in path.read_text("ascii").splitlines():
        verb, *words = text.split() or ["#"]
        if verb == "params":
            fields.update((key, int(value)) for key, value in (word.split("=") for word in words))
        elif verb in LISTS:
            fields[verb] = numbers(words)
        elif verb == "evidence":
            clip, allowance, *rest = numbers(words)
            fields[verb] = {"clip": clip, "allowance": allowance}
            fields[verb] |= {"coef": rest[: len(SIGNALS)], "offset": rest[len(SIGNALS) :]}
        elif verb == "sizes":
            sizes = words
        elif verb == "bounds":
            lines.append(" ".join(["case 0", *sizes, *words]))
        elif verb == "step":
            case.events.append((verb, row(words[:2])))
            lines.append(" ".join(["step", *words[2:]]))
        elif verb in ("reset", "save", "load"):
            case.events.append((verb, b""))
            if verb != "reset":
                lines.append(text if verb == "save" else "load 0")
    return case, lines
