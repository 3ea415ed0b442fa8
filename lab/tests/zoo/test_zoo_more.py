"""Backbones in small: they learn, by every recipe, and refuse what they cannot take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from tcuq_lab.data import text as source  # noqa: E402
from tcuq_lab.zoo.backbones import backbone  # noqa: E402
from tcuq_lab.zoo.config import Config, config_from  # noqa: E402
from tcuq_lab.zoo.heads import RECIPES  # noqa: E402
from tcuq_lab.zoo.outputs import outputs  # noqa: E402
from tcuq_lab.zoo.train import Examples, train  # noqa: E402
from tcuq_lab.zoo.weights import load_weights, round_weights, save_weights  # noqa: E402

DEEP = ("mobilenetv2", "resnet50")  # a step takes long
SMALL = {
    "resnet8": {"width": 4},
    "dscnn": {"width": 8, "channels": 3},
    "mobilenetv2": {"width": 0.1},
    "resnet50": {"width": 4},
    "vit": {"width": 16, "depth": 3, "heads": 2, "size": 16},
    "text": {"width": 16, "depth": 3, "heads": 2, "length": 16},
}


def made_up(name: str, n: int = 96) -> Examples:
    """Three classes: pictures of three colors, or bytes of three ranges, under noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    if name == "text":
        x = 80 * y[:, None] + rng.integers(0, 90, (n, 16))
    else:
        x = rng.integers(0, 160, (n, 16, 16, 3))
        x[np.arange(n), :, :, y] += 90
    return Examples(torch.from_numpy(x.astype(np.uint8)), torch.from_numpy(y))


def small(name: str, **changes: object) -> Config:
    given = {"name": "t", "dataset": "made up", "backbone": name, "options": SMALL[name], "epochs": 3}
    rate = 0.02 if name == "dscnn" else 0.003  # it has much dropout of its own
    return config_from({**given, "batch": 16, "rate": rate, "optimizer": "adam", **changes})


@pytest.mark.parametrize("name", SMALL)
def test_a_backbone_learns_and_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    config, examples = small(name, epochs=6 if name == "mobilenetv2" else 3), made_up(name, 64)
    module, losses = train(config, examples)
    assert losses[-1] < losses[0]
    round_weights(module)
    options = {"classes": 3, **SMALL[name]}
    save_weights(tmp_path / "w.npz", module, {**config.to_dict(), "options": options})
    again, _ = load_weights(tmp_path / "w.npz")
    x = examples.x.numpy()[:20]
    for first, second in zip(outputs(module, x), outputs(again, x), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("kind", [each for each in RECIPES if each != "hydra"])
@pytest.mark.parametrize("name", SMALL)
def test_every_recipe_fits_and_teaches(name: str, kind: str) -> None:
    falls = name not in DEEP or (name, kind) == ("mobilenetv2", "assisted")  # it has a configuration
    epochs, n = (4, 48) if falls else (1, 32)
    module, losses = train(small(name, recipe=kind, epochs=epochs, warmup=0.0, seed=1), made_up(name, n))
    assert np.isfinite(losses).all()
    assert not falls or losses[-1] < losses[0]
    probs, features, _ = outputs(module, made_up(name, 8).x.numpy())
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-5)
    assert features.shape[1] == backbone(name, **SMALL[name]).width


def test_parts_of_the_text_share_no_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = np.repeat(np.arange(32, dtype=np.uint8), source.STRETCH).reshape(32, source.STRETCH)
    monkeypatch.setattr(source, "document", lambda name: marks)
    found = [set(source.load_text(part).x.ravel().tolist()) for part in ("train", "dev", "test")]
    assert sorted(len(each) for each in found) == [4, 4, 24]
    assert set.union(*found) == set(range(32))
    assert sum(map(len, found)) == 32
