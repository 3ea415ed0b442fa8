# SPDX-License-Identifier: MIT
"""Text of others, such as names of files and classes, made safe to stand in a generated file."""

from __future__ import annotations

import re

_OTHERS = re.compile(r"[^A-Za-z0-9 .,:;_+=()-]")


def plain_text(text: object) -> str:
    """Return a text of letters, digits, spaces and a few punctuation marks; all else becomes _.

    What is left cannot end or begin a comment, a string or a command in C, Rust, Python, CMake, Make,
    Kconfig, a shell or Markdown. All text in generated comments and pages that a user or a file gave goes
    through here. String literals are escaped instead, by `tcuq.export.tables.string_of`.
    """
    return _OTHERS.sub("_", str(text))
