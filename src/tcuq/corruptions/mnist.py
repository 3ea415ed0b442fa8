"""The kinds of MNIST-C, each at its one severity."""

from __future__ import annotations

from .suite import Kind, Suite

MNIST_C = Suite(
    name="mnist_c",
    about="MNIST-C: 15 kinds and identity, one severity",
    media="pictures",
    kinds={"identity": Kind("strokes", "identity", (None,))},
    seen=(),
)
