"""Platforms that a monitor is packaged for, in a place that costs no import: the help names them."""

from __future__ import annotations

PLATFORMS = {
    "c": "C files in one folder",
    "arduino": "an Arduino library",
    "platformio": "a PlatformIO library",
    "zephyr": "a Zephyr module",
    "espidf": "an ESP-IDF component",
    "cmake": "a CMake package",
    "micropython": "a user C module of MicroPython",
    "rust": "a Rust crate",
}
"""What `--form` takes, and what comes out; `tcuq.export.forms` has a module for each."""
