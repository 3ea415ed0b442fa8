"""Where decisions go: a file a commit, exactly once, or a topic of MQTT, at least once.

A fleet keeps its decisions itself, by number of commit. A sink gets them after the commit and knows by
itself which it has: after a restart it is given those that it lacks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import make_folder, refuse_links, write_whole
from tcuq.base.errors import InputError, wrong_value
from tcuq.io.tables import decision_table, encode_table, package
from tcuq.monitor.steps import step_columns

from ..engine.events import Decided

FORMATS = ("parquet", "jsonl")
PATIENCE = 60.0
"""Seconds that a broker may take for a decision; after that the run ends, and the next one sends it again."""

MARK = ".tcuq-fleet"
"""Names, in a folder of decisions, the fleet whose decisions they are: its folder and its identity."""

IDENTITY = "identity"
"""In a fleet's folder: a fleet that is begun again in the same place has another one."""


class Sink(Protocol):
    """Takes decisions, commit by commit."""

    def begin(self, last: int) -> int:
        """Get ready, with the number of the last commit; return that of the last one that this sink has."""
        ...

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        """Take the decisions of one commit."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_sink(text: str, folder: Path, format: str | None = None) -> Sink:
    """Return the sink that a text names.

    A folder, or ``mqtt://host:port/topic``, in which ``{device}`` and ``{version}`` may stand. Files are by
    default of the format of those that are there, else Parquet where it can be written.
    """
    if text.startswith(("mqtt://", "mqtts://")):
        from ..sources.mqtt import Address

        return MqttSink(Address.of(text), folder)
    if format is None:
        format = _usual_format(Path(text))
    return FileSink(Path(text), folder, format)


def _usual_format(out: Path) -> str:
    if (out / MARK).exists() and not _numbers(out, "parquet") and _numbers(out, "jsonl"):
        return "jsonl"
    try:
        package("parquet")
    except ValueError:
        return "jsonl"
    return "parquet"


def decision_columns(decided: Decided) -> dict[str, npt.NDArray[Any]]:
    """Return who and when, and all of a step, as columns."""
    return {
        "device": np.asarray(decided.devices, dtype=object),
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": decided.times,
        "version": np.full(len(decided), decided.version, dtype=object),
        **step_columns(np.asarray(decided.steps), decided.steps.class_names),
    }


def decision_lines(decided: Decided) -> list[str]:
    """Return one line of JSON a decision; fractions have six decimals, which name their 1/65536 exactly."""
    columns = decision_columns(decided)
    names = list(columns)
    lists = []
    for values in columns.values():
        if values.dtype.kind == "f":
            rounded = np.round(values, 6)
            lists.append([None if value != value else value for value in rounded.tolist()])
        else:
            lists.append(values.tolist())
    return [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in zip(*lists, strict=True)
    ]


class FileSink:
    """A file a commit, named by its number, whole or not there: each decision exactly once."""

    def __init__(self, out: Path, folder: Path, format: str) -> None:
        if format not in FORMATS:
            raise wrong_value("format", format, f"one of {', '.join(FORMATS)}")
        if out.suffix in (".parquet", ".jsonl", ".npz", ".csv") or (out.exists() and not out.is_dir()):
            raise InputError("value", f"{out}: is a file name, expected a folder: there is one file a commit")
        if folder.resolve() in (out.resolve(), *out.resolve().parents):
            raise InputError("conflict", f"{out}: is inside the fleet's folder, expected a folder beside it")
        if format == "parquet":
            package("parquet")  # before the first commit, if it is missing
        self.out, self.format = out, format
        self._folder = folder

    def begin(self, last: int) -> int:
        """Remove what does not belong to a commit; see `Sink`."""
        make_folder(self.out)
        refuse_links(self.out)
        mark, owner = self.out / MARK, self._owner()
        found = mark.read_text(encoding="utf-8") if mark.exists() else None
        numbers = _numbers(self.out, self.format)
        [other] = [each for each in FORMATS if each != self.format]
        others = _numbers(self.out, other)
        if found is None and (numbers or others):
            raise InputError("exists", f"{self.out}: holds other files of numbers, expected an empty folder")
        if found is not None and found != owner:
            place = found.partition("\n")[0]
            again = " as it was before it was begun again" if place == str(self._folder.resolve()) else ""
            raise InputError(
                "conflict",
                f"{self.out}: holds decisions of the fleet {place}{again}, "
                "expected a folder of its own for each fleet",
            )
        if others:
            raise InputError(
                "conflict", f"{self.out}: holds decisions as {other}, expected this format or a new folder"
            )
        write_whole(mark, owner, links=False)
        for left in self.out.glob(".tcuq.*"):  # of a process that was killed while it wrote
            left.unlink()
        for number in numbers:
            if number > last:
                self._path(number).unlink()
        return max((number for number in numbers if number <= last), default=-1)

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        """Write the file of one commit; one that is there is replaced."""
        parts = [part for part in decided if len(part)]
        if not parts:
            return
        if self.format == "jsonl":
            lines = [line for part in parts for line in decision_lines(part)]
            write_whole(self._path(number), "".join(f"{line}\n" for line in lines).encode())
        else:
            write_whole(self._path(number), encode_table(_table(parts), "parquet"))

    def close(self) -> None:
        """Do nothing: every file is closed."""

    def _owner(self) -> str:
        """Return the fleet's folder and identity; the first sink gives it one."""
        path = self._folder / IDENTITY
        if not path.exists():
            make_folder(self._folder)
            write_whole(path, uuid.uuid4().hex)
        return f"{self._folder.resolve()}\n{path.read_text(encoding='utf-8')}"

    def _path(self, number: int) -> Path:
        return self.out / f"{number:08d}.{self.format}"


