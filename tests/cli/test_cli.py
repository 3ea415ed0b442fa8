"""The command line: what it prints, how it ends, and that a bad input leaves nothing behind."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from interrupts import heed_interrupts
from streams import learned_params, same_steps

from tcuq import Log, Monitor, Params, __version__
from tcuq.cli import main
from tcuq.cli.common import Progress
from tcuq.io import read_decisions, read_log, write_decisions, write_log
from tcuq.monitor.monitor import run_over

PARAMS = Params(classes=3, warmup=4, level=0.3, budget=0.3)


def stream(steps=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, 3, steps // 10), 10)
    logits = rng.normal(0, 1, (steps, 3)) + 2.5 * np.eye(3)[truth]
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return Log(probs, labels=truth, segments=np.arange(steps) // 40)


def lines_of(log):
    rows = zip(log.probs.tolist(), log.segments.tolist(), strict=True)
    return [json.dumps({"probs": probs, "segment": segment}) + "\n" for probs, segment in rows]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder with a parameter file and the same log in every format, as the working folder."""
    monkeypatch.chdir(tmp_path)
    log = stream()
    PARAMS.save("m.json")
    np.savez("in.npz", probs=log.probs, labels=log.labels, segments=log.segments)
    (tmp_path / "in.jsonl").write_text("".join(lines_of(log)))
    pairs = zip(log.probs.tolist(), log.segments.tolist(), strict=True)
    rows = [f"{a!r},{b!r},{c!r},{segment}" for (a, b, c), segment in pairs]
    (tmp_path / "in.csv").write_text("\n".join(["p0,p1,p2,segment", *rows]) + "\n")
    return tmp_path


def tcuq(*args, **options):
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "tcuq", *args]
    return subprocess.run(command, capture_output=True, text=True, env=environment, **options)


def refused(capsys, *args, status=2):
    """Run a command that must fail; return its one line, after checking that it left nothing behind."""
    before = sorted(os.listdir())
    assert main(list(args)) == status
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("tcuq: ")
    assert sorted(os.listdir()) == before
    return err


def feed(monkeypatch, text):
    content = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tcuq {__version__}\n"


USER_ERRORS = {
    "": ["dance", "inspect in.npz", "audit in.csv m.json", "demo --out m.json"],
    "fit in.npz": ["", "-o missing/p.json", "-o .", "-o - --json"],
    "fit in.npz -o p.json": ["--budget much", "--max-error few", "--level low", "--budget 1.5"],
    "fit in.npz -o p.json --level budget": ["--budget 0"],
    "fit": ["missing.npz -o p.json", "- -o p.json --clean -"],
    "run": ["", "missing.json in.csv", ". in.csv", "in.csv in.csv", "in.csv m.json", "- in.csv"],
    "run m.json": ["missing.csv", "in.txt"],
    "run m.json in.csv": ["--speed", "--state-out -", "-o d.txt", "-o missing/d.csv"],
    "run m.json in.csv -o d.csv": ["--state-out missing/s", "--state-in missing", "--state-in in.csv"],
    "report": ["d.csv -o -", "- -o r.html --log -", "missing.csv -o missing/r.html"],
    "export m.json": [".", "m.json"],
    "export m.json c": ["--name while", "--form rusty", "--form arduino --name loop", "--logits-scale 0"],
    "export m.json c --projection": ["-", "missing", "in.csv", "in.npz"],
}


@pytest.mark.parametrize("begin", USER_ERRORS)
def test_user_errors_are_one_line_and_leave_nothing(place, capsys, begin):
    for end in USER_ERRORS[begin]:
        refused(capsys, *f"{begin} {end}".split())


