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
    "build_pages": "needs a folder of results",
    "inputs": "needs a dataset",
    "labels_for": "needs a dataset",
    "part_labels": "needs a dataset",
}
"""Public things without an example, and why."""


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("audio", 6),
        ("bench", 6),
        ("comparison", 26),
        ("corruptions", 6),
        ("data", 6),
        ("pages", 1),
        ("plots", 5),
        ("streams", 6),
    ],
)
def test_every_public_docstring_is_complete_and_true(name: str, least: int) -> None:
    items = list(public(import_module(f"tcuq_lab.{name}")))
    assert len(items) >= least
    found = [
        f"{item.name}: {fault}"
        for item in items
        for fault in faults(
            item, item.kind in ("class", "function") and item.name.split(".")[-1] not in NO_EXAMPLE
        )
    ]
    assert not found, "\n".join(found)
