"""Bytes and bits of a frame, as SPEC.md section 18 defines them: COBS, and decisions as differences."""

from __future__ import annotations

from collections.abc import Sequence

from ..monitor.steps import NO_REASON

NUMBERS = (
    "uncertainty",
    "risk",
    "threshold",
    "severity",
    "persistence",
    "variety",
    "expected_accuracy",
)
"""Numbers of a decision in the order of a frame."""

FIELDS = (*NUMBERS, "flagged", "abstain", "warming_up", "low_mass", "alarm", "reason", "prediction", "answer")
"""What a decision holds, in the order of the tuples below."""

WIDTHS = (16, 16, 32, 32, 16, 16, 16)
"""Bits of each number in the first decision of a frame."""

FIRST_ORDER = (12, 12, 1, 11, 8, 1, 1)
NONE = 31
"""What stands for `NO_REASON` in a frame."""
WORD = 2**32


def stuffed(content: bytes) -> bytes:
    r"""Return content without zero bytes, by COBS, in the shortest form.

    Examples
    --------
    >>> stuffed(b"ab\0c").hex(" ")
    '03 61 62 02 63'
    """
    *before, last = content.split(b"\0")
    found = bytearray()
    for part in before:
        while len(part) >= 254:
            found += b"\xff" + part[:254]
            part = part[254:]
        found.append(len(part) + 1)
        found += part
    while len(last) > 254:
        found += b"\xff" + last[:254]
        last = last[254:]
    found.append(len(last) + 1)
    return bytes(found + last)


def unstuffed(block: bytes) -> bytes | None:
    r"""Return what COBS made of it, None for what is no COBS; `block` has no zero byte.

    Examples
    --------
    >>> unstuffed(bytes.fromhex("03 61 62 02 63"))
    b'ab\x00c'
    >>> unstuffed(b"\x05ab") is None
    True
    """
    found, at, end, full = [], 0, len(block), False
    while at < end:
        code = block[at]
        # Nothing follows a full block where content ends with it.
        if at + code > end or (full and code == 1 and at + 1 == end):
            return None
        found.append(block[at + 1 : at + code])
        at += code
        full = code == 255
        if code < 255 and at < end:
            found.append(b"\0")
    return b"".join(found)


def content_of(size: int) -> int:
    """Return the most bytes of content, checksum included, of a frame of `size` bytes on the line.

    Examples
    --------
    >>> content_of(384), content_of(4115)
    (380, 4096)
    """
    return size - 2 - (size - 2 + 254) // 255


def line_bytes(content: int) -> int:
    """Return the most bytes on the line of a frame with so many bytes of content.

    Examples
    --------
    >>> line_bytes(380), line_bytes(4096)
    (384, 4115)
    """
    return content + (content + 253) // 254 + 2


class DecisionBits:
    """Decisions as bits, differences to the one before.

    Parameters
    ----------
    classes : int
    shift : int
        The expected accuracy forgets at a rate of 2^-shift; 0: there is none.

    Examples
    --------
    >>> bits = DecisionBits(10, 8)
    >>> step = (700, 600, 30000, -5, 0, 0, 60000, 0, 0, 0, 0, 0, 255, 3, 3)
    >>> for _ in range(2):
    ...     bits.add(step)
    >>> len(bits.text), len(bits.content())
    (226, 29)
    """

    def __init__(self, classes: int, shift: int) -> None:
        self._width = (classes - 1).bit_length()
        self._shift = shift
        self._order = list(FIRST_ORDER)
        self._moves = [0, 0]
        self._before: Sequence[int] | None = None
        self.text = ""

    def add(self, step: Sequence[int]) -> None:
        """Take one decision, integers in the order of `FIELDS`."""
        flagged, abstain, warming_up, low_mass, alarm, reason, prediction, answer = step[7:]
        text = f"{flagged:b}{abstain:b}{warming_up:b}{low_mass:b}{alarm:02b}"
        if flagged:
            text += f"{NONE if reason == NO_REASON else reason:05b}"
        for number, expected in ((prediction, self._before[13] if self._before else 0), (answer, prediction)):
            text += f"1{number:0{self._width}b}" if number != expected else "0"
        if self._before is None:
            text += "".join(f"{value % WORD:0{width}b}" for value, width in zip(step, WIDTHS, strict=False))
        else:
            expected_numbers = predicted(step[0], self._before, self._moves, self._shift)
            text += self._number(0, step[0])
            for which in range(1, len(NUMBERS)):
                difference = (step[which] - expected_numbers[which]) % WORD
                text += self._number(which, (difference << 1) % WORD ^ (WORD - 1 if difference >> 31 else 0))
            self._moves[self._before[7]] = step[2] - self._before[2]
        self._before = step
        self.text += text

    def _number(self, which: int, value: int) -> str:
        order = self._order[which]
        width = (value >> order).bit_length()
        kept = width - 1 + order if width else order
        low = f"{value & ((1 << kept) - 1):0{kept}b}" if kept else ""
        self._order[which] = next_order(order, width, value)
        return "0" * width + "1" + low

    def content(self) -> bytes:
        """Return the bits so far, filled up to whole bytes by zeros."""
        size = -(-len(self.text) // 8)
        return int(self.text.ljust(8 * size, "0"), 2).to_bytes(size, "big") if size else b""


def next_order(order: int, width: int, value: int) -> int:
    """Return the order of a number's next code."""
    if width >= 2:
        return order + 1
    return order - 1 if order and not value >> (order - 1) else order


def predicted(
    uncertainty: int, before: Sequence[int], moves: Sequence[int], shift: int
) -> tuple[int, int, int, int, int, int, int]:
    """Return what the numbers of a decision are expected to be, from those before."""
    accuracy = before[6]
    if shift:
        accuracy += (65536 - uncertainty - accuracy) >> shift
    return 0, uncertainty, before[2] + moves[before[7]], before[3], before[4], before[5], accuracy
