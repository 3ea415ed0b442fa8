"""A benchmark of label-free monitors on streams: stream files, an interface, scores and a leaderboard."""

from __future__ import annotations

from .interface import ASKED, Dev, Recorded, Said, Stream

__all__ = ["ASKED", "Dev", "Recorded", "Said", "Stream"]
