# SPDX-License-Identifier: MIT
"""Damage of files: of any bytes, or of what a format holds, so that it gets past the first check of a reader.

A form opens a file as dicts, lists and values, of which some are changed, and closes it again.
"""

from __future__ import annotations

import ast
import copy
import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tcuq.monitor.params_file import sealed_content

MOST = 1 << 18
"""Bytes of a mutated file, about: what is larger tests the disk."""

NUMBERS = (
    "0", "-0", "-1", "1", "127", "128", "-129", "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity",
    "9" * 19, "9" * 400, "9" * 5000, "0.1", "1.5", "1e9", str(2**31), str(2**32), str(2**53 + 1), str(2**63),
    str(2**64), "1_0", "0x10", " 1", "1 ", "+1", ".5", "5.", "1e5", "\u0664",
)  # fmt: skip
"""As they are written."""

TEXTS = (
    "", " ", "a", "\ud800", "\x00", "a\nb", "\x1b[2J", "\u202e", "\ufeff", "x" * 70, "x" * 9000, "é",
    "\u2028", "'", '"', '"a', "\\", "../../etc/passwd", "/dev/zero", "nan", "null", "%s%n", "{}", "=1+1",
)  # fmt: skip

WORDS = ("probs", "label", "segment", "step", "p0", "p1", "f0", "true", "false", "names", "risk", "device")
MEMBERS = ("labels.npy", "x", "names.npy", "../up.npy", "\x1b[2J.npy", "a\nb.npy", "probs", "")
DTYPES = (
    "<f8", "<f4", "<f2", "|i1", "|u1", "<i8", "<u8", ">f8", "|O", "|b1", "<U3", "|S5", "<U100000000", "<c16",
    "<M8[s]", "<m8", "|V8", "<f16", "|V0", "<U0", "<i3", "x", [("a", "<f8")], [("a", "|O")],
)  # fmt: skip
SHAPES = ([], [1] * 40, [0], [2**40, 0], [3, 2, 2], [0, 0], ["x"], [1.5], [-1], [2**62, 4], [True])

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 255, 256, 1000, 1001, 2**31, 2**53, 2**63, 2**64, 10**30, 10**310, 0.5,
    -0.0, 1.5, 1e308, float("nan"),
    float("inf"), -float("inf"), 5e-324, [], {}, [[]], [1], [None], ["a"], {"a": 1},
    [0.5, 0.5], [1, 2, 3], [True, False], [1e308, 1e308], {"": {}}, [[1, 2], [3]], "tcuq-params",
)  # fmt: skip

Dice = random.Random
Mutator = Callable[[bytes, Dice, Sequence[bytes]], bytes]


