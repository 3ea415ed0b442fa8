# SPDX-License-Identifier: MIT
"""What must hold after any fault: the old output or the new one, one line, and a next run that mends all."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fault_cases import Case, Kept
from faulty_files import DEAD, Fault, Outcome, restore, run_forked, snapshot

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
DEATHS = ("before", "half", "after")
LOSSES = (("none", "none"), ("all", "none"), ("all", "half"), ("all", "zeros"), ("none", "all"))
LITTER = re.compile(r"(^|/)\.(tcuq\.[^/]*|[^/]*\.tcuq-export/.*)$")

CLEANING = ("remove", "rmdir", "chmod", "read")

Content = dict[str, bytes]


def visible(content: Content) -> Content:
    """Return what is no litter."""
    return {name: data for name, data in content.items() if not LITTER.search(name)}


class Points:
    """A case that is tried at each of its points."""

    def __init__(self, case: Case | Kept, place: Path, exchange: bool = True, links: bool = True) -> None:
        self.case, self.place, self.out = case, place, place / "out"
        self.system = {"exchange": exchange, "links": links}
        case.prepare(place)
        self.old = snapshot(self.out)
        self._again: set[frozenset[tuple[str, bytes]]] = set()
        self.clean = self.run(self.old)
        assert self.clean.status == 0, (case.name, self.clean.printed)
        assert self.clean.record is not None
        self.record = self.clean.record

    def run(self, content: Content, fault: Fault | None = None) -> Outcome:
        """Run from what a folder held, with a fault or without."""
        restore(self.out, content)
        fault = fault or Fault()
        given = Fault(fault.at, fault.how, fault.lasting, **self.system)
        return run_forked(lambda: self.case.work(self.place), self.out, given)

    def again(self, content: Content, what: str) -> None:
        """Run once more without a fault, where that was not tried yet: it mends all."""
        key = frozenset(content.items())
        if key not in self._again:
            self._again.add(key)
            found = self.run(content)
            assert found.status == 0, f"{what}: the next run said {found.printed!r}"
            self.mended(what)

    def fault(self, fault: Fault) -> None:
        found = self.run(self.old, fault)
        what = f"{self.case.name}, {fault} ({self.clean.listed[fault.at - 1]})"
        content = snapshot(self.out)
        self.whole(content, what)
        if isinstance(fault.how, int):
            self.said(found, fault, content, what)
        else:
            assert found.status == DEAD, what
        self.again(content, what)

    def loss(self, at: int, names: str, data: str, seed: int = 0) -> None:
        what = f"{self.case.name}, power lost after {at} changes, names: {names}, data: {data}, seed {seed}"
        content = self.record.crashed(at, names, data, seed)
        self.whole(content, what, done=at == len(self.record.changes))
        self.again(content, what)

    def whole(self, content: Content, what: str, done: bool = False) -> None:
        """Hold what a fault left against what may be there."""

    def said(self, found: Outcome, fault: Fault, content: Content, what: str) -> None:
        """Hold an error against what a command may say."""
        assert found.status in (0, 1, 2), f"{what}: {found.status} {found.printed}"
        if found.status == 2:
            assert found.printed.count("\n") == 1 and str(self.out) in found.printed, (
                f"{what}: {found.printed}"
            )
        assert "a bug" not in found.printed, f"{what}: {found.printed}"

    def mended(self, what: str) -> None:
        """Hold what the next run left against what it should."""

    def faults(self) -> Iterator[Fault]:
        for at, operation in enumerate(self.clean.listed, 1):
            for how in (*DEATHS, *ERRORS):
                if how != "half" or operation.startswith("write"):
                    yield Fault(at, how)
            for error in ERRORS[:3]:
                yield Fault(at, error, lasting=True)

    def losses(self, seeds: int) -> Iterator[tuple[int, str, str, int]]:
        for at in range(len(self.record.changes) + 1):
            for names, data in LOSSES:
                yield at, names, data, 0
            for seed in range(seeds):
                yield at, "some", "some", seed


class Tried(Points):
    """Output that is the old one or the new one."""

    case: Case

    def __init__(self, case: Case, place: Path, exchange: bool = True, links: bool = True) -> None:
        super().__init__(case, place, exchange, links)
        self.new = snapshot(self.out)
        assert self.new == visible(self.new) and self.new != self.old, case.name

    def whole(self, content: Content, what: str, done: bool = False) -> None:
        found, order = visible(content), []
        assert not done or found == self.new, f"{what}: the new output was said to be written"
        if not self.system["exchange"] and self._between(content):
            return
        for part in self.case.parts:
            pieces = [
                {name: data for name, data in each.items() if name.startswith(part)}
                for each in (found, self.old, self.new)
            ]
            assert pieces[0] in pieces[1:], f"{what}: {sorted(pieces[0])} is neither"
            order.append(pieces[0] == pieces[2])
        # Of several outputs, those that come first are written first.
        assert order == sorted(order, reverse=True), f"{what}: {order}"

    def _between(self, content: Content) -> bool:
        """Tell whether the folder is on its way between two renames, and all of it is there."""
        moved = {
            re.sub(r"^\.(.*?)\.tcuq-export/old/", r"\1/", name): data
            for name, data in content.items()
            if "/old/" in name
        }
        return not visible(content) and moved == self.old

    def said(self, found: Outcome, fault: Fault, content: Content, what: str) -> None:
        """Hold an error against what may be said, and see that nothing is left lying about."""
        if found.status == 0:
            assert visible(content) == self.new, f"{what}: no error, and not the new output"
        elif self.case.command:
            assert found.status == 2, f"{what}: {found.status} {found.printed}"
            super().said(found, fault, content, what)
        else:
            last = found.printed.strip().splitlines()[-1]
            assert found.status == 99 and "Error" in last and str(self.out) in last, (what, last)
        # Where removing fails, something stays for the next run.
        if not fault.lasting and not self.clean.listed[fault.at - 1].startswith(CLEANING):
            assert content == visible(content), f"{what}: left {sorted(content)}"

    def mended(self, what: str) -> None:
        """Ask for the new output, and nothing else."""
        left = snapshot(self.out)
        more = sorted(set(left) ^ set(self.new)) or "other bytes"
        assert left == self.new, f"{what}: after the next run: {more}"


class Going(Points):
    """Work that goes on where it was."""

    case: Kept

    def __init__(self, case: Kept, place: Path) -> None:
        super().__init__(case, place)
        self.wanted = case.look(place)

    def mended(self, what: str) -> None:
        """Ask for what the work gives without a fault, and no litter."""
        assert self.case.look(self.place) == self.wanted, f"{what}: the next run says something else"
        left = [name for name in snapshot(self.out) if LITTER.search(name) or name.endswith(".part")]
        assert not left, f"{what}: the next run left {left}"


def sampled(every: Iterable[Any], count: int, start: int) -> list[Any]:
    """Return about so many of them, evenly spread; all of them where TCUQ_FAULTS is "all"."""
    listed = list(every)
    stride = 1 if os.environ.get("TCUQ_FAULTS") == "all" else max(1, len(listed) // count)
    return listed[start % stride :: stride]
