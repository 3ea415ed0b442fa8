# SPDX-License-Identifier: MIT
"""Refusals at a limit: their form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

SAID = re.compile(r"expected at most [0-9,]+ \w+; to allow more, set TCUQ_LIMITS=(\w+)=[0-9]+[KMGT]?\b")


def refusal(read: Callable[[], Any]) -> str:
    with pytest.raises(ValueError) as caught:
        read()
    return str(caught.value)


def says(text: str, name: str, figure: str = "") -> None:
    """Check the form of a refusal: the figure, the limit, how to raise it, in one line."""
    found = SAID.search(text)
    assert found is not None and found[1] == name and text.isprintable() and figure in text, text
