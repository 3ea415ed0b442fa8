"""Frames on the host: any bytes in, frames and lines out, however they are cut, damaged or mixed."""

from __future__ import annotations

import random
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from frame_scripts import random_cases, step_rows, vectors
from frame_writing import encode_decisions, encode_posteriors, encode_state
from gen_frames import (
    DECISIONS,
    FILE,
    POSTERIORS,
    STATE,
    decision_bits,
    header,
    lines,
    little,
    made_up,
    on_line,
)
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tcuq import SIGNALS, STEP_DTYPE
from tcuq.io.binary_frames import DecisionsFrame, Decoder, Item, PosteriorsFrame, StateFrame, Text, unstuffed


def plain(item: Item) -> tuple[Any, ...]:
    """Return an item as something that compares."""
    if isinstance(item, PosteriorsFrame):
        features = None if item.features is None else item.features.tolist()
        gauges = None if item.gauges is None else item.gauges.tolist()
        return "posteriors", item.fingerprint, item.boot, item.first, item.probs.tolist(), features, gauges
    if isinstance(item, DecisionsFrame):
        return "decisions", item.fingerprint, item.boot, item.first, item.steps.tobytes()
    if isinstance(item, StateFrame):
        return "state", item.fingerprint, item.boot, item.seq, item.state
    return "text", item.line


def row_bytes(item: Any) -> Any:
    """Return posteriors, features and gauges of steps, as a frame has them."""
    seen = None if item.gauges is None else item.gauges.view(np.int8)
    return np.hstack([part for part in (item.probs, item.features, seen) if part is not None])


def same_steps(found: Any, expected: Any) -> None:
    for name in STEP_DTYPE.names or ():
        np.testing.assert_array_equal(found[name], expected[name])


def taken(*chunks: bytes, decoder: Decoder | None = None) -> list[tuple[Any, ...]]:
    decoder = Decoder() if decoder is None else decoder
    return [plain(item) for chunk in chunks for item in decoder.push(chunk)]


def some_frames(seed: int = 0) -> list[bytes]:
    """Return a frame of every kind, with newlines and zeros in their content."""
    rng, dice = np.random.default_rng(seed), random.Random(seed)
    rows = rng.choice([-128, 0, 10, 10, 49, 65], (9, 4)).astype(np.int8)
    steps = step_rows([made_up(dice, 10, 8, bool(seed % 2)) for _ in range(6)], 8)
    return [
        encode_posteriors(7, 1, 10, rows),
        encode_posteriors(2**32 - 1, 0, 0, rows[:, :3], rows[:, 2:]),
        encode_posteriors(7, 1, 19, rows, rows[:, :1], gauges=rows[:, 1:].astype(np.int16) * 200),
        encode_decisions(0x0A0A0A0A, 10, 2570, steps, 10, 256, 4000),
        encode_state(10, 10, 9, bytes([10, 0, 84, 67, 10] * 10)),
    ]


FRAMES = some_frames()
ITEMS = [plain(item) for frame in FRAMES for item in Decoder().push(frame)]


# What is written is read.


def test_vectors_are_as_written() -> None:
    assert FILE.read_text(encoding="ascii") == "".join(f"{line}\n" for line in lines())


def test_vectors_are_read_back_and_written_again() -> None:
    kinds = set()
    for case, frame in vectors():
        assert case.encoded() == frame
        (item,) = Decoder().push(frame)
        assert not isinstance(item, StateFrame | Text)
        assert (item.fingerprint, item.boot, item.first) == (case.fingerprint, case.boot, case.seq)
        kinds.add(type(item))
        if isinstance(item, PosteriorsFrame):
            np.testing.assert_array_equal(row_bytes(item), case.rows)
        else:
            same_steps(item.steps, step_rows(case.steps, case.shift))
    assert kinds == {PosteriorsFrame, DecisionsFrame}


def test_random_steps_come_back_and_no_frame_is_larger_than_its_buffer() -> None:
    for case in random_cases(150, seed=5):
        decoder = Decoder()
        sent = case.encoded()
        assert all(len(frame) <= case.size - 2 for frame in sent.split(b"\0"))
        items = decoder.push(sent)
        assert (decoder.broken, decoder.skipped) == (0, 0)
        if case.state:
            state = items.pop()
            count = len(case.steps if case.rows is None else case.rows)
            whose = (case.fingerprint, case.boot, case.seq + count - 1)
            assert state == StateFrame(*whose, case.state)
        if case.rows is not None:
            assert all(isinstance(item, PosteriorsFrame) for item in items)
            found = [row_bytes(item) for item in items]
            np.testing.assert_array_equal(np.vstack(found), case.rows)
        else:
            found = [item.steps for item in items if isinstance(item, DecisionsFrame)]
            same_steps(np.concatenate(found), step_rows(case.steps, case.shift))
            assert found[0].dtype == STEP_DTYPE
        lengths = [len(each) for each in found]
        firsts = [item.first for item in items if not isinstance(item, StateFrame | Text)]
        assert firsts == [case.seq + sum(lengths[:at]) for at in range(len(lengths))]


