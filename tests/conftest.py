"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# Time is asked for where it is promised; a machine that stalls for a moment is no counterexample.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
