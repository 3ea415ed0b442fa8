"""Where windows lie: sizes of outputs and what SAME adds at the borders."""

from __future__ import annotations


def spread(length: int, window: int, stride: int, dilation: int, padding: str) -> tuple[int, int, int]:
    """Return the length of the output and what "SAME" or "VALID" adds before and behind the input.

    Examples
    --------
    >>> spread(9, 3, 2, 1, "SAME"), spread(8, 3, 2, 1, "SAME"), spread(8, 3, 2, 1, "VALID")
    ((5, 1, 1), (4, 0, 1), (3, 0, 0))
    """
    reach = (window - 1) * dilation + 1
    if padding == "VALID":
        return max((length - reach) // stride + 1, 0), 0, 0
    count = -(-length // stride)
    added = max((count - 1) * stride + reach - length, 0)
    return count, added // 2, added - added // 2
