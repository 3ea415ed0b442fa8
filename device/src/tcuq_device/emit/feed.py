"""Send inputs to a board over its UART, or to the emulator, and print what it answers.

    python3 feed.py /dev/ttyUSB0 inputs.npz
    python3 feed.py --qemu build-board/app.elf inputs.npz --out decisions.csv

An input goes out as the letters TQ, its length in bytes (four bytes, lowest first), the bytes, and their
CRC-32 (likewise). The answer is one line. TR forgets the last inputs (a gap in the stream), TI
starts over, TS asks how deep the stack was.

INPUTS: NPZ with an array x (or with one array alone), NPY, or a file of bytes, one input after the other.
int8 is sent as it is; other numbers are quantized by the scale and zero point in the header beside this file.
NPZ and NPY need numpy. The board says how many bytes an input has: "ready N".
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import select
import struct
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
"""The package."""
FLASH = 0x08000000
"""Where the flash of the emulated chip begins."""
TIMEOUT = 60.0
"""Seconds without a word from the board that are too many."""


def frame(content: bytes) -> bytes:
    """Return an input as it goes over the wire."""
    return b"TQ" + struct.pack("<I", len(content)) + content + struct.pack("<I", zlib.crc32(content))


class Link:
    """A way to a board: two file descriptors, and a process where it is an emulator.

    `timeout` is in seconds without a line.
    """

    def __init__(
        self,
        reads: int,
        writes: int,
        process: subprocess.Popen[bytes] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._reads, self._writes, self._process, self._timeout = reads, writes, process, timeout
        self._waiting = b""

    def line(self) -> str:
        """Return the next line."""
        end = time.monotonic() + self._timeout
        while b"\n" not in self._waiting:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._reads], [], [], left)[0]:
                raise ValueError(f"the board said nothing for {self._timeout:g} s")
            more = os.read(self._reads, 4096)
            if not more:
                raise ValueError("the board is gone")
            self._waiting += more
        line, _, self._waiting = self._waiting.partition(b"\n")
        text = line.decode("ascii", "replace").strip()
        return "".join(each if each.isprintable() else "?" for each in text)  # it is shown on a terminal

    def send(self, content: bytes) -> None:
        """Send bytes."""
        while content:
            content = content[os.write(self._writes, content) :]

    def ask(self, content: bytes) -> str:
        """Send bytes and return the line that comes back."""
        self.send(content)
        return self.line()

    def greeted(self) -> tuple[list[str], int]:
        """Return what a board says after a reset, and the bytes of an input."""
        lines: list[str] = []
        while not (lines and lines[-1].startswith("ready ")):
            lines.append(self.line())
            if lines[-1] == "fault":
                raise ValueError("the board took a fault")
            if lines[-1].startswith("selfcheck ") and lines[-1] != "selfcheck 0":
                raise ValueError(f"the board's {lines[-1]}, expected 0")
        return lines, int(lines[-1].split()[1])

    def close(self) -> None:
        """End the link, and the emulator with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for end in (self._process.stdin, self._process.stdout):
                if end is not None:
                    end.close()
        else:
            os.close(self._reads)


def emulator(image: str | Path, machine: str = "netduinoplus2", program: str = "qemu-system-arm") -> Link:
    """Start an image in the emulator, ELF or the bytes of flash (.bin); its UART is the link."""
    flash = f"loader,file={image},addr={FLASH:#x},force-raw=on"
    what = ["-device", flash] if Path(image).suffix == ".bin" else ["-kernel", str(image)]
    command = [program, "-M", machine, *what, "-serial", "stdio", "-display", "none", "-monitor", "none"]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    except FileNotFoundError:
        raise ValueError(f"{program} is missing: on Debian, apt-get install qemu-system-arm") from None
    assert process.stdin is not None and process.stdout is not None
    return Link(process.stdout.fileno(), process.stdin.fileno(), process)


