"""A comparison: every row fitted on development streams, then judged on the same test streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..lab.compare import Case, Scores, Settings, Truth, evaluate, score_part
from ..lab.compare.answers import evidence_runs
from ..lab.compare.delays import Armed, arm, choose, group_records, trials
from ..lab.compare.results import Record, record
from ..lab.compare.runlength import find_limit
from ..lab.streams import Stream
from ..methods.gather import observed
from ..methods.method import Labelled, Method, Observed, Recorded
from .programme import Programme
from .rows import Row

Bank = Mapping[str, Recorded]
STRANGE = "ood"
"""Name of the stream with inputs that are none of the classes."""
EQUAL = "equal"
"""In place of the statistic in records of delays at run lengths that are equal on the test stream."""


def fitted(row: Row, bank: Bank, programme: Programme) -> Method:
    """Return a row's method, fitted to the development streams.

    Parameters
    ----------
    row : Row
    bank : mapping of str to Recorded
        What its networks said to development examples.
    programme : Programme
    """
    found = row.method()
    found.learn(bank["clean"], programme.labels["dev"])
    found.fit(joined(programme.learned(), bank))
    return found


def joined(streams: Sequence[Stream], bank: Bank) -> Labelled:
    """Return streams as one, each a segment of its own."""
    seen = [observed(stream, bank) for stream in streams]
    whole = Observed(
        np.concatenate([each.probs for each in seen]),
        None if seen[0].features is None else np.concatenate([each.features for each in seen]),
        {name: np.concatenate([each.extra[name] for each in seen]) for name in seen[0].extra},
        np.repeat(np.arange(len(seen)), [len(each) for each in seen]),
    )
    labels = np.concatenate([stream.label for stream in streams])
    return Labelled(whole, labels, np.concatenate([stream.shift for stream in streams]).astype(np.uint8))


def case(name: str, stream: Stream, methods: Mapping[str, Method], banks: Mapping[str, Bank]) -> Case:
    """Return what all rows answer to a stream, beside the truth."""
    answers = []
    for label, method in methods.items():
        found = method.answer(observed(stream, banks[label]))
        risk, evidence = found.score, found.score if found.evidence is None else found.evidence
        answers.append(
            Scores(label, risk.astype(np.float64), found.predictions(), evidence.astype(np.float64))
        )
    truth = Truth(stream.label, stream.shift.astype(np.int64), names=stream.kinds)
    return Case(name, truth, tuple(answers))


def equal_delays(
    tests: Sequence[Case],
    clean_dev: Sequence[Case],
    clean_test: Sequence[Case],
    shifted_dev: Sequence[Case],
    settings: Settings,
) -> list[Record]:
    """Return delays of the best statistic of every method at limits from the clean test stream.

    A limit from few development examples gives another run length on other examples, and not the same one
    for all methods. The statistic is standardised and chosen on development streams; only its limit is not.
    """
    truths = [stream.truth for stream in tests]
    rows: list[Record] = []
    for method in tests[0].methods:
        armed = arm(evidence_runs(clean_dev, method), settings.run_length, settings.statistics)
        given = [stream.answer(method).evidence for stream in shifted_dev]
        best, _ = choose(armed, given, [stream.truth for stream in shifted_dev])
        statistic = armed[best].statistic
        limit = find_limit(statistic, evidence_runs(clean_test, method), settings.run_length)
        found = [trials(Armed(statistic, limit), each.answer(method).evidence, each.truth) for each in tests]
        rows += group_records(method, EQUAL, found, truths, settings.seen)
        rows.append(record("pooled", method, "run_length", f"{EQUAL}/clean", limit.value, limit.steps))
    return rows


def compare(
    rows: Sequence[Row],
    programme: Programme,
    dev: Mapping[str, Bank],
    test: Mapping[str, Bank],
    methods: Mapping[str, Method] | None = None,
) -> list[Record]:
    """Return the records of a comparison.

    Parameters
    ----------
    rows : sequence of Row
        The first one's predictions are the common ones.
    programme : Programme
    dev, test : mapping of str to bank
        By the label of the row.
    methods : mapping of str to Method, optional
        Fitted ones, such as those of another dwell; fitted to the programme by default.
    """
    names = [row.label for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"row {name} comes twice; different labels are accepted")
    ready = methods or {row.label: fitted(row, dev[row.label], programme) for row in rows}
    settings = Settings(base=names[0], seen=programme.suite.seen)
    clean_dev = [case("clean dev", programme.clean("dev"), ready, dev)]
    clean_test = [case("clean test", programme.clean("test"), ready, test)]
    shifted_dev = [case("shifted dev", programme.chosen(), ready, dev)]
    tests = [case(kind, stream, ready, test) for kind, stream in programme.tests().items()]
    records = evaluate(tests, clean_dev, settings, shifted_dev, clean_test)
    records += equal_delays(tests, clean_dev, clean_test, shifted_dev, settings)
    if "test" in programme.strangers:
        strange = case(STRANGE, programme.strange(), ready, test)
        records += [
            row for row in score_part([strange], clean_dev, settings) if row["metric"].startswith("ood")
        ]
    return records