def _numbers(out: Path, format: str) -> list[int]:
    """Return the commits whose files are there."""
    found = (re.fullmatch(rf"(\d{{8,}})\.{format}", each.name) for each in out.iterdir())
    return sorted(int(match[1]) for match in found if match)


def _table(parts: Sequence[Decided]) -> Any:
    """Return decisions of several versions as one Arrow table; a column that one lacks is null there."""
    tables = [decision_table(_with_null_times(decision_columns(part))) for part in parts]
    return (
        tables[0] if len(tables) == 1 else package("parquet").concat_tables(tables, promote_options="default")
    )


def _with_null_times(columns: dict[str, Any]) -> dict[str, Any]:
    times = columns["time"]
    return {**columns, "time": package("parquet").array(times, mask=np.isnan(times))}


class MqttSink:
    """A message a decision, as JSON, at least once: after a kill some may come again.

    ``{device}`` and ``{version}`` in the topic are filled in; ``/``, ``+`` and ``#`` become ``_``.
    """

    def __init__(self, address: Any, folder: Path) -> None:
        from ..sources.mqtt import Connection

        if {"+", "#"} & set(address.topic):
            raise InputError(
                "value", f"topic {address.topic!r} has a wildcard, expected {{device}} or {{version}}"
            )
        name = hashlib.sha256(f"out {folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.address = address
        self._mark = folder / f"sent-{name}.json"
        self.connection = Connection(address, f"tcuq-{name}", subscribe=False)
        self.connection.client.max_inflight_messages_set(1000)

    def begin(self, last: int) -> int:
        """Connect; a sink that is new begins with the next commit."""
        self.connection.open()
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return min(last, int(json.loads(self._mark.read_text(encoding="utf-8"))["commit"]))
        self._note(last)
        return last

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        """Send the decisions of one commit and wait until the broker has them."""
        sent = []
        for part in decided:
            version = _level(part.version)
            for device, line in zip(part.devices.tolist(), decision_lines(part), strict=True):
                topic = self.address.topic.replace("{device}", _level(device)).replace("{version}", version)
                sent.append(self.connection.client.publish(topic, line, qos=1))
        until = time.monotonic() + PATIENCE
        for each in sent:
            while not each.is_published():
                if self.connection.error or time.monotonic() > until:
                    why = self.connection.error or f"the broker took no decisions for {PATIENCE:g} s"
                    raise InputError("failed", f"{self.address}: {why}")
                each.wait_for_publish(1.0)
            until = time.monotonic() + PATIENCE
        self._note(number)

    def _note(self, number: int) -> None:
        write_whole(self._mark, json.dumps({"commit": number, "to": str(self.address)}))

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()


def _level(name: str) -> str:
    return re.sub(r"[/+#\0]", "_", name) or "_"
