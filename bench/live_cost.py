"""What watching one device costs: CPU seconds a second of `tcuq live`, at a number of steps a second.

    python bench/live_cost.py [--rate 1000] [--seconds 10] [--page]

Steps of 10 classes come through a pipe as frames, JSON lines and CSV in turn. With ``--page`` the server runs
and one client follows the feed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

from tcuq import Params
from tcuq_watch.fleet import Fleet

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("tests/support", "vectors")]
from frame_writing import encode_posteriors  # noqa: E402

PARAMS = Params(classes=10, warmup=64)
SETTLE = 3.0
"""Seconds before counting begins: imports, and a first saved state."""


def part(kind: str, probs: np.ndarray, first: int, last: int) -> bytes:
    """Return steps as a device would send them."""
    rows = probs[np.arange(first, last) % len(probs)]
    if kind == "frames":
        return encode_posteriors(int(PARAMS.fingerprint, 16), 1, first, rows)
    floats = ((rows.astype(float) + 128) / 256).round(4).tolist()
    if kind == "JSON":
        lines = [json.dumps({"probs": row, "boot": 1, "seq": n}) for n, row in enumerate(floats, first)]
    else:
        lines = [f"1,{n},{','.join(map(str, row))}" for n, row in enumerate(floats, first)]
    return "".join(f"{line}\n" for line in lines).encode()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def follow(url: str) -> None:
    """Read the feed as a page does."""
    try:
        with urllib.request.urlopen(f"{url}feed", timeout=30) as answer:
            while answer.read1(1 << 16):
                pass
    except OSError:
        pass


def measure(kind: str, rate: int, seconds: float, page: bool, folder: Path) -> float:
    """Return CPU seconds a second."""
    PARAMS.save(folder / "m.json")
    rng = np.random.default_rng(0)
    probs = np.clip(np.round(rng.dirichlet(np.ones(10) * 0.3, 20_000) * 256) - 128, -128, 127).astype(np.int8)
    command = [
        sys.executable,
        "-m",
        "tcuq",
        "live",
        str(folder / "m.json"),
        "-",
        "--folder",
        str(folder / kind),
    ]
    command += ["--port", "0"] if page else ["--no-page"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        if page:
            line = next(line for line in iter(process.stderr.readline, b"") if b"http://" in line)
            url = line.split()[-1].decode()
            threading.Thread(target=follow, args=(url,), daemon=True).start()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        if kind == "CSV":
            process.stdin.write(("boot,seq," + ",".join(f"p{n}" for n in range(10)) + "\n").encode())
        sent, begun = 0, time.monotonic()
        before, since = 0.0, 0.0
        while (now := time.monotonic() - begun) < SETTLE + seconds:
            if now >= SETTLE and not since:
                before, since = cpu_seconds(process.pid), now
            want = int(now * rate)
            process.stdin.write(part(kind, probs, sent, want))
            process.stdin.flush()
            sent = want
            time.sleep(0.01)
        used = (cpu_seconds(process.pid) - before) / (now - since)
        process.terminate()
    with Fleet.open_read(folder / kind) as fleet:
        kept = int(next(iter(fleet.models.values())).tallies.devices["steps"].sum())
    if kept < sent - rate:
        raise SystemExit(f"{kind}: {kept:,} of {sent:,} steps were kept")
    return used


def main() -> None:
    """Measure all three kinds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=1000, help="steps a second")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--page", action="store_true", help="with the server and one client")
    args = parser.parse_args()
    for kind in ("frames", "JSON", "CSV"):
        with tempfile.TemporaryDirectory() as folder:
            used = measure(kind, args.rate, args.seconds, args.page, Path(folder))
        print(f"{kind:6}  {100 * used:.1f} % of a core at {args.rate:,} steps/s", flush=True)


if __name__ == "__main__":
    main()
