"""Assistance seen from outside: exits that only watch, losses of single steps, settings over a file's."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from small_trainings import small, squares  # noqa: E402

from tcuq_lab.zoo.curves import Curves  # noqa: E402
from tcuq_lab.zoo.train import Examples, train  # noqa: E402

PROBE = {"recipe": "assisted", "settings": {"probe": 1}}


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    others = two.state_dict()
    return all(torch.equal(value, others[name]) for name, value in one.state_dict().items())


def pictures() -> Examples:
    gray = squares()
    return Examples(gray.x[..., None].expand(-1, -1, -1, 3).contiguous(), gray.y)


@pytest.mark.parametrize("optimizer, rate", [("sgd", 0.05), ("adam", 0.001)])
@pytest.mark.parametrize(
    "backbone", ["cnn4", "dscnn", "resnet8", pytest.param("mobilenetv2", marks=pytest.mark.slow)]
)  # two with dropout
def test_a_probe_leaves_the_backbone_as_plain_training_makes_it(
    backbone: str, optimizer: str, rate: float
) -> None:
    width = 0.1 if backbone == "mobilenetv2" else 4
    about = {"backbone": backbone, "options": {"width": width}, "optimizer": optimizer, "rate": rate}
    examples = pictures() if backbone in ("resnet8", "mobilenetv2") else squares()
    plain, _ = train(small(**about), examples)
    curves = Curves()
    probe, _ = train(small(**about, **PROBE), examples, curves=curves)
    assert type(probe) is type(plain)
    assert same(plain, probe)
    assert "exit_1" in curves.values()
    assisted, _ = train(small(**about, recipe="assisted"), examples)
    assert not same(plain, assisted)


def test_the_exits_of_a_probe_learn_with_their_share_of_the_loss() -> None:
    curves = Curves()
    dark = squares(192)
    bright = (dark.x // 4 + 40 * dark.y[:, None, None]).to(torch.uint8)  # an exit sees no places, only means
    train(small(**PROBE, epochs=8), Examples(bright, dark.y), curves=curves)
    found = {name: np.array(values) for name, values in curves.values().items()}
    assert found["exit_1"][-6:].mean() < 0.9 * found["exit_1"][:6].mean()
    # Over the first tenth the weight grows from half to whole; afterwards it is 3.5 of 4.5.
    np.testing.assert_allclose(
        found["loss"][6:], (found["head"] + 3.5 / 4.5 * found["exit_1"])[6:], rtol=1e-5
    )


@pytest.mark.parametrize("name", ["plain", "assisted", "early_exit", "dropout", "godin", "postnet"])
def test_noting_losses_changes_no_weight(name: str) -> None:
    config = small(recipe=name)
    curves = Curves()
    plain, losses = train(config, squares())
    noted, again = train(config, squares(), curves=curves)
    assert same(plain, noted) and losses == again
    found = curves.values()
    means = np.array(found["loss"]).reshape(2, 3).mean(1)
    np.testing.assert_allclose(means, losses, rtol=1e-5)
    exits = ["exit_1"] if name in ("assisted", "early_exit") else []
    assert list(found) == ["loss", "head", *exits]
    if name in ("plain", "dropout", "godin"):
        assert found["head"] == found["loss"]
    if name == "early_exit":
        np.testing.assert_allclose(found["loss"], np.add(found["head"], found["exit_1"]) / 2, rtol=1e-5)
