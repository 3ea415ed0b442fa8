"""Methods with networks of their own or more than one pass: one interface, honest costs, known figures."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")
stats = pytest.importorskip("scipy.stats", reason="pip install scipy")

from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import flop_registry  # noqa: E402

from tcuq_lab.methods import METHODS, method  # noqa: E402
from tcuq_lab.methods.confidence import ConfidenceNorm, fitted, likelihood, p_values  # noqa: E402
from tcuq_lab.methods.ensembles import POSTNET_KINDS, risks  # noqa: E402
from tcuq_lab.methods.method import Method  # noqa: E402
from tcuq_lab.methods.perturbed import EPSILONS, Odin, gradient  # noqa: E402
from tcuq_lab.methods.rules import Streaming  # noqa: E402
from tcuq_lab.methods.tcuq import Tcuq  # noqa: E402
from tcuq_lab.zoo import outputs as passes  # noqa: E402
from tcuq_lab.zoo.config import config_from  # noqa: E402
from tcuq_lab.zoo.outputs import (  # noqa: E402
    core,
    differential_entropy,
    expected_entropy,
    outputs,
    parameters,
    sampled,
)
from tcuq_lab.zoo.train import Examples, train  # noqa: E402
from tcuq_lab.zoo.weights import save_weights  # noqa: E402

pytestmark = pytest.mark.slow

NETWORK = [name for name, kind in METHODS.items() if not issubclass(kind, (Streaming, Tcuq, ConfidenceNorm))]


def corners(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes of 12 x 12 pictures: a bright corner each, often hard to see: there errors are made."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    x = rng.integers(0, 100, (n, 12, 12))
    for image, label, bright in zip(x, y, rng.integers(0, 60, n), strict=True):
        row, column = divmod(int(label), 2)
        image[6 * row : 6 * row + 6, 6 * column : 6 * column + 6] += bright
    return x.astype(np.uint8), y


X, Y = corners(400, seed=1)
AGAIN, _ = corners(300, seed=2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[nn.Module]]]:
    """Tiny networks of every recipe, five of the plain one; networks so small are only slowed by threads."""
    before, folder = torch.get_num_threads(), Path(tmp_path_factory.mktemp("weights"))
    torch.set_num_threads(1)
    given = {"name": "t", "dataset": "mnist", "backbone": "cnn4", "batch": 32, "rate": 0.05}
    x, y = corners(320, seed=0)

    def made(recipe: str, seed: int = 0, epochs: int = 6, **settings: Any) -> nn.Module:
        more = {"recipe": recipe, "seed": seed, "epochs": epochs, "settings": settings}
        config = config_from({**given, **more, "options": {"width": 4}})
        return train(config, Examples(torch.from_numpy(x), torch.from_numpy(y)), folder=folder).module

    plain = [made("plain", seed) for seed in range(5)]
    card = {"backbone": "cnn4", "options": {"classes": 4, "width": 4}, "recipe": "plain", "settings": {}}
    for seed, module in enumerate(plain):
        save_weights(folder / f"t-{seed}.npz", module, card)
    others = {name: [made(name)] for name in ("early_exit", "godin")}
    others["postnet"] = [made("postnet", epochs=12)]
    others["dropout"] = [made("dropout", rate=0.3)]
    yield {"plain": plain, "hydra": [made("hydra", teacher="t", heads=3)], **others}
    torch.set_num_threads(before)


def ready(name: str, trained: dict[str, list[nn.Module]]) -> Method:
    kind = method(name)
    found = kind(trained[kind.recipe][: kind.members])
    found.ready(X, Y)
    return found


class Counted(TorchDispatchMode):
    """Counts passes, and multiply-adds of products and convolutions as PyTorch dispatches them."""

    def __init__(self, networks: Any = ()) -> None:
        super().__init__()
        self.passes = self.multiply_adds = 0
        self.hooks = [each.register_forward_hook(self._passed) for each in networks]

    def _passed(self, *_: object) -> None:
        self.passes += 1

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = flop_registry.get(function._overloadpacket)
        if rule is None:
            with self:
                found = function.decompose(*args, **(kwargs or {}))
            if found is not NotImplemented:
                return found
        found = function(*args, **(kwargs or {}))
        if rule is not None:
            self.multiply_adds += rule(*args, **(kwargs or {}), out_val=found) // 2
        return found


FORWARD = {"mc_dropout": 10, "deep": 5, "deep_belief": 5} | dict.fromkeys(["odin", "godin"], 2)
STORED = {"temperature": 1, "conformal": len(X), "odin": 2, "godin": 1, "deep_belief": 1}
"""Temperature and step, or the step alone, or clean doubts, or a stay."""


@pytest.mark.parametrize("name", NETWORK)
def test_every_method_is_repeatable_does_not_look_at_batches_and_costs_what_it_declares(
    name: str, trained: dict[str, list[nn.Module]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, base = ready(name, trained), name.removesuffix("_energy")
    one = found.record(AGAIN)
    if name != "postnet":  # its flows are neither products of matrices nor convolutions
        with Counted(found.networks) as counter:
            found.record(AGAIN[:1])
        done, cost = counter.multiply_adds, found.cost((1, 12, 12))
        for hook in counter.hooks:
            hook.remove()
        assert counter.passes == FORWARD.get(base, 1)
        assert cost.multiply_adds == done and cost.gradient == ("odin" in name)
        with Counted() as plain, torch.no_grad():
            core(found.networks[0])(torch.zeros(1, 1, 12, 12))
        assert cost.passes == done / plain.multiply_adds
        unused = parameters(core(found.networks[0]).head) if found.recipe == "godin" else 0
        kept = sum(parameters(each) for each in found.networks) + STORED.get(base, 0) - unused
        assert cost.parameters == kept
    monkeypatch.setattr(passes, "BATCH", 130)
    torch.manual_seed(99)  # a method must not draw from the global generator
    two = ready(name, trained).record(AGAIN)
    np.testing.assert_allclose(one.probs, two.probs, atol=1e-5)
    for column, values in one.extra.items():
        assert len(values) == len(AGAIN)
        np.testing.assert_allclose(values, two.extra[column], rtol=1e-3, atol=1e-4)


def test_temperature_against_a_grid() -> None:
    rng = np.random.default_rng(0)
    for scale in (0.3, 6.0):
        logits = rng.normal(size=(500, 5))
        y = np.array([rng.choice(5, p=np.exp(row) / np.exp(row).sum()) for row in logits])
        grid = np.exp(np.linspace(np.log(0.01), np.log(100), 1001))
        best = grid[np.argmin([likelihood(scale * logits, y, warm) for warm in grid])]
        found = fitted(scale * logits, y)
        assert abs(np.log(found / best)) < np.log(grid[1] / grid[0])
        assert found == pytest.approx(scale, rel=0.3)


def test_conformal_refuses_no_more_than_its_level_and_ranks_as_base(
    trained: dict[str, list[nn.Module]],
) -> None:
    rng = np.random.default_rng(0)
    clean, doubt = np.sort(rng.integers(0, 20, 60) / 20.0), rng.integers(-1, 22, 200) / 20.0  # many ties
    slow = [(1 + sum(each >= value for each in clean)) / 61 for value in doubt]
    np.testing.assert_array_equal(p_values(clean, doubt), slow)
    found = ready("conformal", trained)
    rows = found.record(AGAIN)
    own, new = (1 - found.answer(each).score for each in (found.record(X), rows))
    for level in (0.0, 0.05, 0.1, 0.5, 1.0):
        assert (own <= level).mean() <= level
    assert (own <= 0.1).mean() > 0.09 and abs((new <= 0.1).mean() - 0.1) < 0.06
    order = np.argsort(ready("base", trained).answer(rows).score)
    assert (np.diff(new[order]) <= 0).all()


def test_dropout_by_masks_is_dropout(trained: dict[str, list[nn.Module]]) -> None:
    """The mean over many passes is that of PyTorch's own dropout."""
    network = trained["dropout"][0]
    inputs = core(network).prepare(torch.from_numpy(AGAIN[:4]))
    with torch.inference_mode():
        ours = torch.stack([sampled(network, inputs, 0, n, 5)[0].softmax(1) for n in range(200)])
        network.drops.train()
        torch.manual_seed(0)
        theirs = torch.stack([network(inputs)[0].softmax(1) for _ in range(200)])
        network.eval()
        still = network(inputs)[0].softmax(1)
    error = (theirs.std(0) ** 2 / 100).sqrt().clamp_min(1e-4)
    assert ((ours.mean(0) - theirs.mean(0)).abs() < 5 * error).all()
    assert ours.std(0).max() > 0.01
    assert torch.equal(sampled(network, inputs, 0, 0, 5)[0].softmax(1), ours[0])
    assert torch.equal(network(inputs)[0].softmax(1), still)  # hooks are gone


