"""Plans of trainings: errors come before anything is made, teachers come first, workers end together."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from small_trainings import SMALL  # noqa: E402
from sounds import write_wav  # noqa: E402

from tcuq_lab.data import text  # noqa: E402
from tcuq_lab.data.official import KEYWORDS  # noqa: E402
from tcuq_lab.zoo.config import config_from, shipped  # noqa: E402
from tcuq_lab.zoo.make import check_config, find_config, load_parts, train_all  # noqa: E402
from tcuq_lab.zoo.outputs import outputs  # noqa: E402
from tcuq_lab.zoo.weights import load_weights  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with four clips a keyword, of the layout of Speech Commands."""
    root, rng = tmp_path / "data" / "speech_commands_v0.01", np.random.default_rng(0)
    for number, word in enumerate(KEYWORDS):
        for name in "abcd":
            tone = 4000 * np.sin(np.arange(16000) * (0.05 + 0.1 * number)) + rng.normal(0, 400, 16000)
            write_wav(root / word / f"{name}.wav", tone.astype("<i2"))
    for name, letter in (("validation", "c"), ("testing", "d")):
        (root / f"{name}_list.txt").write_text("".join(f"{word}/{letter}.wav\n" for word in KEYWORDS))
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # or workers wait for each other on few cores
    return tmp_path


def test_the_matrix_gives_the_configurations_that_the_weights_were_trained_by() -> None:
    later = {"mobilenetv2_hydra_t1", "cnn4_pairs", "resnet8_animals", "resnet8_signs", "cnn1d"}  # made since
    later |= {name for name in shipped() if "_200" in name}
    names = sorted(set(shipped()) - later)
    content = json.dumps({name: find_config(name).to_dict() for name in names}, sort_keys=True)
    assert len(names) == 52
    # Of the 52 files that the matrix replaced; stored checkpoints name these configurations.
    digest = "b4ae8281b1745ac9af553eee78b654a41185d258f256fcded4e088ca4665be05"
    assert hashlib.sha256(content.encode()).hexdigest() == digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"dataset": "text"},
            r"dscnn cannot take text: input is \(1, 64\), expected \(n, height",
        ),
        ({"dataset": "cifar"}, "dataset 'cifar' is unknown; did you mean cifar10"),
        ({"options": {"width": "wide"}}, "option width of dscnn is 'wide', expected an integer, 1 to 4096"),
        (
            {"backbone": "vit", "options": {"channels": 1}},
            "picture is 49 x 10, expected 32 x 32, for",
        ),
    ],
)
def test_a_backbone_that_does_not_go_with_its_dataset_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^t: .*{message}"):
        check_config(config_from({**SMALL, **changes}))


def hydra(**changes: object) -> dict[str, object]:
    settings = {"teacher": "t", "heads": 2}
    return {**SMALL, "name": "h", "recipe": "hydra", "settings": settings, **changes}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_teachers_are_trained_first(workers: int, words: Path) -> None:
    configs = [config_from(hydra()), config_from(SMALL)]
    plans = [configs[0], configs[1], configs[1].with_(seed=1)]
    cards = train_all(plans, words / "w", device="cpu", workers=workers)
    assert [card["file"] for card in cards] == ["h-0.npz", "t-0.npz", "t-1.npz"]
    times = [(words / "w" / card["file"]).stat().st_mtime_ns for card in cards]
    assert times[0] > max(times[1:])
    again = train_all(plans, words / "w", device="cpu")
    assert [card["seconds"] for card in again] == [card["seconds"] for card in cards]  # not trained again
    (words / "w" / "t-1.npz").unlink()
    assert train_all(plans[:1], words / "w", device="cpu") == again[:1]  # needs its teachers no more


def test_a_card_says_what_was_trained_on_and_a_network_takes_nothing_else(words: Path) -> None:
    (card,) = train_all([config_from(SMALL)], words / "w", device="cpu")
    assert card["input"] == (1, 49, 10) and card["examples"] == 20
    network, again = load_weights(words / "w" / "t-0.npz")
    assert again["input"] == [1, 49, 10]
    assert outputs(network, load_parts("speech_commands").dev.x.numpy()).probs.shape == (10, 10)
    with pytest.raises(ValueError, match=r"^input is \(2, 49, 12\), expected \(n, 49, 10, 1\), without"):
        outputs(network, np.zeros((2, 49, 12), np.float32))


def test_parts_of_the_text_share_no_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = np.repeat(np.arange(32, dtype=np.uint8), text.STRETCH).reshape(32, text.STRETCH)
    monkeypatch.setattr(text, "document", lambda name: marks)
    found = [set(text.load_text(part).x.ravel().tolist()) for part in ("train", "dev", "test")]
    assert sorted(map(len, found)) == [4, 4, 24] and set.union(*found) == set(range(32))
