"""Platforms that a monitor is packaged for, in a place that costs no import: the help names them."""

from __future__ import annotations

PLATFORMS = {
    "c": "C files in one folder",
    "arduino": "an Arduino library",
}
"""What `--form` takes, and what comes out; `tcuq.export.forms` has a module for each."""
