"""The command `tcuq-lab`: outside a checkout, told wrong things, and describing streams."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from places import LAB

import tcuq_lab
from tcuq_lab.cli import main
from tcuq_lab.home import NoCheckout, folder, home
from tcuq_lab.streams import Description, Geometric, Segments, build

DIGITS = np.arange(400) * 3 % 10
CLOTHES = np.arange(50) % 10


@pytest.mark.parametrize("words", [["reproduce", "drop"], ["results", "--write"]])
def test_a_command_that_needs_a_checkout_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    site = tmp_path / "site"  # as pip would install it: a copy, away from any checkout
    shutil.copytree(Path(tcuq_lab.__file__).parent, site / "tcuq_lab")
    monkeypatch.delenv("TCUQ_LAB", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(site))
    command = [sys.executable, "-m", "tcuq_lab", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tcuq-lab: this command needs a checkout of tcuq")
    assert "set TCUQ_LAB" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_checkout_is_found_by_its_variable_and_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCUQ_LAB", str(LAB))
    monkeypatch.chdir(tmp_path)
    assert home() == LAB and folder(None, "../docs") == LAB.parent / "docs"
    assert folder("mine", "results") == Path("mine")
    monkeypatch.delenv("TCUQ_LAB")
    for inside in (LAB, LAB.parent, LAB / "src", LAB.parent / "docs"):
        monkeypatch.chdir(inside)
        assert home() == LAB
    monkeypatch.setenv("TCUQ_LAB", str(tmp_path))
    with pytest.raises(NoCheckout, match=r"which has no results/paper\.json: set it to"):
        home()


def test_every_command_has_a_function() -> None:
    told = json.loads((Path(tcuq_lab.__file__).parent / "cli" / "commands.json").read_text())
    for each in (one for command in told.values() for one in command.get("actions", {"": command}).values()):
        module, name = each["run"].split(".")
        assert callable(getattr(import_module(f"tcuq_lab.cli.{module}"), name))


COMMANDS = """
$ tcuq-lab train
the following arguments are required: CONFIG, --out; for example: tcuq-lab train resnet8 --out weights \
--members 7 (see tcuq-lab train --help)
$ tcuq-lab data get nope
dataset 'nope' is unknown, expected one of mnist, fashion_mnist, cifar10, svhn, tinyimagenet, \
tinyimagenet20, speech_commands, speech_commands_v2, speech_commands_test, signs, motion, speech_noise \
(tcuq-lab data list shows all)
"""


@pytest.mark.parametrize("case", COMMANDS.strip().removeprefix("$ ").split("\n$ "))
def test_commands(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    line, message = case.split("\n")
    assert main(line.split()[1:]) == 2
    assert capsys.readouterr() == ("", f"tcuq-lab: {message}\n")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    np.savez(tmp_path / "mnist_test.npz", x=np.zeros((400, 28, 28), np.uint8), y=DIGITS)
    np.savez(tmp_path / "fashion_mnist_test.npz", x=np.zeros((50, 28, 28), np.uint8), y=CLOTHES)
    return tmp_path


def make(data, *more):
    out = data / "stream.json"
    status = main(["stream", "make", "--dataset", "mnist", "--part", "test", "--out", str(out), *more])
    return status, out


def test_make_show_and_check(data, capsys):
    more = ("--dwell", "16", "--steps", "3000", "--kind", "fog", "--kind", "shear", "--ood", "--seed", "5")
    status, out = make(data, *more)
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


def test_check_fails_where_something_differs(data, capsys):
    _, out = make(data, "--kind", "fog", "--steps", "500")
    content = json.loads(out.read_text())
    out.write_text(json.dumps({**content, "seed": 1}))
    assert main(["stream", "check", str(out), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out[captured.out.index("{") :])["same"] is False
    assert "stream.json: the plan has the digest" in captured.err
    out.write_text(json.dumps(content))
    np.savez(data / "mnist_test.npz", x=np.zeros((400, 28, 28), np.uint8), y=DIGITS[::-1])
    assert main(["stream", "check", str(out)]) == 1
    assert "the labels of mnist test have the digest" in capsys.readouterr().err
    out.write_text(
        json.dumps({name: value for name, value in content.items() if name not in ("labels", "digest")})
    )
    assert main(["stream", "check", str(out)]) == 2
    assert "has no digest to compare with" in capsys.readouterr().err
