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


FEW = {
    "cli/test_cli.py::test_closed_streams_are_no_surprise": 3,
    "core/test_core_build.py::test_a_head_left_out": 1,
    "core/test_core_build.py::test_counting_zeros_changes_no_bit": 1,
    "core/test_core_build.py::test_learned_persistence_has_the_same_bits": 2,
    "core/test_core_build.py::test_leaving_signals_out_changes_no_result": 1,
    "core/test_vectors_c.py::test_core_equals_vectors": 4,
    "device/tests/test_device_bench.py::test_backbone_and_monitor_say_what_python_says": 1,
    "device/tests/test_device_bench.py::test_members_are_averaged": 1,
    "device/tests/test_device_emit.py::test_files_have_no_warnings": 1,
    "device/tests/test_device_generate.py::test_a_compiler_that_breaks_a_kernel_is_refused": 1,
    "device/tests/test_device_generate.py::test_generated_code_has_no_warnings": 1,
    "device/tests/test_device_generate.py::test_whole_networks_give_the_bits_of_the_arithmetic": 1,
    "device/tests/test_device_kernels.py::test_same_bits_as_cpp": 0,
    "device/tests/test_device_kernels.py::test_the_extension_is_used_where_it_is": 1,
    "device/tests/test_device_monitor.py::test_learned_persistence_on_three_cores": 1,
    "export/test_export.py::test_the_host_program_gives_the_same_as_python": 4,
    "export/test_export_parts.py::test_no_warnings_from_any_file": 1,
    "export/test_export_rust.py::test_the_c_is_built_for_a_cortex_m": 1,
    "watch/tests/fleet/test_fleet_page.py::test_in_a_browser": 0,
    "watch/tests/live/test_live_page.py::test_pause_holds_the_picture_and_nothing_is_lost_behind_it": 0,
    "watch/tests/live/test_live_page.py::test_who_was_away_too_long_sees_the_gap": 0,
    "report/test_report.py::test_page_in_a_browser": 1,
}
"""Tests of compilers, boards, builds and browsers: so many cases run every time, the others are slow."""

LAB = tuple(
    f"lab/tests/{name}/" for name in ("audio", "boards", "corruptions", "methods", "reproduce", "zoo")
)
"""Tests of the lab that train networks, draw corruptions or run experiments: all of them are slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the other cases as slow."""
    seen: dict[str, int] = {}
    for item in items:
        if item.nodeid.startswith(LAB):
            item.add_marker(pytest.mark.slow)
        name = item.nodeid.removeprefix("tests/").partition("[")[0]
        if name in FEW and item.get_closest_marker("slow") is None:
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > FEW[name]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def datasets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only tests marked `data` read the datasets of this machine; skip them where there are none."""
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv("TCUQ_DATA", raising=False)
    elif not os.environ.get("TCUQ_DATA"):
        pytest.skip("TCUQ_DATA names no folder of datasets (tcuq-lab data list)")


@pytest.fixture(scope="module")
def untouched() -> Iterator[None]:
    """Fail where the tests of a module leave a file in the checkout."""
    before = entries(ROOT)
    yield
    left = sorted(entries(ROOT) - before)
    assert not left, f"files were left in the checkout: {', '.join(left)}"
