"""Transformers for pictures and text: attention whose products can be counted, blocks as stages."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from tcuq.base.checks import integer

from .backbone import Backbone


class Mix(nn.Module):
    """The products of activations within attention; a module, so that their multiply-adds can be counted.

    The fused function takes a fiftieth of the time of the two products on some CPUs.
    """

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return a mean of the values for every query; all are (n, heads, tokens, width of a head)."""
        return scaled_dot_product_attention(queries, keys, values)

    @staticmethod
    def multiply_adds(queries: Tensor, keys: Tensor) -> int:
        """Return those of one example: every query times every key, and as many for the means."""
        _, heads, count, width = queries.shape
        return 2 * heads * count * keys.shape[2] * width


class Attention(nn.Module):
    """Self-attention over all tokens, (n, tokens, width) to the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % integer("heads", heads, 1, 64):
            raise ValueError(f"width is {width}, expected a multiple of the {heads} heads")
        self.heads = heads
        self.inner = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, width)
        self.mix = Mix()

    def forward(self, x: Tensor) -> Tensor:
        """Return what every token gathers from all."""
        n, count, width = x.shape
        each = width // self.heads
        queries, keys, values = self.inner(x).reshape(n, count, 3, self.heads, each).permute(2, 0, 3, 1, 4)
        mixed = self.mix(queries, keys, values).transpose(1, 2).reshape(n, count, width)
        gathered: Tensor = self.outer(mixed)
        return gathered


class Block(nn.Module):
    """Attention and two layers a token, each after a norm and beside a shortcut.

    Tokens are laid out as places of a picture of one row, (n, width, 1, tokens): a mean over places, and so
    exits and recipes, then mean the same for all backbones.
    """

    def __init__(self, width: int, heads: int, expand: int = 2) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        layers = (nn.Linear(width, expand * width), nn.ReLU(), nn.Linear(expand * width, width))
        self.layers = nn.Sequential(nn.LayerNorm(width), *layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens of the same shape."""
        tokens = listed(x)
        tokens = tokens + self.attention(tokens)
        return placed(tokens + self.layers(tokens))


class Norm(nn.Module):
    """The norm after the last block."""

    def __init__(self, width: int, first: bool) -> None:
        super().__init__()
        self.norm, self.first = nn.LayerNorm(width), first

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, width, 1, tokens), or (n, width, 1, 1) for the first token alone."""
        return placed(self.norm(listed(x[..., :1] if self.first else x)))


def listed(x: Tensor) -> Tensor:
    """Turn places (n, width, height, row) into tokens (n, tokens, width), row after row."""
    return x.flatten(2).transpose(1, 2)


def placed(tokens: Tensor) -> Tensor:
    """Turn tokens (n, tokens, width) into places (n, width, 1, tokens)."""
    return tokens.transpose(1, 2).unsqueeze(2)


def learned(*shape: int) -> nn.Parameter:
    """Return a small random parameter, for positions and tokens that are learned."""
    return nn.Parameter(0.02 * torch.randn(shape))


def of_size(x: Tensor, size: tuple[int, int], what: str) -> Tensor:
    """Return an input of the size that positions were learned for, or refuse it."""
    height, width = x.shape[2:]
    if (height, width) != size:
        expected = f"{size[0]} x {size[1]}, for which positions are learned"
        raise ValueError(f"{what} is {height} x {width}, expected {expected}")
    return x


def stacked(embed: nn.Module, width: int, depth: int, heads: int, first: bool) -> list[nn.Module]:
    """Return a stage a block; the embedding is in the first one, the norm in the last one."""
    blocks = [Block(width, heads) for _ in range(integer("depth", depth, 2, 64))]
    norm = Norm(width, first)
    return [nn.Sequential(embed, blocks[0]), *blocks[1:-1], nn.Sequential(blocks[-1], norm)]


def places_of(depth: int) -> tuple[int, ...]:
    """Return the places of exits: two, evenly over all blocks but the last, or the one there is.

    Examples
    --------
    >>> places_of(4), places_of(2)
    ((0, 2), (0,))
    """
    return tuple(sorted({(depth - 1) // 4, 3 * (depth - 1) // 4}))


class Patches(nn.Module):
    """A class token, then a token a patch, with learned positions."""

    def __init__(self, channels: int, width: int, size: int, patch: int) -> None:
        super().__init__()
        if size % integer("patch", patch, 1, size):
            raise ValueError(f"patch is {patch}, expected a divisor of the side, {size}")
        self.size = (size, size)
        self.cut = nn.Conv2d(channels, width, patch, patch)
        self.token = learned(1, 1, width)
        self.positions = learned(1, 1 + (size // patch) ** 2, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, width, 1, 1 + patches)."""
        patches = listed(self.cut(of_size(x, self.size, "picture")))
        token = self.token.expand(len(x), -1, -1).to(patches.dtype)
        return placed(torch.cat([token, patches], 1) + self.positions)


def vit(
    classes: int = 10,
    channels: int = 3,
    width: int = 64,
    depth: int = 4,
    heads: int = 4,
    size: int = 32,
    patch: int = 4,
) -> Backbone:
    """Return a vision transformer; the class token after the last block is the feature vector.

    Exits take the mean of all tokens, the class token among them.
    """
    stages = stacked(Patches(channels, width, size, patch), width, depth, heads, first=True)
    return Backbone(stages, width, classes, channels, places_of(depth), size=(size, size))


class Bytes(nn.Module):
    """A token for every two bytes: a vector a byte, a convolution over four of them, learned positions."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        if integer("length", length, 2, 1 << 16) % 2:
            raise ValueError(f"length is {length}, expected an even number")
        self.size = (1, length)
        self.vectors = nn.Embedding(256, width)
        self.join = nn.Sequential(nn.Conv2d(width, width, (1, 4), (1, 2), (0, 1)), nn.ReLU())
        self.positions = learned(1, length // 2, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, width, 1, length / 2) of bytes (n, 1, 1, length)."""
        values = of_size(x, self.size, "chunk")[:, 0, 0].long()
        joined: Tensor = self.join(placed(self.vectors(values)))
        return joined + placed(self.positions)


class Text(Backbone):
    """A backbone that takes uint8 chunks (n, length); bytes are symbols, so nothing is normalized."""

    symbols = True

    def prepare(self, x: Tensor) -> Tensor:
        """Turn chunks into a row of places with one channel, like all prepared batches of float type."""
        if x.ndim != 2 or x.dtype != torch.uint8:
            raise ValueError(f"input is {x.dtype} of shape {tuple(x.shape)}, expected uint8 (n, length)")
        return x[:, None, None].float()

    def fit_input(self, x: Tensor) -> None:
        """Measure nothing."""


def text(classes: int = 10, width: int = 64, depth: int = 3, heads: int = 4, length: int = 64) -> Text:
    """Return a classifier of chunks of bytes; the mean token after the last block is the feature vector."""
    stages = stacked(Bytes(width, length), width, depth, heads, first=False)
    return Text(stages, width, classes, 1, places_of(depth), size=(1, length))
