"""The protocol: the same questions, windows, limits and streams for every method.

Bands and limits come from clean development streams, the best statistic of a method from shifted development
streams; test streams decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tcuq.base.checks import integer, known, number

from ..detectors.run_lengths import RUN_LENGTH, Armed, Trials, alarms, arm, run_length, trials
from ..detectors.statistics import STATISTICS, Factory
from ..metrics import prevalence
from ..metrics.drops import GROUPS, WINDOW, Band, Truth, clean_band
from .answers import JudgedStream, Scores, clean_only, evidence_runs, judged_runs, right_runs
from .delays import choose, delay_records, group_records
from .records import Record, pick, record
from .tasks import Key, Task, keys, split_metric, split_variant, task, task_records

__all__ = [
    "ComparisonRules",
    "JudgedStream",
    "Scores",
    "Truth",
    "alarms",
    "bands_of",
    "best_against_best",
    "delay_part",
    "evaluate",
    "metric_part",
    "same_against_same",
    "score_part",
]


@dataclass(frozen=True)
class ComparisonRules:
    """What a comparison holds fixed."""

    base: str = "BASE"
    seen: tuple[str, ...] = ()
    m: int = WINDOW
    run_length: float = RUN_LENGTH
    statistics: Mapping[str, Factory] = field(default_factory=lambda: STATISTICS)

    def __post_init__(self) -> None:
        integer("m", self.m, 1, 1_000_000)
        number("run length", self.run_length, 1, 1e9)
        if not isinstance(self.base, str):
            raise ValueError(f"base is {self.base!r}, expected text")
        if not isinstance(self.seen, (tuple, list)) or not all(isinstance(each, str) for each in self.seen):
            raise ValueError(f"seen is {self.seen!r}, expected a tuple of texts")
        object.__setattr__(self, "seen", tuple(self.seen))
        if not isinstance(self.statistics, Mapping) or not self.statistics:
            raise ValueError(f"statistics is {self.statistics!r}, expected names with a factory each")
        for name, factory in self.statistics.items():
            if not isinstance(name, str) or not name or "/" in name or name == "best":
                raise ValueError(f"name of a statistic is {name!r}, expected text without '/', not best")
            if not callable(factory):
                raise ValueError(f"statistic {name} is {factory!r}, expected a function of a Reference")


def methods_of(tests: Sequence[JudgedStream], **others: Sequence[JudgedStream]) -> list[str]:
    """Return the methods, which must be the same on all streams.

    The same stream in two roles, such as test and development, is refused, and so are two test streams of
    one name.
    """
    if not tests:
        raise ValueError("there are 0 streams, expected at least 1")
    names = tests[0].methods
    titles: set[str] = set()
    for stream in tests:
        if stream.name in titles:
            raise ValueError(f"stream {stream.name} comes twice among the tests, expected different names")
        titles.add(stream.name)
    roles: dict[int, str] = {}
    for role, stream in [
        (role, each) for role, group in {"tests": tests, **others}.items() for each in group
    ]:
        before = roles.setdefault(id(stream), role)
        if before != role:
            raise ValueError(f"stream {stream.name} is in {before} and in {role}, expected one of them")
        if set(stream.methods) != set(names):
            raise ValueError(
                f"stream {stream.name} has answers of {', '.join(stream.methods)}, expected "
                f"those of {', '.join(names)}"
            )
    return names


def bands_of(clean_dev: Sequence[JudgedStream], method: str, settings: ComparisonRules) -> dict[str, Band]:
    """Return the clean bands of a method's own predictions and of the base's."""
    judged = judged_runs(clean_dev)
    return {
        "own": clean_band(right_runs(clean_dev, method), settings.m, judged),
        "base": clean_band(right_runs(clean_dev, settings.base), settings.m, judged),
    }


def score_part(
    tests: Sequence[JudgedStream], clean_dev: Sequence[JudgedStream], settings: ComparisonRules | None = None
) -> list[Record]:
    """Return the records of drop events and failures, for every stream and method."""
    fixed = settings or ComparisonRules()
    clean_only("clean_dev", clean_dev)
    rows: list[Record] = []
    for method in methods_of(tests, clean_dev=clean_dev):
        bands = bands_of(clean_dev, method, fixed)
        for stream in tests:
            base = stream.answer(fixed.base).predictions
            answer = stream.answer(method)
            rows += task_records(stream.name, answer, base, stream.truth, bands, fixed.seen)
    return rows


def having(tests: Sequence[JudgedStream], key: Key, settings: ComparisonRules) -> list[JudgedStream]:
    """Return the streams on which a task makes sense."""
    return [stream for stream in tests if key in keys(stream.truth, settings.seen)]


def tasks_of(
    tests: Sequence[JudgedStream], bands: Mapping[str, Band], method: str, key: Key, settings: ComparisonRules
) -> list[Task]:
    """Return one task of a method on each stream; `bands` are those of `bands_of`."""
    return [
        task(
            key,
            stream.answer(method),
            stream.answer(settings.base).predictions,
            stream.truth,
            bands,
            stream.truth.members(key.group, settings.seen),
        )
        for stream in tests
    ]


def metric_part(
    tests: Sequence[JudgedStream],
    clean_dev: Sequence[JudgedStream],
    metrics: Sequence[tuple[str, str]],
    settings: ComparisonRules | None = None,
) -> list[Record]:
    """Return those records of `score_part` that some metrics ask for, without computing the others.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq_lab.comparison.coverage import made
    >>> rng = np.random.default_rng(0)
    >>> dev, tests = [made("day", 3000, rng, shifted=False)], [made("one", 2000, rng)]
    >>> rows = metric_part(tests, dev, [("drop_auroc", "own/smoothed/all")])
    >>> rows == pick(score_part(tests, dev), metric="drop_auroc", variant="own/smoothed/all")
    True
    """
    fixed = settings or ComparisonRules()
    clean_only("clean_dev", clean_dev)
    rows: list[Record] = []
    for method in methods_of(tests, clean_dev=clean_dev):
        bands = bands_of(clean_dev, method, fixed)
        for metric, variant in metrics:
            name, measure = split_metric(metric)
            key = split_variant(name, variant)
            asked = having(tests, key, fixed)
            for stream, built in zip(asked, tasks_of(asked, bands, method, key, fixed), strict=True):
                share = prevalence(built.positive[built.judged])
                count = int(built.judged.sum())
                rows.append(
                    record(stream.name, method, metric, variant, built.measure(measure), count, share)
                )
    return rows


def length_records(
    method: str, name: str, armed: Armed, found: Sequence[Trials], clean_test: Sequence[JudgedStream]
) -> list[Record]:
    """Return the run lengths: where the limit was found, on clean test streams, on clean test stretches."""
    rows = [record("pooled", method, "run_length_dev", name, armed.found.value, armed.found.steps)]
    if clean_test:
        got = run_length(
            armed.statistic, evidence_runs(clean_test, method), armed.limit, judged_runs(clean_test)
        )
        rows.append(record("pooled", method, "run_length", f"{name}/clean", got.value, got.steps))
    false, clean = sum(each.false for each in found), sum(each.clean for each in found)
    value = float("nan") if not clean else clean / false if false else float("inf")
    rows.append(record("pooled", method, "run_length", f"{name}/mixed", value, clean))
    return rows


def delay_part(
    tests: Sequence[JudgedStream],
    clean_dev: Sequence[JudgedStream],
    settings: ComparisonRules | None = None,
    shifted_dev: Sequence[JudgedStream] = (),
    clean_test: Sequence[JudgedStream] = (),
) -> list[Record]:
    """Return delays and achieved run lengths, for every method and statistic."""
    fixed = settings or ComparisonRules()
    clean_only("clean_dev", clean_dev)
    clean_only("clean_test", clean_test)
    rows: list[Record] = []
    truths = [stream.truth for stream in tests]
    judged = judged_runs(clean_dev)
    roles = {"clean_dev": clean_dev, "shifted_dev": shifted_dev, "clean_test": clean_test}
    for method in methods_of(tests, **roles):
        armed = arm(evidence_runs(clean_dev, method), fixed.run_length, fixed.statistics, judged)
        mine: list[Record] = []
        for name, each in armed.items():
            found = [trials(each, stream.answer(method).evidence, stream.truth, fixed.m) for stream in tests]
            for stream, part in zip(tests, found, strict=True):
                mine += delay_records(stream.name, method, name, "all", part)
            mine += group_records(method, name, found, truths, fixed.seen)
            mine += length_records(method, name, each, found, clean_test)
        rows += mine
        if shifted_dev:
            given = [stream.answer(method).evidence for stream in shifted_dev]
            best, cost = choose(armed, given, [stream.truth for stream in shifted_dev])
            rows.append(record("dev", method, "chosen", best, cost, len(shifted_dev)))
            for row in mine:
                head, slash, tail = row["variant"].partition("/")
                if head == best:
                    rows.append({**row, "variant": f"best{slash}{tail}"})
    return rows


def evaluate(
    tests: Sequence[JudgedStream],
    clean_dev: Sequence[JudgedStream],
    settings: ComparisonRules | None = None,
    shifted_dev: Sequence[JudgedStream] = (),
    clean_test: Sequence[JudgedStream] = (),
) -> list[Record]:
    """Return all records: `score_part` and `delay_part`."""
    methods_of(tests, clean_dev=clean_dev, shifted_dev=shifted_dev, clean_test=clean_test)
    return score_part(tests, clean_dev, settings) + delay_part(
        tests, clean_dev, settings, shifted_dev, clean_test
    )


def same_against_same(
    records: Sequence[Record], metric: str = "delay_median", group: str = "all"
) -> dict[str, dict[str, float]]:
    """Return a table statistic -> method -> value over all streams: every method with the same statistic.

    Examples
    --------
    >>> rows = [record("pooled", "A", "delay_median", "cusum/all", 12, 9)]
    >>> same_against_same(rows)
    {'cusum': {'A': 12.0}}
    """
    _known_group(metric, group)
    table: dict[str, dict[str, float]] = {}
    for row in pick(records, stream="pooled", metric=metric):
        name, _, kinds = row["variant"].partition("/")
        if kinds == group and name != "best":
            table.setdefault(name, {})[row["method"]] = row["value"]
    return table


def best_against_best(
    records: Sequence[Record], metric: str = "delay_median", group: str = "all"
) -> dict[str, tuple[str, float]]:
    """Return a table method -> (statistic chosen on development, value on the tests).

    Examples
    --------
    >>> rows = [record("dev", "A", "chosen", "cusum", 10, 2),
    ...         record("pooled", "A", "delay_median", "best/all", 12, 9)]
    >>> best_against_best(rows)
    {'A': ('cusum', 12.0)}
    """
    _known_group(metric, group)
    chosen = {row["method"]: row["variant"] for row in pick(records, metric="chosen")}
    found = pick(records, stream="pooled", metric=metric, variant=f"best/{group}")
    return {row["method"]: (chosen[row["method"]], row["value"]) for row in found}


def _known_group(metric: str, group: str) -> None:
    """Refuse what no record of a metric has behind its statistic."""
    known(f"group of {metric}", group, ("clean", "mixed") if metric == "run_length" else GROUPS)
