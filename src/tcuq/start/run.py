"""`start`: from a model and data to a monitor that was judged, a report and a package for firmware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.checks import integer
from ..base.errors import InputError
from ..base.spelling import option
from ..export import FORMS, refuse_other_form, sources
from ..export.folders import prepare, refuse_fixed, write_folder
from ..fitting import fit, notes_of
from ..io.decisions import Decisions, encode_decisions
from ..io.tables import encode_log
from ..labels.check import SHOWN, label_note, order_note
from ..log.class_names import class_shown
from ..log.log import Log
from ..monitor.monitor import Monitor, run_over
from ..monitor.params import Params
from ..recording.data import Data
from ..recording.model import RecordOptions
from ..recording.rand import Numbers
from ..recording.session import Progress, Session, open_session
from ..recording.shifts import Kind, Shifts, listed
from ..recording.streams import Ints, Plan, Streams, groups_of, joined, paces_of
from ..report.page import render
from ..report.summary import Check
from .judge import by_kind, by_part, judge
from .verdict import checks, lines, overall
from .words import readme

FITTED = 0.6  # share of the examples, and of the steps, that the fit gets
FEWEST = 400  # examples, or steps of a stream, from which on two parts are made
SCARCE = 10  # examples of a class below which its few in either part say little

# Fewer examples than `USUAL` are shown up to `TIMES` times, so that shifted stretches leave an alarm time; of
# more than `MOST`, some are left out.
TIMES, USUAL, MOST = 15, 6_000, 12_000
SEGMENTS = 8  # to fit, at least: clean steps right after a shift do not set the alarm, those at a start do


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
    """Return the numbers of the shifts to fit with and of those to judge by; a single one is in both."""
    # Shifts of the user, beside generic ones, are what the monitor is to be judged by. Of three collapses one
    # judges, so that every fit knows what a collapse looks like.
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


def plan_parts(streams: Streams, examples: tuple[Ints, Ints], steps: int) -> tuple[Plan, Plan]:
    """Return what is shown to fit and to judge."""
    kinds, fitted = split_kinds(streams.chosen.kinds, streams.seed), round(FITTED * steps)
    fit = streams.plan(examples[0], fitted, kinds[0], "fit", SEGMENTS)
    return fit, streams.plan(examples[1], steps - fitted, kinds[1], "judge")


def split_stream(log: Log) -> int:
    """Return the step at which the part to judge begins: a segment between 40 and 80 %, else 60 %."""
    middle = round(FITTED * len(log))
    starts = [piece.start for piece in log.pieces() if 0.4 <= piece.start / len(log) <= 0.8]
    return min(starts, key=lambda start: abs(start - middle), default=middle)


class Parts(NamedTuple):
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
        The figures; the verdict under ``"verdict"`` and ``"checks"``, and in words under ``"lines"``.

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
    progress = progress or (lambda done, total, text: None)
    session = open_session(model, x, y, RecordOptions(**options))
    data, model = session.data, session.model
    if data.segments is None and data.shifted is None:
        recorded = _made_stream(session, stream, shifts, seed, progress)
    elif stream is None and (shifts is True or not listed(shifts)):
        recorded = _own_stream(session, progress)
    else:
        way = f"leave out {option('stream')} and {option('shifts')}"
        problem = f"has segments or shifted, so it is a stream already; {way}"
        raise InputError("conflict", problem, where=data.name)
    dev, test = recorded.dev, recorded.test
    if dev.features is not None and dev.features.dtype == np.int8 and dev.feature_scale is None:
        way = "use tcuq record, and tcuq fit with --feature-scale and --feature-zero-point"
        problem = f"its features are int8 of unknown scale; return them as floats, or {way}"
        raise model.refusal("missing", problem)
    if not force:
        _refuse_chance(session, dev)
    params = _fitted(dev, progress, budget=budget, run_length=run_length, seed=seed)
    progress(0, 1, "judging")
    decided, signals = run_over(Monitor(params), test, signals=True)
    figures = _findings(session, recorded, params, decided, seed)
    scale = None
    if session.options.logits and model.probs_format is not None and dev.probs.dtype == np.int8:
        scale = model.probs_format.scale  # so that the package has their softmax
    figures["logits_scale"] = scale
    figures["gauges"] = list(params.sight.gauges) if params.sight is not None else []

    progress(0, 1, "writing")
    title = f"{model.name}: tested on held-out steps"
    found = [Check(**each) for each in (figures["verdict"], *figures["checks"].values())]
    contents = contents_of(params, (dev, test), decided, signals, title, found)
    contents |= {"monitor.json": params.to_json(), "README.md": readme(figures)}
    for file, text in sources(params, "monitor", "c", scale).items():
        contents[f"firmware/{file}"] = text
    for inside in contents:
        if (target / inside).is_dir():
            raise InputError("exists", f"{target / inside}: is a folder, expected a file or nothing")
    write_folder(target, contents)
    figures["files"] = sorted(contents)
    return figures


def contents_of(
    params: Params,
    logs: tuple[Log, Log],
    decided: Any,
    signals: Any,
    title: str,
    checks: Sequence[Check] = (),
    pictures: Any = None,
) -> dict[str, str | bytes]:
    """Return the files of a monitor that was fitted to one log and judged on another."""
    decisions = Decisions(decided, fingerprint=params.fingerprint, names=params.names, sight=params.sight)
    return {
        "dev.npz": encode_log(logs[0]),
        "test.npz": encode_log(logs[1]),
        "decisions.csv": encode_decisions(decisions, "csv"),
        "report.html": render(decided, params, logs[1], signals, title, checks=checks, pictures=pictures),
    }


def check_folder(out: str | Path, force: bool) -> Path:
    """Return the folder to write, or refuse it before any work is done."""
    target = prepare(out)
    refuse_fixed(target.resolve())
    if target.is_dir() and any(target.iterdir()) and not force:
        way = f"choose another folder, or replace files with {option('force', True)}"
        raise InputError("exists", f"{target}: exists and is not empty; {way}")
    return target


def _refuse_chance(session: Session, log: Log) -> None:
    """Refuse a model that is at chance on clean steps, or whose labels have another order, with a way out."""
    doubt = label_note(log)
    if doubt is not None:
        labels = session.data.labels
        by_name = session.data.folder or (labels is not None and labels.dtype.kind in "UO")
        order = order_note(log, log.names if by_name else None)
        check = f"check them ({option('names')}, {option('input_range')})"
        problem = "; ".join([order or f"{doubt}; {check}", *session.notes])
        way = f"nothing is written, unless with {option('force', True)}"
        raise session.model.refusal("conflict", f"{problem}; {way}")


def _fitted(log: Log, progress: Progress, **options: Any) -> Params:
    """Fit; without labels where a model that is nearly always right makes too few errors to learn from."""

    def show(stage: str, done: int, total: int) -> None:
        progress(done, total, f"fitting: {stage}")

    try:
        return fit(log, force=True, progress=show, **options)
    except InputError as error:
        if error.name != "labels":
            raise
        note = f"the labels are left out of the fit: {error}"
        return fit(replace(log, labels=None, notes=(*log.notes, note)), **options)


def _made_stream(
    session: Session, stream: bool | str | None, shifts: Shifts, seed: int, progress: Progress
) -> Parts:
    """Run the model once over the streams of both parts."""
    data = session.data
    examples = split_examples(data, seed)
    paces = paces_of(stream or True)
    streams = Streams(data, session.model, paces, shifts, seed, FEWEST, examples[0])
    fit, judge = plan_parts(streams, examples, steps_for(data.total))
    plan = joined(fit, judge)
    made = streams.arranged(plan)
    plain = () if data.folder or stream is not None else (PLAIN,)
    log = session.log(replace(made, notes=(*plain, *made.notes)), progress)
    log = replace(log, notes=(*log.notes, *_scarce(log, plan.examples)))
    shown = {
        f"{name}_examples": len(np.unique(each.examples)) for name, each in (("fit", fit), ("judge", judge))
    }
    paces_shown = np.array([str(each) for each in streams.paces])[judge.paces]
    stay = max(each.mean for each in streams.paces)
    return _cut(log, len(fit), {"made": True, **shown}, paces_shown, stay, judge.examples)


def _cut(log: Log, at: int, facts: dict[str, Any], *more: Any) -> Parts:
    """Return both parts of a log, and the names of the shifts in each."""
    parts = log.take(slice(0, at)), log.take(slice(at, None))
    for name, part in zip(("fit_kinds", "judge_kinds"), parts, strict=True):
        numbers = [] if part.kinds is None else np.unique(part.kinds).tolist()
        facts[name] = tuple(part.shift_names[each - 1] for each in numbers if each and part.shift_names)
    return Parts(*parts, facts, *more)


def _scarce(log: Log, examples: Ints) -> tuple[str, ...]:
    """Say which classes are shown by too few examples for two parts, or by none."""
    if log.labels is None:
        return ()
    shown = np.unique(np.stack([log.labels, examples]), axis=1)[0]
    counts = np.bincount(shown[shown >= 0], minlength=log.classes)
    scarce = np.flatnonzero(counts < SCARCE).tolist()
    few = [f"{class_shown(number, log.names)} has {counts[number] or 'none'}" for number in scarce]
    named = ", ".join(few[:SHOWN]) + ", ..." * (len(few) > SHOWN)
    note = f"too few examples of some classes for two parts, so their figures say little: {named}; add some"
    return (note,) if few else ()


def _own_stream(session: Session, progress: Progress) -> Parts:
    """Run the model over a stream of the user and cut it in two."""
    log = session.log(progress=progress)
    if len(log) < FEWEST:
        raise InputError("value", f"{session.data.name}: holds {len(log)} steps, expected at least {FEWEST}")
    return _cut(log, split_stream(log), {"made": False})


def _findings(session: Session, recorded: Parts, params: Params, decided: Any, seed: int) -> dict[str, Any]:
    test, fitted = recorded.test, params.notes.get("fit") or {}
    figures = {
        "model": session.model.name,
        "data": session.data.name,
        "seed": seed,
        "fit_steps": len(recorded.dev),
        **recorded.facts,
        **judge(params, test, decided, seed, recorded.stay, recorded.examples),
        "left_out": fitted.get("left_out"),
        "fit_accuracy": fitted.get("expected_accuracy"),
        "run_length": fitted.get("run_length"),
        "notes": notes_of(params),
        "label_note": label_note(recorded.dev),
    }
    if test.kinds is not None:
        figures["by_kind"] = by_kind(test, decided)
    if recorded.paces is not None:
        figures["by_pace"] = by_part(test, decided, recorded.paces)
    found = checks(figures)
    whole = overall(found, figures["label_note"])
    figures |= {"verdict": whole._asdict(), "checks": {each.name: each._asdict() for each in found}}
    figures["lines"] = lines(found, whole)
    return figures
