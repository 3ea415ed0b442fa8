"""A monitor beside a user's own PyTorch loop."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, refuses
from tiny_models import bars, torch_net

import tcuq
import tcuq.torch

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")
nn = torch.nn
watch = tcuq.torch.watch
X, Y = bars(300, seed=2, noise=0.9)
T = torch.from_numpy(X)


@pytest.fixture(scope="module")
def params() -> tcuq.Params:
    log = tcuq.record(torch_net(), X, Y)
    return tcuq.fit(
        log, run_length=100, force=True, options=tcuq.FitOptions(explain=False, drop_unused=False)
    )


def hooks(net: Any) -> int:
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in net.modules())


def same(found: Any, expected: Any) -> bool:
    return all(np.array_equal(found[name], expected[name], equal_nan=True) for name in ("risk", "abstain"))


def test_steps_come_while_the_loop_runs(params: tcuq.Params) -> None:
    net = torch_net()
    expected = tcuq.Monitor(params).run(tcuq.record(net, X))
    with torch.no_grad(), tcuq.torch.watch(net, params) as watch:
        assert len(watch.steps) == len(watch.last) == 0
        for start in range(0, 300, 7):
            net(T[start : start + 7])
            assert len(watch.last) == min(7, 300 - start)
    assert same(watch.steps, expected) and len(watch.steps) == 300
    assert isinstance(watch.steps, tcuq.Steps) and hooks(net) == 0
    net(T)
    assert len(watch.steps) == 300, "closed, it watches no more"


def test_the_model_is_left_as_it_is(params: tcuq.Params) -> None:
    net = torch_net().train()
    x = T[:4].clone().requires_grad_()
    alone = net(x)
    watch = tcuq.torch.watch(net, params)
    beside = net(x)
    beside[:, 0].sum().backward()
    assert torch.equal(alone, beside) and beside.requires_grad and x.grad is not None
    assert net.training and net[1].weight.grad is not None and torch.is_grad_enabled()
    watch.close()
    watch.close()
    assert hooks(net) == 0


def test_a_log_for_a_fit_without_params() -> None:
    net = torch_net(softmax=False)
    with tcuq.torch.watch(net, logits=True) as watch:
        net(T[:200])
        watch.reset()
        net(T[200:])
        marks = np.where(np.arange(300) < 240, "clean", "noise")
        log = watch.log(Y, names=["left", "middle", "right"], shifted=marks)
    recorded = tcuq.record(net, X, Y, logits=True)
    np.testing.assert_allclose(log.probs, recorded.probs, atol=1e-6)
    assert log.features is not None and recorded.features is not None
    np.testing.assert_array_equal(log.features, recorded.features)
    assert [piece.start for piece in log.pieces()] == [0, 200] and log.names is not None
    assert log.change_points() == [240] and log.shift_names == ("noise",)
    assert tcuq.fit(log, run_length=100, force=True, options=tcuq.FitOptions(explain=False)).classes == 3
    with refused("missing"):
        watch.steps  # noqa: B018
    refuses("missing", tcuq.torch.watch(net).log)


def test_logits_are_refused_with_the_option_named(params: tcuq.Params) -> None:
    net = torch_net(softmax=False)
    with tcuq.torch.watch(net, params), refused("value"):
        net(T)
    with tcuq.torch.watch(net, params, logits=True) as watch:
        net(T)
    assert len(watch.steps) == 300
    refuses(
        "conflict",
        watch.log,
    )


def test_a_gap_forgets_past_outputs_and_keeps_the_rates(params: tcuq.Params) -> None:
    net, log = torch_net(), tcuq.record(torch_net(), X)
    cut = replace(log, segments=np.repeat([0, 1], [100, 200]))
    with tcuq.torch.watch(net, params) as watch:
        net(T[:100])
        watch.reset()
        net(T[100:])
    assert same(watch.steps, tcuq.Monitor(params).run(cut))
    assert watch.monitor is not None and watch.monitor.steps == 300


class Several(torch.nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.net, self.form = torch_net(), form

    def forward(self, x: Any) -> Any:
        found = self.net(x)
        if self.form == "dict":
            return {"hidden": x, "probs": found}
        return (x, found)


@pytest.mark.parametrize(("form", "name"), [("tuple", 1), ("dict", "probs")])
def test_of_several_outputs_one_is_named(form: str, name: Any, params: tcuq.Params) -> None:
    net = Several(form)
    with tcuq.torch.watch(net, params), refused("missing"):
        net(T)
    with tcuq.torch.watch(net, params, output=name) as watch:
        net(T)
    assert len(watch.steps) == 300
    with tcuq.torch.watch(net, params, output=5), refused("unknown"):
        net(T)


def test_features_are_named_found_or_missed(params: tcuq.Params) -> None:
    net = torch_net()
    with tcuq.torch.watch(net, features="2") as watch:
        net(T)
    found = watch.log().features
    recorded = tcuq.record(net, X).features
    assert found is not None and recorded is not None and np.array_equal(found, recorded)
    refuses("unknown", tcuq.torch.watch, net, features="fc")
    bare = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.AdaptiveAvgPool1d(3), torch.nn.Softmax(1))
    with tcuq.torch.watch(bare, params), refused("value"):
        bare(T)
    with tcuq.torch.watch(bare) as watch:
        bare(T)
    assert watch.log().features is None and "no linear layer ran" in watch.notes[0]


def test_only_the_last_steps_may_be_kept(params: tcuq.Params) -> None:
    net = torch_net()
    with tcuq.torch.watch(net, params, keep=50) as watch:
        for start in range(0, 300, 20):
            net(T[start : start + 20])
    whole = tcuq.Monitor(params).run(tcuq.record(net, X))
    assert same(watch.steps, whole[-50:]) and len(watch._kept) <= 3
    with refused("value", "keep"):
        tcuq.torch.watch(net, params, keep=0)


def test_half_precision_and_wrapped_modules(params: tcuq.Params, tmp_path: Path) -> None:
    params.save(tmp_path / "params.json")
    net = torch_net()
    expected = tcuq.Monitor(params).run(tcuq.record(net, X))
    parallel = torch.nn.DataParallel(net)
    with tcuq.torch.watch(parallel, tmp_path / "params.json", features="2") as watch:
        parallel(T)
    assert same(watch.steps, expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        alone = net(T)
        with tcuq.torch.watch(net, params) as watch:
            beside = net(T)
    assert torch.equal(alone, beside) and alone.dtype == beside.dtype
    assert len(watch.steps) == 300 and (watch.steps["prediction"] == expected["prediction"]).mean() > 0.97


@pytest.mark.slow
def test_a_compiled_module_gives_the_same_steps(params: tcuq.Params) -> None:
    net = torch_net()
    expected = tcuq.Monitor(params).run(tcuq.record(net, X))
    compiled = torch.compile(net, backend="eager")
    with tcuq.torch.watch(compiled, params) as watch:
        compiled(T)
    assert same(watch.steps, expected)


def test_what_is_no_module_is_refused() -> None:
    refuses("value", tcuq.torch.watch, torch_net)


def test_the_package_is_not_taken_for_pytorch() -> None:
    code = (
        "import sys, tcuq; tcuq.fit, tcuq.record; assert 'torch' not in sys.modules\n"
        "from tcuq import torch as ours; import torch; assert torch.nn and torch is not ours\n"
        "print(tcuq.torch is ours, ours.watch.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True tcuq.torch\n", done.stderr


def test_memory_that_is_used_again_does_not_change_what_was_collected() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Softmax(-1))
    buffer = torch.empty(2, 4)
    with watch(model) as seen, torch.no_grad():
        for value in range(3):
            buffer.fill_(value)
            model(buffer).mul_(100)
    log = seen.log()
    assert log.features is not None and log.features[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(log.probs.sum(axis=1), 1, atol=1e-5)


def test_features_are_those_before_an_activation_in_place() -> None:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3), nn.Softmax(-1))
    x = torch.randn(40, 4)
    log = tcuq.record(model, x.numpy(), features="0")
    np.testing.assert_allclose(log.features, model[0](x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_recording_leaves_the_mode_of_every_part() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3), nn.Softmax(-1))
    model.train()
    model[1].eval()
    tcuq.record(model, np.zeros((4, 4), np.float32))
    assert [part.training for part in model] == [True, False, True, True]


def test_outputs_without_a_batch() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(-1))
    with watch(model) as seen, torch.no_grad():
        for _ in range(6):
            model(torch.randn(4))
    assert seen.log().probs.shape == (6, 3)
    pair = nn.Sequential(nn.Linear(4, 2), nn.Softmax(-1))
    with watch(pair, tcuq.Params(classes=2)) as seen, torch.no_grad():
        pair(torch.randn(4))
        assert len(seen.last) == 1
        pair(torch.randn(0, 4))
        assert len(seen.last) == 0 and len(seen.steps) == 1
    sigmoid = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid(), nn.Flatten(0))
    with watch(sigmoid) as seen, torch.no_grad():
        sigmoid(torch.randn(5, 4))
    assert seen.log().probs.shape == (5, 2)
    cube = nn.Sequential(nn.Linear(4, 3))
    with watch(cube, logits=True), refused("value"):
        cube(torch.randn(2, 5, 4))
    refuses("conflict", watch, model, keep=5)


def test_a_function_may_use_its_memory_again() -> None:
    rows = np.empty((2, 3), np.float32)

    def model(x: Any) -> Any:
        rows[:] = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        return rows

    x = np.random.default_rng(1).normal(size=(6, 3))
    assert len(np.unique(tcuq.record(model, x, batch=2).probs, axis=0)) == 6


class InPlace(nn.Module):  # type: ignore[misc,name-defined]
    """A network whose first layer works in its input's memory."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = nn.ReLU(inplace=True), torch_net()

    def forward(self, x: Any) -> Any:
        """Return posteriors."""
        return self.rest(self.first(x.sub_(0.1)))


