"""The kinds of sound corruption."""

from __future__ import annotations

from .suite import Suite

SPEECH_C = Suite("speech_c", "Speech Commands: 15 kinds, 5 severities, before the front end", "sound", {}, ())
