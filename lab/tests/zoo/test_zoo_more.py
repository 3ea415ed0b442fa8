"""Backbones in small: they learn, by every recipe, and refuse what they cannot take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

from tcuq_lab.cli import main  # noqa: E402
from tcuq_lab.data import text as source  # noqa: E402
from tcuq_lab.zoo.backbones import backbone  # noqa: E402
from tcuq_lab.zoo.config import Config, config_from  # noqa: E402
from tcuq_lab.zoo.exits import Exits, stage_widths  # noqa: E402
from tcuq_lab.zoo.make import find_config, load_parts  # noqa: E402
from tcuq_lab.zoo.outputs import outputs  # noqa: E402
from tcuq_lab.zoo.recipe import Batch  # noqa: E402
from tcuq_lab.zoo.recipes import RECIPES, recipe  # noqa: E402
from tcuq_lab.zoo.train import Examples, rate_at, train  # noqa: E402
from tcuq_lab.zoo.transformer import Attention  # noqa: E402
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


@pytest.mark.parametrize("name", ["dscnn", "resnet8"])
def test_heads_follow_their_teachers(name: str, tmp_path: Path) -> None:
    examples = made_up(name, 48)
    for seed in (0, 1):
        module, _ = train(small(name, seed=seed), examples)
        round_weights(module)
        card = {**small(name).to_dict(), "options": {"classes": 3, **SMALL[name]}}
        save_weights(tmp_path / f"t-{seed}.npz", module, card)
    plan = small(name, recipe="hydra", settings={"teacher": "t", "heads": 2}, epochs=4, warmup=0.0)
    _, losses = train(plan, examples, folder=tmp_path)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", SMALL)
def test_the_heads_of_hydra_give_logits_and_learn_all(name: str) -> None:
    network = backbone(name, classes=3, **SMALL[name])
    module = recipe("hydra", {"teacher": "t", "heads": 2}).wrap(network)
    examples = made_up(name, 8)
    parts = module(network.prepare(examples.x))
    assert [tuple(each.shape) for each in parts[2:]] == [(8, 3), (8, 3)]
    sum(each.sum() for each in parts[2:]).backward()
    bare = [key for key, value in module.named_parameters() if value.grad is None]
    assert bare == []


@pytest.mark.parametrize("name", SMALL)
def test_an_exit_sees_the_mean_of_its_stage(name: str) -> None:
    network = backbone(name, classes=3, **SMALL[name]).eval()
    module = Exits(network, network.places, 0).eval()
    x = network.prepare(made_up(name, 4).x)
    logits, features, *early = module(x)
    taps = network.taps(x)
    assert stage_widths(network) == [tap.shape[1] for tap in taps]
    for place, each, exit_ in zip(network.places, early, module.exits, strict=True):
        torch.testing.assert_close(each, exit_.classifier(taps[place].flatten(2).mean(2)))
    torch.testing.assert_close(logits, network(x)[0])
    assert features.shape == (4, network.width)


def test_attention_is_the_softmax_of_scaled_products() -> None:
    torch.manual_seed(0)
    layer = Attention(8, 2)
    x = torch.randn(3, 5, 8)
    queries, keys, values = layer.inner(x).split(8, dim=2)
    heads = []
    for own in (slice(0, 4), slice(4, 8)):
        scores = torch.einsum("nqe,nke->nqk", queries[..., own], keys[..., own]) / 2
        heads.append(torch.einsum("nqk,nke->nqe", scores.softmax(2), values[..., own]))
    torch.testing.assert_close(layer(x), layer.outer(torch.cat(heads, 2)))


def test_only_positions_tell_where_a_patch_lies() -> None:
    torch.manual_seed(0)
    network = backbone("vit", **SMALL["vit"]).eval()
    x = torch.randn(2, 3, 16, 16)
    turned = x.roll(4, dims=3)  # by one patch
    assert not torch.allclose(network(x)[1], network(turned)[1], atol=1e-4)
    with torch.no_grad():
        network.stages[0][0].positions.zero_()
    torch.testing.assert_close(network(x)[1], network(turned)[1], atol=1e-4, rtol=0)


def test_what_a_network_cannot_take_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"^picture is 28 x 28, expected 32 x 32.*learned$"):
        outputs(backbone("vit"), np.zeros((2, 28, 28, 3), np.uint8))
    with pytest.raises(ValueError, match=r"^chunk is 1 x 32, expected 1 x 64.*learned$"):
        outputs(backbone("text"), np.zeros((2, 32), np.uint8))
    with pytest.raises(
        ValueError, match=r"^input is torch.float32 of shape \(2, 64\), expected uint8 \(n, length\)"
    ):
        outputs(backbone("text"), np.zeros((2, 64), np.float32))
    with pytest.raises(
        ValueError, match=r"^augment is .*noise=0.1\), expected none for the symbols of text$"
    ):
        train(small("text", augment={"noise": 0.1}), made_up("text"))
    with pytest.raises(ValueError, match="width is 64, expected a multiple of the 5 heads"):
        backbone("vit", heads=5)
    with pytest.raises(ValueError, match="patch is 5, expected a divisor of the side, 32"):
        backbone("vit", patch=5)
    with pytest.raises(ValueError, match="depth is 1"):
        backbone("text", depth=1)
    with pytest.raises(ValueError, match="length is 63, expected an even number"):
        backbone("text", length=63)


@pytest.mark.parametrize("field, value", [("backbone", "resnet51"), ("dataset", "cifar11")])
def test_a_configuration_of_unknown_names_is_one_line(
    field: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = {"name": "t", "dataset": "text", "backbone": "text", "epochs": 1, "batch": 8, "rate": 0.1}
    (tmp_path / "c.json").write_text(json.dumps({**content, field: value}))
    assert main(["train", str(tmp_path / "c.json"), "--out", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert f"'{value}' is unknown; did you mean" in lines[0]


def test_the_text_needs_no_folder_and_is_trained_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TCUQ_DATA", raising=False)
    parts = load_parts("text")
    assert [len(each.y) for each in parts[:3]] == [30_000, 5_000, 5_000]
    monkeypatch.setattr(source, "DOCUMENTS", source.DOCUMENTS[:2])
    monkeypatch.setattr(source, "_STRETCHES", 8)
    options = {"options": {"width": 8, "depth": 2, "heads": 2}}
    config = {"name": "t", "dataset": "text", "backbone": "text", "epochs": 1, "batch": 64, "rate": 0.01}
    (tmp_path / "c.json").write_text(json.dumps({**config, **options}))
    assert main(["train", str(tmp_path / "c.json"), "--out", str(tmp_path), "--device", "cpu"]) == 0
    assert "dev" in capsys.readouterr().out
    _, card = load_weights(tmp_path / "t-0.npz")
    assert (card["options"]["classes"], card["examples"], card["dev_examples"]) == (2, 1500, 250)


def test_parts_of_the_text_share_no_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = np.repeat(np.arange(32, dtype=np.uint8), source.STRETCH).reshape(32, source.STRETCH)
    monkeypatch.setattr(source, "document", lambda name: marks)
    found = [set(source.load_text(part).x.ravel().tolist()) for part in ("train", "dev", "test")]
    assert sorted(len(each) for each in found) == [4, 4, 24]
    assert set.union(*found) == set(range(32))
    assert sum(map(len, found)) == 32


def test_chunks_slide_over_their_document() -> None:
    part = source.load_text("test")
    assert np.bincount(part.y).tolist() == [500] * 10
    whole = source.document("argparse")
    np.testing.assert_array_equal(part.x[0], whole[7, :64])
    np.testing.assert_array_equal(part.x[1:125, :-16], part.x[:124, 16:])
    np.testing.assert_array_equal(part.x[125], whole[15, :64])
    assert len(source.load_text("test", stride=64).x) == 10 * 4 * 32


def test_what_is_no_text_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"^part of text 'tset' is unknown; did you mean test\?$"):
        source.load_text("tset")
    with pytest.raises(ValueError, match=r"^the source of the module sys is missing, expected"):
        source.document("sys")
    with pytest.raises(ValueError, match=r"^the source of the module no_such is missing, expected"):
        source.document("no_such")
    with pytest.raises(ValueError, match=r"bytes, expected 65536 or more$"):
        source.document("this")


@pytest.mark.parametrize(
    "name, dataset, epochs, batch, rate, later, moved",
    [
        ("cnn4", "mnist", 20, 256, 1e-3, 0.99**2, False),
        ("dscnn", "speech_commands", 10, 100, 5e-4, 0.5, False),
        ("resnet8", "cifar10", 200, 32, 1e-3, 0.99**2, True),
        ("mobilenetv2", "tinyimagenet20", 200, 128, 1e-3, 0.99**2, True),
    ],
)
def test_the_configurations_of_the_paper(
    name: str, dataset: str, epochs: int, batch: int, rate: float, later: float, moved: bool
) -> None:
    config = find_config(f"{name}_paper")
    assert (config.name, config.backbone, config.dataset) == (f"{name}_paper", name, dataset)
    assert (config.epochs, config.batch, config.rate) == (epochs, batch, rate)
    assert (config.optimizer, config.decay) == ("adam", 1e-4)
    assert rate_at(config, 2.5) == pytest.approx(later)
    assert (config.augment.flip, config.augment.shift != (0, 0)) == (moved, moved)
    assert (config.augment.erase, config.augment.noise, config.smoothing) == (0, 0, 0)
    plan = recipe(config.recipe, config.settings)
    assert plan.weights(2, 0.5) == [3.5, 4.0]  # 3 + k / 2


@pytest.mark.parametrize("name", SMALL)
def test_shipped_configurations_are_of_this_backbone(name: str) -> None:
    config = find_config(name)
    network = backbone(config.backbone, classes=4, **{**config.options, **SMALL[name]})
    loss = recipe(config.recipe, config.settings, config.smoothing)
    examples = made_up(name, 4)
    x = network.prepare(examples.x)
    assert loss.loss(loss.wrap(network)(x), Batch(x, examples.y, 0.0)).item() > 0
