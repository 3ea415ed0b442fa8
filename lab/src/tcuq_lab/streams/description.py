"""`Description`: a stream as a small JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known_only, put
from tcuq.base.errors import located
from tcuq.base.json_text import from_json

from .dwell import LAWS, Dwell, Geometric
from .fields import check_digest, check_name, chosen, listed, made, once, plain
from .held import Held
from .layout import LAYOUTS, Condition, Layout, Literal, Piece, cut
from .sliding import Sliding

FORMAT = "tcuq-stream"
VERSION = 1
PARTS = ("train", "dev", "test")
SEVERITIES = 5
MOST_STEPS = 2**40
MOST_KINDS = 255
_WAYS: dict[str, type[Any]] = {"held": Held, "sliding": Sliding}


@dataclass(frozen=True)
class Shift:
    """A kind of corruption and the severities at which it is shown."""

    kind: str  # corruption type, as of the suite of the dataset
    severities: tuple[int, ...]  # 1 is the weakest

    def __post_init__(self) -> None:
        check_name("kind of a shift", self.kind)
        if self.kind in ("clean", "ood"):
            raise ValueError(f"kind of a shift is {self.kind!r}, which has a meaning of its own")
        given = listed(f"severities of {self.kind}", self.severities)
        found = sorted(integer(f"severity of {self.kind}", each, 1, SEVERITIES) for each in given)
        if not found or len(set(found)) < len(found):
            raise ValueError(f"severities of {self.kind} are {list(given)}, expected one or more, each once")
        put(self, severities=tuple(found))


@dataclass(frozen=True)
class Ood:
    """A set of examples that are none of the classes; `labels` is the digest of its own labels."""

    name: str  # name of the OOD set
    labels: str | None = None  # SHA-256 of its labels, as of `Description`

    def __post_init__(self) -> None:
        check_name("name of an OOD set", self.name)
        check_digest(f"labels of {self.name}", self.labels)


@dataclass(frozen=True, kw_only=True)
class Description:
    """Everything that says what a stream is, apart from the data."""

    dataset: str  # where the examples come from; part is "train", "dev" or "test"
    part: str
    seed: int  # 0 to 2**63 - 1
    steps: int | None  # none for a stream without end
    dwell: Dwell  # how long a class stays
    layout: Layout  # when the input is degraded
    shifts: tuple[Shift, ...] = ()  # kinds are numbered from 1 in this order
    ood: tuple[Ood, ...] = ()  # numbered after the kinds
    # One picture is held for each run, and shaken at every step. By default each step of a run shows
    # another example of its class.
    held: Held | None = None
    # Clips are words of one continuous sound, which windows slide over. By default each step has a clip.
    sliding: Sliding | None = None
    labels: str | None = None  # SHA-256 of the labels as little-endian int64, so that other data is noticed
    digest: str | None = None  # SHA-256 of the plan; see `Stream.digest`

    def __post_init__(self) -> None:
        check_name("dataset", self.dataset)
        if not isinstance(self.part, str) or self.part not in PARTS:
            raise ValueError(f"part is {self.part!r}, expected one of {', '.join(PARTS)}")
        put(self, seed=integer("seed", self.seed, 0, 2**63 - 1))
        if self.steps is not None:
            put(self, steps=integer("steps", self.steps, 1, MOST_STEPS))
        for name, value, kinds in (("dwell", self.dwell, LAWS), ("layout", self.layout, LAYOUTS)):
            if not isinstance(value, kinds):
                accepted = ", ".join(each.__name__ for each in kinds)
                raise TypeError(f"{name} is {type(value).__name__}, expected one of {accepted}")
        put(self, shifts=_all("shifts", self.shifts, Shift), ood=_all("ood", self.ood, Ood))
        names = self.kinds
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ValueError(f"{twice[0]} comes twice among shifts and ood, expected once")
        integer("number of shifts and OOD sets", len(names) - 1, 0, MOST_KINDS)
        self._check_ways()
        check_digest("labels", self.labels)
        check_digest("digest", self.digest)
        self.layout.check(self.conditions, self.steps)
        if isinstance(self.layout, Literal) and self.dwell != Geometric(1):
            raise ValueError("layout literal shows every example once, expected dwell geometric of mean 1")

    def _check_ways(self) -> None:
        for name, kind in _WAYS.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"{name} is {type(value).__name__}, expected {kind.__name__} or None")
            if value is not None and isinstance(self.layout, Literal):
                raise ValueError(f"layout literal shows every example once, expected no {name}")
        if self.sliding is not None and self.held is not None:
            raise ValueError("a stream is held (pictures) and sliding (sound), expected one of them")
        if self.sliding is not None and self.ood:
            raise ValueError(f"continuous sound has words of the classes alone, expected no {self.kinds[-1]}")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the layout can choose from, by number."""
        sources = [tuple(f"{each.kind}/{level}" for level in each.severities) for each in self.shifts]
        sources += [(f"ood/{each.name}",) for each in self.ood]
        return tuple(Condition(place, each) for place, each in enumerate(sources, 1))

    @property
    def sources(self) -> tuple[str, ...]:
        """All sources, in the order of their numbers."""
        return ("clean", *(source for condition in self.conditions for source in condition.sources))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the numbers that tell a shift, "clean" first."""
        return ("clean", *(each.kind for each in self.shifts), *(f"ood/{each.name}" for each in self.ood))

    def pieces(self) -> Iterator[Piece]:
        """Give what the layout shows, up to the last step."""
        found = self.layout.pieces(self.conditions, self.seed, self.steps)
        return found if self.steps is None else cut(found, self.steps)

    def replace(self, **changes: Any) -> Description:
        """Return a copy with some fields changed; a digest that is not given again is dropped."""
        return replace(self, **{"digest": None, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file; digests that are not known are left out."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        content |= {"dataset": self.dataset, "part": self.part, "seed": self.seed, "steps": self.steps}
        content["dwell"] = {"law": self.dwell.law, **plain(self.dwell)}
        content["layout"] = {"name": self.layout.name, **plain(self.layout)}
        content["shifts"] = [plain(each) for each in self.shifts]
        content["ood"] = [plain(each) for each in self.ood]
        content |= {name: plain(value) for name in _WAYS if (value := getattr(self, name)) is not None}
        content |= {name: value for name in ("labels", "digest") if (value := getattr(self, name))}
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Description:
        """Build from the content of a file; unknown fields and versions are refused."""
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise ValueError(f'not a stream: "format" must be "{FORMAT}"')
        version = content.get("version")
        if type(version) is not int or version != VERSION:
            raise ValueError(f"stream has version {version!r}, expected {VERSION}")
        values = {name: value for name, value in content.items() if name not in ("format", "version")}
        known_only("field", values, [item.name for item in fields(cls)])
        for name in ("dataset", "part", "seed", "steps", "dwell", "layout"):
            if name not in values:
                raise ValueError(f"field {name!r} is missing")
        laws, layouts = {each.law: each for each in LAWS}, {each.name: each for each in LAYOUTS}
        values["dwell"] = chosen("dwell", "law", values["dwell"], laws)
        values["layout"] = chosen("layout", "name", values["layout"], layouts)
        for name, kind in (("shifts", Shift), ("ood", Ood)):
            given = listed(name, values.get(name, ()))
            values[name] = tuple(made(f"{name}[{place}]", kind, each) for place, each in enumerate(given))
        for name, way in _WAYS.items():
            if name in values:
                values[name] = made(name, way, values[name])
        return cls(**values)

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Description:
        """Read a file."""
        with located(str(path)):
            return cls.from_dict(from_json(Path(path).read_bytes(), pairs=once))


def _all(name: str, values: Any, kind: type[Any]) -> tuple[Any, ...]:
    for each in listed(name, values):
        if not isinstance(each, kind):
            raise TypeError(f"{name} holds {type(each).__name__}, expected {kind.__name__}")
    return tuple(values)