def test_the_step_of_odin_is_along_the_gradient(trained: dict[str, list[nn.Module]]) -> None:
    found = ready("odin", trained)
    assert isinstance(found, Odin)
    found.temperature = 10.0
    network = copy.deepcopy(found.networks[0]).double()
    inputs = core(network).prepare(torch.from_numpy(AGAIN[:3])).double()

    def confidence(given: Any) -> Any:
        return (given[0] / found.temperature).log_softmax(1).amax(1)

    _, slope = gradient(network, inputs, confidence)
    with torch.no_grad():
        for row, column in np.random.default_rng(0).integers(0, 12, (20, 2)):
            nudge = torch.zeros_like(inputs)
            nudge[:, 0, row, column] = 1e-6
            up, down = (confidence(network(inputs + sign * nudge)) for sign in (1, -1))
            torch.testing.assert_close(slope[:, 0, row, column], (up - down) / 2e-6, rtol=1e-3, atol=1e-7)
    # The float32 path of the method is the same function.
    both = found._runs(AGAIN[:3], "cpu", (0.01,))
    moved = network(inputs + 0.01 * slope.sign())[0].detach().numpy()
    np.testing.assert_allclose(both[1][0], moved, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ["odin", "godin"])
def test_the_step_is_chosen_on_clean_examples_by_the_largest_mean(
    name: str, trained: dict[str, list[nn.Module]]
) -> None:
    found = ready(name, trained)
    means = [found.sureness(found._runs(X, "cpu", (step,))[1]).mean() for step in EPSILONS]
    assert found.epsilon == EPSILONS[int(np.argmax(means))]
    shuffled = method(name)(found.networks)
    shuffled.ready(X, found.record(X).probs.argmax(1))  # labels without an error
    assert shuffled.temperature == 1000.0 if name == "odin" else shuffled.epsilon == found.epsilon
    plain = outputs(found.networks[0], AGAIN)
    np.testing.assert_allclose(found.record(AGAIN).probs, plain.probs, atol=1e-5)  # of the unmoved input
    with pytest.raises(ValueError, match=rf"{name} has no step; ready\(\) with clean"):
        method(name)(found.networks).record(AGAIN)


def test_uncertainties_of_a_dirichlet_against_scipy() -> None:
    rng = np.random.default_rng(0)
    alpha = 1 + rng.gamma(0.5, 20.0, (50, 4))
    ours = differential_entropy(torch.from_numpy(alpha)).numpy()
    np.testing.assert_allclose(ours, [stats.dirichlet(row).entropy() for row in alpha], rtol=1e-9, atol=1e-9)
    drawn = [rng.dirichlet(row, 10_000) for row in alpha[:5]]
    means = [-(each * np.log(np.clip(each, 1e-300, 1))).sum(1).mean() for each in drawn]
    np.testing.assert_allclose(expected_entropy(torch.from_numpy(alpha[:5])).numpy(), means, atol=0.02)
    found = dict(zip(POSTNET_KINDS, risks(alpha).T, strict=True))
    spread = [stats.dirichlet(row).var()[row.argmax()] ** 0.5 for row in alpha]
    np.testing.assert_allclose(found["deviation"], spread, rtol=1e-9)
    assert np.isfinite(risks(np.array([[1.0, 1.0, 1e13], [1.0, 1.0, 1.0]]))).all()
