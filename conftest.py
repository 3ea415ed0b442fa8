"""What holds for all tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import compile_cache
import pytest
from checkout_files import entries
from hypothesis import settings
from places import ROOT

# Our C asks for no memory. The search for leaks takes seconds a run, and rights that containers withhold.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")

# Programs that tests run on their own: they import what a test builds.
collect_ignore = [
    "tests/support/memory_cases.py",
    "tests/support/memory_cases_params.py",
    "watch/tests/support/memory_cases_native.py",
]

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases as slow that come after the first few of a test marked `cases`."""
    seen: Counter[str] = Counter()
    for item in items:
        few = item.get_closest_marker("cases")
        if few is not None and item.get_closest_marker("slow") is None:
            test = item.nodeid.partition("[")[0]
            seen[test] += 1
            if seen[test] > few.args[0]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def datasets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only tests marked `data` read the datasets of this machine; skip them where there are none."""
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv("TCUQ_DATA", raising=False)
    elif not os.environ.get("TCUQ_DATA"):
        pytest.skip("TCUQ_DATA names no folder of datasets (tcuq-lab data list)")


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of datasets, which TCUQ_DATA names."""
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def untouched() -> Iterator[None]:
    """Fail where the tests of a module leave a file in the checkout."""
    before = entries(ROOT)
    yield
    left = sorted(entries(ROOT) - before)
    assert not left, f"files were left in the checkout: {', '.join(left)}"
