"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

OPTIONS = (
    "about",
    "alarm",
    "anchor",
    "blend",
    "budget",
    "burst",
    "calibrate",
    "class_mix",
    "clean",
    "doubt_mix",
    "evidence",
    "evidence_clip",
    "feature_scale",
    "feature_zero_point",
    "l2",
    "lag_weights",
    "lags",
    "level",
    "logits",
    "logits_scale",
    "max_bytes",
    "max_instructions",
    "nonnegative",
    "profile",
    "risk_signals",
    "run_length",
    "seed",
    "signals",
    "trials",
    "warmup",
    "window",
)
"""Arguments of `fit` and `tune` whose option is spelled the same, with dashes."""

_QUOTED = re.compile(r"`(\w+)(?:=([^`]*))?`")
_BARE = re.compile(rf"(?<![\w`-])({'|'.join(name for name in OPTIONS if '_' in name)})(?![\w`])")


RECORDING = (
    "features",
    "posteriors",
    "logits",
    "names",
    "scale",
    "input_shape",
    "fast",
    "in_order",
    "batch",
    "stream",
    "shifts",
    "steps",
    "seed",
)
"""The same of `record`."""


def in_options(text: str, options: Sequence[str] = OPTIONS) -> str:
    """Return a message of the library in the words of the command line.

    Parameters
    ----------
    text : str
    options : sequence of str
        Arguments that are options.

    Examples
    --------
    >>> in_options('`level="budget"` ties them; pass `logits=True`; feature_zero_point is missing')
    '--level budget ties them; pass --logits; --feature-zero-point is missing'
    >>> in_options("`use_features=False`, or mark steps with `shifted`")
    '--posterior-only, or mark steps with `shifted`'
    """

    def quoted(match: re.Match[str]) -> str:
        name, value = match.group(1), match.group(2)
        if name == "use_features":
            return "--posterior-only"
        if name not in options:
            return match.group(0)
        option = f"--{name.replace('_', '-')}"
        return option if value in (None, "True") else f"{option} {value.strip(chr(34))}"

    return _BARE.sub(lambda match: f"--{match.group(1).replace('_', '-')}", _QUOTED.sub(quoted, text))


@contextmanager
def spoken(options: Sequence[str] = OPTIONS) -> Iterator[None]:
    """Put errors of the library into the words of the command line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(in_options(str(error), options)) from None
