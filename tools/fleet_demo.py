"""A fleet on one machine, from devices to a page: some hundred simulated devices, of which some degrade.

    python tools/fleet_demo.py out/fleet-demo

Trains a digit classifier, fits a monitor, starts mosquitto on a free port, lets `tcuq fleet run` watch what
the simulator plays, then compares what the fleet says with what was true. Without mosquitto, events go
through a file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from digits import DEV_CORRUPTIONS, TEST_CORRUPTIONS, load, make_log, train

from tcuq import Log, fit
from tcuq.io import write_log
from tcuq_watch.fleet import Fleet

PERIOD = 240.0
"""Seconds between two inferences of a device, in its own time."""

PATIENCE = 10.0
"""Seconds that a program has to end before it is asked less kindly."""

HARD = {"lost": 0.02, "repeated": 0.02, "delayed": 0.1, "mean-delay": 30.0, "reboots": 0.001}


def make_files(folder: Path, seed: int) -> tuple[Path, Path]:
    """Train, fit, and write a monitor and the log that devices play: posteriors alone, for small messages."""
    train_part, dev_part, test_part = load(seed)
    classifier = train(train_part, seed)
    dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, 6000, seed + 1)
    test = make_log(classifier, test_part, TEST_CORRUPTIONS, 8000, seed + 2)
    params = fit(_plain(dev), budget=0.15, run_length=2000, seed=seed)
    params.save(folder / "monitor.json")
    write_log(folder / "log.npz", _plain(test))
    return folder / "monitor.json", folder / "log.npz"


def _plain(log: Log) -> Log:
    return Log(log.probs, labels=log.labels, shifted=log.shifted)


@contextlib.contextmanager
def running(command: list[str], said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program beside this one; it ends with the block, whatever happens in it."""
    with open(said, "wb") as file:
        # Ctrl-C reaches this program alone, which then ends the others in order.
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a program to end, as Ctrl-C does; make it end if it does not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[str | None]:
    """Run mosquitto on a free port; None where there is none."""
    path = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if path is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / "mosquitto.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
    with running([path, "-c", str(settings)], folder / "mosquitto.txt") as process:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None:
                break
            time.sleep(0.1)
        if process.poll() is not None:
            raise ValueError(f"mosquitto does not start; {folder / 'mosquitto.txt'} says why")
        yield f"mqtt://127.0.0.1:{port}"


def tcuq(*arguments: str | Path) -> list[str]:
    """Return the command line of a `tcuq` command."""
    return [sys.executable, "-m", "tcuq", *map(str, arguments)]


def simulator(folder: Path, log: Path, out: str, args: argparse.Namespace) -> list[str]:
    """Return the command line of the simulator."""
    options: dict[str, Any] = {"devices": args.devices, "steps": args.steps, "period": PERIOD, **HARD}
    options |= {"degraded-share": args.degraded_share, "seed": args.seed}
    options["start"] = args.start
    options["speed"] = args.steps * PERIOD / args.seconds if out.startswith("mqtt") else 0
    program = Path(__file__).with_name("fleet_simulator.py")
    words = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, str(program), str(log), "--out", out, "--truth", str(folder / "truth"), *words]


def play(folder: Path, monitor: Path, log: Path, args: argparse.Namespace) -> None:
    """Play events and let the fleet take them all."""
    fleet = folder / "fleet"
    with broker(folder) as address:
        if address is None:
            print(
                "mosquitto is not installed (on Debian: apt-get install mosquitto): events go through a file"
            )
            subprocess.run(simulator(folder, log, str(folder / "events.jsonl"), args), check=True)
            subprocess.run(
                tcuq("fleet", "run", monitor, folder / "events.jsonl", "--folder", fleet), check=True
            )
            return
        command = tcuq("fleet", "run", monitor, f"{address}/tcuq/+/steps", "--folder", fleet)
        with running(command, folder / "run.txt") as run:
            wait_for_subscriber(run, folder)
            subprocess.run(simulator(folder, log, f"{address}/tcuq", args), check=True)
            wait_for_last(fleet, run, folder)