# Mixed with text, cut into any chunks.


@given(st.data())
def test_chunks_change_nothing(data: st.DataObject) -> None:
    pieces = data.draw(
        st.lists(
            st.one_of(
                st.sampled_from(FRAMES),
                st.sampled_from(
                    [b'{"a": 1}\n', b"0.5,0.5\r\n", b"\n", b"half", "ö°\n".encode(), b"\0", b"\0\xf9"]
                ),
                st.binary(max_size=30),
                st.sampled_from([b"x" * 5000, b"\0\xf0\xf9" + b"y" * 4200 + b"\n", b"\0\x02\xfa{}\n"]),
            ),
            max_size=12,
        )
    )
    line = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(line)), max_size=8)))
    bound = data.draw(st.sampled_from([1, 10, 1000, 65536]))
    whole, cut, single = Decoder(bound), Decoder(bound), Decoder(bound)
    expected = taken(line, decoder=whole)
    chunks = [line[low:high] for low, high in pairwise([0, *cuts, len(line)])]
    assert taken(*chunks, decoder=cut) == expected
    assert taken(*(bytes([byte]) for byte in line), decoder=single) == expected
    assert (whole.broken, whole.skipped) == (cut.broken, cut.skipped) == (single.broken, single.skipped)


def test_text_between_frames_and_frames_between_lines() -> None:
    sent = b"boot 3\r\n" + FRAMES[0] + FRAMES[1] + b'{"probs": [1, 0]}\n\n' + FRAMES[2] + b"done\n"
    text = [("text", line) for line in (b"boot 3", b'{"probs": [1, 0]}', b"done")]
    decoder = Decoder()
    assert taken(sent, decoder=decoder) == [text[0], *ITEMS[:2], text[1], ITEMS[2], text[2]]
    assert (decoder.broken, decoder.skipped) == (0, 0)


@pytest.mark.parametrize("before", [b"", b"\0", b"\0\0", FRAMES[0], FRAMES[0][:-1], b"\xff\xfe\0", b"ab\0"])
def test_a_line_of_text_comes_out_with_its_newline(before: bytes) -> None:
    decoder = Decoder()
    decoder.push(before)
    if before == FRAMES[0][:-1]:
        # Cut off: until a zero comes, or as many bytes as no frame has, this may still be one.
        assert decoder.push(b"hello\n") == []
        assert decoder.push(b"there\n" + b"\0") == [Text(b"there")]
        return
    for line in (b"a", b"{}", b"0.1,0.9", "naïve".encode(), b"\x1b[0;32mI (31) boot\x1b[0m", b"a\tb"):
        for byte in line:
            assert decoder.push(bytes([byte])) == []
        assert decoder.push(b"\n") == [Text(line)]


def test_text_goes_on_after_a_frame_that_was_cut_off_for_good() -> None:
    decoder = Decoder()
    lines = [b"line %d of a device that was flashed with other firmware" % k for k in range(200)]
    found = taken(FRAMES[2][:40], *(line + b"\n" for line in lines), decoder=decoder)
    # The first line went to the frame's rest; all others came, after at most 4,114 bytes.
    assert found == [("text", line) for line in lines[1:]]
    assert 1 <= decoder.broken <= 5 and len(lines[0]) < decoder.skipped <= 39 + len(lines[0])


def test_a_device_that_starts_again_within_a_frame() -> None:
    decoder = Decoder()
    found = taken(FRAMES[0][:20] + b"\r\npanic: watchdog\r\nboot 4\n" + FRAMES[1], decoder=decoder)
    assert found == [("text", b"panic: watchdog"), ("text", b"boot 4"), ITEMS[1]]
    assert decoder.broken == 1


@pytest.mark.parametrize("cut", [False, True])
def test_the_end_of_the_input(cut: bool) -> None:
    for last, expected in (
        (b"0.5,0.", [] if cut else [Text(b"0.5,0.")]),
        (b"\0a", [] if cut else [Text(b"a")]),
        (b"a\xff", []),
        (FRAMES[0][:-1], []),
        (FRAMES[0][:2], []),
        (encode_state(5, 6, 7, bytes(200), 60)[:60], []),
        (bytes(on_line(header(STATE, 5, 6, 8, 0) + little(11, 3) + [0] * 12)), []),  # a byte too many
    ):
        decoder = Decoder()
        decoder.push(last)
        assert decoder.finish(cut) == expected
        assert decoder.broken == (not expected) or last == FRAMES[0][:2]
        # Nothing is left over.
        assert taken(FRAMES[0], b"text\n", decoder=decoder) == [ITEMS[0], ("text", b"text")]
        assert decoder.finish(cut) == [] and Decoder().finish(cut) == []