def port(name: str, baud: int = 115200) -> Link:
    """Open a serial port of a system with termios (Linux, macOS)."""
    try:
        import termios
        import tty
    except ImportError:
        raise ValueError(
            "serial ports need termios (Linux, macOS); elsewhere send frames by pyserial"
        ) from None
    rate = getattr(termios, f"B{baud}", None)
    if rate is None:
        raise ValueError(f"baud is {baud}, expected a rate that termios knows, such as 115200")
    handle = os.open(name, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(handle)
    state: list[Any] = termios.tcgetattr(handle)
    state[2] |= termios.CLOCAL | termios.CREAD
    state[4] = state[5] = rate
    termios.tcsetattr(handle, termios.TCSANOW, state)
    return Link(handle, handle)


def parsed(line: str) -> dict[str, int]:
    """Return a line of a step as numbers by name."""
    words = line.split()
    if not words or words[0] not in ("step", "stored"):
        raise ValueError(f"the board said {line!r}, expected a step")
    return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def replay(link: Link, inputs: Iterable[bytes]) -> Iterator[dict[str, int]]:
    """Send inputs one after the other and give the answers; the board has said that it is ready."""
    for content in inputs:
        yield parsed(link.ask(frame(content)))


def input_format(folder: Path) -> tuple[float, int]:
    """Return scale and zero point of an input, from the header of the package."""
    for file in sorted(folder.glob("*.h")):
        text = file.read_text(encoding="utf-8")
        scale = re.search(r"^#define \w+_INPUT_SCALE (\S+)$", text, re.M)
        zero = re.search(r"^#define \w+_INPUT_ZERO \((-?\d+)\)$", text, re.M)
        if scale and zero:
            return float(scale[1]), int(zero[1])
    raise ValueError(f"{folder}: no header says what an input means; send int8, or keep feed.py where it was")


def quantized(x: Any, scale: float, zero: int, where: str) -> Any:
    """Return numbers as int8; a half is rounded away from zero."""
    import numpy as np

    if x.dtype.kind not in "iuf" or not np.isfinite(x).all():
        raise ValueError(f"{where}: values are {x.dtype}, expected int8, or finite numbers")
    units = x.astype(np.float32) / np.float32(scale)
    whole = np.copysign(np.floor(np.abs(units) + np.float32(0.5)), units) + zero
    if ((whole < -129) | (whole > 128)).mean() >= 0.5:
        low, high = scale * (-128 - zero), scale * (127 - zero)
        raise ValueError(
            f"{where}: values range from {x.min():.4g} to {x.max():.4g}, expected {low:.4g} to {high:.4g}"
        )
    return np.clip(whole, -128, 127).astype(np.int8)


def loaded(file: Path, np: Any) -> Any:
    """Return the array of a file; its header is read first, for memory is taken as it says."""
    content = file.read_bytes()
    try:
        if file.suffix == ".npz":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = [each.removesuffix(".npy") for each in archive.namelist()]
                if "x" not in names and len(names) != 1:
                    shown = ascii(", ".join(names)[:200])[1:-1] or "none"
                    raise LookupError(f"{file}: has arrays {shown}, expected x")
                name = "x" if "x" in names else names[0]
                info = next(each for each in archive.infolist() if each.filename.removesuffix(".npy") == name)
                # Zeros pack a thousand to one; what is more is a trap.
                if info.file_size > 2000 * len(content):
                    raise ValueError
                content = archive.read(info)
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, about what a damaged header looks like
            shape, _, dtype = read[version](stream)
            count = 1
            for each in shape:
                count *= each
            if dtype.hasobject or count * dtype.itemsize > len(content):
                raise ValueError
            return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # damage comes as whatever numpy and zipfile run into
        problem = str(error) if isinstance(error, LookupError) and str(error).startswith(f"{file}: ") else ""
        raise ValueError(problem or f"{file}: is not an NPZ or NPY file, or is damaged") from None


def read_inputs(path: str | Path, size: int, folder: Path = HERE) -> list[bytes]:
    """Return the inputs of a file."""
    file = Path(path)
    if file.suffix in (".npz", ".npy"):
        import numpy as np

        found = loaded(file, np)
        if not found.ndim or not len(found) or found[0].size != size:
            raise ValueError(f"{path}: shape is {found.shape}, expected inputs of {size} values each")
        if found.dtype != np.int8:
            found = quantized(found, *input_format(folder), str(path))
        sent = found.tobytes()
    else:
        sent = file.read_bytes()
    if not sent or len(sent) % size:
        raise ValueError(f"{path}: has {len(sent)} bytes, expected a multiple of {size}")
    return [sent[at : at + size] for at in range(0, len(sent), size)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Send inputs to a board and print what it answers.")
    parser.add_argument("port", nargs="?", help="serial port, such as /dev/ttyUSB0")
    parser.add_argument("inputs", help="NPZ, NPY or bytes")
    parser.add_argument("--qemu", metavar="IMAGE", help="start this image in the emulator instead of a port")
    parser.add_argument("--machine", default="netduinoplus2", help="of the emulator (default: netduinoplus2)")
    parser.add_argument("--baud", type=int, default=115200, help="of the port (default: 115200)")
    parser.add_argument("--steps", type=int, help="send the first inputs only, so many")
    parser.add_argument("--out", metavar="FILE", help="write answers as CSV instead of printing them")
    args = parser.parse_args(arguments)
    if (args.port is None) == (args.qemu is None):
        parser.error("one of PORT and --qemu is needed")
    if args.steps is not None and args.steps < 1:
        parser.error("--steps must be 1 or more")
    link = None
    try:
        link = emulator(args.qemu, args.machine) if args.qemu else port(args.port, args.baud)
        if not args.qemu:
            print("waiting for the board: press its reset button", file=sys.stderr)
        greeting, size = link.greeted()
        print("\n".join(greeting), file=sys.stderr)
        rows = replay(link, read_inputs(args.inputs, size)[: args.steps])
        if args.out:
            _write(args.out, rows)
        else:
            for row in rows:
                print(" ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        print(link.ask(b"TS"), file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"feed.py: {error}", file=sys.stderr)
        return 2
    finally:
        if link is not None:
            link.close()
    return 0


def _write(path: str, rows: Iterator[dict[str, int]]) -> None:
    with open(path, "w", newline="", encoding="ascii") as file:
        first = next(rows)
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
