"""Bytes of a frame on the line, as SPEC.md section 18 defines them: COBS."""

from __future__ import annotations


def unstuffed(block: bytes) -> bytes | None:
    r"""Return what COBS made of it, None for what is no COBS; `block` has no zero byte.

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


def line_bytes(content: int) -> int:
    """Return the most bytes on the line of a frame with so many bytes of content."""
    return content + (content + 253) // 254 + 2