# Damage.


def test_a_line_cut_at_every_byte() -> None:
    """Joined in the middle, or unplugged and plugged in again: whole frames after the cut all come."""
    sent = b"".join(FRAMES)
    ends = np.cumsum([len(frame) for frame in FRAMES]).tolist()
    for cut in range(len(sent) + 1):
        whole = [item for item, start in zip(ITEMS, [0, *ends], strict=False) if start >= cut]
        found = [item for item in taken(sent[cut:]) if item[0] != "text"]
        assert found == whole, cut
        before = [
            item for item, end in zip(ITEMS, ends, strict=True) if end - 1 <= cut
        ]  # a zero of the next one ends it
        joined = [item for item in taken(sent[:cut] + sent) if item[0] != "text"]
        assert joined == before + ITEMS, cut


def test_no_flipped_bit_gives_another_frame() -> None:
    for frame, item in zip(FRAMES, ITEMS, strict=True):
        for bit in range(8 * len(frame)):
            damaged = bytearray(frame)
            damaged[bit // 8] ^= 1 << bit % 8
            decoder = Decoder()
            found = [each for each in taken(bytes(damaged), frame, decoder=decoder) if each[0] != "text"]
            # A zero that ends or begins the line may be missing: the next frame brings one.
            assert found in ([item], [item, item]), bit
            assert decoder.broken > 0 or len(found) == 2 or bit // 8 in (0, len(frame) - 1)


def test_no_frame_is_found_in_damaged_ones() -> None:
    """20,000 frames with damage of every sort, none of which is taken for another one."""
    dice, count = random.Random(9), 0
    decoder = Decoder()
    for _ in range(20_000):
        which = dice.randrange(4)
        frame = bytearray(FRAMES[which])
        how = dice.randrange(4)
        if how == 0:
            for _ in range(dice.randrange(2, 6)):
                frame[dice.randrange(len(frame))] ^= 1 << dice.randrange(8)
        elif how == 1:
            at = dice.randrange(1, len(frame) - 1)
            del frame[at : at + dice.randrange(1, 5)]
        elif how == 2:
            at = dice.randrange(1, len(frame) - 1)
            frame[at:at] = dice.randbytes(dice.randrange(1, 5))
        else:
            at = dice.randrange(1, len(frame) - 1)
            frame[at : at + 8] = dice.randbytes(8)
        found = [item for item in taken(bytes(frame), decoder=decoder) if item[0] != "text"]
        assert all(item == ITEMS[which] for item in found)
        count += len(found)
    assert count < 300 and decoder.broken > 19_000


@given(st.binary(max_size=3000), st.integers(1, 5000))
def test_garbage_raises_nothing_and_hides_no_later_frame(garbage: bytes, bound: int) -> None:
    decoder = Decoder(bound)
    taken(garbage, decoder=decoder)
    # What the garbage began may swallow the first frame's beginning, never the second frame.
    assert ITEMS[1] in taken(FRAMES[0], FRAMES[1], decoder=decoder)


@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=60), st.sampled_from([POSTERIORS, DECISIONS, STATE])
)
def test_content_with_a_right_checksum_and_no_sense_raises_nothing(body: list[int], kind: int) -> None:
    for shape in (0, 1, 2, 10, 1000, 1001, 4096 * 8 + 10, 4096 * 13 + 10, 2**24 - 1, 4096 * 257 + 2):
        decoder = Decoder()
        items = decoder.push(bytes(on_line(header(kind, 1, 2, 3, shape) + body)))
        # What ends a broken frame may look like a line.
        items = [item for item in items if not isinstance(item, Text)]
        for item in items:
            if isinstance(item, PosteriorsFrame):
                assert item.probs.shape[1] == shape % 4096 and len(item.probs) > 0
            elif isinstance(item, DecisionsFrame):
                assert item.steps["prediction"].max() < shape % 4096
        # A part of a state may be one of several.
        assert len(items) + decoder.broken == 1 or kind == STATE


