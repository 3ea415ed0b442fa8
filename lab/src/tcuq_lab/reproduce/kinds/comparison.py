"""A comparison: every row fitted on development streams, then judged on the same test streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tcuq.base.checks import known_only

from ...comparison import ComparisonRules, JudgedStream, Scores, Truth, interval, metric_part
from ...comparison.answers import evidence_runs
from ...comparison.delays import choose, group_records
from ...comparison.protocol import length_records
from ...comparison.records import Record, record
from ...detectors.run_lengths import Armed, Trials, arm, find_limit, trials
from ...methods.banks import observed
from ...methods.method import Answer, Labeled, Method, Observed, Recorded
from ...streams import Stream
from ..paper import PaperExperiment
from ..recordings import Recordings
from ..rows import Row
from .fits import fit_once
from .schedule import Schedule
from .unit import Unit

Bank = Mapping[str, Recorded]
DROP = "drop_auprc"
GAIN = "drop_auprc_gain"
SHARE = "drop_share"
"""Share of steps with a full window that are drop events: what an AUPRC is at chance."""
PAIRED = "tcuq_standard"
"""Method that is also compared with the first row type by type, with intervals."""
FIGURES = (
    (DROP, "own/smoothed/unseen"),
    (DROP, "own/smoothed/seen"),
    (DROP, "base/smoothed/unseen"),
    ("drop_lift", "own/smoothed/unseen"),
    ("drop_auroc", "own/smoothed/unseen"),
    ("mixed_failure_auroc", "own/plain/unseen"),
    ("mixed_failure_auroc", "own/plain/seen"),
    ("mixed_failure_auprc", "own/plain/unseen"),
    ("clean_failure_auroc", "own/plain/all"),
)
OOD_FIGURES = (("ood_auroc", "own/plain/all"), ("ood_auprc", "own/plain/all"))
"""What a comparison measures on streams in segments, and on those with OOD inputs; a score has many more."""
BEST, EQUAL = "best", "equal"
"""In place of the statistic in records of delays: limits from development, and from the clean test stream."""


def shares(found: Iterable[Record]) -> list[Record]:
    """Return the shares of drop events that AUPRCs of `DROP` over own predictions were measured at."""
    return [
        record(row["stream"], row["method"], SHARE, row["variant"], row["prevalence"], row["n"])
        for row in found
        if row["metric"] == DROP and row["variant"].startswith("own/")
    ]


class Answering(Protocol):
    """A fitted method, or whatever else answers streams."""

    def answer(self, seen: Observed) -> Answer:
        """Answer a stream."""


def known_options(experiment: PaperExperiment, *names: str) -> None:
    """Refuse options that a kind of measurement does not have."""
    if not names and experiment.options:
        given = ", ".join(experiment.options)
        raise ValueError(f"options of {experiment.name} are {given}, expected none for {experiment.kind}")
    known_only(f"option of {experiment.name}", experiment.options, names)


def fitted(row: Row, bank: Bank, schedule: Schedule, place: Path | None = None) -> Method:
    """Return a row's method, fitted to the development streams."""
    found = row.method()
    found.learn(bank["clean"], schedule.labels["dev"])
    fit_once(found, joined(schedule.learned(), bank), place)
    return found


def joined(streams: Sequence[Stream], bank: Bank) -> Labeled:
    """Return streams as one, each a segment of its own; a kind of shift has one number in all of them."""
    seen = [observed(stream, bank) for stream in streams]
    whole = Observed(
        np.concatenate([each.probs for each in seen]),
        None if seen[0].features is None else np.concatenate([each.features for each in seen]),
        {name: np.concatenate([each.extra[name] for each in seen]) for name in seen[0].extra},
        np.repeat(np.arange(len(seen)), [len(each) for each in seen]),
    )
    numbers = {name: at for at, name in enumerate(dict.fromkeys(k for each in streams for k in each.kinds))}
    kinds = [np.array([numbers[name] for name in each.kinds])[each.shift] for each in streams]
    labels = np.concatenate([stream.label for stream in streams])
    return Labeled(whole, labels, np.concatenate(kinds).astype(np.uint8))


