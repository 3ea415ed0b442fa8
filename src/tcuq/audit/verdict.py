"""What an audit found: one `Check` for each thing that was checked, and all of them as an `Audit`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Parameters
    ----------
    name : str
        What was checked.
    ok : bool
        Whether it holds.
    detail : str
        The finding, in words.
    step : int, optional
        Number of the first step that violates it; None where all hold.
    """

    name: str
    ok: bool
    detail: str
    step: int | None = None


@dataclass(frozen=True)
class Audit:
    """Everything that was found in a decision log.

    Parameters
    ----------
    steps : int
        Steps in the log.
    flags, abstentions : int
        How many of them were flagged, and abstained on.
    checks : tuple of Check
        One for each thing that was checked.
    unchecked : tuple of str, optional
        Columns of the log that only its input could vouch for, which was not given.
    """

    steps: int
    flags: int
    abstentions: int
    checks: tuple[Check, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings for JSON."""
        return {"ok": self.ok, **asdict(self), "checks": [asdict(check) for check in self.checks]}

    def text(self) -> str:
        """Return the findings for people."""
        width = max(len(check.name) for check in self.checks)
        lines = [f"{'ok' if c.ok else 'FAIL':4}  {c.name:{width}}  {c.detail}" for c in self.checks]
        failed = sum(not check.ok for check in self.checks)
        verdict = "all checks hold" if not failed else f"{failed} of {len(self.checks)} checks fail"
        if self.unchecked:
            columns = ", ".join(self.unchecked)
            lines.append(f"not checked without --log: whether the input gives {columns}")
        return "\n".join([*lines, f"{self.steps:,} steps: {verdict}"])
