"""Docstrings of what users of the lab call: complete, and true to the signatures."""

from __future__ import annotations

from importlib import import_module

import pytest
from docstring_rules import faults, public

NO_EXAMPLE = {
    "Chunk": "`steps` shows it",
    "Literal": "the layout of the paper, as long as its dataset",
    "Mismatch": "an exception",
    "Ood": "needs two datasets",
    "Shown": "needs a dataset",
    "Stream": "`build` shows it",
    "Windows": "`windows` shows it",
    "inputs": "needs a dataset",
    "labels_for": "needs a dataset",
    "part_labels": "needs a dataset",
}
"""Public things without an example, and why."""


@pytest.mark.parametrize("name", ["audio", "bench", "corruptions", "data", "streams"])
def test_every_public_docstring_is_complete_and_true(name: str) -> None:
    items = list(public(import_module(f"tcuq_lab.{name}")))
    assert len(items) > 5
    found = [
        f"{item.name}: {fault}"
        for item in items
        for fault in faults(
            item, item.kind in ("class", "function") and item.name.split(".")[-1] not in NO_EXAMPLE
        )
    ]
    assert not found, "\n".join(found)
