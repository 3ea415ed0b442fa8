# SPDX-License-Identifier: MIT
"""Every reader of files and streams: what it is given, how that is damaged, and what it promises."""

from __future__ import annotations

import importlib.util
import random
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reader_mutations import CRC, CSV, FOLDER, JSON, LINES, NPY, NPZ, SEALED, Mutator, any_bytes
from reader_tables import table_file

from tcuq import Monitor, Params
from tcuq.io import read_decisions, read_log

CLASSES = 3
PARAMS = Params(classes=CLASSES, warmup=0)
WIDE = Params(classes=CLASSES, features=2, feature_scale=0.1, feature_zero_point=0)


@dataclass(frozen=True)
class Target:
    """One reader: `read` takes the path of a damaged file and checks what is promised of what is accepted.

    `suffix` is that of the file; `writes` tells whether the reader may write to the folder that it is given.
    """

    read: Callable[[Path], None]
    mutate: Mutator
    suffix: str
    writes: bool = False


class Broken(AssertionError):
    """A reader accepted something that breaks its own promise."""


def promise(holds: Any, what: str) -> None:
    """Note a promise that is not kept."""
    if not holds:
        raise Broken(what)


def _log(path: Path) -> None:
    log = read_log(path)
    promise(len(log) >= 1 and log.probs.ndim == 2 and 2 <= log.probs.shape[1] <= 1000, "shape of probs")
    promise(np.isfinite(log.probs).all(), "probs are finite")
    if log.probs.dtype.kind == "f":
        promise(((log.probs >= -0.1) & (log.probs <= 1.1)).all(), "probs lie in 0 to 1")
    if log.features is not None:
        promise(log.features.shape[0] == len(log) and np.isfinite(log.features).all(), "features")
    if log.labels is not None:
        promise((log.labels < log.probs.shape[1]).all(), "labels")
    if len(log) <= 1000:
        Monitor(Params(classes=log.probs.shape[1])).run(log.probs)


def _decisions(path: Path) -> None:
    found = read_decisions(path)
    promise(len(found.steps) >= 1, "at least one step")
    for name in ("risk", "threshold", "degradation"):
        promise(np.isfinite(found.steps[name]).all(), f"{name} is finite")


def _params(path: Path) -> None:
    for sealed in (False, True):
        params = Params.load(path, sealed=sealed)
        promise(Params.from_json(params.to_json()) == params, "a round trip gives the same parameters")
        monitor = Monitor(params)
        promise(len(params.fingerprint) == 8 and monitor is not None, "a monitor can be made")


def _state(path: Path) -> None:
    monitor = Monitor(PARAMS)
    monitor.load(path)
    monitor.step(np.array([0, 0, -128], np.int8))


def _frames(path: Path) -> None:
    from tcuq.io.binary_frames import Decoder

    content = path.read_bytes()
    decoder, at = Decoder(), 0
    draw = random.Random(len(content))
    while at < len(content):
        size = draw.choice((1, 7, 64, 5000))
        decoder.push(content[at : at + size])
        at += size
    decoder.finish(cut=draw.random() < 0.5)


def _graph(path: Path) -> None:
    from tcuq_device.graph.check import check
    from tcuq_device.graph.storage import load_graph

    check(load_graph(path))


def _tflite(path: Path) -> None:
    from tcuq_device.graph.check import check
    from tcuq_device.tflite.importing import import_model

    check(import_model(path).graph)


def _projection(path: Path) -> None:
    from tcuq.export.projection import load_projection

    found = load_projection(path, WIDE)
    promise(found.matrix.dtype == np.int8 and found.matrix.shape[0] == 2, "an int8 matrix of two outputs")


def _inputs(path: Path) -> None:
    """Read inputs of `tcuq record`, of an emitted application, and of the script beside it."""
    from tcuq.recording.data import open_data
    from tcuq_device.emit.feed import read_inputs

    failed = None
    for read in (
        lambda: [None for each in open_data(path, None).batches(64)],
        lambda: read_inputs(path, 4, path.parent),
    ):
        try:
            read()
        except ValueError as error:
            failed = _judged(error)
    if failed is not None:
        raise failed


def _judged(error: ValueError) -> ValueError:
    if type(error) is not ValueError:
        raise error
    return error


