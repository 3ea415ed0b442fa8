"""What a folder holds beyond the last saved state: steps to judge again, decisions that are missing."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, one_line
from tcuq.base.json_text import from_json
from tcuq.monitor.params import Params
from tcuq.monitor.steps import STEP_DTYPE

from ..engine.events import read_features
from ..sources.blocks import Block, decision_values
from .folder import Folder, Journal
from .judge import Judge


@dataclass
class Recovered:
    """What is to be done before a session goes on."""

    by_device: bool | None  # who decides, where that is known
    again: list[tuple[int, Block, list[int]]] = field(default_factory=list)
    decided: int = -1  # number of the last step whose decision is in the log
    at: int | None = None  # place in the file that is followed, as the last line tells that has one
    after: int = 0  # steps that came after that place
    labels: list[tuple[int, int, int | None]] = field(default_factory=list)
    text: str = ""  # what was found, for people


def recover(folder: Folder, judge: Judge, params: Params) -> Recovered:
    """Load the saved state, and find what came after it."""
    saved = folder.saved
    if saved.state:
        try:
            judge.monitor.load(folder.state())
        except ValueError as error:
            raise InputError(
                "damaged", f"{folder.path}: {error}; move the folder away or choose another one"
            ) from None
    holes = _cut_holes(folder.received, saved.received) + _cut_holes(folder.decisions, saved.decisions)
    lines = list(_lines(folder.received, saved.received))
    by_device = saved.by_device
    if by_device is None and not lines and folder.decisions.size > saved.decisions:
        by_device = True
    found = Recovered(by_device)
    if by_device:
        lines = list(_lines(folder.decisions, saved.decisions))
    steps, odd = [], []
    for _, content in lines:
        if "probs" in content or "risk" in content:
            why = _odd(content, params, bool(by_device))
            steps += [content] if why is None else []
            odd += [] if why is None else [why]
    if not by_device:
        last = steps[-1]["step"] if steps else saved.step - 1
        found.decided = _cut_beyond(folder.decisions, saved.decisions, last, saved.step - 1)
        found.labels = list(_labels(folder)) if params.feedback is not None else []
    for group in _runs(steps, {at for at, _, _ in found.labels}):
        segments = [each.get("segment", 0) for each in group]
        found.again.append((group[0]["step"], _block(group, params, bool(by_device)), segments))
    if steps and by_device is None:
        found.by_device = False
    for number, content in enumerate(reversed(steps)):
        if "at" in content:
            found.at, found.after = content["at"], number
            break
    else:
        found.at, found.after = saved.at, len(steps)
    cut = folder.received.cut + folder.decisions.cut + folder.marks.cut
    if steps:
        found.text += f"; {len(steps):,} steps that came after the saved state were taken from the log"
    if odd:
        log = folder.decisions if by_device else folder.received
        found.text += f"; {log.path}: {len(odd):,} lines cannot be read and are left out ({odd[0]})"
    if cut:
        found.text += f"; half a line of {cut:,} bytes was cut off"
    if holes:
        found.text += f"; {holes:,} bytes were cut off, from a hole on that a loss of power left"
    if folder.received.size < saved.received:
        found.text += f"; {folder.received.path.name} is shorter than it was"
    return found


def _cut_holes(journal: Journal, start: int) -> int:
    """Cut what was not yet promised, from the first hole on; return the bytes.

    A loss of power may keep a later write and lose an earlier one, and zeros then stand in its place. Steps
    after a hole would be kept, and those in it never be taken again.
    """
    at = min(start, journal.size)
    hole = journal.read(at).find(b"\0")
    if hole < 0:
        return 0
    line = at + journal.read(at, hole).rfind(b"\n") + 1
    size = journal.size
    journal.truncate(line)
    return size - line


def _lines(journal: Journal, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield place and object of each line from a place on; one that was damaged is left out."""
    at = min(start, journal.size)
    for line in journal.read(at).splitlines(keepends=True):
        try:
            content = from_json(line)
        except ValueError:
            content = None
        if isinstance(content, dict):
            yield at, content
        at += len(line)


def _cut_beyond(decisions: Journal, start: int, last: int, decided: int) -> int:
    """Cut decisions about steps that the log lacks, as after a loss of power; return the last one."""
    for at, content in _lines(decisions, start):
        if type(content.get("step")) is not int:
            continue
        if content["step"] > last:
            decisions.truncate(at)
            break
        decided = content["step"]
    return decided


def _labels(folder: Folder) -> Iterator[tuple[int, int, int | None]]:
    """Yield the marks that came after the saved state, in their order."""
    for _, content in _lines(folder.marks, folder.saved.marks):
        at, step, label = (content.get(key) for key in ("at", "step", "label"))
        if type(at) is int and type(step) is int and (label is None or type(label) is int):
            yield at, step, label


def _runs(steps: list[dict[str, Any]], cuts: Container[int]) -> Iterator[list[dict[str, Any]]]:
    """Yield steps whose numbers follow each other, up to where a label came.

    Some are missing where the disk was full for too long.
    """
    group: list[dict[str, Any]] = []
    for content in steps:
        alike = not group or ("features" in content) == ("features" in group[-1])
        follows = alike and content["step"] == group[-1]["step"] + 1 if group else True
        if not follows or (group and content["step"] in cuts):
            yield group
            group = []
        group.append(content)
    if group:
        yield group


def _odd(content: dict[str, Any], params: Params, by_device: bool) -> str | None:
    """Return why a line of a log cannot be taken again; None if it can."""
    try:
        if type(content["step"]) is not int or content["step"] < 0:
            return f"step is {str(content['step'])[:20]}, expected an integer"
        _block([content], params, by_device)
        if not by_device and len(content["probs"]) != params.classes:
            return f"probs of step {content['step']} are {len(content['probs'])}, expected {params.classes}"
    except KeyError as error:
        return f"key {error} is missing"
    except (ValueError, TypeError, OverflowError) as error:
        return one_line(str(error), 100)
    return None


def _block(group: list[dict[str, Any]], params: Params, by_device: bool) -> Block:
    times = [float(each["time"]) for each in group]
    boots, seqs = ([each.get(key) for each in group] for key in ("boot", "seq"))
    if by_device:
        rows = [decision_values(each, params.classes) for each in group]
        return Block(times, boots, seqs, steps=np.array(rows, dtype=STEP_DTYPE))
    features = None
    if params.features and ("features" in group[0] or read_features(params)):
        features = np.array([each["features"] for each in group], dtype=np.int8)
    probs = np.array([each["probs"] for each in group], dtype=np.int8)
    labels = [each.get("given_label") for each in group]
    given = [each.get("given_segment") for each in group]
    return Block(times, boots, seqs, probs, features, given, labels)
