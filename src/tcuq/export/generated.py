"""Text that is safe in generated code and pages; platforms of packages."""

from __future__ import annotations

import re

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
"""What `--form` takes, and what comes out; `tcuq.export.forms` has each one."""

RUNTIMES = {
    "tflm": ("TFLite Micro", '"tensorflow/lite/micro/micro_interpreter.h"'),
    "edge-impulse": ("Edge Impulse", '"edge-impulse-sdk/classifier/ei_run_classifier.h"'),
    "cubeai": ("STM32Cube.AI", '"network.h"'),
    "executorch": ("ExecuTorch", "<executorch/runtime/executor/method.h>"),
    "microtvm": ("microTVM", '"tvmgen_default.h"'),
    "emlearn": ("emlearn", '"eml_net.h"'),
}
"""What `--glue` takes, with its name and header: `export/templates/glue` has a file for each."""

_OTHERS = re.compile(r"[^A-Za-z0-9 .,:;_+=()-]")


def plain_text(text: object) -> str:
    """Return a text for comments and pages: all but letters, digits and a few marks becomes _."""
    # What is left cannot end or begin a comment, a string or a command in C, Rust, Python, CMake, Make,
    # Kconfig, a shell or Markdown. String literals are escaped instead, by `csource.string_of`.
    return _OTHERS.sub("_", str(text))
