# SPDX-License-Identifier: MIT
"""Damage of files that keeps part of their structure, so that it gets past the first check of a reader."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence

from reader_values import NUMBERS, TEXTS, WORDS, changed_value

MOST = 1 << 18
"""Bytes of a mutated file, about: what is larger tests the disk."""

PACKED = (zipfile.ZIP_STORED, *[zipfile.ZIP_DEFLATED] * 20, zipfile.ZIP_BZIP2)
"""Ways to pack a member."""

Mutator = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def flipped(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Flip single bits."""
    damaged = bytearray(content or b"\0")
    for _ in range(draw.choice((1, 1, 2, 8))):
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def overwritten(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Put telling numbers where lengths, offsets and counts may be."""
    damaged = bytearray(content or b"\0")
    for _ in range(draw.choice((1, 1, 2, 4))):
        value = draw.choice((0, 1, 127, 128, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
        word = struct.pack("<Q", value)[: draw.choice((1, 2, 4, 8))]
        at = draw.randrange(len(damaged))
        damaged[at : at + len(word)] = word
    return bytes(damaged)


def nudged(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Move one 32-bit word a little: an offset then points at a neighbor."""
    if len(content) < 8:
        return content + b"\0"
    damaged = bytearray(content)
    at = draw.randrange(len(content) // 4) * 4
    if at + 4 <= len(content):
        (value,) = struct.unpack_from("<I", damaged, at)
        struct.pack_into("<I", damaged, at, (value + draw.choice((-8, -4, -2, -1, 1, 2, 4, 8))) % 2**32)
    return bytes(damaged)


def cut(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Lose the end, the beginning or a piece."""
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return draw.choice((content[:last], content[first:], content[:first] + content[last:]))


def doubled(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Repeat a piece."""
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    times = draw.choice((2, 2, 3, 50))
    return (content[:first] + content[first:last] * times + content[last:])[:MOST]


def spliced(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Go on with another file."""
    other = draw.choice(others) if others else content
    at, there = draw.randrange(len(content) + 1), draw.randrange(len(other) + 1)
    return (content[:at] + other[there:])[:MOST]


def inserted(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Put something odd between two bytes."""
    at = draw.randrange(len(content) + 1)
    odd = draw.choice(
        (b"\0", b"\n", b"\r", b'"', b",", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1b[2J")
    )
    return content[:at] + odd * draw.choice((1, 1, 3, 4000)) + content[at:]


BYTES: tuple[Mutator, ...] = (flipped, overwritten, nudged, cut, doubled, spliced, inserted)


def any_bytes(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Damage bytes in one of all ways."""
    return draw.choice(BYTES)(content, draw, others)


def json_document(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Change values of a JSON document; duplicate keys, odd numbers and deep nesting included."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return any_bytes(content, draw, others)
    if draw.random() < 0.15:
        return any_bytes(content, draw, others)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        found = changed_value(found, draw)
    try:
        text = json.dumps(found)
    except (ValueError, RecursionError):
        return any_bytes(content, draw, others)
    if draw.random() < 0.08:  # a key that comes twice
        text = text.replace("{", '{"' + draw.choice(("version", "step", "probs", "x")) + '": 1, ', 1)
    if draw.random() < 0.05:
        text = text.replace("1", draw.choice(NUMBERS), 1)
    return text.encode("utf-8", "surrogatepass")


def json_lines(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Change values in some lines; swap, repeat and leave out lines."""
    lines = content.split(b"\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(lines))
        kind = draw.random()
        if kind < 0.7:
            lines[at] = json_document(lines[at], draw, others)
        elif kind < 0.8:
            lines.insert(draw.randrange(len(lines) + 1), lines[at])
        elif kind < 0.9 and others:
            lines.insert(at, draw.choice(draw.choice(others).split(b"\n")))
        elif len(lines) > 1:
            del lines[at]
    return b"\n".join(lines)[:MOST]


def csv_rows(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Change cells, widths and quotes."""
    if draw.random() < 0.2:
        return any_bytes(content, draw, others)
    lines = content.split(b"\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(lines)) if draw.random() < 0.7 else 0
        cells = lines[at].split(b",")
        place = draw.randrange(len(cells))
        odd = draw.choice((*NUMBERS, *TEXTS, *WORDS)).encode("utf-8", "surrogatepass")
        kind = draw.random()
        if kind < 0.5:
            cells[place] = odd
        elif kind < 0.6:
            cells.insert(place, draw.choice(cells))
        elif kind < 0.7:
            del cells[place]
        elif kind < 0.8:
            cells[place] = b'"' + cells[place] + draw.choice((b'"', b"", b'""'))
        elif kind < 0.9:
            cells = cells * draw.choice((2, 30))
        else:
            cells[place] = draw.choice((b"\0", b"\r", b"'", b"\t", b"\xff")) + cells[place]
        lines[at] = b",".join(cells)
    return draw.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")).join(lines)[:MOST]


DTYPES = (
    "<f8", "<f4", "<f2", "|i1", "|u1", "<i8", "<u8", ">f8", "|O", "|b1", "<U3", "|S5", "<U100000000", "<c16",
    "<M8[s]", "<m8", "|V8", "<f16", "|V0", "<U0", "<i3", "x", [["a", "<f8"]], [["a", "|O"]],
)  # fmt: skip


def npy_header(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Have the header of an array lie about its shape, its type or its order."""
    if content[:6] != b"\x93NUMPY" or draw.random() < 0.3:
        return any_bytes(content, draw, others)
    wide = content[6:7] != b"\x01"
    start = 12 if wide else 10
    size = int.from_bytes(content[8:start], "little")
    try:
        header = eval(content[start : start + size], {"__builtins__": {}})  # a literal of our own seeds
        header["shape"] = list(header["shape"])
    except Exception:
        return any_bytes(content, draw, others)
    for _ in range(draw.choice((1, 1, 2))):
        kind = draw.random()
        if kind < 0.4:
            shape = header["shape"] or [1]
            shape[draw.randrange(len(shape))] = draw.choice(
                (0, 1, 2, -1, 3, 10**6, 2**31, 2**62, 2**64, True)
            )
            header["shape"] = shape
        elif kind < 0.55:
            header["shape"] = draw.choice(([], [1] * 40, [0], [2**40, 0], [3, 2, 2], [0, 0], ["x"], [1.5]))
        elif kind < 0.85:
            header["descr"] = draw.choice(DTYPES)
        elif kind < 0.95:
            header["fortran_order"] = draw.choice((True, 1, "yes", None))
        else:
            header[draw.choice(("more", "descr2"))] = 1
    descr = header["descr"]
    if isinstance(descr, list):
        header["descr"] = [tuple(each) for each in descr]
    shape_text = "(" + "".join(f"{each!r}, " for each in header.pop("shape")) + ")"
    text = repr(header)[:-1] + f", 'shape': {shape_text}, }}"
    text += " " * draw.choice((0, 20)) + "\n"
    version = draw.choice((b"\x01\0", b"\x01\0", b"\x01\0", b"\x02\0", b"\x03\0", b"\x09\0"))
    width = 2 if version == b"\x01\0" else 4
    body = content[start + size :]
    body = draw.choice((body, body, body[: len(body) // 2], body * 2, b""))
    return b"\x93NUMPY" + version + len(text).to_bytes(width, "little") + text.encode() + body


def npz_members(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Change a member inside the archive, which is written again with right checksums."""
    if draw.random() < 0.15:
        return any_bytes(content, draw, others)
    members = _members(content)
    if not members:
        return any_bytes(content, draw, others)
    names = list(members)
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(names)
        kind = draw.random()
        if kind < 0.65:
            members[name] = member(name, members.get(name, b""), draw)
        elif kind < 0.75:
            members.pop(name, None)
        elif kind < 0.85:
            odd = ("labels.npy", "x", "names.npy", "../up.npy", "\x1b[2J.npy", "a\nb.npy", "probs", "")
            members[draw.choice(odd)] = members.get(name, b"")
        elif others:
            more = sorted(_members(draw.choice(others)).items())
            members |= dict(draw.sample(more, min(1, len(more))))
    return packed(members, draw, PACKED)


def member(name: str, content: bytes, draw: random.Random) -> bytes:
    """Return a member of an archive, changed; a header of a graph is JSON within an array."""
    if name == "header.npy" and draw.random() < 0.9:
        size = int.from_bytes(content[8:10], "little")
        text = json_document(content[10 + size :], draw, ())
        head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(text)},), }}\n".encode()
        return b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head + text
    return npy_header(content, draw, ())


def _members(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {each: archive.read(each) for each in archive.namelist()}
    except Exception:  # whatever damage leads to
        return {}


def packed(members: dict[str, bytes], draw: random.Random, ways: Sequence[int]) -> bytes:
    """Return members as an archive."""
    file = io.BytesIO()
    way = draw.choice(ways)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, way)
    return file.getvalue()


def with_crc(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Damage bytes and put the right CRC-32 behind them, mostly."""
    body = any_bytes(content[:-4], draw, [each[:-4] for each in others])
    if draw.random() < 0.15:
        return body
    return body + struct.pack("<I", zlib.crc32(body))


def folder_files(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Change files of a folder, which a stored archive stands for."""
    members = _members(content)
    if not members:
        return any_bytes(content, draw, others)
    name = draw.choice(list(members))
    members[name] = any_bytes(members[name], draw, ())
    return packed(members, draw, PACKED[:1])
