"""Small studies behind choices of the design: tables of a few figures each, most of them without any data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.fitting.alarms import alarms_in, choose_alarm
from tcuq.metrics import auroc
from tcuq.metrics.inputs import Bools, Floats

from ..data.parts import load_part
from ..home import folder
from ..methods.banks import load_bank, observed
from ..methods.method import Labeled
from ..methods.paper import TcuqPaper
from ..methods.projection import KINDS
from ..metrics import average_precision
from ..metrics.drops import Band, clean_band, drop_events, errors_alone
from ..reproduce.recordings import Recordings
from ..reproduce.versions import PROTOCOL
from ..streams import Description, Geometric, Literal, Segments, Shift, Stationary, Stream, build
from .drops import Ranking
from .run import Outcome, Piece, SmallExperiment

Figures = Iterator[dict[str, Any]]
SIMULATED = "simulated"


@dataclass(frozen=True)
class Study(SmallExperiment):
    """Figures of one function, for tasks and dwells."""

    name: str
    title: str
    figures: Callable[[str, float, Recordings], Figures]
    tasks: tuple[str, ...]
    dwells: tuple[float, ...] = (1.0,)
    paper: str = ""
    format: ClassVar[str] = "tcuq study 1"

    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> Study:
        """Return the study of some tasks or other dwells alone."""
        found: Study = super().narrowed(tasks, ())
        return replace(found, dwells=tuple(dwells) or self.dwells)

    def pieces(self, recordings: Recordings) -> dict[Piece, Path]:
        """Return a piece for each task and dwell."""
        about = [asdict(recordings.setting), recordings.weights, PROTOCOL]
        pieces = [Piece(f"{task} {dwell:g}", (task, dwell)) for task in self.tasks for dwell in self.dwells]
        return self.places(recordings, pieces, about)

    def measured(self, piece: Piece, recordings: Recordings, place: Path) -> list[dict[str, Any]]:
        """Return the lines of a piece."""
        task, dwell = piece.of
        return [*self.figures(task, dwell, recordings)]

    def gathered(self, found: Mapping[Piece, Any]) -> Outcome:
        """Return the lines of all pieces."""
        return Outcome([line for lines in found.values() for line in lines], {})

    def shown(self, outcome: Outcome) -> str:
        """Return the lines as a table."""
        rows = [list(outcome.lines[0]), *(map(_text, line.values()) for line in outcome.lines)]
        return "\n".join("  ".join(f"{each:>14}" for each in row) for row in rows)


def _text(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


# The clock: a baseline that knows nothing but the step number.

CLEAN_STEPS = 200_000
CLEAN_RATE, SHIFTED_RATE = 0.85, 0.5
"""How often a simulated classifier is right, on clean input and at severity 5."""
Right = Callable[[Stream], Bools]


def simulated(stream: Stream) -> Bools:
    """Return where a classifier is right by chance: less often the more severe a corruption is."""
    severities = [int(name.partition("/")[2] or 0) for name in stream.sources]
    share = np.array([CLEAN_RATE - (CLEAN_RATE - SHIFTED_RATE) * severity / 5 for severity in severities])
    # Other streams, other luck: the digest names the stream.
    luck = int.from_bytes(hashlib.sha256(stream.digest().encode()).digest()[:8], "little")
    return np.asarray(np.random.default_rng(luck).random(len(stream)) < share[stream.source])


def clock_ranking(right: npt.ArrayLike, band: Band, backwards: bool = False) -> Ranking:
    """Return the step number, or its reverse, as a score for the drop events of a stream."""
    drops = drop_events(right, band)
    count = np.arange(len(drops.event), dtype=np.float64)
    return Ranking(count[::-1] if backwards else count, drops.event, drops.judged)


def clock_report(
    layouts: int = 20,
    steps: int = 10_000,
    *,
    right: Right = simulated,
    labels: npt.ArrayLike | None = None,
    shifts: Sequence[Shift] = (Shift("fog", (5,)),),
    rising: Shift | None = None,
    dwell: float = 1.0,
) -> dict[str, float]:
    """Let the clock answer on streams: its average precision beside the prevalence of drop events."""
    classes = np.arange(10_000) % 10 if labels is None else labels
    worst = rising or Shift(shifts[0].kind, (1, 2, 3, 4, 5))

    def shown(seed: int = 0, **given: Any) -> Bools:
        fixed: dict[str, Any] = {"dataset": "cifar10", "part": "test", "steps": steps, "seed": seed}
        return right(build(Description(**{**fixed, "dwell": Geometric(dwell), **given}), classes))

    band = clean_band([shown(layout=Stationary(), steps=CLEAN_STEPS)])
    rows: list[Any] = []
    for number in range(layouts):
        pair = []
        for turned in (False, True):
            where = shown(number, layout=Segments(reversed=turned), shifts=tuple(shifts))
            found = [clock_ranking(where, band, backwards) for backwards in (False, True)]
            if found[0].share > 0:
                pair.append((*(each.measure(average_precision) for each in found), found[0].share))
        if pair:
            rows.append(np.mean(pair, axis=0))
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} of {layouts} layouts have drop events, expected at least 2")
    forwards, backwards, share = np.mean(rows, axis=0).tolist()
    excess = np.array([row[0] - row[2] for row in rows])
    spread = float(excess.std(ddof=1) / np.sqrt(len(rows)))
    whole = steps - steps % (2 * len(worst.severities))
    falling = shown(layout=Literal(), shifts=(worst,), dwell=Geometric(1), steps=whole)
    last = clock_ranking(falling, band)
    return {
        "prevalence": share,
        "clock": forwards,
        "reversed": backwards,
        "standard error": spread,
        "literal prev.": last.share,
        "literal clock": last.measure(average_precision),
    }


def clock(task: str, dwell: float, recordings: Recordings) -> Figures:
    """Give what the step number alone reaches: chance on our streams, much on one that gets worse."""
    given: dict[str, Any] = {}
    if task != SIMULATED:
        from ..zoo.examples import record
        from ..zoo.weights import load_weights

        network, card = load_weights(Path(recordings.weights) / "resnet8-0.npz")
        part, kinds = load_part(card["config"]["dataset"], "test"), ("gaussian_noise", "motion_blur", "fog")
        shifts = [Shift(kind, (3, 5)) for kind in (*kinds, "pixelate")]
        rising = Shift("fog", (1, 2, 3, 4, 5))
        sources = [f"{each.kind}/{level}" for each in (*shifts, rising) for level in each.severities]
        bank = record(network, part, dict.fromkeys(["clean", *sources]))
        given = {"labels": part.y, "shifts": shifts, "rising": rising}
        given["right"] = lambda stream: ~stream.log(bank).errors()
    trial = recordings.setting.name == "trial"
    yield {"task": task, "dwell": dwell, **clock_report(layouts=4 if trial else 20, dwell=dwell, **given)}


def _recorded(backbone: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the recorded outputs of a network to development examples, and what they are of."""
    home = folder(None, "recorded") / backbone
    return load_bank(home / "plain.npz"), json.loads((home / "about.json").read_text())


