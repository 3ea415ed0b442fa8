"""`tcuq-lab stream`: descriptions written, shown and checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tcuq_lab.cli import main
from tcuq_lab.streams import Description, Geometric, Segments, build

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
