"""`tcuq-lab stream`: descriptions written, shown and checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tcuq_lab.cli import main
from tcuq_lab.cli.stream import _layouts
from tcuq_lab.streams import Changing, Description, Geometric, Held, Pareto, Ramp, Segments, Trace, build
from tcuq_lab.streams.layout import LAYOUTS

DIGITS = np.arange(400) * 3 % 10
CLOTHES = np.arange(50) % 10


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    np.savez(tmp_path / "mnist_test.npz", x=np.zeros((400, 28, 28), np.uint8), y=DIGITS)
    np.savez(tmp_path / "fashion_mnist_test.npz", x=np.zeros((50, 28, 28), np.uint8), y=CLOTHES)
    return tmp_path


def make(folder, *more):
    out = folder / "stream.json"
    status = main(["stream", "make", "--dataset", "mnist", "--part", "test", "--out", str(out), *more])
    return status, out


def test_make_show_and_check(folder, capsys):
    more = ("--dwell", "16", "--steps", "3000", "--kind", "fog", "--kind", "shear", "--ood", "--seed", "5")
    status, out = make(folder, *more)
    assert status == 0 and "stream.json: 3000 steps, digest " in capsys.readouterr().out
    about = Description.load(out)
    assert about.dwell == Geometric(16) and about.layout == Segments() and about.seed == 5
    assert about.sources == ("clean", "fog/1", "shear/1", "ood/fashion_mnist")
    stream = build(about, DIGITS, {"fashion_mnist": CLOTHES})
    assert main(["stream", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert (
        "steps                3,000" in shown
        and f"shifted steps        {(stream.shift > 0).mean():.1%}" in shown
    )
    assert main(["stream", "show", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 3000 and found["digest"] == stream.digest()
    assert sum(each["steps"] for each in found["sources"].values()) == 3000
    assert main(["stream", "check", str(out)]) == 0
    assert "3000 steps rebuilt, digests agree" in capsys.readouterr().out


def test_check_fails_where_something_differs(folder, capsys):
    _, out = make(folder, "--kind", "fog", "--steps", "500")
    content = json.loads(out.read_text())
    out.write_text(json.dumps({**content, "seed": 1}))
    assert main(["stream", "check", str(out), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out[captured.out.index("{") :])["same"] is False
    assert "stream.json: the plan has the digest" in captured.err
    out.write_text(json.dumps(content))
    np.savez(folder / "mnist_test.npz", x=np.zeros((400, 28, 28), np.uint8), y=DIGITS[::-1])
    assert main(["stream", "check", str(out)]) == 1
    assert "the labels of mnist test have the digest" in capsys.readouterr().err
    out.write_text(
        json.dumps({name: value for name, value in content.items() if name not in ("labels", "digest")})
    )
    assert main(["stream", "check", str(out)]) == 2
    assert "has no digest to compare with" in capsys.readouterr().err


def test_layouts_and_traces_are_reached(folder, capsys):
    status, out = make(
        folder, "--kind", "fog", "--layout", "ramp", "--length", "30", "--down", "--runs", "3,4"
    )
    assert status == 0
    about = Description.load(out)
    assert about.layout == Ramp(length=30, down=True) and about.dwell == Trace((3, 4))
    status, out = make(folder, "--layout", "bursts", "--ood", "--gap", "90", "--steps", "2000")
    assert status == 0 and Description.load(out).kinds == ("clean", "ood/fashion_mnist")
    status, out = make(folder, "--layout", "literal", "--kind", "fog", "--steps", "800")
    assert status == 0
    status, out = make(folder, "--kind", "fog", "--reversed", "--first", "clean")
    assert status == 0 and Description.load(out).layout == Segments(first="clean", reversed=True)
    assert _layouts() == ", ".join(each.name for each in LAYOUTS)


def test_streams_as_devices_meet_them(folder, capsys):
    status, out = make(folder, "--kind", "fog", "--dwell", "8", "--heavy-tailed", "--held", "--steps", "900")
    about = Description.load(out)
    assert status == 0 and about.dwell == Pareto(8) and about.held == Held()
    capsys.readouterr()
    assert main(["stream", "show", str(out)]) == 0 and "mnist test, held, layout" in capsys.readouterr().out
    assert main(["stream", "show", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held"] == {"pixels": 2, "noise": 4, "flicker": 70}
    assert main(["stream", "check", str(out)]) == 0
    mixed = ("--held", "--held-share", "0.5", "--heavy-tailed", "--dwell", "8", "--majority", "0.7")
    status, out = make(folder, "--kind", "blank", *mixed, "--shifted", "30,100")
    about = Description.load(out)
    assert status == 0 and about.dwell == Pareto(8, majority=0.7) and about.held == Held(share=0.5)
    assert about.layout.shifted == (30, 100) and main(["stream", "check", str(out)]) == 0
    status, out = make(folder, "--kind", "fog", "--dwells", "1,16", "--stretch", "90")
    assert status == 0 and Description.load(out).dwell == Changing((1, 16), 90)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--kind", "fogg"), "corruption of mnist_c 'fogg' is unknown; did you mean fog?"),
        (("--kind", "fog", "--severity", "2"), "severity of fog is 2"),
        (("--severity", "2"), "--severity without --kind, expected at least one kind"),
        (("--kind", "fog", "--dwell", "0"), "mean of dwell is 0"),
        (
            ("--kind", "fog", "--dwell", "2", "--runs", "3"),
            "--dwell and --runs are two laws, expected one",
        ),
        (("--kind", "fog", "--runs", "3", "--dwells", "1,2"), "--runs and --dwells are two laws"),
        (("--kind", "fog", "--heavy-tailed"), "--heavy-tailed without --dwell, expected its mean"),
        (("--kind", "fog", "--stretch", "9"), "--stretch without --dwells, expected the mean dwells"),
        (("--kind", "fog", "--dwells", "4"), "number of means of changing is 1"),
        (("--kind", "fog", "--onset", "9"), "onset of segments is 9, but every shift has one severity"),
        (("--kind", "fog", "--sliding"), "mnist has pictures, expected sound for a sliding stream"),
        (("--kind", "fog", "--hop", "800"), "--hop without --sliding, expected both"),
        (("--kind", "fog", "--held-share", "0.5"), "--held-share without --held, expected both"),
        (("--kind", "fog", "--majority", "0.7"), "--majority without --heavy-tailed, expected both"),
        (("--kind", "fog", "--mean", "1400"), "mean of segments is 1400"),
        (
            ("--kind", "fog", "--gap", "40"),
            "layout segments has the unknown field 'gap', expected one of mean",
        ),
        (("--layout", "loop"), "layout name 'loop' is unknown, expected one of "),
        (("--dataset", "emnist"), "dataset with parts 'emnist' is unknown; did you mean mnist?"),
        (("--part", "val"), "part of mnist 'val' is unknown, expected one of train, dev, test"),
        ((), "layout segments has nothing to show"),
        (
            ("--layout", "literal", "--kind", "fog", "--steps", "900"),
            "expected at most 800 with 400",
        ),
    ],
)
def test_bad_requests_are_one_line_and_write_nothing(folder, capsys, more, message):
    status, out = make(folder, *more)
    errors = capsys.readouterr().err
    assert status == 2 and message in errors and len(errors.splitlines()) == 1 and not out.exists()


def test_kinds_of_the_test_are_pointed_out_in_development(folder, capsys):
    np.savez(folder / "mnist_train.npz", x=np.zeros((55100, 1, 1), np.uint8), y=np.arange(55100) % 10)
    out = str(folder / "dev.json")
    make_dev = ["stream", "make", "--dataset", "mnist", "--part", "dev", "--steps", "300", "--out", out]
    assert main([*make_dev, "--kind", "fog", "--kind", "shear"]) == 0
    errors = capsys.readouterr().err
    assert "fog is for tests alone" in errors and "shear" not in errors
    assert main(["stream", "check", out, "--quiet"]) == 0


def test_files_that_are_no_streams(folder, capsys):
    (folder / "x.json").write_text("{}")
    for action in ("show", "check"):
        assert main(["stream", action, str(folder / "x.json")]) == 2
        assert "x.json: not a stream" in capsys.readouterr().err
        assert main(["stream", action, str(folder / "none.json")]) == 2
        assert main(["stream", action, "-"]) == 2
        capsys.readouterr()


def test_errors_name_the_file(folder, capsys):
    _, out = make(folder, "--kind", "fog", "--steps", "500")
    content = json.loads(out.read_text())
    capsys.readouterr()
    for changes, message in (
        ({"dataset": "emnist"}, "stream.json: dataset with parts 'emnist' is unknown; did you mean mnist?"),
        ({"seed": 1}, "stream.json: the plan has the digest"),
        ({"ood": [{"name": "svhn"}]}, "stream.json: OOD set 'svhn' does not go with mnist test"),
        ({"shifts": [{"kind": "fogg", "severities": [1]}]}, "stream.json: corruption of mnist_c 'fogg' is"),
        ({"shifts": [{"kind": "fog", "severities": [4]}]}, "stream.json: severity of fog is 4"),
        ({"version": 1.0}, "stream.json: stream has version 1.0, expected 1"),
    ):
        out.write_text(json.dumps({**content, **changes}))
        for action in ("show", "check"):
            assert main(["stream", action, str(out)]) == (1 if action == "check" and "seed" in changes else 2)
            errors = capsys.readouterr().err
            assert message in errors and len(errors.splitlines()) == 1 and errors.count("stream.json") == 1


def test_a_failed_make_prints_its_error_alone(folder, capsys):
    np.savez(folder / "mnist_train.npz", x=np.zeros((9, 1, 1), np.uint8), y=np.arange(9))
    out = str(folder / "dev.json")
    assert main(["stream", "make", "--dataset", "mnist", "--kind", "fog", "--out", out]) == 2
    errors = capsys.readouterr().err
    assert len(errors.splitlines()) == 1 and "mnist train has 9 rows; more than 55000" in errors
