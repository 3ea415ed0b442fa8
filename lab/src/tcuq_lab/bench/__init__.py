"""A benchmark of label-free monitors on streams: stream files, an interface, scores and a leaderboard."""

from __future__ import annotations

from .interface import ASKED, MAX_ERROR, Dev, Recorded, Said, Stream

__all__ = ["ASKED", "MAX_ERROR", "Dev", "Recorded", "Said", "Stream"]
