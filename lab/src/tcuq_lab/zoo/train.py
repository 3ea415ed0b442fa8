"""Training: one loop for all backbones, repeatable from its seed, resumable after any epoch."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import located

from .backbone import Backbone
from .backbones import backbone
from .config import Augment, Config
from .curves import Curves
from .examples import Progress
from .heads import recipe
from .recipes import Batch
from .weights import load_weights


def augmented(x: Tensor, plan: Augment, draw: torch.Generator) -> Tensor:
    """Return a disturbed copy of a prepared batch."""
    if plan.shift != (0, 0):
        x = _moved(x, plan.shift, draw)
    if plan.flip:
        mirrored = torch.rand(len(x), device=x.device, generator=draw) < 0.5
        x = torch.where(mirrored[:, None, None, None], x.flip(3), x)
    if plan.erase:
        x = _erased(x, plan.erase, draw)
    if plan.noise:
        x = x + plan.noise * torch.randn(x.shape, device=x.device, generator=draw)
    return x


def _shrunk(x: Tensor, side: int) -> Tensor:
    return interpolate(x, side, mode="area") if side else x


def _moved(x: Tensor, most: tuple[int, int], draw: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    down, right = most
    padded = pad(x, (right, right, down, down))
    rows = torch.randint(2 * down + 1, (n, 1), device=x.device, generator=draw)
    columns = torch.randint(2 * right + 1, (n, 1), device=x.device, generator=draw)
    rows = rows + torch.arange(height, device=x.device)
    columns = columns + torch.arange(width, device=x.device)
    each = torch.arange(n, device=x.device)[:, None, None]
    # Advanced indices beside a slice put the channels last.
    return padded[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _erased(x: Tensor, side: int, draw: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    top = torch.randint(height, (n, 1), device=x.device, generator=draw) - side // 2
    left = torch.randint(width, (n, 1), device=x.device, generator=draw) - side // 2
    rows = torch.arange(height, device=x.device)
    columns = torch.arange(width, device=x.device)
    inside = ((rows >= top) & (rows < top + side))[:, :, None] & (
        (columns >= left) & (columns < left + side)
    )[:, None, :]
    return x.masked_fill(inside[:, None], 0.0)


class Examples(NamedTuple):
    """Inputs as a dataset gives them, and their classes."""

    x: Tensor
    y: Tensor


class Trained(NamedTuple):
    """What is kept for inference, and the mean loss of every epoch."""

    module: nn.Module
    losses: list[float]


def train(
    config: Config,
    examples: Examples,
    device: str = "cpu",
    state: Path | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    curves: Curves | None = None,
) -> Trained:
    """Train a backbone by its recipe.

    On a CPU, with the same number of threads, the same configuration gives the same weights, also when
    the training was cut off and resumed: order and augmentation of an epoch come from the seed and its
    number alone.
    """
    plan = recipe(config.recipe, config.settings, config.smoothing)
    files = [(folder or Path()) / name for name in plan.needs(config.seed)]
    for file in files:
        if not file.exists():
            raise ValueError(f"{file} is missing; train the teachers of this member first")
    plan.teachers = tuple(load_weights(file)[0].to(device) for file in files)
    torch.manual_seed(config.seed)
    network = fresh(config, int(examples.y.max()) + 1)
    network.fit_input(examples.x)
    module = plan.wrap(network).to(device)
    if device != "cpu":  # channels last take a third of the time on a GPU
        for each in module.parameters():
            each.data = _laid(each.data, device) if each.ndim == 4 else each.data
    x, y = examples.x.to(device), examples.y.to(device)
    optimizer = _optimizer(module, config)
    kept = None if state is None else State(state, config, module, optimizer, curves)
    losses = [] if kept is None else kept.resume()
    module.train()
    forward: Callable[..., Any] = module
    side: int | None = None
    began, already = time.monotonic(), len(losses)
    for epoch in range(already, config.epochs):
        if side != (side := config.augment.shrink if 2 * epoch < config.epochs else 0):
            vars(module).pop("forward", None)  # a graph of the other size
            sample = _laid(_shrunk(network.prepare(x[: config.batch]), side), device)
            forward = _graphed(module, sample, config, device)
        total, seen = torch.zeros((), device=device), 0
        first = epoch * steps_per_epoch(config, len(x))
        for step, (at, chosen, draw) in enumerate(_batches(config, len(x), epoch, device), first):
            for group in optimizer.param_groups:
                group["lr"] = config.rate * rate_at(config, epoch + at)
            shown = augmented(network.prepare(x[chosen]), config.augment, draw)
            inputs = _laid(_shrunk(shown, side), device)
            with _precision(config, device):
                parts = forward(inputs)
                batch = Batch(inputs, y[chosen], (epoch + at) / config.epochs)
                loss = plan.loss(parts, batch)
                if curves is not None and curves.wants(step):
                    with torch.no_grad():
                        curves.note(loss, plan.terms(parts, batch))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            plan.after(module)
            total += loss.detach() * len(chosen)
            seen += len(chosen)
        losses.append(float(total) / seen)
        if not math.isfinite(losses[-1]):
            raise ValueError(f"the loss of epoch {epoch + 1} is {losses[-1]}; a smaller rate may help")
        if curves is not None:
            curves.end_epoch()
        if kept is not None:
            kept.keep(losses)
        if progress is not None:
            spent = (time.monotonic() - began) / (epoch + 1 - already)
            progress(epoch + 1, config.epochs, f"loss {losses[-1]:.3f}, {spent:.1f} s an epoch")
    return Trained(plan.kept(module).eval(), losses)


def fresh(config: Config, classes: int) -> Backbone:
    """Return the untrained backbone of a configuration."""
    network = backbone(config.backbone, **{"classes": classes, **config.options})
    if network.classes < classes:
        raise ValueError(f"option classes is {network.classes}, expected {classes} or more here")
    if network.symbols and config.augment != Augment():
        raise ValueError(f"augment is {config.augment}, expected none for the symbols of {config.backbone}")
    return network


def _laid(inputs: Tensor, device: str) -> Tensor:
    return inputs if device == "cpu" else inputs.contiguous(memory_format=torch.channels_last)


def _precision(config: Config, device: str) -> torch.autocast:
    mixed = config.precision == "bfloat16" and device != "cpu"
    # Its cache of rounded weights cannot be used inside a recorded graph.
    return torch.autocast(device, torch.bfloat16, enabled=mixed, cache_enabled=False)


def _graphed(module: nn.Module, sample: Tensor, config: Config, device: str) -> Callable[..., Any]:
    """Return the module, recorded on a GPU: these networks are so small that launching costs most."""
    if device == "cpu" or len(sample) < config.batch:
        return module
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    with _precision(config, device):
        recorded: Callable[..., Any] = torch.cuda.make_graphed_callables(
            module,
            (sample,),
            allow_unused_input=True,  # a head that a recipe replaces gets no gradient
        )
    with torch.no_grad():  # the recording moved the statistics of the norms
        for name, value in module.state_dict().items():
            value.copy_(kept[name])
    return recorded


def rate_at(config: Config, epoch: float) -> float:
    """Return the learning rate at a moment, in epochs, as a share of the highest.

    Examples
    --------
    >>> plan = Config("x", "mnist", "cnn4", epochs=20, batch=32, rate=1.0, schedule="halving")
    >>> [rate_at(plan, epoch) for epoch in (0, 1.5, 2, 4)]
    [1.0, 1.0, 0.5, 0.25]
    """
    if config.schedule == "exponential":
        return float(config.gamma ** math.floor(epoch))
    if config.schedule == "halving":
        return float(0.5 ** (math.floor(epoch) // 2))
    rise = config.warmup * config.epochs
    if epoch < rise:
        return (epoch + 1e-3) / (rise + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (epoch - rise) / max(1e-9, config.epochs - rise)))


def steps_per_epoch(config: Config, length: int) -> int:
    """Return the batches of an epoch; what is left over is too small a batch for the norms."""
    return max(1, length // config.batch)


def _batches(
    config: Config, length: int, epoch: int, device: str
) -> Iterator[tuple[float, Tensor, torch.Generator]]:
    """Give the moment within the epoch, a batch of indices, and its random numbers."""
    order = torch.randperm(length, generator=_generator("cpu", config.seed, epoch, 0)).to(device)
    draw = _generator(device, config.seed, epoch, 1)
    # Dropout draws from the global generator, which a resumed training must find as it was.
    torch.manual_seed(_number(config.seed, epoch, 2))
    count = steps_per_epoch(config, length)
    for number in range(count):
        yield number / count, order[number * config.batch : (number + 1) * config.batch], draw


def _number(seed: int, epoch: int, use: int) -> int:
    return (seed * 1_000_003 + epoch) * 4 + use


def _generator(device: str, seed: int, epoch: int, use: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(_number(seed, epoch, use))


def _optimizer(network: nn.Module, config: Config) -> torch.optim.Optimizer:
    if config.optimizer == "adam":
        return torch.optim.Adam(network.parameters(), lr=config.rate, weight_decay=config.decay, fused=True)
    decayed = [each for each in network.parameters() if each.ndim > 1]
    spared = [each for each in network.parameters() if each.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": config.decay}, {"params": spared, "weight_decay": 0.0}]
    return torch.optim.SGD(groups, lr=config.rate, momentum=0.9, nesterov=True, fused=True)


class State(NamedTuple):
    """What is kept of a training after every epoch, to go on from."""

    path: Path
    config: Config
    network: nn.Module
    optimizer: torch.optim.Optimizer
    curves: Curves | None

    def keep(self, losses: list[float]) -> None:
        """Write the file, whole or not at all."""
        buffer = io.BytesIO()
        content: dict[str, Any] = {"config": self.config.to_dict(), "losses": losses}
        content |= {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}
        if self.curves is not None:
            content["curves"] = self.curves.kept()
        torch.save(content, buffer)
        write_whole(self.path, buffer.getvalue())

    def resume(self) -> list[float]:
        """Go on from the file where there is one, and return the losses until then."""
        if not self.path.exists():
            return []
        try:
            content: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            given = content["config"]
        except Exception as error:
            raise ValueError(f"{self.path}: no state of a training ({type(error).__name__})") from None
        differing = [name for name, value in self.config.to_dict().items() if given.get(name) != value]
        if differing:
            raise ValueError(f"{self.path}: state of another configuration ({', '.join(differing)} differ)")
        if self.curves is not None:
            with located(str(self.path)):
                self.curves.resume(content.get("curves"))
        self.network.load_state_dict(content["network"])
        self.optimizer.load_state_dict(content["optimizer"])
        return list(content["losses"])
