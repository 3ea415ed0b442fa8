"""Training: every backbone learns by every recipe, repeatably, and goes on where it was cut off."""

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

from tcuq_lab.zoo.backbone import Backbone  # noqa: E402
from tcuq_lab.zoo.backbones import backbone  # noqa: E402
from tcuq_lab.zoo.curves import Curves  # noqa: E402
from tcuq_lab.zoo.heads import RECIPES  # noqa: E402
from tcuq_lab.zoo.outputs import outputs  # noqa: E402
from tcuq_lab.zoo.train import Examples, train  # noqa: E402
from tcuq_lab.zoo.weights import load_weights, round_weights, save_weights  # noqa: E402

pytestmark = pytest.mark.slow

DEEP = ("mobilenetv2", "resnet50")  # a step takes long
OPTIONS = {
    "cnn4": {"width": 4, "channels": 3},
    "resnet8": {"width": 4},
    "dscnn": {"width": 8, "channels": 3},
    "mobilenetv2": {"width": 0.1},
    "resnet50": {"width": 4},
    "vit": {"width": 16, "depth": 3, "heads": 2, "size": 16},
    "text": {"width": 16, "depth": 3, "heads": 2, "length": 16},
}


def made_up(name: str, n: int) -> Examples:
    """Three classes: pictures of three colors, or bytes of three ranges, under noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    if name == "text":
        x = 80 * y[:, None] + rng.integers(0, 90, (n, 16))
    else:
        x = rng.integers(0, 160, (n, 16, 16, 3))
        x[np.arange(n), :, :, y] += 90
    return Examples(torch.from_numpy(x.astype(np.uint8)), torch.from_numpy(y))


def test_the_first_half_of_the_epochs_sees_shrunk_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []
    taps = Backbone.taps
    monkeypatch.setattr(Backbone, "taps", lambda self, x: (seen.append(tuple(x.shape[2:])), taps(self, x))[1])
    about = {"backbone": "cnn4", "options": OPTIONS["cnn4"], "batch": 16, "seed": 1}
    train(small(**about, epochs=4, augment={"shrink": 8}), made_up("cnn4", 32))
    assert seen == [(8, 8)] * 4 + [(16, 16)] * 4
    assert "shrink" not in small(**about, augment={}).to_dict()["augment"]  # as in the cards of old


@pytest.mark.parametrize("kind", RECIPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_every_recipe_learns_and_comes_back_from_its_file(name: str, kind: str, tmp_path: Path) -> None:
    if kind == "hydra" and name != "cnn4":
        pytest.skip("one ensemble of teachers shows it")
    falls = name not in DEEP or (name, kind) == ("mobilenetv2", "assisted")  # it has a configuration
    rate = 0.02 if name == "dscnn" else 0.003  # it has much dropout of its own
    about = {"backbone": name, "options": OPTIONS[name], "augment": {}, "batch": 16, "rate": rate}
    config = small(**about, optimizer="adam", epochs=4 if falls else 1, warmup=0.0, seed=1)
    examples, options = made_up(name, 48 if falls else 32), {"classes": 3, **OPTIONS[name]}
    path = tmp_path / "w.npz"
    if kind == "hydra":
        for seed in (1, 2):
            module, _ = train(config.with_(seed=seed), examples)
            save_weights(tmp_path / f"t-{seed}.npz", module, {**config.to_dict(), "options": options})
        config = config.with_(settings={"teacher": "t", "heads": 2})
    module, losses = train(config.with_(recipe=kind), examples, folder=tmp_path)
    assert np.isfinite(losses).all() and (not falls or losses[-1] < losses[0])
    round_weights(module)
    save_weights(path, module, {**config.to_dict(), "recipe": kind, "options": options})
    one, two = (outputs(each, examples.x.numpy()[:8]) for each in (module, load_weights(path)[0]))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(one.probs.sum(1), 1, atol=1e-5)
    assert one.features.shape[1] == backbone(name, **OPTIONS[name]).width


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    others = two.state_dict()
    return all(torch.equal(value, others[name]) for name, value in one.state_dict().items())


def test_same_seed_same_weights_other_seed_others() -> None:
    first, second, other = (train(small(seed=seed), squares()).module for seed in (3, 3, 4))
    assert same(first, second) and not torch.equal(first.head.weight, other.head.weight)


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
    state, fresh = tmp_path / "state", tmp_path / "fresh"
    command = [sys.executable, "-c", SCRIPT, str(Path(small_trainings.__file__).parent), str(state)]
    process = subprocess.Popen(command)
    while not state.exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(torch.load(state, weights_only=True)["losses"])
    assert 0 < done < 500
    calls: list[int] = []

    class Enough(Exception):
        pass

    def stop(epoch: int, epochs: int, text: str) -> None:
        calls.append(epoch)
        if epoch >= done + 2:
            raise Enough

    for kept in (state, fresh):
        with pytest.raises(Enough):
            train(small(epochs=500, recipe="dropout"), squares(), state=kept, progress=stop)
    assert calls[0] == done + 1
    one, two = (torch.load(path, weights_only=True)["network"] for path in (state, fresh))
    assert all(torch.equal(value, two[name]) for name, value in one.items())


def test_a_state_of_another_configuration_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    train(small(epochs=1), squares(), state=state)
    with pytest.raises(ValueError, match=r"state of another configuration \(rate differ\)"):
        train(small(epochs=1, rate=0.1), squares(), state=state)
    state.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="no state of a training"):
        train(small(epochs=1), squares(), state=state)


@pytest.mark.parametrize("optimizer, rate", [("sgd", 0.05), ("adam", 0.001)])
@pytest.mark.parametrize("name", ["cnn4", "dscnn"])  # one with dropout
def test_a_probe_leaves_the_backbone_as_plain_training_makes_it(
    name: str, optimizer: str, rate: float
) -> None:
    about = {"backbone": name, "optimizer": optimizer, "rate": rate}
    plain, _ = train(small(**about), squares())
    probe, _ = train(small(**about, recipe="assisted", settings={"probe": 1}), squares())
    assisted, _ = train(small(**about, recipe="assisted", settings={"transfer": 0.1}), squares())
    assert type(probe) is type(plain) and same(plain, probe)
    # Assistance changes the weights, and leaves nothing else behind.
    assert not same(plain, assisted) and assisted.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("name", ["plain", "assisted", "probe", "early_exit", "dropout", "godin", "postnet"])
def test_noting_losses_changes_no_weight(name: str) -> None:
    probe = {"recipe": "assisted", "settings": {"probe": 1}}
    config = small(**(probe if name == "probe" else {"recipe": name}))
    curves = Curves()
    plain, losses = train(config, squares())
    noted, again = train(config, squares(), curves=curves)
    assert same(plain, noted) and losses == again
    found = {column: np.array(values) for column, values in curves.values().items()}
    np.testing.assert_allclose(found["loss"].reshape(2, 3).mean(1), losses, rtol=1e-5)
    exits = {"early_exit": 1.0, "probe": 3.5 / 4.5, "assisted": 3.5}  # weight of the exit beside the head
    whole = {"early_exit": 2.0, "assisted": 4.5}.get(name, 1.0)
    assert list(found) == ["loss", "head", *(["exit_1"] if name in exits else [])]
    if name != "postnet":
        expected = (found["head"] + exits.get(name, 0.0) * found.get("exit_1", 0.0)) / whole
        late = slice(1, None)  # over the first tenth the weight of an assisting exit grows
        np.testing.assert_allclose(found["loss"][late], expected[late], rtol=1e-5)
