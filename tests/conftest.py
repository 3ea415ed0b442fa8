"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Our C asks for no memory. The search for leaks takes seconds a run, and rights that containers withhold.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")

# Programs that tests run on their own: they import what a test builds.
collect_ignore = ["support/memory_cases.py", "support/memory_cases_params.py"]

# Time is asked for where it is promised; a machine that stalls for a moment is no counterexample.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
