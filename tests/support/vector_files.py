"""The shared vectors: parameters of a monitor, what happens to it, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from places import ROOT

from tcuq._core import SIGNAL_NAMES
from tcuq.monitor.made import ROWS

FILES = sorted((ROOT / "vectors").glob("*.vec"))
SIGNAL_COUNT = len(SIGNAL_NAMES)
HEAD_SCALARS, SIGHT_SCALARS, FEEDBACK = (
    tuple(row.name for row in ROWS if (row.part, row.kind) == (part, "one"))
    for part in ("evidence", "sight", "feedback")
)
FULL_BUILD = "-DTCUQ_SIGNALS=TCUQ_EVERYTHING"
"""A build of the core that replays every vector: by default labels are left out."""
LISTS = ("lags", "lag_weights", "coef", "clean_mean")


@dataclass
class Event:
    """Something that happens to a monitor.

    `kind` is "step" (with a posterior, its features and gauges or None, and the expected numbers), "reset",
    "save" (with the expected bytes), "load" (of what was saved last), "label" (with how long ago and what,
    and the expected answer) or "refuse" (with the bytes and the expected error).
    """

    kind: str
    where: str
    probs: bytes = b""
    features: bytes | None = None
    expected: list[int] = field(default_factory=list)
    saved: bytes = b""
    label: tuple[int, ...] = ()
    gauges: list[int] | None = None


@dataclass
class VectorCase:
    """One monitor: its parameters as integers, its sizes and bounds, and what happens to it."""

    fields: dict[str, Any] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def numbers(words: list[str]) -> list[int]:
    return [] if words == ["-"] else [int(word) for word in words]


def evidence(values: list[int]) -> dict[str, Any]:
    """Return the head of an `evidence` line."""
    head: dict[str, Any] = dict(zip(HEAD_SCALARS, values, strict=False))
    rest = values[len(HEAD_SCALARS) :]
    return head | {"coef": rest[:SIGNAL_COUNT], "offset": rest[SIGNAL_COUNT:]}


def sight(values: list[int], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the head of a `sight` line, in a case whose other fields are known."""
    head: dict[str, Any] = dict(zip(SIGHT_SCALARS, values, strict=False))
    rest, gauges = values[len(SIGHT_SCALARS) :], head["gauges"]
    inputs = gauges or 8 * (fields["signals"] >> 7 & 1)
    count = inputs + 1 + (inputs > 0) + (fields["signals"] >> 7 & 1)
    for name in ("mean", "scale", "shift"):
        head[name], rest = rest[:count], rest[count:]
    at = fields["classes"] * count
    return head | {"class_mean": bytes(value & 255 for value in rest[:at]), "matrix": rest[at:]}


def read(path: Path) -> VectorCase:
    """Return the case of a file, up to the first damage: only the runner in C can reach a counter."""
    case, gauges = VectorCase(), None
    for line, text in enumerate(path.read_text("ascii").splitlines(), 1):
        verb, *words = text.split() or ["#"]
        where = f"{path.name}:{line}"
        if verb == "params":
            case.fields.update((key, int(value)) for key, value in (word.split("=") for word in words))
        elif verb in LISTS:
            case.fields[verb] = numbers(words)
        elif verb == "evidence":
            case.fields[verb] = evidence(numbers(words))
        elif verb == "instant":
            bias, *coef = numbers(words)
            case.fields[verb] = {"bias": bias, "coef": coef}
        elif verb == "sight":
            case.fields[verb] = sight(numbers(words), case.fields)
        elif verb == "feedback":
            case.fields[verb] = dict(zip(FEEDBACK, numbers(words), strict=True))
        elif verb == "centers":
            case.fields[verb] = bytes.fromhex(words[0])
        elif verb == "sizes":
            case.sizes = numbers(words)
        elif verb == "bounds":
            case.bounds = numbers(words)
        elif verb == "step":
            features = None if words[1] == "-" else bytes.fromhex(words[1])
            case.events.append(Event(verb, where, bytes.fromhex(words[0]), features, numbers(words[2:])))
            case.events[-1].gauges, gauges = gauges, None
        elif verb == "gauges":
            gauges = numbers(words)
        elif verb == "save":
            case.events.append(Event(verb, where, saved=bytes.fromhex(words[0])))
        elif verb == "label":
            ago, what, result = numbers(words)
            case.events.append(Event(verb, where, expected=[result], label=(ago, what)))
        elif verb == "refuse":
            case.events.append(Event(verb, where, expected=[int(words[0])], saved=bytes.fromhex(words[1])))
        elif verb == "damage":
            break
        elif verb in ("reset", "load"):
            case.events.append(Event(verb, where))
        elif verb not in ("case", "end") and not verb.startswith("#"):
            raise ValueError(f"{where}: {verb} is unknown")
    return case
