"""What networks cost a step, counted on the networks themselves."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import nn

from ..zoo.count import multiply_adds, parameters
from ..zoo.outputs import core
from .method import MethodCost


def counted(
    networks: Sequence[nn.Module],
    shape: tuple[int, ...],
    *,
    repeats: int = 1,
    more: int = 0,
    stored: int = 0,
    state: int = 0,
    gradient: bool = False,
) -> MethodCost:
    """Return the cost of running every network on one input."""
    # Counting is done where no device is needed.
    bare = [copy.deepcopy(each).cpu() for each in networks]
    total = repeats * sum(multiply_adds(each, shape) for each in bare) + more
    plain = multiply_adds(core(bare[0]), shape)
    kept = sum(parameters(each) for each in bare) + stored
    return MethodCost(total / plain, kept, total, state, gradient)
