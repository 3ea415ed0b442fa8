"""`tcuq start`: what it writes and says; its parts have nothing in common, and errors leave nothing."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from tiny_models import MODELS, bar_net, bars

import tcuq
from tcuq.cli import main
from tcuq.io import read_decisions, read_log
from tcuq.monitor.monitor import run_over
from tcuq.recording.data import open_data
from tcuq.recording.model import Model
from tcuq.recording.shifts import choose
from tcuq.recording.streams import Streams, joined, paces_of
from tcuq.start import start
from tcuq.start.judge import judge
from tcuq.start.run import plan_parts, split_examples, split_kinds, steps_for
from tcuq.start.verdict import checks, lines, overall

NET = "from tiny_models import bar_net as net\ndef loud(x, rng):\n    return x * 3\n"
BAD = "seen = []\ndef late(x, rng):\n    seen.append(1)\n    return x if len(seen) < 40 else 1 / 0\n"
STEP = [("answer", int), ("risk", float), ("abstain", bool), ("alarm", int), ("expected_accuracy", float)]
FILES = {"README.md", "dev.npz", "test.npz", "monitor.json", "decisions.csv", "report.html", "firmware"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with data and a model of one's own as the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("own_net", "bad_shift", "my_shifts", "gen"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    x, y = bars(500, noise=0.85)
    np.savez("data.npz", x=x, y=y)
    Path("own_net.py").write_text(NET)
    Path("bad_shift.py").write_text(BAD)
    return tmp_path


@pytest.fixture
def bare_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the C package, whose self-check takes as long as all else together."""

    def sources(*args: Any) -> dict[str, str]:
        return {"monitor.c": ""}

    monkeypatch.setattr("tcuq.start.run.sources", sources)


def test_nothing_is_written_but_the_folder(
    place: Path, bare_package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **options: Any) -> str:
        raise AssertionError("a killed process would leave this folder")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert main(["start", "own_net:net", "data.npz", "-o", "out", "--quiet"]) == 0


