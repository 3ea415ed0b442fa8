# SPDX-License-Identifier: MIT
"""The host's side of the protocol, against a board that is a pair of pipes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tcuq_device.emit import feed


class Ends:
    """What a board reads and writes."""

    def __init__(self) -> None:
        self.from_host, to_board = os.pipe()
        to_host, self.to_host = os.pipe()
        self.link = feed.Link(to_host, to_board, timeout=0.2)
        self.handles = [self.from_host, to_board, to_host, self.to_host]

    def says(self, text: str) -> None:
        os.write(self.to_host, text.encode())


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    for handle in made.handles:
        os.close(handle)


def test_a_frame_has_length_and_checksum() -> None:
    assert feed.frame(b"ab").hex() == "54510200000061626d48839e"


def test_lines_come_whole(ends: Ends) -> None:
    ends.says("\r\nready")
    ends.says(" 12\nstep 0 answer 3\nste")
    assert ends.link.greeted() == (["", "ready 12"], 12)
    assert ends.link.line() == "step 0 answer 3"
    with pytest.raises(ValueError, match=r"the board said nothing for 0\.2 s"):
        ends.link.line()


def test_control_characters_of_a_board_do_not_reach_the_terminal(ends: Ends) -> None:
    ends.says("a\x1b[2J b\n")
    assert ends.link.line() == "a?[2J b"


def test_what_goes_wrong_is_said(ends: Ends) -> None:
    ends.says("selfcheck -200\n")
    with pytest.raises(ValueError, match="selfcheck"):
        ends.link.greeted()
    ends.says("fault\n")
    with pytest.raises(ValueError, match="fault"):
        ends.link.greeted()
    ends.says("error checksum\n")
    with pytest.raises(ValueError, match="error checksum"):
        list(feed.replay(ends.link, [b"x"]))
    assert os.read(ends.from_host, 100) == feed.frame(b"x")


def test_a_board_that_is_gone(ends: Ends) -> None:
    os.close(ends.handles.pop())
    with pytest.raises(ValueError, match="gone"):
        ends.link.line()


def test_inputs_of_files(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.int8).reshape(4, 3, 2)
    np.savez(tmp_path / "x.npz", x=x, y=np.zeros(4))
    np.savez(tmp_path / "one.npz", pictures=x)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    for name in ("x.npz", "one.npz", "x.npy", "x.bin"):
        assert feed.read_inputs(tmp_path / name, 6) == [row.tobytes() for row in x]
    with pytest.raises(ValueError, match="multiple of 7"):
        feed.read_inputs(tmp_path / "x.bin", 7)
    np.savez(tmp_path / "two.npz", a=x, b=x)
    with pytest.raises(ValueError, match="arrays a, b"):
        feed.read_inputs(tmp_path / "two.npz", 6)


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert feed.main(["--qemu", "a.elf", "x.npz"]) == 2
    assert "qemu-system-arm is missing" in capsys.readouterr().err
    with pytest.raises(ValueError, match="baud"):
        feed.port("/dev/null", 7)
    for arguments in (["x.npz"], ["/dev/null", "x.npz", "--qemu", "a.elf"]):
        with pytest.raises(SystemExit):
            feed.main(arguments)


def test_a_serial_port_passes_every_byte() -> None:
    """Raw: no byte is taken for a control character or changed, in either direction."""
    board, slave = os.openpty()
    link = feed.port(os.ttyname(slave))
    try:
        content = bytes(range(256))
        link.send(content)
        got = b""
        while len(got) < 256:
            got += os.read(board, 256)
        assert got == content
        os.write(board, b"ready 3\n")
        assert link.greeted() == (["ready 3"], 3)
    finally:
        link.close()
        os.close(board)
        os.close(slave)