def case(
    name: str, stream: Stream, methods: Mapping[str, Answering], banks: Mapping[str, Bank]
) -> JudgedStream:
    """Return what all rows answer to a stream, beside the truth."""
    answers = []
    for label, method in methods.items():
        found = method.answer(observed(stream, banks[label]))
        risk, evidence = found.score, found.score if found.evidence is None else found.evidence
        answers.append(
            Scores(label, risk.astype(np.float64), found.predictions(), evidence.astype(np.float64))
        )
    truth = Truth(stream.label, stream.shift.astype(np.int64), names=stream.kinds)
    return JudgedStream(name, truth, tuple(answers))


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Compare the rows of an experiment, and the standard monitor with the first row, type by type.

    Delays are not among it: see `headlines`, and the experiment `alarms`.
    """
    known_options(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    methods = fit_rows(experiment.rows, dev, schedule, unit.fits(recordings))
    arena = Arena.of(schedule, methods, dev, test, alarms=False)
    ours = [row.label for row in experiment.rows if row.method.name == PAIRED]
    pairs = [(label, experiment.rows[0].label) for label in ours]
    found = arena.scores() + arena.ood_records()
    return found + arena.paired_records(pairs, recordings.setting.replicates)


def fit_rows(
    rows: Sequence[Row],
    dev: Mapping[str, Bank],
    schedule: Schedule,
    fits: Callable[[Row], Path] | None = None,
) -> dict[str, Method]:
    """Return the methods of rows by label, each fitted to the development streams.

    Variants of a fitted row of TCUQ on the same networks follow it: their choice would be the same.
    """
    refuse_twice(rows)
    found: dict[str, Method] = {}
    for row in rows:
        bank = dev[row.label]
        full = [found[name] for name in found if dev[name] is bank]
        found[row.label] = followed(row, full) or fitted(row, bank, schedule, fits and fits(row))
    return found


def refuse_twice(rows: Sequence[Row]) -> None:
    """Refuse rows of one label."""
    names = [row.label for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"row {name} comes twice, expected different labels")


def followed(row: Row, full: Iterable[Method]) -> Method | None:
    """Return a row's method with the choice of one that was fitted to the same; None where there is none."""
    for each in full:
        if row.method.choice is not None and row.method.choice == each.choice:
            found = row.method()
            found.follow(each)
            return found
    return None


@dataclass(frozen=True, eq=False)
class Judge:
    """Fitted methods, and the clean stream that bands come from: what is needed to score test streams."""

    schedule: Schedule
    methods: Mapping[str, Answering]
    test: Mapping[str, Bank]
    clean_dev: list[JudgedStream]

    @classmethod
    def over(
        cls,
        schedule: Schedule,
        methods: Mapping[str, Answering],
        dev: Mapping[str, Bank],
        test: Mapping[str, Bank],
    ) -> Judge:
        """Let methods answer the clean development stream."""
        return cls(schedule, methods, test, [case("clean dev", schedule.clean("dev"), methods, dev)])

    @property
    def settings(self) -> ComparisonRules:
        """What the comparison holds fixed."""
        return ComparisonRules(base=next(iter(self.methods)), seen=self.schedule.suite.seen)

    def cases(self, streams: Mapping[str, Stream]) -> list[JudgedStream]:
        """Return what all methods answer to test streams."""
        return [case(name, stream, self.methods, self.test) for name, stream in streams.items()]

    def metrics(self, tests: Sequence[JudgedStream], *metrics: tuple[str, str]) -> list[Record]:
        """Return some metrics alone, each with its variant, of every method on test streams."""
        return metric_part(tests, self.clean_dev, metrics, self.settings)

    def drops(self, tests: Sequence[JudgedStream], name: str) -> list[Record]:
        """Return the AUPRC of drop events, and their share by the first method's predictions.

        Predictions are each method's own and scores are smoothed; `name` is the last part of the variant.
        """
        variant = f"own/smoothed/{name}"
        found = [{**row, "variant": variant} for row in self.metrics(tests, (DROP, "own/smoothed/all"))]
        return found + shares([row for row in found if row["method"] == self.settings.base])


