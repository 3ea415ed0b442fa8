"""The driver of Chromium for tests: they are skipped where the browser is missing."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest
from chromium import Tab

__all__ = ["Browser", "Tab"]


class Browser(chromium.Browser):
    """A browser without a window and with a folder of its own."""

    def __init__(self, folder: Path, offline: bool = False) -> None:
        if chromium.browser_path() is None:
            pytest.skip("chromium is missing (Debian package chromium)")
        super().__init__(folder, offline)
