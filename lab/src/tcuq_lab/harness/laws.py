"""Which streams are shown: some to develop on, of changing pace or of a known law, and many to be judged on.

Mixed streams are a family of their own, as cameras and microphones give them: runs of heavy-tailed length, by
a coin either one held object or new examples of a class (overlapping windows for sound). One development
stream and one clean log of such runs are fitted to for all of them. Recordings are shown in their own order;
their development stream is of other tracks or of other people.

A stream is a list of stretches. Each is drawn with a seed of its own and begins with an empty past, so that
stretches are independent of each other: intervals draw them again as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from tcuq.base.checks import known
from tcuq.recording.rand import Numbers

from ..audio.tape import MOVES_WORDS
from ..corruptions.suite import BESIDE, FROZEN, suite_of
from ..streams import (
    Changing,
    Description,
    Geometric,
    Held,
    Pareto,
    Ramp,
    Recorded,
    Segments,
    Shift,
    Sliding,
    Stationary,
    Trace,
)
from ..zoo.examples import form_of

BACKBONES: Mapping[str, str] = MappingProxyType(
    {"mnist": "cnn4", "speech_commands": "dscnn", "cifar10": "resnet8"}
)
"""Network of each task."""
SMALL: Mapping[str, str] = MappingProxyType(
    {"cifar10_animals": "resnet8_animals", "mnist_pairs": "cnn4_pairs"}
)
"""Networks of tasks with two and with one hundred classes, which are measured where they are asked for."""
RECORDED: Mapping[str, str] = MappingProxyType({"signs": "resnet8_signs", "motion": "cnn1d"})
"""Networks of real recordings, which are shown in their own order; measured where files and networks are."""
NETWORKS: Mapping[str, str] = MappingProxyType({**BACKBONES, **SMALL, **RECORDED})
SOUND = "speech_commands"
CLASS_LAWS: Mapping[str, int] = MappingProxyType({"class 1": 1, "class 4": 4, "class 16": 16, "class 64": 64})
"""Streams that show another example at every step, by the mean steps of one class."""
OBJECT, HEAVY, CONTINUOUS, CHANGING = "object 16", "heavy-tailed 16", "continuous sound", "changing pace"
SEVERITIES = (1, 2, 3, 4, 5)
MIXED = "mixed"
LONG_RUNS, ONE_CLASS, FAST = "mixed, long runs", "mixed, one class 70 %", "mixed, fast"
SHORT_SHIFTS, MIXED_CLEAN = "mixed, short shifts", "mixed, clean"
LABEL_SHIFT, MOSTLY_CLEAN, DAY_NIGHT = "mixed, label shift", "mixed, mostly clean", "mixed, day and night"
MORE = (LABEL_SHIFT, MOSTLY_CLEAN, DAY_NIGHT)
"""Clean streams whose classes change their shares; with few and short shifts; with one that recurs slowly."""
FAMILY = (MIXED, LONG_RUNS, ONE_CLASS, FAST, SHORT_SHIFTS, MIXED_CLEAN, *MORE)
"""Laws of the mixed streams."""
RECORDING = "recording"
"""Law of a recording with shifts laid over it."""
COIN = 0.5
"""Share of the runs of mixed streams that hold one object."""
RECOVERING = Segments(mean=200.0, minimum=100, first="clean", shifted=(30, 100))
LASTING = Segments(mean=800.0, minimum=500, first="clean", shifted=(600, 1100))
GRADUAL = replace(LASTING, onset=100, gradual=0.5)
"""Layouts of mixed streams; the last where shifts have severities to rise through, as half of them do."""
RARE = Segments(mean=1000.0, minimum=500, first="clean", shifted=(20, 50))
"""Of streams that are mostly clean: 3 to 5 % of the time is shifted."""
USUAL, SHARE = 2, 70
"""Label shift: so many classes have so many hundredths of the runs; a third of the others are missing."""
MIX_STEPS = 1000
"""Steps for which classes keep their shares."""

TOLD, UNTOLD, OTHER = "told", "untold", "other"
"""Fits: on development streams of the very law; of changing pace, which any user has; of another law. No test
stream has the law of the second."""
FITS = (TOLD, UNTOLD, OTHER)
OTHER_LAW: Mapping[str, str] = MappingProxyType(
    {
        "class 1": "class 16",
        "class 4": "class 64",
        "class 16": "class 1",
        "class 64": "class 4",
        OBJECT: "class 16",
        CONTINUOUS: "class 16",
        HEAVY: "class 1",
        CHANGING: "class 16",
        **dict.fromkeys(FAMILY, "class 16"),
    }
)
"""Law of the development streams of the fit "other"."""

DEV, CLEAN_DEV, CLEAN_TEST = "dev", "clean dev", "clean test"
"""Roles of streams of changing pace: to be fitted to, clean development data, clean test data."""
MIXED_DEV, MIXED_CLEAN_DEV = f"law {MIXED}", "clean dev mixed"
"""Roles of mixed streams that are fitted to: with shifts, and clean."""
CLEAN_OF: Mapping[str, str] = MappingProxyType({DEV: CLEAN_DEV, MIXED_DEV: MIXED_CLEAN_DEV})
"""The clean log that goes with a development stream, where there is one."""
OTHER_PACE = Changing((2.0, 8.0, 32.0), 250)
"""The law `CHANGING` of test streams: dwells and lengths that no other stream of changing pace has, so that a
fit to `DEV` does not know it. That has `Changing()`: 1, 4, 16 and 64, 400 steps each."""


def fits_of(law: str) -> tuple[str, ...]:
    """Return the fits that a test stream is shown to; that of mixed streams is the one that a user has."""
    return (TOLD,) if law in FAMILY else (UNTOLD,) if law == RECORDING else FITS


def fit_shown(law: str) -> str:
    """Return the fit that pages and targets mean where they name none."""
    return TOLD if law in FAMILY else UNTOLD


@dataclass(frozen=True)
class StreamSizes:
    """Steps of a stretch, and stretches of each stream of one network."""

    stretch: int = 2000
    dev: int = 8
    clean_dev: int = 8
    law_dev: int = 6
    test: int = 12
    clean_test: int = 15
    type_steps: int = 400
    mixed_stretch: int = 4000
    mixed_dev: int = 5
    mixed_test: int = 8
    more_test: int = 6


TRIAL = StreamSizes(300, 3, 3, 2, 2, 3, 100, 1200, 2, 1, 1)
"""Fewer and shorter stretches of all laws, for a look at whether all works."""


def sizes_of(setting: str) -> StreamSizes:
    """Return the sizes of the streams of a setting."""
    return TRIAL if setting == "trial" else StreamSizes()


@dataclass(frozen=True)
class UnitPlan:
    """All streams of one network."""

    task: str
    seed: int
    sizes: StreamSizes = StreamSizes()
    severities: tuple[int, ...] = SEVERITIES
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known("task", self.task, NETWORKS)

    @property
    def network(self) -> str:
        """File of the network, without its ending."""
        return f"{NETWORKS[self.task]}-{self.seed}"

    @property
    def name(self) -> str:
        """As it stands in file names."""
        return self.network

    @property
    def lived(self) -> str:
        """The law under which the steps of one object, or of one sound, resemble each other."""
        return CONTINUOUS if self.task == SOUND else OBJECT

    @property
    def laws(self) -> tuple[str, ...]:
        """Laws of the test streams."""
        return (RECORDING,) if self.recorded else (*CLASS_LAWS, self.lived, HEAVY, CHANGING, *FAMILY)

    @property
    def judged(self) -> tuple[str, ...]:
        """Laws of the test streams that are measured."""
        return tuple(law for law in self.laws if not self.only or law in self.only)

    @property
    def recorded(self) -> bool:
        """Whether streams are recordings in their own order."""
        return self.task in RECORDED

    @property
    def type_law(self) -> str:
        """The law whose fits are shown single corruption types."""
        return RECORDING if self.recorded else "class 1"

    @property
    def types(self) -> tuple[str, ...]:
        """Corruption types that development does not see."""
        return suite_of(self.task).unseen

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of all streams, those first that a first look needs.

        The place of a name seeds its streams: new ones come last.
        """
        if self.recorded:
            return (DEV, CLEAN_DEV, f"test {RECORDING}", CLEAN_TEST, *(f"type {name}" for name in self.types))
        laws = [name for law in self.laws if law not in FAMILY for name in (f"test {law}", f"law {law}")]
        types = [f"type {name}" for name in self.types]
        mixed = [f"test {law}" for law in self.laws if law in FAMILY]
        more = (MIXED_DEV, MIXED_CLEAN_DEV, *mixed) if mixed else ()
        return (DEV, CLEAN_DEV, *laws, CLEAN_TEST, *types, *more)

    def fitted_on(self, law: str, fit: str) -> str:
        """Return the role of the development stream of a fit."""
        known("fit", fit, FITS)
        if fit == UNTOLD or self.recorded:
            return DEV
        own = MIXED if law in FAMILY else law
        return f"law {own if fit == TOLD else OTHER_LAW[law]}"

    def stretches(self, role: str) -> list[Description]:
        """Return the stretches of a stream."""
        sizes, place = self.sizes, self.roles.index(known("role", role, self.roles))
        kind, _, name = role.partition(" ")
        if self.recorded and kind != "type":
            part, count = ("dev", sizes.mixed_dev) if "dev" in role else ("test", sizes.mixed_test)
            clean = role in (CLEAN_DEV, CLEAN_TEST)
            return [self._mixed(part, place, at, MIXED_CLEAN if clean else RECORDING) for at in range(count)]
        if role == DEV:
            return [self._shown("dev", place, at, dwell=Changing()) for at in range(sizes.dev)]
        if role in (CLEAN_DEV, CLEAN_TEST):
            part, count = ("dev", sizes.clean_dev) if role == CLEAN_DEV else ("test", sizes.clean_test)
            return [self._still(part, place, at, dwell=Changing()) for at in range(count)]
        if kind == "type":
            levels = suite_of(self.task).severities(name, self.severities)
            shifts = [(Shift(name, (level,)),) for level in levels]
            return [
                self._still("test", place, at, dwell=Geometric(1), steps=sizes.type_steps, shifts=each)
                for at, each in enumerate(shifts)
            ]
        if role in (MIXED_DEV, MIXED_CLEAN_DEV) or name in FAMILY:
            part, count = ("test", sizes.mixed_test) if kind == "test" else ("dev", sizes.mixed_dev)
            count = sizes.more_test if name in MORE else count
            law = MIXED_CLEAN if role == MIXED_CLEAN_DEV else name
            return [self._mixed(part, place, at, law) for at in range(count)]
        part, count = ("dev", sizes.law_dev) if kind == "law" else ("test", sizes.test)
        return [self._shown(part, place, at, **self._law(name)) for at in range(count)]

    def _law(self, name: str) -> dict[str, Any]:
        if name in CLASS_LAWS:
            return {"dwell": Geometric(CLASS_LAWS[name])}
        if name == HEAVY:
            return {"dwell": Pareto(16)}
        if name == CHANGING:
            return {"dwell": OTHER_PACE}
        if name == OBJECT:
            return {"dwell": Geometric(16), "held": Held()}
        return {"dwell": Geometric(1), "sliding": Sliding()}  # each word is redrawn, and has five windows

    def _mixed(self, part: str, place: int, number: int, law: str) -> Description:
        """Return a stretch of a mixed stream or of a recording.

        One of test data also shows what is beside the suite. A recording has no frozen input: its steps are
        examples as they are.
        """
        way: dict[str, Any] = {"sliding": Sliding()} if self.task == SOUND else {"held": Held(share=COIN)}
        way = {} if self.recorded else way
        dwell, steps = self._runs(law, place, number), self.sizes.mixed_stretch
        if law in (MIXED_CLEAN, LABEL_SHIFT):
            return self._still(part, place, number, dwell=dwell, steps=steps, **way)
        plain = self._shown(part, place, number, dwell=dwell, **way).replace(steps=steps)
        if law == DAY_NIGHT:  # one type, up through its severities and down again
            one = plain.shifts[number * len(plain.shifts) // self.sizes.more_test]
            ramp = Ramp(100 if len(one.severities) > 1 else 600, down=True, mean=600.0, minimum=500)
            return plain.replace(layout=ramp, shifts=(one,))
        rise = len(suite_of(self.task).severities(self.types[0], self.severities)) > 1
        special = {SHORT_SHIFTS: RECOVERING, MOSTLY_CLEAN: RARE}
        layout = special.get(law, GRADUAL if rise else LASTING)
        names = [name for name in BESIDE if not (self.recorded and name == FROZEN)]
        beside = tuple(Shift(name, (1,)) for name in names) if part == "test" else ()
        return plain.replace(layout=layout, shifts=plain.shifts + beside)

    def _runs(self, law: str, place: int, number: int) -> Pareto | Trace | Recorded:
        """Return the dwell of a mixed stream; that of sound counts words, of five windows each."""
        if self.recorded:
            return Recorded()
        if law == FAST:
            return Trace((1,))
        words = 5 if self.task == SOUND else 1
        if law == LABEL_SHIFT:
            return label_shift(
                form_of(self.task).classes,
                self.sizes.mixed_stretch // words,
                self._seed(place, number),
                words,
            )
        mean = (80 if law == LONG_RUNS else 12) / words
        return Pareto(mean, majority=0.7 if law == ONE_CLASS else None)

    def _seed(self, place: int, number: int) -> int:
        return 1_000_000 + 10_000 * self.seed + 100 * place + number

    def _shown(self, part: str, place: int, number: int, **law: Any) -> Description:
        suite = suite_of(self.task)
        names = suite.seen if part == "dev" else suite.unseen
        kept = [name for name in names if "sliding" not in law or name not in MOVES_WORDS]
        shifts = tuple(Shift(name, suite.severities(name, self.severities)) for name in kept)
        return self._still(part, place, number, layout=Segments(), shifts=shifts, **law)

    def _still(self, part: str, place: int, number: int, **law: Any) -> Description:
        law = {"steps": self.sizes.stretch, "layout": Stationary(), **law}
        return Description(dataset=self.task, part=part, seed=self._seed(place, number), **law)


def label_shift(classes: int, steps: int, seed: int, words: int = 1) -> Trace:
    """Return runs of classes whose shares change every `MIX_STEPS` steps."""
    numbers = Numbers(seed, "label shift")
    runs: list[int] = []
    drawn: list[int] = []
    for start in range(0, steps, MIX_STEPS // words):
        order = numbers.shuffled(classes)[0].tolist()
        usual = order[: min(USUAL, classes - 1)]
        rare = order[len(usual) :][: max(1, (classes - len(usual)) * 2 // 3)]
        stop = min(start + MIX_STEPS // words, steps)
        while sum(runs) < stop:
            among = usual if int(numbers.below(1, 100)[0]) < SHARE else rare
            runs.append(1 + int(numbers.below(1, max(1, 23 // words))[0]))  # 12 steps on average
            drawn.append(among[int(numbers.below(1, len(among))[0])])
    return Trace(tuple(runs), tuple(drawn))
