"""What a method is given, checked before it is used: networks of its recipe, clean examples."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

if TYPE_CHECKING:
    from torch import nn

MODULES = {
    "plain": ("..zoo.backbone", "Backbone"),
    "assisted": ("..zoo.backbone", "Backbone"),
    "early_exit": ("..zoo.exits", "Exits"),
    "dropout": ("..zoo.recipes.dropout", "Dropped"),
    "hydra": ("..zoo.recipes.hydra", "Heads"),
    "godin": ("..zoo.recipes.godin", "Decomposed"),
    "postnet": ("..zoo.recipes.postnet", "Posterior"),
}
"""Where the module lies that a recipe keeps. Assistance keeps the bare backbone."""


def networks_of(name: str, networks: Sequence[nn.Module], recipe: str, members: int) -> tuple[nn.Module, ...]:
    """Return the networks of a method, none or as many as it needs."""
    if not isinstance(networks, Sequence):
        raise TypeError(
            f"{name} is given a {type(networks).__name__}, expected "
            f"a sequence of {members} of recipe {recipe}"
        )
    if not networks:
        return ()
    if len(networks) != members:
        raise ValueError(f"{name} is given {len(networks)} networks, expected {members} of recipe {recipe}")
    home, kind = MODULES[known("recipe", recipe, MODULES)]
    accepted = getattr(import_module(home, __package__), kind)
    for each in networks:
        if not isinstance(each, accepted):
            raise ValueError(f"{name} is given a {type(each).__name__}, expected a {kind} of recipe {recipe}")
    return tuple(networks)


def check_clean(name: str, x: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> None:
    """Refuse examples that cannot be clean ones: of no class, or without a label each.

    Examples
    --------
    >>> check_clean("odin", np.zeros((2, 3, 3)), np.array([0, -1]))
    Traceback (most recent call last):
    ...
    ValueError: odin is given an example of class -1, expected 0 or more, clean examples alone
    """
    if not len(x):
        raise ValueError(f"{name} is given no examples, expected one clean development example or more")
    if len(x) != len(y):
        raise ValueError(f"{name} is given {len(y)} labels, expected {len(x)}, one an example")
    if y.min() < 0:
        raise ValueError(
            f"{name} is given an example of class {y.min()}, expected 0 or more, clean examples alone"
        )
