# SPDX-License-Identifier: MIT
"""A disk that promises only what it was told to keep: what a folder looks like after a loss of power.

What a file holds is kept by an fsync of the file, a name by an fsync of the folder that it stands in; a name
that moves from one folder to another is in both at once or in neither. All else may be lost, or not, in
any order: only what happened to the names of one folder stays in its order.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

Entry = tuple[int, str, "int | None"]
"""A folder, a name in it, and what it stands for from now on; None for nothing."""


@dataclass
class Node:
    """A file, a folder (`names` is not None) or a link (`to` is not empty)."""

    data: bytes = b""
    names: dict[str, int] | None = None
    to: str = ""


@dataclass
class Change:
    """One change: of names, of a file's content from a place on, or of its size; or a wait for the disk."""

    names: tuple[Entry, ...] = ()
    node: int = -1
    at: int = 0
    data: bytes = b""
    size: int | None = None
    sync: bool = False


@dataclass
class Record:
    """What a disk held in the beginning (node 0 is the folder), and all that changed."""

    nodes: list[Node] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def crashed(self, at: int, names: str, data: str, seed: int = 0) -> dict[str, bytes]:
        rng = random.Random(seed)
        done = self.changes[:at]
        kept = {n for n, change in enumerate(done) if change.names and self._promised(n, done)}
        for n, change in enumerate(done):
            if change.names and (names == "all" or (names == "some" and rng.random() < 0.5)):
                kept.add(n)
        for n in range(len(done) - 1, -1, -1):  # what is kept keeps what came before it in its folders
            if n in kept:
                folders = {folder for folder, _, _ in done[n].names}
                kept |= {m for m in range(n) if any(folder in folders for folder, _, _ in done[m].names)}
        nodes = [
            Node(node.data, None if node.names is None else dict(node.names), node.to) for node in self.nodes
        ]
        last = {change.node: n for n, change in enumerate(done) if change.sync}
        for n, change in enumerate(done):
            if n in kept:
                for folder, name, to in change.names:
                    there = nodes[folder].names
                    assert there is not None
                    if to is None:
                        there.pop(name, None)
                    else:
                        there[name] = to
            elif change.node >= 0 and not change.sync:
                promised = n < last.get(change.node, -1)
                how = (
                    "all"
                    if promised
                    else rng.choice(("none", "all", "half", "zeros"))
                    if data == "some"
                    else data
                )
                nodes[change.node].data = _changed(nodes[change.node].data, change, how)
        return dict(_listed(nodes, 0, "", set()))

    @staticmethod
    def _promised(n: int, done: list[Change]) -> bool:
        folders = {folder for folder, _, _ in done[n].names}
        return any(change.sync and change.node in folders for change in done[n:])


def _changed(data: bytes, change: Change, how: str) -> bytes:
    if how == "none":
        return data
    if change.size is not None:
        return data[: change.size].ljust(change.size, b"\0")
    piece = change.data[: len(change.data) // 2] if how == "half" else change.data
    if how == "zeros":
        piece = bytes(len(piece))
    return data[: change.at].ljust(change.at, b"\0") + piece + data[change.at + len(piece) :]


def _listed(nodes: list[Node], number: int, inside: str, above: set[int]) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    names = nodes[number].names
    assert names is not None and number not in above, "a folder inside itself"
    for name, to in sorted(names.items()):
        node = nodes[to]
        if node.to:
            found.append((inside + name, b"-> " + os.fsencode(node.to)))
        elif node.names is None:
            found.append((inside + name, node.data))
        else:
            found += [(f"{inside}{name}/", b""), *_listed(nodes, to, f"{inside}{name}/", above | {number})]
    return found


class Disk:
    """Follow the changes of a folder by their paths."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.record = Record()
        self._now: list[dict[str, int] | None] = []
        self._open: dict[int, tuple[int, bool]] = {}
        self._add(root)

    def _add(self, path: Path) -> int:
        number = self._new(Node())
        node = self.record.nodes[number]
        if path.is_symlink():
            node.to = os.readlink(path)
        elif path.is_dir():
            node.names = self._now[number] = {}
            for each in sorted(os.listdir(path)):
                node.names[each] = self._add(path / each)
            self._now[number] = dict(node.names)
        else:
            node.data = path.read_bytes()
        return number

    def _new(self, node: Node) -> int:
        self.record.nodes.append(node)
        self._now.append(None if node.names is None else {})
        return len(self.record.nodes) - 1

    def _find(self, path: str) -> tuple[int, str, int | None]:
        """Return the folder of a path, its name in there, and what it stands for now."""
        parts = [part for part in os.path.relpath(path, self.root).split(os.sep) if part != "."]
        folder = 0
        for part in parts[:-1]:
            folder = self._names(folder)[part]
        return (folder, parts[-1], self._names(folder).get(parts[-1])) if parts else (0, "", 0)

    def _names(self, folder: int) -> dict[str, int]:
        names = self._now[folder]
        assert names is not None
        return names

    def _set(self, *entries: Entry) -> None:
        self.record.changes.append(Change(names=entries))
        for folder, name, to in entries:
            if to is None:
                self._names(folder).pop(name, None)
            else:
                self._names(folder)[name] = to

    def open(self, path: str, handle: int, empty: bool, append: bool) -> None:
        folder, name, number = self._find(path)
        if number is None:
            number = self._new(Node())
            self._set((folder, name, number))
        elif empty:
            self.record.changes.append(Change(node=number, size=0))
        self._open[handle] = number, append

    def write(self, handle: int, at: int, data: bytes) -> None:
        number, append = self._open[handle]
        place = os.fstat(handle).st_size - len(data) if append else at
        self.record.changes.append(Change(node=number, at=place, data=data))

    def sync(self, handle: int) -> None:
        self.record.changes.append(Change(node=self._open[handle][0], sync=True))

    def resize_open(self, handle: int, size: int) -> None:
        self.record.changes.append(Change(node=self._open[handle][0], size=size))

    def resize(self, path: str, size: int) -> None:
        self.record.changes.append(Change(node=self._find(path)[2] or 0, size=size))

    def mkdir(self, path: str) -> None:
        folder, name, _ = self._find(path)
        self._set((folder, name, self._new(Node(names={}))))

    def symlink(self, to: str, path: str) -> None:
        folder, name, _ = self._find(path)
        self._set((folder, name, self._new(Node(to=to))))

    def link(self, one: str, two: str) -> None:
        folder, name, _ = self._find(two)
        self._set((folder, name, self._find(one)[2]))

    def remove(self, path: str) -> None:
        folder, name, _ = self._find(path)
        self._set((folder, name, None))

    rmdir = remove

    def rename(self, one: str, two: str) -> None:
        (source, old, number), (target, new, _) = self._find(one), self._find(two)
        self._set((source, old, None), (target, new, number))

    def exchange(self, one: str, two: str) -> None:
        (source, old, number), (target, new, other) = self._find(one), self._find(two)
        self._set((source, old, other), (target, new, number))