def any_bytes(content: bytes, draw: Dice, others: Sequence[bytes]) -> bytes:
    """Damage bytes: single bits, telling numbers, words moved a little, a piece lost, repeated or put in."""
    way, damaged = draw.randrange(7), bytearray(content or b"\0")
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    if way == 0:
        for _ in range(draw.choice((1, 1, 2, 8))):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    elif way == 1:  # where lengths, offsets and counts may be
        for _ in range(draw.choice((1, 1, 2, 4))):
            value = draw.choice((0, 1, 127, 128, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
            word, at = struct.pack("<Q", value)[: draw.choice((1, 2, 4, 8))], draw.randrange(len(damaged))
            damaged[at : at + len(word)] = word
    elif way == 2:  # an offset then points at a neighbor
        at = draw.randrange(len(damaged)) // 4 * 4
        value = int.from_bytes(damaged[at : at + 4], "little") + draw.choice((-8, -4, -2, -1, 1, 2, 4, 8))
        damaged[at : at + 4] = struct.pack("<I", value % 2**32)
    elif way == 3:
        return draw.choice((content[:last], content[first:], content[:first] + content[last:]))
    elif way == 4:
        return (content[:first] + content[first:last] * draw.choice((2, 2, 3, 50)) + content[last:])[:MOST]
    elif way == 5:
        other = draw.choice(others) if others else content
        return (content[:first] + other[draw.randrange(len(other) + 1) :])[:MOST]
    else:
        odd = (b"\0", b"\n", b"\r", b'"', b",", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1b[2J")
        return content[:first] + draw.choice(odd) * draw.choice((1, 1, 3, 4000)) + content[first:]
    return bytes(damaged)


def odd_value(draw: Dice, known: Sequence[Any]) -> Any:
    """Return a value that nobody expects, or one that is `known` to tell in its place."""
    kind = draw.random()
    if known and kind < 0.7:
        return copy.deepcopy(draw.choice(known))
    value = copy.deepcopy(draw.choice(VALUES))
    if kind < 0.6:
        return value
    if kind < 0.8:
        return draw.choice((*TEXTS, *WORDS))
    if kind < 0.9:
        return [copy.deepcopy(draw.choice(VALUES)) for _ in range(draw.choice((2, 5, 300, 2000)))]
    for _ in range(draw.choice((5, 70, 400))):
        value = [value] if draw.random() < 0.5 else {"a": value}
    return value


def changed_value(found: Any, draw: Dice, known: Known) -> Any:
    """Return a value with one of its parts changed, removed, added or put in another's place."""
    holder, key = _place(found, draw)
    kind = draw.random()
    if holder is None:
        return odd_value(draw, ())
    value, telling = holder[key], known.get(str(key), known.get("", ()))
    if isinstance(value, bytes) and kind < 0.7:
        holder[key] = any_bytes(value, draw, ())
    elif kind < 0.1:
        del holder[key]
    elif kind < 0.25 and type(value) in (int, float) and abs(value) < 1e18:
        holder[key] = draw.choice((-value, value + 1, value * 2, float(value), 0, 1e-9))
    elif kind < 0.7:
        holder[key] = odd_value(draw, telling)
    elif kind < 0.8:
        other, place = _place(found, draw)
        holder[key] = copy.deepcopy(found if other is None else other[place])
    elif isinstance(holder, dict):
        new = draw.choice((*TEXTS, *WORDS, *MEMBERS))
        holder[new] = copy.deepcopy(value) if kind < 0.9 else odd_value(draw, ())
    elif kind < 0.9:
        holder.insert(key, odd_value(draw, telling))
    else:
        holder += [copy.deepcopy(value)] * draw.choice((1, 30))
    return found


def _place(found: Any, draw: Dice) -> tuple[Any, Any]:
    """Return what holds a part, and its key there; None where there is nothing but the whole."""
    holder = key = None
    while isinstance(found, (dict, list)) and found and (holder is None or draw.random() < 0.9):
        holder = found
        key = draw.choice(list(found)) if isinstance(found, dict) else draw.randrange(len(found))
        found = found[key]
    return holder, key


Known = Mapping[str, Sequence[Any]]
"""Values that tell, by the key that they stand at; those of "" stand anywhere."""


class Form(NamedTuple):
    """A format: what its bytes hold, the bytes of that, and values that tell in it."""

    open: Callable[[bytes], Any]
    close: Callable[[Any, Dice], bytes]
    known: Known = MappingProxyType({})

    def mutate(self, content: bytes, draw: Dice, others: Sequence[bytes]) -> bytes:
        """Change what a file holds; its bytes where that cannot be told, or now and then."""
        if draw.random() < 0.15:
            return any_bytes(content, draw, others)
        try:
            found = self.open(content)
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                found = changed_value(found, draw, self.known)
            return self.close(found, draw)[:MOST]
        except Exception:  # damaged before, or changed to what the format does not hold
            return any_bytes(content, draw, others)


def _json_text(found: Any, draw: Dice) -> bytes:
    text = json.dumps(found)
    if draw.random() < 0.08:  # a key that comes twice
        text = text.replace("{", '{"' + draw.choice(("version", "step", "probs", "x")) + '": 1, ', 1)
    if draw.random() < 0.05:
        text = text.replace("1", draw.choice(NUMBERS), 1)
    return text.encode("utf-8", "surrogatepass")


def _sealed_text(found: Any, draw: Dice) -> bytes:
    """Return parameters, mostly with the checksum that belongs to them."""
    sealed = draw.random() < 0.6 and isinstance(found, dict)
    return json.dumps(sealed_content(found)).encode() if sealed else _json_text(found, draw)


def _json_line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _line_bytes(lines: Any, draw: Dice) -> bytes:
    return b"\n".join(line if isinstance(line, bytes) else _json_text(line, draw) for line in lines)


def _csv_bytes(rows: Any, draw: Dice) -> bytes:
    lines = (",".join(map(str, row)) if isinstance(row, list) else str(row) for row in rows)
    return draw.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogateescape")


def _array(content: bytes) -> Any:
    """Return header and numbers of an array, or the JSON that it holds; of anything else its bytes."""
    if content[:6] != b"\x93NUMPY":
        return content
    start = 10 if content[6] == 1 else 12
    stop = start + int.from_bytes(content[8:start], "little")
    if content[stop : stop + 1] == b"{":
        return {"json": json.loads(content[stop:])}
    header = ast.literal_eval(content[start:stop].decode())
    return {**header, "shape": list(header["shape"]), "version": content[6], "body": content[stop:]}


def _array_bytes(found: Any, draw: Dice) -> bytes:
    if isinstance(found, bytes):
        return found
    if "json" in found:
        text = _json_text(found["json"], draw)
        found = {"descr": "|u1", "fortran_order": False, "shape": [len(text)], "version": 1, "body": text}
    header = {key: tuple(value) if key == "shape" else value for key, value in found.items()}
    body, version = header.pop("body"), header.pop("version")
    text = f"{header!r}\n".encode()
    return b"\x93NUMPY%c\0" % version + len(text).to_bytes(2 if version == 1 else 4, "little") + text + body


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def _archive(members: dict[str, bytes], way: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, way)
    return file.getvalue()


def _npz_bytes(found: Any, draw: Dice) -> bytes:
    members = {str(name): _array_bytes(each, draw) for name, each in found.items()}
    return _archive(
        members, draw.choice((zipfile.ZIP_STORED, *[zipfile.ZIP_DEFLATED] * 20, zipfile.ZIP_BZIP2))
    )


def _with_crc(found: Any, draw: Dice) -> bytes:
    body: bytes = found["body"]
    return body + struct.pack("<I", zlib.crc32(body)) if draw.random() < 0.85 else body


JSON = Form(json.loads, _json_text)
SEALED = Form(json.loads, _sealed_text)
LINES = Form(lambda content: [_json_line(line) for line in content.split(b"\n")], _line_bytes)
CSV = Form(
    lambda content: [line.split(",") for line in content.decode("utf-8", "surrogateescape").split("\n")],
    _csv_bytes,
    {"": (*NUMBERS, *TEXTS, *WORDS)},
)
HEADERS = {"descr": DTYPES, "shape": SHAPES, "version": (1, 2, 3, 9)}
NPY = Form(_array, _array_bytes, HEADERS)
NPZ = Form(
    lambda content: {name: _array(each) for name, each in _members(content).items()},
    _npz_bytes,
    HEADERS,
)
CRC = Form(lambda content: {"body": content[:-4]}, _with_crc)
FOLDER = Form(_members, lambda members, draw: _archive(members, zipfile.ZIP_STORED))
"""Files of a folder, which a stored archive stands for."""
