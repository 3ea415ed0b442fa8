"""Runs a stand-in fleet on an MQTT topic until it is killed: ``python mqtt_runner.py ADDRESS FOLDER OUT``."""

from __future__ import annotations

import sys
from pathlib import Path

from fleet_stand_in import StandInFleet

from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import FileSink
from tcuq_watch.sources import open_source

if __name__ == "__main__":
    address, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    fleet = StandInFleet(folder)
    print("ready", flush=True)
    run(fleet, open_source(address, folder=folder), FileSink(out, folder, "jsonl"), count=40, every=0.05)
