"""Docstrings of the public interface: complete, true to the signatures, with examples that run."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from docstring_rules import Public, faults, parse, public

import tcuq

PACKAGES = (
    "tcuq",
    "tcuq.audit",
    "tcuq.demo",
    "tcuq.export",
    "tcuq.fitting",
    "tcuq.fleet",
    "tcuq.fleet.spark",
    "tcuq.io",
    "tcuq.io.binary_frames",
    "tcuq.metrics",
    "tcuq.monitor",
    "tcuq.recording",
    "tcuq.recording.start",
    "tcuq.report",
    "tcuq.torch",
)
"""Modules whose `__all__` is public."""

MORE = {
    "tcuq.device.kernels.host": ("Network",),
    "tcuq.device.tflite.importing": ("Imported", "import_model"),
    "tcuq.fitting.projection": ("Projection", "projection"),
    "tcuq.monitor.cost": ("Cost", "cost"),
}
"""What the documentation names in modules that are not public as a whole."""

NO_EXAMPLE = {
    "tcuq.demo.main": "trains a network",
    "tcuq.demo.make_log": "needs a trained network",
    "tcuq.demo.train": "takes seconds",
}
"""Public things without an example, and why."""


def everything() -> Iterator[Public]:
    seen: set[int] = set()
    for name in (*PACKAGES, *MORE):
        for item in public(import_module(name), MORE.get(name)):
            if id(item.thing) not in seen:
                seen.add(id(item.thing))
                yield item


def test_every_public_docstring_is_complete_and_true() -> None:
    items = list(everything())
    assert len(items) > 200
    found = [
        f"{item.name}: {fault}"
        for item in items
        for fault in faults(item, item.kind in ("class", "function") and item.name not in NO_EXAMPLE)
    ]
    assert not found, "\n".join(found)


def test_every_package_that_the_top_offers_is_looked_at() -> None:
    without = {"device", "live"}  # their interface is the command line
    assert {f"tcuq.{name}" for name in tcuq._PARTS if name not in without} <= set(PACKAGES)
    assert not [name for name in without if hasattr(import_module(f"tcuq.{name}"), "__all__")]


def test_the_names_at_the_top_all_have_examples() -> None:
    for item in public(tcuq):
        if item.kind in ("class", "function"):
            assert ">>> " in parse(inspect.getdoc(item.thing) or "").sections["Examples"], item.name


def run(thing: Any, text: str) -> doctest.TestResults:
    module = inspect.getmodule(thing)
    names = {} if module is None else dict(vars(module))
    case = doctest.DocTestParser().get_doctest(text, names, thing.__name__, None, 0)
    return doctest.DocTestRunner(verbose=False).run(case)


def test_examples_in_c_run() -> None:
    # Doctests of C types are not collected with those of the modules.
    assert run(tcuq.Step, inspect.getdoc(tcuq.Step) or "") == (0, 3)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is missing: pip install torch")
def test_examples_with_torch_run() -> None:
    # They are marked as skipped, for environments without PyTorch.
    module = import_module("tcuq.torch")
    for item in public(module):
        if item.kind in ("class", "function"):
            done = run(item.thing, (inspect.getdoc(item.thing) or "").replace("# doctest: +SKIP", ""))
            assert done.failed == 0 and done.attempted >= 4, item.name


def documented(x: int, y: float = 0.5) -> int:
    """Return something.

    Parameters
    ----------
    x : int
        First.
    y : float, default 0.5
        Second.

    Returns
    -------
    int
        The sum.

    Examples
    --------
    >>> documented(1)
    1
    """
    return x


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", None),
        ("Return something.", "Return something", "full stop"),
        ("    First.\n", "", "x has no meaning"),
        ("x : int", "x", "x has no type"),
        ("x : int", "z : int", "documented parameters ['z', 'y']"),
        ("default 0.5", "default 0.6", "y has the default 0.5, documented is 0.6"),
        (", default 0.5", "", "y has the default 0.5, which is not documented"),
        ("Returns\n-------\nint\n    The sum.\n\n", "", "no Returns"),
        (">>> documented(1)\n1", "None.", "no example"),
        ("Examples\n--------", "Example\n-------", "unknown sections ['Example']"),
        ("Returns\n-------", "Examples\n--------", "no Returns"),
    ],
)
def test_the_rules_find_what_is_wrong(
    old: str, new: str, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = inspect.getdoc(documented) or ""
    assert old in text
    monkeypatch.setattr(documented, "__doc__", text.replace(old, new))
    found = list(faults(Public("documented", documented, "function"), example=True))
    assert not found if said is None else any(said in each for each in found), found


def test_the_rules_find_a_missing_docstring() -> None:
    def bare() -> None: ...

    assert list(faults(Public("bare", bare, "function"), example=False)) == ["no docstring"]
