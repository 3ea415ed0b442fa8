"""A monitor that nobody must use is not written, unless it is forced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.io import write_log

RNG = np.random.default_rng(5)
QUICK = tcuq.FitOptions(explain=False)


def answers(truth: np.ndarray, right: float, classes: int = 3) -> np.ndarray:
    """Posteriors of a model that is right this often, whatever the class."""
    said = np.where(
        RNG.random(len(truth)) < right, truth, (truth + RNG.integers(1, classes, len(truth))) % classes
    )
    sure = RNG.uniform(0.5, 0.9, (len(truth), 1))
    return np.where(np.eye(classes)[said] > 0, sure, (1 - sure) / (classes - 1))


EVEN = np.repeat(RNG.integers(0, 3, 150), 8)
RARE = np.where(RNG.random(1200) < 0.7, 0, RNG.integers(1, 3, 1200))
LONG = np.concatenate([np.zeros(850, int), np.repeat(np.arange(1, 12) % 3, 32)])
"""A class that stays for most of the log, then eleven short stays."""


def always(truth: np.ndarray) -> np.ndarray:
    return np.tile([0.6, 0.25, 0.15], (len(truth), 1)) + RNG.uniform(-0.02, 0.02, (len(truth), 1)) * [
        1,
        -1,
        0,
    ]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (tcuq.Log(answers(EVEN, 0.9), labels=2 - EVEN), "would be in another order of the classes: labels"),
        (tcuq.Log(answers(EVEN, 1 / 3), labels=EVEN), "no better than chance"),
        (tcuq.Log(answers(RARE, 0.6), labels=RARE), "no better than always answering class 0, wrong"),
        (tcuq.Log(always(RARE), labels=RARE), "no better than always answering class 0, wrong"),
    ],
    ids=["reversed", "at chance", "worse than the majority", "always the majority"],
)
def test_what_nobody_must_use_is_not_written(
    log: tcuq.Log, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(tcuq.InputError, match=said) as refused:
        tcuq.fit(log)
    assert refused.value.code == "conflict"
    dev, out = tmp_path / "dev.npz", tmp_path / "m.json"
    write_log(dev, log)
    assert main(["fit", str(dev), "-o", str(out)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and said in told.err and "--force" in told.err
    assert not out.exists()
    assert main(["fit", str(dev), "-o", str(out), "--force"]) == 0
    assert said in capsys.readouterr().out and out.exists()


@pytest.mark.parametrize("truth", [EVEN, RARE, LONG], ids=["even", "rare", "long stays"])
def test_a_model_that_is_clearly_better_is_fitted(truth: np.ndarray) -> None:
    assert tcuq.fit(tcuq.Log(answers(truth, 0.89), labels=truth), options=QUICK).classes == 3


def test_the_clean_log_decides_where_there_is_one() -> None:
    """The other log may hold little else than degraded steps."""
    hard = tcuq.Log(answers(RARE, 0.5), labels=RARE)
    clean = tcuq.Log(answers(EVEN, 0.9), labels=EVEN)
    assert tcuq.fit(hard, clean=clean, options=QUICK).classes == 3
    with pytest.raises(tcuq.InputError, match="another order of the classes"):
        tcuq.fit(hard, clean=tcuq.Log(answers(EVEN, 0.9), labels=2 - EVEN), options=QUICK)


def test_start_refuses_a_model_that_the_majority_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poor.py").write_text("def poor(x):\n    return abs(x) / abs(x).sum(1, keepdims=True)\n")
    np.savez("data.npz", x=answers(RARE, 0.55).astype(np.float32), y=RARE)
    command = ["start", "poor:poor", "data.npz", "-o", "out", "--shifts", "none"]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "always answering class" in err and err.count("\n") == 1 and not Path("out").exists()
