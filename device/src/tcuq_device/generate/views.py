"""Tensors without bytes of their own: views of others, and constants, which lie in flash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..graph.model import Graph
from ..graph.steps import Constant, View
from .place import Place


def roots(graph: Graph) -> dict[str, str]:
    """Return, for every tensor, the one whose bytes it is: itself, or what it is a view of."""
    found = {name: name for name in graph.tensors}
    for step in graph.steps:
        if isinstance(step, View):
            found[step.target] = found[step.source]
    return found


def in_flash(graph: Graph) -> set[str]:
    """Return the tensors that are constant, and views of such."""
    constant = {step.target for step in graph.steps if isinstance(step, Constant)}
    return {name for name, root in roots(graph).items() if root in constant}


def merged(graph: Graph, places: list[Place]) -> list[Place]:
    """Return the places that need bytes of the arena: a tensor lives as long as the last of its views."""
    whose, flash = roots(graph), in_flash(graph)
    last: dict[str, int] = {}
    for place in places:
        root = whose.get(place.name, place.name)
        last[root] = max(last.get(root, 0), place.last)
    return [
        replace(place, last=last[place.name])
        for place in places
        if place.name not in flash and whose.get(place.name, place.name) == place.name
    ]


def by_name(graph: Graph, places: list[Place]) -> dict[str, Place]:
    """Return places by the names of all tensors that lie there, and of scratch."""
    found = {place.name: place for place in places}
    whose = roots(graph)
    return found | {name: found[root] for name, root in whose.items() if root in found}


def shared(graph: Graph, offsets: Mapping[str, int]) -> dict[str, int]:
    """Return offsets with those of views."""
    whose = roots(graph)
    return {**offsets, **{name: offsets[root] for name, root in whose.items() if root in offsets}}
