"""What holds for all tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import compile_cache
import pytest
from checkout_files import entries
from hypothesis import settings
from places import ROOT

# Our C asks for no memory. The search for leaks takes seconds a run, and rights that containers withhold.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")

# Programs that tests run on their own: they import what a test builds.
collect_ignore = ["support/memory_cases.py", "support/memory_cases_params.py"]

# Time is asked for where it is promised; a machine that stalls for a moment is no counterexample.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

compile_cache.install()


def pytest_configure(config: pytest.Config) -> None:
    """Begin a folder of compiled C, which workers share."""
    if not hasattr(config, "workerinput"):
        os.environ[compile_cache.VARIABLE] = tempfile.mkdtemp(prefix="tcuq-objects-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(compile_cache.VARIABLE, ""), ignore_errors=True)


@pytest.fixture(scope="module")
def untouched() -> Iterator[None]:
    """Fail where the tests of a module leave a file in the checkout."""
    before = entries(ROOT)
    yield
    left = sorted(entries(ROOT) - before)
    assert not left, f"files were left in the checkout: {', '.join(left)}"