def projections(backbone: str, dwell: float, recordings: Recordings) -> Figures:
    """Give the held-out AUROC of errors with each projection of wide features, and without features."""
    bank, about = _recorded(backbone)
    shifts = [source.split("/") for source in about["sources"] if source != "clean"]
    plan = Description(
        dataset=about["dataset"],
        part="dev",
        seed=0,
        steps=9000,
        dwell=Geometric(dwell),
        layout=Segments(),
        shifts=tuple(Shift(kind, (int(level),)) for kind, level in shifts),
    )
    stream = build(plan, about["labels"])
    dev = Labeled(observed(stream, bank), stream.label, stream.shift.astype(np.uint8))
    base, judge = TcuqPaper.grid[1], TcuqPaper()
    line: dict[str, Any] = {"network": backbone, "dwell": dwell}
    for kind in (None, *KINDS):
        drawn = range(3) if kind == "random" else (0,)
        tried = [judge.quality(dev, {**base, "features": kind, "seed": n}, errors_alone) for n in drawn]
        line[kind or "none"] = float(np.mean(tried))
    yield line


def distances(backbone: str, dwell: float, recordings: Recordings) -> Figures:
    """Give AUROCs of shifts and of errors by the distance of features from the center of a class.

    Its logarithm is taken less the clean mean. Half of the clean examples set the space.
    """
    bank, about = _recorded(backbone)
    truth = np.array(about["labels"])
    rows = {name: (each.probs.argmax(1), np.asarray(each.features, float)) for name, each in bank.items()}
    label, clean = rows.pop("clean")
    classes = bank["clean"].probs.shape[1]
    shifted = np.concatenate([x for _, x in rows.values()])
    answered = np.concatenate([found for found, _ in rows.values()])
    wrong = np.concatenate([found != truth for found, _ in rows.values()])
    known_ = np.arange(len(clean)) % 2 == 0
    lines: dict[str, dict[str, Any]] = {
        of: {"network": backbone, "AUROC of": of} for of in ("shifts", "errors")
    }
    for way, matrix in _spaces(clean[known_], label[known_]).items():
        inside, outside = clean @ matrix, shifted @ matrix
        centers = _by_class(inside[known_], label[known_], classes)
        here, there = _far(inside, centers, label), _far(outside, centers, answered)
        usual = _by_class(here[~known_], label[~known_], classes)
        here, there = (here - usual[label])[~known_], there - usual[answered]
        beyond = np.arange(len(here) + len(there)) >= len(here)
        lines["shifts"][way] = auroc(np.append(here, there), beyond)
        lines["errors"][way] = auroc(there, wrong)
    yield from lines.values()