@pytest.mark.parametrize(
    ("horizon", "reason"), [(8, len(SIGNALS)), (8, 29), (1, 8), (3, 8), (13, 8), (4095, 8)]
)
def test_decisions_with_a_right_checksum_outside_of_their_range(horizon: int, reason: int) -> None:
    def frame(horizon: int, reason: int) -> bytes:
        rows = [made_up(random.Random(k), 10, 8, False) | {"flagged": 1, "reason": 0} for k in range(3)]
        rows[2]["reason"] = reason
        content = header(DECISIONS, 1, 2, 3, 10 + 4096 * horizon)
        bits = decision_bits(rows, 10, horizon)
        bits += [0] * (-len(bits) % 8)
        content += [int("".join(map(str, bits[at : at + 8])), 2) for at in range(0, len(bits), 8)]
        return bytes(on_line(content))

    decoder = Decoder()
    for right in (frame(4, 8), frame(12, 255), frame(0, 0)):
        assert [item[0] for item in taken(right, decoder=decoder)] == ["decisions"]
    assert not [item for item in taken(frame(horizon, reason), decoder=decoder) if item[0] != "text"]
    assert decoder.broken == 1


def test_an_empty_block_after_a_full_one_is_no_cobs() -> None:
    # Content of 508 bytes without a zero: two full blocks.
    dice = random.Random(0)
    while True:
        head = [STATE, *dice.choices(range(1, 256), k=17), 0x01, 0x02, 0x03]
        head[15:18] = [1, 1, 1]
        content = head + dice.choices(range(1, 256), k=504 - len(head))
        checksum = zlib.crc32(bytes(content)).to_bytes(4, "little")
        if 0 not in checksum:
            break
    whole = bytes(content) + checksum
    blocks = b"\xff" + whole[:254] + b"\xff" + whole[254:]
    assert bytes(on_line(content)) == b"\0" + blocks + b"\0"
    assert unstuffed(blocks) == whole and unstuffed(blocks + b"\x01") is None
    # Elsewhere an empty block is a zero.
    assert unstuffed(b"\x01") == b"" and unstuffed(blocks + b"\x01\x01") == whole + b"\0"


def test_frames_of_a_later_version_are_counted_and_passed_over() -> None:
    decoder = Decoder()
    later = bytes(on_line([*header(0xFD, 1, 2, 3, 11), 1, 2, 3]))
    assert taken(later + FRAMES[0] + later, decoder=decoder) == ITEMS[:1]
    assert decoder.broken == 2 and decoder.skipped == 2 * (len(later) - 2)


def test_parts_of_a_state_that_do_not_follow_each_other() -> None:
    state = bytes(range(200))
    parts = [frame for frame in encode_state(5, 6, 7, state, 60).split(b"\0") if frame]
    assert len(parts) > 4
    lines = [b"\0" + part + b"\0" for part in parts]
    decoder = Decoder()
    assert decoder.push(b"".join(lines[:2] + lines[3:])) == [] and decoder.broken == len(lines) - 3
    assert decoder.push(b"".join(lines)) == [StateFrame(5, 6, 7, state)]
    # A second one begins before the first is complete; steps may come in between.
    broken = decoder.broken
    twice = b"".join([*lines[:2], *lines[:3], FRAMES[0], *lines[3:]])
    assert taken(twice, decoder=decoder) == [ITEMS[0], ("state", 5, 6, 7, state)]
    assert decoder.broken == broken + 1
    # Of another boot.
    other = [b"\0" + frame + b"\0" for frame in encode_state(5, 7, 7, state, 60).split(b"\0") if frame]
    assert decoder.push(lines[0] + b"".join(other[1:])) == []


def test_memory_is_bounded() -> None:
    decoder = Decoder(max_bytes=100)
    for _ in range(300):
        decoder.push(b"x" * 1000)
        assert len(decoder._held) <= 100
    assert (decoder.broken, decoder.skipped) == (1, 300_000)
    assert decoder.push(b"\nshort\n") == [Text(b"short")]
    for _ in range(300):
        decoder.push(b"\0\x50\xf9" + b"y" * 1000)
        assert len(decoder._held) <= 4115
    # A state that never ends.
    decoder = Decoder()
    for at in range(0, 2**17 - 3000, 3000):
        content = header(STATE, 1, 2, 3, at) + little(2**17, 3) + [1] * 3000
        assert decoder.push(bytes(on_line(content))) == []
    assert decoder.push(bytes(on_line(header(STATE, 1, 2, 3, 0) + little(2**17 + 1, 3) + [1]))) == []
    assert decoder.broken == 1
    with refused("value", "max_bytes"):
        Decoder(0)


def test_a_line_that_is_too_long_is_dropped_whole() -> None:
    decoder = Decoder(max_bytes=8)
    assert taken(b"12345678\n123456789\nok\n", decoder=decoder) == [("text", b"12345678"), ("text", b"ok")]
    assert (decoder.broken, decoder.skipped) == (1, 9)