def _live(path: Path) -> None:
    """Lines of a device, whatever they are, never raise; what is told of them fits on a line."""
    from tcuq_watch.sources.arrivals import Bad
    from tcuq_watch.sources.step_reader import StepReader

    content, bad = path.read_bytes(), Bad()
    reader, at = StepReader("here", bad, device="a", stream=True), 0
    while at < len(content):
        reader.push(content[at : at + 333], 1.7e9)
        at += 333
    reader.end(whole=True)
    arrived = reader.rows.flush(None)
    _check_all(arrived)
    for text in (*bad.last.values(), *(notice.text for notice in arrived.notices)):
        told(text)


def _check_all(arrived: Any) -> None:
    """Judge the events of a batch as fleets do."""
    from tcuq_watch.engine.events import Events, checked

    for item in () if arrived is None else arrived.batch:
        if isinstance(item, Events):
            for params in (PARAMS, WIDE):
                checked(params, item)


def told(text: str) -> None:
    """Refuse what would spoil a terminal."""
    if not text.isprintable() or len(text) > 1000:
        raise Broken(f"what is told has odd characters or is long: {text[:300]!r}")


def _events(path: Path) -> None:
    from tcuq_watch.sources.files import FileSource

    source = FileSource(path)
    for arrived in source.batches(None, 100, 1.0):
        _check_all(arrived)
    for text in source.bad.last.values():
        told(text.replace(path.as_posix(), "").replace(path.name, ""))


def _message(path: Path) -> None:
    """Take a message from a broker, of JSON or of frames."""
    from types import SimpleNamespace

    from tcuq_watch.sources.mqtt import Address, MqttSource

    source = MqttSource(Address.of("mqtt://localhost/devices/+"), path.parent)
    message = SimpleNamespace(qos=1, topic="devices/a", payload=path.read_bytes(), dup=False)
    source._take(1.7e9, (1, message))
    source.reader.rows.flush(None)
    for text in source.bad.last.values():
        told(text)


def unfolded(path: Path) -> Path:
    """Return a folder that holds what an archive of our own holds."""
    place = path.parent / "folder"
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        raise ValueError("damage hit the archive itself, which no reader of ours opens") from None
    for name, content in files.items():
        target = place / name
        if place not in target.parents or ".." in target.parts or "\0" in name:
            raise ValueError("damage hit a name in the archive")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return place


def _fleet(path: Path) -> None:
    from tcuq_watch.fleet import Fleet

    place = unfolded(path)
    with Fleet.open_read(place) as fleet:
        fleet.summary()
        list(fleet.decisions())


def _session(path: Path) -> None:
    """Read a folder of `tcuq live`: the log with marks."""
    from tcuq_watch.live.marks import labeled_log

    labeled_log(unfolded(path))


def _names(path: Path) -> None:
    from tcuq.recording.run import read_names

    for name in read_names(str(path)):
        promise(name, "a name is not empty")


def _devices(path: Path) -> None:
    from tcuq_watch.cli.fleet import _names as device_names

    device_names(str(path))


def _labels(path: Path) -> None:
    from tcuq_watch.cli.fleet_labels import read_labels

    for row in read_labels(path):
        promise(isinstance(row["boot"], int) and isinstance(row["seq"], int), "boot and seq")


def _wav(path: Path) -> None:
    from tcuq.recording.data import sound_reader

    found = sound_reader((100, 1), "folder")(path)
    promise(found.shape == (100, 1) and np.isfinite(found).all(), "a waveform")


def _picture(path: Path) -> None:
    from tcuq.recording.data import picture_reader

    found = picture_reader((8, 8, 3), "folder")(path)
    promise(found.shape == (8, 8, 3) and found.dtype == np.uint8, "a picture")


def _bench(path: Path) -> None:
    from tcuq_lab.boards.costs import load

    load(path)


def _inspect(path: Path) -> None:
    """Run the command itself: one line and status 2, or an answer."""
    import contextlib
    import io

    from tcuq.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["inspect", str(path)])
    said = err.getvalue()
    promise("this is a bug" not in said, said)
    if status == 2:
        promise(said.count("\n") == 1 and said[:-1].isprintable(), f"one line of plain text, not {said!r}")
        raise ValueError("refused")
    promise(status == 0 and out.getvalue(), f"status {status}")


@cache
def _page_server() -> tuple[int, list[Any]]:
    """Return the port of a live page's server, and the marks that it takes."""
    from tcuq_watch.pages import server as module
    from tcuq_watch.pages.feed import Feed

    marked: list[Any] = []

    def mark(asked: Mapping[str, Any]) -> str:
        marked.append((asked.get("step", asked.get("seq")), asked["label"]))
        return "marked"

    feed = Feed({"title": "a", "names": ["b", "c"]})
    feed.close()  # a page that follows the stream is let go at once
    return module.serve(feed, port=0, mark=mark, metrics=lambda: "metrics").port, marked


