"""`start`: from a model and data to a monitor that was judged, a report and a package for firmware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.atomic_folders import prepare, refuse_fixed, write_folder
from ..base.checks import integer
from ..base.errors import InputError
from ..base.rand import Numbers
from ..export import FORMS, refuse_other_form, sources
from ..fitting import fit
from ..io.decisions import Decisions, encode_decisions
from ..io.tables import encode_log
from ..monitor.class_names import class_shown
from ..monitor.label_check import SHOWN, label_note, order_note
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..recording.data import Data
from ..recording.model import RecordOptions
from ..recording.session import Progress, Session, open_session
from ..recording.shifts import Chosen, Kind, choose, listed
from ..recording.shifts.chosen import Shifts
from ..recording.streams import Pace, Plan, arrange, joined, make_plan, paces_of
from ..recording.streams.plan import (
    Ints,
    fitting_paces,
    groups_of,
    no_room,
    refuse_unfit,
    shown_kinds,
    without_order,
)
from ..report.page import render
from .judge import by_kind, by_part, judge
from .words import readme, summary, verdict

FITTED = 0.6
"""Share of the examples, and of the steps, that the fit gets."""

FEWEST = 400
"""Examples, or steps of a stream, from which on two parts are made."""

TIMES, USUAL, MOST = 15, 6_000, 12_000
"""Steps: fewer examples than `USUAL` are shown up to `TIMES` times, so that shifted stretches leave an alarm
time; of more than `MOST`, some are left out."""

SCARCE = 10
"""Examples of a class below which its few in either part say little."""

SEGMENTS = 8
"""Segments to fit, at least: clean steps right after a shift do not set the alarm, those at a start do."""


class Parts(NamedTuple):
    """What is shown to fit and to judge."""

    fit: Plan
    judge: Plan
    fit_kinds: tuple[str, ...]
    judge_kinds: tuple[str, ...]
    notes: tuple[str, ...] = ()


def steps_for(examples: int) -> int:
    """Return how many steps are shown of so many examples."""
    return min(examples, MOST) if examples >= USUAL else min(TIMES * examples, USUAL)


def split_examples(data: Data, seed: int) -> tuple[Ints, Ints]:
    """Return the examples to fit and those to judge, of each class the same share."""
    groups, numbers = groups_of(data), Numbers(seed, "start/split")
    order = numbers.shuffled(data.total)[0]
    order = order[np.argsort(groups[order], kind="stable")]
    # Every few of a class, in turn over all classes, so that classes of one example count as well.
    first = np.floor(FITTED * np.arange(1, data.total + 1)) > np.floor(FITTED * np.arange(data.total))
    return np.sort(order[first]), np.sort(order[~first])


def split_kinds(kinds: Sequence[Kind], seed: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the shifts to fit with and of those to judge by; a single one is in both.

    Shifts of the user, beside generic ones, are what the monitor is to be judged by. Of three collapses one
    judges, so that every fit knows what a collapse looks like.
    """
    count = len(kinds)
    if count < 2:
        return [1] * count, [1] * count
    parts: tuple[list[int], list[int]] = [], []
    for collapse in (False, True):
        numbers = [number for number, each in enumerate(kinds, 1) if each.collapse == collapse]
        name = "start/collapses" if collapse else "start/kinds"
        order = [numbers[place] for place in Numbers(seed, name).shuffled(len(numbers))[0].tolist()]
        own = sum(kinds[number - 1].own for number in numbers)
        if own < count:
            order.sort(key=lambda number: not kinds[number - 1].own)  # those of the user first, else as drawn
        judged = max(min(1, len(numbers)), own if own < count else 0, 3 * len(numbers) // 7)
        parts[0].extend(order[judged:])
        parts[1].extend(order[:judged])
    return sorted(parts[0]), sorted(parts[1])


def plan_parts(
    data: Data, examples: tuple[Ints, Ints], paces: Sequence[Pace], chosen: Chosen, steps: int, seed: int
) -> Parts:
    """Return what is shown in both parts."""
    groups, kinds = groups_of(data), split_kinds(chosen.kinds, seed)
    lengths = round(FITTED * steps), steps - round(FITTED * steps)
    fit, judge = (
        make_plan(groups, own, length, paces, shown, seed, name, SEGMENTS if name == "fit" else 1)
        for own, length, shown, name in zip(examples, lengths, kinds, ("fit", "judge"), strict=True)
    )
    fitted = tuple(chosen.kinds[number - 1].name for number in shown_kinds(fit))
    judged = tuple(chosen.kinds[number - 1].name for number in shown_kinds(judge))
    return Parts(fit, judge, fitted, judged, no_room(chosen, fit, judge))


def split_stream(log: Log) -> int:
    """Return the step of a recorded stream at which the part to judge begins.

    Where a segment begins, if one does between 40 and 80 % of the way; else after 60 %.
    """
    middle = round(FITTED * len(log))
    starts = [piece.start for piece in log.pieces() if 0.4 <= piece.start / len(log) <= 0.8]
    return min(starts, key=lambda start: abs(start - middle), default=middle)


FILES = ("README.md", "dev.npz", "test.npz", "monitor.json", "decisions.csv", "report.html")


class Recorded(NamedTuple):
    """Both parts as logs, and what is known of them."""

    dev: Log
    test: Log
    facts: dict[str, Any]
    paces: Any = None
    stay: float = 1.0
    examples: Ints | None = None  # that the steps to judge show


PLAIN = (
    "inputs are taken as plain examples, shuffled into a made stream; if they were recorded in this order, "
    "add an array `segments` to the NPZ file (zeros, or the number of the recording) to keep it"
)


def start(
    model: Any,
    x: Any,
    out: str | Path,
    y: Any = None,
    *,
    stream: bool | str | None = None,
    shifts: Shifts = True,
    seed: int | None = None,
    budget: float = 0.15,
    run_length: int = 10_000,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Record, fit, judge, report and export, and write everything into a folder.

    Plain examples are split into two parts, to fit and to judge, and arranged as streams; some kinds of shift
    are in the second part alone. Data with `segments` or `shifted` are a stream already: the monitor is then
    fitted to its first part and judged on the rest.

    Parameters
    ----------
    model, x, y, shifts
        As of `tcuq.record`.
    out : path
        Folder to write: all files or, if anything fails, none.
    stream : bool or str, optional
        As of `tcuq.record`; by default as it suits the data.
    seed : int, optional
        Of the split, the streams and the fit; default 0.
    budget : float, default 0.15
        Largest share of abstentions, 0 to 1.
    run_length : int, default 10000
        Wanted mean number of clean steps between false alarms.
    force : bool, default False
        Replace files that are there already, and go on where the model is at chance on clean data.
    progress : callable, optional
        Called with what is done, what there is to do, and a text.
    **options : any
        More of `tcuq.record`: features, logits, names, input_range, input_shape, batch and so on.

    Returns
    -------
    dict
        The figures; under ``"lines"`` about ten lines for a person.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> def model(x):
    ...     return np.exp(3 * x) / np.exp(3 * x).sum(1, keepdims=True)
    >>> y = np.arange(600) % 3
    >>> x = np.eye(3)[y] + np.random.default_rng(0).normal(0, 0.6, (600, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = start(model, x, folder, y, run_length=100)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['README.md', 'decisions.csv', 'dev.npz', 'firmware', 'monitor.json', 'report.html', 'test.npz']
    """
    seed = integer("seed", 0 if seed is None else seed, 0, 2**31)
    target = check_folder(out, force)
    # What would be refused at the end is refused before the model runs.
    paces_of(stream or True)
    refuse_other_form(target / "firmware", FORMS["c"])
    integer("run_length", run_length, 10, 10_000_000)
    Params(classes=2, budget=budget)
    tell = progress or (lambda done, total, text: None)
    session = open_session(model, x, y, RecordOptions(**options))
    own = session.data.segments is not None or session.data.shifted is not None
    if own:
        asked = shifts is not True and listed(shifts)
        if stream is not None or asked:
            problem = "has segments or shifted, so it is a stream already; leave out `stream` and `shifts`"
            raise InputError("conflict", problem, where=session.data.name)
        recorded = _own_stream(session, tell)
    else:
        recorded = _made_stream(session, stream, shifts, seed, tell)
    features = recorded.dev.features
    if features is not None and features.dtype == np.int8 and recorded.dev.feature_scale is None:
        way = "use tcuq record, and tcuq fit with --feature-scale and --feature-zero-point"
        problem = f"its features are int8 of unknown scale; return them as floats, or {way}"
        raise session.model.info.refusal("missing", problem)
    if not force:
        _refuse_chance(session, recorded.dev)
    params = _fitted(recorded.dev, tell, budget=budget, run_length=run_length, seed=seed)
    tell(0, 1, "judging")
    decided, signals = watch(Monitor(params), recorded.test, signals=True)
    format = session.model.info.probs
    logits = session.options.logits and format is not None and recorded.dev.probs.dtype == np.int8
    scale = format.scale if logits and format is not None else None  # so that the package has their softmax
    figures = _findings(session, recorded, params, decided, seed)
    figures["logits_scale"] = scale

    tell(0, 1, "writing")
    title, said = f"{session.model.info.name}: tested on held-out steps", f"{verdict(figures)}."
    decisions = Decisions(decided, fingerprint=params.fingerprint, names=params.names)
    contents: dict[str, str | bytes] = {
        "monitor.json": params.to_json(),
        "dev.npz": encode_log(recorded.dev),
        "test.npz": encode_log(recorded.test),
        "decisions.csv": encode_decisions(decisions, "csv"),
        "report.html": render(decided, params, recorded.test, signals, title, verdict=said),
        "README.md": readme(figures),
    }
    for file, text in sources(params, "monitor", "c", scale).items():
        contents[f"firmware/{file}"] = text
    for inside in contents:
        if (target / inside).is_dir():
            raise InputError("exists", f"{target / inside}: is a folder, expected a file or nothing")
    write_folder(target, contents)
    figures["files"] = sorted(contents)
    return figures


def check_folder(out: str | Path, force: bool) -> Path:
    """Return the folder to write, or refuse it before any work is done."""
    target = prepare(out)
    refuse_fixed(target.resolve())
    if target.is_dir() and any(target.iterdir()) and not force:
        way = "choose another folder, or replace files with `force=True`"
        raise InputError("exists", f"{target}: exists and is not empty; {way}")
    return target


def _refuse_chance(session: Session, log: Log) -> None:
    """Refuse a model that is at chance on clean steps, or whose labels have another order, with a way out."""
    doubt = label_note(log)
    if doubt is not None:
        labels = session.data.labels
        by_name = session.data.folder or (labels is not None and labels.dtype.kind in "UO")
        order = order_note(log, log.names if by_name else None)
        said = "; ".join([order or f"{doubt}; check them (`names`, `input_range`)", *session.notes])
        raise session.model.info.refusal("conflict", f"{said}; nothing is written, unless with `force=True`")


def _fitted(log: Log, tell: Progress, **options: Any) -> Params:
    """Fit; without labels where a model that is nearly always right makes too few errors to learn from."""

    def show(stage: str, done: int, total: int) -> None:
        tell(done, total, f"fitting: {stage}")

    try:
        return fit(log, force=True, progress=show, **options)
    except InputError as error:
        if error.name != "labels":
            raise
        note = f"the labels are left out of the fit: {error}"
        return fit(replace(log, labels=None, notes=(*log.notes, note)), **options)


def _made_stream(
    session: Session, stream: bool | str | None, shifts: Shifts, seed: int, tell: Progress
) -> Recorded:
    """Run the model once over the streams of both parts."""
    data = session.data
    refuse_unfit(data, FEWEST)
    paces, notes = fitting_paces(data, paces_of(stream or True), stream in (None, True, "mixed"))
    examples = split_examples(data, seed)
    held = any(each.word == "held" for each in paces)
    chosen = choose(shifts, data, examples[0], session.model.info, held)
    parts = plan_parts(data, examples, paces, chosen, steps_for(data.total), seed)
    plan = joined(parts.fit, parts.judge)
    notes = (*without_order(data.notes), *notes, *chosen.notes, *parts.notes)
    if not data.folder and stream is None:
        notes = (PLAIN, *notes)
    log = session.log(replace(arrange(data, plan, chosen, seed), notes=notes), tell)
    log = replace(log, notes=(*log.notes, *_scarce(log, plan.examples)))
    cut = len(parts.fit)
    facts = {
        "made": True,
        "fit_kinds": parts.fit_kinds,
        "judge_kinds": parts.judge_kinds,
        "fit_examples": len(np.unique(parts.fit.examples)),
        "judge_examples": len(np.unique(parts.judge.examples)),
    }
    shown = np.array([str(each) for each in paces])[parts.judge.paces]
    stay = max(each.mean for each in paces)
    return Recorded(
        log.take(slice(0, cut)), log.take(slice(cut, None)), facts, shown, stay, parts.judge.examples
    )


def _scarce(log: Log, examples: Ints) -> tuple[str, ...]:
    """Say which classes are shown by too few examples for two parts, or by none."""
    if log.labels is None:
        return ()
    shown = np.unique(np.stack([log.labels, examples]), axis=1)[0]
    counts = np.bincount(shown[shown >= 0], minlength=log.classes)
    few = [
        f"{class_shown(number, log.names)} has {counts[number] or 'none'}"
        for number in np.flatnonzero(counts < SCARCE).tolist()
    ]
    named = ", ".join(few[:SHOWN]) + ", ..." * (len(few) > SHOWN)
    said = f"too few examples of some classes for two parts, so their figures say little: {named}; add some"
    return (said,) if few else ()


def _own_stream(session: Session, tell: Progress) -> Recorded:
    """Run the model over a stream of the user and cut it in two."""
    log = session.log(progress=tell)
    if len(log) < FEWEST:
        raise InputError("value", f"{session.data.name}: holds {len(log)} steps, expected at least {FEWEST}")
    cut = split_stream(log)
    dev, test = log.take(slice(0, cut)), log.take(slice(cut, None))
    facts = {"made": False, "fit_kinds": _shown_kinds(dev), "judge_kinds": _shown_kinds(test)}
    return Recorded(dev, test, facts)


def _shown_kinds(log: Log) -> tuple[str, ...]:
    """Return the names of the shifts that a log has, where they have names."""
    if log.kinds is None or log.shift_names is None:
        return ()
    return tuple(log.shift_names[number - 1] for number in np.unique(log.kinds).tolist() if number)


def _findings(
    session: Session, recorded: Recorded, params: Params, decided: Any, seed: int
) -> dict[str, Any]:
    test, fitted = recorded.test, params.notes.get("fit") or {}
    figures = {
        "model": session.model.info.name,
        "data": session.data.name,
        "seed": seed,
        "fit_steps": len(recorded.dev),
        **recorded.facts,
        **judge(params, test, decided, seed, recorded.stay, recorded.examples),
        "left_out": fitted.get("left_out"),
        "fit_accuracy": fitted.get("expected_accuracy"),
        "notes": list(fitted.get("warnings", ())),
    }
    figures["label_note"] = label_note(recorded.dev)
    if test.kinds is not None:
        figures["by_kind"] = by_kind(test, decided)
    if recorded.paces is not None:
        figures["by_pace"] = by_part(test, decided, recorded.paces)
    figures["lines"] = summary(figures)
    return figures
