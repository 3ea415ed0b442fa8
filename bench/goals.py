"""Figures held against their goals: what a bench prints and returns, and what `docs/claims.toml` may say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def met(value: float, goal: float) -> bool:
    """Tell whether a value keeps to its goal; a negative goal is a least value of its negative."""
    return value <= goal


def verdict(value: float, goal: float | None) -> str:
    """Say whether a value keeps to its goal, if it has one."""
    return "" if goal is None else f"   goal {abs(goal):g}: {'met' if met(value, goal) else 'MISSED'}"


def all_met(figures: Mapping[str, float], goals: Mapping[str, float]) -> bool:
    """Tell whether each figure with a goal keeps to it."""
    return all(met(figures[name], goal) for name, goal in goals.items())


def status(stored: Mapping[str, Any]) -> str:
    """Return the word that a page has for stored figures."""
    return "met" if all_met(stored["figures"], stored["goals"]) else "**not met**"


def compare_and_write(
    path: Path, goals: Mapping[str, float], figures: Mapping[str, Any], write: bool
) -> None:
    """Print figures beside those stored; store them if told to."""
    before = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}
    for name in goals:
        if name in before:
            print(f"{name}: stored {before[name]:.1f}, now {figures[name]:.1f}")
    if write:
        content = {"goals": goals, "figures": figures}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
