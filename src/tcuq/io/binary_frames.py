"""Frames: the bytes by which a device tells a host of its steps (SPEC.md section 18), read and written."""

from __future__ import annotations

from ..base.errors import wrong_value
from .frame_codes import unstuffed
from .frame_items import (
    KINDS,
    MOST_LINE,
    DecisionsFrame,
    Item,
    Part,
    Parts,
    PosteriorsFrame,
    StateFrame,
    Text,
    opened,
)

__all__ = [
    "DecisionsFrame",
    "Decoder",
    "Item",
    "PosteriorsFrame",
    "StateFrame",
    "Text",
    "is_text",
]

_PLAIN = bytes([9, 13, 27, *range(32, 127)])
"""ASCII that a line of text may hold: tab, return, escape (colors), and what is printed."""


class Decoder:
    r"""Find frames and lines of text among any bytes.

    Items do not depend on how the bytes are cut into chunks. A line of text comes out with its newline and
    a frame with its last byte: nothing waits for what follows. Blank lines are left out. A line longer than
    `max_bytes` is dropped; a frame has at most 4,115 bytes. `broken` counts frames and lines that could not
    be read, `skipped` bytes that were part of no item.

    >>> decoder = Decoder()
    >>> frame = bytes.fromhex("0003f90701010201010101010101010102020107649bc18a13bc00")
    >>> decoder.push(b"hello\n" + frame[:9])
    [Text(line=b'hello')]
    >>> [found] = decoder.push(frame[9:])
    >>> found.fingerprint, found.boot, found.probs.tolist()
    (7, 1, [[100, -101]])
    >>> decoder.push(b"half a\xb0\n"), decoder.broken, decoder.skipped
    ([], 1, 7)
    """

    def __init__(self, max_bytes: int = 65536) -> None:
        if max_bytes < 1:
            raise wrong_value("max_bytes", max_bytes, "at least 1")
        self.max_bytes = max_bytes
        self.broken = 0
        self.skipped = 0
        self._held = bytearray()
        self._after_zero = False
        self._dropping = False
        self._state = Parts()

    @property
    def held(self) -> int:
        """Bytes that are part of no complete item yet: who begins again that much earlier loses nothing."""
        return len(self._held) + self._after_zero

    def push(self, chunk: bytes) -> list[Item]:
        """Take bytes as they arrived; return what is complete.

        No content raises an exception.
        """
        self._held += chunk
        items: list[Item] = []
        while self._held and (self._frame(items) if self._after_zero else self._text(items)):
            pass
        return items

    def finish(self, cut: bool = False) -> list[Item]:
        r"""Take the end of the input; what comes afterwards begins anew.

        After a `cut` a last line without a newline may be half a one and is dropped; else it is taken.

        >>> decoder = Decoder()
        >>> decoder.push(b"0.5,0.5\n0.9,0.1"), decoder.finish()
        ([Text(line=b'0.5,0.5')], [Text(line=b'0.9,0.1')])
        """
        items: list[Item] = []
        # What may be the beginning of a frame is none; two bytes decide that.
        frame = self._after_zero and len(self._held) > 1
        if cut or frame:
            self._drop(bytes(self._held))
        elif self._held:
            self._line(bytes(self._held), items)
        lost = self._state.unfinished
        self._held.clear()
        self._after_zero = self._dropping = False
        self._state = Parts()
        self.broken += lost
        return items

    def _text(self, items: list[Item]) -> bool:
        """Take text up to a zero, or what there is of it; say whether there may be more to take."""
        held = self._held
        zero = held.find(0)
        *lines, rest = bytes(held if zero < 0 else held[:zero]).split(b"\n")
        for line in lines:
            self._line(line, items)
        if zero >= 0:
            self._drop(rest)
            self._dropping = False
            self._after_zero = True
            del held[: zero + 1]
            return True
        if self._dropping or len(rest) > self.max_bytes:
            self._drop(rest)
            self._dropping = True
            rest = b""
        del held[: len(held) - len(rest)]
        return False

    def _line(self, line: bytes, items: list[Item]) -> None:
        if self._dropping or len(line) > self.max_bytes:
            self._drop(line)
            self._dropping = False
        elif not is_text(line):
            self._drop(line)
        elif line.strip():
            items.append(Text(line.rstrip(b"\r")))

    def _drop(self, some: bytes) -> None:
        """Count bytes of no item; those of a line that is too long count once."""
        self.skipped += len(some)
        self.broken += bool(some) and not self._dropping

    def _frame(self, items: list[Item]) -> bool:
        """Take a frame, or see that there is none; say whether there may be more to take."""
        held = self._held
        if held[0] == 0:
            del held[:1]
            return True
        if len(held) < 2:
            return False
        if held[1] in KINDS:
            zero = held.find(0, 0, MOST_LINE)
            if zero < 0 and len(held) < MOST_LINE:
                return False
            if zero >= 0:
                self._take(bytes(held[:zero]), items)
                del held[: zero + 1]
                return True
        self._after_zero = False
        return True

    def _take(self, block: bytes, items: list[Item]) -> None:
        content = unstuffed(block)
        found = None if content is None else opened(content)
        if isinstance(found, Part):
            state, lost = self._state.take(found)
            self.broken += lost
            items += [state] if state is not None else []
        elif found is not None:
            items.append(found)
        else:
            # A device that starts again within a frame, and prints: what ends the block is text.
            first, *lines = block.split(b"\n")
            rest = lines.pop() if lines else b""
            kept: list[Item] = []
            while is_text(rest) and lines and is_text(lines[-1]):
                line = lines.pop().rstrip(b"\r")
                kept += [Text(line)] if line.strip() else []
            self.broken += 1
            self.skipped += len(first) + len(rest) + sum(map(len, lines))
            items += reversed(kept)


def is_text(line: bytes) -> bool:
    r"""Return whether bytes are a line of UTF-8 without control characters; an empty one is.

    >>> is_text("3.5 °C".encode()), is_text(b"\x01"), is_text(b"\xb0")
    (True, False, False)
    """
    rest = line.translate(None, _PLAIN)
    if not rest:
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return min(rest) >= 128
