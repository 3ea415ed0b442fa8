"""`tcuq live` as a person uses it: pages, pipes, signals, and errors of one line."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing

import pytest
from live_runs import PARAMS, decided_alike, json_lines, steps_of, watch
from source_kinds import until

from tcuq import Params
from tcuq.cli import main
from tcuq_watch.live.session import Session


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    return tmp_path


def run(*args, **options):
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.Popen(
        [sys.executable, "-m", "tcuq", "live", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_page_metrics_and_a_signal(place, number):
    probs = steps_of(60)
    process = run("m.json", "-", "--port", "0", "--folder", "kept")
    said = []
    reader = threading.Thread(target=lambda: said.extend(iter(process.stderr.readline, b"")), daemon=True)
    reader.start()
    try:
        until(lambda: any(b"the page is at" in line for line in said), 20)
        url = re.search(rb"http://\S+", b"".join(said))[0].decode()
        assert url.startswith("http://127.0.0.1:")
        process.stdin.write(json_lines(probs))
        process.stdin.close()  # the page stays when standard input has ended
        until(lambda: any(b"standard input ended" in line for line in said))
        with urllib.request.urlopen(f"{url}metrics") as answer:
            assert "tcuq_steps_total 60\n" in answer.read().decode()
        with urllib.request.urlopen(f"{url}feed") as answer:
            assert answer.readline() == b"event: hello\n"
            assert json.loads(answer.readline()[6:])["title"] == "standard input"
        process.send_signal(number)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        reader.join(10)
        process.stdout.close()
        process.stderr.close()
    assert b"60 steps" in said[-1]
    assert decided_alike(place / "kept", probs)


def test_a_reader_of_decisions_that_goes_away_loses_nothing(place):
    probs = steps_of(3000)
    (place / "device.jsonl").write_bytes(json_lines(probs[:2000]))
    with run("m.json", "device.jsonl", "--no-page", "--json") as process:
        process.stdout.read(1000)
        process.stdout.close()
        with open(place / "device.jsonl", "ab") as file:
            file.write(json_lines(probs[2000:]))
        process.stdin.close()
        err = process.stderr.read()
    assert process.returncode == 141 and b"steps" in err
    watch("m-live", "device.jsonl", 3000)
    assert decided_alike(place / "m-live", probs)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["m.json", "none.log"], "none.log: no such file; create it first"),
        (["m.json", "/dev/ttyNONE7"], "/dev/ttyNONE7@115200: no such port"),
        (["m.json", "in.jsonl", "--steps", "1:2"], "without --merge"),
        (["m.json", "kept", "--merge", "x.npz", "--steps", "7"], "expected A:B"),
        (["m.json", "in.jsonl", "--host", "0.0.0.0", "--folder", "new"], "token"),
        (["other.json", "in.jsonl", "--folder", "kept"], "holds a session of other parameters"),
        (["m.json", "/dev/ttyNONE7", "--folder", "taken"], "another tcuq live writes there"),
    ],
)
def test_errors_are_one_line(place, capsys, args, message):
    Params(classes=3).save("other.json")
    (place / "in.jsonl").touch()
    Session(PARAMS, "kept", "x").close()
    with closing(Session(PARAMS, "taken", "x")):
        assert main(["live", *args]) == 2
    found = capsys.readouterr()
    assert message in found.err and len(found.err.strip().splitlines()) == 1, found.err
    assert not found.out
