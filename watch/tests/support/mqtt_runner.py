"""Runs a fleet on an MQTT topic until it is killed: ``python mqtt_runner.py ADDRESS FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from tcuq import Params
from tcuq_watch.fleet import Fleet
from tcuq_watch.fleet.run import run
from tcuq_watch.sources import open_source

PARAMS = Params(classes=2)

if __name__ == "__main__":
    address, folder = sys.argv[1], Path(sys.argv[2])
    fleet = Fleet(PARAMS, folder)
    print("ready", flush=True)
    run(fleet, open_source(address, folder=folder), count=40, every=0.05)