def test_gauges_are_those_of_a_recording_and_of_the_input_before_the_call() -> None:
    with torch.no_grad(), tcuq.torch.watch(net := InPlace(), input_range=(0, 1)) as watch:
        for start in range(0, 300, 50):
            net(T[start : start + 50].clone())
    log, recorded = watch.log(Y), tcuq.record(torch_net(), X, Y)
    assert log.gauge_names == recorded.gauge_names == tcuq.gauge_names((8, 8, 1))
    np.testing.assert_array_equal(log.gauges, recorded.gauges)
    fitted = tcuq.fit(log, run_length=100, force=True, options=tcuq.FitOptions(explain=False))
    assert fitted.sight is not None and fitted.sight.gauges
    with torch.no_grad(), tcuq.torch.watch(net := torch_net(), fitted) as watch:
        net(T)
    assert same(watch.steps, tcuq.Monitor(fitted).run(recorded)) and watch.notes == []
    assert watch.steps["moved"].tolist() == tcuq.Monitor(fitted).run(recorded)["moved"].tolist()
    assert watch.steps.sight == watch.last.sight == fitted.sight
    blind = tcuq.torch.watch(net, fitted, gauges=False)
    net(T)
    assert "sees the outputs alone" in blind.notes[0] and len(blind.steps) == 300


