"""Backbones: counts against those made by hand, what they take, and the checkpoints that are stored."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from places import LAB  # noqa: E402

from tcuq_lab.zoo.backbones import BACKBONES, backbone  # noqa: E402
from tcuq_lab.zoo.heads import RECIPES, recipe  # noqa: E402
from tcuq_lab.zoo.outputs import multiply_adds, parameters, used  # noqa: E402
from tcuq_lab.zoo.weights import load_weights, save_weights  # noqa: E402

pytestmark = pytest.mark.slow

SHAPES = {
    "cnn4": (1, 28, 28),
    "dscnn": (1, 49, 10),
    "resnet8": (3, 32, 32),
    "mobilenetv2": (3, 64, 64),
    "resnet50": (3, 64, 64),
    "vit": (3, 32, 32),
    "text": (1, 1, 64),
    "cnn1d": (3, 64, 1),
}


def conv(inputs: int, outputs: int, area: int, places: int) -> tuple[int, int]:
    """Return parameters with a norm after it, and multiply-adds."""
    return inputs * outputs * area + 3 * outputs, inputs * outputs * area * places


BY_HAND = {
    "cnn4": [
        conv(1, 16, 9, 784),
        conv(16, 16, 9, 196),
        conv(16, 32, 9, 196),
        conv(32, 32, 9, 49),
        (330, 320),
    ],
    "dscnn": [
        conv(1, 64, 40, 125),
        *(4 * [(64 * 9 + 64 + 128, 64 * 9 * 125), conv(64, 64, 1, 125)]),
        (650, 640),
    ],
    "resnet8": [
        *(conv(3, 16, 9, 1024), conv(16, 16, 9, 1024), conv(16, 16, 9, 1024)),
        *(conv(16, 32, 9, 256), conv(32, 32, 9, 256), (16 * 32 + 32, 16 * 32 * 256)),
        *(conv(32, 64, 9, 64), conv(64, 64, 9, 64), (32 * 64 + 64, 32 * 64 * 64)),
        (650, 640),
    ],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_are_those_made_by_hand(name: str) -> None:
    network = backbone(name)
    found = parameters(network), multiply_adds(network, SHAPES[name])
    assert found == tuple(map(sum, zip(*BY_HAND[name], strict=True)))


@pytest.mark.parametrize("name", BACKBONES)
def test_a_backbone_gives_logits_and_features(name: str) -> None:
    network = backbone(name, classes=7).eval()
    logits, features = network(torch.zeros(2, *SHAPES[name]))
    assert logits.shape == (2, 7) == (2, network.classes)
    assert features.shape == (2, network.width)


def test_the_input_is_normalized_inside() -> None:
    network = backbone("resnet8")
    x = torch.randint(0, 256, (50, 32, 32, 3), dtype=torch.uint8)
    network.fit_input(x)
    seen = network.prepare(x)
    assert seen.shape == (50, 3, 32, 32)
    torch.testing.assert_close(seen.mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen.std((0, 2, 3)), torch.ones(3), atol=1e-3, rtol=0)


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    card = {"backbone": "cnn4", "options": {"classes": 4}, "recipe": "plain", "settings": {}}
    save_weights(tmp_path / "w.npz", backbone("dscnn"), card)
    with pytest.raises(ValueError, match="other architecture"):
        load_weights(tmp_path / "w.npz")
    (tmp_path / "w.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="no weights of tcuq"):
        load_weights(tmp_path / "w.npz")


@pytest.mark.parametrize("name", RECIPES)
def test_use_counts_what_an_answer_takes(name: str) -> None:
    network = recipe(name, {"teacher": "t"} if name == "hydra" else {}).rebuild(backbone("cnn4"))
    found, shape = used(network, (1, 28, 28)), (1, 28, 28)
    spare = {"godin": 330, "postnet": 330}.get(name, 0)  # the linear head that is replaced
    beside = {"godin": 10 * 32, "postnet": (2 * 6 + 1) * 10 * 6}.get(name, 0)
    assert found == (parameters(network) - spare, multiply_adds(network, shape) + beside)
    assert network.training and all(each.grad is None for each in network.parameters())


@pytest.mark.parametrize("kind", ["", "_assisted", "_dropout_10", "_exits", "_godin", "_postnet"])
def test_checkpoints_of_every_recipe_load(kind: str) -> None:
    for name in ("cnn4", "dscnn", "resnet8"):
        network, card = load_weights(LAB / "weights" / f"{name}{kind}-0.npz")
        assert card["config"]["name"] == f"{name}{kind}"
        assert all(bool(torch.isfinite(value).all()) for value in network.state_dict().values())
