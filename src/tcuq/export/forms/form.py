"""What tells one platform's package from another's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...base.errors import InputError
from ..contents import Contents


def plain_place(contents: Contents, file: str) -> str:
    """Return where a file of the monitor goes when all of them lie in one folder."""
    return file


def nothing_more(contents: Contents) -> dict[str, Any]:
    """Return no fields."""
    return {}


def split_place(contents: Contents, file: str) -> str:
    """Return where it goes when headers that programs include have a folder of their own."""
    if file == "tcuq_LICENSE.txt":
        return "LICENSE"
    return f"include/{file}" if file in contents.headers else f"src/{file}"


@dataclass(frozen=True)
class Form:
    """The package of one platform: where the monitor's files go, what is added, what its page says.

    Texts have the fields of `Contents.fields` in braces.
    """

    name: str
    files: Callable[[Contents], dict[str, str]]  # what is added, text by path
    hints: Callable[[Contents, str], list[str]]  # lines that follow an export into a folder
    use: str  # of the README: from the folder to the first step
    together: str  # of the README: several monitors in one program
    rows: Mapping[str, str] = field(default_factory=dict)  # what each added file is
    more: Callable[[Contents], dict[str, Any]] = nothing_more  # fields of these texts
    place: Callable[[Contents, str], str] = plain_place
    title: str = "tcuq_{name}"
    selfcheck: str = "{name}_selfcheck()"
    frames: str = "The header has an example at its top."
    platform: str = ""  # who uses the words below
    header: str = "tcuq.h"
    manifest: str = "main.c"  # a file that forms with the same header have not
    taken: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def check_name(self, name: str) -> str:
        """Return a name that this platform has not taken; refuse others."""
        if name in self.taken:
            raise InputError(
                "value", f"name is {name!r}, a word that {self.platform} already; choose another one"
            )
        for what, texts, found in (
            ("begin", self.starts, name.startswith(self.starts)),
            ("end", self.ends, name.endswith(self.ends)),
        ):
            if found:
                listed = ", ".join(texts)
                raise InputError(
                    "value",
                    f"name is {name!r}, but {self.platform} names that {what} with {listed};"
                    " choose another one",
                )
        return name