@pytest.mark.parametrize("change", [{"version": 3}, {"speed": 1}, {"classes": "many"}, {"burst": None}])
def test_bad_parameter_files_are_refused_by_every_command(place, capsys, change):
    (place / "bad.json").write_text(json.dumps(PARAMS.to_dict() | change))
    for line in ("run bad.json in.csv -o d.csv", "inspect bad.json", "export bad.json c"):
        assert "bad.json: " in refused(capsys, *line.split())


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
@pytest.mark.parametrize("out", ["csv", "jsonl", "npz"])
def test_run_gives_what_the_monitor_gives(place, capsys, kind, out):
    assert main(["run", "m.json", f"in.{kind}", "-o", f"d.{out}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    steps = run_over(Monitor(PARAMS), read_log(f"in.{kind}"))
    decisions = read_decisions(f"d.{out}")
    assert same_steps(decisions.steps, steps) and decisions.names is None
    assert (found["steps"], found["abstentions"]) == (120, int(steps["abstain"].sum()))
    assert found["decisions"] == f"d.{out}" and found["skipped"] == 0


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz", "parquet"])
def test_parts_of_a_log_decide_as_the_whole(place, capsys, monkeypatch, kind):
    """Also where a part ends at a border of segments, and in one."""
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is missing")
        write_log("in.parquet", read_log("in.npz"))
    for out in ("csv", "npz"):
        assert main(["run", "m.json", f"in.{kind}", "-o", f"whole.{out}", "--quiet"]) == 0
        for size in (1, 7, 40):
            monkeypatch.setattr("tcuq.io.logs.PART", size)
            monkeypatch.setattr("tcuq.io.tables.PIECE", size * 8)
            assert main(["run", "m.json", f"in.{kind}", "-o", f"parts.{out}", "--quiet"]) == 0
            assert (place / f"parts.{out}").read_bytes() == (place / f"whole.{out}").read_bytes(), size


def test_a_live_pipe_is_answered_line_by_line(place):
    log = stream()
    steps = run_over(Monitor(PARAMS), log)
    command = [sys.executable, "-m", "tcuq", "run", "m.json", "-", "--state-out", "state.bin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        for number, line in enumerate(lines_of(log)):
            process.stdin.write(line)
            process.stdin.flush()
            # The next line is written only after this answer: it must come at once.
            found = json.loads(process.stdout.readline())
            assert found["step"] == number and round(found["risk"] * 65536) == steps["risk"][number] * 65536
            assert found["abstain"] is bool(steps["abstain"][number])
        process.stdin.close()
        assert process.stdout.read() == "" and process.stderr.read() == ""
        assert process.wait() == 0
    assert Monitor(PARAMS).load(place / "state.bin").steps == len(log)


def test_bad_lines_are_skipped_counted_and_reported(place, capsys, monkeypatch):
    lines = lines_of(stream())
    good = "".join(lines)
    messy = "".join(['{"probs": [0.5, 0.5], "segment": 0}\n', *lines[:2], "{\n", "\n", *lines[2:], "[]\n"])
    feed(monkeypatch, good)
    assert main(["run", "m.json", "-"]) == 0
    wanted = capsys.readouterr().out
    feed(monkeypatch, messy)
    assert main(["run", "m.json", "-", "--skip-bad"]) == 0
    out, err = capsys.readouterr()
    assert out == wanted
    assert err.startswith("tcuq: skipped 3 bad lines; the first: standard input, line 1: probs")
    assert err.count("\n") == 1
    text = (place / "in.csv").read_text().splitlines()
    (place / "messy.csv").write_text("\n".join([*text[:5], "x,0,1,0", *text[5:]]))
    assert "line 6: p0 is 'x'" in refused(capsys, "run", "m.json", "messy.csv", "-o", "d.csv")
    assert main(["run", "m.json", "messy.csv", "-o", "d.csv", "--skip-bad", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 1
    assert len(read_decisions("d.csv")) == 120


def test_a_state_carries_on(place, capsys):
    lines = (place / "in.jsonl").read_text().splitlines(keepends=True)
    # Cut inside a segment: a new one would reset anyway.
    (place / "a.jsonl").write_text("".join(lines[:50]))
    (place / "b.jsonl").write_text("".join(lines[50:]))
    assert main(["run", "m.json", "in.jsonl", "-o", "d.jsonl", "--state-out", "s", "--quiet"]) == 0
    assert main(["run", "m.json", "a.jsonl", "-o", "a.d.jsonl", "--state-out", "s1", "--quiet"]) == 0
    second = "run m.json b.jsonl -o b.d.jsonl --state-in s1 --state-out s2 --quiet"
    assert main(second.split()) == 0
    parts = [(place / f"{part}d.jsonl").read_text() for part in ("a.", "b.", "")]
    assert parts[0] + parts[1] == parts[2]
    assert (place / "s2").read_bytes() == (place / "s").read_bytes()
    assert main(["audit", "b.d.jsonl", "m.json", "--log", "b.jsonl", "--state", "s1"]) == 0
    assert main(["audit", "b.d.jsonl", "m.json"]) == 1
    assert "FAIL  step" in capsys.readouterr().out


def test_bad_states_are_refused(place, capsys):
    monitor = Monitor(PARAMS)
    monitor.run(stream().probs)
    state = monitor.save("good")
    flipped = bytearray(state)
    flipped[45] ^= 4
    PARAMS.replace(burst=7).save("n.json")
    for content, other in [(state[:-1], "m"), (bytes(flipped), "m"), (b"", "m"), (state, "n")]:
        main(["run", f"{other}.json", "in.csv", "-o", "d.csv", "--quiet"])
        (place / "bad").write_bytes(content)
        run = refused(capsys, "run", f"{other}.json", "in.csv", "-o", "e.csv", "--state-in", "bad")
        audit = refused(capsys, "audit", "d.csv", f"{other}.json", "--state", "bad")
        assert "bad: state of" in run and "bad: state of" in audit
    (place / "bad").write_bytes(flipped)
    assert "bad: state of" in refused(capsys, "inspect", "bad")


def test_audit_ends_with_1_when_something_is_wrong(place, capsys):
    assert main(["run", "m.json", "in.csv", "-o", "d.csv", "--quiet"]) == 0
    assert main(["audit", "d.csv", "m.json", "--log", "in.csv"]) == 0
    assert "all checks hold" in capsys.readouterr().out
    rows = (place / "d.csv").read_text().splitlines()
    cells = rows[60].split(",")
    place_of = rows[0].split(",").index("abstain")
    cells[place_of] = str(1 - int(cells[place_of]))
    (place / "e.csv").write_text("\n".join([*rows[:60], ",".join(cells), *rows[61:]]))
    assert main(["audit", "e.csv", "m.json"]) == 1
    assert "FAIL  abstain" in capsys.readouterr().out
    assert main(["audit", "e.csv", "m.json", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"] and next(c for c in found["checks"] if c["name"] == "abstain")["step"] == 59
    assert main(["audit", "e.csv", "m.json", "--quiet"]) == 1
    assert capsys.readouterr().out == ""


def test_export_writes_the_files(place, capsys):
    assert main(["export", "m.json", "c", "--name", "camera", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["files"]) == sorted(str(path) for path in Path("c").rglob("*") if path.is_file())
    said = refused(capsys, "export", "m.json", "c")
    assert "exists; choose another folder, or replace it with --force" in said and "force=" not in said
    assert main(["export", "m.json", "c", "--force"]) == 0
    assert "try it: cd c && cc -std=c99 main.c monitor.c " in capsys.readouterr().out
    assert main(["export", "m.json", "my c"]) == 0
    assert "try it: cd 'my c' && cc " in capsys.readouterr().out


def test_fit_passes_only_what_was_given(place, capsys, monkeypatch):
    import tcuq.fitting
    from tcuq import FitOptions

    seen = []
    fitted = tcuq.fitting.fit(stream(), about="prediction", run_length=100, options=FitOptions(explain=False))

    def fit(log, progress, **options):
        progress("signals", 1, 2)
        seen.append((len(log), options))
        return fitted

    monkeypatch.setattr(tcuq.fitting, "fit", fit)
    assert main(["fit", "in.npz", "-o", "p.json"]) == 0
    assert capsys.readouterr().out.startswith("120 steps in ") and Params.load("p.json") == fitted
    options = "--profile paper --level budget --budget 0.1 --run-length 500 --alarm risk --feature-scale 0.5"
    options += (
        " --feature-zero-point -3 --posterior-only --quiet --baseline-inputs 9 --max-error 0.05,32 --force"
    )
    assert main(["fit", "in.npz", "-o", "p.json", *options.split()]) == 0
    assert capsys.readouterr().out == ""
    expert = {"feature_scale": 0.5, "feature_zero_point": -3, "baseline_inputs": 9, "max_error": 0.05}
    given = {"profile": "paper", "alarm": "risk", "level": "budget", "budget": 0.1, "run_length": 500}
    given |= {"options": FitOptions(use_features=False, feedback=32, **expert), "clean": None, "force": True}
    plain = {"options": FitOptions(), "force": False}
    assert seen[0] == (120, {"clean": None, **plain}) and seen[1][1] == given
    assert main(["fit", "in.npz", "-o", "p.json", "--clean", "in.csv", "--level", "0.2"]) == 0
    assert len(seen[2][1].pop("clean")) == 120 and seen[2][1] == {"level": 0.2, **plain}


def test_report_and_demo_are_called(place, capsys, monkeypatch):
    page = pytest.importorskip("tcuq.report")
    assert page
    main(["run", "m.json", "in.npz", "-o", "d.csv", "--quiet"])
    args = ["report", "d.csv", "-o", "r.html", "--params", "m.json", "--log", "in.npz"]
    assert main([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": "r.html", "steps": 120}
    assert "doubt" in (place / "r.html").read_text(encoding="utf-8")
    (place / "short.csv").write_text("p0,p1,p2\n0.5,0.25,0.25\n")
    short = refused(capsys, "report", "d.csv", "-o", "q.html", "--log", "short.csv")
    assert "short.csv: has 1 steps, expected 120" in short
    fake = types.ModuleType("tcuq.demo")
    fake.main = lambda out, seed, progress: {"out": out, "seed": seed, "text": "the table"}
    monkeypatch.setitem(sys.modules, "tcuq.demo", fake)
    assert main(["demo", "--out", "x", "--seed", "4"]) == 0
    assert capsys.readouterr().out == "the table\n"
    assert main(["demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": "tcuq-demo", "seed": None, "text": "the table"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("args", [["inspect", "m.json"], ["run", "m.json", "in.csv"], ["run", "m.json", "-"]])
def test_a_full_standard_output_is_one_line(place, args):
    with open("/dev/full", "wb") as full, open("in.jsonl", "rb") as lines:
        command = [sys.executable, "-m", "tcuq", *args]
        done = subprocess.run(command, stdin=lines, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "tcuq: standard output: No space left on device; free some space"
    assert done.returncode == 2 and done.stderr.startswith(said)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("source", ["in.jsonl", "-"])
def test_a_reader_that_leaves_ends_the_run_as_a_signal_would(place, source, unbuffered):
    # Far more than a pipe holds, so that writing goes on after the reader has left.
    (place / "in.jsonl").write_text("".join(lines_of(stream())) * 40)
    with open("in.jsonl", "rb") as lines:
        command = [sys.executable, "-m", "tcuq", "run", "m.json", source]
        pipes = {"stdin": lines, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        pipes["env"] = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        with subprocess.Popen(command, **pipes) as process:
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141


@pytest.mark.parametrize("command", ["fit", "run", "live", "device"])
def test_a_command_is_declared_by_its_own_module_alone(command):
    """The help of one command imports nothing heavy, and the modules of no other one."""
    code = f"import sys, tcuq.cli as c; c.main(['{command}', '--help']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"numpy", "tcuq.io", "tcuq.monitor", "tcuq.fitting", "tcuq.report", "tcuq.recording"} & loaded
    own = {"fit": "tcuq.cli.fit", "run": "tcuq.cli.run", "live": "tcuq_watch", "device": "tcuq_device"}
    loaded_commands = {name for name in own.values() if name in loaded}
    assert loaded_commands == {own[command]}


def test_the_command_alone_prints_its_help(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in ("demo", "start", "fit", "live", "device"))
    assert main(["fleet"]) == 0 and "status" in capsys.readouterr().out


def test_the_progress_bar_shows_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = Progress(quiet=False)
    bar(1, 4, "a quarter")
    assert "1/4 a quarter" in screen.getvalue()
    bar.close()
    assert screen.getvalue().endswith("\r")
    for quiet, plain in [(True, Terminal()), (False, io.StringIO())]:
        monkeypatch.setattr(sys, "stderr", plain)
        bar = Progress(quiet)
        bar(1, 4)
        bar.close()
        assert plain.getvalue() == ""


def test_a_fit_shows_progress_once_it_takes_long(monkeypatch):
    from tcuq.cli import fit

    now, seen = [100.0], []
    monkeypatch.setattr(fit.time, "monotonic", lambda: now[0])
    show = fit.patient(lambda done, total, text: seen.append((done, total, text)))
    show("read", 0, 1)
    now[0] += fit.PATIENCE
    show("signals", 3, 9)
    assert seen == [(3, 9, "signals")]


def test_logs_that_are_no_posteriors_are_refused_by_run_and_fit(place, capsys):
    Params(classes=2).save("two.json")
    (place / "percent.csv").write_text("p0,p1,label\n90,10,0\n55,45,1\n")
    (place / "logits.csv").write_text("p0,p1,label\n90,-10,0\n55,4,1\n80,80,1\n")
    (place / "floats.csv").write_text("p0,p1,label\n0.5,0.5,1\n3.5,-1.25,0\n")
    (place / "good.csv").write_text("p0,p1,label\n-128,127,1\n" * 1 + "0,0,0\n")
    for name, hint in (
        ("percent.csv", "Are these percentages?"),
        ("logits.csv", "Pass --logits and --logits-scale"),
        ("floats.csv", "line 3: p0 is 3.5, expected 0 to 1 (are these logits? pass --logits)"),
    ):
        for args in (f"run two.json {name} -o d.csv", f"fit {name} -o p.json"):
            line = refused(capsys, *args.split())
            assert f"tcuq: {name}" in line and hint in line
        assert hint in refused(capsys, "fit", "good.csv", "--clean", name, "-o", "p.json")


def test_single_odd_rows_are_taken_and_a_live_stream_is_noted(place, capsys, monkeypatch):
    Params(classes=2).save("two.json")
    (place / "some.csv").write_text("p0,p1\n90,10\n" + "-128,127\n")
    assert main(["run", "two.json", "some.csv", "-o", "d.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["notes"] == [] and err == ""
    for lines in (1, 150):
        feed(monkeypatch, '{"probs": [90, 10]}\n' * lines)
        assert main(["run", "two.json", "-"]) == 0
        count = min(lines, 100)
        assert capsys.readouterr().err == (
            f"tcuq: standard input: {count} of {count} int8 rows do not sum to 1 (mean sum 1.39); are these "
            "percentages or logits? (pass --logits with --logits-scale)\n"
        )


def test_logits_are_taken_when_they_are_said_to_be(place, capsys, monkeypatch):
    log = stream()
    logits = np.log(log.probs)
    np.savez("logits.npz", probs=logits, labels=log.labels, segments=log.segments)
    quick = ["--profile", "paper", "--run-length", "100"]
    assert main(["fit", "in.npz", "-o", "p.json", *quick, "--quiet"]) == 0
    assert main(["fit", "logits.npz", "--logits", "-o", "q.json", *quick, "--quiet"]) == 0
    assert Params.load("p.json") == Params.load("q.json")
    assert main(["run", "p.json", "in.npz", "-o", "d.csv", "--quiet"]) == 0
    assert main(["run", "p.json", "logits.npz", "--logits", "-o", "e.csv", "--quiet"]) == 0
    assert (place / "d.csv").read_text() == (place / "e.csv").read_text()
    assert main(["audit", "e.csv", "p.json", "--log", "logits.npz", "--logits", "--quiet"]) == 0
    pairs = zip(logits.tolist(), log.segments.tolist(), strict=True)
    rows = [{"probs": row, "segment": segment} for row, segment in pairs]
    feed(monkeypatch, "".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert main(["run", "p.json", "in.npz", "-o", "d.jsonl", "--quiet"]) == 0
    assert main(["run", "p.json", "-", "--logits"]) == 0
    assert capsys.readouterr().out == (place / "d.jsonl").read_text()
    feed(monkeypatch, json.dumps(rows[0]) + "\n")
    line = refused(capsys, "run", "p.json", "-")
    assert "line 1: probs[" in line and "(are these logits? pass --logits)" in line
    raw = np.clip(np.round(logits / 0.1), -128, 127).astype(np.int8)
    np.savez("raw.npz", probs=raw, labels=log.labels)
    assert "pass --logits-scale" in refused(capsys, "fit", "raw.npz", "--logits", "-o", "r.json")
    scaled = ["--logits", "--logits-scale", "0.1", "-o", "r.json", "--quiet"]
    assert main(["fit", "raw.npz", *scaled, *quick]) == 0
    for args in (["fit", "in.npz", "-o", "r.json"], ["run", "m.json", "in.npz"]):
        assert "--logits-scale is given without --logits" in refused(capsys, *args, "--logits-scale", "1")


def test_the_state_of_a_live_run_survives_an_interrupt_and_a_closed_pipe(place):
    command = [sys.executable, "-m", "tcuq", "run", "m.json", "-", "--state-out", "state.bin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    lines = lines_of(stream())
    for end in ("interrupt", "close"):
        with subprocess.Popen(command, preexec_fn=heed_interrupts, **pipes) as process:
            for line in lines[:3]:
                process.stdin.write(line)
                process.stdin.flush()
                process.stdout.readline()
            if end == "interrupt":
                process.send_signal(signal.SIGINT)
            else:
                process.stdout.close()
                process.stdin.write(lines[3])
                process.stdin.flush()
            assert process.wait(30) == (130 if end == "interrupt" else 141)
            assert process.stderr.read() == ""
        # The step whose answer nobody read was taken nevertheless.
        assert Monitor(PARAMS).load("state.bin").steps == (3 if end == "interrupt" else 4)
        os.unlink("state.bin")


def test_fit_on_standard_output_is_the_parameters_alone(place, capsys, monkeypatch):
    import tcuq.fitting

    monkeypatch.setattr(tcuq.fitting, "fit", lambda log, **options: PARAMS)
    assert main(["fit", "in.npz", "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert Params.from_json(out) == PARAMS and err.startswith("tcuq: Chosen: ") and err.count("\n") == 3
    assert main(["fit", "in.npz", "-o", "-", "--quiet"]) == 0
    assert capsys.readouterr() == (PARAMS.to_json(), "")


@pytest.mark.cases(3)
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("command", "status", "err"),
    [
        ("run m.json - < in.jsonl >&-", 0, ""),
        ("inspect missing 2>&-", 2, ""),
        ("run m.json - -o d.csv <&-", 2, "tcuq: standard input is closed\n"),
        ("inspect m.json <&- >&- 2>&-", 0, ""),
    ],
)
def test_closed_streams_are_no_surprise(place, command, status, err):
    line = f'"{sys.executable}" -m tcuq {command}'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", err)


def test_nothing_heavy_is_imported_before_main_can_catch_an_interrupt():
    code = "import sys; before = set(sys.modules); import tcuq.cli; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "argparse", "json", "typing", "tcuq._core"} & set(done.stdout.split())


def test_an_interrupt_while_modules_are_loaded_ends_quietly(place):
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tcuq.monitor.params':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from tcuq.cli import main\n"
        "sys.exit(main(['inspect', 'm.json']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("out", ["csv", "jsonl", "npz"])
def test_a_decision_log_names_its_parameters(place, capsys, out):
    """Another parameter file is refused by audit and report; a log without a name is accepted with a note."""
    assert main(["run", "m.json", "in.csv", "-o", f"d.{out}", "--quiet"]) == 0
    decisions = read_decisions(f"d.{out}")
    assert decisions.fingerprint == PARAMS.fingerprint and decisions.columns[-1] == "params"
    assert main(["audit", f"d.{out}", "m.json", "--quiet"]) == 0
    other = PARAMS.replace(burst=7)
    other.save("n.json")
    message = f"d.{out}: made with parameters {PARAMS.fingerprint}, expected {other.fingerprint}"
    assert message in refused(capsys, "audit", f"d.{out}", "n.json")
    assert message in refused(capsys, "report", f"d.{out}", "-o", "r.html", "--params", "n.json")
    write_decisions(f"old.{out}", dataclasses.replace(decisions, fingerprint=None))
    assert read_decisions(f"old.{out}").columns == decisions.columns[:-1]
    capsys.readouterr()
    for args in (
        ["audit", f"old.{out}", "m.json"],
        ["report", f"old.{out}", "-o", "r.html", "--params", "m.json"],
    ):
        assert main(args) == 0
        assert f"old.{out}: does not name its parameters" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "message"), [("zz", "eight hexadecimal"), ("00000000", "one monitor")])
def test_names_of_parameters_that_are_refused(place, capsys, name, message):
    assert main(["run", "m.json", "in.csv", "-o", "d.csv", "--quiet"]) == 0
    text = (place / "d.csv").read_text()
    (place / "d.csv").write_text(text.replace(f"{PARAMS.fingerprint}\n", f"{name}\n", 1))
    assert message in refused(capsys, "audit", "d.csv", "m.json")


def test_seal_after_an_edit(place, capsys):
    text = (place / "m.json").read_text()
    (place / "m.json").write_text(text.replace('"warmup": 4', '"warmup": 5'))
    assert "run `tcuq inspect FILE --seal`" in refused(capsys, "inspect", "m.json")
    assert main(["inspect", "m.json", "--seal"]) == 0
    edited = PARAMS.replace(warmup=5)
    assert f"fingerprint {edited.fingerprint}" in capsys.readouterr().out
    assert Params.load("m.json") == edited
    (place / "m.json").write_text(text.replace('"warmup": 4', '"warmup": -5'))
    assert "warmup is -5" in refused(capsys, "inspect", "m.json", "--seal")
    assert '"warmup": -5' in (place / "m.json").read_text()
    Monitor(PARAMS).save("state")
    assert "--seal is for a parameter file" in refused(capsys, "inspect", "state", "--seal")


NAMES = ("cat", 'a "big", wild dog', "\u732b")


def named(place):
    """Put parameters with names beside the others, and a log with the same names."""
    params = learned_params(3, names=NAMES)
    params.save("named.json")
    (place / "named.jsonl").write_text(json.dumps({"names": NAMES}) + "\n" + "".join(lines_of(stream())))
    return params


@pytest.mark.parametrize("out", ["jsonl", "csv", "npz"])
def test_answers_have_names_in_every_format(place, capfdbinary, monkeypatch, out):
    params = named(place)
    steps = run_over(Monitor(params), read_log("named.jsonl"))
    for source in ("named.jsonl", "in.csv"):
        assert main(["run", "named.json", source, "-o", f"d.{out}", "--quiet"]) == 0
        found = read_decisions(f"d.{out}")
        assert same_steps(found.steps, steps) and found.names == NAMES
    if out != "jsonl":
        return
    capfdbinary.readouterr()
    feed(monkeypatch, (place / "named.jsonl").read_bytes())
    assert main(["run", "named.json", "-"]) == 0
    assert capfdbinary.readouterr().out == (place / f"d.{out}").read_bytes()
    # Names of the stream alone do as well.
    PARAMS.save("m.json")
    feed(monkeypatch, (place / "named.jsonl").read_bytes())
    assert main(["run", "m.json", "-"]) == 0
    live = capfdbinary.readouterr().out
    assert main(["run", "m.json", "named.jsonl", "-o", f"e.{out}", "--quiet"]) == 0
    assert live == (place / f"e.{out}").read_bytes() and "\u732b".encode() in live


def test_audit_and_report_name_classes(place, capsys):
    named(place)
    assert main(["run", "named.json", "named.jsonl", "-o", "d.csv", "--quiet"]) == 0
    check = ["audit", "d.csv", "named.json", "--log", "named.jsonl"]
    assert main(check) == 0
    capsys.readouterr()
    rows = (place / "d.csv").read_text().splitlines()
    at = rows[0].split(",").index("answer")
    bad = next(i for i, row in enumerate(rows[1:], 1) if row.split(",")[at] == "0")
    cells = rows[bad].split(",")
    cells[at] = "2"
    kept = [",".join(cells).replace(",cat,", ",\u732b,"), *rows[bad + 1 :]]
    (place / "d.csv").write_text("\n".join([*rows[:bad], *kept]))
    assert main(check) == 1
    assert f"says 2 (\u732b) at step {bad - 1}, the core gives 0 (cat)" in capsys.readouterr().out
    assert main(["report", "d.csv", "-o", "r.html"]) == 0
    page = (place / "r.html").read_text()
    assert '"names":["cat"' in page and 'a \\"big\\", wild dog' in page
    assert main(["inspect", "named.json"]) == 0
    shown = capsys.readouterr().out
    assert "classes    0 cat, 1 a" in shown and "the risk is about the answer" in shown
