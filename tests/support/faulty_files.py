# SPDX-License-Identifier: MIT
"""File operations that fail, or at which the process dies: counted and listed.

`Faults` stands between this process and the file operations of Python: those of `os`, `open` (and what it
returns), `pathlib`, `shutil` and `tempfile`, and the exchange of two folders. It acts on paths under one
folder alone.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import multiprocessing
import os
import pathlib
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from disk_model import Disk, Record

from tcuq.export import folders

DEAD = 77
"""Exit status of a process that died of a fault."""

SPACE = frozenset({"create", "write", "truncate", "mkdir", "link", "symlink", "fsync"})
"""What a full disk refuses; it lets names be moved and removed."""

AFTER = frozenset({"close"})
"""What happens also where it fails."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and where."""

    at: int = 0
    how: str | int = "before"
    lasting: bool = False
    exchange: bool = True
    links: bool = True

    def meets(self, number: int, name: str) -> bool:
        if self.at == 0 or number < self.at:
            return False
        if number == self.at:
            return True
        if not self.lasting:
            return False
        if self.how == errno.ENOSPC:
            return name in SPACE
        return name not in AFTER and (self.how == errno.EIO or name != "read")

    def __str__(self) -> str:
        how = errno.errorcode[self.how] if isinstance(self.how, int) else f"killed {self.how}"
        return f"{how}{' from' if self.lasting else ' at'} {self.at}"


@dataclass
class Outcome:
    """How a run ended: its exit status (`DEAD` where it was killed), what it printed, what it did."""

    status: int
    printed: str = ""
    listed: list[str] = field(default_factory=list)
    record: Record | None = None


