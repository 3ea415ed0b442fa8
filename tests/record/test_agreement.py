# SPDX-License-Identifier: MIT
"""Labels and predictions that do not agree: another order of the classes, chance, or a bad model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import NAMES, bar_net, bars, write_pictures

import tcuq
from tcuq.cli import main
from tcuq.labels.check import beside_chance, other_order

BARS = "import sys\nfrom tiny_models import bar_net\ndef net(x):\n    return bar_net(x)\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working folder with a model of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("bars_net.py").write_text(BARS)
    return tmp_path


def test_folders_in_another_order_than_the_outputs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pictures(place / "pictures", 90)
    args = ["record", "bars_net:net", "pictures", "-o", "dev.npz", "--input-shape", "8,8"]
    assert main(args) == 0
    assert "another order" not in capsys.readouterr().err
    (place / "pictures" / "left").rename(place / "pictures" / "zero")  # now the last one
    assert main(args) == 0
    message = capsys.readouterr().err
    assert "0.0 % of the predictions are right, and 100.0 % would be in another order" in message
    assert "names are probably sorted otherwise than the outputs; pass --names zero,middle,right\n" in message
    assert main([*args, "--names", "zero,middle,right"]) == 0
    out, err = capsys.readouterr()
    assert "100.0 % of the predictions are right" in out and "another order" not in err


def test_labels_numbered_otherwise_are_told_how_to_be_renumbered() -> None:
    x, y = bars(300)
    note = tcuq.record(bar_net, x, (y + 1) % 3).notes[-1]
    assert note.endswith(
        "labels are probably numbered otherwise than the outputs; renumber them, y = "
        "numpy.array([2, 0, 1])[y]"
    )
    again = tcuq.record(bar_net, x, np.array([2, 0, 1])[(y + 1) % 3])
    assert again.errors().mean() < 0.1 and again.notes == ()
    texts = np.array(NAMES)[y]
    note = tcuq.record(bar_net, x, texts, names=("right", "middle", "left")).notes[-1]
    assert note.endswith("pass `names=['left', 'middle', 'right']`")
    assert tcuq.record(bar_net, x, texts, names=["left", "middle", "right"]).notes == ()


def test_one_renamed_folder_of_ten_leaves_some_classes_right() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 10, 1500)
    answers = np.where(rng.random(1500) < 0.87, true, rng.integers(0, 10, 1500))
    folder = np.array([7, 0, 1, 2, 3, 4, 5, 6, 8, 9])  # airplane is plane now, between horse and ship
    found = other_order(folder[true], answers, 10)
    assert found is not None and found.tolist() == [1, 2, 3, 4, 5, 6, 7, 0, 8, 9]


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("count", [20, 60, 1000])
def test_a_bad_model_is_not_taken_for_another_order(classes: int, count: int) -> None:
    rng = np.random.default_rng(classes)
    alarms = 0
    for _ in range(200):
        labels = rng.integers(0, classes, count)
        favorites = rng.integers(0, classes, classes)  # what it says to a class, often the same to several
        kinds: list[Any] = [
            rng.integers(0, classes, count),
            np.zeros(count, np.int64),
            np.where(rng.random(count) < 0.4, labels, rng.integers(0, classes, count)),
            np.where(rng.random(count) < 0.6, np.sort(favorites)[0], labels),
        ]
        alarms += sum(other_order(labels, each, classes) is not None for each in kinds)
    assert alarms <= 8  # of 800


def test_classes_without_examples_keep_a_place() -> None:
    labels = np.repeat([0, 2], 30)
    found = other_order(labels, np.repeat([2, 0], 30), 4)
    assert found is not None and found.tolist() == [2, 1, 0, 3]
    assert other_order(np.full(30, -1), np.zeros(30, np.int64), 4) is None


def test_chance_is_that_of_clean_steps() -> None:
    right = np.eye(4)[np.arange(80) % 4]
    log = tcuq.Log(
        right, labels=np.where(np.arange(80) < 60, 0, np.arange(80) % 4), shifted=np.arange(80) < 60
    )
    assert beside_chance(log) is None
    assert beside_chance(tcuq.Log(right, labels=np.zeros(80, int))) is not None


def test_a_model_that_knows_a_little_is_hardly_better_than_chance() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 5000)
    for knows, said in ((0.0, "no better than chance"), (0.06, "hardly better than chance"), (0.15, None)):
        answers = np.where(rng.random(5000) < knows, labels, rng.integers(0, 10, 5000))
        assert beside_chance(tcuq.Log(np.eye(10)[answers], labels=labels)) == said


def test_start_writes_nothing_for_a_model_at_chance(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("a fit, and a package, that nobody should use")

    monkeypatch.setattr("tcuq.start.run.fit", refuse)
    x, y = bars(600, noise=0.85)
    texts = np.array(["left", "middle", "right"])[y]
    for labels, more, message in (
        (np.random.default_rng(9).integers(0, 3, 600), [], "(--names, --input-range); nothing is written"),
        ((y + 1) % 3, [], "renumber them, y = numpy.array([2, 0, 1])[y]; nothing is written"),
        (texts, ["--names", "middle,right,left"], "pass --names left,middle,right; nothing is written"),
    ):
        np.savez("data.npz", x=x, y=labels)
        assert main(["start", "bars_net:net", "data.npz", "-o", "out", *more]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and f"{message}, unless with --force\n" in err, err
        assert not Path("out").exists()
