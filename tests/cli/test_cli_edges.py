"""Where the command meets the system: signals, streams that nobody reads, files that must not be lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from interrupts import heed_interrupts

import tcuq
from tcuq import InputError, Monitor, Params
from tcuq.cli import main

LINE = '{"probs": [0.25, 0.5, 0.25]}\n'
INTS = '{"probs": [90, 10, 0]}\n'


@pytest.fixture
def params(tmp_path: Path) -> Path:
    path = tmp_path / "p.json"
    Params(classes=3).save(path)
    return path


def tcuq_run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tcuq", *map(str, arguments)]
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(command, text=True, **options)


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a command in this process, which is quicker; give its status and what it said of errors."""

    def run(*arguments: Any) -> tuple[int, str]:
        status = main([*map(str, arguments)])
        return status, capsys.readouterr().err

    return run


def test_a_standard_error_that_cannot_be_written_ends_nothing(params: Path) -> None:
    with open("/dev/full", "w") as full:
        done = tcuq_run("run", params, "-", input=INTS * 300, stderr=full)
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 300
        assert tcuq_run("inspect", "nope.json", stderr=full).returncode == 2
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        done = tcuq_run("run", params, "-", input=INTS * 300, stderr=broken)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 300


def test_devices_and_links_as_output(params: Path, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("p0,p1,p2\n0.25,0.5,0.25\n")
    done = tcuq_run("run", params, tmp_path / "log.csv", "-o", "/dev/stdout")
    assert done.returncode == 2 and "extension" in done.stderr
    os.mkfifo(tmp_path / "pipe.csv")
    reader = os.open(tmp_path / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
    assert tcuq_run("run", params, tmp_path / "log.csv", "-o", tmp_path / "pipe.csv").returncode == 0
    assert len(os.read(reader, 9999).splitlines()) == 2
    os.close(reader)
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    done = tcuq_run("run", params, tmp_path / "log.csv", "-o", tmp_path / "a.csv")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "bug" not in done.stderr


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_live_run_that_is_ended_saves_its_state_and_tells_what_it_skipped(
    params: Path, tmp_path: Path, ending: int
) -> None:
    state = tmp_path / "state.bin"
    command = [sys.executable, "-m", "tcuq", "run", params, "-", "--skip-bad", "--state-out", state]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write("junk\n" + LINE)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["step"] == 0
        process.send_signal(ending)
        assert process.wait(20) == 128 + ending
        assert "skipped 1 bad line" in process.stderr.read()
    assert Monitor(Params.load(params)).load(state).steps == 1


def test_nothing_is_written_over_what_is_read(
    params: Path, tmp_path: Path, here: Callable[..., tuple[int, str]]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("p0,p1,p2\n0.25,0.5,0.25\n")
    out = tmp_path / "same.csv"
    for arguments in (
        ("-o", out, "--state-out", out),
        ("-o", out, "--state-out", params),
        ("-o", log),
        ("-o", out, "--state-out", log),
    ):
        status, said = here("run", params, log, *arguments)
        assert status == 2 and "one would be lost" in said
        assert not out.exists() and Params.load(params) and log.read_text().startswith("p0")
    state = tmp_path / "s.bin"
    assert here("run", params, log, "-o", out, "--state-out", state)[0] == 0
    again, _ = here("run", params, log, "-o", out, "--state-in", state, "--state-out", state)
    assert again == 0 and Monitor(Params.load(params)).load(state).steps == 2


def test_a_run_that_skipped_lines_can_be_audited_and_reported(
    params: Path, tmp_path: Path, here: Callable[..., tuple[int, str]]
) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "d.csv"
    log.write_text("p0,p1,p2\n0.25,0.5,0.25\nx,y,z\n   \n0.5,0.25,0.25\n")
    assert here("run", params, log, "--skip-bad", "-o", out)[0] == 0
    again = ("--log", log)
    assert here("audit", out, params, *again)[0] == 0
    assert here("report", out, "-o", tmp_path / "r.html", *again)[0] == 0


def test_small_courtesies(params: Path, tmp_path: Path, here: Callable[..., tuple[int, str]]) -> None:
    params.write_bytes(b"\xef\xbb\xbf" + params.read_bytes())
    assert here("inspect", params)[0] == 0
    status, said = here("demo", "--out", tmp_path / "d", "--seed", "-1")
    assert status == 2 and "seed is -1" in said and not (tmp_path / "d").exists()
    (tmp_path / "log.csv").symlink_to("/proc/self/mem")
    status, said = here("run", params, tmp_path / "log.csv", "-o", tmp_path / "d.csv")
    assert status == 2 and "log.csv" in said and "d.csv" not in said


def test_rooms_can_be_reached_without_importing_them() -> None:
    code = "import tcuq; tcuq.io, tcuq.metrics, tcuq.audit, tcuq.report, tcuq.export, tcuq.monitor"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tcuq.nonsense  # noqa: B018


def test_a_demo_stops_where_it_is_told_to_and_keeps_off_what_is_not_its_own(
    tmp_path: Path, here: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of training ends the command: no table of a half-trained model, no folder."""
    main = import_module("tcuq.demo.main")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "train", interrupted)
    assert here("demo", "--out", tmp_path / "d", "--quiet") == (130, "")
    assert not any(tmp_path.iterdir())
    # What another command wrote is refused before any work; an empty folder and an earlier demo are not.
    for name, text in (("monitor.json", "{}"), ("report.html", "<title>Monitor report</title>")):
        other = tmp_path / name.partition(".")[0]
        other.mkdir()
        (other / name).write_text(text)
        said = f"tcuq: {other}: is not empty, and no demo wrote it; name another folder with --out\n"
        assert here("demo", "--out", other) == (2, said)
        assert [(each.name, each.read_text()) for each in other.iterdir()] == [(name, text)]
    for own in ("empty", "earlier"):
        (tmp_path / own).mkdir()
    (tmp_path / "earlier" / "report.html").write_text("<title>A day of a camera that sorts clothes</title>")
    for own in ("empty", "earlier"):
        assert here("demo", "--out", tmp_path / own, "--quiet")[0] == 130


def test_a_demo_without_its_data_leaves_no_folder(
    tmp_path: Path, here: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(seed: int) -> None:
        raise InputError("missing", "the pictures are missing")

    import_module("tcuq.demo")
    monkeypatch.setattr(sys.modules["tcuq.demo.main"], "load", missing)
    assert here("demo", "--out", tmp_path / "d") == (2, "tcuq: the pictures are missing\n")
    assert not (tmp_path / "d").exists()
