"""The streams of one network, and what each row's networks said to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tcuq import Log

from ..corruptions.suite import FROZEN
from ..harness.laws import CLEAN_OF, MIXED, MIXED_CLEAN_DEV, MIXED_DEV, RECORDING, UnitPlan
from ..harness.types import CLEAN, Dev, Outputs, Truth, joined
from ..methods.banks import observed
from ..metrics.alarms import costly_sources
from ..streams import Description, Stream, build
from .recorder import Job
from .recordings import Recordings, beside_sources
from .rows import Row, row_of

PLAIN = row_of("base")
"""The row whose networks the monitor watches."""
SHUFFLED, UNSHUFFLED = "shuffled steps", "class 1"
"""Streams without any persistence: the steps of class 1, whose shifts last, in random order."""
ONCE = "once"
"""How roles begin that show every test example of a source once, each with an empty past: "once clean"."""
ALL_TYPES = "all types, shuffled"
"""Streams of all unseen types one after the other."""


Network = Row | Callable[["Unit", str], Outputs] | None


def shares_networks(row: Row) -> bool:
    """Return whether a row reads what was recorded of the plain network."""
    return (row.method.recipe, row.method.bank) == (PLAIN.method.recipe, PLAIN.method.bank)


def network_of(name: str) -> Row | None:
    """Return the row of a method whose networks are others than the plain one."""
    row = row_of(name)
    return None if shares_networks(row) else row


class Unit:
    """A network with its streams; recordings are loaded when they are asked for, and kept.

    `spare` is the role of the clean log that goes with a development stream which has none of its own, for
    fits without labels; without it, the clean steps of that stream are taken.
    """

    plain = PLAIN

    def __init__(self, plan: UnitPlan, recordings: Recordings, spare: str = "") -> None:
        self.plan, self.recordings, self.spare = plan, recordings, spare
        self._streams: dict[str, list[Stream]] = {}
        self._banks: dict[tuple[str, str], dict[str, Outputs]] = {}
        self._truths: dict[str, Truth] = {}
        self._plain: dict[str, Outputs] = {}

    @property
    def task(self) -> str:
        """Name of the dataset."""
        return self.plan.task

    @property
    def seed(self) -> int:
        """Of the networks."""
        return self.plan.seed

    def has(self, row: Row) -> bool:
        """Return whether the networks of a row exist for this seed."""
        return self.recordings.has(self.task, self.seed, row)

    def draws(self, role: str) -> str:
        """Return the name that seeds the replicates of a stream."""
        return f"{self.task} {self.seed} {role}"

    @cached_property
    def costly(self) -> tuple[str, ...]:
        """Sources that cost the network ten points of accuracy or more."""
        return costly_sources(self.error_rates(f"test {self.plan.laws[0]}"))

    def truth(self, role: str) -> Truth:
        """Return what a stream shows; see `UnitPlan.stretches` for roles."""
        if role not in self._truths:
            self._truths[role] = self._truth(role)
        return self._truths[role]

    def _truth(self, role: str) -> Truth:
        kind, _, law = role.partition(" ")
        if kind == ONCE:
            labels = self.recordings.part(self.task, "test").y
            return Truth(labels, np.zeros(len(labels), np.int64), np.arange(len(labels)), (law,))
        if law == SHUFFLED:
            found = self.truth(f"{kind} {UNSHUFFLED}")
            return replace(found.taken(_shuffled(found)), stretches=found.stretches)
        streams = self._built(role)
        names = tuple(dict.fromkeys(name for each in streams for name in each.sources))
        places = [np.array([names.index(name) for name in each.sources]) for each in streams]
        kinds = tuple(dict.fromkeys(name for each in streams for name in each.kinds))
        numbers = [np.array([kinds.index(name) for name in each.kinds], np.uint8) for each in streams]
        return Truth(
            np.concatenate([each.label for each in streams]),
            np.concatenate([at[each.source] for at, each in zip(places, streams, strict=True)]),
            np.repeat(np.arange(len(streams)), [len(each) for each in streams]),
            names,
            np.concatenate([at[each.shift] for at, each in zip(numbers, streams, strict=True)]),
        )

    def outputs(self, role: str, network: Network = None) -> Outputs:
        """Return what a row's method may see of a stream; of several networks, a function makes it."""
        if network is not None and not isinstance(network, Row):
            return network(self, role)
        if network is not None and network != self.plain:
            return self._outputs(role, network)
        if role not in self._plain:  # of the network that all others are compared with
            self._plain[role] = self._outputs(role, self.plain)
        return self._plain[role]

    def _outputs(self, role: str, row: Row) -> Outputs:
        kind, _, law = role.partition(" ")
        if kind == ONCE:
            banks = self.recordings.banks(
                self.task, "test", self.seed, [row], [law]
            )  # of others, none is needed
            said = banks[row.label][law]
            return replace(said, stretches=np.arange(len(said)))
        if law == SHUFFLED:
            seen = self.outputs(f"{kind} {UNSHUFFLED}", row)
            mixed = _shuffled(self.truth(f"{kind} {UNSHUFFLED}"))
            return replace(seen.taken(mixed), stretches=seen.stretches)
        streams = self._built(role)
        about = streams[0].description
        if about.held is not None or about.sliding is not None:
            return joined([self.recordings.of_stream(each.description, self.seed, row) for each in streams])
        bank = self.bank(about.part, row)
        return joined([observed(each, bank) for each in streams])

    def dev(self, role: str, labels: bool, network: Network = None) -> Dev:
        """Return a development stream, with the clean log that goes with it."""
        seen, truth = self.outputs(role, network), self.truth(role)
        clean = None
        if role in CLEAN_OF:
            clean = self.outputs(CLEAN_OF[role], network)
        elif not labels and self.spare:
            clean = self.outputs(self.spare, network)
        elif not labels:
            clean = seen.taken(~truth.shifted)
        return Dev(**vars(seen), clean=clean, truth=truth if labels else None)

    def clean_log(self, role: str) -> Log | None:
        """Return the clean log that a fit to a mixed development stream is given; None for other streams."""
        return self.dev(MIXED_CLEAN_DEV, True).log() if role == MIXED_DEV else None

    def error_rates(self, role: str) -> dict[str, float]:
        """Return the error of the plain network on each source of a stream, over all examples of the part.

        Of test data also on what mixed streams show beside the suite. Only for streams whose steps show
        examples as they are recorded, not for held pictures or sound.
        """
        about = self._built(role)[0].description
        y, bank = self.recordings.part(self.task, about.part).y, dict(self.bank(about.part, PLAIN))
        sources = list(about.sources)
        mixed = about.part == "test" and not {MIXED, RECORDING}.isdisjoint(self.plan.laws)
        if mixed:
            more = beside_sources()
            bank |= self.recordings.banks(self.task, about.part, self.seed, [PLAIN], more)[PLAIN.label]
            sources += more
        said = {name: each.probs.argmax(axis=1) for name, each in bank.items()}
        found = {name: float((said[name] != y).mean()) for name in sources if name in said}
        if mixed:  # the answer to one example, whatever comes after it
            shares = [np.bincount(each, minlength=int(y.max()) + 1) / len(y) for each in (said[CLEAN], y)]
            found[f"{FROZEN}/1"] = 1 - float(sum(a * b for a, b in zip(*shares, strict=False)))
        return found

    def missing(self, roles: Sequence[str], networks: Sequence[Row]) -> list[Job]:
        """Return what is to be recorded of streams, each source and each stream once for all networks."""
        shows: dict[str, dict[str | Description, None]] = {}
        for role in roles:
            kind, _, law = role.partition(" ")
            if kind == ONCE:
                shows.setdefault("test", {})[law] = None
            for each in () if law == SHUFFLED or kind == ONCE else self._built(role):
                about = each.description
                of = shows.setdefault(about.part, {})
                if about.held is not None or about.sliding is not None:
                    of[about] = None
                else:
                    of |= dict.fromkeys(self.recordings.sources(self.task, about.part))
                    of |= dict.fromkeys(beside_sources() if about.part == "test" else ())
        return [
            job
            for part, wanted in shows.items()
            for job in self.recordings.missing(self.task, part, self.seed, networks, list(wanted))
        ]

    def _built(self, role: str) -> list[Stream]:
        if role == ALL_TYPES:
            return [stream for name in self.plan.types for stream in self._built(f"type {name}")]
        if role not in self._streams:
            plans = self.plan.stretches(role)
            labels = self.recordings.part(self.task, plans[0].part).y
            self._streams[role] = [build(each, labels) for each in plans]
        return self._streams[role]

    def sources(self, part: str) -> list[str]:
        """Return what streams show of the examples of a part, one by one."""
        beside = beside_sources() if self.plan.recorded and part == "test" else []
        return [*self.recordings.sources(self.task, part), *beside]

    def bank(self, part: str, row: Row) -> Mapping[str, Outputs]:
        """Return what the networks of a row say to the examples of a part, by source."""
        place = (part, str(self.recordings.place(self.task, part, self.seed, row)))
        if place not in self._banks:
            sources = self.sources(part)
            self._banks[place] = self.recordings.banks(self.task, part, self.seed, [row], sources)[row.label]
        return self._banks[place]


def _shuffled(truth: Truth) -> np.ndarray:
    """Return the steps of a stream in random order within each stretch."""
    rng = np.random.default_rng(len(truth))
    pieces = truth.pieces()
    return np.concatenate([piece.start + rng.permutation(piece.stop - piece.start) for piece in pieces])
