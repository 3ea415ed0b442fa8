"""Options of commands as rows: name, what stands for the value, help, and the default where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tcuq.cli.common import comma_list

KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "N": int,
        "M": float,
        "SHARE": float,
        "N,N": comma_list(int),
        "M,M": comma_list(float),
    }
)
"""Type of a value by what stands for it in the help; all else is text."""


def options(parser: Any, *rows: tuple[Any, ...], **more: Any) -> None:
    """Declare a row each; one whose value is named "" is a flag, `more` holds for all rows.

    What is not given is None, flags too, so that `tcuq.cli.common.given` leaves it out.
    """
    for name, value, said, *default in rows:
        about = f"{said} (default: {default[0]})" if default else said
        if not value:
            parser.add_argument(name, action="store_true", default=None, help=about, **more)
        else:
            rest = {"type": KINDS.get(value, str), "default": default[0] if default else None, **more}
            parser.add_argument(name, metavar=value, help=about, **rest)
