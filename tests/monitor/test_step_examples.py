"""Examples in docstrings that the collection of doctests does not reach: those of C types."""

from __future__ import annotations

import doctest
import inspect

import tcuq


def test_examples_of_a_c_type_run() -> None:
    names = {"tcuq": tcuq, **vars(tcuq)}
    case = doctest.DocTestParser().get_doctest(inspect.getdoc(tcuq.Step) or "", names, "Step", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(case) == (0, 3)
