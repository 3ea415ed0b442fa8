"""What a refusal is checked by: its code and what it is about, not its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tcuq import InputError


@contextmanager
def refused(code: str, name: str | None = None) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Expect an `InputError` of this code, about this name where one is given, whose text is one line."""
    with pytest.raises(InputError) as caught:
        yield caught
    error = caught.value
    assert (error.code, name if name is None else error.name) == (code, name), str(error)
    assert str(error).isprintable()


def refuses(code: str, function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Expect a call to be refused with this code."""
    with refused(code):
        function(*args, **options)