class Watched(NamedTuple):
    """Alarms of a method on test streams."""

    chosen: str
    cost: float
    best: Armed
    equal: Armed
    found: list[Trials]


@dataclass(frozen=True, eq=False)
class Arena(Judge):
    """A judge with the streams that limits and choices come from, and those in segments that judge."""

    clean_test: list[JudgedStream]
    shifted_dev: list[JudgedStream]
    tests: list[JudgedStream]

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        methods: Mapping[str, Answering],
        dev: Mapping[str, Bank],
        test: Mapping[str, Bank],
        tests: Mapping[str, Stream] | None = None,
        alarms: bool = True,
    ) -> Arena:
        """Let methods answer all streams; those of every kind in segments unless others are given.

        Without `alarms` those are left out that only limits and statistics of alarms come from.
        """
        streams = schedule.tests() if tests is None else tests
        return cls(
            schedule,
            methods,
            test,
            [case("clean dev", schedule.clean("dev"), methods, dev)],
            [case("clean test", schedule.clean("test"), methods, test)] if alarms else [],
            [case("shifted dev", schedule.chosen(), methods, dev)] if alarms else [],
            [case(name, stream, methods, test) for name, stream in streams.items()],
        )

    def scores(self) -> list[Record]:
        """Return scores, and beside the AUPRC of drop events the share of steps that are such events."""
        found = self.metrics(self.tests, *FIGURES)
        return found + shares(found)

    def ood_records(self) -> list[Record]:
        """Return how inputs of none of the classes are told apart, in bursts and one at a time."""
        if "test" not in self.schedule.ood:
            return []
        found = []
        for name, stream in self.schedule.ood_tests().items():
            asked = self.metrics(self.cases({name: stream}), *OOD_FIGURES)
            found += [{**row, "variant": f"own/plain/{name}"} for row in asked]
        return found

    def paired_records(self, pairs: Iterable[tuple[str, str]], replicates: int) -> list[Record]:
        """Return by how much a row exceeds another in drop AUPRC, for every unseen kind, with an interval."""
        found = []
        for first, second in pairs:
            for number, each in enumerate(self.tests):
                if each.name in self.schedule.suite.seen:
                    continue
                row = interval(
                    [each],
                    self.clean_dev,
                    (first, second),
                    DROP,
                    "own/smoothed/unseen",
                    np.random.default_rng([self.schedule.seed, number]),
                    self.settings,
                    replicates,
                )
                found.append({**row, "stream": each.name, "metric": GAIN})
        return found

    def watched(self, method: str) -> Watched:
        """Return the alarms of a method with the statistic that does best on development streams.

        Limits come from the clean test stream ("equal"): one from few development examples gives another run
        length on other examples, and not the same one for all methods, as the run lengths of such limits
        ("best") show. All but that limit is settled on development streams.
        """
        settings = self.settings
        armed = arm(evidence_runs(self.clean_dev, method), settings.run_length, settings.statistics)
        given = [stream.answer(method).evidence for stream in self.shifted_dev]
        chosen, cost = choose(armed, given, [stream.truth for stream in self.shifted_dev])
        statistic = armed[chosen].statistic
        limit = find_limit(statistic, evidence_runs(self.clean_test, method), settings.run_length)
        ready = Armed(statistic, limit)
        found = [trials(ready, each.answer(method).evidence, each.truth) for each in self.tests]
        return Watched(chosen, cost, armed[chosen], ready, found)

    def delay_records(self, method: str, watched: Watched) -> list[Record]:
        """Return the delays of a method, and the run lengths of its limits."""
        truths = [stream.truth for stream in self.tests]
        return [
            record("dev", method, "chosen", watched.chosen, watched.cost, len(self.shifted_dev)),
            *group_records(method, EQUAL, watched.found, truths, self.settings.seen),
            *length_records(method, EQUAL, watched.equal, watched.found, self.clean_test),
            *length_records(method, BEST, watched.best, (), self.clean_test),
        ]
