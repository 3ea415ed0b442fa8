# SPDX-License-Identifier: MIT
"""Write the seeds of the readers' fuzzer again: `python fuzz/reader_seeds.py`.

The same bytes each time, but for folders of a fleet and of a live session, which hold the time.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import sys
import tempfile
import wave
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tcuq import Log, Monitor, Params
from tcuq.io import Decisions, write_decisions, write_log

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "fuzz" / "corpus" / "readers"
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "vectors")]


def rows(count: int, classes: int = 3) -> Any:
    """Return int8 posteriors."""
    from streams import int8_stream

    return int8_stream(count, classes, 0, seed=1)[0]


def as_lines(log: Log) -> str:
    """Return a log as JSON lines."""
    lines: list[dict[str, Any]] = [] if log.names is None else [{"names": list(log.names)}]
    for place, row in enumerate(log.probs.tolist()):
        step: dict[str, Any] = {"probs": row}
        for name, column in (("features", log.features), ("label", log.labels), ("segment", log.segments)):
            step |= {} if column is None else {name: column[place].tolist()}
        lines.append(step)
    return "".join(json.dumps(line) + "\n" for line in lines)


def as_csv(log: Log) -> str:
    """Return a log as CSV."""
    columns = {f"p{at}": log.probs[:, at] for at in range(log.probs.shape[1])}
    if log.features is not None:
        columns |= {f"f{at}": log.features[:, at] for at in range(log.features.shape[1])}
    columns |= {} if log.labels is None else {"label": log.labels}
    head = "" if log.names is None else f"# names: {','.join(log.names)}\n"
    rows_ = zip(*(values.tolist() for values in columns.values()), strict=True)
    return head + ",".join(columns) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows_)


def logs(out: Path) -> None:
    """Write logs of all formats, with and without features, labels and names."""
    probs = (rows(6).astype(np.float64) + 128) / 256
    probs /= probs.sum(axis=1, keepdims=True)
    whole: dict[str, Any] = {
        "labels": [0, 1, 2, -1, 0, 1],
        "segments": [0, 0, 0, 1, 1, 1],
        "names": ["cat", "dog", "owl"],
    }
    features = np.arange(12, dtype=np.float64).reshape(6, 2) / 8
    made = {
        "plain": Log(probs),
        "whole": Log(probs, features, **whole),
        "int8": Log(rows(5), labels=np.zeros(5, int)),
    }
    for name, log in made.items():
        for suffix in ("npz", "parquet", "arrow"):
            write_log(out / f"log_{suffix}" / f"{name}.{suffix}", log)
        (out / "log_csv" / f"{name}.csv").write_text(as_csv(log))
        (out / "log_jsonl" / f"{name}.jsonl").write_text(as_lines(log))
    monitor = Monitor(Params(classes=3, warmup=0))
    steps, signals = monitor.run(rows(8)), None
    names = ("cat", "dog", "owl")
    for suffix in ("npz", "csv", "jsonl", "parquet"):
        named: dict[str, Any] = {"names": names, "fingerprint": "0badcafe"}
        for name, more in (("plain", {}), ("named", named)):
            write_decisions(
                out / f"decisions_{suffix}" / f"{name}.{suffix}", Decisions(steps, 0, signals, **more)
            )


def parameters(out: Path) -> None:
    """Write parameters, states and frames."""
    from frame_writing import encode_decisions, encode_posteriors, encode_state

    params = Params(classes=3, warmup=0)
    wide = Params(classes=3, features=2, feature_scale=0.1, feature_zero_point=0, names=("a", "b", "c"))
    for folder in ("params", "inspect"):
        params.save(out / folder / "plain.json")
        wide.save(out / folder / "wide.json")
    monitor = Monitor(params)
    (out / "state" / "fresh.bin").write_bytes(monitor.save())
    monitor.run(rows(40))
    (out / "state" / "used.bin").write_bytes(monitor.save())
    (out / "inspect" / "state.json").write_bytes(monitor.save())
    number = int(params.fingerprint, 16)
    frames = encode_posteriors(number, 1, 0, rows(12), size=60)
    frames += b"hello\n" + encode_decisions(number, 1, 12, np.asarray(Monitor(params).run(rows(12))), 3, 16)
    frames += encode_state(number, 1, 24, monitor.save(), size=100)
    for folder in ("frames", "live_frames"):
        (out / folder / "mixed.frames").write_bytes(frames)
    (out / "message" / "mixed.json").write_bytes(frames)


def networks(out: Path) -> None:
    """Write graphs, models and what goes into them."""
    from tcuq_device.graph.storage import save_graph
    from tcuq_device.tflite.importing import import_model

    models = ROOT / "device" / "tests" / "data"
    for name in ("dense", "pools", "curves"):
        shutil.copy(models / f"{name}.tflite", out / "tflite" / f"{name}.tflite")
    for name in ("net", "dense", "shapes"):
        try:
            save_graph(out / "graph" / f"{name}.npz", import_model(models / f"{name}.tflite").graph)
        except ValueError as error:
            print(f"{name}: {error}")
    np.savez(
        out / "projection" / "two.npz",
        matrix=np.full((4, 2), 0.25),
        offset=np.zeros(2),
        scale=0.1,
        zero_point=3,
    )
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    np.savez(out / "inputs_npz" / "x.npz", x=x, y=np.array([0, 1, 2]), names=np.array(["a", "b", "c"]))
    np.save(out / "inputs_npy" / "x.npy", x)
    np.save(out / "inputs_npy" / "real.npy", np.asfortranarray(x / 16.0))
    from tcuq.recording.onnx import _piece

    node = _piece(1, b"x") + _piece(1, b"w") + _piece(2, b"h") + _piece(4, b"Gemm")
    (out / "onnx_names" / "two.onnx").write_bytes(_piece(7, _piece(1, node) * 2))


def streams(out: Path) -> None:
    """Write what devices send."""
    probs = rows(6).tolist()
    lines: list[dict[str, Any]] = [{"names": ["cat", "dog", "owl"]}]
    lines += [{"probs": row, "boot": 1, "seq": place, "label": 0} for place, row in enumerate(probs)]
    lines += [{"probs": [0.5, 0.25, 0.25], "features": [1, 2], "seq": 9}]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    (out / "live_lines" / "steps.jsonl").write_text(text)
    shutil.copy(out / "decisions_jsonl" / "plain.jsonl", out / "live_lines" / "decisions.jsonl")
    shutil.copy(out / "log_csv" / "whole.csv", out / "live_csv" / "steps.csv")
    shutil.copy(out / "decisions_csv" / "plain.csv", out / "live_csv" / "decisions.csv")
    monitor = Monitor(Params(classes=3, warmup=0))
    state = base64.b64encode(monitor.save()).decode()
    events: list[dict[str, Any]] = [
        {"device": f"d{place % 2}", "boot": 0, "seq": place // 2, "probs": row, "time": 1.7e9 + place}
        for place, row in enumerate(probs)
    ]
    events[1] |= {"features": [0.5, 1.0], "version": "v1", "time": "2026-11-16T10:00:00Z"}
    events.append({"device": "d0", "boot": 0, "seq": 9, "state": state})
    (out / "events_jsonl" / "steps.jsonl").write_text("\n".join(map(json.dumps, events)) + "\n")
    (out / "message" / "list.json").write_text(json.dumps(events))
    (out / "message" / "one.json").write_text(json.dumps({"seq": 0, "probs": [0.5, 0.25, 0.25]}))
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    columns: dict[str, Any] = {
        name: [each[name] for each in events[2:6]] for name in ("device", "boot", "seq")
    }
    columns |= {"probs": [each["probs"] for each in events[2:6]], "time": [1.7e9] * 4, "version": ["v1"] * 4}
    parquet.write_table(pa.table(columns), out / "events_parquet" / "lists.parquet")
    flat = {"device": ["a", "b"], "seq": [0, 1], "p0": [0.5, 0.25], "p1": [0.25, 0.5], "p2": [0.25, 0.25]}
    parquet.write_table(
        pa.table({**flat, "f0": [1.0, 2.0], "f1": [0.0, 1.0]}), out / "events_parquet" / "flat.parquet"
    )
    (out / "labels" / "two.csv").write_text(
        "device,version,boot,seq,answer,answer_name,risk,label\nd0,v1,0,1,1,dog,0.5,2\nd1,v1,0,0,0,cat,0.1,owl\n"
    )
    (out / "names" / "three.txt").write_text("cat\ndog\nowl\n")
    host = "Host: 127.0.0.1\r\n"
    (out / "http" / "about.http").write_bytes(f"GET /about HTTP/1.1\r\n{host}\r\n".encode())
    (out / "http" / "page.http").write_bytes(f"GET /?after=3 HTTP/1.1\r\n{host}Cookie: a=b\r\n\r\n".encode())
    (out / "http" / "feed.http").write_bytes(
        f"GET /feed HTTP/1.1\r\n{host}Last-Event-ID: 1-2-3\r\n\r\n".encode()
    )
    body = '{"step": 3, "label": 1}'
    head = f"{host}X-Tcuq: 1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    (out / "http" / "mark.http").write_bytes(f"POST /mark HTTP/1.1\r\n{head}\r\n{body}".encode())
    (out / "devices" / "two.txt").write_text("d0\nd1\n")


def archived(folder: Path, target: Path) -> None:
    """Keep a folder as an archive of one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and name not in ("LOCK", ".lock"):
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    target.write_bytes(file.getvalue())


