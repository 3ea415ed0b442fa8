# SPDX-License-Identifier: MIT
"""Work in a forked child."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def forked(work: Callable[[], str]) -> str:
    """Return what a forked child says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = work()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode()
    os.waitpid(child, 0)
    return text
