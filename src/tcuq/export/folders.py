"""Putting several files into a folder, all of them or none."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..base.atomic_files import lock_file, sync_folder, write_synced
from ..base.errors import InputError

_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM, errno.EACCES)
_NO_LINK = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


def write_folder(folder: str | Path, texts: Mapping[str, str | bytes]) -> None:
    """Put files into a folder so that it holds all of the new ones or all of the old ones at any moment."""
    # Where the system cannot exchange two folders in one operation, the folder is missing between two
    # renames; `recover` brings it back when the process was killed just there.
    target = Path(folder).resolve()
    refuse_fixed(target)
    try:
        with _shop(target) as shop:
            new = shop / "new"
            _stage(target, new, texts)
            _swap(new, target, shop / "old")
            sync_folder(target.parent)
    except OSError as error:
        # The error names a temporary file that the user never asked for.
        raise OSError(error.errno, error.strerror, str(folder)) from None


def prepare(folder: str | Path) -> Path:
    """Return a folder to write, after `recover`; refuse one that cannot be made."""
    target = Path(folder)
    if not target.parent.is_dir():
        raise InputError("missing", f"{target}: folder {target.parent} does not exist; make it first")
    recover(target)
    if target.exists() and not target.is_dir():
        raise InputError("exists", f"{target}: is a file, expected a folder; name another one")
    return target


def recover(folder: str | Path) -> None:
    """Undo what a killed `write_folder` left half done, and remove what it left behind."""
    target = Path(folder).resolve()
    if target.with_name(f".{target.name}.tcuq-export").is_dir():
        with _shop(target):
            pass


def refuse_fixed(target: Path) -> None:
    """Refuse a folder that other things hold on to: they would keep the old one."""
    if not target.exists():
        return
    here = Path.cwd()
    what = "a mount point" if os.path.ismount(target) else "the current folder" if here == target else ""
    if not what and target in here.parents:
        what = "around the current folder"
    if what:
        problem = f"{target}: is {what}, which cannot be replaced as a whole"
        raise InputError("unsupported", f"{problem}; name a folder inside it: {target / 'monitor'}")


@contextmanager
def _shop(target: Path) -> Iterator[Path]:
    """Give an empty folder beside the target that nobody else uses, and take it away in the end."""
    shop = target.with_name(f".{target.name}.tcuq-export")
    with suppress(FileExistsError):
        os.mkdir(shop)
    handle = _lock(shop, target)
    try:
        # What is there now was left by a process that was killed.
        _put_back(shop, target)
        if (shop / "old").is_dir() and (shop / "new").is_dir():
            problem = f"{target}: was made again after an export was interrupted"
            way = f"move the folder as it was, {shop / 'old'}, where you want it, then remove {shop}"
            raise InputError("exists", f"{problem}; {way}")
        for left in list(shop.iterdir()):
            _remove(left)
        yield shop
    finally:
        try:
            # Also after an interrupt between two renames: the only copy of a folder is never removed.
            _put_back(shop, target)
            if not (shop / "old").is_dir() or (target.exists() and not (shop / "new").is_dir()):
                with suppress(OSError):
                    _remove(shop)
        finally:
            if handle is not None:
                os.close(handle)


def _put_back(shop: Path, target: Path) -> None:
    """Give the folder that was moved away its place again, if nothing took it."""
    old = shop / "old"
    if old.is_dir() and not target.exists():
        try:
            os.rename(old, target)
        except OSError as error:
            problem = f"an export was interrupted and its folder cannot be put back ({error.strerror})"
            raise InputError("failed", f"{target}: {problem}; it lies in {old}") from None
        sync_folder(target.parent)


def _remove(folder: Path) -> None:
    """Remove a folder, also one with folders that are read-only, as they were taken along."""
    for inner, names, _ in os.walk(folder):
        os.chmod(inner, stat.S_IRWXU)
        for name in names:
            place = os.path.join(inner, name)
            if not os.path.islink(place):
                os.chmod(place, stat.S_IRWXU)
    shutil.rmtree(folder)


def _lock(shop: Path, target: Path) -> int | None:
    try:
        handle = os.open(shop, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return None
    locked = lock_file(handle)
    if not locked:
        os.close(handle)
    if locked is False:
        raise InputError("busy", f"{target}: another export is writing to it; wait until it has ended")
    return handle if locked else None


def _stage(target: Path, new: Path, texts: Mapping[str, str | bytes]) -> None:
    """Build a copy of the folder with the new files; others are linked into it, not rewritten."""
    os.mkdir(new)
    copied: list[tuple[Path, Path]] = []
    if target.exists():
        copied = _take_along(target, new, {Path(file) for file in texts}, Path())
    for file, text in texts.items():
        place = new / file
        for parent in reversed(Path(file).parents):
            if not (new / parent).is_dir():
                os.mkdir(new / parent)
        content = text.encode() if isinstance(text, str) else text
        write_synced(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), content)
    for inner, _, _ in os.walk(new, topdown=False):
        sync_folder(inner)
    for source, copy in copied:  # at last: a folder that was read-only had to be written
        shutil.copystat(source, copy)


def _take_along(source: Path, copy: Path, replaced: set[Path], inside: Path) -> list[tuple[Path, Path]]:
    """Link everything that is not replaced into the copy of a folder; return folders with their copies."""
    copied: list[tuple[Path, Path]] = []
    for entry in sorted(os.scandir(source), key=lambda found: found.name):
        path, place = inside / entry.name, copy / entry.name
        if entry.is_symlink():
            if path not in replaced:
                os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir():
            if os.path.ismount(entry.path):
                raise InputError("unsupported", f"{entry.path}: is a mount point; export into another folder")
            os.mkdir(place)
            copied += _take_along(Path(entry.path), place, replaced, path)
        elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            raise InputError("unsupported", f"{entry.path}: is not a file or folder; export elsewhere")
        elif path not in replaced:
            _link(entry.path, place)
    return [*copied, (source, copy)]


def _link(source: str, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, place)
        with open(place, "rb") as copy:  # the file that it is a copy of is removed soon
            os.fsync(copy.fileno())


def _swap(new: Path, target: Path, old: Path) -> None:
    if not target.exists():
        os.rename(new, target)
        return
    try:
        exchange(new, target)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        os.rename(target, old)  # `_shop` puts it back when anything goes wrong from here on
        os.rename(new, target)


def exchange(one: Path, two: Path) -> None:
    """Exchange two folders in one operation; an OSError where the system has none."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    current, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if call(current, os.fsencode(one), current, os.fsencode(two), flag) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