def refusal(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return the one line that the command says before it ends with status 2."""
    before = sorted(Path().rglob("*"))
    assert main(["start", *args]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("tcuq: ")
    left = [each for each in sorted(Path().rglob("*")) if "__pycache__" not in each.parts]
    assert left == [each for each in before if "__pycache__" not in each.parts], "something was left behind"
    return err


def test_from_a_model_and_data_to_a_judged_monitor(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--names", "left,middle,right"]
    assert main(["start", "own_net:net", "data.npz", "-o", "out", *names]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (
        7 <= len(lines) <= 15 and lines[0].startswith("Next: ") and lines[-1].startswith("Written to out/: ")
    )
    assert re.match("(OK|WEAK|FAIL|OPEN)  +", lines[1]) and max(map(len, lines)) <= 90
    assert re.findall(r"^  (?:OK|WEAK|FAIL|OPEN)  +(\w+)", out, re.M) == [
        "answers",
        "alarm",
        "false",
        "expected",
    ]
    assert "tcuq: inputs are taken as pictures of 8 x 8 with values 0 to 1; --shifts can " in err
    assert "tcuq: inputs are taken as plain examples, shuffled" in err and "add an array `segments`" in err
    assert {each.name for each in Path("out").iterdir()} == FILES
    assert {"monitor.c", "monitor.h", "main.c", "tcuq.c"} <= {
        each.name for each in Path("out/firmware").iterdir()
    }
    readme = Path("out/README.md").read_text()
    assert "\n".join(lines[:-1]) in readme and "**The degradations are generic." in readme
    assert "| `firmware/` | the monitor as C files in one folder, with" in readme
    assert (
        "`tcuq export own.json firmware --name monitor --force`" in readme and "-o monitor.json" not in readme
    )

    dev, test = read_log("out/dev.npz"), read_log("out/test.npz")
    assert (len(dev), len(test)) == (3600, 2400) and dev.kinds is not None and test.kinds is not None
    assert {0} == set(dev.kinds.tolist()) & set(test.kinds.tolist()), "kinds of shift are in one part alone"
    params = tcuq.Params.load("out/monitor.json")
    steps = run_over(tcuq.Monitor(params), test)
    decided = read_decisions("out/decisions.csv")
    np.testing.assert_array_equal(decided.steps["abstain"], steps["abstain"])
    assert decided.names == ("left", "middle", "right"), "as `tcuq run` writes them"
    decided.check_params(params)
    wrong = float((steps["answer"] != test.labels).mean())
    assert f"{wrong:.1%} with its answers" in readme
    assert "<!doctype html>" in Path("out/report.html").read_text()[:20]


@pytest.mark.usefixtures("bare_package")
def test_the_result_is_the_same_each_time_and_json_has_all_of_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for out, seed in (("a", "0"), ("b", "0"), ("c", "5")):
        assert main(["start", "own_net:net", "data.npz", "-o", out, "--json", "--seed", seed]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for each in found:
        del each["seconds"]
    assert found[0] == found[1] and found[0] != found[2]
    for name in ("monitor.json", "dev.npz", "test.npz", "decisions.csv", "README.md"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name
    wanted = {"wrong_model", "sure_by_confidence", "sure_by_monitor", "auroc_monitor", "delay_median"}
    assert wanted | {"false_alarms", "expected_accuracy", "by_kind", "by_pace"} <= set(found[0])
    assert {*found[0]["checks"]} == {"answers", "alarm", "false alarms", "expected accuracy"}
    for each in (found[0]["verdict"], *found[0]["checks"].values()):
        assert {*each} == {"name", "state", "why", "todo"} and each["state"] in ("OK", "WEAK", "FAIL", "OPEN")
    assert set(found[0]["fit_kinds"]).isdisjoint(found[0]["judge_kinds"])
    assert set(found[0]["by_kind"]) == {"clean", *found[0]["judge_kinds"]}


def test_parts_share_neither_examples_nor_kinds() -> None:
    x, y = bars(700)
    data, model = open_data(x, y), Model("bars")
    for seed in range(5):
        examples = split_examples(data, seed)
        assert not np.intersect1d(*examples).size and sorted(np.concatenate(examples)) == list(range(700))
        shares = [np.bincount(y[part], minlength=3) / np.bincount(y) for part in examples]
        assert np.abs(shares[0] - 0.6).max() < 0.02, "the same share of each class"
        streams = Streams(data, model, paces_of("mixed"), True, seed, 400, examples[0])
        parts = plan_parts(streams, examples, 2100)
        for part, own in zip(parts, examples, strict=True):
            assert set(part.examples.tolist()) <= set(own.tolist())
        assert set(parts[0].kinds.tolist()) & set(parts[1].kinds.tolist()) == {0}
        names = [each.name for each in streams.chosen.kinds]
        fitted, judged = ({names[number - 1] for number in set(part.kinds.tolist()) - {0}} for part in parts)
        assert fitted.isdisjoint(judged) and len(fitted) == 6
        assert len({"blank", "saturated", "frozen"} & fitted) == 2, "fits know what a collapse is"
        assert not any("too short" in each for each in streams.arranged(joined(*parts)).notes)
    kinds = choose(True, data).kinds
    assert len({tuple(split_kinds(kinds, seed)[1]) for seed in range(9)}) > 5
    own = kinds[0]._replace(name="rain", own=True)
    assert split_kinds([], 0) == ([], []) and split_kinds([own], 0) == ([1], [1])
    assert len(split_kinds([own] * 7, 0)[1]) == 3 and 11 in split_kinds([*kinds, own], 0)[1]
    assert [steps_for(each) for each in (400, 1000, 8000, 20_000)] == [6000, 6000, 8000, 12_000]


def test_a_tflite_model(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
    for model, scaled in (("int8", False), ("logits", True)):
        shutil.copy(MODELS / f"{model}.tflite", "m.tflite")
        more = ["--logits"] if scaled else []
        assert main(["start", "m.tflite", "data.npz", "-o", model, "--stream", "dwell=8", *more]) == 0
        log = read_log(f"{model}/dev.npz")
        assert log.probs.dtype == np.int8 and log.feature_scale is not None
        assert Path(model, "firmware", "tcuq_softmax.c").exists() is scaled
        # The input is int8, so that the monitor sees it, on the device as well.
        head = tcuq.Params.load(f"{model}/monitor.json").sight
        assert head is not None and head.gauges == log.gauge_names and {*head.gauge_scales} == {256.0}
        assert "tcuq_step_gauges(" in Path(model, "firmware", "README.md").read_text()
        # What its README says to do writes the same files again.
        message = re.search(r"`tcuq (export own.json firmware .*)`", Path(model, "README.md").read_text())
        assert message is not None
        before = {each: each.read_bytes() for each in Path(model, "firmware").glob("*.*")}
        shutil.copy(Path(model, "monitor.json"), Path(model, "own.json"))
        with monkeypatch.context() as patch:
            patch.chdir(model)
            assert main(message[1].split()) == 0
        assert before == {each: each.read_bytes() for each in Path(model, "firmware").glob("*.*")}
        capsys.readouterr()


@pytest.mark.usefixtures("bare_package")
def test_a_stream_of_ones_own_is_respected(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = bars(900, noise=0.85)
    segments = np.repeat(np.arange(9), 100)
    shifted = np.where(np.arange(900) % 100 >= 60, 2, 0)
    x[shifted > 0] *= 0.4
    np.savez("real.npz", x=x, y=y, segments=segments, shifted=shifted)
    assert main(["start", "own_net:net", "real.npz", "-o", "out"]) == 0
    out, _ = capsys.readouterr()
    assert "The first 500 steps were used to fit, the last 400 to test." in Path("out/README.md").read_text()
    assert out.startswith("Next: ")
    dev, test = read_log("out/dev.npz"), read_log("out/test.npz")
    np.testing.assert_array_equal(dev.labels, y[:500])
    np.testing.assert_array_equal(test.segments, segments[500:])
    assert "Your data are a stream already" in Path("out/README.md").read_text()
    assert main(["start", "own_net:net", "real.npz", "-o", "none", "--shifts", "none", "--quiet"]) == 0
    capsys.readouterr()
    message = refusal(capsys, "own_net:net", "real.npz", "-o", "two", "--stream")
    assert "real.npz: has segments or shifted, so it is a stream already; leave out --stream" in message
    np.savez("short.npz", x=x[:300], y=y[:300], segments=segments[:300])
    assert "short.npz: holds 300 steps, expected at least 400" in refusal(
        capsys, "own_net:net", "short.npz", "-o", "two"
    )


@pytest.mark.usefixtures("bare_package")
@pytest.mark.parametrize("text", [True, False])
def test_kinds_of_an_own_stream_have_names_and_stay_apart(tmp_path: Path, text: bool) -> None:
    x, y = bars(1500, noise=0.85)
    names = np.array(["axes swapped", "fog"])
    kinds = np.array([0, 0, 0, 1, 2])[np.arange(1500) // 60 % 5]  # fog follows directly
    x[kinds > 0] *= 0.3
    marks = (
        {"shifted": np.array(["clean", *names])[kinds]} if text else {"shifted": kinds, "shift_names": names}
    )
    np.savez(tmp_path / "own.npz", x=x, y=y, **marks)
    found = start(bar_net, tmp_path / "own.npz", tmp_path / "out")
    assert list(found["by_kind"]) == ["clean", *names] and found["judge_kinds"] == tuple(names)
    assert found["shifts"] + found["shifts_already_raised"] == 4, "two of each kind"
    for key in ("shifts", "shifts_alarmed"):
        assert sum(row.get(key, 0) for row in found["by_kind"].values()) == found[key], key
    page, readme = ((tmp_path / "out" / each).read_text() for each in ("report.html", "README.md"))
    for each in (found["verdict"], *found["checks"].values()):
        words = html.escape(each["why"], quote=False)
        assert f"<b>{each['state']}</b> {each['name']}</dt><dd>{words}" in html.unescape(page).replace(
            "&", "&amp;"
        )
    for name in names:
        assert f">{name}<" in page and f"\n| {name} | " in readme
    assert read_log(tmp_path / "out" / "test.npz").shift_names == tuple(names)


@pytest.mark.usefixtures("bare_package")
def test_without_labels_it_says_what_is_missing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", bars(400)[0])
    assert main(["start", "own_net:net", "x.npy", "-o", "out"]) == 0
    out, err = capsys.readouterr()
    assert re.findall(r"^  (?:OK|WEAK|FAIL|OPEN)  +(\w+)", out, re.M) == [
        "expected",
        "alarm",
        "false",
        "answers",
    ]
    assert "OPEN  answers            only labels tell" in out and "without labels no class can stay" in err
    assert "no alarm is set" not in err and "hardly ever repeat" not in err, "400 examples will do"
    assert re.search(r"found \d+ of \d+ shifted stretches", out) and "harmful" not in out
    assert main(["start", "own_net:net", "x.npy", "-o", "bare", "--shifts", "none"]) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"OPEN  alarm +on hold for [\d.]+% of the steps; no faults are marked", out)


@pytest.mark.usefixtures("bare_package")
def test_a_single_shift_of_ones_own_is_in_both_parts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "own_net:net", "data.npz", "-o", "out", "--shifts", "own_net:loud"]) == 0
    assert "Both have the same shift type" in Path("out/README.md").read_text()
    capsys.readouterr()
    more = ["--shifts", "--shifts", "own_net:loud", "--quiet"]
    assert main(["start", "own_net:net", "data.npz", "-o", "more", *more]) == 0
    out, err = capsys.readouterr()
    assert re.match("(OK|WEAK|FAIL|OPEN) ", out) and out.count("\n") == 1 and err == "", "it is not hidden"


@pytest.mark.usefixtures("bare_package")
def test_an_existing_folder_is_kept_unless_forced(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    message = refusal(capsys, "own_net:net", "data.npz", "-o", "out")
    assert "out: exists and is not empty; choose another folder, or replace files with --force" in message
    assert "force=" not in message
    assert main(["start", "own_net:net", "data.npz", "-o", "out", "--force"]) == 0
    assert {each.name for each in Path("out").iterdir()} == FILES | {"mine.txt"}
    assert Path("out/mine.txt").read_text() == "mine"
    Path("out/firmware/src").mkdir()
    Path("out/firmware/src/tcuq.h").write_text("")
    capsys.readouterr()
    message = refusal(capsys, "own_net:net", "data.npz", "-o", "out", "--force")
    assert (
        "out/firmware: holds src/tcuq.h, as --form " in message
        and "for --form c choose another fold" in message
    )


def test_errors_are_one_line_and_nothing_is_left(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("few.npz", x=np.zeros((300, 8, 8, 1)), y=np.zeros(300, np.int64))
    Path("gen.py").write_text(
        "import numpy as np\ndef batches():\n    yield np.zeros((9, 8, 8, 1)), [0] * 9\n"
    )
    for args, message in (
        (["data.npz", "--shifts", "bad_shift:late"], "shift late: failed on an input of data.npz: ZeroDivi"),
        (["few.npz"], "few.npz: holds 300 examples, a stream needs 400"),
        (["gen:batches"], "gen:batches: gives batches in one order only"),
        (["data.npz", "--stream", "slow"], "stream is 'slow', expected mixed"),
        (["data.npz", "--shifts", "fog"], "shifts is 'fog', expected pictures, sound, signals, tables, none"),
        (["data.npz", "--shifts", "sound"], "an input has shape (8, 8, 1), sounds have one length"),
        (["data.npz", "--budget", "2"], "budget is 2"),
        (["gone.npz"], "gone.npz: No such file or directory"),
    ):
        assert message in refusal(capsys, "own_net:net", *args, "-o", "out")
    message = refusal(capsys, "--stream", "own_net:net", "data.npz", "-o", "out")
    assert "argument --stream: stream is 'own_net:net', expected mixed, or a list of shuffled" in message
    message = refusal(capsys, "--shifts", "net.tflite", "data.npz", "-o", "out")
    assert "shifts is 'net.tflite', expected pictures" in message and "put --shifts after DATA" in message
    assert "folder no does not exist" in refusal(capsys, "own_net:net", "data.npz", "-o", "no/out")
    assert "is the current folder" in refusal(capsys, "own_net:net", "data.npz", "-o", ".", "--force")
    assert "data.npz: is a file" in refusal(capsys, "own_net:net", "data.npz", "-o", "data.npz")


def test_bad_options_are_refused_before_the_model_runs(tmp_path: Path) -> None:
    def net(x: Any) -> Any:
        raise AssertionError("the model ran")

    x, y = bars(400)
    for options, code in (
        ({"run_length": 1}, "value"),
        ({"budget": 2.0}, "value"),
        ({"seed": -1}, "value"),
        ({"stream": "none"}, "value"),
        ({"batch": 0}, "value"),
    ):
        refuses(code, start, net, x, tmp_path / "out", y, **options)
    assert not list(tmp_path.iterdir())


GOOD: dict[str, Any] = {
    "has_alarm": True, "harmful": 12, "harmful_found": 12, "harmful_on_before": 0, "harmful_delay": 11.5,
    "alarm_on_harmful": 0.85, "alarm_on_clean": 0.07, "false_alarms": 0, "clean_steps": 15_000,
    "run_length": 10_000, "budget": 0.15, "steps": 2400, "block": 100, "wrong_model": 0.3,
    "wrong_answers": 0.28, "sure_by_monitor": 0.2, "sure_by_confidence": 0.25,
    "sure_by_rules": {"Bayes filter": 0.22},
    "gain": -0.05, "gain_low": -0.08, "gain_high": -0.02, "accuracy": 0.72, "expected_accuracy": 0.7,
    "expected_least": 0.4, "expected_off": 0.06, "expected_off_confidence": 0.11,
    "left_out": {"found": 5, "kinds": 6, "on_shifted": 0.7, "on_clean": 0.02},
    "fit_accuracy": {"error": 0.05, "error_confidence": 0.09, "error_atc": 0.07},
}  # fmt: skip
NAMES = ("answers", "alarm", "false alarms", "expected accuracy")


def states(**facts: Any) -> dict[str, str]:
    """Return the states of the checks of a good monitor but for some facts, and of the whole."""
    found = checks(GOOD | facts)
    return {each.name: each.state for each in (overall(found), *found)}


def test_each_check_has_the_state_that_its_figures_deserve() -> None:
    assert states() == dict.fromkeys(("verdict", *NAMES), "OK")
    unseen = GOOD["left_out"]
    for name, state, facts in (
        ("alarm", "FAIL", {"alarm_on_harmful": 0.12, "alarm_on_clean": 0.10}),  # whatever the stretches say
        ("alarm", "FAIL", {"harmful_found": 5}),
        ("alarm", "FAIL", {"has_alarm": False}),
        ("alarm", "FAIL", {"left_out": {**unseen, "found": 2}}),
        ("alarm", "FAIL", {"left_out": {**unseen, "on_clean": 0.4}}),
        ("alarm", "WEAK", {"harmful_found": 8}),
        ("alarm", "WEAK", {"alarm_on_harmful": 0.4, "alarm_on_clean": 0.01}),
        ("alarm", "WEAK", {"alarm_on_clean": 0.3}),
        ("alarm", "OPEN", {"harmful": 3, "harmful_found": 3}),
        ("alarm", "OPEN", {"harmful": 0, "harmful_found": 0, "alarm_on_harmful": None}),
        ("false alarms", "OPEN", {"clean_steps": 1500}),
        ("false alarms", "OPEN", {"clean_steps": 1500, "false_alarms": 1}),
        ("false alarms", "WEAK", {"false_alarms": 6}),
        ("false alarms", "FAIL", {"false_alarms": 150}),
        ("answers", "FAIL", {"gain": 0.02, "gain_low": 0.01, "gain_high": 0.03}),
        ("answers", "WEAK", {"sure_by_rules": {"Bayes filter": 0.19}}),
        ("answers", "WEAK", {"gain_low": -0.004, "gain_high": 0.002}),
        ("answers", "OPEN", {"gain_low": -0.04, "gain_high": 0.02}),
        ("answers", "OPEN", {"gain_low": None, "gain_high": None}),
        ("answers", "OPEN", {"wrong_model": 0, "wrong_answers": 0}),
        ("expected accuracy", "FAIL", {"expected_off": 0.25, "expected_off_confidence": 0.3}),
        ("expected accuracy", "FAIL", {"expected_off": 0.1, "expected_off_confidence": 0.04}),
        ("expected accuracy", "WEAK", {"expected_off": 0.15, "expected_off_confidence": 0.2}),
        ("expected accuracy", "WEAK", {"expected_off": 0.07, "expected_off_confidence": 0.06}),
        ("expected accuracy", "WEAK", {"fit_accuracy": {"error": 0.1, "error_atc": 0.04}}),
    ):
        found = states(**facts)
        # A failure decides; what is open does not outweigh three that are known.
        assert found[name] == state and found["verdict"] == ("OK" if state == "OPEN" else state), (
            facts,
            found,
        )
    assert overall(checks(GOOD), "labels are reversed").state == "FAIL"
    field = {name: value for name, value in GOOD.items() if name not in ("gain", "expected_off", "accuracy")}
    assert checks(field)[0].name == "expected accuracy", "first what a device shows"


def test_a_verdict_is_at_most_fifteen_lines_of_ninety_characters() -> None:
    worst = {
        "harmful": 1200, "harmful_found": 500, "harmful_on_before": 300, "alarm_on_harmful": 0.12,
        "alarm_on_clean": 0.10, "false_alarms": 1500, "gain_low": -0.04, "gain_high": 0.02,
        "expected_off": 0.31, "sure_by_rules": {"mean of the last 8": 0.183},
    }  # fmt: skip
    for facts in ({}, worst, {"gain_low": None}, {"left_out": {**GOOD["left_out"], "found": 1}}):
        found = checks(GOOD | facts)
        text = lines(found, overall(found))
        assert text[0].startswith("Next: ") and text[1].startswith(overall(found).state)
        assert len(text) <= 14 and max(map(len, text)) <= 90, "and one line says what was written"


def test_an_expected_accuracy_is_measured_on_its_own_steps() -> None:
    log = tcuq.Log(np.tile([0.9, 0.1], (480, 1)), labels=np.arange(480) >= 400)
    steps = np.zeros(480, STEP)
    steps["expected_accuracy"] = 1
    found = judge(tcuq.Params(classes=2, horizon=32), log, steps, 0)
    off = found["expected_accuracy"] - found["accuracy"]
    assert found["expected_off"] == pytest.approx(off) == pytest.approx(80 / 480), "of the same steps"


@pytest.mark.slow
def test_a_verdict_needs_more_stays_than_a_few() -> None:
    params, decided = tcuq.Params(classes=2), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lengths = rng.geometric(1 / 400, 100)
        # Neither score knows anything, but both stay as they are while a class stays.
        rate, doubt, risk = (np.repeat(each, lengths)[:4000] for each in rng.random((3, 100)))
        wrong = rng.random(4000) < rate**2
        top = 1 - 0.4 * doubt - 0.01 * rng.random(4000)
        log = tcuq.Log(np.stack([top, 1 - top], axis=1), labels=wrong.astype(np.int64))
        steps = np.zeros(4000, STEP)
        steps["risk"] = risk + 0.01 * rng.random(4000)
        found = judge(params, log, steps, seed, 400.0)
        said = checks(found)[0]
        decided += said.state != "OPEN" and "no better" not in said.why
    assert decided <= 4, decided
    found = judge(params, log, steps, 0, 500.0)
    assert found["gain_low"] is None and found["block"] == 1000
    assert "too few steps to tell" in checks(found)[0].why


@pytest.mark.usefixtures("bare_package")
def test_a_class_of_too_few_examples_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = bars(450, noise=0.85)
    kept = np.flatnonzero(y != 2).tolist() + np.flatnonzero(y == 2)[:4].tolist() + np.arange(150).tolist()
    rare = y[kept]
    rare[rare == 2] = np.where(np.arange((rare == 2).sum()) < 4, 2, 1)
    np.savez("rare.npz", x=x[kept], y=rare.astype(float), names=["left", "middle", "right"])
    main(["start", "own_net:net", "rare.npz", "-o", "out", "--force"])
    message = capsys.readouterr().err
    assert (
        "too few examples of some classes for two parts, so their figures say little: 2 (right) has 4; add"
        in message
    )
    rare[rare == 2] = 1
    np.savez("rare.npz", x=x[kept], y=rare.astype(float), names=["left", "middle", "right"])
    main(["start", "own_net:net", "rare.npz", "-o", "out", "--force"])
    assert "2 (right) has none; add some" in capsys.readouterr().err
    main(["start", "own_net:net", "data.npz", "-o", "out", "--force"])
    assert "too few examples" not in capsys.readouterr().err


def test_steps_of_one_example_count_as_one() -> None:
    rng = np.random.default_rng(0)
    shown = rng.integers(0, 60, 1200)  # 60 examples, each shown 20 times
    wrong, doubt, risk = rng.random(60) < 0.4, rng.random(60), rng.random(60)
    log = tcuq.Log(np.stack([1 - 0.4 * doubt, 0.4 * doubt], axis=1)[shown], labels=wrong[shown].astype(int))
    steps = np.zeros(1200, STEP)
    steps["risk"] = risk[shown]
    found = [judge(tcuq.Params(classes=2), log, steps, 0, 1.0, each) for each in (None, shown)]
    plain, grouped = (each["gain_high"] - each["gain_low"] for each in found)
    assert found[0]["gain"] == found[1]["gain"] and grouped > 1.5 * plain


def test_a_median_delay_needs_half_of_the_shifts() -> None:
    kinds = np.repeat([0, 1, 0, 1, 0, 1], 10)
    log = tcuq.Log(np.full((60, 2), 0.5), shifted=kinds)
    steps = np.zeros(60, STEP)
    for found, median in ((14, None), (37, 5.5)):  # one shift of three, two of them
        steps["alarm"][found : found // 10 * 10 + 10] = 1
        assert judge(tcuq.Params(classes=2), log, steps, 0)["delay_median"] == median


@pytest.mark.usefixtures("bare_package")
def test_a_model_that_is_always_right_is_no_error(tmp_path: Path) -> None:
    x, y = bars(400, noise=0.05)
    stages: list[tuple[int, int, str]] = []
    more: dict[str, Any] = {"shifts": None, "progress": lambda *each: stages.append(each)}
    found = start(bar_net, x, tmp_path / "out", y, **more)
    assert (6000, 6000, "inferences") in stages and stages[-1] == (0, 1, "writing")
    assert any(text.startswith("fitting: ") for _, _, text in stages)
    assert found["wrong_model"] == 0 and found["auroc_confidence"] is None
    assert found["fit_kinds"] == () and found["checks"]["answers"]["state"] == "OPEN"
    assert "no answer is wrong" in found["checks"]["answers"]["why"]
    left = "the labels are left out of the fit: the log has 0 errors and "
    assert any(each.startswith(left) for each in found["notes"])