def wait_for_subscriber(run: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the broker tells that `tcuq fleet run` is connected."""
    for _ in range(300):
        if run.poll() is not None:
            raise ValueError(f"tcuq fleet run has ended; {folder / 'run.txt'} says why")
        if "New client connected" in (folder / "mosquitto.txt").read_text():
            time.sleep(0.5)  # it subscribes right after
            return
        time.sleep(0.1)
    raise ValueError("tcuq fleet run did not connect within 30 s")


def wait_for_last(fleet: Path, run: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the fleet's folder does not change any more."""
    before, quiet = -1.0, 0
    for _ in range(60):
        if run.poll() is not None:
            raise ValueError(f"tcuq fleet run has ended; {folder / 'run.txt'} says why")
        newest = max((path.stat().st_mtime for path in fleet.rglob("*")), default=0.0)
        quiet = quiet + 1 if newest == before else 0
        if quiet >= 5:
            return
        before = newest
        time.sleep(0.5)


def judge(summary: dict[str, Any], truth: Path) -> str:
    """Return which devices are in alarm and which come first by risk, against which of them degrade."""
    with open(truth / "devices.csv", newline="") as file:
        bad = {row["device"] for row in csv.DictReader(file) if row["degraded"] == "1"}
    alarm = {row["device"] for row in summary["worst"] if row["alarm"] and not row["silent"]}
    first = {row["device"] for row in summary["worst"][: len(bad)]}
    lines = [
        f"truth: {len(bad)} of {summary['devices']} devices degrade in the middle of the run",
        f"in alarm: {len(alarm)}; {len(alarm & bad)} of them degrade, {len(alarm - bad)} do not",
        f"of the {len(first)} that are listed first, {len(first & bad)} degrade",
    ]
    for words, devices in (("alarm, but not degraded", alarm - bad), ("degraded, but no alarm", bad - alarm)):
        if devices:
            lines.append(f"{words}: {', '.join(sorted(devices))}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder; what an earlier run left there is removed")
    parser.add_argument("--devices", type=int, default=300, metavar="N")
    parser.add_argument("--steps", type=int, default=180, metavar="N", help="of each device")
    parser.add_argument("--degraded-share", type=float, default=0.2, metavar="P")
    parser.add_argument("--seconds", type=float, default=12.0, metavar="S", help="that the run takes")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    args = parser.parse_args(argv)
    folder, began = args.out, time.monotonic()
    # The last events are of about now; whole hours, as the fleet counts by those.
    args.start = (time.time() - args.steps * PERIOD) // 3600 * 3600
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that programs are ended as well
    try:
        _empty(folder)
        print("training a classifier and fitting a monitor ...", flush=True)
        monitor, log = make_files(folder, args.seed)
        print(f"playing {args.devices} devices, {args.steps} inferences each ...", flush=True)
        play(folder, monitor, log, args)
        # What an operator knows: the fleet was healthy in its first hours. Devices degrade in the middle.
        hours = (args.start, args.start + 0.4 * args.steps * PERIOD)
        healthy = ("--healthy", *map(str, hours))
        subprocess.run(tcuq("fleet", "status", folder / "fleet", *healthy), check=True)
        with Fleet.open_read(folder / "fleet") as fleet:
            summary = fleet.summary(worst=args.devices, baseline=hours)
        print(f"\n{judge(summary, folder / 'truth')}")
        page = folder / "fleet.html"
        subprocess.run(tcuq("fleet", "page", folder / "fleet", *healthy, "-o", page), check=True)
        print(f"\nopen {page} ({time.monotonic() - began:.0f} s)")
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as error:
        print(
            f"fleet_demo: {' '.join(error.cmd[1:5])} ... ended with status {error.returncode}",
            file=sys.stderr,
        )
        return 2
    except (OSError, ValueError) as error:
        print(f"fleet_demo: {error}", file=sys.stderr)
        return 2
    return 0


def _empty(folder: Path) -> None:
    """Make a folder without what an earlier run left there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("fleet", "truth"):
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
    for name in ("monitor.json", "log.npz", "events.jsonl", "fleet.html"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(folder / name)


if __name__ == "__main__":
    sys.exit(main())