def test_gauges_of_a_function_and_of_none() -> None:
    net = torch_net()
    light = {"gauges": lambda x: x.reshape(len(x), -1).mean(1, keepdim=True), "gauge_names": ["light"]}
    with torch.no_grad(), tcuq.torch.watch(net, **light) as watch:
        net(T)
    assert watch.log().gauge_names == ("light",)
    np.testing.assert_allclose(watch.log().gauges[:, 0], X.mean((1, 2, 3)), rtol=1e-5)
    with torch.no_grad(), tcuq.torch.watch(net) as watch:
        net(300 * T)
    assert watch.log().gauges is None and "pass input_range" in watch.notes[0]
    with refused("conflict"):
        tcuq.torch.watch(net, gauge_names=["light"])


@pytest.mark.parametrize("ends", [(0,), "ab", (0, 0), (0, float("nan")), 5, (1, 0)])
def test_a_range_that_is_none_is_refused_before_the_first_call(ends: Any) -> None:
    net = torch_net()
    with refused("value", "input_range"):
        tcuq.torch.watch(net, input_range=ends)
    assert hooks(net) == 0


@pytest.mark.parametrize("gauges", [None, "x", 1])
def test_gauges_are_a_flag_or_a_function(gauges: Any) -> None:
    with refused("value", "gauges"):
        tcuq.torch.watch(torch_net(), gauges=gauges)


class First(nn.Module):  # type: ignore[misc,name-defined]
    """A network with an argument before its input."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch_net()

    def forward(self, _: Any, x: Any) -> Any:
        """Return posteriors."""
        return self.net(x)


def test_gauges_that_do_not_fit_are_left_out_with_a_note() -> None:
    widths = iter([2, 3])
    wide = {"gauges": lambda _, x: np.zeros((len(x), next(widths)))}
    named = {"gauges": lambda _, x: np.zeros((len(x), 2)), "gauge_names": ["light"]}
    cases: list[tuple[Any, str]] = [
        ({}, "first argument has shape ()"),
        (wide, "3 numbers an input, and 2 before"),
        (named, "2 numbers an input for 1 gauge_names"),
    ]
    for options, why in cases:
        with torch.no_grad(), tcuq.torch.watch(net := First(), **options) as watch:
            for _ in range(2):
                net(torch.tensor(0.5), T[:1])
        assert why in watch.notes[0] and len(watch.notes) == 1, watch.notes
        assert len(watch.log()) == 2 and watch.log().gauges is None