def folders(out: Path) -> None:
    """Write folders of a fleet and of a live session."""
    from tcuq_watch.engine.events import Events
    from tcuq_watch.fleet import Fleet
    from tcuq_watch.live.session import Session
    from tcuq_watch.sources.streams import IterableSource

    params = Params(classes=3, warmup=0)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "fleet"
        with Fleet({"v1": params}, place, labels_per_day=2) as fleet:
            for first in (0, 20):
                probs, numbers = rows(20), np.arange(first, first + 20) // 2
                names = [f"d{number % 2}" for number in range(20)]
                fleet.take(Events(names, [0] * 20, numbers, probs, None, 1.7e9 + numbers), position=first)
        archived(place, out / "fleet_folder" / "two.zip")
        kept = Path(scratch) / "live"
        session = Session(params, kept, "standard input")
        source = IterableSource(
            [{"probs": row, "seq": at} for at, row in enumerate(rows(12).tolist())], device="a"
        )
        session.run(source, lambda: False)
        session.mark(3, 1)
        session.close()
        archived(kept, out / "live_session" / "killed.zip")


def media(out: Path) -> None:
    """Write a sound, pictures and figures."""
    for width, channels in ((2, 1), (1, 2), (3, 1)):
        with wave.open(str(out / "wav" / f"w{width}.wav"), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(8000)
            file.writeframes(bytes(range(120)))
    from PIL import Image

    pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    Image.fromarray(pixels).save(out / "picture" / "rgb.png")
    Image.fromarray(pixels).save(out / "picture" / "jpeg.png", format="JPEG")
    Image.fromarray(pixels[..., 0]).save(out / "picture" / "bmp.png", format="BMP")
    entry = {
        "task": "t",
        "board": "b",
        "flash": {"code": 1},
        "step": {"instructions": {"steps": 1, "mean": 2.0}},
    }
    from tcuq_lab.boards.stored import FORMAT

    content = {"format": FORMAT, "compiler": "1", "emulator": "1", "tcuq": "1", "measured": [entry]}
    (out / "bench" / "one.json").write_text(json.dumps(content))


def main() -> int:
    """Write all seeds."""
    from reader_targets import TARGETS

    for name in TARGETS:
        shutil.rmtree(CORPUS / name, ignore_errors=True)
        (CORPUS / name).mkdir(parents=True)
    for write in (logs, parameters, networks, streams, folders, media):
        write(CORPUS)
    size = sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file())
    print(f"{size:,} bytes in {CORPUS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
