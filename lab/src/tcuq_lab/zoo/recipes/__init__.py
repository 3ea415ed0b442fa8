"""Recipes by name, one module each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tcuq.base.checks import known

from ..recipe import Recipe

RECIPES = {
    "plain": ("..recipe", "Recipe"),
    "assisted": (".assisted", "Assisted"),
    "early_exit": (".early_exit", "EarlyExit"),
    "dropout": (".dropout", "Dropout"),
    "hydra": (".hydra", "Hydra"),
    "godin": (".godin", "Godin"),
    "postnet": (".postnet", "PostNet"),
}


def recipe(name: str, settings: Mapping[str, Any], smoothing: float = 0.0) -> Recipe:
    """Return a recipe by its name."""
    home, kind = RECIPES[known("recipe", name, RECIPES)]
    found: Recipe = getattr(import_module(home, __package__), kind)(settings, smoothing)
    return found
