# SPDX-License-Identifier: MIT
"""Every option that sends something, with every other: it works, or is refused in one line."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers import Mosquitto
from live_runs import PARAMS, json_lines, steps_of
from receivers import Receiver

from tcuq.cli import main


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    lines = json_lines(steps_of(5))
    Path("in.jsonl").write_bytes(lines)
    Path("e.jsonl").write_bytes(
        lines.replace(b"{", b'{"device": "d", "time": 7, ').replace(b"}\n", b', "seq": 0}\n')
    )
    Path("t.csv").write_text("device,site\nd,x\n")
    return tmp_path


def chosen(options: dict[str, list[str]]) -> Iterator[tuple[set[str], list[str]]]:
    """No option, each alone, every pair, and all."""
    for size in (0, 1, 2, len(options)):
        for names in itertools.combinations(options, size):
            yield set(names), [word for name in names for word in options[name]]


def tried(capsys: pytest.CaptureFixture[str], args: list[str], wrong: bool) -> None:
    capsys.readouterr()
    assert main(args) == (2 if wrong else 0), args
    err = capsys.readouterr().err
    assert "bug" not in err and (not wrong or err.count("\n") == 1), (args, err)


def test_live_with_all_of_them(
    work: Path, server: Receiver, mosquitto: Mosquitto, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "webhook": ["--webhook", f"{server.url}/x"],
        "remind": ["--remind-hours", "1"],
        "otlp": ["--otlp", server.url],
        "home": ["--home-assistant", mosquitto.url],
        "merge": ["--merge", "log.npz"],
        "json": ["--json"],
    }
    for given, words in chosen(options):
        wrong = "remind" in given and "webhook" not in given
        wrong |= "merge" in given and bool(given & {"webhook", "otlp", "home"})
        source = ["kept"] if "merge" in given else ["-", "--no-page", "--folder", "kept"]
        with open("in.jsonl") as file:
            monkeypatch.setattr(sys, "stdin", file)
            tried(capsys, ["live", "m.json", *source, *words], wrong)
    assert any(path == "/v1/metrics" for path, *_ in server.got)


def test_fleets_with_all_of_them(work: Path, server: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        "webhook": ["--webhook", f"{server.url}/x"],
        "remind": ["--remind-hours", "0.5"],
        "otlp": ["--otlp", f"{server.url}/v1/metrics"],
        "json": ["--json"],
    }
    for given, words in chosen(options):
        wrong = "remind" in given and "webhook" not in given
        tried(capsys, ["fleet", "run", "m.json", "e.jsonl", "--folder", "f", *words], wrong)
    options = {"tags": ["--tags", "t.csv"], "by": ["--by", "site"], "device": ["--device", "d"]}
    options |= {"json": ["--json"], "now": ["--now"]}
    for given, words in chosen(options):
        wrong = ("by" in given and "tags" not in given) or {"tags", "device"} <= given
        tried(capsys, ["fleet", "status", "f", *words], wrong)


@pytest.mark.parametrize(
    "words",
    [
        ["--webhook", "http://[x"],
        ["--otlp", "localhost:4318"],
        ["--otlp", "http://h/a b"],
        ["--webhook", "http://h", "--remind-hours", "nan"],
        ["--home-assistant", "http://secret@h"],
        ["--home-assistant", "mqtt://h/a/+"],
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    work: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    tried(capsys, ["live", "m.json", "-", "--folder", "kept", *words], True)
    if words[0] != "--home-assistant":
        tried(capsys, ["fleet", "run", "m.json", "e.jsonl", "--folder", "kept", *words], True)
    assert not Path("kept").exists()


def test_a_collector_that_is_away_is_told_of_once(
    work: Path, server: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = [503] * 9
    assert main(["fleet", "run", "m.json", "e.jsonl", "--folder", "f", "--otlp", server.url, "--json"]) == 0
    found = capsys.readouterr()
    assert found.err.count("metrics could not be sent to 127.0.0.1 (status 503)") == 1
    assert json.loads(found.out)["events"] == 5


def test_a_collector_gets_the_headers_of_the_environment(
    work: Path, server: Receiver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = ["fleet", "run", "m.json", "e.jsonl", "--folder", "f", "--otlp", server.url]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20ecret, tenant = a=b")
    assert main(order) == 0
    assert server.headers["api-key"] == "s ecret" and server.headers["tenant"] == "a=b"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret%0d%0aHost: x")
    assert main(order) == 2 and "secret" not in capsys.readouterr().err
