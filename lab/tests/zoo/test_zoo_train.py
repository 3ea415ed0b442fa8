"""Training: repeatable, resumable, every recipe learns."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

import small_trainings  # noqa: E402
from small_trainings import small, squares  # noqa: E402

from tcuq_lab.zoo.heads import RECIPES  # noqa: E402
from tcuq_lab.zoo.outputs import core, outputs  # noqa: E402
from tcuq_lab.zoo.train import train  # noqa: E402
from tcuq_lab.zoo.weights import load_weights, round_weights, save_weights  # noqa: E402


def teach(folder: Path) -> dict[str, object]:
    for seed in range(2):
        module, _ = train(small(seed=seed), squares())
        card = {"backbone": "cnn4", "options": {"classes": 4, "width": 4}, "recipe": "plain", "settings": {}}
        save_weights(folder / f"t-{seed}.npz", module, card)
    return {"teacher": "t", "heads": 2}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_and_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    settings: dict[str, object] = teach(tmp_path) if name == "hydra" else {}
    config = small(recipe=name, settings=settings, epochs=4)
    module, losses = train(config, squares(192), folder=tmp_path)
    assert losses[-1] < losses[0]
    round_weights(module)
    path = tmp_path / "w.npz"
    save_weights(path, module, {**config.to_dict(), "options": {"classes": 4, "width": 4}})
    again, card = load_weights(path)
    assert card["recipe"] == name
    x = squares(20, seed=1).x.numpy()
    one, two = outputs(module, x), outputs(again, x)
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(one.probs.sum(1), 1, atol=1e-5)
    assert core(again).classes == 4


def test_same_seed_same_weights_other_seed_others() -> None:
    first, second, other = (train(small(seed=seed), squares()).module for seed in (3, 3, 4))
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    assert not torch.equal(first.head.weight, other.head.weight)


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from small_trainings import small, squares
from tcuq_lab.zoo.train import train
train(small(epochs=500, recipe="dropout"), squares(), state=Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    state = tmp_path / "state"
    command = [sys.executable, "-c", SCRIPT, str(Path(small_trainings.__file__).parent), str(state)]
    process = subprocess.Popen(command)
    while not state.exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = torch.load(state, weights_only=True)
    done = len(kept["losses"])
    assert 0 < done < 500
    plan = small(epochs=500, recipe="dropout")
    calls: list[int] = []

    class Enough(Exception):
        pass

    def stop(epoch: int, epochs: int, text: str) -> None:
        calls.append(epoch)
        if epoch >= done + 2:
            raise Enough

    with pytest.raises(Enough):
        train(plan, squares(), state=state, progress=stop)
    assert calls[0] == done + 1
    fresh = tmp_path / "fresh"
    with pytest.raises(Enough):
        train(plan, squares(), state=fresh, progress=stop)
    one, two = (torch.load(path, weights_only=True)["network"] for path in (state, fresh))
    for name, value in one.items():
        assert torch.equal(value, two[name]), name


def test_a_state_of_another_configuration_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    train(small(epochs=1), squares(), state=state)
    with pytest.raises(ValueError, match=r"state of another configuration \(rate differ\)"):
        train(small(epochs=1, rate=0.1), squares(), state=state)
    state.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="no state of a training"):
        train(small(epochs=1), squares(), state=state)


def test_nothing_of_the_assistance_remains_at_inference(tmp_path: Path) -> None:
    from tcuq_lab.zoo.backbones import backbone
    from tcuq_lab.zoo.outputs import multiply_adds, parameters
    from tcuq_lab.zoo.recipes import Exit

    plan = small(recipe="assisted", epochs=1, settings={"transfer": 0.1})
    module, _ = train(plan, squares())
    bare = backbone("cnn4", classes=4, width=4)
    shapes = {name: value.shape for name, value in bare.state_dict().items()}
    assert {name: value.shape for name, value in module.state_dict().items()} == shapes
    assert parameters(module) == parameters(bare)
    assert multiply_adds(module, (1, 28, 28)) == multiply_adds(bare, (1, 28, 28))
    assert not any(isinstance(each, Exit) for each in module.modules())
    save_weights(tmp_path / "w.npz", module, {**plan.to_dict(), "options": {"classes": 4, "width": 4}})
    with np.load(tmp_path / "w.npz") as file:
        assert set(file.files) - {"card"} == set(shapes)