class Faults:
    """The file operations of this process under a folder."""

    def __init__(self, root: Path, fault: Fault | None = None, record: bool = False) -> None:
        self.root = str(root.resolve())
        self.fault = fault or Fault()
        self.listed: list[str] = []
        self.disk = Disk(Path(self.root)) if record else None
        self._handles: dict[int, str] = {}
        self._reading: set[int] = set()
        self._true: dict[str, Any] = {}

    def path_of(self, path: Any, folder: int | None = None) -> str | None:
        """Return the whole path if it is under the folder, else None."""
        if isinstance(path, int):
            return self._handles.get(path)
        text = os.fsdecode(path)
        if folder is not None:
            text = os.path.join(self._handles.get(folder, ""), text)
        text = os.path.abspath(text)
        return text if text == self.root or text.startswith(self.root + os.sep) else None

    def meet(
        self, name: str, path: str, act: Callable[[], Any], half: Callable[[], Any] | None = None
    ) -> Any:
        """Do an operation, unless a fault is due."""
        self.listed.append(f"{name} {os.path.relpath(path, self.root)}")
        if not self.fault.meets(len(self.listed), name):
            return act()
        how = self.fault.how
        if isinstance(how, int):
            if name in AFTER:
                act()
            raise OSError(how, os.strerror(how), *(() if name in BY_HANDLE else (path,)))
        try:
            if how == "half" and half is not None:
                half()
            elif how == "after":
                act()
        finally:
            os._exit(DEAD)

    def install(self) -> None:
        """Take the place of the true operations, for the rest of this process."""
        for name in (*BY_PATH, *BY_TWO, "open", "close", "write", "fsync", "ftruncate"):
            self._true[name] = getattr(os, name)
        for name, kind in BY_PATH.items():
            self._put(name, self._by_path(name, kind))
        for name in BY_TWO:
            self._put(name, self._by_two(name))
        self._put("open", self._open)
        self._put("close", self._close)
        self._put("write", self._write)
        self._put("fsync", self._fsync)
        self._put("ftruncate", self._ftruncate)
        self._true["io.open"] = io.open
        builtins.open = io.open = self._open_file
        self._true["exchange"] = folders.exchange
        folders.exchange = self._exchange
        setattr(shutil, "_USE_CP_SENDFILE", False)  # noqa: B010

    def _put(self, name: str, call: Any) -> None:
        accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 keeps the operations there
        for place in (os, accessor):
            if place is not None and hasattr(place, name):
                setattr(place, name, call if place is os else staticmethod(call))

    def _note(self, what: str, *args: Any) -> None:
        if self.disk is not None:
            getattr(self.disk, what)(*args)

    def _by_path(self, name: str, kind: str) -> Any:
        true = self._true[name]

        def call(path: Any, *args: Any, dir_fd: int | None = None, **named: Any) -> Any:
            more = named if dir_fd is None else {**named, "dir_fd": dir_fd}
            whole = self.path_of(path, dir_fd)
            if whole is None:
                return true(path, *args, **more)

            def act() -> None:
                true(path, *args, **more)
                if kind in ("mkdir", "remove", "rmdir"):
                    self._note(kind, whole)
                elif kind == "truncate":
                    self._note("resize", whole, args[0])

            return self.meet(kind, whole, act)

        return call

    def _by_two(self, name: str) -> Any:
        true = self._true[name]

        def call(source: Any, target: Any, *args: Any, **named: Any) -> Any:
            folder = named.get("dst_dir_fd", named.get("dir_fd"))
            one, two = self.path_of(source, named.get("src_dir_fd")), self.path_of(target, folder)
            if two is None:
                return true(source, target, *args, **named)
            if name == "link" and not self.fault.links:
                raise OSError(errno.EPERM, os.strerror(errno.EPERM), two)

            def act() -> None:
                true(source, target, *args, **named)
                if name == "symlink":
                    self._note("symlink", os.fsdecode(source), two)
                elif name == "link":
                    self._note("link", one, two)
                else:
                    self._note("rename", one, two)

            return self.meet("rename" if name == "replace" else name, two, act)

        return call

    def _exchange(self, one: Path, two: Path) -> None:
        if not self.fault.exchange:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        def act() -> None:
            self._true["exchange"](one, two)
            self._note("exchange", str(one), str(two))

        self.meet("exchange", str(two), act)

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        whole = self.path_of(path, dir_fd)
        more = {} if dir_fd is None else {"dir_fd": dir_fd}
        true = self._true["open"]
        if whole is None:
            handle = int(true(path, flags, mode, **more))
            self._handles.pop(handle, None)  # one that was closed behind our back
            return handle
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)

        def act() -> int:
            handle = int(true(path, flags, mode, **more))
            self._handles[handle] = whole
            self._reading.discard(handle)
            if not writes:
                self._reading.add(handle)
            self._note("open", whole, handle, bool(flags & os.O_TRUNC), bool(flags & os.O_APPEND))
            return handle

        return int(self.meet("create" if writes else "read", whole, act))

    def _close(self, handle: int) -> None:
        whole = self._handles.pop(handle, None)
        true = self._true["close"]
        if whole is None or handle in self._reading:  # closing fails where writing was put off
            true(handle)
        else:
            self.meet("close", whole, lambda: true(handle))

    def _write(self, handle: int, data: Any) -> int:
        return self.written(handle, data, self._true["write"])

    def written(self, handle: int, data: Any, true: Callable[[int, Any], int]) -> int:
        whole = self._handles.get(handle)
        if whole is None:
            return true(handle, data)

        def act(data: Any = data) -> int:
            at = os.lseek(handle, 0, os.SEEK_CUR)
            count = true(handle, data)
            self._note("write", handle, at, bytes(memoryview(data)[:count]))
            return count

        some = memoryview(data)[: len(data) // 2]
        return int(self.meet("write", whole, act, lambda: act(some)))

    def _fsync(self, handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        whole = self._handles.get(number)
        if whole is None:
            self._true["fsync"](handle)
            return
        # The disk of a test need not be waited for: whether it would have been is on record.
        self.meet("fsync", whole, lambda: self._note("sync", number))

    def _ftruncate(self, handle: int, size: int) -> None:
        whole = self._handles.get(handle)
        if whole is None:
            self._true["ftruncate"](handle, size)
            return

        def act() -> None:
            self._true["ftruncate"](handle, size)
            self._note("resize_open", handle, size)

        self.meet("truncate", whole, act)

    def _open_file(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if self.path_of(file) is None:
            return self._true["io.open"](file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _Raw(self, file, mode.replace("b", "").replace("t", ""), closefd, opener or self._opened)
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        kind: Any = io.BufferedReader if mode.strip("bt") == "r" else io.BufferedWriter
        stream: Any = (io.BufferedRandom if "+" in mode else kind)(raw, size)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    def _opened(self, path: str, flags: int) -> int:
        return self._open(path, flags, 0o666)


class _Raw(io.FileIO):
    """A file whose writing and closing can fail."""

    def __init__(self, faults: Faults, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        self._faults = faults
        super().__init__(file, mode, closefd, None if isinstance(file, int) else opener)

    def write(self, data: Any) -> int:
        true = super().write
        return self._faults.written(self.fileno(), data, lambda handle, some: int(true(some) or 0))

    def truncate(self, size: int | None = None) -> int:
        least = self.tell() if size is None else size
        self._faults._ftruncate(self.fileno(), least)
        return least

    def close(self) -> None:
        if self.closed:
            return
        handle = self.fileno()
        whole = self._faults._handles.pop(handle, None) if self.closefd else None
        if whole is None or handle in self._faults._reading:
            super().close()
        else:
            self._faults.meet("close", whole, super().close)


BY_PATH = {
    "mkdir": "mkdir",
    "unlink": "remove",
    "remove": "remove",
    "rmdir": "rmdir",
    "chmod": "chmod",
    "utime": "utime",
    "truncate": "truncate",
}
BY_TWO = ("rename", "replace", "link", "symlink")
BY_HANDLE = frozenset({"write", "fsync", "close"})
"""Operations whose errors name no file."""


def _run(work: Callable[[], int], faults: Faults) -> Outcome:
    """Run work with faults in this process, which is a child and ends soon; its output is caught."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    printed = io.StringIO()
    sys.stderr, sys.stdout = printed, io.TextIOWrapper(io.BytesIO(), "utf-8")
    faults.install()
    try:
        status = work()
    except BaseException:
        status = 99
        printed.write(traceback.format_exc())
    record = None if faults.disk is None else faults.disk.record
    return Outcome(status, printed.getvalue(), faults.listed, record)


def run_forked(work: Callable[[], int], root: Path, fault: Fault | None = None) -> Outcome:
    """Run all of some work in a process of its own, with a fault or without."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            here.close()
            there.send(_run(work, Faults(root, fault, record=root.is_dir())))
            os._exit(0)
        finally:  # whatever happens, this process never goes on with the tests
            os._exit(1)
    there.close()
    with here, contextlib.suppress(EOFError):
        found = here.recv()
        os.waitpid(child, 0)
        assert isinstance(found, Outcome)
        return found
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == DEAD, f"the process ended with status {status}"
    return Outcome(DEAD)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file under a folder with its content, and every folder and link."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(os.readlink(path))
        elif path.is_dir():
            found[name + "/"] = b""
        else:
            found[name] = path.read_bytes()
    return found


def restore(folder: Path, content: dict[str, bytes]) -> None:
    """Make a folder hold what a snapshot says, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        if name.endswith("/"):
            (folder / name).mkdir()
        elif data.startswith(b"-> "):
            os.symlink(data[3:], folder / name)
        else:
            (folder / name).write_bytes(data)
