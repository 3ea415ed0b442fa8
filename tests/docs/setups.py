"""What a page of the documentation finds in its folder: made once a session, then copied.

A page names set-ups by a comment at its top, a block by one before it: ``<!-- run: with NAME -->``.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from tiny_models import MODELS, NAMES, bar_net, bars, write_onnx, write_pictures

import tcuq
from tcuq.io import write_log

RAIN = "def rain(x, rng):\n    return x + rng.uniform(0, 0.5, x.shape)\n"
NET = "import numpy as np\n\n\ndef net(x):\n    return np.full((len(x), 3), 1 / 3), x.reshape(len(x), -1)\n"
HUGE = 3 << 30
"""Bytes of a file that is beyond the limit; it has a hole and takes no room."""


def demo(folder: Path) -> None:
    """`demo/`, as `tcuq demo --out demo` leaves it."""
    from tcuq.demo import main

    told: list[tuple[int, int, str]] = []
    found = main(folder / "demo", progress=lambda *each: told.append(each))
    # Beside the folder of the demo, for those who compare figures; no page gets it.
    (folder / "figures.json").write_text(json.dumps({**found, "progress": told}, default=str))


def model(folder: Path) -> None:
    """An int8 `model.tflite`, 500 labeled examples as `data.npz`, 420 as `pictures/CLASS/*.png`."""
    pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
    shutil.copy(MODELS / "int8.tflite", folder / "model.tflite")
    x, y = bars(500, noise=0.85)
    np.savez(folder / "data.npz", x=x, y=y, names=np.array(NAMES))
    write_pictures(folder / "pictures", 420)


def network(folder: Path) -> None:
    """An int8 `model.tflite` alone."""
    pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
    shutil.copy(MODELS / "int8.tflite", folder / "model.tflite")


def params(folder: Path) -> None:
    """`params.json`, the logs `dev.npz` and `test.npz` behind it, and `decisions.csv` on the second."""
    from tcuq.cli import main

    x, y = bars(1500, noise=0.85)
    dev = tcuq.record(bar_net, x[:900], y[:900], stream="dwell=8", shifts="pictures", steps=1500)
    test = tcuq.record(bar_net, x[900:], y[900:], stream="dwell=8", shifts="pictures", steps=800, seed=1)
    write_log(folder / "dev.npz", dev)
    write_log(folder / "test.npz", test)
    fitted = tcuq.fit(dev, options=tcuq.FitOptions(explain=False))
    fitted.save(folder / "params.json")
    command = ["run", str(folder / "params.json"), str(folder / "test.npz"), "--quiet"]
    assert main([*command, "-o", str(folder / "decisions.csv")]) == 0


def posteriors(folder: Path) -> None:
    """`params.json` and `monitor.json` (the same) of a monitor without features, `dev.npz`, `test.npz`."""
    x, y = bars(1500, noise=0.85)
    for name, rows, seed in (("dev", slice(0, 900), 0), ("test", slice(900, 1500), 1)):
        log = tcuq.record(
            lambda x: bar_net(x)[0], x[rows], y[rows], stream="dwell=8", shifts="pictures", seed=seed
        )
        write_log(folder / f"{name}.npz", log)
        if name == "dev":
            tcuq.fit(log, options=tcuq.FitOptions(explain=False)).save(folder / "params.json")
    shutil.copy(folder / "params.json", folder / "monitor.json")


def shifts(folder: Path) -> None:
    """`my_shifts.py` with a function `rain`, and a recorded stream, `stream.npz`."""
    (folder / "my_shifts.py").write_text(RAIN)
    x, y = bars(400, noise=0.85)
    np.savez(folder / "stream.npz", x=x, y=y, segments=np.arange(400) // 50)


def others(folder: Path) -> None:
    """`model.onnx`, a model in Python code (`my_models.py`) and `photos/`."""
    pytest.importorskip("onnxruntime", reason="ONNX: pip install onnxruntime")
    write_onnx(folder / "model.onnx")
    (folder / "my_models.py").write_text(NET)
    write_pictures(folder / "photos", 60)


def frames(folder: Path) -> None:
    """`recorded.bin`, what a device has sent, and an exported package in `kws/`."""
    from frame_writing import encode_posteriors

    from tcuq.export import export

    (folder / "recorded.bin").write_bytes(b"hello\n" + encode_posteriors(1, 1, 0, np.ones((9, 2), np.int8)))
    export(tcuq.Params(classes=10), folder / "kws", "kws")


def huge(folder: Path) -> None:
    """`huge.npz`, larger than the limit, `large.npz`, a log that is not, and `monitor.json`."""
    with open(folder / "huge.npz", "wb") as file:
        file.truncate(HUGE)
    rng = np.random.default_rng(0)
    log = tcuq.Log(rng.dirichlet(np.ones(3), 400))
    noisy = np.where(rng.random(400) < 0.8, log.predictions(), rng.integers(0, 3, 400))
    write_log(folder / "large.npz", tcuq.Log(log.probs, labels=noisy))
    tcuq.Params(classes=3).save(folder / "monitor.json")


def firmware(folder: Path) -> None:
    """`model.npz`, an int8 graph; `monitor.json`, fitted on a log of it; inputs of it in `inputs.npz`."""
    from tcuq_device.graph.storage import save_graph
    from tcuq_device.tflite.importing import import_model

    pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
    save_graph(folder / "model.npz", import_model(MODELS / "int8.tflite").graph)
    shutil.copy(MODELS / "int8.tflite", folder / "model.tflite")
    x, y = bars(1000, noise=0.85)
    log = tcuq.record(MODELS / "int8.tflite", x, y, stream="dwell=8", shifts="pictures")
    tcuq.fit(log, options=tcuq.FitOptions(explain=False)).save(folder / "monitor.json")
    np.savez(folder / "inputs.npz", x=x[:12])
    np.save(folder / "inputs.npy", np.round(x[:12] * 255 - 128).astype(np.int8))


def events(folder: Path) -> None:
    """`events.parquet` and `events.jsonl`: what ten devices have sent for two days."""
    pa = pytest.importorskip("pyarrow", reason="Parquet: pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    log = tcuq.record(lambda x: bar_net(x)[0], bars(600, noise=0.85)[0], stream="shuffled")
    rows = [
        {
            "device": f"door-{at % 10}",
            "boot": 3,
            "seq": at // 10,
            "time": 1794000000.5 + 300 * at,
            "probs": [round(float(each), 4) for each in probs],
        }
        for at, probs in enumerate(log.probs)
    ]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "events.parquet")
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def live(folder: Path) -> None:
    """`monitor.json`; `device.jsonl`, 1,600 steps; `monitor-live/`, what `tcuq live` has kept of them."""
    posteriors(folder)
    log = tcuq.io.read_log(folder / "test.npz")
    assert log.labels is not None
    lines = [
        json.dumps({"probs": row, "label": label})
        for row, label in zip(log.probs.tolist(), log.labels.tolist(), strict=True)
    ]
    sent = "".join(f"{lines[at % len(lines)]}\n" for at in range(1600))
    (folder / "device.jsonl").write_text(sent)
    command = [sys.executable, "-m", "tcuq", "live", "monitor.json", "-", "--no-page", "--quiet"]
    subprocess.run(command, cwd=folder, input=sent, text=True, check=True, capture_output=True)


def checkout(folder: Path) -> None:
    """What a checkout has at its top, as links."""
    for name in ("bench", "docs", "examples", "lab", "tools", "vectors"):
        (folder / name).symlink_to(ROOT / name)


def port(folder: Path) -> None:
    """Nothing, but the port of pages is free."""
    try:
        socket.create_server(("127.0.0.1", 8357)).close()
    except OSError:
        pytest.skip("the port 8357 is in use")


SETUPS: dict[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        demo,
        model,
        network,
        params,
        posteriors,
        shifts,
        others,
        frames,
        huge,
        firmware,
        events,
        live,
        checkout,
        port,
    )
}


class Made:
    """Set-ups that were made once, to be copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, name: str) -> Path:
        """Return the folder of a set-up, made now if need be."""
        if name not in SETUPS:
            raise KeyError(f"the set-up is {name!r}, expected one of {', '.join(SETUPS)}")
        place = self._folder / name
        if not place.exists():
            half = self._folder / f"half-{name}"
            shutil.rmtree(half, ignore_errors=True)  # of a set-up that was skipped in the middle
            half.mkdir()
            SETUPS[name](half)
            half.rename(place)
        return place

    def bring(self, names: Iterable[str], target: Path) -> None:
        """Copy set-ups into a folder; what is there already stays.

        Where a page has made `demo/` itself, the set-up of that name is not made again.
        """
        for name in names:
            if (target / name).exists():
                continue
            source = self.folder(name)
            for path in sorted(source.iterdir()):
                if (target / path.name).exists() or (name == "demo" and path.name != "demo"):
                    continue
                if path.is_symlink():
                    (target / path.name).symlink_to(path.readlink())
                elif path.is_dir():
                    shutil.copytree(path, target / path.name, symlinks=True)
                elif path.stat().st_size < HUGE:
                    shutil.copy(path, target / path.name)
                else:
                    (target / path.name).symlink_to(path)