def _http(path: Path) -> None:
    """Send a request to the live page, and read the answer."""
    import socket
    from unittest import mock

    from tcuq_watch.pages import server as module

    port, marked = _page_server()
    answer = b""
    # A request that ends early is cut soon; other servers of this process go on as they were.
    sooner = mock.patch.object(module, "REQUEST_SECONDS", 0.2)
    with sooner, socket.create_connection(("127.0.0.1", port), timeout=5.0) as link:
        try:
            link.sendall(path.read_bytes()[:60_000])
            while piece := link.recv(1 << 16):
                answer += piece
        except ConnectionError:
            pass  # turned away before all was sent
    promise(not answer or answer.startswith(b"HTTP/1.1 "), f"{answer[:60]!r}")
    promise(b"Traceback" not in answer and b" 500 " not in answer[:20], f"{answer[-200:]!r}")
    promise(not answer or b"nosniff" in answer, f"{answer[:200]!r}")
    for step, label in marked:
        promise(
            type(step) is int and step >= 0 and (label is None or isinstance(label, (int, str))), "a mark"
        )
    if not answer.startswith(b"HTTP/1.1 2"):
        raise ValueError(f"status {answer[9:12].decode('latin-1')!r}")


def _onnx(path: Path) -> None:
    from tcuq.recording.onnx import nodes, penultimate

    try:
        penultimate(nodes(path.read_bytes()))
    except IndexError:
        raise ValueError("no protocol buffer") from None


TARGETS: dict[str, Target] = {
    "log_npz": Target(_log, NPZ.mutate, ".npz"),
    "log_csv": Target(_log, CSV.mutate, ".csv"),
    "log_jsonl": Target(_log, LINES.mutate, ".jsonl"),
    "log_parquet": Target(_log, table_file("parquet"), ".parquet"),
    "log_arrow": Target(_log, table_file("arrow"), ".arrow"),
    "decisions_npz": Target(_decisions, NPZ.mutate, ".npz"),
    "decisions_csv": Target(_decisions, CSV.mutate, ".csv"),
    "decisions_jsonl": Target(_decisions, LINES.mutate, ".jsonl"),
    "decisions_parquet": Target(_decisions, table_file("parquet"), ".parquet"),
    "params": Target(_params, SEALED.mutate, ".json"),
    "inspect": Target(_inspect, SEALED.mutate, ".json"),
    "state": Target(_state, CRC.mutate, ".bin"),
    "frames": Target(_frames, any_bytes, ".frames"),
    "graph": Target(_graph, NPZ.mutate, ".npz"),
    "tflite": Target(_tflite, any_bytes, ".tflite"),
    "projection": Target(_projection, NPZ.mutate, ".npz"),
    "inputs_npz": Target(_inputs, NPZ.mutate, ".npz"),
    "inputs_npy": Target(_inputs, NPY.mutate, ".npy"),
    "live_lines": Target(_live, LINES.mutate, ".jsonl"),
    "live_csv": Target(_live, CSV.mutate, ".csv"),
    "live_frames": Target(_live, any_bytes, ".frames"),
    "live_session": Target(_session, FOLDER.mutate, ".zip", writes=True),
    "http": Target(_http, any_bytes, ".http"),
    "events_jsonl": Target(_events, LINES.mutate, ".jsonl"),
    "events_parquet": Target(_events, table_file("parquet"), ".parquet"),
    "message": Target(_message, JSON.mutate, ".json"),
    "fleet_folder": Target(_fleet, FOLDER.mutate, ".zip", writes=True),
    "labels": Target(_labels, CSV.mutate, ".csv"),
    "names": Target(_names, any_bytes, ".txt"),
    "devices": Target(_devices, any_bytes, ".txt"),
    "wav": Target(_wav, any_bytes, ".wav"),
    "picture": Target(_picture, any_bytes, ".png"),
    "bench": Target(_bench, JSON.mutate, ".json"),
    "onnx_names": Target(_onnx, any_bytes, ".onnx"),
}


def missing(name: str) -> str | None:
    """Return the package that a reader needs and that is not installed, None where it can run."""
    packages = {
        "parquet": "pyarrow",
        "arrow": "pyarrow",
        "picture": "PIL",
        "message": "paho",
        "bench": "tcuq_lab",
    }
    for word, package in packages.items():
        if word in name and importlib.util.find_spec(package) is None:
            return package
    return None
