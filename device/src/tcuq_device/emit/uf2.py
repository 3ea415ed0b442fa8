"""Write the bytes of flash as a UF2 file, which the ROM of an RP2040 takes over USB.

python3 uf2.py app.bin app.uf2
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

FLASH, PAGE = 0x10000000, 256
FAMILY = 0xE48BFF56
"""Of the RP2040."""


def uf2(content: bytes) -> bytes:
    """Return blocks of 512 bytes, each with a page of flash and where it belongs."""
    pages = [content[at : at + PAGE].ljust(PAGE, b"\xff") for at in range(0, len(content), PAGE)]
    blocks = []
    for number, page in enumerate(pages):
        numbers = (0x2000, FLASH + PAGE * number, PAGE, number, len(pages), FAMILY)
        head = struct.pack("<8I", 0x0A324655, 0x9E5D5157, *numbers)
        blocks.append(head + page.ljust(476, b"\0") + struct.pack("<I", 0x0AB16F30))
    return b"".join(blocks)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(uf2(Path(sys.argv[1]).read_bytes()))
