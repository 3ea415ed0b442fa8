"""Which tests of the lab are slow: all that train networks, draw corruptions or run experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = ("audio", "boards", "corruptions", "methods", "reproduce", "zoo")
"""Folders of tests that `make test-slow` runs. No promise of the product is tested there alone."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in SLOW:
            item.add_marker(pytest.mark.slow)