def _spaces(clean: Floats, labels: npt.NDArray[np.int64]) -> dict[str, Floats]:
    """Return a matrix for each way: features as they are, scaled one by one, whitened."""
    within = clean - np.stack([clean[labels == label].mean(0) for label in labels])
    variance = within.var(0) + 0.1 * within.var(0).mean()
    covariance = within.T @ within / len(within)
    covariance += 0.1 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    values, axes = np.linalg.eigh(covariance)
    ways = {"plain": np.eye(clean.shape[1]), "scaled": np.diag(variance**-0.5)}
    return {**ways, "whitened": axes / np.sqrt(values)}


def _far(x: Floats, centers: Floats, label: npt.NDArray[np.int64]) -> Floats:
    return np.asarray(np.log2(np.square(x - centers[label]).sum(1) + 1e-9))


def _by_class(values: Floats, label: npt.NDArray[np.int64], classes: int) -> Floats:
    """Return the mean of each class; that of all where a class has none."""
    return np.stack(
        [values[label == c if (label == c).any() else slice(None)].mean(0) for c in range(classes)]
    )


FRESH = 400_000
LENGTHS = ((50_000, 1000), (12_000, 10_000), (12_000, 100_000), (5000, 10_000), (2000, 1000), (2000, 10_000))
"""Clean steps that an alarm is set on, and the clean steps per false alarm that are asked for."""


def run_lengths(kind: str, dwell: float, recordings: Recordings) -> Figures:
    """Give how often the fitted alarm is false on fresh risk, against what was asked for; five seeds.

    Risk is independent, or has a level that dwells for 8 steps on average.
    """
    fresh = FRESH // 10 if recordings.setting.name == "trial" else FRESH
    for clean, wanted in LENGTHS:
        line: dict[str, Any] = {"risk": kind, "clean steps": clean, "asked": wanted}
        for seed in range(5):
            rng = np.random.default_rng(seed)
            alarm = choose_alarm([_risk(kind, clean, rng)], wanted, rng)
            false = alarms_in([_risk(kind, fresh, rng)], alarm)[0]
            line[f"seed {seed}"] = float(fresh / max(1, false))
        yield line


def _risk(kind: str, steps: int, rng: np.random.Generator) -> Any:
    if kind == "independent":
        return rng.beta(2, 6, steps)
    changes = rng.random(steps) < 1 / 8
    changes[0] = True
    level = rng.beta(1.2, 6, int(changes.sum()))[np.cumsum(changes) - 1]
    return np.clip(level + rng.normal(0, 0.05, steps), 0, 1)


STUDIES = (
    Study("clock", "What the step number alone reaches on streams", clock, (SIMULATED, "cifar10")),
    Study(
        "projections",
        "Projections of wide features: held-out AUROC of errors on recorded dev examples",
        projections,
        ("dscnn", "resnet8"),
        (1.0, 4.0, 16.0),
    ),
    Study(
        "distances",
        "Ways to measure the distance of features from their class, on recorded dev examples",
        distances,
        ("cnn4", "dscnn", "resnet8"),
    ),
    Study(
        "run_lengths",
        "How often the fitted alarm is false, against what was asked for",
        run_lengths,
        ("independent", "dwelling"),
    ),
)
