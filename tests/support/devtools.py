"""The driver of Chromium for tests: they are skipped where it or the browser is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser import Browser


def chromium(offline: bool = False) -> Browser:
    """Start a browser without a window."""
    browser = pytest.importorskip("browser", reason="playwright is missing: pip install playwright")
    if browser.browser_path() is None:
        pytest.skip("chromium is missing (Debian package chromium)")
    return browser.Browser(offline)
