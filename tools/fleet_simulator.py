"""Simulate a fleet: devices play real logs over a network that loses, delays and repeats.

    python tools/fleet_simulator.py test.npz --devices 500 --degraded-share 0.1 --out events.jsonl
    python tools/fleet_simulator.py clean.csv --degraded dark.csv --out mqtt://127.0.0.1:1883/tcuq --speed 60

The same seed gives the same events. Events go to JSON lines (`-` is standard output), to a folder of Parquet
files, or to MQTT as one message a device and tick on `<topic>/<device>/steps`.
`--truth` is a folder for what no server can know: `devices.csv` (which device degrades when, which version it
runs, what was lost) and `labels.csv` (the true class of every step).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from fleet_play import Plan, Played, play, write_truth
from fleet_traffic import Network

from tcuq.base.errors import needed
from tcuq.io import read_log


def _to_lines(path: str, played: Played) -> tuple[Callable[[Any], None], Callable[[], None]]:
    file = sys.stdout if path == "-" else open(path, "w")  # noqa: SIM115

    def send(numbers: npt.NDArray[np.int64]) -> None:
        for number in numbers.tolist():
            file.write(json.dumps({"device": played.device(number), **played.message(number)}) + "\n")
        file.flush()

    return send, (file.flush if path == "-" else file.close)


def _to_tables(path: str, played: Played) -> tuple[Callable[[Any], None], Callable[[], None]]:
    arrow = needed("pyarrow", "pyarrow", "a Parquet file")
    parquet = needed("pyarrow.parquet", "pyarrow", "a Parquet file")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    sent = [0, 0]

    def send(numbers: npt.NDArray[np.int64]) -> None:
        rows = [{"device": played.device(each), **played.message(each)} for each in numbers.tolist()]
        arrival = arrow.array(np.arange(sent[1], sent[1] + len(rows)))
        table = arrow.Table.from_pylist(rows).append_column("arrival", arrival)
        # A reader that watches the folder never sees half a file.
        part = folder / f".{sent[0]:08d}.part"
        parquet.write_table(table, part)
        os.replace(part, folder / f"{sent[0]:08d}.parquet")
        sent[0], sent[1] = sent[0] + 1, sent[1] + len(rows)

    return send, lambda: None


def _to_mqtt(address: str, played: Played) -> tuple[Callable[[Any], None], Callable[[], None]]:
    mqtt = needed("paho.mqtt.client", "tcuq-watch", "MQTT")
    place, _, topic = address.removeprefix("mqtt://").partition("/")
    host, _, port = place.partition(":")
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.max_inflight_messages_set(1000)
    client.connect(host, int(port or 1883))
    client.loop_start()
    waiting: list[Any] = []

    def send(numbers: npt.NDArray[np.int64]) -> None:
        messages: dict[str, list[Any]] = {}
        for number in numbers.tolist():
            messages.setdefault(played.device(number), []).append(played.message(number))
        for device, steps in messages.items():
            text = json.dumps(steps if len(steps) > 1 else steps[0])
            waiting.append(client.publish(f"{topic or 'tcuq'}/{device}/steps", text, qos=1))
        while len(waiting) > 5000:  # what the broker has not taken yet
            waiting.pop(0).wait_for_publish(60)

    def close() -> None:
        for each in waiting:
            each.wait_for_publish(60)
        client.disconnect()
        client.loop_stop()

    return send, close


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    args = _parser().parse_args(argv)
    try:
        network = Network(args.lost, args.repeated, args.delayed, args.mean_delay, args.reboots)
        names = args.versions.split(",") if args.versions else None
        if (names is not None and len(names) != 2) or (args.second_share and names is None):
            raise ValueError(f"--versions is {args.versions}, expected two names such as v1,v2")
        plan = Plan(
            devices=args.devices,
            steps=args.steps,
            period=args.period,
            degraded_share=args.degraded_share,
            second_share=args.second_share,
            versions=None if names is None else (names[0], names[1]),
            network=network,
            seed=args.seed,
            start=time.time() if args.start is None else args.start,
        )
        logs = [None if path is None else read_log(path) for path in (args.log, args.degraded, args.second)]
        second = None if logs[2] is None else (logs[2], logs[2])
        played = play(plan, logs[0], logs[1], second)
        if args.truth:
            write_truth(args.truth, played)
        to = _to_mqtt if args.out.startswith("mqtt://") else _to_lines
        if to is _to_lines and args.out != "-" and not args.out.endswith((".jsonl", ".ndjson")):
            to = _to_tables
        send, close = to(args.out, played)
    except (OSError, ValueError) as error:
        print(f"fleet_simulator: {error}", file=sys.stderr)
        return 2
    sent, began = 0, time.monotonic()
    try:
        for numbers in played.chunks(args.speed, args.chunk):
            send(numbers)
            sent += len(numbers)
    except KeyboardInterrupt:
        pass
    finally:
        close()
    seconds = time.monotonic() - began
    print(f"{sent:,} events of {plan.devices:,} devices in {seconds:.1f} s to {args.out}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", help="clean log; its steps marked as shifted are the degraded one")
    parser.add_argument("--degraded", metavar="FILE", help="log that degraded devices play")
    parser.add_argument("--second", metavar="FILE", help="log that the second version plays")
    parser.add_argument("--out", required=True, help="FILE.jsonl, a folder, or mqtt://host:port/topic")
    parser.add_argument("--truth", type=Path, metavar="FOLDER", help="where to write what was true")
    numbers: list[tuple[str, Any, Any, str]] = [
        ("devices", int, 100, "devices"),
        ("steps", int, 100, "inferences of each"),
        ("period", float, 10.0, "seconds between two of them"),
        ("speed", float, 0.0, "seconds of the fleet a second; 0: as fast as it goes"),
        ("seed", int, 0, "seed of all random numbers"),
        ("start", float, None, "seconds since 1970 of the first inference (default: now)"),
        ("chunk", int, 50_000, "events that are sent at once, at most (rows a Parquet file)"),
        ("degraded-share", float, 0.0, "of the devices"),
        ("second-share", float, 0.0, "of the devices, that get the second version"),
        ("lost", float, 0.0, "share of events"),
        ("repeated", float, 0.0, "share of events"),
        ("delayed", float, 0.0, "share of events"),
        ("mean-delay", float, 30.0, "seconds"),
        ("reboots", float, 0.0, "share of inferences before which a device starts again"),
    ]
    for name, kind, default, text in numbers:
        shown = "" if default is None else f" (default: {default})"
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=text + shown)
    parser.add_argument("--versions", metavar="A,B", help="names of the two versions, sent with each event")
    return parser


if __name__ == "__main__":
    sys.exit(main())
