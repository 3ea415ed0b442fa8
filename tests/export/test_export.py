"""Exported C source: it compiles cleanly and does what Python does, bit for bit."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from places import CORE_SOURCES, ROOT
from refusals import refused

from tcuq import SIGNALS, Alarm, AlarmSide, EvidenceHead, Feedback, Monitor, Params
from tcuq.export import FORMS, check_name, export, sources
from tcuq.export.contents import build_mask
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.steps import ACTIONS
from tcuq_device.cost.stock import standard

CC = shutil.which("cc")
TCUQ = tuple(path.name for path in CORE_SOURCES if path.name not in ("tcuq_feedback.c", "tcuq_sight.c"))
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
ALARM = Alarm(0.4, AlarmSide(0.02, 2.0), AlarmSide(0.02, 2.0))
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")

CASES = {
    "posteriors": Params(classes=5, warmup=10, alarm=ALARM, level=0.3, budget=0.2),
    "every signal": Params(
        classes=7,
        features=3,
        feature_zero_point=-9,
        signals=SIGNALS,
        anchor="belief",
        lags=(1, 3, 8),
        coef=dict.fromkeys(SIGNALS, 0.75),
        clean_means=dict.fromkeys(SIGNALS, 0.125),
        warmup=0,
        alarm=Alarm(0.4, AlarmSide(0.02, 2.0, clear=0.5), least_raised=5),
        evidence=EvidenceHead(
            {"odds": 4.0, "degradation": 9.0, "drift": 2.0},
            [-1.5] * 7,
            reach=900,
            bias=-5.7,
            baseline=(20, 0.5, 1.0),
        ),
        instant=InstantHead(dict.fromkeys(SIGNALS, 0.5), -3.0),
        centers=[[3 * k, -k, 5] for k in range(7)],
        horizon=16,
        expected_start=0.75,
    ),
    "standard": standard("standard, bet").replace(warmup=5),
    "named": standard("standard").replace(names=[f"class {k}" for k in range(10)]),
    "instant alone": standard("standard, posteriors alone").replace(
        signals=("odds",), coef={"odds": 9.0}, clean_means={}, evidence=None, alarm=ALARM, warmup=0
    ),
    "labels": Params(
        classes=70,
        warmup=5,
        alarm=Alarm(0.4, AlarmSide(0.02, 2.0)),
        horizon=16,
        feedback=Feedback(memory=9, max_error=0.1, reference=0.9, wrong_score=1.0, right_score=0.5),
    ),
    "no past": Params(classes=2, signals=("doubt",), lags=(), warmup=2**32 - 1, bias=-1.25),
    "features unused": Params(classes=3, features=4, signals=("doubt", "flips"), warmup=0, alarm=Alarm(0.1)),
}


def rows_for(params, steps=300):
    rng = np.random.default_rng(3)
    floats = rng.dirichlet(np.full(params.classes, 0.4), steps)
    probs = np.minimum(255, np.floor(floats * 256 + 0.5)).astype(np.int64) - 128
    return np.hstack([probs, rng.integers(-128, 128, (steps, params.features))]).astype(np.int8)


def build(folder, *flags, sources=("main.c", "monitor.c", "monitor_selfcheck.c", *TCUQ)):
    more = [path.name for part in ("feedback", "sight") for path in folder.glob(f"tcuq_{part}.c")]
    subprocess.run(
        [CC, *flags, *sources, *more, "-o", "try"], cwd=folder, check=True, capture_output=True, text=True
    )
    return folder / "try"


def answers(program, rows):
    text = "\n".join(" ".join(map(str, row)) for row in rows.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [tuple(line.split()) for line in done.stdout.splitlines()]


def expected(params, rows):
    features = rows[:, params.classes :] if params.features else None
    steps = Monitor(params).run(np.ascontiguousarray(rows[:, : params.classes]), features)
    columns = [
        steps["answer"],
        steps["risk"] * 65536,
        steps["threshold"] * 65536,
        steps["abstain"],
        steps["alarm"],
    ]
    slow = [steps["degradation"] * 65536] if params.evidence else []
    slow += [steps["expected_accuracy"] * 65536] if params.horizon else []
    said = [[ACTIONS[action] for action in steps["action"]]]
    columns, slow = ([each.astype(int).astype(str).tolist() for each in part] for part in (columns, slow))
    rows = zip(*columns, *said, *slow, strict=True)
    return [(*row, *(params.names[int(row[0])].split() if params.names else ())) for row in rows]


@pytest.mark.cases(4)
@needs_cc
@pytest.mark.parametrize("case", CASES)
def test_the_host_program_gives_the_same_as_python(tmp_path, case):
    params = CASES[case]
    export(params, tmp_path / "c")
    rows = rows_for(params)
    wanted = expected(params, rows)
    assert len({row[1] for row in wanted}) > 50  # a stream on which something happens
    assert answers(build(tmp_path / "c", *STRICT), rows) == wanted
    text = (tmp_path / "c" / "monitor.h").read_text()
    flags = re.search(r"Compile the files of tcuq with (.*?) to leave out", text.replace("\n * ", " "))[
        1
    ].split()
    assert flags == [f"-DTCUQ_SIGNALS=0x{build_mask(params):03X}u"]
    assert answers(build(tmp_path / "c", "-std=c99", *flags), rows) == wanted


@needs_cc
def test_the_self_check_notices_labels_that_change_nothing(tmp_path):
    folder = tmp_path / "c"
    export(CASES["labels"], folder)
    core = folder / "tcuq_feedback.c"
    right = core.read_text()
    for old, new in (("+ wrong * head->error_den", ""), ("32768 - 32768 * wrong", "32767 - 32768 * wrong")):
        assert right.count(old) == 1
        core.write_text(right.replace(old, new))
        assert subprocess.run([build(folder, "-std=c99")], input="", text=True).returncode != 0


@needs_cc
def test_the_header_refuses_another_core(tmp_path):
    export(CASES["posteriors"], tmp_path / "c")
    build(tmp_path / "c", "-DTCUQ_SIGNALS=TCUQ_ALL_SIGNALS")
    with pytest.raises(subprocess.CalledProcessError) as error:
        build(tmp_path / "c", "-DTCUQ_SIGNALS=0x001u")
    assert "compile with -DTCUQ_SIGNALS=0x00Du" in error.value.stderr
    header = tmp_path / "c" / "tcuq.h"
    header.write_text(header.read_text().replace("TCUQ_PARAMS_VERSION 5u", "TCUQ_PARAMS_VERSION 4u"))
    with pytest.raises(subprocess.CalledProcessError) as error:
        build(tmp_path / "c")
    assert "another version of tcuq.h" in error.value.stderr


AWKWARD = [
    "plain",
    'a "quote"',
    "back\\slash\\",
    "*/ #error x /*",
    "what??/",
    "two  blanks ",
    "K\u00f6ln 1",
    "\u732b?",
    "\U0001f408" * 63,
    "%s %n",
]


@needs_cc
@pytest.mark.parametrize("flags", [STRICT, ["-std=c99", "-trigraphs", "-Wall", "-Werror"]])
def test_names_of_classes_are_the_same_in_c(tmp_path, flags):
    """Whatever they hold: C gives back their UTF-8, and nothing in them reaches the compiler as code."""
    folder = tmp_path / "c"
    export(CASES["named"].replace(names=AWKWARD), folder)
    for file in ("monitor.c", "monitor_names.h", "main.c"):
        assert (folder / file).read_text().isascii()
    (folder / "say.c").write_text(
        '#include <stdio.h>\n#include "monitor_names.h"\n'
        "int main(void) { int i; for (i = 0; i < 10; i++) {\n"
        "fputs(monitor_names[i], stdout); putchar(0); } return 0; }\n"
    )
    program = build(folder, *flags, sources=("say.c",))
    said = subprocess.run([program], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == AWKWARD
    build(folder, *flags)
    assert "/* class 0: plain */" in (folder / "monitor.c").read_text()


def test_a_name_that_c_does_not_promise_to_hold_is_refused(tmp_path):
    with refused("limit"):
        export(CASES["named"].replace(names=[*"abc", "\U0001f408" * 64, *"efghij"]), tmp_path / "c")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", FORMS)
def test_the_readme_says_in_which_units_features_are(form):
    params = Params(classes=3, features=4, feature_scale=0.0375, feature_zero_point=-127)
    assert "4 int8 features (scale 0.0375, zero point -127)" in sources(params, form=form)["README.md"]


@pytest.mark.parametrize("form", FORMS)
def test_names_of_classes_stand_in_one_file_and_in_plain_comments(form):
    evil = ["*/ x /*", "*\\", "??/", "# x", "`id`", "$(id)", '"', "\u00e9", "]]", "{name}"]
    plain = [re.sub(r"[^A-Za-z0-9 .,:;_+=()-]", "_", name) for name in evil]
    found, expected = (sources(CASES["named"].replace(names=names), form=form) for names in (evil, plain))
    assert {file for file in found if found[file] != expected[file]} == {
        file for file in found if file.endswith(("monitor_names.h", "src/lib.rs"))
    }


@needs_cc
def test_the_cores_of_two_folders_are_linked_once(tmp_path):
    for name, case in (("first", "posteriors"), ("second", "every signal")):
        export(CASES[case], tmp_path / name, name)
    (tmp_path / "both.c").write_text(
        '#include "first.h"\n#include "second.h"\n'
        '#include "first_selfcheck.h"\n#include "second_selfcheck.h"\n'
        "static uint32_t a[FIRST_RING_BYTES / 4u], b[SECOND_RING_BYTES / 4u];\n"
        "int main(void) { return first_selfcheck(a, sizeof a) || second_selfcheck(b, sizeof b); }\n"
    )
    own = [f"{name}/{name}{end}" for name in ("first", "second") for end in (".c", "_selfcheck.c")]
    flags = [*STRICT, "-Ifirst", "-Isecond"]
    first = [f"first/{file}" for file in TCUQ]
    program = build(tmp_path, *flags, sources=("both.c", *own, *first))
    assert subprocess.run([program]).returncode == 0
    # Both cores: refused as a whole, never half of one and half of the other.
    with pytest.raises(subprocess.CalledProcessError) as error:
        build(tmp_path, *flags, sources=("both.c", *own, *first, "second/tcuq.c"))
    assert "multiple definition" in error.value.stderr or "duplicate symbol" in error.value.stderr


@pytest.mark.parametrize(
    "name",
    [
        *("", "a b", "é", "a" * 32, "a\n", "\u732b?", "\u2066a"),
        *("1st", "a-b", "while", "class", "main", "Main", "tcuq_x", "TCUQ", "_a", "x_t", "sinf", "a*/b"),
        *["a_selfcheck", "a_softmax", "a_projection", "a_arduino", "a_names"],
    ],
)
def test_names_that_c_would_not_take(tmp_path, name):
    with refused("value"):
        export(CASES["posteriors"], tmp_path / "c", name)
    assert os.listdir(tmp_path) == []


def test_a_good_name_is_taken():
    assert check_name("a" * 31) and check_name("Camera2_monitor")


@needs_cc
def test_no_function_of_the_library_is_a_good_name(tmp_path):
    # The compiler's own view of the headers, so that no list here can be incomplete.
    source = "".join(f"#include <{name}.h>\n" for name in ("math", "ctype", "stdlib", "string", "stdio"))
    command = [CC, "-std=c99", "-E", "-P", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    functions = set(re.findall(r"\bextern\b[^;{]*?\b([a-z][a-z0-9_]*) *\(", text))
    assert {"sin", "isalpha", "malloc", "strlen", "printf"} <= functions
    accepted = []
    for name in sorted(functions):
        try:
            accepted.append(check_name(name))
        except ValueError:
            continue
    assert accepted == []


def test_what_is_there_stays_unless_forced(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "tcuq.c").write_text("mine")
    with refused("exists"):
        export(CASES["posteriors"], folder)
    assert os.listdir(folder) == ["tcuq.c"] and (folder / "tcuq.c").read_text() == "mine"
    (folder / "other.txt").write_text("mine")
    export(CASES["posteriors"], folder, force=True)
    assert (folder / "tcuq.c").read_text() == sources(CASES["posteriors"])["tcuq.c"]
    assert (folder / "other.txt").read_text() == "mine" and os.listdir(tmp_path) == ["c"]


@pytest.mark.parametrize("form", ["c", "arduino"])
@pytest.mark.parametrize("fails_at", range(1, 12))
def test_all_files_or_none(tmp_path, monkeypatch, fails_at, form):
    folder = tmp_path / "c"
    folder.mkdir()
    for file in ("main.c", "tcuq.h") if form == "c" else ("README.md", "keywords.txt"):
        (folder / file).write_text("mine")
    before = sorted(os.listdir(folder))
    fsync, calls = os.fsync, []

    def sometimes(*args):
        calls.append(args)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device")
        fsync(*args)

    monkeypatch.setattr(os, "fsync", sometimes)
    with pytest.raises(OSError, match="No space left"):
        export(CASES["posteriors"], folder, force=True, form=form)
    assert sorted(os.listdir(folder)) == before and os.listdir(tmp_path) == ["c"]
    assert {(folder / file).read_text() for file in os.listdir(folder)} == {"mine"}


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder, code in [("file", "exists"), ("file/c", "missing"), ("missing/c", "missing")]:
        with refused(code):
            export(CASES["posteriors"], tmp_path / folder)
    with refused("unknown", "rusty"):
        export(CASES["posteriors"], tmp_path / "c", form="rusty")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("form", ["c", "arduino"])
def test_force_takes_no_folder_away(tmp_path, form):
    (tmp_path / "c" / "README.md").mkdir(parents=True)
    with refused("exists"):
        export(CASES["posteriors"], tmp_path / "c", force=True, form=form)
    assert os.listdir(tmp_path / "c") == ["README.md"]


def test_the_license_is_that_of_the_project():
    whole = (ROOT / "LICENSE").read_text()  # which also names the pictures of the demo: no package has them
    assert whole.startswith(sources(CASES["posteriors"])["tcuq_LICENSE.txt"])
    assert sources(CASES["posteriors"])["tcuq_LICENSE.txt"].endswith("SOFTWARE.\n")
