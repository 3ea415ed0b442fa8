"""`Request`, what a fit was asked for, and `FitState`, what it has found so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ...base.checks import integer
from ...base.errors import InputError, wrong_type, wrong_value
from ...log.log import Log
from ...monitor.heads import EvidenceHead
from ...monitor.params import Params
from ..arrays import Scores
from ..clean import Clean, Source
from ..options import FitOptions
from ..signal_table import Flags, Floats, Ints, SignalTable
from ..words import SENTENCES, Finding

if TYPE_CHECKING:
    from .evidence import Looked
    from .heads import Gated

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, what is done of it, and all that there is to do."""

ALARMS = {"standard": ("sight", "risk", "proved"), "paper": ("risk",)}
"""What the alarm of each profile may look at; `Request.alarm_of` has the default."""


def say_nothing(stage: str, done: int, total: int) -> None:
    """Take progress and show none."""


@dataclass(frozen=True, eq=False)
class Request:
    """What `fit` was asked for: its keywords, checked."""

    log: Source
    clean: Source | None = None
    profile: str = "standard"
    about: str | None = None
    budget: float = 0.15
    level: float | Literal["budget"] | None = None
    run_length: int = 10_000
    alarm: str | None = None
    seed: int = 0
    force: bool = False
    options: FitOptions = field(default_factory=FitOptions)
    progress: Progress = say_nothing

    def __post_init__(self) -> None:
        if self.profile not in ALARMS:
            raise wrong_value("profile", self.profile, f"one of {', '.join(ALARMS)}")
        if self.about not in (None, "answer", "prediction"):
            raise wrong_value("about", self.about, "'answer' or 'prediction'")
        if self.about == "answer" and not self.two_heads:
            raise InputError("conflict", "about is 'answer', expected 'prediction' with profile 'paper'")
        if self.alarm not in (None, *ALARMS[self.profile]):
            possible = f"one of {', '.join(ALARMS[self.profile])} with profile {self.profile!r}"
            raise wrong_value("alarm", self.alarm, possible)
        integer("run_length", self.run_length, 10, 10_000_000)
        integer("seed", self.seed, 0, 2**63 - 1)
        if not isinstance(self.options, FitOptions):
            raise wrong_type("options", self.options, "a FitOptions")
        if self.options.baseline_inputs and self.alarm_of != "sight":
            raise wrong_value(
                "baseline_inputs", self.options.baseline_inputs, f"0 with an alarm of {self.alarm_of}"
            )

    @property
    def two_heads(self) -> bool:
        """Whether there are two heads, and a belief that learns how long classes stay."""
        return self.profile == "standard"

    @property
    def subject(self) -> str:
        """Whose errors are learned: `about`, or its default."""
        return self.about or ("answer" if self.two_heads else "prediction")

    @property
    def alarm_of(self) -> str:
        """What the alarm looks at: `alarm`, or its default."""
        sees = self.two_heads and (self.options.signals is None or "odds" in self.options.signals)
        return self.alarm or ("sight" if sees else "risk")

    @property
    def flag_level(self) -> float:
        """Share of steps to flag: `level`, or its default."""
        if self.level is not None and self.level != "budget":
            return self.level
        if self.level == "budget":
            return self.budget
        return min(self.budget, 0.999) if self.two_heads and self.budget >= 0.001 else 0.1


class Shuffle(NamedTuple):
    """The same steps in another order, as one stream. An answer may be wrong here and right in the stream."""

    order: Ints
    table: SignalTable
    errors: Flags


class Summed(NamedTuple):
    """What an alarm sums: evidence, of which its limit follows from the run length alone; or risk."""

    runs: list[Floats]  # what it takes in at each step of the clean stretches
    evidence: EvidenceHead | None = None
    findings: Mapping[str, Any] = MappingProxyType({})


@dataclass(eq=False, repr=False)
class FitState:
    """All that a fit has read and found; each stage adds its part."""

    request: Request
    log: Log
    clean: Clean  # clean steps, of that log or of another one
    params: Params  # as far as they are fitted
    rng: np.random.Generator  # draws in the order of the stages
    notes: list[Finding]  # printed after "Note:"; see `words.SENTENCES`
    findings: dict[str, Any] = field(default_factory=dict)  # figures for the notes of the parameters
    tables: list[SignalTable] = field(init=False)  # of each of `logs`; with `doubt`
    errors: Flags | None = field(init=False)  # of what the parameters speak about; None without labels
    shuffle: Shuffle | None = field(init=False)  # for two heads, or to tell whether time helps
    regrouped: Shuffle | None = field(init=False)  # for two heads, where classes do not stay in the log
    weighed: tuple[str, ...] = field(init=False)  # by the uncertainty; other signals have a coefficient of 0
    stock: Gated | None = None  # heads of a fit without labels, where those learned from labels lose to them
    held_out: tuple[Ints, Floats] | None = None  # steps, and logits from heads without their fold
    clean_scores: Scores = field(init=False)
    clean_risk: list[Floats] = field(init=False)  # on each clean stretch
    frozen: list[Flags] = field(default_factory=list)  # where the input stands still, in each of `logs`
    order: Ints | None = None  # of the shuffle; drawn once
    summed: Summed = field(init=False)
    looked: Looked | None = None  # what the alarm that sees the input is fitted to

    @property
    def logs(self) -> list[Log]:
        """The log, then that of the clean steps if it is another one."""
        return [self.log] if self.clean.log is self.log else [self.log, self.clean.log]

    @property
    def table(self) -> SignalTable:
        """Signals of the log."""
        return self.tables[0]

    def set(self, **fields: Any) -> None:
        """Set some parameters."""
        self.params = self.params.replace(**fields)

    @property
    def options(self) -> FitOptions:
        """Options for experts."""
        return self.request.options

    def note(self, code: str, **values: Any) -> None:
        """Add a finding for people, of `words.SENTENCES`."""
        assert code in SENTENCES, code
        self.notes.append({"code": code, **values})

    def progress(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage is."""
        self.request.progress(stage, done, total)

    def orders(self) -> list[tuple[SignalTable, Flags, Ints]]:
        """Return what two heads learn from: signals, errors, and which step of the log each one is."""
        assert self.errors is not None and self.shuffle is not None
        others = [each for each in (self.shuffle, self.regrouped) if each is not None]
        first = (self.table, self.errors, np.arange(len(self.table)))
        return [first, *((each.table, each.errors, each.order) for each in others)]
