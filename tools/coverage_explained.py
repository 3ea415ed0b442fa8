# SPDX-License-Identifier: MIT
"""What no test of the C can reach, and why. `tools/coverage_c.py` fails where an entry is needed no more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explained:
    """Why some spots are never reached."""

    kind: str
    functions: tuple[str, ...]
    text: str
    side: str
    reason: str
    inner: str = ""

    def holds(self, text: str, inner: str, side: str) -> bool:
        """Return whether a spot with this text, inner line and side is meant."""
        return self.text in text and self.inner in inner and self.side == side


_CHECKS = ("accepted", "check_ranges")
_WHOLE = "the range is that of the type: no number is outside, and compilers know"
_VERSION = "the callers have compared the version and returned"
_COUPLED = (
    "the same question is asked earlier in this one expression, so neither answer can change alone; "
    "check_ranges() and check_rules() ask it in a decision of its own, which is reached"
)
_COMPILED = "where it would be taken, the compiler leaves out the rest, and nobody calls it"


def _in_accepted(text: str, side: str = "", inner: str = "") -> Explained:
    """Return a condition of accepted() that is coupled with an earlier one."""
    return Explained("condition", ("accepted",), text, side, _COUPLED, inner)


EXPLAINED = (
    Explained("branch", _CHECKS, "uint16_t, 0, 65535", "true", _WHOLE),
    Explained("branch", _CHECKS, "uint32_t, 0, 4294967295", "true", _WHOLE),
    Explained("branch", _CHECKS, "int16_t, -32768, 32767", "true", _WHOLE),
    Explained("condition", _CHECKS, "uint16_t, 0, 65535", "", _WHOLE),
    Explained("condition", ("accepted",), "int16_t, -32768, 32767", "", _WHOLE),
    Explained("condition", ("accepted",), "uint32_t, 0, 4294967295", "", _WHOLE),
    Explained("branch", _CHECKS, "X(PARAM, p, version", "true", _VERSION),
    Explained("condition", ("accepted",), "X(PARAM, p, version", "", _VERSION),
    _in_accepted("X(lags_given", "3"),
    _in_accepted("X(start_used"),
    _in_accepted("X(bet_fits"),
    _in_accepted("X(baseline_used"),
    _in_accepted("X(novelty_used"),
    _in_accepted("X(slow_used"),
    _in_accepted("X(sight_given"),
    _in_accepted("X(sight_fits"),
    _in_accepted("X(sight_alone"),
    _in_accepted("X(sight_alone", "3"),
    _in_accepted("X(sight_limit", "4"),
    Explained(
        "branch",
        ("tcuq_ring_size",),
        "(size_t)size != size",
        "true",
        "only where size_t has 16 bits: no machine that runs this tool",
    ),
    Explained("line", ("tcuq_internal_beliefs",), "known when compiling", "", _COMPILED),
    Explained("line", ("tcuq_internal_restore",), "known when compiling", "", _COMPILED),
)
