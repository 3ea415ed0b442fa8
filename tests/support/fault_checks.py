# SPDX-License-Identifier: MIT
"""What must hold after any fault: the old output or the new one, one line, and a next run that mends all."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fault_cases import Case, Kept
from faulty_files import DEAD, Fault, Outcome, restore, run_forked, snapshot

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
DEATHS = ("before", "half", "after")
LOSSES = (("none", "none"), ("all", "none"), ("all", "half"), ("all", "zeros"), ("none", "all"))
LITTER = re.compile(r"(^|/)\.(tcuq\.[^/]*|[^/]*\.tcuq-export/.*)$")

CLEANING = ("remove", "rmdir", "list", "chmod", "read")

Content = dict[str, bytes]


def visible(content: Content) -> Content:
    """Return what is no litter."""
    return {name: data for name, data in content.items() if not LITTER.search(name)}


class Tried:
    """A case whose points are tried one by one."""

    def __init__(self, case: Case, place: Path, exchange: bool = True, links: bool = True) -> None:
        self.case, self.place, self.out = case, place, place / "out"
        self.system = {"exchange": exchange, "links": links}
        case.prepare(place)
        self.old = snapshot(self.out)
        self._again: set[frozenset[tuple[str, bytes]]] = set()
        self.clean = self.run(Fault())
        assert self.clean.status == 0, (case.name, self.clean.printed)
        assert self.clean.record is not None
        self.new = snapshot(self.out)
        assert self.new == visible(self.new) and self.new != self.old, case.name
        self.record = self.clean.record

    def run(self, fault: Fault) -> Outcome:
        """Run from what was there before, with a fault."""
        restore(self.out, self.old)
        given = Fault(fault.at, fault.how, fault.lasting, **self.system)
        return run_forked(lambda: self.case.work(self.place), self.out, given)

    def whole(self, content: Content, what: str) -> None:
        """Hold a folder against the old and the new one."""
        found, order = visible(content), []
        if not self.system["exchange"] and self._between(content):
            return
        for part in self.case.parts:
            pieces = [
                {name: data for name, data in each.items() if name.startswith(part)}
                for each in (found, self.old, self.new)
            ]
            assert pieces[0] in pieces[1:], f"{self.case.name}, {what}: {sorted(pieces[0])} is neither"
            order.append(pieces[0] == pieces[2])
        # Of several outputs, those that come first are written first.
        assert order == sorted(order, reverse=True), f"{self.case.name}, {what}: {order}"

    def _between(self, content: Content) -> bool:
        """Tell whether the folder is on its way between two renames, and all of it is there."""
        moved = {
            re.sub(r"^\.(.*?)\.tcuq-export/old/", r"\1/", name): data
            for name, data in content.items()
            if "/old/" in name
        }
        return not visible(content) and moved == self.old

    def again(self, content: Content, what: str) -> None:
        """Run once more without a fault: the new output, and nothing else."""
        key = frozenset(content.items())
        if key in self._again:
            return
        self._again.add(key)
        restore(self.out, content)
        found = run_forked(lambda: self.case.work(self.place), self.out, Fault(0, **self.system))
        assert found.status == 0, f"{self.case.name}, {what}: the next run said {found.printed!r}"
        left = snapshot(self.out)
        more = sorted(set(left) ^ set(self.new)) or "other bytes"
        assert left == self.new, f"{self.case.name}, {what}: after the next run: {more}"

    def fault(self, fault: Fault) -> None:
        """Check one fault."""
        found, what = self.run(fault), f"{fault} ({self.clean.listed[fault.at - 1]})"
        content = snapshot(self.out)
        self.whole(content, what)
        if isinstance(fault.how, int):
            self._said(found, fault, content, what)
        else:
            assert found.status == DEAD, what
        self.again(content, what)

    def _said(self, found: Outcome, fault: Fault, content: Content, what: str) -> None:
        case = self.case
        if found.status == 0:
            assert visible(content) == self.new, f"{case.name}, {what}: no error, and not the new output"
        elif case.command:
            assert found.status == 2, f"{case.name}, {what}: {found.status} {found.printed}"
            assert found.printed.count("\n") == 1, f"{case.name}, {what}: {found.printed}"
            assert str(self.out) in found.printed, f"{case.name}, {what}: {found.printed}"
            assert "a bug" not in found.printed, f"{case.name}, {what}: {found.printed}"
        else:
            last = found.printed.strip().splitlines()[-1]
            assert found.status == 99 and "Error" in last and str(self.out) in last, (case.name, what, last)
        # Where removing fails, something stays for the next run.
        if not fault.lasting and not self.clean.listed[fault.at - 1].startswith(CLEANING):
            assert content == visible(content), f"{case.name}, {what}: left {sorted(content)}"

    def loss(self, at: int, names: str, data: str, seed: int = 0) -> None:
        """Check one loss of power."""
        what = f"power lost after {at} changes, names: {names}, data: {data}, seed {seed}"
        content = self.record.crashed(at, names, data, seed)
        self.whole(content, what)
        if at == len(self.record.changes):
            assert visible(content) == self.new, (
                f"{self.case.name}, {what}: the new output was said to be written"
            )
        self.again(content, what)

    def faults(self) -> Iterator[Fault]:
        """Give every fault at every point."""
        return every_fault(self.clean.listed)

    def losses(self, seeds: int) -> Iterator[tuple[int, str, str, int]]:
        """Give every loss of power at every point."""
        return every_loss(len(self.record.changes), seeds)


class Going:
    """Work that goes on where it was, tried at its points."""

    def __init__(self, case: Kept, place: Path) -> None:
        self.case, self.place, self.out = case, place, place / "out"
        case.prepare(place)
        self.old = snapshot(self.out)
        self.clean = run_forked(lambda: case.work(place), self.out)
        assert self.clean.status == 0 and self.clean.record is not None, self.clean.printed
        self.record = self.clean.record
        self.wanted = case.look(place)
        self._again: set[frozenset[tuple[str, bytes]]] = set()

    def fault(self, fault: Fault) -> None:
        """Check one fault."""
        restore(self.out, self.old)
        found = run_forked(lambda: self.case.work(self.place), self.out, fault)
        what = f"{self.case.name}, {fault} ({self.clean.listed[fault.at - 1]})"
        if isinstance(fault.how, int):
            lines = found.printed.splitlines()
            assert found.status in (0, 1, 2), f"{what}: {found.status} {found.printed}"
            assert found.status != 2 or (len(lines) == 1 and str(self.out) in lines[0]), (
                f"{what}: {found.printed}"
            )
            assert "a bug" not in found.printed, f"{what}: {found.printed}"
        self._goes_on(snapshot(self.out), what)

    def loss(self, at: int, names: str, data: str, seed: int = 0) -> None:
        """Check one loss of power."""
        what = f"{self.case.name}, power lost after {at} changes, names: {names}, data: {data}, seed {seed}"
        self._goes_on(self.record.crashed(at, names, data, seed), what)

    def _goes_on(self, content: Content, what: str) -> None:
        key = frozenset(content.items())
        if key in self._again:
            return
        self._again.add(key)
        restore(self.out, content)
        found = run_forked(lambda: self.case.work(self.place), self.out)
        assert found.status == 0, f"{what}: the next run said {found.printed!r}"
        assert self.case.look(self.place) == self.wanted, f"{what}: the next run says something else"
        left = [name for name in snapshot(self.out) if LITTER.search(name) or name.endswith(".part")]
        assert not left, f"{what}: the next run left {left}"

    def faults(self) -> Iterator[Fault]:
        """Give every fault at every point."""
        return every_fault(self.clean.listed)

    def losses(self, seeds: int) -> Iterator[tuple[int, str, str, int]]:
        """Give every loss of power at every point."""
        return every_loss(len(self.record.changes), seeds)


def every_fault(listed: Sequence[str]) -> Iterator[Fault]:
    """Give every fault at every operation."""
    for at, operation in enumerate(listed, 1):
        for how in (*DEATHS, *ERRORS):
            if how != "half" or operation.startswith("write"):
                yield Fault(at, how)
        for error in ERRORS[:3]:
            yield Fault(at, error, lasting=True)


def every_loss(changes: int, seeds: int) -> Iterator[tuple[int, str, str, int]]:
    """Give every loss of power after every change."""
    for at in range(changes + 1):
        for names, data in LOSSES:
            yield at, names, data, 0
        for seed in range(seeds):
            yield at, "some", "some", seed


def sampled(every: Iterable[Any], count: int, start: int) -> list[Any]:
    """Return about so many of them, evenly spread; all of them where TCUQ_FAULTS is "all"."""
    listed = list(every)
    stride = 1 if os.environ.get("TCUQ_FAULTS") == "all" else max(1, len(listed) // count)
    return listed[start % stride :: stride]
